/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a graph of steps with some of its times changed, and finds what its length hangs on. Private to replay.c.
 *
 * Rule: what is changed keeps its place in the order; a call, a work begins when the last of what it is linked to lets it.
 */
#ifndef REDUCER_ANALYSIS_REPLAY_RUN_H
#define REDUCER_ANALYSIS_REPLAY_RUN_H

#include "reducer/analysis/replay.h"
#include "reducer/analysis/replay_graph.h"

struct replay_run {
	const struct replay_graph *graph;
	double *call_begin, *call_end, *work_start, *work_end; /* by place */
	uint32_t *call_cause, *work_cause, *end_cause; /* which of the links held it up: enum replay_cause */
	double measured_from; /* where replay_measured begins; of the device where that is longer */
};

struct replay_run *replay_run_make(const struct replay_graph *graph);
void replay_run_free(struct replay_run *run);

/* How long the steps took in all, ns: from mark to mark; where that is longer, how long devices took for what they asked for. */
double replay_measured(struct replay_run *run);

/*
 * How long they take where what `change` names takes `factor` of its time. is_usual: each delay is the usual one of
 * its kind instead of the measured one, and what nothing explains is none, which shows what the graph explains.
 */
double replay_length(struct replay_run *run, const struct replay_change *change, double factor, bool is_usual);

/* The way from the end back to the start of the last replay_length: rows by kind and name, whose `ns` are of all steps, and its pieces. */
void replay_path(const struct replay_run *run, struct replay_process *process);

#endif
