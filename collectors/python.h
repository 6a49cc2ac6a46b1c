/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames of the calling thread, read from CPython's own structures (3.8 to 3.15) without the GIL and without
 * calling into the interpreter.
 *
 * Rule: in doubt there is no stack, counted as python_frames. Nothing is believed: every object on the way is proved by
 * its type, the thread state by its thread's id, and only pages are read that the kernel said can be read. A stack is read
 * by the thread that it belongs to: its frames keep their code objects alive and cannot move meanwhile. Threads that
 * Python does not know, other interpreters than the main one, and interpreters that are ending have no stack.
 */
#ifndef TFP_COLLECTORS_PYTHON_H
#define TFP_COLLECTORS_PYTHON_H

#include "writer/stream.h"

/* What the interpreter exports; any may be NULL where the version lacks it. Plain reads of its state, without a lock. */
struct tfp_python_symbols {
	const void *runtime;			 /* _PyRuntime */
	void *(*this_thread)(void);		 /* PyGILState_GetThisThreadState: from thread-local storage */
	void *(*first_interpreter)(void);	 /* PyInterpreterState_Head */
	void *(*next_interpreter)(void *);	 /* PyInterpreterState_Next */
	int (*is_ending)(void);			 /* Py_IsFinalizing, before 3.13 _Py_IsFinalizing */
	const void *code, *text, *bytes, *frame; /* PyCode_Type, PyUnicode_Type, PyBytes_Type, PyFrame_Type */
	void *code_slots; /* PyCode_Type once more, where its slots may be written; else NULL */
	uint32_t version; /* PY_VERSION_HEX; where only the minor version is known 0x03080000 and the like */
};

enum tfp_python_when { TFP_PYTHON_NEVER = 0, TFP_PYTHON_SAMPLES = 1, TFP_PYTHON_CALLS = 2 };

/* Whether stacks are to be read. Written by tfp_python_begin, and set to NEVER for good where the layout proved wrong. */
extern _Atomic uint32_t tfp_python_when TFP_HIDDEN;

/* Once per program, from the library's constructor; kept across fork. Says in a fact what can be read, or why nothing. */
void tfp_python_begin(const struct tfp_python_symbols *symbols, uint32_t when, uint32_t frames);

/* Reads this thread's Python stack. 0 = none. Own thread, lane 0, inside a hook. */
uint32_t tfp_python_read(struct tfp_thread *thread, struct tfp_lane *lane);

/* The record before a sampled allocation's, or before a GPU call's or an allocation's of MALLOC=full, at the same time. */
static inline void tfp_python_put(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, uint32_t when)
{
	uint32_t stack = tfp_python_when >= when && lane == &thread->lanes[0] ? tfp_python_read(thread, lane) : 0;

	if (stack)
		TFP_PUT(thread, lane, now, python_stack, .stack = stack);
}

#endif
