/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.precision: what kernels compute in; overview.top_ops: the ops that take most; overview.placement: where ops and
 * time are; overview.pie: the shares of ops and kinds of ops, host and device, as a chart shows them.
 *
 * Rule: each share names what it is of. Precision is inferred from names of kernels.
 */
#include "reducer/analysis/work.h"
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/op_rows.h"
#include "reducer/tables/step_values.h"

#include <stdlib.h>
#include <string.h>

#define TOP_OPS 10
#define PIE_PIECES 10 /* more are one piece "other" */

enum { PRECISION, TIME, TIME_SHARE, KERNELS, KERNEL_SHARE, PRECISION_COLUMNS };
static const struct table_column precision_columns[] = {
	[PRECISION] = {"precision", "precision", TABLE_TEXT, UNIT_NONE, 0,
		       "16, tf32, 8, 32, 64 (bits) or unknown, by the kernels' names"},
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "sum of the durations of such kernels"},
	[TIME_SHARE] = {"time_share", "of time", TABLE_REAL, UNIT_RATIO, 0, "of the time of all kernels that are no collectives"},
	[KERNELS] = {"kernels", "kernels", TABLE_INTEGER, UNIT_COUNT, 0, "how many ran"},
	[KERNEL_SHARE] = {"kernel_share", "of kernels", TABLE_REAL, UNIT_RATIO, 0, "of the kernels that are no collectives"},
};

static void fill_precision(struct table *table, const struct request *request)
{
	const struct work *work = analyses_whole(request->analyses, &analysis_work);
	uint64_t ns[PART_COMPUTE_UNKNOWN + 1] = {0}, counts[PART_COMPUTE_UNKNOWN + 1] = {0}, all_ns = 0, all = 0;

	for (size_t i = 0; work && i < work->count; i++) {
		const struct work_row *row = &work->rows[i];
		if (row->what != SPAN_KERNEL || row->part > PART_COMPUTE_UNKNOWN)
			continue;
		ns[row->part] += row->ns;
		counts[row->part] += row->occurrences;
		all_ns += row->ns;
		all += row->occurrences;
	}
	for (enum step_part p = 0; all && p <= PART_COMPUTE_UNKNOWN; p++) {
		table_row(table);
		table_string(table, PRECISION, part_precision(p));
		table_integer(table, TIME, (int64_t)ns[p]);
		table_integer(table, KERNELS, (int64_t)counts[p]);
		table_real(table, KERNEL_SHARE, (double)counts[p] / (double)all);
		if (all_ns)
			table_real(table, TIME_SHARE, (double)ns[p] / (double)all_ns);
	}
	if (all)
		table_note(table, NOTE_INFERRED,
			   "What a kernel computes in is inferred from its name; where that says nothing it is unknown.");
	else if (!notes_not_in_file(table, request))
		table_note(table, NOTE_MISSING, "No kernels are in the logs: there was no GPU, or TFPROF_CUDA is off or hooks.");
	notes_recording(table, request);
}

enum { RANK, SIDE, TYPE, NAME, SELF, SHARE, CUMULATIVE, OCCURRENCES, TENSOR, EAGER, FLOPS_RATE, TOP_COLUMNS };
static const struct table_column top_columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "by self time"},
	[SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "device; host where no device work has ops"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 0, "kind of op"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "as the framework calls it"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "without the ops inside it"},
	[SHARE] = {"self_share", "share", TABLE_REAL, UNIT_RATIO, 0, "of the self time of all ops of that side"},
	[CUMULATIVE] = {"cumulative_share", "sum", TABLE_REAL, UNIT_RATIO, 0, "of this op and those before it"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often it ran"},
	[TENSOR] = {"tensor_core_share", "tc", TABLE_REAL, UNIT_RATIO, 1,
		    "device: share of its time in kernels that use tensor cores"},
	[EAGER] = {"eager", "run", TABLE_TEXT, UNIT_NONE, 1, "eager, or function; empty = not known"},
	[FLOPS_RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 0, "arithmetic a second while it ran, as in op_stats"},
};

