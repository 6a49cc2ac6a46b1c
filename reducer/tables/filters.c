/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request lets the analyses see.
 *
 * Rule: a span belongs to the time, and to the step, in which it began. --device and --stream choose among device work and leave
 * the host's as it is; --thread chooses what the thread did and launched. Steps and windows themselves always pass.
 */
#include "reducer/tables/gpu_rows.h"

#include <stdlib.h>

/* The last step of the trusted source that began by then. */
static const struct step *step_at(const struct process *process, int64_t time_ns)
{
	size_t low = 0, high = process->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (process->steps[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && !process->steps[low - 1].is_chosen)
		low--;
	return low == 0 ? NULL : &process->steps[low - 1];
}

static bool wants_step(const struct request *request, const struct process *process, int64_t time_ns)
{
	const struct step *step = step_at(process, time_ns);

	return step && step->number >= request->first_step && step->number <= request->last_step &&
	       (step->end_ns == TIME_UNKNOWN || time_ns < step->end_ns);
}

static bool wants_time(const void *context, const struct span *span)
{
	const struct request *request = context;

	if (span->what == SPAN_STEP || span->what == SPAN_WINDOW)
		return true;
	if (span->start_ns < request->from_ns || span->start_ns > request->to_ns)
		return false;
	return !request->has_steps || wants_step(request, &request->run->processes[span->process], span->start_ns);
}

static bool wants_place(const void *context, const struct span *span)
{
	const struct request *request = context;
	const struct process *process = &request->run->processes[span->process];

	if (span->on == SPAN_QUEUE && process->gpu && !gpu_wants_queue(request, process->gpu, span->track))
		return false;
	return span->what == SPAN_STEP || span->what == SPAN_WINDOW || gpu_wants_thread(request, process, span->thread);
}

bool request_wants_span(const struct request *request, const struct span *span)
{
	return wants_time(request, span) && wants_place(request, span);
}

static bool wants_process(const void *context, const struct process *process)
{
	return request_wants_process(context, process);
}

void request_open_analyses(struct request *request)
{
	bool is_timed = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->has_steps;
	bool is_placed = request->device || request->stream || request->thread;

	request->analysis.phases = &request->phases;
	request->analysis.wants_time = is_timed ? wants_time : NULL;
	request->analysis.wants_place = is_placed ? wants_place : NULL;
	request->analysis.context = request;
	request->analyses = analyses_open(request->run, &request->analysis, wants_process, request);
}

void request_close_analyses(struct request *request)
{
	analyses_free(request->analyses);
	request->analyses = NULL;
}

void request_run_analyses(const struct request *request, const struct table_kind *const *kinds, size_t count)
{
	const struct analysis_kind **wanted = NULL;
	size_t wanted_count = 0, room = 0;

	for (size_t i = 0; i < count; i++)
		for (const struct analysis_kind *const *at = kinds[i]->analyses; at && *at; at++) {
			wanted = base_grow(wanted, &room, wanted_count + 1, sizeof(*wanted));
			wanted[wanted_count++] = *at;
		}
	analyses_add(request->analyses, wanted, wanted_count);
	free(wanted);
}
