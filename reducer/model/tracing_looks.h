/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a framework's compiler ran, from the looks at Python code: what no allocation tells, as waiting for a C++ compiler. Private to
 * the model; see tracing.c.
 *
 * Rule: as of stacks, what lies between two looks at one thread that both found it in the compiler was compiling, where no look and no
 * stack between them says otherwise, and they are no further apart than looks are.
 */
#ifndef REDUCER_MODEL_TRACING_LOOKS_H
#define REDUCER_MODEL_TRACING_LOOKS_H

#include "reducer/model/python_rows.h"

/* A look, in ticks; TRACER_NONE = it found the thread in no compiler. */
struct tracing_look {
	int64_t time;
	uint32_t thread;
	enum python_tracer tracer;
};

/*
 * Adds to rows->tracings what `looks` tell, and leaves them by their ends. `against`: moments at which a stack said that no stretch goes
 * on. Both are put in order. Looks further apart than `apart` ticks have nothing between them.
 */
void tracing_add_looks(struct python_rows *rows, struct tracing_look *looks, size_t look_count, struct python_moment *against,
		       size_t against_count, int64_t apart);

#endif
