/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which looks at Python code (model/python_rows.h) were taken while something that has a part in a step's split was going on: an op, a
 * call, work of a device. What the others saw is time of the part 'other'.
 *
 * Rule: as the split of the steps reads each span; in the pass of the analysis of steps.
 */
#ifndef REDUCER_ANALYSIS_LOOKED_H
#define REDUCER_ANALYSIS_LOOKED_H

#include "reducer/analysis/analysis.h"

struct looked_mark {
	uint64_t log_id;
	uint32_t look; /* place in process->python.looks */
};

/* Of a process by look, each once; of several as they were merged. */
struct looked {
	struct looked_mark *marks;
	size_t count, room;
};

/* During the pass. */
struct looked_pass {
	struct looked_time {
		int64_t time_ns;
		uint32_t look;
		bool is_marked;
	} * times;    /* in order of time */
	size_t count; /* 0: there are none, and nobody need ask */
	size_t hint;  /* the first look that is not before the span looked up last */
};

void looked_begin(struct looked_pass *pass, const struct process *process);
/* Marks the looks from start_ns to before end_ns. */
void looked_cover(struct looked_pass *pass, int64_t start_ns, int64_t end_ns);
/* The marks of the pass, and nothing is left of it. */
void looked_end(struct looked_pass *pass, const struct process *process, struct looked *looked);

void looked_merge(struct looked *into, const struct looked *from);
void looked_print(const struct looked *looked, struct text *text);
void looked_free(struct looked *looked);

#endif
