/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Library calls (cuBLAS, cuDNN, NCCL, ...): their arguments, and the launches made while they were open on their thread.
 *
 * Rule: a call's arguments are known when it returns, its launches before, their device times after: an instance holds the
 * call together until the last of them is settled.
 */
#include "reducer/model/gpu_scan.h"

#include <string.h>

#define INSTANCES_MAX (1u << 20)

static uint32_t take_instance(struct gpu_scan *scan)
{
	uint32_t place = scan->instance_free;
	struct gpu_instance *wider;

	if (place != 0) {
		scan->instance_free = scan->instances[place - 1].next_free;
	} else {
		wider = scan->instance_count >= INSTANCES_MAX ? NULL
							      : model_room(scan->instances, scan->instance_count, sizeof *wider);
		if (wider == NULL)
			return 0;
		scan->instances = wider;
		place = ++scan->instance_count;
	}
	scan->instances[place - 1] = (struct gpu_instance){.row = GPU_NONE, .is_open = 1,
							   .kernels = {GPU_NONE, GPU_NONE, GPU_NONE, GPU_NONE}};
	return place;
}

static void add_kernel(uint32_t kernels[4], uint32_t *is_more, uint32_t kernel)
{
	for (int i = 0; i < 4; i++) {
		if (kernels[i] == kernel)
			return;
		if (kernels[i] == GPU_NONE) {
			kernels[i] = kernel;
			return;
		}
	}
	*is_more = 1;
}

/* Moves what the instance gathered into its row. */
static void hand_over(struct gpu_scan *scan, struct gpu_instance *instance)
{
	struct gpu_library_call *row = &scan->gpu->library_calls[instance->row];

	row->launches += instance->launches;
	row->device_ns += instance->device_ns;
	row->kernel_count += instance->kernel_count;
	for (int i = 0; i < 4; i++)
		if (instance->kernels[i] != GPU_NONE)
			add_kernel(row->kernels, &row->is_more, instance->kernels[i]);
	row->is_more |= instance->is_more;
}

static void leave(struct gpu_scan *scan, uint32_t place)
{
	struct gpu_instance *instance = &scan->instances[place - 1];

	if (instance->is_open || instance->flights != 0)
		return;
	if (instance->row != GPU_NONE)
		hand_over(scan, instance);
	instance->next_free = scan->instance_free;
	scan->instance_free = place;
}

/* A call whose end is not in the log: nothing more is known of it. */
static void give_up(struct gpu_scan *scan, struct gpu_opened *opened)
{
	scan->instances[opened->instance - 1].is_open = 0;
	leave(scan, opened->instance);
}

void gpu_library_begin(struct gpu_scan *scan, size_t stream, uint32_t function)
{
	struct gpu_arguments *arguments = &scan->arguments[stream];
	size_t most = sizeof arguments->open / sizeof *arguments->open;
	uint32_t instance = take_instance(scan);

	if (instance == 0)
		return;
	if (arguments->open_count == most) {
		give_up(scan, &arguments->open[0]);
		memmove(&arguments->open[0], &arguments->open[1], (most - 1) * sizeof *arguments->open);
		arguments->open_count--;
	}
	arguments->open[arguments->open_count++] = (struct gpu_opened){instance, function};
}

/* The innermost call of that function ends; those inside it that are still open have lost their ends. 0 = it has lost its beginning. */
static uint32_t take_opened(struct gpu_scan *scan, struct gpu_arguments *arguments, uint32_t function)
{
	uint32_t at = arguments->open_count;

	while (at > 0 && arguments->open[at - 1].function != function)
		at--;
	while (at > 0 && arguments->open_count > at)
		give_up(scan, &arguments->open[--arguments->open_count]);
	return at == 0 ? 0 : arguments->open[--arguments->open_count].instance;
}

uint32_t gpu_library_enter(struct gpu_scan *scan, size_t stream)
{
	struct gpu_arguments *arguments = &scan->arguments[stream];
	uint32_t place = arguments->open_count == 0 ? 0 : arguments->open[arguments->open_count - 1].instance;

	if (place != 0) {
		scan->instances[place - 1].flights++;
		scan->instances[place - 1].launches++;
	}
	return place;
}

void gpu_library_leave(struct gpu_scan *scan, uint32_t instance)
{
	scan->instances[instance - 1].flights--;
	leave(scan, instance);
}

void gpu_library_ran(struct gpu_scan *scan, uint32_t place, uint32_t kernel, uint64_t ns)
{
	struct gpu_instance *instance = &scan->instances[place - 1];

	instance->device_ns += ns;
	instance->kernel_count += kernel != GPU_NONE;
	if (kernel != GPU_NONE)
		add_kernel(instance->kernels, &instance->is_more, kernel);
}

static uint64_t key_of(const struct gpu_call *call, const uint64_t *values)
{
	uint64_t key = call->op + UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < GPU_LIBRARY_ARGUMENTS; i++)
		key = (key ^ values[i]) * UINT64_C(0xff51afd7ed558ccd) + (key >> 29);
	return key;
}

static uint32_t row_of(struct gpu_scan *scan, const struct gpu_call *call, const uint64_t *values)
{
	uint64_t low = (uint64_t)call->function << 32 | call->thread, key = key_of(call, values);
	uint32_t place = number_map_find(&scan->library_rows, key, low);
	struct gpu_library_call *row;

	if (place != NUMBER_MAP_NONE)
		return place;
	row = GPU_ROOM(scan, library_calls, library_call_count);
	if (row == NULL)
		return GPU_NONE;
	*row = (struct gpu_library_call){.function = call->function, .thread = call->thread, .op = call->op,
					 .kernels = {GPU_NONE, GPU_NONE, GPU_NONE, GPU_NONE}};
	memcpy(row->arguments, values, sizeof row->arguments);
	place = (uint32_t)scan->gpu->library_call_count - 1;
	number_map_set(&scan->library_rows, key, low, place);
	return place;
}

void gpu_library_end(struct gpu_scan *scan, const struct gpu_call *call, struct gpu_arguments *arguments)
{
	static const uint64_t none[GPU_LIBRARY_ARGUMENTS];
	uint32_t row = GPU_NONE, place = 0;

	if (gpu_wants_ticks(scan, call->begin))
		row = row_of(scan, call, arguments->is_library ? arguments->values : none);
	if (row != GPU_NONE) {
		scan->gpu->library_calls[row].calls++;
		scan->gpu->library_calls[row].failed += call->result != 0;
		spread_add(&scan->gpu->library_calls[row].times, call->duration);
	}
	if (call->function != GPU_NONE)
		place = take_opened(scan, arguments, scan->gpu->functions[call->function].number);
	if (place == 0)
		return;
	scan->instances[place - 1].is_open = 0;
	scan->instances[place - 1].row = row;
	leave(scan, place);
}
