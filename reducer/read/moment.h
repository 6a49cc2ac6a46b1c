/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a log that is being written held at one moment: the records in its chunks, and the slots of its threads.
 *
 * Rule: what is referred to is taken after what refers to it. A thread's slot says less than its records, records name stacks,
 * stacks name code addresses, and each stands in the log before the other names it: so slots are taken first, then chunks, then
 * the blocks that came meanwhile are looked for (scan.c), and stacks.c reads tables of stacks last. What came later is left out
 * or is more than is asked for, and neither is damage.
 */
#ifndef REDUCER_READ_MOMENT_H
#define REDUCER_READ_MOMENT_H

#include "reducer/read/log.h"

/* The records of a chunk, as they stood. */
struct moment_chunk {
	uint64_t offset, sequence; /* of its block; of its records */
	uint8_t *raw;              /* owned */
	size_t bytes;
};

struct moment {
	struct moment_chunk *chunks;
	size_t chunk_count, bytes;
	struct tfp_thread_slot *slots;
	size_t slot_count;
	uint32_t *slot_index; /* hash of serials: place in `slots` + 1 */
	size_t slot_index_size; /* a power of two, at least twice slot_count */
	int is_later;           /* the slots were taken once: what differs now has moved */
	int has_twins;          /* of one serial: damage, so that what differs says nothing */
	uint64_t nodes_count;  /* a node beyond these may be newer than what it refers to */
	uint64_t later_from;   /* blocks that stand in the file since lie from here on */
};

/* Of a log whose process may be running; NULL without memory. */
struct moment *moment_make(void);
void moment_free(struct moment *moment);

/*
 * Takes the slots that are in use, and of those that were taken before only what is new. A counter that has moved since says that
 * the process runs: the log's `is_running` is set.
 */
void moment_take_slots(struct log *log);

/*
 * Copies the records of the chunk at `block`. Returns the copy, which stays valid until the next one; NULL when the chunk is empty,
 * changed as often as it was looked at, or has no room here (then it is read where it stands).
 */
const struct moment_chunk *moment_take_chunk(struct log *log, const struct log_block *block, struct tfp_chunk *head);

/* What was taken is all: puts copies and the log's blocks in the order of the file. */
void moment_sort(struct log *log);

/* The copy of what the chunk at `offset` held as number `sequence`, or NULL. After moment_sort. */
const struct moment_chunk *moment_find(const struct moment *moment, uint64_t offset, uint64_t sequence);

#endif
