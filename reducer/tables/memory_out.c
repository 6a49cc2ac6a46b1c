/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ran out; see reducer/tables/memory_out.h. */
#include "reducer/tables/memory_out.h"

#include "reducer/analysis/units.h"
#include "reducer/tables/device_room.h"
#include "reducer/tables/job.h"

#include <inttypes.h>
#include <stdlib.h>

#define STEPS_LEAST 3	  /* before the one that failed: of fewer nothing is usual */
#define GREW_LEAST 3	  /* steps in which it did */
#define ONSET_PART 256	  /* of what grew: so little of it is nothing yet */
#define MIB (UINT64_C(1) << 20)

/* The steps of a process until the failure, with what was live when each began and the most inside it. */
struct held {
	struct held_step {
		int64_t from_ns;
		uint64_t number, begin, most;
		bool is_guessed;
	} *steps;
	size_t count;
	uint64_t now; /* live when it failed */
};

static int by_time(const void *a, const void *b)
{
	int64_t one = ((const struct held_step *)a)->from_ns, other = ((const struct held_step *)b)->from_ns;

	return (one > other) - (one < other);
}

static void take_steps(struct held *held, const struct process *process, int64_t to_ns)
{
	held->steps = base_alloc(process->step_count + 1, sizeof(*held->steps));
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (step->is_chosen && step->time_ns <= to_ns)
			held->steps[held->count++] = (struct held_step){.from_ns = step->time_ns, .number = step->number,
									.is_guessed = step->confidence < 1};
	}
	if (held->count)
		qsort(held->steps, held->count, sizeof(*held->steps), by_time);
}

/* One pass: the points of a curve are by time, too. What a stretch holds that a step begins in is taken for that step's. */
static void take_curve(struct held *held, const struct timeline *curve, int64_t to_ns)
{
	size_t step = 0;

	for (size_t i = 0; i < curve->count && curve->points[i].time_ns <= to_ns; i++) {
		const struct timeline_point *point = &curve->points[i];
		while (step < held->count && held->steps[step].from_ns <= point->time_ns) {
			held->steps[step].begin = held->steps[step].most = held->now;
			step++;
		}
		if (step && point->max > held->steps[step - 1].most)
			held->steps[step - 1].most = point->max;
		held->now = point->live;
	}
	for (; step < held->count; step++)
		held->steps[step].begin = held->steps[step].most = held->now;
}

static uint64_t above(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

/* Whether it grew by more than was asked for since the second step: what the first one makes (an optimizer's state) stays. */
static bool find_growth(struct memory_out *out, const struct held *held, uint64_t asked)
{
	const struct held_step *steps = held->steps, *last = &steps[held->count - 1];
	size_t from = 1;

	out->grown = above(last->begin, steps[1].begin);
	if (out->grown < asked || out->grown < MIB)
		return false;
	for (size_t i = 1; i < held->count; i++)
		if (steps[i].begin <= steps[1].begin + out->grown / ONSET_PART)
			from = i;
	out->since = steps[from].number;
	out->growing = held->count - 1 - from;
	for (size_t i = from; i + 1 < held->count; i++)
		out->grew += steps[i + 1].begin > steps[i].begin;
	out->grown = above(last->begin, steps[from].begin);
	return out->grown >= asked && out->grew >= GREW_LEAST && out->grew * 2 >= out->growing;
}

/* Whether the last one wants twice as much as any before, and one like those would have had room: as much was live once. */
static bool find_step(struct memory_out *out, const struct held *held, uint64_t asked)
{
	const struct held_step *last = &held->steps[held->count - 1];
	uint64_t fitted = held->now;

	out->taken = above(held->now, last->begin);
	for (size_t i = 0; i + 1 < held->count; i++) {
		uint64_t took = above(held->steps[i].most, held->steps[i].begin);
		fitted = held->steps[i].most > fitted ? held->steps[i].most : fitted;
		if (i && took <= out->most)
			continue;
		out->most = took;
		out->most_step = held->steps[i].number;
	}
	return out->most + out->taken && out->taken + asked >= 2 * out->most && last->begin + out->most <= fitted;
}

static void find_kind(struct memory_out *out, const struct held *held)
{
	const struct held_step *last = held->count ? &held->steps[held->count - 1] : NULL;
	uint64_t asked = out->last->requested_bytes;

	out->has_step = last != NULL;
	out->steps_before = held->count ? held->count - 1 : 0;
	if (last) {
		out->step = last->number;
		out->is_guessed = last->is_guessed;
	}
	if (!held->count && !device_room_is_of(out->last->allocator))
		out->kind = OUT_HOST;
	else if (held->count < 2 && !out->is_behind)
		out->kind = OUT_BEFORE;
	else if (held->count <= STEPS_LEAST || asked > INT64_MAX)
		return;
	else if (find_growth(out, held, asked))
		out->kind = OUT_GREW;
	else if (!out->is_behind && find_step(out, held, asked))
		out->kind = OUT_STEP;
}

/* Whether the last step that had begun was over when it failed. */
static bool is_behind_steps(const struct process *process, int64_t time_ns)
{
	struct units units;
	bool is_in;

	units_of_steps(&units, process);
	is_in = units_at(&units, time_ns, 0, UINT64_MAX) != NULL;
	units_free(&units);
	return !is_in;
}

/* The one to look at: the last, of a process that ended badly before all others. */
static void find_last(struct memory_out *out, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct refused_rows *rows = &process->refused;
		const struct refused *last = rows->count ? &rows->list[rows->count - 1] : NULL;
		bool has_failed = last && process_has_failed(process);

		if (!request_wants_process(request, process))
			continue;
		out->told += rows->told;
		if (!last || (out->last && (has_failed != out->is_end ? !has_failed : last->time_ns < out->last->time_ns)))
			continue;
		out->last = last;
		out->process = i;
		out->is_end = has_failed;
	}
}

