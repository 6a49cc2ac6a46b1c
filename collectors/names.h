/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the host gives by text, made into numbers: the FNV-1a hash of the text, which a string fact ties to it.
 *
 * Rule: a name met again at the same place costs a comparison, not a hash; what is kept is bounded (NAMES_MOST names,
 * TEXT_MOST bytes in names.c), and beyond that a name keeps its hash but not its text, counted as range_names.
 */
#ifndef TFP_COLLECTORS_NAMES_H
#define TFP_COLLECTORS_NAMES_H

#include "collectors/match.h"
#include "writer/stream.h"

#define TFP_NAME_KEPT 4096   /* bytes of a text that a fact holds; the rest is counted as name_cut */
#define TFP_NAME_READ 65536  /* bytes of a text that the hash covers */
#define TFP_NAME_COPY 96     /* longer names are hashed each time */
#define TFP_NAME_PLACES 128  /* of a lane: 16 KiB, half a first-level cache */

/* A name as it was last seen at one place. */
struct tfp_name {
	const char *place;
	uint64_t id;
	uint32_t length;
	uint32_t is_step; /* the setting STEP_RANGE matches it */
	char copy[TFP_NAME_COPY]; /* the text with its end, zeros behind it */
	uint64_t padding;         /* a comparison by words reads up to here */
};

struct tfp_name_cache {
	struct tfp_name places[TFP_NAME_PLACES];
};

/* The setting STEP_RANGE; matches nothing where it is not set. Written at start-up, kept across fork. */
extern struct tfp_pattern tfp_step_pattern TFP_HIDDEN;

/* The id of a text, which becomes a string fact unless this log has it. Own thread, any context. text may be NULL. */
uint64_t tfp_name_id(const char *text, size_t length);

/* The hash alone: what tfp_name_id returns, for a log that has the fact for sure. */
uint64_t tfp_name_hash(const char *text, size_t length);

/* Whether the setting STEP_RANGE matches. */
int tfp_name_is_step(const char *text, size_t length);

/* The name at a place seen for the first time, or changed. `room` is used where no cache is to be had, or it is too long. */
const struct tfp_name *tfp_name_learn(struct tfp_lane *lane, const char *text, struct tfp_name *room);

/* Eight bytes at a time where they lie in one page: beyond the text's end nothing unmapped is touched. */
static inline int tfp_name_is_at(const struct tfp_name *name, const char *text)
{
	typedef uint64_t __attribute__((may_alias, aligned(1))) word;
	uint32_t bytes = name->length + 1;

	if (__builtin_expect(((uintptr_t)text & 4095) + bytes + 7 > 4096, 0)) {
		uint32_t i = 0;
		while (i < bytes && text[i] == name->copy[i]) /* stops at the end of a shorter text */
			i++;
		return i == bytes;
	}
	uint32_t i = 0;
	for (; i + 8 < bytes; i += 8)
		if (*(const word *)(const void *)(text + i) != *(const word *)(const void *)(name->copy + i))
			return 0;
	/* 1 to 8 bytes are left; those behind them are shifted out. */
	uint64_t rest = *(const word *)(const void *)(text + i) ^ *(const word *)(const void *)(name->copy + i);
	return rest << ((64 - 8 * bytes) & 63) == 0;
}

/* The name of a text met before at this place; NULL = learn it. Own thread, own lane. */
static inline __attribute__((always_inline)) const struct tfp_name *tfp_name_known(const struct tfp_lane *lane, const char *text)
{
	uintptr_t place = (uintptr_t)text;

	if (__builtin_expect(!lane->names, 0))
		return NULL;
	const struct tfp_name *name = &lane->names->places[(place ^ place >> 7 ^ place >> 14) % TFP_NAME_PLACES];
	return __builtin_expect(name->place == text && tfp_name_is_at(name, text), 1) ? name : NULL;
}

/* The name of a text that ends with a 0 byte; never NULL. Own thread, own lane. */
static inline const struct tfp_name *tfp_name_of(struct tfp_lane *lane, const char *text, struct tfp_name *room)
{
	const struct tfp_name *name = tfp_name_known(lane, text);

	return __builtin_expect(name != NULL, 1) ? name : tfp_name_learn(lane, text, room);
}

#endif
