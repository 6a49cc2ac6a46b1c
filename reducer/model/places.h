/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for ops that have none of their own (calls of JAX into XLA): the Python line that called, in the user's script where
 * its frame is on the stack.
 *
 * "XLA call: main (train.py, line 27) in backend_compile +0x390b13e": function and line of the innermost frame that lies in no
 * installed package, the innermost function where that is another one, the place in the library, which tells an execution from
 * a wait of the same line. Where Keras runs a batch the function that asks for it stands before: "in fit.iterator_step",
 * "in evaluate.iterator_step.__call__". Rule: without a stack that can be read the library's place is all there is.
 */
#ifndef REDUCER_MODEL_PLACES_H
#define REDUCER_MODEL_PLACES_H

#include "reducer/read/stacks.h"

#include <stddef.h>
#include <stdint.h>

struct scan; /* reducer/model/scan.h */

#define PLACE_ROOM 512 /* bytes of a name; qualified names of functions may be longer, and are cut */

/* Of one process; zeroed at first. */
struct places {
	struct stacks *stacks; /* loaded when the first place is asked for */
	int is_loaded;
};

void places_free(struct places *places);

/* The name of an op whose own text is "LIBRARY+0xPLACE STACK"; in `room`, cut to its size. */
void places_name(struct places *places, const struct scan *scan, uint32_t stack, const char *text, char *room, size_t bytes);

#endif
