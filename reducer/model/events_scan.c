/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over all events of a process: each kind of record goes to the function that knows it.
 *
 * Rule: a record that the table below does not name is read past. Times stay ticks; times.c turns them into ns once the
 * clock is known to its end.
 */
#include "reducer/model/accounts.h"
#include "reducer/model/merge.h"
#include "reducer/read/schema.h"

#include <stdlib.h>

#define AHEAD 12 /* events between bringing a block's place into the cache and needing it: 12 x 40 ns covers a miss */

struct known;

struct process_scan {
	struct run *run;
	const struct run_options *options;
	struct process *process;
	struct accounts accounts;
	struct thread_list ended;
	const struct known *known[256]; /* by tag; NULL = of no use here */
	int fields[256][16];            /* field indexes by tag, in the order of struct known */
	uint64_t last_time;
	struct merge_totals totals;
};

typedef void take_record(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields);

/* A kind of record and the fields of it that its function takes, in that order. */
struct known {
	const char *record;
	take_record *take;
	int is_heap; /* the first field is an address worth fetching ahead */
	const char *fields[16];
};

static uint64_t value(const struct batch *batch, size_t i, int field)
{
	return batch_value(batch, i, field);
}

/* The same with the record's kind and row at hand: for the kinds that come by the million. */
static uint64_t quick_value(const struct batch_kind *kind, uint16_t row, int field)
{
	return field >= 0 && kind->present >> field & 1 ? kind->values[field][row] : 0;
}

static void take_alloc(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	const struct batch_kind *kind = batch->kinds[batch->tags[i]];
	uint16_t row = batch->rows[i];
	uint64_t slack = quick_value(kind, row, fields[3]);
	struct live_block block = {.address = quick_value(kind, row, fields[0]), .time = batch->times[i],
				   .usable = quick_value(kind, row, fields[1]) + slack,
				   .stack = (uint32_t)quick_value(kind, row, fields[2]), .slack = (uint32_t)slack};

	scan->accounts.has_events = 1;
	if (slack == UINT16_MAX)
		pairs_alloc_waiting(&scan->accounts.pairs, stream, &block);
	else
		pairs_alloc(&scan->accounts.pairs, stream, &block);
}

static void take_free(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	scan->accounts.has_events = 1;
	pairs_release(&scan->accounts.pairs, stream, value(batch, i, fields[0]), batch->times[i]);
}

static void take_free_undo(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	pairs_undo(&scan->accounts.pairs, stream, value(batch, i, fields[0]), batch->times[i]);
	samples_undo(&scan->accounts.samples, value(batch, i, fields[0]), batch->times[i]);
}

static void take_usable(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	pairs_usable(&scan->accounts.pairs, stream, value(batch, i, fields[0]), value(batch, i, fields[1]));
}

static void take_sample(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct sample sample = {.address = value(batch, i, fields[0]), .requested = value(batch, i, fields[1]),
				.usable = value(batch, i, fields[2]), .interval = value(batch, i, fields[3]),
				.stack = (uint32_t)value(batch, i, fields[4]), .time = batch->times[i]};

	(void)stream;
	samples_alloc(&scan->accounts.samples, &sample);
}

static void take_sample_free(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	samples_release(&scan->accounts.samples, value(batch, i, fields[0]), batch->times[i]);
}

static void take_heap(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	accounts_point(&scan->accounts, batch->times[i], value(batch, i, fields[0]), value(batch, i, fields[1]));
}

static void take_map(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	maps_map(&scan->accounts.maps, value(batch, i, fields[0]), value(batch, i, fields[1]),
		 (uint32_t)value(batch, i, fields[2]), batch->times[i]);
}

static void take_unmap(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	maps_unmap(&scan->accounts.maps, value(batch, i, fields[0]), value(batch, i, fields[1]), batch->times[i]);
}

static void take_clock(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	clock_add(scan->process->clock, value(batch, i, fields[0]), value(batch, i, fields[1]));
}

