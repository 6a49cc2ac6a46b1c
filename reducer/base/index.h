/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index: from a key that lies in the caller's own array to its place in that array.
 *
 * Rule: holds numbers and hashes only, never keys, so one implementation serves every kind of key.
 */
#ifndef REDUCER_BASE_INDEX_H
#define REDUCER_BASE_INDEX_H

#include "reducer/base/base.h"

/* Start from {0}. Numbers are those of the caller, 0 to 2^32-2. */
struct base_index {
	struct base_slot {
		uint32_t hash, number; /* number + 1; 0 = empty */
	} *slots;
	size_t room, count; /* room is 0 or a power of two */
};

/* The number whose key equals `key`, or UINT32_MAX. `equal` compares `key` with the key of a number. */
typedef bool base_equal(const void *context, const void *key, uint32_t number);
uint32_t base_index_find(const struct base_index *index, uint64_t hash, base_equal *equal, const void *context,
			 const void *key);

/* Adds a number whose key is not in the index yet. */
void base_index_add(struct base_index *index, uint64_t hash, uint32_t number);
void base_index_free(struct base_index *index);

/* FNV-1a over bytes, continued from `hash` (start from BASE_HASH), and a finaliser for numbers. */
#define BASE_HASH UINT64_C(0xcbf29ce484222325)
uint64_t base_hash(uint64_t hash, const void *bytes, size_t length);
static inline uint64_t base_mix(uint64_t number)
{
	number ^= number >> 32;
	number *= UINT64_C(0xd6e8feb86659fd93);
	number ^= number >> 32;
	number *= UINT64_C(0xd6e8feb86659fd93);
	return number ^ number >> 32;
}

#endif
