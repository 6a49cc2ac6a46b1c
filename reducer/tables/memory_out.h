/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that ran out: which allocation that failed is the one to look at, and how its allocator's live memory came there, by steps.
 *
 * Rule: of a process that ended badly the last one counts, before those of processes that went on with less. How it came is worked out of
 * the curve alone, and said only where that proves that the allocation would have had room otherwise.
 */
#ifndef REDUCER_TABLES_MEMORY_OUT_H
#define REDUCER_TABLES_MEMORY_OUT_H

#include "reducer/tables/request.h"

enum out_kind {
	OUT_UNKNOWN, /* nothing can be said: no curve, no steps, or neither of the next stands out */
	OUT_BEFORE,  /* before the first step, or in it */
	OUT_GREW,    /* from step to step more stayed than was asked for */
	OUT_STEP,    /* that step wants twice as much as any before, and one like those would have had room */
	OUT_HOST,    /* of the host's memory, without steps: nothing says that batches filled it */
};

struct memory_out {
	const struct refused *last; /* NULL = none failed */
	size_t process;		    /* of it, place in the run */
	uint64_t told;		    /* that failed, in all wanted processes */
	bool is_end;		    /* the process ended badly: as far as is known for that */
	enum out_kind kind;
	bool has_step, is_guessed;  /* a step had begun; its number is known by a period alone */
	bool is_behind;		    /* it was over: what failed (an evaluation's, say) belongs to no step */
	uint64_t step;		    /* its number */
	size_t steps_before;	    /* of the process */
	uint64_t grown, since;	    /* OUT_GREW: bytes; the number of the step from which on */
	size_t grew, growing;	    /* in so many steps, of so many from there on */
	uint64_t taken, most;	    /* OUT_STEP: bytes in that step until then; most of any step before */
	uint64_t most_step;	    /* its number */
};

struct memory_out memory_out_find(const struct request *request);

/* Appends ", in step 37" (", after step 37"), and in which op; nothing where neither is known. */
void memory_out_put_place(struct text *text, const struct request *request, const struct memory_out *out);
/* Of memory that ran out in a process that ended badly: the same with what failed, in sentences; else nothing. */
void memory_out_verdict(struct text *text, const struct request *request);
/* Appends a sentence for what is known of how it came. */
void memory_out_say(struct text *text, const struct memory_out *out);

#endif
