/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.flops: how much arithmetic the steps do a second, and what share of what the devices could do that is (MFU).
 *
 * Rule: the time is that of the steps that are judged (step_values.h), the peak that of flops_peak.h.
 */
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/flops_peak.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/op_rows.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/step_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS, TYPE, FLOPS, SHARE, SOURCE, TIME, RATE, DEVICES, DEVICE, PEAK, UTILISATION, PEAK_FROM, MACHINE, MEMBER, COLUMNS };
static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 0,
		  "all; or what the factors are: fp64, fp32, tf32, fp16, bf16, fp8, int8, unknown"},
	[FLOPS] = {"flops", "flop", TABLE_INTEGER, UNIT_FLOPS, 0, "arithmetic in all that was recorded, each operation once"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 2, "of the process's arithmetic"},
	[SOURCE] = {"source", "from", TABLE_TEXT, UNIT_NONE, 2, "who told of it: ops, library calls, ops and library calls, traces"},
	[TIME] = {"time_ns", "of steps", TABLE_INTEGER, UNIT_NS, 1,
		  "all: time of the judged steps, requests, calls, or of all work; with what devices took behind the last for it"},
	[RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 0, "all: arithmetic of those steps by their time"},
	[DEVICES] = {"devices", "devices", TABLE_INTEGER, UNIT_COUNT, 3, "that ran its kernels"},
	[DEVICE] = {"device_name", "device", TABLE_TEXT, UNIT_NONE, 2, "the first of them"},
	[PEAK] = {"peak_flops_per_s", "peak", TABLE_INTEGER, UNIT_FLOPS_PER_S, 0,
		  "what those devices could do of that type together; all: of this mix of types"},
	[UTILISATION] = {"utilisation", "used", TABLE_REAL, UNIT_RATIO, 0, "all: flop/s by peak, model FLOPS utilisation (MFU)"},
	[PEAK_FROM] = {"peak_source", "peak from", TABLE_TEXT, UNIT_NONE, 3, "where the peak comes from, or why there is none"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const char *source_of(const struct flops_sum *sum)
{
	if (sum->times[FLOPS_BY_OP] && sum->times[FLOPS_BY_CALL])
		return "ops and library calls";
	if (sum->times[FLOPS_BY_OP])
		return "ops";
	return sum->times[FLOPS_BY_CALL] ? "library calls" : "traces";
}

static void put_peak_source(struct table *table, const struct flops_peak *peak, double rate)
{
	struct text text = {0};

	if (peak->why)
		text_string(&text, peak->why);
	else if (rate <= 0)
		text_format(&text, "compute capability %" PRIu64 ".%" PRIu64 " has no units for this type, or none are published",
			    peak->device->major, peak->device->minor);
	else
		text_format(&text, "%s: capability %" PRIu64 ".%" PRIu64 ", %" PRIu64 " multiprocessors at %.0f MHz",
			    peak->source, peak->device->major, peak->device->minor, peak->device->multiprocessors,
			    (double)peak->device->clock / 1e6);
	table_text(table, PEAK_FROM, text.bytes, text.length);
	text_free(&text);
}

static void put_device(struct table *table, const struct flops_peak *peak, double rate)
{
	if (peak->devices)
		table_integer(table, DEVICES, (int64_t)peak->devices);
	table_string(table, DEVICE, peak->name);
	if (rate > 0)
		flops_put_rate(table, PEAK, rate);
	put_peak_source(table, peak, rate);
}

/* Steps that launch faster than devices work; LATE_FROM: share of the time that is worth a note. */
#define LATE_FROM 0.01
static void note_late(struct table *table, const struct process *process, const struct flops_use *use)
{
	if ((double)use->late_ns >= LATE_FROM * (double)use->judged_ns && use->judged_flops)
		table_note(table, NOTE_INFERRED,
			   "Process %s: its judged steps launched work faster than devices did it. These were done with it %.3f s behind "
			   "the last one, which counts as time of these steps here.",
			   process->called, (double)use->late_ns / 1e9);
}

static void put_process(struct table *table, const struct request *request, const struct flops_sum *sum, const struct step_rows *rows)
{
	const struct process *process = &request->run->processes[sum->process];
	struct flops_use use;

	if (!flops_use_find(&use, request, sum, rows))
		return;
	if (use.is_tf32)
		table_note(table, NOTE_INFERRED,
			   "Process %s: products of single precision are taken for tf32's, by the names of the kernels that ran.",
			   process->called);
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, TYPE, "all");
	table_string(table, SOURCE, source_of(sum));
	flops_put(table, FLOPS, RATE, true, use.all, 0);
	if (use.judged_ns)
		table_integer(table, TIME, (int64_t)use.judged_ns);
	if (use.replaying_steps)
		table_note(table, NOTE_MISSING,
			   "Process %s: %" PRIu64 " of %" PRIu64 " judged steps launched CUDA graphs, whose arithmetic is not counted each "
			   "time: no rate, and no share of the peak.",
			   process->called, use.replaying_steps, use.judged_steps);
	else if (use.judged_ns && !use.judged_flops)
		table_note(table, NOTE_INFO,
			   "Process %s: what it computed lies in none of the judged steps: no rate, and no share of the peak.",
			   process->called);
	else if (use.judged_ns && use.judged_flops <= INT64_MAX) {
		flops_put_rate(table, RATE, (double)use.judged_flops * 1e9 / (double)use.judged_ns);
		if (use.rate > 0)
			table_real(table, UTILISATION, (double)use.judged_flops * 1e9 / (double)use.judged_ns / use.rate);
	}
	note_late(table, process, &use);
	put_device(table, &use.peak, use.rate);
	if (use.peak.devices && use.peak.why)
		table_note(table, NOTE_MISSING, "Process %s: no peak, and no share of one: %s.", process->called, use.peak.why);
	for (size_t t = 0; t < FLOPS_TYPES; t++) {
		if (!use.types[t])
			continue;
		table_row(table);
		table_process(table, PROCESS, MACHINE, process);
		table_string(table, TYPE, flops_type_name((enum flops_type)t));
		flops_put(table, FLOPS, RATE, true, use.types[t], 0);
		table_real(table, SHARE, (double)use.types[t] / (double)use.all);
		put_device(table, &use.peak, use.peak.why ? 0 : use.peak.rates[t]);
	}
}

