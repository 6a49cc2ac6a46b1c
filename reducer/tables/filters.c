/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request lets the analyses see.
 *
 * Rule: a span belongs to the time, and to the step (as step_stats has them), in which it began. --device and --stream choose
 * among device work and leave the host's as it is; --thread chooses what the thread did and launched. Steps and windows
 * themselves always pass, but for time lines.
 */
#include "reducer/analysis/units.h"
#include "reducer/tables/gpu_rows.h"

#include <stdlib.h>

static bool is_in_steps(const struct request *request, size_t process, int64_t time_ns)
{
	return !request->units || units_at(&request->units[process], time_ns, request->first_step, request->last_step);
}

static bool wants_time(const void *context, const struct span *span)
{
	const struct request *request = context;

	if (span->what == SPAN_STEP || span->what == SPAN_WINDOW)
		return true;
	if (span->start_ns < request->from_ns || span->start_ns > request->to_ns)
		return false;
	return is_in_steps(request, span->process, span->start_ns);
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
	return (!request->analysis.wants_time || wants_time(request, span)) &&
	       (!request->analysis.wants_place || wants_place(request, span));
}

bool request_draws_span(const struct request *request, const struct span *span)
{
	if (span->start_ns >= request->to_ns || span->start_ns + (int64_t)span->duration_ns < request->from_ns)
		return false;
	if (span->what != SPAN_WINDOW && !is_in_steps(request, span->process, span->start_ns))
		return false;
	return !request->analysis.wants_place || wants_place(request, span);
}

bool request_wants_step(const struct request *request, size_t process, const struct step *step)
{
	return step->time_ns >= request->from_ns && step->time_ns <= request->to_ns && is_in_steps(request, process, step->time_ns);
}

static bool wants_process(const void *context, const struct process *process)
{
	return request_wants_process(context, process);
}

/* Of each wanted process its steps, or what stands for them. How many there are in all. */
static size_t make_units(struct request *request, bool is_steps_alone)
{
	struct run *run = request->run;
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		struct analysis_input input = {
			.run = run, .process = &run->processes[i], .index = i, .options = &request->analysis};
		units_free(&request->units[i]);
		if (request_wants_process(request, &run->processes[i]) && is_steps_alone)
			units_of_steps(&request->units[i], &run->processes[i]);
		else if (request_wants_process(request, &run->processes[i]))
			units_make(&request->units[i], &input);
		count += request->units[i].count;
	}
	return count;
}

/* --step by the numbers that step_stats shows: kinds are not mixed there, the first in the order of enum unit_kind counts. */
static void find_units(struct request *request)
{
	enum unit_kind kind = UNIT_WHOLE;

	request->units = base_alloc(request->run->process_count + 1, sizeof(*request->units));
	if (make_units(request, true))
		return;
	make_units(request, false);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->units[i].count && request->units[i].kind < kind)
			kind = request->units[i].kind;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->units[i].kind != kind)
			units_free(&request->units[i]);
}

void request_open_analyses(struct request *request)
{
	bool is_timed = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->has_steps;
	bool is_placed = request->device || request->stream || request->thread;

	if (request->has_steps)
		find_units(request);
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
	for (size_t i = 0; request->units && i < request->run->process_count; i++)
		units_free(&request->units[i]);
	free(request->units);
	request->units = NULL;
}

const char *const request_groups[GROUPS + 1] = {"op", "type", "scope", "module", "kernel", NULL};

void request_run_analyses(const struct request *request, const struct table_kind *const *kinds, size_t count)
{
	const struct analysis_kind **wanted = NULL;
	size_t wanted_count = 0, room = 0;

	for (size_t i = 0; i < count; i++)
		for (const struct analysis_kind *const *at = kinds[i]->analyses; at && *at; at++) {
			if ((*at)->is_of_parts && !request->analysis.wants_time && !request->analysis.wants_place)
				continue;
			wanted = base_grow(wanted, &room, wanted_count + 1, sizeof(*wanted));
			wanted[wanted_count++] = *at;
		}
	analyses_add(request->analyses, wanted, wanted_count);
	free(wanted);
}