static void put_top(struct table *table, const struct op_row *row, double share, double sum)
{
	struct op_text text = op_text_of(row->name);

	table_row(table);
	table_integer(table, RANK, (int64_t)table->row_count);
	table_string(table, SIDE, row->side == OP_DEVICE ? "device" : "host");
	table_text(table, TYPE, text.type, text.type_length);
	if (row->name[0])
		table_text(table, NAME, text.name, text.name_length);
	else
		table_string(table, NAME, "(of no op)");
	table_integer(table, SELF, row->self);
	table_real(table, SHARE, share);
	table_real(table, CUMULATIVE, sum);
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	if (row->side == OP_DEVICE && row->self)
		table_real(table, TENSOR, (double)row->tensor / (double)row->self);
	if (row->eager >= 0)
		table_string(table, EAGER, row->eager ? "eager" : "function");
	if (row->has_flops && row->flops_ns)
		flops_put_rate(table, FLOPS_RATE, (double)row->flops * 1e9 / (double)row->flops_ns);
}

/* The side that is looked at: the device where its work has ops. */
static enum op_side side_of(const struct op_rows *rows)
{
	for (size_t i = 0; i < rows->device_count; i++)
		if (rows->items[i].name[0])
			return OP_DEVICE;
	return OP_HOST;
}

static void fill_top(struct table *table, const struct request *request)
{
	struct op_rows rows;
	enum op_side side;
	int64_t sum = 0;

	op_rows_find(&rows, request, false);
	side = side_of(&rows);
	for (size_t i = 0; i < rows.count && table->row_count < TOP_OPS; i++) {
		const struct op_row *row = &rows.items[i];
		if (row->side != side || rows.self[side] <= 0)
			continue;
		sum += row->self;
		put_top(table, row, (double)row->self / (double)rows.self[side], (double)sum / (double)rows.self[side]);
	}
	if (!table->row_count)
		op_rows_note_none(table, request);
	else
		flops_note_ops(table, request, FLOPS_RATE);
	op_rows_free(&rows);
}

enum { WHAT, VALUE, OF, PLACE_SHARE, PLACE_COLUMNS };
static const struct table_column placement_columns[] = {
	[WHAT] = {"what", "what", TABLE_TEXT, UNIT_NONE, 0, "what is looked at"},
	[VALUE] = {"value", "value", TABLE_INTEGER, UNIT_NONE, 0, "how much of it: ns, or a count"},
	[OF] = {"of", "of", TABLE_INTEGER, UNIT_NONE, 0, "out of"},
	[PLACE_SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "value / of"},
};

static void put_place(struct table *table, const char *what, uint64_t value, uint64_t of)
{
	table_row(table);
	table_string(table, WHAT, what);
	table_integer(table, VALUE, (int64_t)value);
	table_integer(table, OF, (int64_t)of);
	if (of)
		table_real(table, PLACE_SHARE, (double)value / (double)of);
}

static void put_step_place(struct table *table, const struct request *request)
{
	struct step_rows steps;
	uint64_t device = 0, all = 0;

	step_rows_find(&steps, request);
	for (size_t i = 0; i < steps.count; i++) {
		if (!step_rows_counts(&steps, steps.items[i]))
			continue;
		all += steps.items[i]->total_ns;
		for (enum step_part p = 0; p <= PART_INPUT_COPY; p++)
			device += steps.items[i]->exposed_ns[p];
	}
	if (all) {
		put_place(table, "time of steps (ns) with work on a device", device, all);
		put_place(table, "time of steps (ns) with no work on any device", all - device, all);
	}
	step_rows_free(&steps);
}

static void fill_placement(struct table *table, const struct request *request)
{
	struct op_rows rows;
	uint64_t counts[2] = {0}, self[2] = {0}, eager[2] = {0}, known[2] = {0};

	put_step_place(table, request);
	op_rows_find(&rows, request, false);
	for (size_t i = 0; i < rows.count; i++) {
		const struct op_row *row = &rows.items[i];
		counts[row->side] += row->name[0] ? row->occurrences : 0;
		self[row->side] += (uint64_t)(row->self > 0 ? row->self : 0);
		known[row->side] += row->eager >= 0 && row->self > 0 ? (uint64_t)row->self : 0;
		eager[row->side] += row->eager == 1 && row->self > 0 ? (uint64_t)row->self : 0;
	}
	if (counts[OP_HOST] + counts[OP_DEVICE]) {
		put_place(table, "ops placed on a device", counts[OP_DEVICE], counts[OP_HOST] + counts[OP_DEVICE]);
		put_place(table, "ops placed on the host", counts[OP_HOST], counts[OP_HOST] + counts[OP_DEVICE]);
		put_place(table, "host op time (ns) run eagerly", eager[OP_HOST], known[OP_HOST]);
		put_place(table, "device op time (ns) run eagerly", eager[OP_DEVICE], known[OP_DEVICE]);
	}
	if (!table->row_count)
		op_rows_note_none(table, request);
	else
		table_note(
			table, NOTE_INFO,
			"Ops count as often as they ran; those of a device as often as the kernel that ran most often for each.");
	op_rows_free(&rows);
}

