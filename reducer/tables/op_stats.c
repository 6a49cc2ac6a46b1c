/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_stats: the ops of frameworks by the time they took themselves.
 *
 * Rule: host times are between an op's begin and end on its thread; ops inside an op count for its total, not for its self
 * time. Device times are those of the work that was launched while it was the innermost op. Ranges that the user named are no
 * ops (range_stats has them). The shares are of the sum of all rows' self times of that side, idle time included with --idle=in.
 */
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/op_rows.h"

#include <inttypes.h>
#include <string.h>

enum {
	RANK,
	SIDE,
	TYPE,
	NAME,
	OCCURRENCES,
	TOTAL,
	AVG,
	SELF,
	AVG_SELF,
	LEAST,
	MOST,
	DEVICE_SELF,
	DEVICE_CUMULATIVE,
	HOST_SELF,
	HOST_CUMULATIVE,
	SOURCE,
	ALLOCATIONS,
	ALLOCATED,
	FORWARD,
	EAGER,
	ELIGIBLE,
	TENSOR,
	FLOPS,
	FLOPS_RATE,
	DEVIATION,
	COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "place by self time"},
	[SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "host, or device"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 0,
		  "kind of op: TensorFlow's type; of PyTorch the last part of the name; Dataset: the input pipeline"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "as the framework calls it"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0,
			 "how often it ran, begin and end recorded; device: as often at least, by the kernel of it that ran most often"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		   "with the ops inside it; one inside another of the same name counts once"},
	[AVG] = {"avg_ns", "average", TABLE_INTEGER, UNIT_NS, 1, "total by occurrences"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "without the ops and ranges inside it on its thread"},
	[AVG_SELF] = {"avg_self_ns", "self avg", TABLE_INTEGER, UNIT_NS, 1, "self by occurrences"},
	[LEAST] = {"min_ns", "shortest", TABLE_INTEGER, UNIT_NS, 3,
		   "its shortest run, with the ops inside it; device: the shortest kernel, copy or set of it"},
	[MOST] = {"max_ns", "longest", TABLE_INTEGER, UNIT_NS, 2, "its longest run, likewise"},
	[DEVICE_SELF] = {"device_self_percent", "device %", TABLE_REAL, UNIT_NONE, 2, "of the self time of all device rows"},
	[DEVICE_CUMULATIVE] = {"device_cumulative_percent", "device sum %", TABLE_REAL, UNIT_NONE, 3,
			       "this row and those before it"},
	[HOST_SELF] = {"host_self_percent", "host %", TABLE_REAL, UNIT_NONE, 0, "of the self time of all host rows"},
	[HOST_CUMULATIVE] = {"host_cumulative_percent", "host sum %", TABLE_REAL, UNIT_NONE, 1, "this row and those before it"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 2,
		    "who said so: record_function (PyTorch), annotation, eager or traceme (TensorFlow)"},
	[ALLOCATIONS] = {"allocations", "allocs", TABLE_INTEGER, UNIT_COUNT, 2,
			 "blocks that the framework's allocators handed out for it: named so, or while it was the innermost op"},
	[ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 2, "bytes of those"},
	[FORWARD] = {"forward_name", "forward of", TABLE_TEXT, UNIT_NONE, 3,
		     "PyTorch's backward functions: the op that they go with, where it is one; joined by sequence number"},
	[EAGER] = {"eager", "run", TABLE_TEXT, UNIT_NONE, 2,
		   "eager: called one by one; function: inside a compiled function or graph; by who told of it"},
	[ELIGIBLE] = {"tensor_core_eligible", "tc could", TABLE_INTEGER, UNIT_NONE, 3,
		      "device: 1 = a matrix product or convolution, by its name or its kernels'"},
	[TENSOR] = {"tensor_core_share", "tc", TABLE_REAL, UNIT_RATIO, 2,
		    "device: share of its time in kernels that use tensor cores"},
	[FLOPS] = {"flops", "flop", TABLE_INTEGER, UNIT_FLOPS, 2,
		   "arithmetic by its inputs, else of the ops and library calls in it (docs/flops.md); device: of what was launched in it"},
	[FLOPS_RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 1,
			"flops by the time of those runs: on the host, or of the device's work; empty = not all of that has a figure"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 3,
		       "standard deviation of its runs, as min_ns and max_ns have them, of a sample; empty = fewer than two"},
};

static void put_names(struct table *table, const struct op_row *row)
{
	struct op_text text = op_text_of(row->name);

	if (row->is_idle) {
		table_string(table, TYPE, "IDLE");
		table_string(table, NAME, "IDLE");
	} else if (!row->name[0]) {
		table_string(table, NAME, "(of no op)");
	} else {
		table_text(table, TYPE, text.type, text.type_length);
		table_text(table, NAME, text.name, text.name_length);
	}
}

