/* SPDX-License-Identifier: Apache-2.0 */
/* What the process and its threads used, from the records of the log. See scan.h. Rule: kept as they came. */
#include "reducer/model/scan.h"

#include <stdlib.h>

static struct use_sample *room_for(struct process *process)
{
	struct use_sample *samples = model_room(process->use_samples, process->use_sample_count, sizeof *samples);

	if (samples == NULL)
		return NULL;
	process->use_samples = samples;
	return &samples[process->use_sample_count++];
}

static struct use_sample common(const struct batch *batch, size_t i, const int *fields, uint32_t thread)
{
	return (struct use_sample){.time_ns = (int64_t)batch->times[i], .thread = thread,
				   .user_ns = batch_value(batch, i, fields[0]), .system_ns = batch_value(batch, i, fields[1]),
				   .minor_faults = batch_value(batch, i, fields[2]), .major_faults = batch_value(batch, i, fields[3]),
				   .waits = batch_value(batch, i, fields[4]), .preemptions = batch_value(batch, i, fields[5])};
}

static void take_thread(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct use_sample *sample = room_for(scan->process);

	if (sample != NULL)
		*sample = common(batch, i, fields, scan->process->log->streams[stream].thread);
}

static void take_process(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct use_sample *sample = room_for(scan->process);

	(void)stream;
	if (sample == NULL)
		return;
	*sample = common(batch, i, fields, 0);
	sample->peak_resident_bytes = batch_value(batch, i, fields[6]);
	sample->blocks_read = batch_value(batch, i, fields[7]);
	sample->blocks_written = batch_value(batch, i, fields[8]);
	sample->load = (double)batch_value(batch, i, fields[9]) / 65536;
	sample->memory_bytes = batch_value(batch, i, fields[10]);
	sample->memory_free_bytes = batch_value(batch, i, fields[11]);
}

static const struct scan_record records[] = {
	{"thread_use", take_thread, 0, {"user", "system", "minor_faults", "major_faults", "waits", "preemptions"}},
	{"process_use", take_process, 0,
	 {"user", "system", "minor_faults", "major_faults", "waits", "preemptions", "peak_resident", "blocks_read", "blocks_written",
	  "load", "memory", "memory_free"}},
};

static void *begin(struct scan *scan)
{
	return scan;
}

static int finish(void *state)
{
	(void)state;
	return 0;
}

static void drop(void *state)
{
	(void)state; /* the scan's own */
}

static void times(struct process *process)
{
	for (size_t i = 0; i < process->use_sample_count; i++)
		process->use_samples[i].time_ns = process_ns(process, (uint64_t)process->use_samples[i].time_ns);
}

static void close_process(struct process *process)
{
	free(process->use_samples);
}

const struct scan_subject use_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.times = times,
	.close = close_process,
};