enum { PIE_SIDE, BY, PIECE, PIECE_NS, PIECE_SHARE, PIE_COLUMNS };
static const struct table_column pie_columns[] = {
	[PIE_SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "host or device"},
	[BY] = {"by", "by", TABLE_TEXT, UNIT_NONE, 0, "op or type"},
	[PIECE] = {"name", "piece", TABLE_TEXT, UNIT_NONE, 0,
		   "the op or type; other = all beyond the first ten; IDLE with --idle=in"},
	[PIECE_NS] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "self time"},
	[PIECE_SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "of the self time of that side"},
};

static void put_piece(struct table *table, enum op_side side, const char *by, const char *name, int64_t ns, int64_t all)
{
	table_row(table);
	table_string(table, PIE_SIDE, side == OP_DEVICE ? "device" : "host");
	table_string(table, BY, by);
	table_string(table, PIECE, name[0] ? name : "(of no op)");
	table_integer(table, PIECE_NS, ns);
	if (all > 0)
		table_real(table, PIECE_SHARE, (double)ns / (double)all);
}

static void put_pie(struct table *table, const struct op_rows *rows, enum op_side side, const char *by)
{
	size_t pieces = 0;
	int64_t other = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->items[i];
		if (row->side != side || row->self <= 0)
			continue;
		if (pieces++ < PIE_PIECES)
			put_piece(table, side, by, row->name, row->self, rows->self[side]);
		else
			other += row->self;
	}
	if (other)
		put_piece(table, side, by, "other", other, rows->self[side]);
}

static void fill_pie(struct table *table, const struct request *request)
{
	static const struct {
		const char *by;
		enum op_group group;
	} pies[] = {{"op", GROUP_OP}, {"type", GROUP_TYPE}};

	for (size_t i = 0; i < 2; i++) {
		struct request asked = *request;
		struct op_rows rows;
		asked.group = pies[i].group;
		op_rows_find(&rows, &asked, request->is_with_idle);
		put_pie(table, &rows, OP_DEVICE, pies[i].by);
		put_pie(table, &rows, OP_HOST, pies[i].by);
		op_rows_free(&rows);
	}
	if (!table->row_count)
		op_rows_note_none(table, request);
}

#define OP_FILTERS (FILTER_PROCESS | FILTER_DEVICE | FILTER_STREAM | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD)
static const struct analysis_kind *const work_needs[] = {&analysis_work, NULL};
static const struct analysis_kind *const op_needs[] = {&analysis_work, &analysis_flops, NULL};
static const struct analysis_kind *const both_needs[] = {&analysis_work, &analysis_flops, &analysis_steps, NULL};
const struct table_kind table_overview_precision = {
	.id = "overview.precision",
	.title = "Precision of kernels",
	.help = "How much of the kernels' time and number computes in 16, 32, 8, 64 bits or tf32.",
	.columns = precision_columns,
	.column_count = PRECISION_COLUMNS,
	.filters = OP_FILTERS,
	.needs_scan = true,
	.analyses = work_needs,
	.fill = fill_precision,
};
const struct table_kind table_overview_top_ops = {
	.id = "overview.top_ops",
	.title = "Ops that take most",
	.help = "The ten ops with most self time, on devices where their work is known by op, else on the host.",
	.columns = top_columns,
	.column_count = TOP_COLUMNS,
	.filters = OP_FILTERS | FILTER_GROUP,
	.needs_scan = true,
	.analyses = op_needs,
	.fill = fill_top,
};
const struct table_kind table_overview_placement = {
	.id = "overview.placement",
	.title = "Where ops run",
	.help = "Share of the steps with work on a device, of ops placed there, of op time that runs eagerly.",
	.columns = placement_columns,
	.column_count = PLACE_COLUMNS,
	.filters = OP_FILTERS,
	.needs_scan = true,
	.analyses = both_needs,
	.fill = fill_placement,
};
const struct table_kind table_overview_pie = {
	.id = "overview.pie",
	.title = "Shares of ops",
	.help = "Self time by op and by type of op, for hosts and devices: ten pieces and the rest, as a pie chart shows them.",
	.columns = pie_columns,
	.column_count = PIE_COLUMNS,
	.filters = OP_FILTERS,
	.text_rows = 22,
	.needs_scan = true,
	.analyses = op_needs,
	.fill = fill_pie,
};
