/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of PyTorch's allocators in Kineto's JSON: [memory], [OutOfMemory].
 *
 * Rule: what is live at a time is right in every file that tells all of it. Files of PyTorch up to 1.11 say no addresses: there a
 * release is taken for that of the newest block of its size, which keeps every sum of blocks whose beginning is in the file, and
 * makes only the lifetime of a block a guess.
 */
#include "reducer/import/kineto.h"

#include <stdio.h>
#include <string.h>

/* block.operation */
enum { ALLOCATED = 1, RELEASED = 2, REFUSED = 3 };
#define SIZE_SHIFT 32 /* made-up address: number of the size + 1, then the place among its blocks */

static bool is_size(const void *context, const void *key, uint32_t place)
{
	return ((const struct kineto *)context)->sizes[place].key == *(const uint64_t *)key;
}

/* The address of a block that the file says none of; one that nothing was handed out at where it is from before. */
static uint64_t made_up(struct kineto *kineto, uint32_t allocator, uint64_t bytes, int is_release)
{
	uint64_t said[] = {allocator, bytes}, key = base_hash(BASE_HASH, said, sizeof(said)), place;
	uint32_t number = base_index_find(&kineto->size_of, key, is_size, kineto, &key);

	if (number == UINT32_MAX) {
		number = (uint32_t)kineto->size_count;
		kineto->sizes = base_grow(kineto->sizes, &kineto->size_room, kineto->size_count + 1, sizeof(*kineto->sizes));
		kineto->sizes[kineto->size_count++] = (struct kineto_size){.key = key};
		base_index_add(&kineto->size_of, key, number);
	}
	struct kineto_size *size = &kineto->sizes[number];
	if (is_release)
		place = size->live ? --size->live : UINT32_MAX;
	else
		place = size->live++;
	return ((uint64_t)number + 1) << SIZE_SHIFT | (place & UINT32_MAX);
}

/* What a block event says happened; 0 = nothing, to no bytes; -1 = it is no block event. */
static int operation_of(struct kineto *kineto, const struct kineto_event *event, int64_t bytes)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);
	int is_refusal = strcmp(name, "[OutOfMemory]") == 0;

	if (!is_refusal && strcmp(name, "[memory]") != 0)
		return -1;
	if (bytes == 0)
		return 0;
	return is_refusal ? REFUSED : bytes > 0 ? ALLOCATED : RELEASED;
}

/* As our own recorder names them: "pytorch cpu", "pytorch cuda:0", "pytorch xpu:1". */
static uint32_t allocator_of(struct kineto *kineto, const struct kineto_event *event)
{
	static const char *const kinds[] = {
#define TFP_PYTORCH_DEVICE(number, name) [number] = #name,
#include "collectors/tables/pytorch_devices.def"
#undef TFP_PYTORCH_DEVICE
	};
	uint64_t kind = kineto_unsigned(event, KINETO_DEVICE_TYPE);
	const char *word = kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] : "other";
	char name[40];

	if (kind)
		snprintf(name, sizeof(name), "pytorch %s:%d", word, (int)kineto_number(event, KINETO_DEVICE_ID));
	else
		snprintf(name, sizeof(name), "pytorch %s", word);
	return sink_name(kineto->sink, name, strlen(name));
}

/* A positive count of bytes was handed out, a negative one came back. */
int kineto_memory(struct kineto *kineto, const struct kineto_event *event)
{
	int64_t said = kineto_number(event, KINETO_MEMORY_BYTES);
	uint64_t bytes = said > 0 ? (uint64_t)said : 0 - (uint64_t)said, address = kineto_unsigned(event, KINETO_ADDRESS);
	int operation = operation_of(kineto, event, said);

	if (operation <= 0)
		return operation == 0;
	uint32_t allocator = allocator_of(kineto, event);
	if (!kineto_has(event, KINETO_ADDRESS) && operation != REFUSED) {
		address = made_up(kineto, allocator, bytes, operation == RELEASED);
		kineto->addressless++;
	}
	SINK_ADD(&kineto->group, block, .address = address, .bytes = bytes, .total = kineto_unsigned(event, KINETO_ALLOCATED),
		 .reserved = kineto_unsigned(event, KINETO_RESERVED), .allocator = allocator, .operation = (uint8_t)operation);
	kineto_put_group(kineto, kineto_thread(kineto, event), kineto_begin(event));
	return 1;
}
