/* SPDX-License-Identifier: Apache-2.0 */
/* What tables ask a struct gpu, its times in ns, its end. See gpu.h. */
#include "reducer/model/gpu_scan.h"
#include "reducer/model/clock.h"
#include "reducer/model/gpu_launches.h"
#include "reducer/model/round.h"

#include <stdlib.h>

const char *gpu_kind_name(enum gpu_kind kind)
{
	static const char *const names[] = {
		[GPU_OTHER] = "other", [GPU_LAUNCH] = "launch", [GPU_COPY] = "copy", [GPU_SET] = "set", [GPU_GRAPH] = "graph",
		[GPU_ALLOC] = "alloc", [GPU_FREE] = "free", [GPU_SYNC] = "sync", [GPU_EVENT] = "event", [GPU_STREAM] = "stream",
		[GPU_MODULE] = "module", [GPU_CONTEXT] = "context", [GPU_LIBRARY] = "library",
		[GPU_GRAPH_WORK] = "graph work"};

	return kind < GPU_KINDS ? names[kind] : "other";
}

uint64_t gpu_unseen_launches(const struct gpu_counts *counts, uint64_t *all)
{
	const uint64_t *reasons = counts->reasons[GPU_HOST_ONLY];

	*all = counts->launches[GPU_HOST_ONLY] + counts->launches[GPU_PAIRED] + counts->launches[GPU_DEVICE_ONLY];
	/* A graph without work is no work that was missed; a step at the edge of a window counts nowhere. */
	return counts->launches[GPU_HOST_ONLY] - reasons[GPU_REASON_SILENT_GRAPH] - reasons[GPU_REASON_WINDOW];
}

const char *gpu_pairing_name(enum gpu_pairing pairing)
{
	static const char *const names[] = {[GPU_PAIRED] = "paired", [GPU_DEVICE_ONLY] = "device-only",
					    [GPU_HOST_ONLY] = "host-only", [GPU_NOT_LAUNCHED] = "not-launched"};

	return pairing < GPU_PAIRINGS ? names[pairing] : "";
}

const char *gpu_reason_text(enum gpu_reason reason)
{
	static const char *const texts[] = {
#define GPU_REASON(name, text) [GPU_REASON_##name] = text,
#include "reducer/model/gpu_reasons.def"
#undef GPU_REASON
	};

	return reason < GPU_REASONS ? texts[reason] : "";
}

int64_t gpu_run_ns(const struct gpu *gpu, uint64_t device_time)
{
	return process_ns(gpu->clock->process, gpu_clock_ticks(gpu->clock, device_time, NULL));
}

uint32_t gpu_queue_device(const struct gpu *gpu, uint32_t queue)
{
	return queue < gpu->queue_count ? gpu->queues[queue].device : GPU_NONE;
}

const struct gpu_code *gpu_code_of(const struct gpu *gpu, uint32_t name, uint32_t architecture)
{
	uint32_t place = number_map_find(&gpu->code_of, architecture, name);

	if (place == NUMBER_MAP_NONE)
		place = number_map_find(&gpu->code_of, 0, name);
	return place == NUMBER_MAP_NONE ? NULL : &gpu->codes[place];
}

int64_t gpu_matrix_instructions(const struct gpu *gpu, uint32_t name, uint32_t architecture)
{
	const struct gpu_code *code = gpu_code_of(gpu, name, architecture);

	return code ? (int64_t)(code->matrix & INT64_MAX) : -1;
}

static uint64_t scaled(uint64_t ticks, double ns_per_tick)
{
	return round_u64((double)ticks * ns_per_tick);
}

