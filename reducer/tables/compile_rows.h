/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilation by frameworks, for compile_stats: functions that were traced or compiled again, and what XLA says it took.
 *
 * Rule: from names that the frameworks give: TensorFlow numbers each traced version of a function, PyTorch each compiled version
 * of a region, XLA announces its own passes. A version that was made and never ran has no name in the log.
 */
#ifndef REDUCER_TABLES_COMPILE_ROWS_H
#define REDUCER_TABLES_COMPILE_ROWS_H

#include "reducer/base/index.h"
#include "reducer/model/run.h"

/* One row: `what` is a constant text or the run's. */
struct compile_row {
	const char *what;
	char *function;
	uint64_t versions; /* or how often, where `is_timed` */
	uint64_t bytes;
	int64_t total_ns;
	bool is_timed;
};

struct compile_rows {
	struct compile_row *list;
	size_t count, room;
	struct base_index index;
};

/* What the ops of a process tell. */
void compile_rows_take(struct compile_rows *rows, const struct process *process);
/* Stretches in which Python code of a framework compiled; `versions` is how many. */
void compile_rows_take_tracings(struct compile_rows *rows, const struct process *process);
/* Whether all that compiled was Python code that traces, for no compiler whose results a cache on disk may keep: inferred. */
bool compile_only_traces(const struct process *process);
void compile_rows_free(struct compile_rows *rows);

/* Adds one version of a function. */
void compile_rows_add(struct compile_rows *rows, const char *what, const char *function, size_t length, uint64_t bytes);

#endif
