/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes whose steps stopped before they ended, or before their logs were read: a job that hangs, a rank that the others wait for.
 *
 * Rule: that no step ended any more is a fact of the records, told of processes that failed, were killed or still run, where nothing was
 * lost and windows left nothing out since; why it is so no record says. Where the code stood meanwhile is inferred (standing.h).
 */
#ifndef REDUCER_TABLES_STANDSTILL_H
#define REDUCER_TABLES_STANDSTILL_H

#include "reducer/tables/standing.h"
#include "reducer/tables/step_values.h"

struct standstill {
	size_t process;	  /* index in run->processes */
	uint32_t thread;  /* serial: of the steps */
	uint64_t step;	  /* number of the last one that ended */
	int64_t from_ns, to_ns; /* when it ended, and the process, or what is known of it */
	uint64_t median_ns, longest_ns; /* of the steps that are judged */
};

/*
 * When the last step of a process ended, or the one that has no end began, and when the process did: as in struct standstill, whether
 * it stands still or not, whatever part was asked for. False where it has no steps.
 */
bool standstill_since(struct standstill *since, const struct request *request, size_t process);

/* Whether it stands still: for three seconds, as long as ten usual steps, twice as long as any. Sets the last two times. */
bool standstill_has_stopped(struct standstill *since, const struct step_rows *rows, const struct request *request);

/*
 * Whether a device had work, at the end of the process, whose end no record tells though one was due for long: inferred, it had not
 * finished it. *ago_ns: when the first of it was called, before that end.
 */
bool standstill_unfinished(const struct process *process, int64_t end_ns, int64_t *ago_ns);
/* The first of it: the kernel, else the call. */
void standstill_name_unfinished(struct text *text, const struct gpu *gpu);

/* Some sentences; nothing where no process stands still. */
void standstill_say(struct text *text, const struct request *request);

#endif
