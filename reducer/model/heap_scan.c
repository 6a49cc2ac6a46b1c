/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pass over the records takes of the heap and of mappings. See scan.h.
 *
 * Rule: each record goes to the file that knows what it means; this one only unpacks.
 */
#include "reducer/model/accounts.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

struct heap_scan {
	struct accounts accounts;
	struct scan *scan;
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

static void take_map(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct accounts *accounts = &((struct heap_scan *)state)->accounts;

	maps_map(&accounts->maps, batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]),
		 stack_of(state, stream, batch, i, batch_value(batch, i, fields[2])), batch->times[i]);
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

static const struct scan_record records[] = {
	{"alloc", take_alloc, 1, {"address", "requested", "stack", "slack"}},
	{"free", take_free, 1, {"address"}},
	{"free_undo", take_free_undo, 0, {"address"}},
	{"usable", take_usable, 0, {"address", "usable"}},
	{"sample", take_sample, 0, {"address", "requested", "usable", "interval", "stack"}},
	{"sample_free", take_sample_free, 0, {"address"}},
	{"heap", take_heap, 0, {"live", "peak"}},
	{"map", take_map, 0, {"address", "length", "stack"}},
	{"unmap", take_unmap, 0, {"address", "length"}},
	{"window", take_window, 0, {"is_open", "cause", "live"}},
};

static void *begin(struct scan *scan)
{
	struct heap_scan *heap = calloc(1, sizeof *heap);

	if (heap == NULL)
		return NULL;
	heap->scan = scan;
	if (accounts_begin(&heap->accounts, scan->process, scan->options == NULL ? 0 : scan->options->temporary) == 0) {
		scan->live = &heap->accounts.pairs.live;
		return heap;
	}
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