static void put_device(struct table *table, const struct op_row *row, int64_t self_sum, int64_t self_so_far)
{
	table_string(table, SIDE, "device");
	table_real(table, HOST_SELF, 0);
	table_real(table, HOST_CUMULATIVE, 0);
	if (self_sum > 0) {
		table_real(table, DEVICE_SELF, 100.0 * (double)row->self / (double)self_sum);
		table_real(table, DEVICE_CUMULATIVE, 100.0 * (double)self_so_far / (double)self_sum);
	}
	if (row->is_idle)
		return;
	table_integer(table, ELIGIBLE, row->is_eligible);
	if (row->self)
		table_real(table, TENSOR, (double)row->tensor / (double)row->self);
}

static void put_host(struct table *table, const struct op_row *row, int64_t self_sum, int64_t self_so_far)
{
	table_string(table, SIDE, "host");
	table_real(table, DEVICE_SELF, 0);
	table_real(table, DEVICE_CUMULATIVE, 0);
	if (self_sum > 0) {
		table_real(table, HOST_SELF, 100.0 * (double)row->self / (double)self_sum);
		table_real(table, HOST_CUMULATIVE, 100.0 * (double)self_so_far / (double)self_sum);
	}
	if (row->is_idle || !row->has_allocations)
		return;
	table_integer(table, ALLOCATIONS, (int64_t)row->allocations);
	table_integer(table, ALLOCATED, (int64_t)row->allocated);
	table_string(table, FORWARD, row->forward);
}

static void put_row(struct table *table, const struct op_row *row, int64_t self_sum, int64_t self_so_far)
{
	table_row(table);
	table_integer(table, RANK, (int64_t)table->row_count);
	put_names(table, row);
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, TOTAL, row->total);
	table_integer(table, SELF, row->self);
	if (row->occurrences) {
		table_integer(table, AVG, row->total / (int64_t)row->occurrences);
		table_integer(table, AVG_SELF, row->self / (int64_t)row->occurrences);
		table_integer(table, LEAST, (int64_t)row->least);
		table_integer(table, MOST, (int64_t)row->most);
	}
	if (row->side == OP_DEVICE)
		put_device(table, row, self_sum, self_so_far);
	else
		put_host(table, row, self_sum, self_so_far);
	if (row->source != SPAN_NO_SOURCE)
		table_string(table, SOURCE, range_source_name(row->source));
	if (row->eager >= 0)
		table_string(table, EAGER, row->eager ? "eager" : "function");
	flops_put(table, FLOPS, FLOPS_RATE, row->has_flops, row->flops, row->flops_ns);
	if (row->runs > 1 && (row->side == OP_DEVICE || row->runs == row->occurrences))
		table_real(table, DEVIATION, spread_deviation_of(row->runs, row->runs_ns, row->squares));
}

static void note_count(struct table *table, enum note_kind kind, uint64_t count, const char *what)
{
	if (count)
		table_note(table, kind, "%" PRIu64 " %s", count, what);
}

static void put_notes(struct table *table, const struct request *request, const struct ops *sum)
{
	note_count(table, NOTE_MISSING, sum->unfinished,
		   "ops had not ended when a window closed or their process ended; they are not counted.");
	note_count(table, NOTE_MISSING, sum->unbegun, "ops ended that had begun before recording did; they are not counted.");
	note_count(table, NOTE_INFO, sum->crossed, "ops ended on another thread than they began on (asynchronous ones).");
	note_count(table, NOTE_INFO, sum->overlapped,
		   "ops ended while a later one of their thread was open; both have their whole time.");
	note_count(table, NOTE_LOSS, sum->nameless,
		   "ops have no name: they were given none, or the table of names was full (losses: op_names).");
	note_count(table, NOTE_INFO, sum->unjoined, "backward functions found no forward op in the log.");
	if (!table->row_count)
		op_rows_note_none(table, request);
	else
		flops_note_ops(table, request, FLOPS);
	notes_recording(table, request);
}

static void fill(struct table *table, const struct request *request)
{
	int64_t so_far[2] = {0, 0};
	struct op_rows rows;

	op_rows_find(&rows, request, request->is_with_idle);
	for (size_t i = 0; i < rows.count; i++) {
		enum op_side side = rows.items[i].side;
		put_row(table, &rows.items[i], rows.self[side], so_far[side] += rows.items[i].self);
	}
	if (rows.device_count)
		table_note(table, NOTE_INFO,
			   "Occurrences of a device row are those of the kernel that ran most often for the op.");
	if (request->is_with_idle)
		table_note(table, NOTE_INFO,
			   "IDLE is the time between first and last work in which no op ran: of each device by the sum of its "
			   "work, of each "
			   "thread that ran ops; the shares are of the time with it (--idle=out leaves it out).");
	if (rows.is_part)
		table_note(table, NOTE_INFO,
			   "Of a part of the time or of the threads: total counts an op inside another of its name again, and "
			   "allocations are left out.");
	put_notes(table, request, &rows.notes);
	op_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_work, &analysis_flops, NULL};
const struct table_kind table_op_stats = {
	.id = "op_stats",
	.title = "Ops of frameworks",
	.help = "Which ops of TensorFlow, PyTorch and JAX ran, how often, how long with and without those inside them, on the "
		"host and "
		"on devices, and what was allocated for them.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_DEVICE | FILTER_STREAM | FILTER_GROUP | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
