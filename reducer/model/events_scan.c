/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over all events of a process: each record goes to the subjects that asked for its kind. See scan.h.
 *
 * Rule: a record that no subject names is counted and read past. Times stay ticks; the subjects turn them into ns once the
 * clock is known to its end.
 */
#include "reducer/model/learning.h"
#include "reducer/model/merge.h"
#include "reducer/model/scan.h"
#include "reducer/read/schema.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they get a record, and in which they finish. */
static const struct scan_subject *const subjects[] = {
	&python_subject, /* before all that have stacks */
	&python_time_subject,
	&native_time_subject,
	&process_subject,
	&tracing_subject,
	&ranges_subject,
	&evaluation_subject, /* behind it: moves the steps that it makes */
	&functions_subject,  /* likewise */
	&replays_subject,    /* behind all that find steps */
	&io_subject,
	&use_subject,
	&heap_subject,
	&refused_subject,
	&iterators_subject,
	&ops_subject,
	&gpu_subject,
};
#define SUBJECTS (sizeof subjects / sizeof *subjects)

/* A kind of record, bound to what one subject does with it. */
struct bound {
	scan_take *take;
	void *state;
	struct bound *next; /* of the same kind, for the next subject */
	scan_take_run *take_run; /* where there is no such */
	scan_take_alike *take_alike;
	bool is_alike;           /* of the first of a chain: all of them have one */
	int fields[SCAN_FIELDS];
};

struct bound_fact {
	scan_take_fact *take;
	void *state;
	struct bound_fact *next;
	int fields[SCAN_FIELDS];
};

struct process_scan {
	struct scan scan;
	const struct scan_subject *const *subjects;
	size_t subject_count;          /* at most SUBJECTS */
	void *states[SUBJECTS];
	struct bound *known[256];      /* by tag; NULL = of no use here */
	struct bound_fact *facts[256];
	struct feed_wanted wanted;     /* what the bindings name */
	struct pool pool;              /* of the bindings */
	uint64_t last_time;
	struct merge_totals totals;
	uint64_t told_bytes;           /* of the log, for progress */
};

static void find_fields(const struct schema_record *record, const char *const *names, int *fields)
{
	for (size_t f = 0; f < SCAN_FIELDS; f++)
		fields[f] = names[f] == NULL ? -1 : schema_field(record, names[f]);
}

/* Adds to the end of a chain, so that subjects keep their order. */
static int bind_record(struct process_scan *scan, const struct scan_record *wanted, void *state)
{
	const struct schema_record *record = schema_record(scan->scan.process->log->schema, wanted->name);
	struct bound *bound, **last;

	if (record == NULL || record->is_fact)
		return 0;
	bound = pool_take(&scan->pool, sizeof *bound);
	if (bound == NULL)
		return -1;
	bound->take = wanted->take;
	bound->state = state;
	bound->take_alike = wanted->take_alike;
	bound->take_run = scan->known[record->tag] == NULL ? wanted->take_run : NULL;
	find_fields(record, wanted->fields, bound->fields);
	feed_kind_add(&scan->wanted.kinds, record->tag);
	for (size_t f = 0; f < SCAN_FIELDS; f++)
		if (bound->fields[f] >= 0)
			scan->wanted.fields[record->tag] |= UINT32_C(1) << bound->fields[f];
	for (last = &scan->known[record->tag]; *last != NULL; last = &(*last)->next)
		;
	*last = bound;
	if (scan->known[record->tag] != bound)
		scan->known[record->tag]->take_run = NULL;
	scan->known[record->tag]->is_alike = bound->take_alike != NULL &&
					     (scan->known[record->tag] == bound || scan->known[record->tag]->is_alike);
	return 0;
}

static int bind_fact(struct process_scan *scan, const struct scan_fact *wanted, void *state)
{
	const struct schema_record *record = schema_record(scan->scan.process->log->schema, wanted->name);
	struct bound_fact *bound, **last;

	if (record == NULL || !record->is_fact)
		return 0;
	bound = pool_take(&scan->pool, sizeof *bound);
	if (bound == NULL)
		return -1;
	bound->take = wanted->take;
	bound->state = state;
	find_fields(record, wanted->fields, bound->fields);
	for (last = &scan->facts[record->tag]; *last != NULL; last = &(*last)->next)
		;
	*last = bound;
	return 0;
}

