/* SPDX-License-Identifier: Apache-2.0 */
/* Records of GPU calls; see collectors/gpu_records.h. */
#include "collectors/gpu_records.h"

#include "writer/store.h"
#include "writer/sys.h"

#define WORD(now, name) ((now) << TFP_TAG_BITS | TFP_TAG_##name)

static void fill_copy(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_copy *)room = (struct tfp_record_gpu_copy){
		.word = WORD(now, gpu_copy), .bytes = v[0], .destination = v[1], .source = v[2], .stream = v[3],
		.kind = (uint8_t)v[4]};
}

static void fill_set(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_set *)room = (struct tfp_record_gpu_set){
		.word = WORD(now, gpu_set), .bytes = v[0], .destination = v[1], .stream = v[2], .value = (uint32_t)v[3]};
}

static void fill_alloc(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_alloc *)room = (struct tfp_record_gpu_alloc){
		.word = WORD(now, gpu_alloc), .address = v[0], .bytes = v[1], .stream = v[2], .pool = v[3],
		.device = (uint32_t)v[4], .flavour = (uint8_t)v[5], .context = v[6]};
}

static void fill_free(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_free *)room = (struct tfp_record_gpu_free){
		.word = WORD(now, gpu_free), .address = v[0], .stream = v[1], .flavour = (uint8_t)v[2], .bytes = v[3]};
}

static void fill_object(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_gpu_object *)room =
		(struct tfp_record_gpu_object){.word = WORD(now, gpu_object), .object = v[0], .other = v[1]};
}

static void fill_library(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_library_call *)room = (struct tfp_record_library_call){
		.word = WORD(now, library_call), .a = v[0], .b = v[1], .c = v[2], .d = v[3], .e = v[4], .f = v[5], .g = v[6],
		.h = v[7], .i = v[8], .j = v[9]};
}

static void fill_room(void *room, uint64_t now, const uint64_t *v)
{
	*(struct tfp_record_device_room *)room = (struct tfp_record_device_room){
		.word = WORD(now, device_room), .device = (uint32_t)v[0], .context = (uint32_t)v[1], .free = v[2], .total = v[3]};
}

const struct tfp_gpu_argument_kind tfp_gpu_arguments[] = {
	[TFP_GPU_NONE] = {NULL, 0},
	[TFP_GPU_LAUNCH] = {tfp_gpu_fill_launch, sizeof(struct tfp_record_gpu_launch)},
	[TFP_GPU_COPY] = {fill_copy, sizeof(struct tfp_record_gpu_copy)},
	[TFP_GPU_SET] = {fill_set, sizeof(struct tfp_record_gpu_set)},
	[TFP_GPU_ALLOC] = {fill_alloc, sizeof(struct tfp_record_gpu_alloc)},
	[TFP_GPU_FREE] = {fill_free, sizeof(struct tfp_record_gpu_free)},
	[TFP_GPU_OBJECT] = {fill_object, sizeof(struct tfp_record_gpu_object)},
	[TFP_GPU_LIBRARY] = {fill_library, sizeof(struct tfp_record_library_call)},
	[TFP_GPU_ROOM] = {fill_room, sizeof(struct tfp_record_device_room)},
	[TFP_GPU_DEVICE] = {NULL, 0},
	[TFP_GPU_RESET] = {fill_object, sizeof(struct tfp_record_gpu_object)},
	[TFP_GPU_ENDED] = {fill_object, sizeof(struct tfp_record_gpu_object)},
	[TFP_GPU_RELEASED] = {fill_object, sizeof(struct tfp_record_gpu_object)},
};

static struct tfp_fact_field text(const char *words)
{
	return (struct tfp_fact_field){.is_text = 1, .text = {words, tfp_length(words)}};
}

/* Two threads that meet write it twice: the same words. */
void tfp_gpu_function_note(uint32_t number, const char *name, const char *library, const char *kind, const char *named)
{
	uint32_t place = tfp_gpu_function_place(number);
	struct tfp_fact_field fields[5] = {{.number = number}, text(name), text(library), text(kind), text(named ? named : "")};

	if (tfp_store_fact(TFP_TAG_function, fields, 5))
		return;
	__atomic_fetch_or((uint64_t *)&tfp_state->gpu_functions[place / 64], UINT64_C(1) << place % 64, __ATOMIC_RELAXED);
}