struct memory_out memory_out_find(const struct request *request)
{
	struct memory_out out = {0};
	const struct account *account;
	struct held held = {0};

	find_last(&out, request);
	if (!out.last)
		return out;
	const struct process *process = &request->run->processes[out.process];
	account = job_account(process, out.last->allocator);
	take_steps(&held, process, out.last->time_ns);
	out.is_behind = held.count && is_behind_steps(process, out.last->time_ns);
	if (account && !account->is_live_unknown && account->timeline.count) {
		take_curve(&held, &account->timeline, out.last->time_ns);
		find_kind(&out, &held);
	}
	free(held.steps);
	return out;
}

void memory_out_put_place(struct text *text, const struct request *request, const struct memory_out *out)
{
	const struct process *process = &request->run->processes[out->process];

	if (out->last->op && out->last->op < process->op_count)
		text_format(text, ", op %s", process->op_names[out->last->op]);
	if (out->has_step)
		text_format(text, ", %s step %" PRIu64 "%s", out->is_behind ? "after" : "in", out->step,
			    out->is_guessed ? " (inferred)" : "");
}

void memory_out_say(struct text *text, const struct memory_out *out)
{
	if (out->kind == OUT_GREW) {
		text_string(text, "It had grown by ");
		text_size(text, (int64_t)out->grown);
		text_format(text, " since step %" PRIu64 ": some ", out->since);
		text_size(text, (int64_t)(out->grown / out->growing));
		text_format(text, " a step, in %zu of %zu. Without that there would have been room.", out->grew, out->growing);
	} else if (out->kind == OUT_STEP) {
		text_format(text, "Step %" PRIu64 " had taken ", out->step);
		text_size(text, (int64_t)out->taken);
		text_string(text, " and asked for ");
		text_size(text, (int64_t)out->last->requested_bytes);
		text_format(text, " more; of the %zu before it none took more than ", out->steps_before);
		text_size(text, (int64_t)out->most);
		text_format(text, " (step %" PRIu64 ").", out->most_step);
	} else if (out->kind == OUT_BEFORE && out->has_step) {
		text_string(text, "That was the first step: what is there before it and one step together do not fit.");
	}
}

void memory_out_verdict(struct text *text, const struct request *request)
{
	const struct memory_out out = memory_out_find(request);

	if (!out.is_end)
		return;
	text_string(text, "Memory ran out");
	if (request->run->process_count > 1)
		text_format(text, " in process %s", request->run->processes[out.process].called);
	text_format(text, ": %s", out.last->call[0] ? out.last->call : out.last->allocator);
	if (out.last->requested_bytes <= INT64_MAX) {
		text_string(text, " of ");
		text_size(text, (int64_t)out.last->requested_bytes);
	}
	if (out.last->call[0])
		text_format(text, " on %s", out.last->allocator);
	text_format(text, " failed at %.3f s", (double)out.last->time_ns / 1e9);
	memory_out_put_place(text, request, &out);
	text_string(text, ". ");
	memory_out_say(text, &out);
}