/* Starts every subject and binds names of the log's schema to its functions. Returns -1 without memory. */
static int begin_subjects(struct process_scan *scan)
{
	for (size_t s = 0; s < scan->subject_count; s++) {
		scan->states[s] = scan->subjects[s]->begin == NULL ? &scan->scan : scan->subjects[s]->begin(&scan->scan);
		if (scan->states[s] == NULL)
			return -1;
		for (size_t k = 0; k < scan->subjects[s]->record_count; k++)
			if (bind_record(scan, &scan->subjects[s]->records[k], scan->states[s]) != 0)
				return -1;
		for (size_t k = 0; k < scan->subjects[s]->fact_count; k++)
			if (bind_fact(scan, &scan->subjects[s]->facts[k], scan->states[s]) != 0)
				return -1;
	}
	return 0;
}

static int visit_fact(void *context, const struct fact *fact)
{
	struct process_scan *scan = context;

	if (fact->tag < 256)
		for (struct bound_fact *bound = scan->facts[fact->tag]; bound != NULL; bound = bound->next)
			bound->take(bound->state, fact, bound->fields);
	return 0;
}

/* Damage among them was told when they were first read (facts.c). */
static void read_facts(struct process_scan *scan)
{
	struct diag_list again = {0};
	struct log view = *scan->scan.log;
	int any = 0;

	view.diags = &again;
	for (size_t tag = 0; tag < 256; tag++)
		any |= scan->facts[tag] != NULL;
	if (any)
		log_facts(&view, visit_fact, scan);
	diag_free(&again);
}

/* All records of one kind that follow each other go to one subject after the other. Returns the first of another kind. */
static size_t take_alike(const struct bound *bound, size_t stream, const struct batch *batch, size_t from, size_t to)
{
	size_t end = from + 1;

	while (end < to && batch->tags[end] == batch->tags[from])
		end++;
	for (; bound != NULL; bound = bound->next)
		bound->take_alike(bound->state, stream, batch, from, end, bound->fields);
	return end;
}

static int visit(void *context, size_t stream, const struct batch *batch, size_t from, size_t to)
{
	struct process_scan *scan = context;

	for (size_t i = from; i < to; i++) {
		const struct bound *bound = scan->known[batch->tags[i]];

		if (bound != NULL && bound->take_run != NULL) {
			i = bound->take_run(bound->state, stream, batch, i, to);
			if (i == to)
				break;
			bound = scan->known[batch->tags[i]];
		}
		if (bound != NULL && bound->is_alike) {
			i = take_alike(bound, stream, batch, i, to) - 1;
			continue;
		}
		if (bound == NULL)
			scan->scan.process->unknown_records++;
		for (; bound != NULL; bound = bound->next)
			bound->take(bound->state, stream, batch, i, bound->fields);
	}
	if (batch->times[to - 1] > scan->last_time)
		scan->last_time = batch->times[to - 1];
	return 0;
}

static int visit_again(void *context, size_t stream, const struct batch *batch, size_t from, size_t to)
{
	struct process_scan *scan = context;

	for (size_t i = from; i < to;) {
		const struct bound *bound = scan->known[batch->tags[i]];

		if (bound != NULL && bound->is_alike) {
			i = take_alike(bound, stream, batch, i, to);
			continue;
		}
		for (; bound != NULL; bound = bound->next)
			bound->take(bound->state, stream, batch, i, bound->fields);
		i++;
	}
	return 0;
}

static void progress(void *context, uint64_t bytes)
{
	struct process_scan *scan = context;
	struct run_storage *storage = scan->scan.run->private;
	const struct run_options *options = scan->scan.options;
	uint64_t told = scan->told_bytes;

	if (bytes <= told) /* another stream was further */
		return;
	scan->told_bytes = bytes;
	storage->done_bytes += bytes - told;
	if (options != NULL && options->progress != NULL)
		options->progress(options->context, storage->done_bytes, storage->all_bytes);
}

static void report_unknown(const struct process_scan *scan)
{
	const struct process *process = scan->scan.process;
	const struct log *log = process->log;

	if (scan->totals.skipped_columns != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "use a newer tfprof-reduce",
			 "%llu columns are encoded in a way that this program does not know; their values are missing",
			 (unsigned long long)scan->totals.skipped_columns);
	if (process->unknown_records != 0)
		diag_add(log->diags, DIAG_NOTE, log->path, DIAG_NO_OFFSET, "use a newer tfprof-reduce for what they say",
			 "%llu records are of kinds that this program has no use for",
			 (unsigned long long)process->unknown_records);
}

