/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.flops: how much arithmetic the steps do a second, and what share of what the devices could do that is (MFU).
 *
 * Rule: the time is that of the steps that are judged (step_values.h). The share is the time that these operations would take at
 * the peak of their types, by the time that they took, so that a mix of types has one figure. A peak is that of the device's
 * compute capability, multiprocessors and highest clock, as its records have them (peaks.def); where one of these is not known,
 * and for processors, there is none.
 */
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/gpu_rows.h"
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
	[TIME] = {"time_ns", "of steps", TABLE_INTEGER, UNIT_NS, 1, "all: time of the judged steps, requests, calls, or of all work"},
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

static const struct capability {
	uint64_t major, minor;
	const char *board; /* a word of the device's name */
	uint64_t a_clock[FLOPS_TYPES];
	const char *source;
} capabilities[] = {
#define PEAK(major, minor, board, fp64, fp32, tf32, fp16, bf16, fp8, int8, source) \
	{major, minor, board, {0, fp64, fp32, tf32, fp16, bf16, fp8, int8}, source},
#include "reducer/tables/peaks.def"
#undef PEAK
};

/* The devices of a process together. */
struct peak {
	size_t devices;
	const char *name;
	double rates[FLOPS_TYPES]; /* 0 = none */
	const struct capability *capability;
	const struct gpu_device *device; /* the first */
	const char *why;		 /* there is none; NULL = there is */
};

static const struct capability *capability_of(const struct gpu_device *device)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (capabilities[i].major == device->major && capabilities[i].minor == device->minor &&
		    strstr(device->name ? device->name : "", capabilities[i].board))
			return &capabilities[i];
	return NULL;
}

static void add_device(struct peak *peak, const struct gpu_device *device)
{
	const struct capability *capability = device ? capability_of(device) : NULL;

	peak->devices++;
	peak->name = peak->name || !device ? peak->name : device->name;
	peak->device = peak->device ? peak->device : device;
	peak->capability = peak->capability ? peak->capability : capability;
	if (!device || !device->major)
		peak->why = "nothing in the log says what the device is";
	else if (!capability)
		peak->why = "no figures are known here of this compute capability";
	else if (device->is_mig)
		peak->why = "the device is a part of another one (MIG)";
	else if (!device->multiprocessors || !device->clock)
		peak->why = "the log does not say the device's multiprocessors and clock";
	for (size_t t = 0; !peak->why && t < FLOPS_TYPES; t++)
		peak->rates[t] += (double)capability->a_clock[t] * (double)device->multiprocessors * (double)device->clock;
}

/* Devices that ran something. */
static struct peak peak_of(const struct gpu *gpu)
{
	struct peak peak = {.why = NULL};
	uint32_t seen[64];
	size_t seen_count = 0;

	for (size_t q = 0; gpu && q < gpu->queue_count; q++) {
		uint32_t device = gpu->queues[q].device;
		size_t at = 0;
		while (at < seen_count && seen[at] != device)
			at++;
		if (at < seen_count || seen_count == sizeof(seen) / sizeof(seen[0]) || !gpu->queues[q].lane.busy_ns)
			continue;
		seen[seen_count++] = device;
		add_device(&peak, gpu_find_device(gpu, device));
	}
	if (!peak.devices)
		peak.why = "no device worked, and of processors no peak is told";
	return peak;
}

static const char *source_of(const struct flops_sum *sum)
{
	if (sum->times[FLOPS_BY_OP] && sum->times[FLOPS_BY_CALL])
		return "ops and library calls";
	if (sum->times[FLOPS_BY_OP])
		return "ops";
	return sum->times[FLOPS_BY_CALL] ? "library calls" : "traces";
}

/* By type, of the origins that count. */
static uint64_t sum_types(const struct flops_sum *sum, uint64_t types[FLOPS_TYPES])
{
	uint64_t by_origin[FLOPS_ORIGINS] = {0}, all = 0;
	bool is_traced;

	for (size_t o = 0; o < FLOPS_ORIGINS; o++)
		for (size_t t = 0; t < FLOPS_TYPES; t++)
			by_origin[o] = flops_plus(by_origin[o], sum->flops[o][t]);
	is_traced = !by_origin[FLOPS_BY_OP] && !by_origin[FLOPS_BY_CALL];
	for (size_t t = 0; t < FLOPS_TYPES; t++) {
		types[t] = is_traced ? sum->flops[FLOPS_BY_TRACE][t]
				     : flops_plus(sum->flops[FLOPS_BY_OP][t], sum->flops[FLOPS_BY_CALL][t]);
		all = flops_plus(all, types[t]);
	}
	return all;
}

/* fp32 where the process's kernels that compute in single precision are mostly tf32's, by their names. */
static bool is_tf32(const struct request *request, size_t process)
{
	const struct work *work = analyses_process(request->analyses, &analysis_work, process);
	uint64_t ns[PART_COMPUTE_UNKNOWN + 1] = {0};

	for (size_t i = 0; work && i < work->count; i++)
		if (work->rows[i].what == SPAN_KERNEL && work->rows[i].part <= PART_COMPUTE_UNKNOWN)
			ns[work->rows[i].part] += work->rows[i].ns;
	return ns[PART_COMPUTE_TF32] > ns[PART_COMPUTE_32];
}

