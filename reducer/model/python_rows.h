/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a log says of Python: its functions, stacks that are native and Python's at once, the garbage collector's counters.
 *
 * Rule: a stack id from pair_first on is a pair, native and Python's, of one moment on one thread; whoever passes stack ids
 * on needs not know (reducer/tables/frames.c puts the two together). Strings belong to the run.
 */
#ifndef REDUCER_MODEL_PYTHON_ROWS_H
#define REDUCER_MODEL_PYTHON_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct python_code {
	const char *function, *file; /* NULL = no such code */
	uint32_t line;		     /* at which it begins */
};

/* What the garbage collector had done since the interpreter began: runs by generation, objects freed and given up. */
struct python_collections {
	uint64_t young, middle, full, collected, uncollectable;
};

/* A compiler of a framework that is written in Python; its frames were on a stack. tracing.c */
enum python_tracer { TRACER_NONE, TRACER_TORCH, TRACER_TORCH_SCRIPT, TRACER_JAX, TRACER_TENSORFLOW, TRACERS, TRACER_MEASURES };

/* From the first stack or look that held such frames to the last without one in between that did not: inferred. */
struct python_tracing {
	int64_t from_ns, to_ns;
	uint32_t thread; /* serial */
	uint32_t stacks; /* that say so */
	enum python_tracer tracer;
};

/* A thread's, in ticks. */
struct python_moment {
	int64_t time;
	uint32_t thread; /* serial */
};

/* Where a thread's Python code was when tfprof's own thread looked at it, and what the look stands for. */
struct python_look {
	int64_t time_ns;
	uint64_t wall_ns, cpu_ns; /* up to then; cpu: 0 = it did not run at that moment */
	uint32_t thread;	  /* serial */
	uint32_t stack;		  /* Python's; 0 = it was in no Python code */
	uint32_t cpu_stack;	  /* the same of cpu_ns: where one look stands for several it may be another one's, */
	uint32_t count : 31;	  /* looks that it stands for */
	uint32_t is_collecting : 1; /* then the garbage collector ran, in this thread or another one of the interpreter's */
	int64_t cpu_time_ns;	  /* as cpu_stack */
};

/* For qsort, of struct python_look: by thread, then time. */
int python_look_compare(const void *a, const void *b);

#define PYTHON_LOOK_IN_DOUBT UINT32_MAX /* instead of a stack: the look found nothing certain */
#define PYTHON_LOOKS_MOST (1u << 19) /* 24 MiB; where there are more, of several of a thread one stands for all */

struct python_rows {
	struct python_look *looks; /* in no order of time */
	size_t look_count;
	struct python_look *held; /* those within slow steps outside of windows; as python_look_compare has them */
	size_t held_count;
	uint64_t held_beyond; /* that found no room among them */
	int knows_collecting; /* looks say whether the garbage collector ran: those of an older library do not */
	struct python_code *codes; /* by number, which the high half of such a code address holds */
	size_t code_count;
	uint32_t pair_first; /* 0 = there are no pairs */
	uint64_t *pairs;     /* native stack << 32 | Python stack */
	size_t pair_count;
	struct python_tracing *tracings; /* by their ends */
	size_t tracing_count;
	int has_inductor; /* frames of TorchInductor that make code were on a stack. tracing.c */
	struct python_moment *measured; /* looks that found kernels being measured, by running them again and again. tracing.c */
	size_t measured_count;
	int has_collections;
	struct python_collections first, last; /* as far as they were read; a fork child goes on counting where its parent was */
};

/* The two stacks behind an id. Returns whether it is a pair; else *native is the id itself and *python is 0. */
static inline int python_pair(const struct python_rows *rows, uint32_t stack, uint32_t *native, uint32_t *python)
{
	uint32_t at = stack - rows->pair_first;

	*native = stack;
	*python = 0;
	if (rows->pair_first == 0 || stack < rows->pair_first || at >= rows->pair_count)
		return 0;
	*native = (uint32_t)(rows->pairs[at] >> 32);
	*python = (uint32_t)rows->pairs[at];
	return 1;
}

#endif
