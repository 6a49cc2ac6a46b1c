/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that failed, from the log. See scan.h. Rule: see refused_rows.h. */
#include "reducer/model/scan.h"

#include <stdlib.h>

static void take(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct refused_rows *rows = &scan->process->refused;
	struct refused *list;
	/* In any case: a Python stack that stands before it is this one's. */
	uint32_t stack = scan_stack(scan, stream, batch->times[i], (uint32_t)batch_value(batch, i, fields[1]));

	rows->told++;
	if (rows->count == REFUSED_MOST)
		return;
	list = model_room(rows->list, rows->count, sizeof *list);
	if (list == NULL)
		return;
	rows->list = list;
	list[rows->count++] = (struct refused){
		.time_ns = (int64_t)batch->times[i],
		.requested_bytes = batch_value(batch, i, fields[0]),
		.stack = stack,
		.thread = scan->process->log->streams[stream].thread,
		.function = (uint32_t)batch_value(batch, i, fields[2]),
	};
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
