/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first call of a function of JAX: its line compiles it and runs it by another road than every later call, so a period
 * that begins with the later ones lacks the first step.
 *
 * Rule: known by the names of places.h alone. A line's first step is there only where the line ran something by that other road
 * before the first call that the period begins with.
 */
#ifndef REDUCER_MODEL_FIRST_CALLS_H
#define REDUCER_MODEL_FIRST_CALLS_H

#include <stdint.h>

#define FIRST_CALLS_NAMES 65536u /* ids of op_name facts, as in ops_scan.c */
#define FIRST_CALLS_LINES 256u	 /* lines of scripts that call into XLA; more are not looked at */

struct first_calls {
	uint8_t seen[FIRST_CALLS_NAMES / 8]; /* by id of an op_name fact */
	struct {
		uint64_t line;	  /* hash of function, file and line */
		uint64_t place;	  /* of the place in the library that runs what was just compiled; 0 = none */
		uint64_t begin, ran; /* ticks: of the line's first call, and of its run by that place */
	} lines[FIRST_CALLS_LINES];
	uint32_t count;
};

/* A call of that name began. `name` is asked for only where the id is new. */
int first_calls_is_new(struct first_calls *calls, uint64_t id);
void first_calls_take(struct first_calls *calls, const char *name, uint64_t time);

/* When the step before the first one of a period began whose steps begin with calls of that name, the first at `time`; 0 = none. */
uint64_t first_calls_begin(const struct first_calls *calls, const char *name, uint64_t time);

#endif
