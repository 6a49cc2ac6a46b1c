/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU calls and the device's work for them by call stack, where Python frames were read (PYTHON=launch).
 *
 * Rule: a call inside another one that was recorded is part of it; a device record counts for the call that it is paired with.
 */
#include "reducer/model/gpu_scan.h"

static struct gpu_stack *stack_at(struct gpu_scan *scan, uint32_t stack)
{
	uint32_t native, python, place;
	struct gpu_stack *row;

	if (!python_pair(&scan->scan->process->python, stack, &native, &python))
		return NULL;
	place = number_map_find(&scan->stack_rows, 0, stack);
	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->stacks[place];
	row = GPU_ROOM(scan, stacks, stack_count);
	if (row == NULL)
		return NULL;
	*row = (struct gpu_stack){.stack = stack};
	number_map_set(&scan->stack_rows, 0, stack, (uint32_t)scan->gpu->stack_count - 1);
	return row;
}

#define NESTED 8u /* gpu_call.flags */

void gpu_python_call(struct gpu_scan *scan, const struct gpu_call *call)
{
	if (scan->scan->process->python.pair_count == 0)
		return; /* no call has a Python stack */
	struct gpu_stack *row = gpu_wants_ticks(scan, call->begin) ? stack_at(scan, call->stack) : NULL;

	if (row == NULL)
		return;
	row->launches += call->kind >= GPU_LAUNCH && call->kind <= GPU_GRAPH && call->result == 0;
	if (call->flags & NESTED)
		return;
	row->calls++;
	row->host_ns += call->duration;
}

void gpu_python_record(struct gpu_scan *scan, const struct gpu_record *record, const struct gpu_flight *flight,
		       unsigned impossible)
{
	if (scan->scan->process->python.pair_count == 0)
		return;
	struct gpu_stack *row = flight == NULL || !(flight->has & FLIGHT_CALL) ? NULL : stack_at(scan, flight->stack);

	if (row == NULL)
		return;
	if (impossible == 0)
		row->device_ns += record->duration;
	else
		row->untimed++;
}
