/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder of the heap address column. See heapcode.h.
 *
 * Rule: whatever is not predicted is written as a distance, so every address can be written.
 */
#include "writer/heapcode.h"

#include "writer/poison.h"

/* One allocation or release of the block of records; 24 bytes. */
struct tfp_heapcode_block {
	uint64_t address;
	uint32_t below;      /* released: the next lower one of its stack */
	uint32_t allocation; /* number of the allocation, from 1; 0 = allocated before this block of records */
	uint8_t class;
	uint8_t is_released;
	uint8_t zero[6];
};

/* glibc's own classes of 16 bytes; close enough to those of other allocators for stacks to work. */
static unsigned class_of(uint64_t requested)
{
	uint64_t class = (requested + 7) >> 4;

	return class < 1 ? 1 : class < TFP_HEAPCODE_CLASSES ? (unsigned)class : TFP_HEAPCODE_CLASSES - 1;
}

/* Size of the glibc chunk that serves such a request, header included. */
static uint64_t chunk_bytes(uint64_t requested)
{
	return requested < 24 ? 32 : (requested + 23) & ~UINT64_C(15);
}

static unsigned index_bits(uint32_t events)
{
	unsigned bits = 6;

	while (bits < 24 && (UINT32_C(1) << bits) < events + events / 2)
		bits++;
	return bits;
}

size_t tfp_heapcode_memory(uint32_t events)
{
	return ((size_t)events + 1) * sizeof(struct tfp_heapcode_block) + (sizeof(uint32_t) << index_bits(events));
}

void tfp_heapcode_begin(struct tfp_heapcode *code, void *memory, uint32_t events, uint8_t *out)
{
	unsigned bits = index_bits(events);

	code->blocks = memory;
	code->index = (uint32_t *)(void *)(code->blocks + events + 1);
	code->out = out;
	code->last_released = 0;
	code->last_alloc = code->last_free = code->next = 0;
	code->count = code->allocations = 0;
	code->index_shift = 32 - bits;
	for (size_t i = 0; i < (size_t)1 << bits; i++)
		code->index[i] = 0;
	for (unsigned i = 0; i < TFP_HEAPCODE_CLASSES; i++) {
		code->stacks[i] = 0;
		code->next_same[i] = 0;
	}
}

static void put_varint(struct tfp_heapcode *code, uint64_t value)
{
	uint8_t *out = code->out;

	while (value >= 128) {
		*out++ = (uint8_t)(value | 128);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	code->out = out;
}

static uint64_t zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

/* The difference shifted right by 4 with its sign. */
static uint64_t sixteenth(uint64_t difference)
{
	return (difference >> 4) | ((0 - (difference >> 63)) << 60);
}

/* The slot of the index for an address, and the newest block seen at that address or NULL. */
static struct tfp_heapcode_block *find(struct tfp_heapcode *code, uint64_t address, uint32_t **slot)
{
	uint32_t hash = (uint32_t)(address >> 4) * UINT32_C(0x9e3779b1); /* 2^32 / golden ratio */

	*slot = &code->index[hash >> code->index_shift];
	if (**slot == 0 || code->blocks[**slot].address != address)
		return NULL;
	return &code->blocks[**slot];
}

/* Takes the block out of its stack and returns its place from the top; -1 when it is deeper than `ranks`. */
static int take(struct tfp_heapcode *code, uint32_t number, int ranks)
{
	uint32_t *link = &code->stacks[code->blocks[number].class];

	for (int rank = 0; rank < ranks && *link != 0; rank++) {
		if (*link == number) {
			*link = code->blocks[number].below;
			return rank;
		}
		link = &code->blocks[*link].below;
	}
	return -1;
}

/* The place of `number` as a code, or -1 when this allocation of class `class` cannot be told that way. */
static int released_code(struct tfp_heapcode *code, uint32_t number, unsigned class)
{
	unsigned of = code->blocks[number].class;
	int rank;

	if (of == class)
		return take(code, number, TFP_HEAPCODE_RANKS);
	if (of != 0)
		return -1;
	rank = take(code, number, TFP_HEAPCODE_STRAYS);
	return rank < 0 ? -1 : TFP_HEAPCODE_RANKS + rank;
}

static void put_distance(struct tfp_heapcode *code, uint64_t difference)
{
	if (difference & 15) {
		put_varint(code, TFP_HEAPCODE_EXACT);
		put_varint(code, zigzag(difference));
		return;
	}
	put_varint(code, TFP_HEAPCODE_FAR + zigzag(sixteenth(difference)));
}

void tfp_heapcode_alloc(struct tfp_heapcode *code, uint64_t address, uint64_t requested)
{
	unsigned class = class_of(requested);
	uint32_t *slot;
	struct tfp_heapcode_block *block = find(code, address, &slot);
	int place = block != NULL && block->is_released ? released_code(code, *slot, class) : -1;

	if (place >= 0)
		*code->out++ = (uint8_t)place;
	else if (address == code->next)
		*code->out++ = TFP_HEAPCODE_NEXT;
	else if (address == code->next_same[class])
		*code->out++ = TFP_HEAPCODE_NEXT_SAME;
	else
		put_distance(code, address - code->last_alloc);

	code->blocks[++code->count] = (struct tfp_heapcode_block){
		.address = address, .allocation = ++code->allocations, .class = (uint8_t)class};
	*slot = code->count;
	code->last_alloc = address;
	code->next = code->next_same[class] = address + chunk_bytes(requested);
}

void tfp_heapcode_free(struct tfp_heapcode *code, uint64_t address)
{
	uint32_t *slot;
	struct tfp_heapcode_block *block = find(code, address, &slot);
	uint64_t difference = address - code->last_free;

	if (block != NULL && !block->is_released && block->allocation != 0) {
		uint64_t age = code->allocations - block->allocation + 1;
		uint64_t near = zigzag((uint64_t)block->allocation - code->last_released - 1);
		put_varint(code, near < age ? 4 * near + 2 : 4 * age);
		code->last_released = block->allocation;
	} else {
		if (difference & 15) {
			put_varint(code, 0);
			put_varint(code, zigzag(difference));
		} else {
			put_varint(code, 2 * zigzag(sixteenth(difference)) + 1);
		}
		code->blocks[++code->count] = (struct tfp_heapcode_block){.address = address};
		*slot = code->count;
		block = &code->blocks[code->count];
	}
	block->is_released = 1;
	block->below = code->stacks[block->class];
	code->stacks[block->class] = *slot;
	code->last_free = address;
}
