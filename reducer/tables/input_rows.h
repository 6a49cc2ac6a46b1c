/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the input tables say of each process that runs steps: how long they waited, for what, and what the host did meanwhile.
 *
 * Rule: waiting is time that nothing else on the host or a device covers (analysis steps, part input); what was waited for
 * follows from the analyses pipelines and loading. The thresholds are the TensorFlow Profiler's.
 */
#ifndef REDUCER_TABLES_INPUT_ROWS_H
#define REDUCER_TABLES_INPUT_ROWS_H

#include "reducer/analysis/loading.h"
#include "reducer/analysis/pipelines.h"
#include "reducer/tables/step_values.h"

#define INPUT_HIGH 0.20 /* of the step time */
#define INPUT_MODERATE 0.05

enum input_verdict { VERDICT_NONE, VERDICT_POSSIBLE, VERDICT_MODERATE, VERDICT_HIGH, VERDICT_UNKNOWN };
const char *input_verdict_name(enum input_verdict verdict);

enum input_source { SOURCE_NONE, SOURCE_TF_DATA, SOURCE_LOADER, SOURCE_RANGES, SOURCE_READS };
const char *input_source_name(enum input_source source);

/* One process that runs steps, with its worker processes. */
struct input_view {
	const struct process *process;
	const struct loading_row *loading;
	const struct pipelines *pipelines;
	size_t first, end; /* its steps in the views' rows */
	uint64_t steps, steps_ns, wait_ns, wait_min_ns, wait_max_ns;
	uint64_t judged_ns, judged_wait_ns, judged_other_ns; /* of the steps that are judged: step_values.h; other: not recorded */
	double deviation_ns;
	uint64_t hidden_ns; /* waited while something else went on */
	enum input_verdict verdict;
	enum input_source source;
	struct text stage; /* what was waited for; "" = nothing */
	const char *stage_kind, *remedy;
	struct text advice; /* the remedy, where it has figures of this run */
	uint64_t parts_ns[INPUT_CATEGORIES]; /* of the host, all threads and workers */
	size_t workers;			     /* processes that the loader fed from, as far as recorded */
	size_t workers_at_once;		     /* of them at the most */
	size_t closed;			     /* processes below whose capture windows never opened: workers, maybe */
	bool are_left_out;		     /* the reader asked for some processes alone: workers may be among the others */
	struct text line, sampler_line; /* sentences on lines of the script: that make samples or read; that choose; "" = not known */
	double collate, sampler;	     /* their shares of making samples, of waiting for them, by looks; below 0 = not known */
	size_t guessed;			     /* of them whose work is known by processor time alone */
	uint64_t busy_ns, alive_ns, worker_reads_ns, worker_collate_ns, batches;
	bool is_iterable;	  /* looks met an IterableDataset, which each worker goes through */
	bool has_looks;		  /* at Python code, of any process that is wanted: python_time has lines */
	bool is_untold;		  /* possible, because nothing tells of input, and nothing else of much of the time */
	bool is_outside;	  /* most of the waiting lies behind the steps' marker */
	double reading_threads;	  /* of other threads: time in reads by the time of the steps */
	double step_thread_cores; /* processors that the thread which marks the steps used; below 0 = not known */
};

struct input_views {
	struct input_view *items;
	size_t count;
	struct step_rows rows;
};

/*
 * Whether a thread that used so many processors and waited for one in so much of its time, `delay`, may have rested in the share of it
 * that nothing was recorded of. are_waits: what was recorded may wait (calls into XLA), so that all it used may be of the rest.
 */
bool input_may_rest(double share, double cores, double delay, bool are_waits);

/* In order of processes. Those without steps are not there. */
void input_views_find(struct input_views *views, const struct request *request);
void input_views_free(struct input_views *views);

/* Waiting by the time of the steps that are judged. */
double input_share(const struct input_view *view);

/* Of which nothing was recorded, by the same. */
double input_other_share(const struct input_view *view);

/* Of a step: waiting and copying that nothing else covers. */
uint64_t input_wait_ns(const struct step_row *row);

/* What holds for all input tables. */
void input_notes(struct table *table, const struct request *request, const struct input_views *views);

/* The sentence of a view's verdict. */
void input_sentence(const struct input_view *view, struct text *text);

extern const struct analysis_kind *const input_analyses[];

#endif
