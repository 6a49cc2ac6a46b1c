/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of a time line, each kept once.
 *
 * Rule: a text is known by its hash of 64 bits alone. Places are in the order in which texts came.
 */
#ifndef REDUCER_TRACE_DIGEST_NAMES_H
#define REDUCER_TRACE_DIGEST_NAMES_H

#include "reducer/base/base.h"
#include "reducer/model/number_map.h"

#define DIGEST_PART '\x1f' /* between the parts of a text; no name that can be shown holds it */

/* Start from {0}. */
struct digest_names {
	struct digest_name {
		char *text; /* category, 0x1f, name; or the arguments, as names and values parted by 0x1f */
		uint32_t length;
		uint64_t hash;
	} * items;
	size_t count, room, bytes;
	struct number_map places; /* (0, hash) -> place */
};

uint64_t digest_names_hash(const char *text, size_t length);

/* The place of a text, which is copied where it is new. */
uint32_t digest_names_place(struct digest_names *names, const struct text *text);

/* Adds a text of another collection, once, each of its parts cut to about `most` bytes; its place. */
uint32_t digest_names_keep(struct digest_names *names, const struct digest_name *name, size_t most);
void digest_names_free(struct digest_names *names);

#endif
