/* SPDX-License-Identifier: Apache-2.0 */
/* Heap addresses from the codes that are written today (TFP_ENCODE_LISTS). See heapcode.h, which has the rule. */
#include "reducer/read/heapcode.h"

#include <stdlib.h>

enum code {
	CODE_TOP = 0,      /* the block on top of its class's list */
	CODE_SAME = 2,     /* the end of the last allocation of this class */
	CODE_EXACT = 4,    /* a zig-zag distance in bytes follows; of a release, the code is 0 */
	CODE_RELEASED = 6, /* this and larger even ones: how many releases ago */
};

#define CLASSES 257 /* sixteenths of a chunk; 0: blocks of which no allocation is known */

/* 0 .. CLASSES - 1 are the heads of the lists. */
struct block {
	uint64_t address;
	uint32_t above, below; /* in the list of its class, while it is released */
	uint32_t number;       /* of its release, or of its allocation */
	uint16_t class;
	uint16_t is_released;
};

struct state {
	const uint8_t *at;
	uint32_t count, allocations, releases, last_released;
	uint64_t last_free, next;
};

struct heaplists {
	struct state state;
	const uint8_t *end;
	struct block *blocks; /* heads, then those seen */
	uint32_t *made, *gone; /* number of the allocation, of the release, from 1 -> index in blocks */
	uint32_t capacity;
	uint64_t next_same[CLASSES];
};

struct heaplists *heaplists_make(const uint8_t *codes, size_t bytes, uint32_t events)
{
	struct heaplists *lists = calloc(1, sizeof *lists);

	if (lists == NULL)
		return NULL;
	lists->state = (struct state){.at = codes, .count = CLASSES};
	lists->end = codes + bytes;
	lists->capacity = CLASSES + events;
	lists->blocks = malloc(lists->capacity * sizeof *lists->blocks);
	lists->made = malloc(((size_t)events + 1) * sizeof *lists->made);
	lists->gone = malloc(((size_t)events + 1) * sizeof *lists->gone);
	if (lists->blocks == NULL || lists->made == NULL || lists->gone == NULL) {
		heaplists_free(lists);
		return NULL;
	}
	for (uint32_t i = 0; i < CLASSES; i++)
		lists->blocks[i] = (struct block){.above = i, .below = i};
	return lists;
}

void heaplists_free(struct heaplists *lists)
{
	if (lists == NULL)
		return;
	free(lists->blocks);
	free(lists->made);
	free(lists->gone);
	free(lists);
}

/* The released block that a code names, taken out of its list; 0 = there is none. */
static inline uint32_t take_released(struct heaplists *lists, const struct state *state, uint64_t value, unsigned class)
{
	uint64_t ago = (value - CODE_RELEASED) / 2;
	uint32_t found;
	struct block *block;

	if (value == CODE_TOP)
		found = lists->blocks[class].below;
	else
		found = ago < state->releases ? lists->gone[state->releases - ago] : 0;
	block = &lists->blocks[found];
	if (found < CLASSES || !block->is_released || (value != CODE_TOP && block->number != state->releases - ago))
		return 0;
	lists->blocks[block->above].below = block->below;
	lists->blocks[block->below].above = block->above;
	return found;
}

static inline uint64_t take_alloc(struct heaplists *lists, struct state *state, uint64_t requested)
{
	uint64_t value = heapcode_varint(&state->at, lists->end);
	uint64_t chunk = ((requested < 24 ? 24 : requested) + 23) & ~UINT64_C(15), address;
	unsigned class = chunk < 16 * (CLASSES - 1) ? (unsigned)(chunk / 16) : CLASSES - 1;
	uint32_t number = 0;

	if (state->count == lists->capacity)
		return 0;
	if (value % 2 == 1)
		address = state->next + heapcode_unzigzag(value / 2) * 16;
	else if (value == CODE_SAME)
		address = lists->next_same[class];
	else if (value == CODE_EXACT)
		address = state->next + heapcode_unzigzag(heapcode_varint(&state->at, lists->end));
	else
		address = (number = take_released(lists, state, value, class)) != 0 ? lists->blocks[number].address : 0;
	if (number == 0)
		number = state->count++;
	lists->blocks[number] = (struct block){.address = address, .class = (uint16_t)class, .number = ++state->allocations};
	lists->made[state->allocations] = number;
	state->next = lists->next_same[class] = (address + chunk) & ~UINT64_C(15);
	return address;
}

/* The block that the code of a release names, or 0. */
static inline uint32_t named_block(const struct heaplists *lists, struct state *state, uint64_t value)
{
	uint64_t number = value % 4 == 0 ? state->allocations + 1 - value / 4 :
					   state->last_released + 1 + heapcode_unzigzag(value / 4);
	uint32_t found;

	if (number < 1 || number > state->allocations)
		return 0;
	found = lists->made[number];
	if (lists->blocks[found].is_released || lists->blocks[found].number != number)
		return 0;
	state->last_released = (uint32_t)number;
	return found;
}

static inline uint64_t take_release(struct heaplists *lists, struct state *state)
{
	uint64_t value = heapcode_varint(&state->at, lists->end);
	uint32_t number;
	struct block *block, *head;

	if (state->count == lists->capacity)
		return 0;
	number = value != 0 && value % 2 == 0 ? named_block(lists, state, value) : 0;
	if (number == 0) {
		number = state->count++;
		lists->blocks[number] = (struct block){0};
		if (value == 0)
			lists->blocks[number].address = state->last_free + heapcode_unzigzag(heapcode_varint(&state->at, lists->end));
		else if (value % 2 == 1)
			lists->blocks[number].address = state->last_free + heapcode_unzigzag(value / 2) * 16;
	}
	block = &lists->blocks[number];
	head = &lists->blocks[block->class];
	block->is_released = 1;
	block->number = ++state->releases;
	block->above = block->class;
	block->below = head->below;
	lists->blocks[head->below].above = number;
	head->below = number;
	lists->gone[state->releases] = number;
	state->last_free = block->address & ~UINT64_C(15);
	return block->address;
}

void heaplists_decode(struct heaplists *lists, const uint8_t *tags, size_t count, const uint64_t *requested, uint64_t *of_alloc,
		      uint64_t *of_release)
{
	struct state state = lists->state; /* a copy that the compiler can keep in registers */

	for (size_t i = 0; i < count; i++) {
		if (tags[i] == HEAPCODE_ALLOC)
			*of_alloc++ = take_alloc(lists, &state, *requested++);
		else if (tags[i] == HEAPCODE_RELEASE)
			*of_release++ = take_release(lists, &state);
	}
	lists->state = state;
}
