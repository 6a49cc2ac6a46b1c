/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of Python code goes: each PYTHON_TIME milliseconds or so our own thread looks which Python frames each thread of
 * the interpreter is in, without its lock and without stopping anybody, and what processor time it used since.
 *
 * Rule: a look reads copies (collectors/python_copies.h) and proves them as collectors/python.c does; what was torn meanwhile is told
 * as in doubt, not looked at again: that would favour what stands still. A look stands for the time since the one before. Times
 * between looks are drawn, so that steps of a like length are not met at the same place. A thread that did not run is where it
 * was. A two hundredth of a processor is aimed at: where looks are dear they are rarer. We are never the reason for a second
 * thread.
 */
#ifndef TFP_COLLECTORS_PYTHON_TIME_H
#define TFP_COLLECTORS_PYTHON_TIME_H

#include "writer/stream.h"

/* Setting PYTHON_TIME, after tfp_python_begin; 0 = never. Once per program; kept across fork. */
void tfp_python_time_begin(uint32_t milliseconds);

/* The host is about to start a thread: from then on ours looks. */
void tfp_python_time_threading(void);

/* In a fork child: what it inherited of ours is closed. */
void tfp_python_time_forked(void);

#endif
