/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_shapes: the ops of frameworks by the shapes of what they were given.
 *
 * Rule: as analysis/shaped.h counts. Rows with device work come first, by that; then by the time of the op itself. What TensorFlow
 * tells twice is taken from its TraceMe event, which has the shapes (op_stats takes the other one).
 */
#include "reducer/analysis/shaped.h"
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/op_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK,
	TYPE,
	NAME,
	INPUTS,
	OCCURRENCES,
	TOTAL,
	AVG,
	SELF,
	LEAST,
	MOST,
	DEVIATION,
	WORKS,
	DEVICE,
	FLOPS,
	FLOPS_RATE,
	SOURCE,
	COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "place by device time, then by self time"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 2, "kind of op, as in op_stats"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "as the framework calls it"},
	[INPUTS] = {"inputs", "inputs", TABLE_TEXT, UNIT_NONE, 0,
		    "type[size,...] of each tensor; (...) = a list of numbers; empty = it was given none, or they were not recorded"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0,
			 "how often it ran with these, begin and end recorded; empty = only the device work is known by these"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		   "on the host, with the ops inside it; one inside another of its name counts again"},
	[AVG] = {"avg_ns", "average", TABLE_INTEGER, UNIT_NS, 1, "total by occurrences"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "without the ops and ranges inside it on its thread"},
	[LEAST] = {"min_ns", "shortest", TABLE_INTEGER, UNIT_NS, 3, "its shortest run"},
	[MOST] = {"max_ns", "longest", TABLE_INTEGER, UNIT_NS, 2, "its longest run"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 2,
		       "standard deviation of a run, of a sample; empty = fewer than two"},
	[WORKS] = {"device_works", "works", TABLE_INTEGER, UNIT_COUNT, 2,
		   "kernels, copies, sets and graphs that were called for while it was the innermost op"},
	[DEVICE] = {"device_ns", "on device", TABLE_INTEGER, UNIT_NS, 0, "sum of their durations"},
	[FLOPS] = {"flops", "flop", TABLE_INTEGER, UNIT_FLOPS, 1,
		   "arithmetic by its inputs, else of the ops and library calls in it (docs/flops.md)"},
	[FLOPS_RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 1,
			"by the time of those runs: of the device's work, where it is known for each, else on the host"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 3, "who said so, as in op_stats"},
};

/* What TraceMe events and iterators told of, by name; what they call X:X is X to who calls it eagerly. */
struct told {
	struct words traced, iterated;
};

static void find_told(struct told *told, const struct shaped *shaped)
{
	for (size_t i = 0; i < shaped->count; i++) {
		const struct shaped_op *op = &shaped->ops[i];
		const char *name = shaped->words.items[op->name], *colon = strchr(name, ':');
		if (op->source == SOURCE_iterator)
			words_number(&told->iterated, name);
		if (op->source != SOURCE_traceme || !op->occurrences)
			continue;
		words_number(&told->traced, name);
		if (colon && strlen(colon + 1) == (size_t)(colon - name) && strncmp(name, colon + 1, (size_t)(colon - name)) == 0)
			words_number(&told->traced, colon + 1);
	}
}

/* Is the host's time of it that of another row? */
static bool is_told_twice(const struct told *told, const struct shaped *shaped, const struct shaped_op *op)
{
	const char *name = shaped->words.items[op->name];

	if (op->source == SOURCE_annotation || op->source == SOURCE_eager)
		return words_has(&told->traced, name);
	return op->source == SOURCE_traceme && words_has(&told->iterated, name);
}

static int by_time(const void *a, const void *b)
{
	const struct shaped_op *one = *(const struct shaped_op *const *)a, *other = *(const struct shaped_op *const *)b;

	if (one->device_ns != other->device_ns)
		return one->device_ns < other->device_ns ? 1 : -1;
	return one->self_ns < other->self_ns ? 1 : one->self_ns > other->self_ns ? -1 : 0;
}

/* Numbers of words follow the order in which processes were merged, which is always the same. */
static int by_place(const void *a, const void *b)
{
	const struct shaped_op *one = *(const struct shaped_op *const *)a, *other = *(const struct shaped_op *const *)b;
	int order = by_time(a, b);

	if (order)
		return order;
	if (one->name != other->name)
		return one->name < other->name ? -1 : 1;
	return one->inputs < other->inputs ? -1 : one->inputs > other->inputs;
}

