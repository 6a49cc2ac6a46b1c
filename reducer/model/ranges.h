/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges as the records tell of them: a stack for each thread, ranges of the whole process, and sums by name.
 *
 * Total time of a name is that of its ranges, a range inside one of the same name on the same thread left out (recursion);
 * self time is without what lies directly inside, wherever ranges overlap instead of nesting the later one counts as inside
 * for as long as both are open. A range that is open where a window closes or the records end is cut there.
 * Rule: knows nothing of logs; times are ticks; whatever comes in whatever order, memory stays bounded and nothing breaks.
 */
#ifndef REDUCER_MODEL_RANGES_H
#define REDUCER_MODEL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define RANGES_NAMES_MAX (1u << 18)  /* distinct names with sums of their own; more share the first one, "" */
#define RANGES_DEPTH_MAX (1u << 14)  /* open ranges of one thread; deeper ones are counted and not kept: a search costs as much */
#define RANGES_OPEN_MAX (1u << 20)   /* open ranges of the whole process */

/* What is known of all ranges of one name, domain and source. */
struct range_sum {
	uint64_t name; /* hash */
	uint32_t domain;
	uint8_t source; /* row of range_sources.def */
	uint64_t occurrences, nested, marks; /* nested: of occurrences, those inside one of the same name */
	uint64_t total, self, max;           /* ticks */
	uint64_t whole, whole_total;         /* outside of any of their name, and ended: how many, how long */
	uint64_t min;                        /* of those that ended */
	uint64_t cut;          /* of occurrences, those cut at a window's or the records' end: their times are lower bounds */
	uint64_t process_wide; /* of occurrences, those of the whole process: no self time */
	uint64_t elsewhere;    /* of those, ended by another thread */
	uint64_t bytes, with_bytes; /* of structured payloads that say so (NCCL), and how many ranges did */
	size_t open;		    /* on stacks at this moment */
};

struct range_open {
	uint32_t sum;   /* index */
	uint32_t step;  /* number of the step + 1 that this range marks, 0 = none */
	uint64_t begin;
	uint64_t counted_from; /* from here on its time lies inside the range below it */
	uint64_t inside;       /* ticks of ranges inside it */
};

struct range_stack {
	struct range_open *open;
	size_t count, room;
	uint64_t too_deep; /* open ranges beyond the last that are not kept */
};

struct range_wide {
	uint64_t id; /* 0 = free */
	uint64_t begin;
	uint32_t sum;
	uint32_t thread;
};

struct ranges {
	struct range_sum *sums; /* [0]: those that share one for want of room */
	size_t sum_count, sum_room;
	uint32_t *places; /* hash table of indexes + 1 into sums */
	size_t place_count;
	struct range_stack *stacks;
	size_t stack_count;
	struct range_wide *wide; /* hash table by id */
	size_t wide_count, wide_room;
	uint64_t unbegun;  /* ends without a beginning, or whose beginning was not recorded */
	uint64_t crossed;  /* ranges that ended while a later one of another domain was still open */
	uint64_t too_deep, too_many; /* ranges not followed: RANGES_DEPTH_MAX, RANGES_OPEN_MAX */
	uint64_t changes; /* how often the open ranges of a thread changed */
	int is_short; /* memory ran out */
};

/* `stacks`: how many threads. Returns -1 without memory. */
int ranges_begin(struct ranges *ranges, size_t stacks);
void ranges_free(struct ranges *ranges);

/* The sum of a name; always one (the shared first where there is no room). Index into ranges->sums. */
uint32_t ranges_sum(struct ranges *ranges, uint64_t name, uint32_t domain, uint8_t source);

/* A range begins on the thread of that stack; it marks step number `step` - 1, 0 = none. */
void ranges_push(struct ranges *ranges, size_t stack, uint32_t sum, uint64_t time, uint32_t step);

/*
 * The innermost range of that source and domain ends. Returns its step + 1, 0 = none, or no such range: then it is counted.
 */
uint32_t ranges_pop(struct ranges *ranges, size_t stack, uint32_t domain, uint8_t source, uint64_t time);

/* Ranges of the whole process. */
void ranges_start(struct ranges *ranges, uint64_t id, uint32_t sum, uint32_t thread, uint64_t time);
void ranges_end(struct ranges *ranges, uint64_t id, uint32_t thread, uint64_t time);

/* A window closed, or the records end: whatever is open is cut here. */
void ranges_cut(struct ranges *ranges, uint64_t time);

/* The innermost open range: an index into sums, its beginning in *begin; 0 with *begin 0 where none is. */
uint32_t ranges_top(const struct ranges *ranges, size_t stack, uint64_t *begin);

#endif
