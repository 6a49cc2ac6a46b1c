/* SPDX-License-Identifier: Apache-2.0 */
/* Heap addresses from their codes. See heapcode.h. */
#include "reducer/read/heapcode.h"

#include <stdlib.h>

enum code {
	CODE_STRAYS = 16,    /* 0..15: place in the stack of the request's class; from here: in that of class 0 */
	CODE_NEXT = 20,      /* the end of the allocation before */
	CODE_NEXT_SAME = 21, /* the end of the last allocation of this class */
	CODE_EXACT = 22,     /* a zig-zag distance in bytes follows */
	CODE_FAR = 23,       /* this and larger: zig-zag distance in units of 16 */
};

struct heapcode *heapcode_make(const uint8_t *codes, size_t bytes, uint32_t events)
{
	struct heapcode *code = calloc(1, sizeof *code);

	if (code == NULL)
		return NULL;
	code->at = codes;
	code->end = codes + bytes;
	code->capacity = events;
	code->blocks = malloc(((size_t)events + 1) * sizeof *code->blocks);
	code->by_allocation = malloc(((size_t)events + 1) * sizeof *code->by_allocation);
	if (code->blocks == NULL || code->by_allocation == NULL) {
		heapcode_free(code);
		return NULL;
	}
	return code;
}

void heapcode_free(struct heapcode *code)
{
	if (code == NULL)
		return;
	free(code->blocks);
	free(code->by_allocation);
	free(code);
}

static uint64_t take_varint(struct heapcode *code)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (code->at < code->end) {
		uint8_t byte = *code->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
		shift += 7;
	}
	return 0;
}

static uint64_t unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

/* Takes the block at that place of a stack, counted from the top. Its address, or 0. */
static uint64_t take_released(struct heapcode *code, unsigned class, uint64_t place)
{
	uint32_t *link = &code->stacks[class];
	uint32_t found;

	for (; place > 0 && *link != 0; place--)
		link = &code->blocks[*link].below;
	found = *link;
	if (found == 0)
		return 0;
	*link = code->blocks[found].below;
	return code->blocks[found].address;
}

uint64_t heapcode_alloc(struct heapcode *code, uint64_t requested)
{
	uint64_t value = take_varint(code), wide = (requested + 7) >> 4, address;
	unsigned class = wide < 1 ? 1 : wide < HEAPCODE_CLASSES ? (unsigned)wide : HEAPCODE_CLASSES - 1;

	if (code->count == code->capacity)
		return 0;
	if (value < CODE_STRAYS)
		address = take_released(code, class, value);
	else if (value < CODE_NEXT)
		address = take_released(code, 0, value - CODE_STRAYS);
	else if (value == CODE_NEXT)
		address = code->next;
	else if (value == CODE_NEXT_SAME)
		address = code->next_same[class];
	else if (value == CODE_EXACT)
		address = code->last_alloc + unzigzag(take_varint(code));
	else
		address = code->last_alloc + unzigzag(value - CODE_FAR) * 16;
	code->blocks[++code->count] = (struct heapcode_block){.address = address, .class = (uint8_t)class};
	code->by_allocation[++code->allocations] = code->count;
	code->last_alloc = address;
	code->next = code->next_same[class] = address + (requested < 24 ? 32 : (requested + 23) & ~UINT64_C(15));
	return address;
}

/* The allocation that a code of heapcode_release names, or 0. */
static uint32_t named_allocation(const struct heapcode *code, uint64_t value)
{
	uint64_t number = value % 4 == 0 ? code->allocations + 1 - value / 4 : code->last_released + 1 + unzigzag(value / 4);

	if (number < 1 || number > code->allocations || code->blocks[code->by_allocation[number]].is_released)
		return 0;
	return (uint32_t)number;
}

uint64_t heapcode_release(struct heapcode *code)
{
	uint64_t value = take_varint(code);
	uint32_t named = 0, number;
	struct heapcode_block *block;

	if (code->count == code->capacity)
		return 0;
	if (value != 0 && value % 2 == 0)
		named = named_allocation(code, value);
	if (named != 0) {
		code->last_released = named;
		number = code->by_allocation[named];
	} else {
		number = ++code->count;
		code->blocks[number] = (struct heapcode_block){0};
		if (value == 0)
			code->blocks[number].address = code->last_free + unzigzag(take_varint(code));
		else if (value % 2 == 1)
			code->blocks[number].address = code->last_free + unzigzag(value >> 1) * 16;
	}
	block = &code->blocks[number];
	block->is_released = 1;
	block->below = code->stacks[block->class];
	code->stacks[block->class] = number;
	code->last_free = block->address;
	return block->address;
}