static void put_flops(struct table *table, const struct shaped_op *op, bool has_replays)
{
	bool is_launched = op->launched_times && op->launched_times == op->occurrences && op->device_ns && !has_replays;

	if (is_launched)
		flops_put(table, FLOPS, FLOPS_RATE, true, op->launched, op->device_ns);
	else
		flops_put(table, FLOPS, FLOPS_RATE, op->flops_times != 0, op->flops, op->works ? 0 : op->flops_ns);
}

static void put_row(struct table *table, const struct shaped *shaped, const struct shaped_op *op, bool has_replays)
{
	struct op_text text = op_text_of(shaped->words.items[op->name]);
	double deviation = spread_deviation_of(op->occurrences, op->ns, op->squares);

	table_row(table);
	table_integer(table, RANK, (int64_t)table->row_count);
	table_text(table, TYPE, text.type, text.type_length);
	table_text(table, NAME, text.name, text.name_length);
	table_string(table, INPUTS, shaped->words.items[op->inputs]);
	if (op->occurrences) {
		table_integer(table, OCCURRENCES, (int64_t)op->occurrences);
		table_integer(table, TOTAL, (int64_t)op->ns);
		table_integer(table, SELF, (int64_t)op->self_ns);
		table_integer(table, AVG, (int64_t)(op->ns / op->occurrences));
		table_integer(table, LEAST, (int64_t)op->least_ns);
		table_integer(table, MOST, (int64_t)op->most_ns);
	}
	if (!isnan(deviation))
		table_real(table, DEVIATION, deviation);
	if (op->works) {
		table_integer(table, WORKS, (int64_t)op->works);
		table_integer(table, DEVICE, (int64_t)op->device_ns);
	}
	put_flops(table, op, has_replays);
	table_string(table, SOURCE, range_source_name(op->source));
}

static void fill(struct table *table, const struct request *request)
{
	const struct shaped *shaped = analyses_whole(request->analyses, &analysis_shaped);
	const struct shaped_op **order = base_alloc((shaped ? shaped->count : 0) + 1, sizeof(*order));
	struct shaped_op *ops = base_alloc((shaped ? shaped->count : 0) + 1, sizeof(*ops));
	bool has_replays = flops_has_replays(request), has_inputs = false;
	struct told told = {0};
	size_t count = 0;

	if (shaped)
		find_told(&told, shaped);
	for (size_t i = 0; shaped && i < shaped->count; i++) {
		ops[count] = shaped->ops[i];
		if (is_told_twice(&told, shaped, &ops[count]))
			ops[count] = (struct shaped_op){.name = ops[count].name,
							.inputs = ops[count].inputs,
							.source = ops[count].source,
							.works = ops[count].works,
							.device_ns = ops[count].device_ns};
		if (ops[count].occurrences || ops[count].works) {
			has_inputs |= shaped->words.items[ops[count].inputs][0] != 0;
			order[count] = &ops[count];
			count++;
		}
	}
	if (count)
		qsort(order, count, sizeof(*order), by_place);
	for (size_t i = 0; i < count && has_inputs; i++)
		put_row(table, shaped, order[i], has_replays);
	free(order);
	free(ops);
	words_free(&told.traced);
	words_free(&told.iterated);
	if (!count)
		op_rows_note_none(table, request);
	else if (!has_inputs && process_is_foreign(&request->run->processes[0]))
		table_note(table, NOTE_MISSING,
			   "No shapes of inputs are in the file: torch.profiler writes them with record_shapes=True. op_stats has the "
			   "ops.");
	else if (!has_inputs)
		table_note(table, NOTE_MISSING,
			   "No shapes of inputs are in the logs: TFPROF_OPS=shapes records them (PyTorch 2.3 and newer, TensorFlow). "
			   "op_stats has the ops.");
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_shaped, NULL};
const struct table_kind table_op_shapes = {
	.id = "op_shapes",
	.title = "Ops by the shapes of their inputs",
	.help = "The ops of PyTorch and TensorFlow by what they were given (TFPROF_OPS=shapes): how often, how long and how evenly, on "
		"the host and on devices, and how much arithmetic.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_DEVICE | FILTER_STREAM | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