static void take_window(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct process *process = scan->process;
	struct window *windows = model_room(process->windows, process->window_count, sizeof *windows);

	(void)stream;
	if (windows == NULL)
		return;
	process->windows = windows;
	windows[process->window_count] = (struct window){
		.time_ns = (int64_t)batch->times[i], .is_open = value(batch, i, fields[0]) != 0,
		.cause = (unsigned)value(batch, i, fields[1]), .index = (unsigned)value(batch, i, fields[2]),
		.live_bytes = value(batch, i, fields[3])};
	accounts_window(&scan->accounts, &windows[process->window_count++]);
}

static void take_step(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct process *process = scan->process;
	struct step *steps = model_room(process->steps, process->step_count, sizeof *steps);

	if (steps == NULL)
		return;
	process->steps = steps;
	steps[process->step_count++] = (struct step){.time_ns = (int64_t)batch->times[i], .number = value(batch, i, fields[0]),
						     .thread = process->log->streams[stream].thread};
}

static void take_thread_end(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct thread_list *ended = &scan->ended;
	struct thread *threads = model_room(ended->threads, ended->thread_count, sizeof *threads);

	(void)stream;
	if (threads == NULL)
		return;
	ended->threads = threads;
	threads[ended->thread_count++] = (struct thread){
		.serial = (uint32_t)value(batch, i, fields[0]), .tid = (uint32_t)value(batch, i, fields[1]), .has_ended = 1,
		.start_ns = (int64_t)value(batch, i, fields[2]), .end_ns = (int64_t)value(batch, i, fields[3]),
		.allocations = value(batch, i, fields[4]), .frees = value(batch, i, fields[5]),
		.requested_bytes = value(batch, i, fields[6]), .allocated_bytes = value(batch, i, fields[7]),
		.freed_bytes = value(batch, i, fields[8]), .maps = value(batch, i, fields[9]),
		.unmaps = value(batch, i, fields[10]), .mapped_bytes = value(batch, i, fields[11]),
		.unmapped_bytes = value(batch, i, fields[12]), .own_allocations = value(batch, i, fields[13]),
		.own_bytes = value(batch, i, fields[14])};
}

static void take_loss(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct thread_list *ended = &scan->ended;
	struct loss *losses = model_room(ended->losses, ended->loss_count, sizeof *losses);

	(void)stream;
	if (losses == NULL)
		return;
	ended->losses = losses;
	losses[ended->loss_count++] = (struct loss){
		.thread = (uint32_t)value(batch, i, fields[0]), .kind = (uint8_t)value(batch, i, fields[1]),
		.count = value(batch, i, fields[2]), .first_ns = (int64_t)value(batch, i, fields[3]),
		.last_ns = (int64_t)value(batch, i, fields[4])};
}

/* Read on purpose, and of no use to these tables: kinds that are known are not reported as unknown. */
static void take_nothing(struct process_scan *scan, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)scan, (void)stream, (void)batch, (void)i, (void)fields;
}

static const struct known known_records[] = {
	{"alloc", take_alloc, 1, {"address", "requested", "stack", "slack"}},
	{"free", take_free, 1, {"address"}},
	{"free_undo", take_free_undo, 0, {"address"}},
	{"usable", take_usable, 0, {"address", "usable"}},
	{"sample", take_sample, 0, {"address", "requested", "usable", "interval", "stack"}},
	{"sample_free", take_sample_free, 0, {"address"}},
	{"heap", take_heap, 0, {"live", "peak"}},
	{"map", take_map, 0, {"address", "length", "stack"}},
	{"unmap", take_unmap, 0, {"address", "length"}},
	{"clock", take_clock, 0, {"ticks", "raw"}},
	{"window", take_window, 0, {"is_open", "cause", "index", "live"}},
	{"step", take_step, 0, {"number"}},
	{"thread_end", take_thread_end, 0,
	 {"serial", "tid", "start", "end", "allocations", "frees", "requested", "allocated", "freed", "maps", "unmaps", "mapped",
	  "unmapped", "own_allocations", "own"}},
	{"loss", take_loss, 0, {"serial", "kind", "count", "first", "last"}},
	{"range_push", take_nothing, 0, {NULL}},
	{"range_pop", take_nothing, 0, {NULL}},
	{"fork", take_nothing, 0, {NULL}},
	{"exec", take_nothing, 0, {NULL}},
	{"spawn", take_nothing, 0, {NULL}},
};