static void report_beyond(const struct process *process)
{
	if (process->steps_beyond != 0)
		diag_add(process->log->diags, DIAG_DAMAGE, process->log->path, DIAG_NO_OFFSET,
			 "record a part of the steps: TFPROF_WINDOW=step:0-999/10000 or time:0s-5s/10m",
			 "the log has %llu steps more than are looked at: of a process the first %u",
			 (unsigned long long)process->steps_beyond, MODEL_ENTRIES_MAX);
	if (process->layers_beyond != 0)
		diag_add(process->log->diags, DIAG_DAMAGE, process->log->path, DIAG_NO_OFFSET,
			 "mark the steps in the program (preload/tfprof.py)",
			 "%llu layers of PyTorch are not looked at for what was evaluated: of a step the first %u",
			 (unsigned long long)process->layers_beyond, LEARNING_EVENTS);
	if (process->calls_beyond != 0)
		diag_add(process->log->diags, DIAG_DAMAGE, process->log->path, DIAG_NO_OFFSET,
			 "mark the steps in the program (preload/tfprof.py)",
			 "%llu calls of functions of TensorFlow are not looked at for steps: of a process those of the first %u functions",
			 (unsigned long long)process->calls_beyond, MODEL_FUNCTIONS_MAX);
}

static int finish_subjects(struct process_scan *scan)
{
	for (size_t s = 0; s < scan->subject_count; s++)
		if (scan->subjects[s]->finish != NULL && scan->subjects[s]->finish(scan->states[s]) != 0)
			return -1;
	return 0;
}

static void free_subjects(struct process_scan *scan)
{
	for (size_t s = 0; s < scan->subject_count; s++)
		if (scan->states[s] != NULL && scan->subjects[s]->free != NULL)
			scan->subjects[s]->free(scan->states[s]);
	pool_free(&scan->pool);
}

static void progress_again(void *context, uint64_t bytes)
{
	const struct run_storage *storage = ((struct process_scan *)context)->scan.run->private;

	(void)bytes;
	if (storage->progress != NULL)
		storage->progress(storage->progress_context, 0, 0);
}

/* The records that the subjects of a further pass want, where the first pass saw any. */
static int read_wanted(struct process_scan *scan)
{
	const struct merge_way way = {.crew = run_crew(scan->scan.run), .wanted = &scan->wanted, .progress = progress_again,
				      .progress_context = scan};

	scan->wanted.is_of_parts = 1;
	if (!feed_kinds_meet(&scan->wanted.kinds, &scan->scan.process->kinds))
		return 0;
	return merge_log(scan->scan.log, &way, visit_again, scan, &scan->totals);
}

int process_scan(struct run *run, struct process *process, const struct run_options *options)
{
	struct process_scan *scan = calloc(1, sizeof *scan);
	struct merge_way way = {.crew = run_crew(run), .progress = progress, .progress_context = scan};
	int result = -1;

	if (scan == NULL)
		return -1;
	scan->scan = (struct scan){.run = run, .options = options, .process = process, .log = process->log};
	scan->subjects = subjects;
	scan->subject_count = SUBJECTS;
	way.wanted = &scan->wanted;
	if (begin_subjects(scan) == 0) {
		read_facts(scan);
		result = merge_log(process->log, &way, visit, scan, &scan->totals);
	}
	progress(scan, process->log->bytes);
	process->events = scan->totals.records;
	process->kinds = scan->totals.seen;
	if (scan->last_time > process->end_ticks)
		process->end_ticks = scan->last_time;
	report_unknown(scan);
	if (result == 0)
		result = finish_subjects(scan);
	report_beyond(process);
	log_rest(process->log);
	free_subjects(scan);
	free(scan);
	return result;
}

/* Nothing is told of damage: the first pass did. */
int process_scan_again(struct run *run, struct process *process, const struct scan_subject *subject, void *context)
{
	struct process_scan *scan = calloc(1, sizeof *scan);
	struct diag_list again = {0};
	struct log view;
	int result = -1;

	if (scan == NULL || log_view(process->log, &again, &view) != 0) {
		free(scan);
		return -1;
	}
	scan->scan = (struct scan){.run = run, .process = process, .log = &view, .context = context};
	scan->subjects = &subject;
	scan->subject_count = 1;
	if (begin_subjects(scan) == 0) {
		read_facts(scan);
		result = read_wanted(scan);
	}
	if (result == 0)
		result = finish_subjects(scan);
	free_subjects(scan);
	log_view_end(&view);
	diag_free(&again);
	free(scan);
	return result;
}

void scan_times(struct process *process)
{
	for (size_t s = 0; s < SUBJECTS; s++)
		if (subjects[s]->times != NULL)
			subjects[s]->times(process);
}

void scan_close(struct process *process)
{
	for (size_t s = 0; s < SUBJECTS; s++)
		if (subjects[s]->close != NULL)
			subjects[s]->close(process);
}
