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

/* The place of a text, which is copied where it is new. */
uint32_t digest_names_place(struct digest_names *names, const struct text *text);

/* Adds a text of another collection that is not there yet; its place. */
uint32_t digest_names_keep(struct digest_names *names, const struct digest_name *name);
void digest_names_free(struct digest_names *names);

#endif
