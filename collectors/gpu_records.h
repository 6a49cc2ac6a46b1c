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

/* The record before the call's: its bytes, and how its values are stored. */
struct tfp_gpu_argument_kind {
	void (*fill)(void *room, uint64_t now, const uint64_t *values);
	size_t bytes;
};
extern const struct tfp_gpu_argument_kind tfp_gpu_arguments[] TFP_HIDDEN; /* by enum tfp_gpu_argument */

/* Of a launch. Inline: with hooks alone each has it. */
static inline void tfp_gpu_fill_launch(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_launch *)room = (struct tfp_record_gpu_launch){
		.word = now << TFP_TAG_BITS | TFP_TAG_gpu_launch, .kernel = v[0], .stream = v[1], .grid_x = (uint32_t)v[2],
		.grid_y = (uint32_t)v[3], .grid_z = (uint32_t)v[4], .block_x = (uint32_t)v[5], .block_y = (uint32_t)v[6],
		.block_z = (uint32_t)v[7], .shared = v[8]};
}

/* Own thread, own lane. What does not fit is counted by the lane. Inline: its fields are still in registers. */
static inline __attribute__((always_inline)) void tfp_gpu_put(struct tfp_thread *thread, struct tfp_lane *lane,
							      const struct tfp_gpu_done *done)
{
	size_t before = TFP_UNLIKELY(done->argument) ? tfp_gpu_arguments[done->argument].bytes : 0;
	uint8_t *room = tfp_record_begin(thread, lane, before + sizeof(struct tfp_record_gpu_call), done->now);

	if (TFP_UNLIKELY(!room))
		return;
	if (done->argument == TFP_GPU_LAUNCH)
		tfp_gpu_fill_launch(room, done->now, done->values);
	else if (before)
		tfp_gpu_arguments[done->argument].fill(room, done->now, done->values);
	struct tfp_record_gpu_call *record = (struct tfp_record_gpu_call *)(void *)(room + before);
	record->word = done->now << TFP_TAG_BITS | TFP_TAG_gpu_call;
	record->duration = done->now - done->begin;
	record->correlation = done->correlation;
	record->function = done->function;
	record->stack = done->stack;
	record->context = done->context;
	record->result = done->result;
	record->flags = (uint8_t)done->flags;
	tfp_record_commit(lane, room, before + sizeof(struct tfp_record_gpu_call));
}

/* Writes the function's fact unless this log has it. Any thread. */
void tfp_gpu_function_note(uint32_t number, const char *name, const char *library, const char *kind, const char *arguments);

/* Whether it is there; inline, because each call asks. */
static inline uint32_t tfp_gpu_function_place(uint32_t number)
{
	return number & TFP_GPU_CALLBACK ? 4096 + ((number >> 16 & 1) << 11 | (number & 2047)) : number & 4095;
}

static inline int tfp_gpu_function_is_noted(uint32_t number)
{
	uint32_t place = tfp_gpu_function_place(number);

	return (int)(__atomic_load_n((uint64_t *)&tfp_state->gpu_functions[place / 64], __ATOMIC_RELAXED) >> place % 64 & 1);
}

#endif
