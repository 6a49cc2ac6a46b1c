/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing moments; see moments.h. Rule: a moment has a margin on both sides, so that what led to it is seen. */
#include "reducer/trace/moments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MARGIN 10  /* a tenth of a step before and after it */
#define SLICE 1000 /* a moment without a length of its own: this part of the run on either side */

static const struct process *with_most_steps(const struct request *request)
{
	const struct process *most = NULL;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (request_wants_process(request, process) && process->step_count > (most == NULL ? 0 : most->step_count))
			most = process;
	}
	return most;
}

struct stretch {
	int64_t from_ns, to_ns;
	uint64_t number;
};

static int by_length(const void *left, const void *right)
{
	const struct stretch *one = left, *other = right;
	int64_t first = one->to_ns - one->from_ns, second = other->to_ns - other->from_ns;

	if (first != second)
		return first < second ? -1 : 1;
	return one->from_ns < other->from_ns ? -1 : one->from_ns > other->from_ns;
}

/* The chosen steps with an end, by time. Freed with free(). */
static struct stretch *whole_steps(const struct process *process, size_t *count)
{
	struct stretch *steps = base_alloc(process->step_count + 1, sizeof *steps);

	*count = 0;
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		int64_t end = step->end_ns;
		/* Steps are gone through once for each source that is trusted most: what is not chosen has no next one to stop at. */
		for (size_t n = i + 1; step->is_chosen && end == TIME_UNKNOWN && n < process->step_count; n++)
			if (process->steps[n].is_chosen && process->steps[n].source == step->source)
				end = process->steps[n].time_ns;
		if (step->is_chosen && end != TIME_UNKNOWN && end > step->time_ns)
			steps[(*count)++] = (struct stretch){.from_ns = step->time_ns, .to_ns = end, .number = step->number};
	}
	return steps;
}

static void look_at_step(struct digest *digest, const struct stretch *step, const char *which)
{
	int64_t margin = (step->to_ns - step->from_ns) / MARGIN;
	char why[64];

	snprintf(why, sizeof why, "%s step (%" PRIu64 ")", which, step->number);
	digest_look_at(digest, step->from_ns - margin, step->to_ns + margin, why);
}

static void look_at_steps(struct digest *digest, const struct request *request)
{
	const struct process *process = with_most_steps(request);
	size_t count = 0;

	if (process == NULL)
		return;
	struct stretch *steps = whole_steps(process, &count);
	if (count > 0) {
		struct stretch first = steps[0], last = steps[count - 1];
		qsort(steps, count, sizeof *steps, by_length);
		look_at_step(digest, &steps[count - 1], "slowest");
		look_at_step(digest, &steps[(count - 1) / 2], "median");
		look_at_step(digest, &last, "last");
		look_at_step(digest, &first, "first");
	}
	free(steps);
}

static void look_around(struct digest *digest, const struct request *request, int64_t ns, const char *why)
{
	int64_t half = request->run->duration_ns / SLICE + 1000;

	digest_look_at(digest, ns - half, ns + half, why);
}

/* The highest peak of an allocator on a device, else of the heap. */
static void look_at_peak(struct digest *digest, const struct request *request)
{
	const struct account *most = NULL;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		for (size_t a = 0; a < process->account_count; a++)
			if (process->accounts[a].peak_time_ns != TIME_UNKNOWN &&
			    (most == NULL || process->accounts[a].peak_bytes > most->peak_bytes))
				most = &process->accounts[a];
		if (process->account_count == 0 && process->heap.kind != ACCOUNT_NONE &&
		    process->heap.peak_time_ns != TIME_UNKNOWN && (most == NULL || process->heap.peak_bytes > most->peak_bytes))
			most = &process->heap;
	}
	if (most != NULL)
		look_around(digest, request, most->peak_time_ns, "memory peak");
}

void moments_choose(struct digest *digest, const struct request *request)
{
	look_at_steps(digest, request);
	look_at_peak(digest, request);
	if (digest->window_count < 2)
		look_around(digest, request, request->run->duration_ns / 2, "middle of the run");
}
