/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stack from a native one and the Python stack of the same moment. Private to frames.c.
 *
 * Rule: the interpreter's loop is entered once for each Python frame that was called from C, and stands in the native stack
 * each time; in its place come the Python frames up to that one. The interpreter's other functions between Python frames are
 * left out. Nothing is ever turned round: within each kind the order is the recorded one.
 */
#ifndef REDUCER_TABLES_FRAMES_MERGE_H
#define REDUCER_TABLES_FRAMES_MERGE_H

#include <stdbool.h>
#include <stddef.h>

/* What is known of a native frame, innermost first. */
struct merge_native {
	bool is_loop;	     /* _PyEval_EvalFrameDefault */
	bool is_interpreter; /* of the same file as that */
	bool is_marker;	     /* the stack was cut here */
};

/* Which frames come, innermost first: native ones as their index, Python ones as -1 - index. Returns how many. */
size_t frames_merge(const struct merge_native *native, size_t native_count, const bool *is_entry, size_t python_count,
		    int *order);

/* Is that the interpreter's loop? Compilers split it into parts with names of their own. */
bool frames_is_loop(const char *function);

#endif
