/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.sites: which functions held more memory at the peak than before.
 *
 * Rule: by the function that asked and the user's own Python function above it, so that other builds and other ways there
 * compare; an estimate that differs by less than SURE standard errors is not called different.
 */
#include "reducer/comparison/figures.h"
#include "reducer/comparison/join.h"
#include "reducer/tables/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors. Of equal runs one of 370 functions passes that by chance; with two it were one of 22, of dozens of rows some. */
#define SURE 3

enum {
	BEFORE,
	AFTER,
	DIFFERENCE,
	CHANGE,
	ERROR,
	VERDICT,
	FUNCTION,
	ALLOCATOR,
	BEFORE_CALLS,
	AFTER_CALLS,
	SCRIPT,
	MODULE,
	COLUMNS
};

static const struct table_column columns[] = {
	[BEFORE] = {"before_bytes", "before", TABLE_INTEGER, UNIT_BYTES, 0,
		    "usable bytes live at the older run's peak; empty = never met"},
	[AFTER] = {"after_bytes", "after", TABLE_INTEGER, UNIT_BYTES, 0, "the same of the newer run"},
	[DIFFERENCE] = {"difference_bytes", "difference", TABLE_INTEGER, UNIT_BYTES, 0, "after - before"},
	[CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 1, "difference by before; empty where there is none"},
	[ERROR] = {"error_bytes", "+-", TABLE_INTEGER, UNIT_BYTES, 1, "standard error of the difference; empty = exact"},
	[VERDICT] = {"verdict", "verdict", TABLE_TEXT, UNIT_NONE, 0, "more, less, or no difference to tell (by the sample)"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "innermost function that is not an allocator's own"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 2,
		       "heap, mmap, device:N, pinned, managed, a framework's"},
	[BEFORE_CALLS] = {"before_allocations", "calls", TABLE_INTEGER, UNIT_COUNT, 2, "allocations in the older run, in all"},
	[AFTER_CALLS] = {"after_allocations", "calls now", TABLE_INTEGER, UNIT_COUNT, 2, "allocations in the newer run, in all"},
	[SCRIPT] = {"script", "for", TABLE_TEXT, UNIT_NONE, 0,
		    "innermost Python function above it that is the user's own, and its file"},
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 2, "the program or library that holds the function"},
};

enum { KEY_SCRIPT, KEY_FUNCTION, KEY_ALLOCATOR, KEY_MODULE };
enum { VALUE_PEAK, VALUE_ERROR, VALUE_CALLS };

static double difference(const struct join_row *row)
{
	return row->after.values[VALUE_PEAK] - row->before.values[VALUE_PEAK];
}

static int by_difference(const void *a, const void *b)
{
	double one = fabs(difference(a)), other = fabs(difference(b));

	return one > other ? -1 : one < other;
}

static void put_row(struct table *table, const struct join_row *row)
{
	double error = hypot(row->before.values[VALUE_ERROR], row->after.values[VALUE_ERROR]);
	double change = difference(row);
	bool is_estimated = row->before.is_known[VALUE_ERROR] || row->after.is_known[VALUE_ERROR];

	table_row(table);
	if (row->before.is_there) {
		table_integer(table, BEFORE, llround(row->before.values[VALUE_PEAK]));
		table_integer(table, BEFORE_CALLS, llround(row->before.values[VALUE_CALLS]));
	}
	if (row->after.is_there) {
		table_integer(table, AFTER, llround(row->after.values[VALUE_PEAK]));
		table_integer(table, AFTER_CALLS, llround(row->after.values[VALUE_CALLS]));
	}
	table_integer(table, DIFFERENCE, llround(change));
	if (row->before.values[VALUE_PEAK] > 0)
		table_real(table, CHANGE, change / row->before.values[VALUE_PEAK]);
	if (is_estimated)
		table_integer(table, ERROR, llround(error));
	table_string(table, VERDICT, fabs(change) <= SURE * error ? "no difference to tell" : change > 0 ? "more" : "less");
	table_string(table, FUNCTION, row->keys[KEY_FUNCTION][0] ? row->keys[KEY_FUNCTION] : NULL);
	table_string(table, ALLOCATOR, row->keys[KEY_ALLOCATOR]);
	table_string(table, SCRIPT, row->keys[KEY_SCRIPT][0] ? row->keys[KEY_SCRIPT] : NULL);
	table_string(table, MODULE, row->keys[KEY_MODULE][0] ? row->keys[KEY_MODULE] : NULL);
}

/* Did some process of that side record by call stack what the heap handed out? Without, no function is there to compare. */
static bool has_stacks(const struct request *side)
{
	for (size_t i = 0; i < side->run->process_count; i++) {
		const struct process *process = &side->run->processes[i];
		if (request_wants_process(side, process) && process_has_heap(process) &&
		    (process->heap.kind == ACCOUNT_EVENTS || process->heap.kind == ACCOUNT_SAMPLED))
			return true;
	}
	return false;
}

static bool is_of_host(const struct join_row *row)
{
	return strcmp(row->keys[KEY_ALLOCATOR], "heap") == 0 || strcmp(row->keys[KEY_ALLOCATOR], "mmap") == 0;
}

static void fill(struct table *table, const struct request *request)
{
	static const struct join_spec spec = {&table_memory_sites,
					      {"stack", "function", "allocator", "module"},
					      {"peak_bytes", "peak_error_bytes", "allocations"},
					      1u << VALUE_ERROR};
	struct request after = figures_plain(request), before = figures_plain(request->base);
	struct join join;
	bool has_both = has_stacks(&before) && has_stacks(&after);
	size_t equal = 0, left_out = 0;

	join_make(&join, &spec, &before, &after);
	if (join.count)
		qsort(join.rows, join.count, sizeof(*join.rows), by_difference);
	for (size_t i = 0; i < join.count; i++)
		if (!has_both && is_of_host(&join.rows[i]))
			left_out++;
		else if (difference(&join.rows[i]) != 0)
			put_row(table, &join.rows[i]);
		else
			equal++;
	if (equal)
		table_note(table, NOTE_INFO, "%zu more " BY_COUNT("function", "functions") " held as much at both peaks: left out.", equal);
	if (left_out)
		table_note(table, NOTE_MISSING,
			   "The %s run recorded no call stacks of the heap (TFPROF_MALLOC=sample or full does): %zu "
			   BY_COUNT("function of heap and mmap is", "functions of heap and mmap are") " not compared.",
			   has_stacks(&after) ? "older" : has_stacks(&before) ? "newer" : "older and the newer", left_out);
	join_free(&join);
}

const struct table_kind table_comparison_sites = {
	.id = "comparison.sites",
	.title = "Memory by function in two runs",
	.help = "With --against: what was live at the peak of the older run and of this one, by the function that had asked for "
		"it, the "
		"largest difference first.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.text_rows = 10,
	.needs_scan = true,
	.needs_base = true,
	.needs_base_logs = true,
	.fill = fill,
};
