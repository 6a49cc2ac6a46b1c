/* SPDX-License-Identifier: Apache-2.0 */
/* The records of one finished GPU call. Rule: arguments and call are written by one reservation: both or neither. */
#ifndef TFP_COLLECTORS_GPU_RECORDS_H
#define TFP_COLLECTORS_GPU_RECORDS_H

#include "collectors/gpu_calls.h"

/* A call that has returned. */
struct tfp_gpu_done {
	uint64_t begin, now; /* ticks since origin */
	uint64_t correlation;
	uint32_t function, stack, context, result, flags;
	uint32_t argument; /* enum tfp_gpu_argument */
	const uint64_t *values;
};

/* Own thread, own lane. What does not fit is counted by the lane. */
void tfp_gpu_put(struct tfp_thread *thread, struct tfp_lane *lane, const struct tfp_gpu_done *done);

/* Writes the function's fact unless this log has it. Any thread. */
void tfp_gpu_function_note(uint32_t number, const char *name, const char *library, const char *kind, const char *arguments);

/* Whether it is there; inline, because each call asks. */
static inline uint32_t tfp_gpu_function_place(uint32_t number)
{
	return number & UINT32_C(0x80000000) ? 4096 + ((number >> 16 & 1) << 11 | (number & 2047)) : number & 4095;
}

static inline int tfp_gpu_function_is_noted(uint32_t number)
{
	uint32_t place = tfp_gpu_function_place(number);

	return (int)(__atomic_load_n((uint64_t *)&tfp_state->gpu_functions[place / 64], __ATOMIC_RELAXED) >> place % 64 & 1);
}

#endif
