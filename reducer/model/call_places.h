/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU calls as words of a stream (periods.h) by the places that call: function, call stack, context. Beside it stands the stream in which
 * they are words by function alone.
 *
 * Rule: while each function is called from one place the other stream says the same, and nothing is kept here.
 */
#ifndef REDUCER_MODEL_CALL_PLACES_H
#define REDUCER_MODEL_CALL_PLACES_H

#include "reducer/model/number_map.h"
#include "reducer/model/periods.h"
#include "reducer/model/step_guess.h"

struct call_places {
	struct periods *calls;    /* the other stream; all its calls come by here first */
	struct periods own;       /* empty while is_same */
	struct number_map first;  /* of a function: the place of its first call */
	int is_same;              /* no function had a second one */
	int is_unneeded;          /* as whoever looks for steps says: nothing is kept any more */
};

/* `count` calls, one after the other. contexts: CUPTI's ids, 0 = not known. */
struct call_list {
	const uint64_t *functions, *stacks, *contexts, *times;
	size_t count;
};

/* The same stack at another device is another place: a loop over devices calls each function from one line for all of them. */
static inline uint32_t call_place(uint64_t stack, uint64_t context)
{
	return (uint32_t)(stack + context * UINT64_C(0x9e3779b1)) & (STEP_GUESS_PLACES - 1); /* 2^32 / golden ratio */
}

/* -1 = no memory; call_places_free in either case. `calls` stays where it is. */
int call_places_begin(struct call_places *places, struct periods *calls);
void call_places_free(struct call_places *places);

/* These calls are about to become words of the other stream. */
void call_places_add(struct call_places *places, const struct call_list *calls, uint32_t thread);

/* The stream by place, once the last call is there; NULL = it has the words of the other stream and no others, or nobody needs it. */
struct periods *call_places_stream(struct call_places *places);

#endif