/* Operations a second at which the mix would be done if each type went at its peak; 0 = of some type there is none. */
static double mixed_peak(const struct peak *peak, const uint64_t types[FLOPS_TYPES], uint64_t all)
{
	double seconds = 0;

	for (size_t t = 0; t < FLOPS_TYPES; t++) {
		if (types[t] && peak->rates[t] <= 0)
			return 0;
		seconds += types[t] ? (double)types[t] / peak->rates[t] : 0;
	}
	return seconds > 0 ? (double)all / seconds : 0;
}

static void put_peak_source(struct table *table, const struct peak *peak, double rate)
{
	struct text text = {0};

	if (peak->why)
		text_string(&text, peak->why);
	else if (rate <= 0)
		text_format(&text, "compute capability %" PRIu64 ".%" PRIu64 " has no units for this type, or none are published",
			    peak->device->major, peak->device->minor);
	else
		text_format(&text, "%s: capability %" PRIu64 ".%" PRIu64 ", %" PRIu64 " multiprocessors at %.0f MHz",
			    peak->capability->source, peak->device->major, peak->device->minor, peak->device->multiprocessors,
			    (double)peak->device->clock / 1e6);
	table_text(table, PEAK_FROM, text.bytes, text.length);
	text_free(&text);
}

static void put_device(struct table *table, const struct peak *peak, double rate)
{
	if (peak->devices)
		table_integer(table, DEVICES, (int64_t)peak->devices);
	table_string(table, DEVICE, peak->name);
	if (rate > 0)
		flops_put_rate(table, PEAK, rate);
	put_peak_source(table, peak, rate);
}

struct judged {
	uint64_t flops, ns, steps, replaying; /* replaying: steps that launched CUDA graphs */
};

static struct judged judge(const struct step_rows *rows, size_t process)
{
	struct judged judged = {0};

	for (size_t i = 0; i < rows->count; i++) {
		if (rows->items[i]->process != process || !step_rows_judges(rows, i))
			continue;
		judged.flops = flops_plus(judged.flops, flops_add_up(rows->items[i]->flops));
		judged.steps++;
		judged.replaying += rows->items[i]->replays != 0;
		judged.ns += rows->items[i]->total_ns;
	}
	return judged;
}

static void put_process(struct table *table, const struct request *request, const struct flops_sum *sum, const struct step_rows *rows)
{
	const struct process *process = &request->run->processes[sum->process];
	struct judged judged = judge(rows, sum->process);
	struct peak peak = peak_of(process->gpu);
	uint64_t types[FLOPS_TYPES], all = sum_types(sum, types);
	double rate;

	if (!all)
		return;
	if (types[FLOPS_FP32] && peak.devices && is_tf32(request, sum->process)) {
		types[FLOPS_TF32] = flops_plus(types[FLOPS_TF32], types[FLOPS_FP32]);
		types[FLOPS_FP32] = 0;
		table_note(table, NOTE_INFERRED,
			   "Process %s: products of single precision are taken for tf32's, by the names of the kernels that ran.",
			   process->called);
	}
	rate = peak.why ? 0 : mixed_peak(&peak, types, all);
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, TYPE, "all");
	table_string(table, SOURCE, source_of(sum));
	flops_put(table, FLOPS, RATE, true, all, 0);
	if (judged.ns)
		table_integer(table, TIME, (int64_t)judged.ns);
	if (judged.replaying)
		table_note(table, NOTE_MISSING,
			   "Process %s: %" PRIu64 " of %" PRIu64 " judged steps launched CUDA graphs, whose arithmetic is not counted each "
			   "time: no rate, and no share of the peak.",
			   process->called, judged.replaying, judged.steps);
	else if (judged.ns && !judged.flops)
		table_note(table, NOTE_INFO,
			   "Process %s: what it computed lies in none of the judged steps: no rate, and no share of the peak.",
			   process->called);
	else if (judged.ns && judged.flops <= INT64_MAX) {
		flops_put_rate(table, RATE, (double)judged.flops * 1e9 / (double)judged.ns);
		if (rate > 0)
			table_real(table, UTILISATION, (double)judged.flops * 1e9 / (double)judged.ns / rate);
	}
	put_device(table, &peak, rate);
	if (peak.devices && peak.why)
		table_note(table, NOTE_MISSING, "Process %s: no peak, and no share of one: %s.", process->called, peak.why);
	for (size_t t = 0; t < FLOPS_TYPES; t++) {
		if (!types[t])
			continue;
		table_row(table);
		table_process(table, PROCESS, MACHINE, process);
		table_string(table, TYPE, flops_type_name((enum flops_type)t));
		flops_put(table, FLOPS, RATE, true, types[t], 0);
		table_real(table, SHARE, (double)types[t] / (double)all);
		put_device(table, &peak, peak.why ? 0 : peak.rates[t]);
	}
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
		table_note(table, NOTE_INFO, "No arithmetic is known: no op told the shapes of its inputs, and cuBLAS was not called.");
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
	step_rows_note_first(table, &rows);
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
