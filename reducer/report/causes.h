/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stacks of memory.sites, shortened to what a person looks for: who asked for the memory, of whom, called by whom.
 *
 * Rule: stacks that read the same after shortening are one cause; its numbers are their sum.
 */
#ifndef REDUCER_REPORT_CAUSES_H
#define REDUCER_REPORT_CAUSES_H

#include "reducer/tables/request.h"

struct cause {
	struct text name;    /* the first function that is not an allocator's own, and "mmap: " if not heap nor asked for */
	struct text via;     /* what it called; empty = the allocator itself */
	struct text place;   /* file:line, or the module */
	struct text callers; /* "< f < g" */
	struct text script;  /* "f (train.py:12)": the line of the user's own Python that it was done for; empty = none known */
	int64_t peak_bytes, leaked_bytes, allocations;
	bool is_leak_unknown; /* leaked_bytes says nothing */
	bool has_near;       /* a name is only the nearest one */
	bool is_heap, is_mapped; /* of the allocators heap, mmap */
	bool is_below;	     /* mapped by the library that serves malloc: the heap's blocks lie in it */
};

struct causes {
	struct cause *list; /* the heap's, then those of other allocators (with peaks of their own); each by peak_bytes */
	size_t count, room;
	bool is_estimated;  /* some of the numbers are */
	bool is_more;       /* there are stacks that were not looked at: smaller at the peak than all of these */
};

/* Looks up the names of the largest stacks at the peak. Empty where no stacks were recorded. */
struct causes causes_make(const struct request *request);
void causes_free(struct causes *causes);
/* Does another cause have that name, and other callers? `cause` need not be of them. */
bool causes_has_namesake(const struct causes *causes, const struct cause *cause);

/* Adds the texts of one stack (process << 32 | id, as table_get_stack gives it), whose names are known, to an empty cause. */
void cause_read(struct frames *frames, uint64_t stack, struct cause *cause);
void cause_free(struct cause *cause);

/* Appends "name -> via  [place]", fitted to `width` columns. */
void cause_text(const struct cause *cause, struct text *out, size_t width);

#endif