/* Names of the log's schema -> functions and field numbers. */
static void bind_records(struct process_scan *scan)
{
	for (size_t k = 0; k < sizeof known_records / sizeof *known_records; k++) {
		const struct schema_record *record = schema_record(scan->process->log->schema, known_records[k].record);

		if (record == NULL || record->is_fact)
			continue;
		scan->known[record->tag] = &known_records[k];
		for (size_t f = 0; f < 16; f++)
			scan->fields[record->tag][f] =
				known_records[k].fields[f] == NULL ? -1 : schema_field(record, known_records[k].fields[f]);
	}
}

/* Always inline: gcc takes a function that only prefetches for one without effect and drops its calls. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct process_scan *scan, const struct batch *batch, size_t i)
{
	const struct known *known = scan->known[batch->tags[i]];

	if (known != NULL && known->is_heap)
		live_prefetch(&scan->accounts.pairs.live, value(batch, i, scan->fields[batch->tags[i]][0]));
}

static int visit(void *context, size_t stream, const struct batch *batch, size_t from, size_t to)
{
	struct process_scan *scan = context;

	for (size_t i = from; i < to; i++) {
		uint8_t tag = batch->tags[i];
		const struct known *known = scan->known[tag];

		if (i + AHEAD < batch->count)
			fetch_ahead(scan, batch, i + AHEAD);
		if (known != NULL)
			known->take(scan, stream, batch, i, scan->fields[tag]);
		else
			scan->process->unknown_records++;
	}
	if (batch->times[to - 1] > scan->last_time)
		scan->last_time = batch->times[to - 1];
	return 0;
}

static void progress(void *context, uint64_t bytes)
{
	struct process_scan *scan = context;
	struct run_storage *storage = scan->run->private;

	if (scan->options != NULL && scan->options->progress != NULL)
		scan->options->progress(scan->options->context, storage->done_bytes + bytes, storage->all_bytes);
}

static void report_unknown(const struct process_scan *scan)
{
	const struct log *log = scan->process->log;

	if (scan->totals.skipped_columns != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "use a newer tfprof-reduce",
			 "%llu columns are encoded in a way that this program does not know; their values are missing",
			 (unsigned long long)scan->totals.skipped_columns);
	if (scan->process->unknown_records != 0)
		diag_add(log->diags, DIAG_NOTE, log->path, DIAG_NO_OFFSET, "use a newer tfprof-reduce for what they say",
			 "%llu records are of kinds that this program has no use for",
			 (unsigned long long)scan->process->unknown_records);
}

int process_scan(struct run *run, struct process *process, const struct run_options *options)
{
	struct process_scan *scan = calloc(1, sizeof *scan);
	int result = -1;

	if (scan == NULL)
		return -1;
	scan->run = run;
	scan->options = options;
	scan->process = process;
	bind_records(scan);
	if (accounts_begin(&scan->accounts, process, options == NULL ? 0 : options->temporary) == 0)
		result = merge_log(process->log, visit, scan, progress, scan, &scan->totals);
	process->events = scan->totals.records;
	if (scan->last_time > process->end_ticks)
		process->end_ticks = scan->last_time;
	report_unknown(scan);
	threads_build(process, &scan->ended);
	if (result == 0)
		result = accounts_finish(&scan->accounts, process);
	log_rest(process->log);
	accounts_free(&scan->accounts);
	free(scan->ended.threads);
	free(scan->ended.losses);
	free(scan);
	return result;
}
