/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in few of the steps only: ops, ranges, traces, compiling and reads, by name, with the steps that each lay in.
 *
 * Rule: steps alone, no requests or calls. What more than half of the steps have is usual and forgotten, so that memory follows what
 * is rare. Times are whole: with what lies inside. What outlasts the step that it began in is no work of it.
 */
#ifndef REDUCER_ANALYSIS_RARE_WORK_H
#define REDUCER_ANALYSIS_RARE_WORK_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct rare_entry {
	uint32_t step; /* place in process->steps */
	uint32_t count;
	uint64_t ns;
};

struct rare_row {
	uint64_t log_id;
	size_t process; /* index in run->processes */
	uint32_t name;	/* in words */
	enum span_what what; /* of the first of that name */
	struct rare_entry *entries; /* by step, one each */
	size_t count, room;
	bool is_usual; /* during the pass only */
};

struct rare_work {
	struct words words;
	struct rare_row *rows;
	size_t count, room;
	uint64_t untold; /* things whose names came when there were too many already */
	struct rare_work_pass *pass; /* during the pass only */
};

#endif
