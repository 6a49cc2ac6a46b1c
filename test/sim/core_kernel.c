/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches: are the dimensions allowed, how long does it run, what faults the scenario plants.
 *
 * Rule: a kernel computes nothing; it takes its time, and its parameters are never looked at.
 */
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"

static _Atomic uint64_t launches, kernels, grids;

struct match {
	const char *name;
	uint64_t duration;
	bool is_found;
};

static void match_name(const char *value, void *user)
{
	struct match *match = user;
	char pattern[512];
	unsigned long long ns;

	if (!match->is_found && sscanf(value, "%511s %llu", pattern, &ns) == 2 && !fnmatch(pattern, match->name, 0)) {
		match->duration = ns;
		match->is_found = true;
	}
}

uint64_t sim_kernel_duration(const struct sim_device *device, const struct sim_launch *launch)
{
	struct match match = {.name = launch->function->name};
	uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	uint64_t rounds = (blocks + (uint64_t)device->sm_count - 1) / (uint64_t)device->sm_count;
	uint64_t jitter = SIM_NUMBER("kernel_jitter_ns", 0), most = SIM_NUMBER("kernel_most_ns", 2000000), each;

	sim_scenario_each("kernel", match_name, &match);
	if (!match.is_found) {
		each = SIM_NUMBER("kernel_block_ns", 200);
		match.duration = SIM_NUMBER("kernel_ns", 2000) + (rounds > most ? most : rounds * each);
		match.duration = match.duration > most ? most : match.duration;
	}
	return match.duration + (jitter ? sim_random(1) % jitter : 0);
}

int sim_launch_check(const struct sim_context *context, const struct sim_launch *launch)
{
	const struct sim_device *facts = &context->machine->facts;
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	uint32_t most = launch->function->max_dynamic_shared > 0 ? (uint32_t)launch->function->max_dynamic_shared :
		(uint32_t)facts->shared_per_block - launch->function->static_shared;

	for (int i = 0; i < 3; i++)
		if (!launch->grid[i] || !launch->block[i] || launch->grid[i] > (uint32_t)facts->max_grid[i] ||
		    launch->block[i] > (uint32_t)facts->max_block[i])
			return SIM_INVALID_VALUE;
	if (threads > (uint64_t)facts->max_threads_per_block || launch->shared > most)
		return SIM_INVALID_VALUE;
	return SIM_OK;
}

void sim_kernel_fill(struct sim_work *work, const struct sim_context *context, const struct sim_launch *launch)
{
	const struct sim_function *function = launch->function;

	work->kernel = (struct sim_kernel_work){
		.name = function->name, .static_shared = function->static_shared, .dynamic_shared = launch->shared,
		.local_per_thread = function->local_bytes, .registers = function->registers,
		.grid_id = atomic_fetch_add(&grids, 1) + 1, .launch_type = launch->is_cooperative, .function_index = function->index,
		.module_id = function->module ? function->module->id : 0, .module_memory = function->module,
	};
	work->kernel.local_total = (uint64_t)function->local_bytes * (uint64_t)context->machine->facts.sm_count *
		(uint64_t)context->machine->facts.max_threads_per_sm;
	memcpy(work->kernel.grid, launch->grid, sizeof launch->grid);
	memcpy(work->kernel.block, launch->block, sizeof launch->block);
	memcpy(work->kernel.cluster, launch->cluster, sizeof launch->cluster);
	work->kernel.queued = sim_clock_device(context->machine->facts.ordinal, sim_clock_now());
}

struct fault {
	uint64_t number;
	int result;
};

static void look_for_fault(const char *value, void *user)
{
	struct fault *fault = user;
	char *rest;

	if (strtoull(value, &rest, 0) == fault->number)
		fault->result = atoi(rest);
}

/* What the scenario plants at this launch; may lose the device. */
static int planted(struct sim_context *context)
{
	struct fault fault = {.number = atomic_fetch_add(&launches, 1) + 1};

	sim_scenario_each("fault_launch", look_for_fault, &fault);
	if (!fault.result && fault.number == SIM_NUMBER("device_lost", 0)) {
		context->machine->is_lost = true;
		sim_drop_work(context->machine, NULL);
		sim_tell_error(SIM_DEVICE_LOST, "the device is lost");
		fault.result = SIM_DEVICE_LOST;
	}
	return fault.result;
}

/* A planted device-side fault: it shows once the kernel would have ended. */
static void breaks(struct sim_piece *piece)
{
	struct sim_context *context = piece->stream->context;

	if (!context->error) {
		context->error = (int)piece->value;
		sim_tell_error((int)piece->value, "a kernel failed");
	}
}

/* The launch queue is full: waits, as a real launch does, until the oldest kernels are done. */
static void wait_for_room(struct sim_machine *machine)
{
	int depth = (int)SIM_NUMBER("queue_depth", 1024);
	uint64_t start = 0;

	while (__atomic_load_n(&machine->in_flight, __ATOMIC_RELAXED) >= depth) {
		start = start ? start : sim_clock_now();
		if (sim_clock_is_virtual())
			sim_wait_until(machine->tail);
		sim_retire(false);
	}
	if (start)
		sim_tell_overhead(65536u * 6, start, sim_clock_now());
}

int sim_launch(struct sim_stream *stream, const struct sim_launch *launch)
{
	struct sim_context *context = stream->context;
	struct fault fault = {0};
	struct sim_piece *piece;
	struct sim_node *node;
	int result = sim_launch_check(context, launch);

	if (result || (result = planted(context)))
		return result;
	if ((result = sim_capture_implicit(stream)))
		return result;
	if (sim_capture_status(stream)) {
		result = sim_capture_add(stream, 0, &node);
		if (!result)
			node->launch = *launch;
		return result;
	}
	wait_for_room(context->machine);
	piece = sim_piece_new(SIM_KERNEL);
	sim_kernel_fill(&piece->work, context, launch);
	piece->work.kernel.priority = stream->priority;
	fault.number = atomic_fetch_add(&kernels, 1) + 1;
	sim_scenario_each("fault_kernel", look_for_fault, &fault);
	if (fault.result) {
		piece->value = (uint64_t)fault.result;
		piece->act = breaks;
	}
	sim_submit(stream, piece, SIM_COMPUTE, sim_kernel_duration(&context->machine->facts, launch));
	return SIM_OK;
}
