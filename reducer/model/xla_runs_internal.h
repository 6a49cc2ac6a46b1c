/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the calls of JAX into XLA, by line, kind and name. Private to xla_*.c; the rule of xla_runs.h holds. */
#ifndef REDUCER_MODEL_XLA_RUNS_INTERNAL_H
#define REDUCER_MODEL_XLA_RUNS_INTERNAL_H

#include "reducer/model/xla_runs.h"

#define XLA_NAMES_MAX 65536u /* ids of op_name facts, as in ops_scan.c */
#define XLA_LINES_MAX 256u	 /* lines of scripts that call into XLA; more are not looked at */
#define XLA_KINDS_MAX 1024u	 /* kinds of calls: place, innermost function and line together */
#define XLA_PLACES_MAX 128u	 /* as collectors/jax.c has it */
#define CALLS_LEAST 5u		 /* as periods.c has it of steps */
#define XLA_LASTING_MAX 256u /* calls each longer than all behind it; the shortest of more are left out */

/* A line of a script. */
struct xla_line {
	uint64_t hash;
	uint64_t begin;	 /* of its first call */
	uint64_t ran;	 /* when it first ran something by the road of first calls; 0 = never */
	uint32_t runner; /* id of the last such call + 1 */
};

/* Calls of one line through one place in the library, from one innermost function. */
struct xla_kind {
	uint64_t hash, place;
	uint64_t first, last; /* times */
	uint64_t least; /* ticks that one of them took */
	uint32_t count;
	uint32_t runner; /* of its line when it first came: id + 1, 0 = none */
	uint32_t thread; /* serial of all its calls; 0 = several */
	uint16_t line;
	uint8_t is_first_run; /* in a frame __call__ */
	uint8_t is_eager;     /* an op that the script calls by itself: no function of its own */
	uint8_t is_direct;    /* no function of a package lies between: mostly one that the script compiles */
	uint8_t is_compiling;
	uint8_t is_small;     /* its place is among the small ones */
	uint8_t is_wait;      /* for a value, and nothing besides */
	uint8_t is_keras;     /* the function by which Keras runs a batch, of training, evaluation or prediction, */
	uint8_t is_trained;   /* and the one that called that says that it is training */
};

/* Calls of one name from one Python stack. */
struct xla_caller {
	uint64_t least; /* as of a kind, */
	uint32_t count;
	uint32_t runner; /* too */
};

struct xla_runs {
	uint16_t kinds_of[XLA_NAMES_MAX]; /* by id: kind + 1; 0 = not named yet */
	struct xla_caller callers[XLA_NAMES_MAX]; /* by id */
	struct xla_line lines[XLA_LINES_MAX];
	struct xla_kind kinds[XLA_KINDS_MAX + 1]; /* [0]: names of other forms, and those without room */
	size_t line_count, kind_count;
	uint64_t least_ticks; /* a call that takes less runs nothing */
	uint64_t small[XLA_PLACES_MAX]; /* places of such calls, and those also named without a line: theirs take no time */
	size_t small_count;
	struct {
		uint64_t begin, ticks;
	} lasting[XLA_LASTING_MAX]; /* calls, each longer than all behind it */
	size_t lasting_count;
	uint64_t first_runs; /* place of the road of first calls: of the first call in a __call__, a name that others have, too */
};

/* The kind of that name; the first one = of another form, or without room. */
static inline const struct xla_kind *xla_kind_of(const struct xla_runs *runs, uint64_t id)
{
	return &runs->kinds[id < XLA_NAMES_MAX && runs->kinds_of[id] > 1 ? runs->kinds_of[id] - 1u : 0];
}

/*
 * Of the calls by the road of first calls those of the line that they took most time on, where they come again and again and hardly any
 * compiles: JAX runs functions that call back into Python (jax.debug.callback, io_callback) by no other. NULL = there are none.
 * xla_other_road.c
 */
const struct xla_kind *xla_other_road(const struct xla_runs *runs);

/* The place that runs what is compiled; 0 = none. xla_place.c */
uint64_t xla_place(const struct xla_runs *runs);

/* Is it known that nothing runs through that place? xla_place.c */
int xla_place_is_small(const struct xla_runs *runs, uint64_t place);

#endif
