/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at Python code while no window was open, kept in memory for a slow step: which step was slow is known once it is over, and what
 * happened in it would be in no log. Where the plan has a window `slow:` our thread goes on to look, and tells what it saw within the
 * slow step when that has ended.
 *
 * Rule: our own thread's alone. The newest TFP_PYTHON_HELD looks are kept, the older ones are nobody's.
 */
#ifndef TFP_COLLECTORS_PYTHON_HELD_H
#define TFP_COLLECTORS_PYTHON_HELD_H

#include "writer/stream.h"

#define TFP_PYTHON_HELD 8192u /* 320 KiB; 80 s of one thread that runs, at a look each 10 ms */

struct tfp_python_held_look {
	uint64_t time, wall, cpu; /* as record python_time has them; time: ticks since origin */
	uint32_t thread, stack;
	uint8_t collecting;
};

struct tfp_python_held {
	uint64_t count, told; /* looks so far; slow steps that were told of */
	struct tfp_python_held_look looks[TFP_PYTHON_HELD]; /* a ring */
};

void tfp_python_hold(struct tfp_python_held *held, const struct tfp_python_held_look *look);

/* What was seen in the last slow step, once, as records python_held. */
void tfp_python_held_tell(struct tfp_python_held *held, struct tfp_thread *self);

#endif