/* Devices of which it is not known when they were done. */
static void note_unseen(struct table *table, const struct request *request, const struct step_rows *rows)
{
	struct step_unseen unseen = step_rows_unseen(rows, request);

	if (unseen.is_much && unseen.launches)
		table_note(table, NOTE_MISSING,
			   "Of %" PRIu64 " of %" PRIu64 " launches no record says what devices did. Where steps launched it faster than "
			   "devices did it, rates and shares were lower.",
			   unseen.launches, unseen.of_launches);
}

/* How much of the time of ops is of those with a figure. */
static void note_known(struct table *table, const struct request *request)
{
	struct op_rows rows;
	int64_t known[2] = {0}, all[2] = {0};

	op_rows_find(&rows, request, false);
	for (size_t i = 0; i < rows.count; i++) {
		const struct op_row *row = &rows.items[i];
		known[row->side] += row->has_flops ? row->self : 0;
		all[row->side] += row->name[0] ? row->self : 0;
	}
	for (int side = 0; side < 2; side++)
		if (all[side] > 0)
			table_note(table, NOTE_INFO,
				   "Of the ops' own time %s, %.1f %% is of ops with a figure, the rest counts as no arithmetic.",
				   side == OP_DEVICE ? "on devices" : "on the host",
				   100.0 * (double)known[side] / (double)all[side]);
	op_rows_free(&rows);
}

static void fill(struct table *table, const struct request *request)
{
	const struct flops_found *found = analyses_whole(request->analyses, &analysis_flops);
	struct step_rows rows;
	bool has_peak = false;

	step_rows_find(&rows, request);
	for (size_t i = 0; found && i < found->sum_count; i++)
		put_process(table, request, &found->sums[i], &rows);
	for (size_t r = 0; r < table->row_count; r++)
		has_peak |= table_is_known(table, r, PEAK);
	if (table->row_count)
		note_known(table, request);
	else
		table_note(table, NOTE_INFO, "%s",
			   notes_is_foreign(request)
				   ? "No arithmetic is known: the file has no shapes of inputs, which PyTorch's profiler writes with "
				     "record_shapes=True."
				   : "No arithmetic is known: no op told the shapes of its inputs, and cuBLAS was not called.");
	if (has_peak)
		note_unseen(table, request, &rows);
	if (has_peak)
		table_note(table, NOTE_INFERRED,
			   "A peak is what NVIDIA publishes for the compute capability, times multiprocessors and highest clock of the "
			   "device; a device that is hot, or short of power, runs slower (device_usage).");
	if (table->row_count)
		table_note(table, NOTE_INFO,
			   "Products of matrices, convolutions and attention count, two operations a pair; docs/flops.md says what does "
			   "not.");
	flops_note(table, request);
	if (table->row_count)
		flops_note_replays(table, request);
	step_rows_note_first(table, &rows, request);
	notes_ops(table, request);
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, &analysis_flops, &analysis_work, NULL};
const struct table_kind table_overview_flops = {
	.id = "overview.flops",
	.title = "Arithmetic",
	.help = "Floating-point operations a second of each process's steps, by type, and their share of the devices' peak (MFU).",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
