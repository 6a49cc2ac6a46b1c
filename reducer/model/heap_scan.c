/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pass over the records takes of the heap and of mappings. See scan.h.
 *
 * Rule: each record goes to the file that knows what it means; this one only unpacks.
 */
#include "reducer/model/accounts.h"
#include "reducer/model/scan.h"

#include <stdlib.h>
#include <sys/mman.h>

struct heap_scan {
	struct accounts accounts;
	struct scan *scan;
	struct pairs_run run; /* of the records alloc and free; what changes from batch to batch is not set */
	int fields[5];        /* of alloc: address, requested, slack, stack; of free: address */
};

static uint32_t stack_of(void *state, size_t stream, const struct batch *batch, size_t i, uint64_t native)
{
	return scan_stack(((struct heap_scan *)state)->scan, stream, batch->times[i], (uint32_t)native);
}

static void take_alloc(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;
	const struct batch_kind *kind = batch->kinds[batch->tags[i]];
	uint16_t row = batch->rows[i];
	uint64_t slack = scan_value(kind, row, fields[3]);
	struct live_block block = {.address = scan_value(kind, row, fields[0]), .time = batch->times[i],
				   .usable = scan_value(kind, row, fields[1]) + slack,
				   .stack = stack_of(state, stream, batch, i, scan_value(kind, row, fields[2])),
				   .slack = (uint32_t)slack};

	accounts->has_events = 1;
	if (slack == UINT16_MAX)
		pairs_alloc_waiting(&accounts->pairs, stream, &block);
	else
		pairs_alloc(&accounts->pairs, stream, &block);
}

static void take_free(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	accounts->has_events = 1;
	pairs_release(&accounts->pairs, stream, batch_value(batch, i, fields[0]), batch->times[i]);
}

static void take_free_undo(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	pairs_undo(&accounts->pairs, stream, batch_value(batch, i, fields[0]), batch->times[i]);
	samples_undo(&accounts->samples, batch_value(batch, i, fields[0]), batch->times[i]);
}

static void take_usable(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	pairs_usable(&accounts->pairs, stream, batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]));
}

static void take_sample(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;
	struct sample sample = {.address = batch_value(batch, i, fields[0]), .requested = batch_value(batch, i, fields[1]),
				.usable = batch_value(batch, i, fields[2]), .interval = batch_value(batch, i, fields[3]),
				.stack = stack_of(state, stream, batch, i, batch_value(batch, i, fields[4])), .time = batch->times[i]};

	samples_alloc(&accounts->samples, &sample);
}

static void take_sample_free(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	(void)stream;
	samples_release(&accounts->samples, batch_value(batch, i, fields[0]), batch->times[i]);
}

static void take_heap(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	(void)stream;
	accounts_point(accounts, batch->times[i], batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]));
}

/* Of address space without access: smaller pieces allocators map to make them usable at once (V8: 512 KiB), and those are live. */
#define RESERVED_LEAST (UINT64_C(64) << 20)

/* mremap and brk tell neither protection nor flags; each mmap has one of these flags. */
static void take_map(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;
	uint64_t protection = batch_value(batch, i, fields[3]), flags = batch_value(batch, i, fields[4]);
	uint64_t bytes = batch_value(batch, i, fields[1]);
	int is_no_access = protection == PROT_NONE && (flags & (MAP_SHARED | MAP_PRIVATE)) != 0 && bytes >= RESERVED_LEAST;

	(is_no_access ? maps_map_no_access : maps_map)(&accounts->maps, batch_value(batch, i, fields[0]), bytes,
						       stack_of(state, stream, batch, i, batch_value(batch, i, fields[2])),
						       batch->times[i]);
}

static void take_unmap(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	(void)stream;
	maps_unmap(&accounts->maps, batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]), batch->times[i]);
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;
	const struct window window = {.time_ns = (int64_t)batch->times[i], .is_open = batch_value(batch, i, fields[0]) != 0,
				      .cause = (unsigned)batch_value(batch, i, fields[1]),
				      .live_bytes = batch_value(batch, i, fields[2])};

	(void)stream;
	accounts_window(accounts, &window);
}

/* Allocations and releases, as long as no other record comes between and none has a Python stack. */
static size_t take_run(void *state, size_t stream, const struct batch *batch, size_t from, size_t to)
{
	struct heap_scan *heap = state;
	struct pairs_run *run = &heap->run;
	const struct batch_kind *alloc = run->alloc == PAIRS_NO_TAG ? NULL : batch->kinds[run->alloc],
				*release = run->release == PAIRS_NO_TAG ? NULL : batch->kinds[run->release];
	const uint64_t *times = heap->scan->python.times;

	heap->accounts.has_events = 1;
	run->address = alloc == NULL ? NULL : alloc->read[heap->fields[0] + 1];
	run->requested = alloc == NULL ? NULL : alloc->read[heap->fields[1] + 1];
	run->slack = alloc == NULL ? NULL : alloc->read[heap->fields[2] + 1];
	run->stack = alloc == NULL ? NULL : alloc->read[heap->fields[3] + 1];
	run->released = release == NULL ? NULL : release->read[heap->fields[4] + 1];
	run->explained = times == NULL ? 0 : times[stream];
	return pairs_take_run(&heap->accounts.pairs, stream, run, batch, from, to);
}

static const struct scan_record records[] = {
	{"alloc", take_alloc, take_run, {"address", "requested", "stack", "slack"}},
	{"free", take_free, take_run, {"address"}},
	{"free_undo", take_free_undo, NULL, {"address"}},
	{"usable", take_usable, NULL, {"address", "usable"}},
	{"sample", take_sample, NULL, {"address", "requested", "usable", "interval", "stack"}},
	{"sample_free", take_sample_free, NULL, {"address"}},
	{"heap", take_heap, NULL, {"live", "peak"}},
	{"map", take_map, NULL, {"address", "length", "stack", "protection", "flags"}},
	{"unmap", take_unmap, NULL, {"address", "length"}},
	{"window", take_window, NULL, {"is_open", "cause", "live"}},
};

/* Where the log's schema has the fields of the records that come in runs. */
static void find_run(struct heap_scan *heap, const struct schema *schema)
{
	static const char *const names[] = {"address", "requested", "slack", "stack", "address"};
	const struct schema_record *alloc = schema_record(schema, "alloc"), *release = schema_record(schema, "free");

	heap->run.alloc = alloc == NULL ? PAIRS_NO_TAG : alloc->tag;
	heap->run.release = release == NULL ? PAIRS_NO_TAG : release->tag;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct schema_record *record = i < 4 ? alloc : release;

		heap->fields[i] = record == NULL ? -1 : schema_field(record, names[i]);
	}
}

static void *begin(struct scan *scan)
{
	struct heap_scan *heap = calloc(1, sizeof *heap);

	if (heap == NULL)
		return NULL;
	heap->scan = scan;
	find_run(heap, scan->process->log->schema);
	if (accounts_begin(&heap->accounts, scan->process, scan->options == NULL ? 0 : scan->options->temporary) == 0)
		return heap;
	accounts_free(&heap->accounts);
	free(heap);
	return NULL;
}

static int finish(void *state)
{
	struct heap_scan *heap = state;

	return accounts_finish(&heap->accounts, heap->scan->process);
}

static void drop(void *state)
{
	struct heap_scan *heap = state;

	if (heap != NULL)
		accounts_free(&heap->accounts);
	free(heap);
}

const struct scan_subject heap_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.finish = finish,
	.free = drop,
};
