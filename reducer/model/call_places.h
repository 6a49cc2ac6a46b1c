/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU calls as words of a stream (periods.h) by the places that call: function and call stack. Beside it stands the stream in which they
 * are words by function alone.
 *
 * Rule: while each function is called from one place the other stream says the same, and nothing is kept here.
 */
#ifndef REDUCER_MODEL_CALL_PLACES_H
#define REDUCER_MODEL_CALL_PLACES_H

#include "reducer/model/number_map.h"
#include "reducer/model/periods.h"

struct call_places {
	struct periods *calls;    /* the other stream; all its calls come by here first */
	struct periods own;       /* empty while is_same */
	struct number_map stacks; /* of a function: the stack of its first call */
	int is_same;              /* no function had a second one */
	int is_unneeded;          /* as whoever looks for steps says: nothing is kept any more */
};

/* -1 = no memory; call_places_free in either case. `calls` stays where it is. */
int call_places_begin(struct call_places *places, struct periods *calls);
void call_places_free(struct call_places *places);

/* These calls are about to become words of the other stream. */
void call_places_add(struct call_places *places, const uint64_t *functions, const uint64_t *stacks, const uint64_t *times, size_t count,
		     uint32_t thread);

/* The stream by place, once the last call is there; NULL = it has the words of the other stream and no others, or nobody needs it. */
struct periods *call_places_stream(struct call_places *places);

#endif
