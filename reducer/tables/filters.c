/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request lets the analyses see.
 *
 * Rule: a span belongs to the time, and to the step, in which it began; what is of no device is left out where a device was
 * asked for, what is of no thread where a thread was. Steps and windows themselves always pass.
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

bool request_wants_span(const struct request *request, const struct span *span)
{
	const struct process *process = &request->run->processes[span->process];

	if (span->what == SPAN_STEP || span->what == SPAN_WINDOW)
		return true;
	if (span->start_ns < request->from_ns || span->start_ns > request->to_ns)
		return false;
	if (request->has_steps && !wants_step(request, process, span->start_ns))
		return false;
	if ((request->device || request->stream) &&
	    !(span->on == SPAN_QUEUE && process->gpu && gpu_wants_queue(request, process->gpu, span->track)))
		return false;
	return !request->thread || gpu_wants_thread(request, process, span->thread);
}

static bool wants_span(const void *context, const struct span *span)
{
	return request_wants_span(context, span);
}

static bool wants_process(const void *context, const struct process *process)
{
	return request_wants_process(context, process);
}

void request_open_analyses(struct request *request)
{
	bool is_filtered = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->has_steps ||
			   request->device || request->stream || request->thread;

	request->analysis.phases = &request->phases;
	request->analysis.wants = is_filtered ? wants_span : NULL;
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