void gpu_times(struct process *process)
{
	struct gpu *gpu = process->gpu;
	double ns_per_tick = process->clock->ns_per_tick;

	if (gpu == NULL)
		return;
	gpu->unfinished.first_ns = process_ns(process, (uint64_t)gpu->unfinished.first_ns);
	gpu_fault_times(&gpu->fault, process);
	for (size_t i = 0; i < gpu->api_count; i++)
		spread_scale(&gpu->apis[i].times, ns_per_tick);
	for (size_t i = 0; i < gpu->library_call_count; i++)
		spread_scale(&gpu->library_calls[i].times, ns_per_tick);
	for (size_t i = 0; i < gpu->wait_count; i++) {
		gpu->waits[i].host_ns = scaled(gpu->waits[i].host_ns, ns_per_tick);
		if (gpu->waits[i].kind == 0)
			spread_scale(&gpu->waits[i].times, ns_per_tick);
	}
	for (size_t i = 0; i < gpu->compile_count; i++)
		if (gpu->compiles[i].is_host)
			spread_scale(&gpu->compiles[i].times, ns_per_tick);
	for (size_t i = 0; i < gpu->stack_count; i++)
		gpu->stacks[i].host_ns = scaled(gpu->stacks[i].host_ns, ns_per_tick);
	for (size_t i = 0; i < gpu->graph_count; i++)
		gpu->graphs[i].host_ns = scaled(gpu->graphs[i].host_ns, ns_per_tick);
	if (gpu->launches != NULL)
		gpu_launches_rest(gpu->launches);
}

static void free_sums(struct gpu *gpu)
{
	for (size_t i = 0; i < gpu->kernel_count; i++)
		spread_free(&gpu->kernels[i].times);
	for (size_t i = 0; i < gpu->copy_count; i++)
		spread_free(&gpu->copies[i].times);
	for (size_t i = 0; i < gpu->api_count; i++)
		spread_free(&gpu->apis[i].times);
	for (size_t i = 0; i < gpu->wait_count; i++)
		spread_free(&gpu->waits[i].times);
	for (size_t i = 0; i < gpu->library_call_count; i++)
		spread_free(&gpu->library_calls[i].times);
	for (size_t i = 0; i < gpu->compile_count; i++)
		spread_free(&gpu->compiles[i].times);
	for (size_t i = 0; i < gpu->queue_count; i++)
		gpu_lane_free(&gpu->queues[i].lane);
	for (size_t i = 0; i < gpu->sweep_count; i++)
		gpu_sweep_free(&gpu->sweeps[i]);
	spread_free(&gpu->queue_delays);
}

void gpu_free(struct gpu *gpu)
{
	if (gpu == NULL)
		return;
	free_sums(gpu);
	free(gpu->functions);
	free(gpu->devices);
	free(gpu->contexts);
	free(gpu->streams);
	free(gpu->shapes);
	free(gpu->queues);
	free(gpu->codes);
	free(gpu->names);
	free(gpu->kernels);
	free(gpu->copies);
	free(gpu->apis);
	free(gpu->waits);
	free(gpu->library_calls);
	free(gpu->graphs);
	free(gpu->compiles);
	free(gpu->stacks);
	gpu_launches_free(gpu->launches);
	free(gpu->pools);
	free(gpu->memory_checks);
	free(gpu->sweeps);
	number_map_free(&gpu->code_of);
	if (gpu->clock != NULL)
		gpu_clock_free(gpu->clock);
	free(gpu->clock);
	free(gpu);
}

void gpu_close(struct process *process)
{
	gpu_free(process->gpu);
	process->gpu = NULL;
}

int gpu_first_queues(const struct gpu *gpu, struct number_map *places)
{
	struct number_map firsts = {0}; /* device and context, stream -> place */
	int failed = 0;

	for (size_t i = 0; i < gpu->queue_count; i++) {
		const struct gpu_queue *queue = &gpu->queues[i];
		uint64_t high = (uint64_t)queue->device << 32 | queue->context;
		uint32_t first = number_map_find(&firsts, high, queue->stream);

		if (first == NUMBER_MAP_NONE) {
			first = (uint32_t)i;
			failed |= number_map_set(&firsts, high, queue->stream, first);
		}
		failed |= number_map_set(places, 0, queue->id, first);
	}
	number_map_free(&firsts);
	return failed;
}
