/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread is in the middle of, and the sums over what ended. Private to the model.
 *
 * Rule: an end is matched by source and key, innermost first, on its own thread and then on the others; what lies above an
 * op that ends stays open. Memory follows the ops open at once and the names, not the log's length.
 */
#ifndef REDUCER_MODEL_OPS_STACKS_H
#define REDUCER_MODEL_OPS_STACKS_H

#include "reducer/model/open_keys.h"
#include "reducer/model/ops.h"

#define OPS_NONE UINT32_MAX
#define OPS_ELSEWHERE_LOOKS (1u << 16) /* threads and what is open on them: where an op that ended on another thread is looked for */

/* Sums of one op; times are ticks. */
struct op_sum {
	uint32_t name; /* id of the op_name fact */
	unsigned source;
	int is_range;
	uint64_t occurrences, nested, total, self, least, most, joined, allocations, allocated_bytes;
	int is_ns;        /* its times are ns */
	uint32_t forward; /* index of the forward op; OPS_NONE = none yet; OPS_NONE - 1 = several */
	uint32_t open;    /* how many are open now on one thread: the outermost counts for `total` */
};

/* A range known at its end, of which no later one may be known yet that it lies in. Times are ns of CLOCK_REALTIME. */
struct op_span {
	uint64_t start, duration;
};

/* A range that is no op and lies in none of its name, as far as is known; likewise. */
struct op_range {
	struct op_span span;
	uint64_t before; /* the one of its name before it that is outermost too: its place + 1; 0 = none */
};

/* An op that has begun. */
struct op_frame {
	uint64_t key, begin, children; /* ticks */
	uint32_t op;                   /* index of its sum */
	uint8_t source, is_inner;      /* is_inner: one of the same name was open already on the thread */
	uint8_t scope;
};

struct op_stack {
	uint32_t thread; /* serial */
	struct op_frame *frames;
	size_t count, room;
	uint64_t framework_id; /* what the framework calls the thread, 0 = not said */
	struct op_span *spans; /* by end */
	size_t span_count, span_room;
	struct op_range *ranges; /* a ring of the last ones */
	uint64_t range_count;	 /* that were ever put there: place n is n modulo its size */
	size_t range_room;
	uint64_t *last_range; /* by sum: place + 1 */
	size_t last_room;
};

/* The last forward op with a sequence number, by number; a ring, since numbers grow. */
#define OPS_SEQUENCES 65536u
struct op_sequence {
	uint64_t sequence, thread; /* framework_thread.id */
	uint32_t op;               /* + 1; 0 = empty */
};

#define OPS_DEPTH_MAX 4096u /* open at once on a thread: four times what Python lets recurse; a search costs as much */

struct op_stacks {
	struct op_stack *stacks; /* one a thread */
	size_t stack_count;
	struct open_keys open; /* of all threads */
	struct op_sum *sums;
	size_t sum_count, sum_room;
	uint32_t *sum_of; /* by name id, source and is_range: index + 1 */
	struct op_sequence *sequences;
	uint64_t changes; /* how often the open ops of a thread changed */
	uint64_t unfinished, unbegun, crossed, overlapped, nameless, unjoined;
	uint64_t too_deep; /* not followed: OPS_DEPTH_MAX others were open on their thread */
	int is_short; /* of memory: something was left out */
};

/* Returns -1 without memory. `threads`: their serials, each once. */
int op_stacks_begin(struct op_stacks *ops, const uint32_t *threads, size_t count);
void op_stacks_free(struct op_stacks *ops);

/* The sum for a name; OPS_NONE when there is no memory, or the id is beyond any that the library gives. */
uint32_t op_stacks_sum(struct op_stacks *ops, uint32_t name, unsigned source, int is_range);

/* `frame` with key, begin, source, scope set. */
void op_stacks_push(struct op_stacks *ops, size_t stack, uint32_t name, struct op_frame frame);
void op_stacks_pop(struct op_stacks *ops, size_t stack, uint64_t key, uint8_t source, uint64_t time);

/* The op begun last on the thread is of that sequence; a backward one finds its forward op. */
void op_stacks_link(struct op_stacks *ops, size_t stack, uint64_t sequence, uint64_t forward_thread);

/* The innermost op, not a range, that is open on the thread: its index, or OPS_NONE. */
uint32_t op_stacks_top(const struct op_stacks *ops, size_t stack);

/* The same, or where none is the innermost range, and when it began. */
uint32_t op_stacks_innermost(const struct op_stacks *ops, size_t stack, uint64_t *begin);

/* A range that is over; those inside it came before it. `is_range`: it is no op; inside one of the same name it adds nothing to `total`. */
void op_stacks_trace(struct op_stacks *ops, size_t stack, uint32_t name, unsigned source, int is_range, struct op_span span);

/* A window opened: what is open has lost its end. */
void op_stacks_clear(struct op_stacks *ops);

#endif
