/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steps of a run had of the processors, whatever else the machine did.
 *
 * Rule: from readings (TFPROF_SYS) as they are. Between two of them time is taken to have gone evenly, where that guess is a
 * small part of the answer; else only the time between readings within the steps counts, and where that is too little there is no
 * answer.
 */
#ifndef REDUCER_TABLES_BUSY_H
#define REDUCER_TABLES_BUSY_H

#include "reducer/tables/machine.h"
#include "reducer/tables/step_values.h"

#define BUSY_LIMITED 0.5 /* of a wait for processors: then it was the control group's limit, used up for so much of the time */
#define BUSY_MOSTLY 0.75 /* of the busy processors: then it was this program, or the others, that had them */

/* A total over a stretch of time that holds so many judged steps; added up over processes. steps 0: not known. */
struct busy_sum {
	double all_ns, part_ns, steps;
};

struct busy {
	struct busy_sum delay; /* the threads that mark the steps could have run and waited for a processor */
	struct busy_sum cpu;   /* processor time of the processes, all threads */
	double share; /* of the time around the steps, waited for a processor: also where the readings are too few for `delay`, and
		       * without steps by a process's first thread; negative = not known. Of several processes the largest */
	size_t process; /* whose share that is, by its place in the run */
	double stretch_ns, between_ns; /* of its steps, and between the readings that its share is by: these may lie far outside */
	double own;	/* of what the machine's processors ran between them, the run's own part; negative = not known */
	struct machine_kept kept; /* from that process, between them */
};

/* From the first judged step of each process to its last one, or of that time what lies between readings. */
struct busy busy_find(const struct step_rows *rows, const struct request *request);

/*
 * Processors that the thread of a process's steps used while judged ones ran, pauses (step_unusual.h) left out; its rows are those from
 * `first` on before `end`. Of the stretches between its readings those count that were such steps for the larger part; where none was,
 * the one around all of them. Negative = not known.
 */
double busy_thread(const struct step_rows *rows, size_t first, size_t end, const struct process *process);

/*
 * What all processors of the machine spent on programs and in the kernel between the first and the last reading of that by a process from
 * `from` to `to`, and what of it the processes of the run on that machine had. False: too few readings, or that process may not use all
 * processors.
 */
struct busy_machine {
	double all_ns, own_ns;
};
bool busy_machine_find(struct busy_machine *machine, const struct run *run, size_t process, int64_t from, int64_t to);

/* What the wanted processes spent from their start to their last readings. */
struct busy_whole {
	size_t processes; /* that told their processor time */
	double seconds;	  /* from the start of the first to the last reading */
	double user_s, system_s;
	double delay_s; /* all threads, at least: could have run and waited for a processor, by readings once a second */
	bool has_use;
};
struct busy_whole busy_of_run(const struct request *request);

#endif
