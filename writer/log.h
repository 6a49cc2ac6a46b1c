/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What file.c, make.c, shadow.c, total.c and wrap.c share of one open log. Rule: nobody else includes this.
 */
#ifndef TFP_WRITER_LOG_H
#define TFP_WRITER_LOG_H

#include "writer/format.h"
#include "writer/total.h"

#include <stdint.h>

#define TFP_SHADOWS 32768        /* live blocks that such memory can stand in for: of a thread that is busy, 5 and more */
#define TFP_EVENT_BLOCKS 65536u  /* events blocks remembered for FULL=wrap; at 4 KiB and more each, 256 MiB of log */
#define TFP_FIRST_BYTES 98304u   /* mapped at start: header, schema, first facts, threads, pcs, nodes, one chunk */
#define TFP_COUNTERS_BYTES 131072u /* of a limit, for the counters of 100 threads that begin once events have used up the rest */

/* A live block kept in shared or private memory because the file system cannot be mapped safely. */
struct tfp_shadow {
	uint64_t offset, bytes;
	void *memory;
};

struct tfp_extent {
	uint64_t number; /* of all extents, from 1 on, so that a place in the ring tells whose it is; stored last */
	uint64_t offset, bytes; /* begins with a page, and the rest of its last one is nobody's; bytes 0 = it was given up */
	uint64_t records;
};

/* In pages that a fork child finds empty; written by start-up, the counters by atomics. */
struct tfp_log {
	struct tfp_file_live *live;
	unsigned char *first; /* the first first_bytes of the file */
	uint64_t first_bytes;
	uint64_t page_bytes;
	uint64_t device, inode;
	uint64_t id;
	uint64_t max_bytes;
	uint64_t spare_bytes, spare_end; /* what is kept free on the disk (0 = nothing), and up to where the log was last allowed to grow */
	uint64_t live_bytes;    /* of live blocks */
	uint64_t dropped_bytes; /* of disk space given back: by FULL=wrap, and of packed nodes */
	struct tfp_extent *events; /* ring, FULL=wrap only */
	uint64_t oldest, newest;   /* of the ring, counted from 0 */
	int is_wrapping, is_shadow, is_crowded; /* is_crowded: growth was last refused for spare_bytes */
	uint64_t shadow_left; /* bytes that may still be taken of shared memory */
	char shadow_path[64]; /* empty: none could be had */
	uint32_t shadow_count;
	uint32_t shadow_next; /* which is copied to the log next, in turns */
	struct tfp_shadow *shadows; /* TFP_SHADOWS, of which those that are used take memory */
	struct tfp_total_share total;
	char path[4096 + 320]; /* PATH_MAX and our name */
	char unborn[4096 + 320]; /* the name until the header stands: whoever sees a .tfp sees a log */
};

/*
 * Memory that stands in for [offset, offset + bytes) of the log: shared memory while there is some to spare, else private;
 * *is_kill_safe says which. NULL: none.
 */
void *tfp_shadow_map(struct tfp_log *log, uint64_t offset, uint64_t bytes, int *is_kill_safe);

/* The first part of the log in such memory. */
void *tfp_shadow_begin(struct tfp_log *log);

/* Removes the shared memory's name: the log holds everything. */
void tfp_shadow_end(struct tfp_log *log);

/* Whether the descriptor's file system can be mapped: no store there can fault for good. */
int tfp_file_is_mappable(long descriptor);

/* Disk space for [offset, offset + bytes) of the file, so that no store there can fault. 0, or a negative error. */
long tfp_file_allocate(long descriptor, uint64_t offset, uint64_t bytes);

/* Whether RLIMIT_FSIZE allows a file to end there. */
int tfp_file_fits(uint64_t end);

/* A duplicate of `descriptor` at a number that the host will not meet, or -1: keep none. The original stays open. */
long tfp_file_raise(long descriptor);

/* A descriptor of our file for one use; *is_kept says that it must not be closed after it. Negative: loss kind. */
long tfp_file_borrow(struct tfp_log *log, int *is_kept);
void tfp_file_give_back(long descriptor, int is_kept);

/* Where a block of `bytes` would end: with FULL=wrap they begin with a page, as reserve has it. */
uint64_t tfp_wrap_end(const struct tfp_log *log, uint64_t bytes);

/* FULL=wrap: gives the disk space of the oldest events blocks back until `bytes` more fit. Returns whether they did for a moment. */
int tfp_wrap_make_room(struct tfp_log *log, uint64_t bytes);

/* FULL=wrap: an events block stands there, to be given up when its turn comes. */
void tfp_wrap_remember(struct tfp_log *log, uint64_t offset, uint64_t bytes, uint64_t records);

static inline void tfp_log_raise(uint64_t *word, uint64_t least)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (old < least && !__atomic_compare_exchange_n(word, &old, least, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

#endif
