/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose time looks at threads count, and in which step a look lies: of one process.
 *
 * Rule: wall time is that of the threads that mark the steps, without steps of a process's first thread, or of those that were asked for.
 * A look lies in the step in which it was taken, one without an end counts in none.
 */
#ifndef REDUCER_TABLES_LOOK_SCOPE_H
#define REDUCER_TABLES_LOOK_SCOPE_H

#include "reducer/analysis/units.h"
#include "reducer/tables/request.h"
#include "reducer/tables/step_values.h"

struct look_scope {
	const struct request *request;
	const struct process *process;
	struct units steps; /* its steps that count */
	struct units all;   /* all of them */
	bool *is_in;	    /* by place in process->threads: its wall time counts */
	bool is_first;	    /* that of the first thread does: none was asked for, and none that marks steps was seen */
};

/* Of process `number` of the run. `judged`: the steps that count are those of them that are judged; NULL = all that ended. */
void look_scope_make(struct look_scope *scope, const struct request *request, size_t number, const struct step_rows *judged);
void look_scope_free(struct look_scope *scope);

/* Which threads count: by place in process->threads, those that were looked at. Others do not help. */
void look_scope_see(const struct look_scope *scope, bool *is_seen, uint32_t serial);
void look_scope_choose(struct look_scope *scope, const bool *is_seen);

bool look_scope_has(const struct look_scope *scope, uint32_t serial);

/* Whether the request takes what was then. *step: the one that it lies in, NULL = none. */
bool look_scope_asked(const struct look_scope *scope, int64_t time_ns, const struct unit **step);

/* Between the first step and the last, in none, where one thread has all of them. */
bool look_scope_is_between(const struct look_scope *scope, int64_t time_ns);

/* Adds how long its steps took that the request takes, or, where it has none, how long it lived. Of threads asked for that is not known. */
void look_scope_add_whole(const struct look_scope *scope, uint64_t *steps_ns, uint64_t *lives_ns);

/* How many processes are wanted, where only `looked` of them were looked at; 0 = all were. */
size_t look_scope_wanted(const struct request *request, uint32_t looked);

/* What of a stretch the request takes. */
uint64_t look_scope_within(const struct request *request, int64_t from_ns, int64_t to_ns);

#endif
