/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that nothing of a run fits. See strangers.h. */
#include "reducer/tables/strangers.h"

#include "reducer/analysis/units.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One that had no memory from the start has no account. */
static bool only_refused(const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct refused_rows *rows = &request->run->processes[i].refused;
		for (size_t k = 0; k < rows->count; k++)
			if (request_wants_allocator(request, rows->list[k].allocator))
				return true;
	}
	return false;
}

static void find_allocator(const struct request *request, struct text *problem)
{
	struct request all = *request;
	const char **names;
	size_t count;

	all.allocator = NULL;
	count = job_allocators(&all, &names);
	for (size_t i = 0; i < count && request->allocator; i++)
		if (request_wants_allocator(request, names[i]))
			count = 0;
	if (request->allocator && count && !only_refused(request)) {
		text_format(problem, "--allocator=%s: the run has no allocator of this name; it has ", request->allocator);
		for (size_t i = 0; i < count; i++)
			text_format(problem, "%s%s", i ? ", " : "", names[i]);
	}
	free(names);
}

static void find_window(const struct request *request, struct text *problem)
{
	if (request->from_ns != INT64_MIN && request->from_ns > request->run->duration_ns)
		text_format(problem, "--window begins %.3f s after the start of the run, which lasted %.3f s",
			    (double)request->from_ns / 1e9, (double)request->run->duration_ns / 1e9);
}

static void find_device(const struct request *request, struct text *problem)
{
	struct text names = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = request->run->processes[i].gpu;
		for (size_t k = 0; gpu && k < gpu->device_count && request_wants_process(request, &request->run->processes[i]); k++) {
			if (gpu_wants_device_number(request, gpu, gpu->devices[k].id)) {
				text_free(&names);
				return;
			}
			text_format(&names, "%s%u (%s)", names.length ? ", " : "", gpu->devices[k].id, gpu->devices[k].name);
		}
	}
	if (names.length)
		text_format(problem, "--device=%s: the run has no GPU of this number or name; it has %s", request->device,
			    names.bytes);
	else
		text_format(problem, "--device=%s: no process chosen has a GPU that was recorded", request->device);
	text_free(&names);
}

static void find_stream(const struct request *request, struct text *problem)
{
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = request->run->processes[i].gpu;
		for (uint32_t k = 0; gpu && k < gpu->queue_count && request_wants_process(request, &request->run->processes[i]); k++) {
			any = true;
			if (gpu_wants_queue(request, gpu, k))
				return;
		}
	}
	if (any)
		text_format(problem,
			    "--stream=%s: no GPU chosen has a stream of this number or name; -t device_timeline shows all",
			    request->stream);
	else
		text_format(problem, "--stream=%s: no process chosen has a GPU's stream of which work was recorded", request->stream);
}

void strangers_find(const struct request *request, bool is_older, struct text *problem)
{
	const char *option = request_names_nobody(request);

	if (option && strcmp(option, "--process") == 0)
		text_format(problem, "--process=%s: no process of the run has this number or name; -t processes shows all",
			    request->process);
	else if (option && strcmp(option, "--host") == 0)
		text_format(problem, "--host=%s: no process chosen was on a machine of this name; -t processes shows all",
			    request->host);
	else if (option && strcmp(option, "--rank") == 0)
		text_format(problem, "--rank=%s: no process chosen has this rank; -t processes shows all", request->rank);
	else if (option)
		text_format(problem, "--thread=%s: no thread chosen has this number or name; -t memory.summary shows all",
			    request->thread);
	if (!problem->length && !is_older)
		find_allocator(request, problem);
	if (!problem->length && !is_older)
		find_window(request, problem);
	if (!problem->length && request->device)
		find_device(request, problem);
	if (!problem->length && request->stream)
		find_stream(request, problem);
}

void strangers_find_steps(const struct request *request, struct text *problem)
{
	uint64_t least = UINT64_MAX, most = 0;
	enum unit_kind kind = UNIT_WHOLE;

	if (!request->units || !request->run->is_scanned)
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct units *units = &request->units[i];
		kind = units->count ? units->kind : kind;
		for (size_t k = 0; k < units->count; k++) {
			uint64_t number = units->items[k].number;
			if (number >= request->first_step && number <= request->last_step)
				return;
			least = number < least ? number : least;
			most = number > most ? number : most;
		}
	}
	if (kind == UNIT_WHOLE)
		text_format(problem, "--step: the run has no steps, and nothing in it repeats like one");
	else if (request->first_step == request->last_step)
		text_format(problem, "--step=%" PRIu64 ": the run has no such %s; it has %" PRIu64 " to %" PRIu64,
			    request->first_step, unit_kind_name(kind), least, most);
	else
		text_format(problem, "--step=%" PRIu64 "-%" PRIu64 ": the run has no such %s; it has %" PRIu64 " to %" PRIu64,
			    request->first_step, request->last_step, unit_kind_name(kind), least, most);
}
