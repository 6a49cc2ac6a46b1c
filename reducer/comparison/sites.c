/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.sites: which functions held more memory at the peak than before.
 *
 * Rule: by the function that asked and the user's own Python function above it, so that other builds and other ways there
 * compare; an estimate that differs by less than SURE standard errors is not called different.
 */
#include "reducer/comparison/kept.h"
#include "reducer/tables/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors. Of equal runs one of 370 functions passes that by chance; with two it were one of 22, of dozens of rows some. */
#define SURE 3
/* The same certainty where the error is by how runs differ: Student's t by degrees of freedom, as many runs as there are less two. */
static const double sure_of_runs[] = {0, 235.8, 19.2, 9.22, 6.62, 5.51, 4.90, 4.53, 4.28, 4.09, 3.96, 3.85, 3.76};
#define RUNS_LISTED (sizeof(sure_of_runs) / sizeof(sure_of_runs[0]))

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
		    "usable bytes live at the older run's peak, of several the mean; empty = never met"},
	[AFTER] = {"after_bytes", "after", TABLE_INTEGER, UNIT_BYTES, 0, "the same of the newer run"},
	[DIFFERENCE] = {"difference_bytes", "difference", TABLE_INTEGER, UNIT_BYTES, 0, "after - before"},
	[CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 1, "difference by before; empty where there is none"},
	[ERROR] = {"error_bytes", "+-", TABLE_INTEGER, UNIT_BYTES, 1,
		   "standard error of the difference, by the sample or, where that is more, by how runs differ; "
		   "empty = exact"},
	[VERDICT] = {"verdict", "verdict", TABLE_TEXT, UNIT_NONE, 0, "more, less, or no difference to tell (by the error)"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "innermost function that is not an allocator's own"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 2,
		       "heap, mmap, device:N, pinned, managed, a framework's"},
	[BEFORE_CALLS] = {"before_allocations", "calls", TABLE_INTEGER, UNIT_COUNT, 2, "allocations in the older run, of several the mean"},
	[AFTER_CALLS] = {"after_allocations", "calls now", TABLE_INTEGER, UNIT_COUNT, 2, "the same in the newer run"},
	[SCRIPT] = {"script", "for", TABLE_TEXT, UNIT_NONE, 0,
		    "innermost Python function above it that is the user's own, and its file"},
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 2, "the program or library that holds the function"},
};

enum { KEY_SCRIPT, KEY_FUNCTION, KEY_ALLOCATOR, KEY_MODULE };
enum { VALUE_PEAK, VALUE_ERROR, VALUE_CALLS };

static double of_side(const struct join_side *side, double runs, size_t value)
{
	return side->values[value] / runs;
}

static double difference(const struct join_row *row, const struct kept_basis *basis)
{
	return of_side(&row->after, basis->after, VALUE_PEAK) - of_side(&row->before, basis->before, VALUE_PEAK);
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = fabs(difference(a, context)), other = fabs(difference(b, context));

	return one > other ? -1 : one < other;
}

static void put_side(struct table *table, const struct join_side *side, double runs, size_t peak, size_t calls)
{
	if (side->is_there || side->is_bound)
		table_integer(table, peak, llround(of_side(side, runs, VALUE_PEAK)));
	if (side->is_there)
		table_integer(table, calls, llround(of_side(side, runs, VALUE_CALLS)));
}

/* Standard error of the difference of means by how runs differ, which is taken to be the same on both sides. */
static double between_runs(const struct join_row *row, const struct kept_basis *basis)
{
	double freedom = basis->before + basis->after - 2;

	return freedom > 0 ? hypot(row->before.spread, row->after.spread) * sqrt((1 / basis->before + 1 / basis->after) / freedom) : 0;
}

struct error {
	double bytes;
	double sure; /* so many of them are sure */
	bool is_known;
};

static struct error error_of(const struct join_row *row, const struct kept_basis *basis)
{
	double by_sample = hypot(of_side(&row->before, basis->before, VALUE_ERROR), of_side(&row->after, basis->after, VALUE_ERROR));
	double by_runs = between_runs(row, basis);
	size_t freedom = (size_t)(basis->before + basis->after) - 2;

	if (by_runs <= by_sample)
		return (struct error){by_sample, SURE, row->before.is_known[VALUE_ERROR] || row->after.is_known[VALUE_ERROR]};
	return (struct error){by_runs, freedom < RUNS_LISTED ? sure_of_runs[freedom] : sure_of_runs[RUNS_LISTED - 1], true};
}

static void put_row(struct table *table, const struct join_row *row, const struct kept_basis *basis)
{
	struct error error = error_of(row, basis);
	double change = difference(row, basis), before = of_side(&row->before, basis->before, VALUE_PEAK);

	table_row(table);
	put_side(table, &row->before, basis->before, BEFORE, BEFORE_CALLS);
	put_side(table, &row->after, basis->after, AFTER, AFTER_CALLS);
	table_integer(table, DIFFERENCE, llround(change));
	if (before > 0)
		table_real(table, CHANGE, change / before);
	if (error.is_known)
		table_integer(table, ERROR, llround(error.bytes));
	table_string(table, VERDICT, fabs(change) <= error.sure * error.bytes ? "no difference to tell" : change > 0 ? "more" : "less");
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

const struct kept_kind kept_sites = {
	.word = "site",
	.rows = "functions",
	.table = &table_comparison_sites,
	.spec = {.kind = &table_memory_sites,
		 .keys = {"stack", "function", "allocator", "module"},
		 .values = {"peak_bytes", "peak_error_bytes", "allocations"},
		 .errors = 1u << VALUE_ERROR,
		 .rank = VALUE_PEAK},
	.is_mean = true,
	.is_recorded = has_stacks,
};

static void fill(struct table *table, const struct request *request)
{
	struct kept_pair pair;
	struct join *join = &pair.join;
	size_t equal = 0, left_out = 0;
	struct text lacking = {0};
	bool has_both;

	if (!kept_compare(&pair, table, request, KEPT_SITES))
		return;
	has_both = kept_is_recorded(&pair, &lacking);
	kept_bound(&pair, table, VALUE_PEAK);
	if (join->count)
		qsort_r(join->rows, join->count, sizeof(*join->rows), by_difference, &pair.basis);
	for (size_t i = 0; i < join->count; i++)
		if (!has_both && is_of_host(&join->rows[i]))
			left_out++;
		else if (difference(&join->rows[i], &pair.basis) != 0)
			put_row(table, &join->rows[i], &pair.basis);
		else
			equal++;
	if (equal)
		table_note(table, NOTE_INFO, "%zu more " BY_COUNT("function", "functions") " held as much at both peaks: left out.", equal);
	if (left_out)
		table_note(table, NOTE_MISSING,
			   "%s call stacks of the heap (TFPROF_MALLOC=sample or full has): %zu "
			   BY_COUNT("function of heap and mmap is", "functions of heap and mmap are") " not compared.",
			   lacking.bytes, left_out);
	text_free(&lacking);
	kept_close(&pair);
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
	.fill = fill,
};
