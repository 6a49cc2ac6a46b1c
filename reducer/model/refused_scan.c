/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that failed, from the log: rows of all subjects, records of the host's. See scan.h. Rule: see refused_rows.h. */
#include "reducer/model/scan.h"

#include <stdlib.h>
#include <string.h>

static const char *const calls[] = {
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) [number] = #name,
#include "collectors/tables/malloc.def"
#undef TFP_HOOK
};

void refused_add(struct scan *scan, const struct refused *row)
{
	struct refused_rows *rows = &scan->process->refused;
	struct refused *list;

	rows->told++;
	if (rows->count == REFUSED_MOST) {
		struct refused *last = &rows->list[REFUSED_MOST - 1];
		if (row->time_ns >= last->time_ns) {
			*last = *row;
			last->thread = scan->process->log->streams[row->stream].thread;
		}
		return;
	}
	list = model_room(rows->list, rows->count, sizeof *list);
	if (list == NULL)
		return;
	rows->list = list;
	list[rows->count] = *row;
	list[rows->count++].thread = scan->process->log->streams[row->stream].thread;
}

struct refused *refused_since(struct scan *scan, uint32_t stream, uint64_t ticks)
{
	struct refused_rows *rows = &scan->process->refused;
	struct refused *last = rows->count == 0 || rows->count != rows->told ? NULL : &rows->list[rows->count - 1];

	return last != NULL && last->stream == stream && last->time_ns >= (int64_t)ticks ? last : NULL;
}

static void take(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	uint64_t function = batch_value(batch, i, fields[2]);
	const char *call = function < sizeof calls / sizeof *calls && calls[function] != NULL ? calls[function] : "";

	refused_add(scan, &(const struct refused){
		.time_ns = (int64_t)batch->times[i],
		.requested_bytes = batch_value(batch, i, fields[0]),
		/* In any case: a Python stack that stands before it is this one's. */
		.stack = scan_stack(scan, stream, batch->times[i], (uint32_t)batch_value(batch, i, fields[1])),
		.call = call,
		.allocator = strcmp(call, "mmap") == 0 || strcmp(call, "mremap") == 0 ? "mmap" : "heap",
		.op = scan->ops.current == NULL ? 0 : scan->ops.current(scan->ops.state, stream, NULL),
		.stream = (uint32_t)stream,
	});
}

static const struct scan_record records[] = {{"refused", take, 0, {"requested", "stack", "function"}}};

static void times(struct process *process)
{
	for (size_t i = 0; i < process->refused.count; i++)
		process->refused.list[i].time_ns = process_ns(process, (uint64_t)process->refused.list[i].time_ns);
}

static void close_process(struct process *process)
{
	free(process->refused.list);
}

const struct scan_subject refused_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.times = times,
	.close = close_process,
};
