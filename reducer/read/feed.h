/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of one stream of a log, batch by batch, decoded ahead by a crew where there is one.
 *
 * Rule: what is given out, and the diags with it, is the same with and without a crew. A part (block or chunk) that holds none
 * of the wanted kinds is passed over unread.
 */
#ifndef REDUCER_READ_FEED_H
#define REDUCER_READ_FEED_H

#include "reducer/read/batch.h"
#include "reducer/read/crew.h"
#include "reducer/read/log.h"

struct feed; /* private */

/* Kinds of records: bit by tag. */
struct feed_kinds {
	uint64_t bits[4];
};

/* What of a stream is of use. */
struct feed_wanted {
	struct feed_kinds kinds;
	int is_of_parts;      /* parts without these kinds are passed over */
	uint32_t fields[256]; /* as in events_want */
};

static inline void feed_kind_add(struct feed_kinds *kinds, uint8_t tag)
{
	kinds->bits[tag / 64] |= UINT64_C(1) << tag % 64;
}

static inline int feed_kinds_meet(const struct feed_kinds *one, const struct feed_kinds *other)
{
	return ((one->bits[0] & other->bits[0]) | (one->bits[1] & other->bits[1]) | (one->bits[2] & other->bits[2]) |
		(one->bits[3] & other->bits[3])) != 0;
}

enum feed_word { FEED_BATCH = 1, FEED_PART_END = 0, FEED_NO_MEMORY = -1 };

/* From the first part on. `wanted` NULL = all. NULL without memory. */
struct feed *feed_open(const struct log *log, size_t stream, struct crew *crew, const struct feed_wanted *wanted);

/*
 * FEED_BATCH: *batch holds records until the next call. FEED_PART_END: the part has ended (it may have given nothing). Not to be
 * called behind the end of the last part.
 */
enum feed_word feed_next(struct feed *feed, const struct batch **batch);

/* Adds the kinds of the parts that were read, and returns the columns that were passed over in them. */
uint64_t feed_close(struct feed *feed, struct feed_kinds *seen);

#endif
