/* SPDX-License-Identifier: Apache-2.0 */
/* See reducer/tables/flops_peak.h. */
#include "reducer/tables/flops_peak.h"

#include "reducer/analysis/parts.h"
#include "reducer/analysis/work.h"
#include "reducer/tables/steps_ahead.h"

#include <string.h>

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

static const struct capability *capability_of(const struct gpu_device *device)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (capabilities[i].major == device->major && capabilities[i].minor == device->minor &&
		    strstr(device->name ? device->name : "", capabilities[i].board))
			return &capabilities[i];
	return NULL;
}

static void add_device(struct flops_peak *peak, const struct gpu_device *device)
{
	const struct capability *capability = device ? capability_of(device) : NULL;

	peak->devices++;
	peak->name = peak->name || !device ? peak->name : device->name;
	peak->device = peak->device ? peak->device : device;
	peak->source = peak->source || !capability ? peak->source : capability->source;
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
static struct flops_peak peak_of(const struct gpu *gpu)
{
	struct flops_peak peak = {.why = NULL};
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
static double mixed_peak(const struct flops_use *use)
{
	double seconds = 0;

	for (size_t t = 0; t < FLOPS_TYPES; t++) {
		if (use->types[t] && use->peak.rates[t] <= 0)
			return 0;
		seconds += use->types[t] ? (double)use->types[t] / use->peak.rates[t] : 0;
	}
	return seconds > 0 ? (double)use->all / seconds : 0;
}

static void judge(struct flops_use *use, const struct step_rows *rows, size_t process)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct step_row *row = rows->items[i];
		if (row->process != process || !step_rows_judges(rows, i))
			continue;
		use->judged_flops = flops_plus(use->judged_flops, flops_add_up(row->flops));
		use->judged_steps++;
		use->replaying_steps += row->replays != 0;
		use->judged_ns += row->total_ns;
		for (size_t k = PART_COMPUTE_16; k <= PART_COMPUTE_UNKNOWN; k++)
			use->judged_compute_ns += row->exposed_ns[k];
	}
	use->late_ns = steps_ahead_ns(rows, process);
	use->judged_ns += use->late_ns;
	use->judged_compute_ns += use->late_ns;
}

bool flops_use_find(struct flops_use *use, const struct request *request, const struct flops_sum *sum, const struct step_rows *rows)
{
	*use = (struct flops_use){.peak = peak_of(request->run->processes[sum->process].gpu)};
	use->all = sum_types(sum, use->types);
	if (!use->all)
		return false;
	if (use->types[FLOPS_FP32] && use->peak.devices && is_tf32(request, sum->process)) {
		use->types[FLOPS_TF32] = flops_plus(use->types[FLOPS_TF32], use->types[FLOPS_FP32]);
		use->types[FLOPS_FP32] = 0;
		use->is_tf32 = true;
	}
	use->rate = use->peak.why ? 0 : mixed_peak(use);
	judge(use, rows, sum->process);
	return true;
}
