/* SPDX-License-Identifier: Apache-2.0 */
/* Heap addresses from their codes: those of older logs here, today's in heaplists.c. See heapcode.h. */
#include "reducer/read/heapcode.h"

#include "writer/format.h"

#include <stdlib.h>

enum code {
	CODE_STRAYS = 16,    /* 0..15: place in the stack of the request's class; from here: in that of class 0 */
	CODE_NEXT = 20,      /* the end of the allocation before */
	CODE_NEXT_SAME = 21, /* the end of the last allocation of this class */
	CODE_EXACT = 22,     /* a zig-zag distance in bytes follows */
	CODE_FAR = 23,       /* this and larger: zig-zag distance in units of 16 */
};

struct heapcode *heapcode_make(unsigned encoding, const uint8_t *codes, size_t bytes, uint32_t events)
{
	struct heapcode *code = calloc(1, sizeof *code);

	if (code == NULL)
		return NULL;
	if (encoding == TFP_ENCODE_LISTS) {
		code->lists = heaplists_make(codes, bytes, events);
		if (code->lists == NULL) {
			free(code);
			return NULL;
		}
		return code;
	}
	code->state.at = codes;
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
	heaplists_free(code->lists);
	free(code->blocks);
	free(code->by_allocation);
	free(code);
}

/* Takes the block at that place of a stack, counted from the top. Its address, or 0. */
static inline uint64_t take_released(struct heapcode_block *blocks, uint32_t *link, uint64_t place)
{
	uint32_t found;

	for (; place > 0 && *link != 0; place--)
		link = &blocks[*link].below;
	found = *link;
	if (found == 0)
		return 0;
	*link = blocks[found].below;
	return blocks[found].address;
}

static inline uint64_t take_alloc(struct heapcode *tables, struct heapcode_state *state, uint64_t requested)
{
	uint64_t value = heapcode_varint(&state->at, tables->end), wide = (requested + 7) >> 4, address;
	unsigned class = wide < 1 ? 1 : wide < HEAPCODE_CLASSES ? (unsigned)wide : HEAPCODE_CLASSES - 1;

	if (state->count == tables->capacity)
		return 0;
	if (value < CODE_STRAYS)
		address = take_released(tables->blocks, &tables->stacks[class], value);
	else if (value < CODE_NEXT)
		address = take_released(tables->blocks, &tables->stacks[0], value - CODE_STRAYS);
	else if (value == CODE_NEXT)
		address = state->next;
	else if (value == CODE_NEXT_SAME)
		address = tables->next_same[class];
	else if (value == CODE_EXACT)
		address = state->last_alloc + heapcode_unzigzag(heapcode_varint(&state->at, tables->end));
	else
		address = state->last_alloc + heapcode_unzigzag(value - CODE_FAR) * 16;
	tables->blocks[++state->count] = (struct heapcode_block){.address = address, .class = (uint8_t)class};
	tables->by_allocation[++state->allocations] = state->count;
	state->last_alloc = address;
	state->next = tables->next_same[class] = address + (requested < 24 ? 32 : (requested + 23) & ~UINT64_C(15));
	return address;
}

/* The block that the code of a release names, or 0. */
static inline uint32_t named_block(const struct heapcode *tables, struct heapcode_state *state, uint64_t value)
{
	uint64_t number = value % 4 == 0 ? state->allocations + 1 - value / 4 : state->last_released + 1 + heapcode_unzigzag(value / 4);
	uint32_t found;

	if (number < 1 || number > state->allocations)
		return 0;
	found = tables->by_allocation[number];
	if (tables->blocks[found].is_released)
		return 0;
	state->last_released = (uint32_t)number;
	return found;
}

static inline uint64_t take_release(struct heapcode *tables, struct heapcode_state *state)
{
	uint64_t value = heapcode_varint(&state->at, tables->end);
	uint32_t number;
	struct heapcode_block *block;

	if (state->count == tables->capacity)
		return 0;
	number = value != 0 && value % 2 == 0 ? named_block(tables, state, value) : 0;
	if (number == 0) {
		number = ++state->count;
		tables->blocks[number] = (struct heapcode_block){0};
		if (value == 0)
			tables->blocks[number].address = state->last_free + heapcode_unzigzag(heapcode_varint(&state->at, tables->end));
		else if (value % 2 == 1)
			tables->blocks[number].address = state->last_free + heapcode_unzigzag(value >> 1) * 16;
	}
	block = &tables->blocks[number];
	block->is_released = 1;
	block->below = tables->stacks[block->class];
	tables->stacks[block->class] = number;
	state->last_free = block->address;
	return block->address;
}

void heapcode_decode(struct heapcode *code, const uint8_t *tags, size_t count, const uint64_t *requested, uint64_t *of_alloc,
		     uint64_t *of_release)
{
	if (code->lists != NULL) {
		heaplists_decode(code->lists, tags, count, requested, of_alloc, of_release);
		return;
	}
	struct heapcode_state state = code->state; /* a copy that the compiler can keep in registers */

	for (size_t i = 0; i < count; i++) {
		if (tags[i] == HEAPCODE_ALLOC)
			*of_alloc++ = take_alloc(code, &state, *requested++);
		else if (tags[i] == HEAPCODE_RELEASE)
			*of_release++ = take_release(code, &state);
	}
	code->state = state;
}
