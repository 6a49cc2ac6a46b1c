/* SPDX-License-Identifier: Apache-2.0 */
/* Facts, code addresses and stack nodes in the log; see writer/store.h. Rule: whole or absent at every instant. */
#include "writer/store.h"

#include "writer/file.h"
#include "writer/state.h"
#include "writer/sys.h"

#include "writer/poison.h"

static const struct tfp_segment_kind pcs = {TFP_BLOCK_PCS, sizeof(struct tfp_pc), 1000};   /* 16 KiB with its header */
static const struct tfp_segment_kind nodes = {TFP_BLOCK_NODES, sizeof(uint64_t), TFP_NODES_FIRST};
#define FACTS_BYTES 16000u /* of a facts block; one fact may be larger, up to FACT_MAX */
#define FACT_MAX 65536u

#define FIRST 1 /* index 0 means "none" in both arrays */

uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags)
{
	uint32_t index;
	struct tfp_pc *entry = tfp_segment_take(&tfp_state->pcs, &pcs, &tfp_state->live->pcs_count, FIRST, &index);

	if (!entry)
		return 0;
	entry->pc = pc;
	entry->module = module;
	__atomic_store_n(&entry->flags, flags | TFP_PC_WRITTEN, __ATOMIC_RELEASE); /* read by the reducer: last word */
	return index;
}

struct tfp_segments *tfp_store_nodes(void)
{
	return &tfp_state->nodes;
}

uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index)
{
	uint32_t index;
	uint64_t *entry = tfp_segment_take(&tfp_state->nodes, &nodes, &tfp_state->live->nodes_count, FIRST, &index);

	if (!entry)
		return 0;
	__atomic_store_n(entry, (uint64_t)parent << 32 | pc_index, __ATOMIC_RELEASE);
	return index;
}

static uint8_t *make_facts_block(size_t payload_bytes, size_t *room)
{
	struct tfp_block_header header = {.type = TFP_BLOCK_FACTS};
	struct tfp_live_place place = {0, 0};
	enum tfp_loss why;
	uint8_t *block = tfp_file_live_block(&header, payload_bytes, &place, &why);

	*room = place.room;
	return block;
}

/* The first word of a fact: its size and kind are there from the moment that its room is taken. */
static uint64_t first_word(uint32_t bytes, uint8_t tag)
{
	return bytes | (uint64_t)tag << 32;
}

/*
 * Takes room in the block: the first free place gets the fact's first word by compare-and-swap, so that a reader finds its
 * way past a fact that was never finished. The block's last word says from where on to look. NULL: it is full.
 */
static uint8_t *take_room(const struct tfp_facts *facts, uint8_t *base, uint32_t bytes, uint8_t tag)
{
	uint64_t *from = (uint64_t *)(base + facts->room) - 1;
	uint64_t at = __atomic_load_n(from, __ATOMIC_ACQUIRE);

	while (at + bytes + sizeof *from <= facts->room) {
		uint64_t there = 0;
		if (__atomic_compare_exchange_n((uint64_t *)(base + at), &there, first_word(bytes, tag), 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			__atomic_store_n(from, at + bytes, __ATOMIC_RELEASE); /* a lower bound: a later one may be overwritten */
			return base + at;
		}
		at += (uint32_t)there;
	}
	return NULL;
}

/* Room for a fact: in the newest facts block, or in a block of its own where two threads need a new one at once. */
static uint8_t *facts_room(uint32_t bytes, uint8_t tag)
{
	struct tfp_facts *facts = &tfp_state->facts;
	uint8_t *base = __atomic_load_n(&facts->base, __ATOMIC_ACQUIRE);
	uint8_t *place = base ? take_room(facts, base, bytes, tag) : NULL;
	size_t room;

	if (place)
		return place;
	/* 8 more: the last word of a facts block is never a fact's. */
	uint8_t *made = make_facts_block(bytes > FACTS_BYTES / 2 ? bytes + 8 : FACTS_BYTES, &room);
	if (!made)
		return NULL;
	__atomic_store_n((uint64_t *)made, first_word(bytes, tag), __ATOMIC_RELEASE);
	if (!base)
		facts->room = room; /* start-up, one thread; every later block is as large */
	if (room != facts->room || bytes > FACTS_BYTES / 2)
		return made;
	((uint64_t *)(made + room))[-1] = bytes;
	__atomic_compare_exchange_n(&facts->base, &base, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return made;
}

static uint32_t fact_bytes(const struct tfp_fact_field *fields, size_t count)
{
	uint64_t bytes = sizeof(struct tfp_fact);

	for (size_t i = 0; i < count; i++)
		bytes += fields[i].is_text ? sizeof(uint32_t) + fields[i].text.length : sizeof(uint64_t);
	return bytes <= FACT_MAX ? (uint32_t)((bytes + 7) & ~UINT64_C(7)) : 0;
}

int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	uint32_t bytes = fact_bytes(fields, count);
	uint8_t *room = bytes ? facts_room(bytes, tag) : NULL;

	if (!room) {
		tfp_loss_note(TFP_LOSS_fact);
		return -1;
	}
	struct tfp_fact *fact = (struct tfp_fact *)room;
	uint8_t *at = room + sizeof *fact;
	fact->time = tfp_now();
	for (size_t i = 0; i < count; i++) {
		uint32_t length = (uint32_t)fields[i].text.length;
		if (fields[i].is_text) {
			tfp_copy(at, &length, sizeof length);
			tfp_copy(at + sizeof length, fields[i].text.bytes, length);
			at += sizeof length + length;
		} else {
			tfp_copy(at, &fields[i].number, sizeof(uint64_t));
			at += sizeof(uint64_t);
		}
	}
	__atomic_store_n(&fact->state, 1, __ATOMIC_RELEASE); /* read by the reducer: last word */
	return 0;
}
