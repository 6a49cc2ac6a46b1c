/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs the allocations and releases of a process: every event, or the sampled ones. Private to the model.
 *
 * Rule: at one address, allocation and release alternate. A release is stamped before the real call and an allocation
 * after it, so the stamps of two threads nearly always tell the order; where they tie (or cross within the grain of the
 * recorded times) alternation does. What fits neither is counted, never guessed.
 */
#ifndef REDUCER_MODEL_PAIRS_H
#define REDUCER_MODEL_PAIRS_H

#include "reducer/model/live.h"
#include "reducer/model/tally.h"
#include "reducer/read/batch.h"

#define PAIRS_TEMPORARY_MAX 16
#define PAIRS_NO_TAG 256
#define PAIRS_UNSETTLED 64 /* events remembered that may pair with one that is stamped a little later */

/* The stream that an event came from. */
struct pairs_stream {
	struct live_block released; /* the last one, for free_undo; address 0 = none */
	struct live_block waiting;  /* an allocation whose usable size is in the next record; address 0 = none */
	int is_released_known;
	unsigned life_class;        /* of `released` */
	uint32_t next_recent;
	uint64_t recent[PAIRS_TEMPORARY_MAX]; /* addresses of its last allocations */
};

/* A release without a block, or an allocation on top of a live one, not long ago. */
struct pairs_unsettled {
	uint64_t address, until; /* until: the last stamp of an event that may belong to it */
	size_t stream;
};

struct pairs {
	struct live_table live;
	struct tally tally;
	struct pairs_stream *streams; /* by stream number */
	size_t stream_count;
	struct heap_histogram *histogram;
	uint64_t life_limits[HEAP_LIFE_CLASSES]; /* in ticks */
	uint8_t life_floors[65]; /* by binary digits of ticks: how many limits the least number of so many has reached */
	uint64_t grain;	      /* ticks by which a release may be stamped behind the next allocation of its address */
	uint64_t last;        /* ticks: of the last block that was added */
	uint64_t stamps;      /* by which stamps of two threads may be out of order else */
	unsigned temporary;   /* see struct run_options */
	uint64_t unknown_frees, reordered, replaced;
	struct pairs_unsettled early[PAIRS_UNSETTLED], late[PAIRS_UNSETTLED];
	uint64_t early_time, late_time; /* of the newest entry; 0 = none */
	unsigned early_next, late_next;
};

/* Returns -1 without memory. `ticks_per_ns` sets the life classes. */
int pairs_begin(struct pairs *pairs, size_t stream_count, double ticks_per_ns, unsigned temporary);
void pairs_free(struct pairs *pairs);

/* Whether a block at that address was replaced by another one not long ago, and its release has not come yet. */
int pairs_is_late(const struct pairs *pairs, uint64_t address);

/* A block was allocated; `block->time` is when. */
void pairs_alloc(struct pairs *pairs, size_t stream, const struct live_block *block);

/* Kinds and columns of allocations and releases in a batch; see pairs_take_run. */
struct pairs_run {
	uint16_t alloc, release; /* tags; PAIRS_NO_TAG = the log has no such records */
	uint64_t explained;      /* time + 1 of a record that is left to the caller; 0 = none */
	const uint64_t *address, *requested, *slack, *stack; /* of allocations, by row */
	const uint64_t *released;                            /* of releases: addresses */
};

/* Takes records from `from` on up to one that is neither, or waits for its size, or is explained. Returns the first left. */
size_t pairs_take_run(struct pairs *pairs, size_t stream, const struct pairs_run *run, const struct batch *batch, size_t from, size_t to);

/* Its usable size comes with the next record of the stream (pairs_usable); any other event of the stream settles it. */
void pairs_alloc_waiting(struct pairs *pairs, size_t stream, const struct live_block *block);
void pairs_usable(struct pairs *pairs, size_t stream, uint64_t address, uint64_t usable);

/* A block was released at `time`: that which is live at its address, see the rule above. */
void pairs_release(struct pairs *pairs, size_t stream, uint64_t address, uint64_t time);

/* The last release of the stream did not happen. */
void pairs_undo(struct pairs *pairs, size_t stream, uint64_t address, uint64_t time);

/* The log ends here. */
void pairs_end(struct pairs *pairs);

#endif
