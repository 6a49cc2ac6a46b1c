/* SPDX-License-Identifier: Apache-2.0 */
/* Facts, code addresses and stack nodes in the log; see writer/store.h. Rule: whole or absent at every instant. */
#include "writer/store.h"

#include "writer/file.h"
#include "writer/state.h"
#include "writer/sys.h"

#include "writer/poison.h"

static const struct tfp_segment_kind pcs = {TFP_BLOCK_PCS, sizeof(struct tfp_pc), 1000};   /* 16 KiB with its header */
static const struct tfp_segment_kind nodes = {TFP_BLOCK_NODES, sizeof(uint64_t), 2036};    /* 16 KiB with its header */
#define FACTS_BYTES 16000u /* of a facts block; one fact may be larger, up to FACT_MAX */
#define FACT_MAX 65536u

/* Index 0 means "none" in both arrays, so counts run from 1. */
static uint32_t next_index(uint64_t *count)
{
	uint64_t index = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);

	return index <= UINT32_MAX ? (uint32_t)index : 0;
}

uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags)
{
	uint32_t index = next_index(&tfp_state->live->pcs_count);
	struct tfp_pc *entry = index ? tfp_segment_entry(&tfp_state->pcs, &pcs, index) : NULL;

	if (!entry)
		return 0;
	entry->pc = pc;
	entry->module = module;
	__atomic_store_n(&entry->flags, flags | TFP_PC_WRITTEN, __ATOMIC_RELEASE); /* read by the reducer: last word */
	return index;
}

uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index)
{
	uint32_t index = next_index(&tfp_state->live->nodes_count);
	uint64_t *entry = index ? tfp_segment_entry(&tfp_state->nodes, &nodes, index) : NULL;

	if (!entry)
		return 0;
	__atomic_store_n(entry, (uint64_t)parent << 32 | pc_index, __ATOMIC_RELEASE);
	return index;
}

static uint8_t *make_facts_block(size_t payload_bytes, size_t *room)
{
	struct tfp_block_header header = {.type = TFP_BLOCK_FACTS};
	enum tfp_loss why;

	return tfp_file_live_block(&header, payload_bytes, room, &why);
}

/* Room for a fact: bumped off the newest facts block, or a block of its own where two threads need a new one at once. */
static uint8_t *facts_room(uint32_t bytes)
{
	struct tfp_facts *facts = &tfp_state->facts;
	uint8_t *base = __atomic_load_n(&facts->base, __ATOMIC_ACQUIRE);
	size_t room;

	if (base) {
		/* The offset lives in the block's own last word, so that base and offset always belong together. */
		uint64_t *used = (uint64_t *)(base + facts->room) - 1;
		uint64_t at = __atomic_fetch_add(used, bytes, __ATOMIC_RELAXED);
		if (at + bytes + sizeof *used <= facts->room)
			return base + at;
	}
	if (bytes > FACTS_BYTES / 2)
		return make_facts_block(bytes, &room);
	uint8_t *made = make_facts_block(FACTS_BYTES, &room);
	if (!made)
		return NULL;
	if (!base)
		facts->room = room; /* start-up, one thread; every later block is as large */
	if (room != facts->room)
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
	uint8_t *room = bytes ? facts_room(bytes) : NULL;

	if (!room) {
		if (tfp_self)
			tfp_loss_add(tfp_self, TFP_LOSS_fact, 1, tfp_now());
		return -1;
	}
	struct tfp_fact *fact = (struct tfp_fact *)room;
	uint8_t *at = room + sizeof *fact;
	fact->bytes = bytes;
	fact->tag = tag;
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
