/* SPDX-License-Identifier: Apache-2.0 */
/* Names as numbers; see collectors/names.h. */
#include "collectors/names.h"

#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define LINE_SLOTS 8             /* hashes of one cache line */
#define NEAR_LINES 512           /* 32 KiB: spread over the whole table, a few hundred names would touch all its pages */
#define TABLE_SLOTS 131072       /* hashes that found their line full; 1 MiB of which only the touched pages exist */
#define NAMES_MOST 98304         /* three quarters of them */
#define TEXT_MOST (32u << 20)    /* bytes of all texts kept */

struct tfp_pattern tfp_step_pattern;

/*
 * Hashes of the string facts that this log has, 0 = free: a line that the hash chooses, then, where it is full, open addressing. Never
 * taken back. In pages that a fork child finds empty.
 */
struct tfp_names {
	_Alignas(64) _Atomic uint64_t near[NEAR_LINES][LINE_SLOTS];
	_Atomic uint64_t hashes[TABLE_SLOTS];
	_Atomic uint64_t text_bytes;
	_Atomic uint32_t count;
};

uint64_t tfp_name_hash(const char *text, size_t length)
{
	return tfp_hash(TFP_HASH, text, length < TFP_NAME_READ ? length : TFP_NAME_READ);
}

static struct tfp_names *table(void)
{
	struct tfp_names *none = NULL, *names = __atomic_load_n(&tfp_state->names, __ATOMIC_ACQUIRE);

	if (names)
		return names;
	names = tfp_pages_get(sizeof *names, 1);
	if (names && !__atomic_compare_exchange_n(&tfp_state->names, &none, names, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(names, sizeof *names);
		names = none;
	}
	return names;
}

static inline uint64_t *slot_of(struct tfp_names *names, uint64_t hash, uint32_t i)
{
	return i < LINE_SLOTS ? (uint64_t *)&names->near[(hash >> 32) % NEAR_LINES][i]
			      : (uint64_t *)&names->hashes[(hash + i) % TABLE_SLOTS];
}

/* 1: nobody had it, the caller writes the fact; 0: it is there; -1: no room. */
static int enter(struct tfp_names *names, uint64_t hash, uint64_t bytes)
{
	for (uint32_t i = 0; i < LINE_SLOTS + TABLE_SLOTS; i++) {
		uint64_t *slot = slot_of(names, hash, i);
		uint64_t there = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (there == hash)
			return 0;
		if (there)
			continue;
		if (names->count >= NAMES_MOST || names->text_bytes + bytes > TEXT_MOST)
			return -1;
		if (__atomic_compare_exchange_n(slot, &there, hash, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			names->count++;
			names->text_bytes += bytes;
			return 1;
		}
		if (there == hash)
			return 0;
	}
	return -1;
}

uint64_t tfp_name_id(const char *text, size_t length)
{
	uint64_t hash = tfp_name_hash(text, length);
	size_t kept = length < TFP_NAME_KEPT ? length : TFP_NAME_KEPT;
	struct tfp_names *names = table();
	int is_new = names ? enter(names, hash, kept) : -1;

	if (is_new < 0)
		tfp_loss_note(TFP_LOSS_range_names);
	if (is_new <= 0)
		return hash;
	if (kept < length)
		tfp_loss_note(TFP_LOSS_name_cut);
	struct tfp_fact_field fields[2] = {{.number = hash}, {.is_text = 1, .text = {text, kept}}};
	tfp_store_fact(TFP_TAG_string, fields, 2);
	return hash;
}

int tfp_name_is_step(const char *text, size_t length)
{
	return tfp_step_pattern.count && tfp_pattern_is_in(&tfp_step_pattern, text, length < TFP_NAME_KEPT ? length : TFP_NAME_KEPT);
}

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (length < TFP_NAME_READ && text[length])
		length++;
	return length;
}

const struct tfp_name *tfp_name_learn(struct tfp_lane *lane, const char *text, struct tfp_name *room)
{
	uintptr_t place = (uintptr_t)text;
	const char *readable = text ? text : "";
	size_t length = text ? length_of(text) : 0;
	struct tfp_name *name = room;

	if (!lane->names)
		lane->names = tfp_pages_get(sizeof *lane->names, 1);
	if (lane->names && text && length < TFP_NAME_COPY)
		name = &lane->names->places[(place ^ place >> 7 ^ place >> 14) % TFP_NAME_PLACES];
	name->place = NULL; /* a handler that comes by now has a lane of its own; a torn entry is no entry all the same */
	name->id = tfp_name_id(readable, length);
	name->is_step = (uint32_t)tfp_name_is_step(readable, length);
	name->length = (uint32_t)length;
	if (name == room)
		return name;
	tfp_fill(name->copy, 0, sizeof name->copy);
	tfp_copy(name->copy, readable, length);
	name->place = text;
	return name;
}
