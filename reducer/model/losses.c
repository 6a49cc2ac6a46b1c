/* SPDX-License-Identifier: Apache-2.0 */
/* What the library counted as lost; see reducer/model/losses.h. */
#include "reducer/model/losses.h"

#include "reducer/model/gpu.h"

enum loss_kind {
#define TFP_LOSS(number, name, help, remedy) LOSS_##name = number,
#include "writer/losses.def"
#undef TFP_LOSS
};

#define FIRST_SEQUENCE 1 /* of a thread's and lane's chunks */

bool loss_is_degraded(unsigned kind)
{
	return kind == LOSS_stack_cut || kind == LOSS_clock_step || kind == LOSS_not_kill_safe ||
	       kind == LOSS_clock_stopped || kind == LOSS_code_skipped || kind == LOSS_name_cut || kind == LOSS_native_time ||
	       kind == LOSS_native_unsampled;
}

bool loss_is_of_process(unsigned kind)
{
	return kind == LOSS_interrupted_fork || kind == LOSS_child_refused || kind == LOSS_child_unmade || kind == LOSS_log_refused ||
	       kind == LOSS_log_removed;
}

bool loss_is_of_pairing(unsigned pairing, unsigned reason)
{
	return (pairing == GPU_HOST_ONLY || pairing == GPU_DEVICE_ONLY) && reason != GPU_REASON_HOOKS && reason != GPU_REASON_WINDOW &&
	       reason != GPU_REASON_NOT_STARTED && reason != GPU_REASON_DEVICE_LAUNCH && reason != GPU_REASON_SILENT_GRAPH;
}

static bool has_loss(const struct process *process, unsigned kind)
{
	for (size_t i = 0; i < process->loss_count; i++)
		if (process->losses[i].kind == kind && process->losses[i].count > 0)
			return true;
	return false;
}

bool losses_of_events(const struct process *process)
{
	static const unsigned kinds[] = {LOSS_output_write, LOSS_output_gone, LOSS_output_none,	   LOSS_output_limit,
					 LOSS_kept_free, LOSS_wrapped,	    LOSS_memory,      LOSS_sealed_process, LOSS_nested};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (has_loss(process, kinds[i]))
			return true;
	return process->log->live.dropped_from != 0;
}

/* The last record of the events block that was written first of those that are left, ticks; 0 = there is none. */
static uint64_t oldest_end(const struct log *log)
{
	uint64_t oldest = UINT64_MAX;
	struct log_block block;

	for (size_t i = 0; i < log->stream_count; i++)
		for (size_t k = 0; k < log->streams[i].count && !LOG_PART_IS_CHUNK(&log->streams[i].parts[k]); k++)
			if (LOG_PART_OFFSET(&log->streams[i].parts[k]) < oldest)
				oldest = LOG_PART_OFFSET(&log->streams[i].parts[k]);
	return oldest == UINT64_MAX || log_block_at(log, oldest, &block) != 0 ? 0 : block.header.last_time;
}

static int64_t first_of(const struct process *process, unsigned kind)
{
	int64_t first = TIME_UNKNOWN;

	for (size_t i = 0; i < process->loss_count; i++)
		if (process->losses[i].kind == kind && (first == TIME_UNKNOWN || process->losses[i].first_ns < first))
			first = process->losses[i].first_ns;
	return first;
}

int64_t losses_stopped_from(const struct process *process)
{
	int64_t limit = first_of(process, LOSS_output_limit), disk = first_of(process, LOSS_kept_free);

	return limit == TIME_UNKNOWN || (disk != TIME_UNKNOWN && disk < limit) ? disk : limit;
}

bool losses_gave_up(const struct process *process)
{
	return first_of(process, LOSS_wrapped) != TIME_UNKNOWN;
}

/*
 * Blocks are given up in the order in which they were written: what is not there was written before the oldest one that is, and ended
 * before; and of a stream that is not there from its beginning what it has begins later than what it lacks.
 */
int64_t losses_whole_from(const struct process *process, unsigned kind)
{
	const struct log *log = process->log;
	uint64_t from, begin;

	if (kind != LOSS_wrapped || log->live.dropped_from == 0)
		return TIME_UNKNOWN;
	from = oldest_end(log);
	for (size_t i = 0; i < log->stream_count; i++) {
		const struct log_stream *stream = &log->streams[i];
		if (stream->count == 0 || stream->parts[0].sequence <= FIRST_SEQUENCE)
			continue;
		begin = log_part_time(log, &stream->parts[0]);
		from = begin > from ? begin : from;
	}
	return from == 0 || from > INT64_MAX ? TIME_UNKNOWN : process_ns(process, from);
}

/* The library counted what was lost for that reason as well. A log that is cut tells of no record: a killed process leaves such. */
static bool is_told_elsewhere(const struct process *process, unsigned reason)
{
	static const unsigned kinds[GPU_REASONS] = {[GPU_REASON_REFUSED] = LOSS_cupti_none,
						    [GPU_REASON_TAKEN] = LOSS_cupti_taken,
						    [GPU_REASON_DROPPED] = LOSS_cupti_dropped,
						    [GPU_REASON_UNREADABLE] = LOSS_cupti_unreadable};

	return reason == GPU_REASON_CALL_LOST || reason == GPU_REASON_RECORD_LOST || (kinds[reason] && has_loss(process, kinds[reason]));
}

uint64_t losses_of_pairs(const struct process *process, unsigned pairing, unsigned reason)
{
	bool is_told = !process->gpu || !loss_is_of_pairing(pairing, reason) || is_told_elsewhere(process, reason);

	return is_told ? 0 : process->gpu->counts.reasons[pairing][reason];
}

uint64_t losses_of_gpu(const struct process *process)
{
	const struct gpu_counts *counts = process->gpu ? &process->gpu->counts : NULL;
	uint64_t sum = 0;

	if (counts == NULL)
		return 0;
	for (unsigned pairing = 0; pairing < GPU_PAIRINGS; pairing++)
		for (unsigned reason = 1; reason < GPU_REASONS; reason++)
			sum += losses_of_pairs(process, pairing, reason);
	return sum + counts->impossible_records - gpu_endless_records(process->gpu) + counts->repeated_calls + counts->unknown_shapes +
	       counts->unknown_queues + counts->left_out;
}

struct loss_sums losses_sum(const struct run *run, bool is_degraded)
{
	struct loss_sums sums = {0};

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].loss_count; k++) {
			const struct loss *loss = &run->processes[i].losses[k];
			if (loss->kind >= TFP_LOSS_SLOTS || loss_is_degraded(loss->kind) != is_degraded)
				continue;
			sums.counts[loss->kind] += loss->count;
			sums.named[loss->kind] = loss;
		}
	return sums;
}
