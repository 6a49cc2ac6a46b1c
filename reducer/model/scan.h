/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a subject (heap, GPU, ranges, ...) takes part in the one pass over all records of a process. Private to the model.
 *
 * Rule: a subject names the records, facts and fields that it wants and keeps its own state; it sees only those, in time
 * order. Several subjects may want the same record: they get it in the order of the list in events_scan.c. A field that the
 * log lacks has index -1 and reads as 0.
 *
 * To add a subject: a file <name>_scan.c with a struct scan_subject, one line here, one in the list of events_scan.c.
 */
#ifndef REDUCER_MODEL_SCAN_H
#define REDUCER_MODEL_SCAN_H

#include "reducer/model/internal.h"
#include "reducer/model/op_names.h"
#include "reducer/read/batch.h"

#define SCAN_FIELDS 24 /* most fields that a subject takes of a record */

/*
 * The operation that a thread is in, for whoever attributes something to it while the records stream by. Set by the subject
 * that keeps the ranges of each thread, in its `begin`; `current` stays NULL where nothing does.
 * current() answers for the thread behind a stream (index in log->streams): a number into process->op_names, 0 = none;
 * *since receives the ticks at which it began (may be NULL). ranges_scan.c sets it first; a subject that knows ops puts its own
 * in place and asks the one before it where its own began earlier. Numbers come from op_names_number(scan->op_names, text).
 * word() takes part in finding steps that nobody marked: something happened on a thread that repeats from step to step.
 */
struct scan_ops {
	void *state;
	uint32_t (*current)(void *state, size_t stream, uint64_t *since);
	const uint64_t *changes[2]; /* counters of those who answer: while none moves, current() says the same. NULL = no such */
	void *name_state;
	const char *(*name)(void *state, uint64_t id); /* the text of an op_name fact, "" = unknown; NULL = nobody knows */
	void *word_state;
	void (*word)(void *state, uint64_t key, uint64_t time);
};

/* The Python stack that stands before a record: by stream its time + 1, 0 = none. python_scan.c; all NULL where nobody asks. */
struct scan_python {
	void *state;
	uint64_t *times;
	uint32_t *stacks;
};

/* One pass over one process. */
struct scan {
	struct run *run;
	const struct run_options *options; /* may be NULL */
	struct process *process;
	const struct log *log; /* of the process, as this pass reads it */
	struct scan_ops ops;
	struct scan_python python;
	void *context; /* process_scan_again's; NULL in the first pass */
	struct op_names *op_names; /* becomes process->op_names; never NULL */
};

/* Record `i` of the batch; `fields` are its field indexes in the order in which the subject named them. Times are ticks. */
typedef void scan_take(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);

/* Takes records from `from` on, of whatever kinds it knows, and returns the first that it left: `from` = none, it goes to `take`. */
typedef size_t scan_take_run(void *state, size_t stream, const struct batch *batch, size_t from, size_t to);

/* Records `from` to below `to`, all of this kind: their rows follow each other. */
typedef void scan_take_alike(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields);

struct scan_record {
	const char *name;
	scan_take *take;
	scan_take_run *take_run; /* of kinds that come by the million one after the other; NULL = one by one */
	const char *fields[SCAN_FIELDS];
	scan_take_alike *take_alike; /* instead of `take`, where all who want the kind have one: each gets the whole run */
};

/* A fact; `fields` as above. All facts are taken before the first record. */
typedef void scan_take_fact(void *state, const struct fact *fact, const int *fields);

struct scan_fact {
	const char *name;
	scan_take_fact *take;
	const char *fields[SCAN_FIELDS];
};

struct scan_subject {
	const struct scan_record *records;
	size_t record_count;
	const struct scan_fact *facts;
	size_t fact_count;
	/* Before the first fact. Returns NULL without memory. NULL = the state is the scan: all is kept in its process. */
	void *(*begin)(struct scan *scan);
	/* Behind the last record: fills in the process; times stay ticks. Returns -1 without memory. NULL = nothing is left to do. */
	int (*finish)(void *state);
	void (*free)(void *state); /* NULL where `begin` is */
	/* Turns the times that `finish` left in the process into ns; all clocks are settled. NULL = has none. */
	void (*times)(struct process *process);
	/* Frees what `finish` left in the process. NULL = nothing. */
	void (*close)(struct process *process);
};

extern const struct scan_subject python_subject, python_time_subject, native_time_subject, process_subject, tracing_subject, ranges_subject,
	evaluation_subject, functions_subject, replays_subject, io_subject, use_subject, heap_subject, refused_subject, iterators_subject,
	ops_subject, gpu_subject;

/*
 * A pass of its own for one subject, once run_scan has settled clocks and names: `begin` finds `context` in the scan. Changes
 * nothing in the process, so that several may go on at once. Returns what `finish` returned, -1 without memory.
 */
int process_scan_again(struct run *run, struct process *process, const struct scan_subject *subject, void *context);

/* Calls times / close of all subjects. events_scan.c */
void scan_times(struct process *process);
void scan_close(struct process *process);

/* The value of a field of a fact, 0 where it has none; its text, NULL where it has none. */
static inline uint64_t fact_number(const struct fact *fact, int field)
{
	return field >= 0 && (size_t)field < fact->count ? fact->values[field].number : 0;
}

static inline const struct fact_value *fact_text(const struct fact *fact, int field)
{
	return field >= 0 && (size_t)field < fact->count && fact->values[field].text != NULL ? &fact->values[field] : NULL;
}

/* The same as batch_value with the record's kind and row at hand: for the kinds that come by the million. */
static inline uint64_t scan_value(const struct batch_kind *kind, uint16_t row, int field)
{
	return kind->read[field + 1][row];
}

/* The values of a field from a row on, zeros where the log lacks it. */
static inline const uint64_t *scan_values(const struct batch_kind *kind, uint16_t row, int field)
{
	return kind->read[field + 1] + row;
}

/* The id of a native stack together with the Python stack that stands before it in the stream, and is used up by this. */
uint32_t scan_pair(struct scan *scan, size_t stream, uint32_t native);

/* The stack of a record: a pair where a Python stack of the same time stands before it. */
static inline uint32_t scan_stack(struct scan *scan, size_t stream, uint64_t time, uint32_t native)
{
	if (scan->python.times == NULL || scan->python.times[stream] != time + 1)
		return native;
	return scan_pair(scan, stream, native);
}

#endif
