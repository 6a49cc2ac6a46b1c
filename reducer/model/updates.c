/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of learning; see reducer/model/updates.h. */
#include "reducer/model/updates.h"

#include "reducer/model/function_names.h"
#include "reducer/model/internal.h"

#include <stdlib.h>

#define ROUNDS_LEAST 5 /* as periods.c has it of steps */
#define STEPS_OFF 8u   /* a period may double one step of so many */

int updates_begin(struct updates *updates, const struct process *process)
{
	size_t count = process->log->stream_count;

	*updates = (struct updates){.threads = calloc(count + 1, sizeof *updates->threads)};
	for (size_t i = 0; updates->threads != NULL && i < count; i++)
		updates->threads[i].thread = process->log->streams[i].thread;
	return updates->threads == NULL ? -1 : 0;
}

void updates_free(struct updates *updates)
{
	free(updates->threads);
	free(updates->rounds);
	*updates = (struct updates){.threads = NULL};
}

static void end_round(struct updates *updates, size_t first)
{
	struct update_thread *own = &updates->threads[first];
	struct update_round *rounds;

	if (own->open.end == 0)
		return;
	rounds = model_room(updates->rounds, updates->count, sizeof *rounds);
	if (rounds != NULL) {
		updates->rounds = rounds;
		own->open.thread = own->thread;
		rounds[updates->count++] = own->open;
	} else {
		updates->beyond++;
	}
	own->open = (struct update_round){.begin = own->behind};
	own->has_gradient = 0;
}

void updates_take(struct updates *updates, size_t first, uint8_t kind, uint64_t time)
{
	struct update_thread *own = &updates->threads[first];
	int changes = kind == NAME_OF_CHANGE || kind == NAME_OF_OPTIMIZER;

	if (own->behind == 0 && !changes)
		own->behind = time;
	if (kind == NAME_OF_GRADIENT || kind == NAME_OF_TAPE) {
		end_round(updates, first);
		own->has_gradient = 1;
	}
	if (kind == NAME_OF_VARIABLE && !own->has_gradient && own->open.end == 0)
		own->open.begin = 0; /* a model is made */
	else if (own->open.begin == 0)
		own->open.begin = time;
	if (!changes || !own->has_gradient)
		return;
	own->open.end = time;
	own->behind = 0;
}

static int by_end(const void *a, const void *b)
{
	const struct update_round *one = a, *other = b;

	return one->end != other->end ? (one->end < other->end ? -1 : 1) : one->thread < other->thread ? -1 : one->thread > other->thread;
}

void updates_end(struct updates *updates, const struct process *process)
{
	for (size_t i = 0; i < process->log->stream_count; i++)
		end_round(updates, i);
	if (updates->count > 0)
		qsort(updates->rounds, updates->count, sizeof *updates->rounds, by_end);
}

size_t updates_count(const struct updates *updates, uint32_t thread, uint64_t from, uint64_t to)
{
	size_t low = 0, high = updates->count, count = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (updates->rounds[middle].end <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < updates->count && updates->rounds[low].end <= to; low++)
		count += updates->rounds[low].thread == thread;
	return count;
}

/* Its steps are such as a period found, and most of them learn nothing; or there are none. */
static int is_too_fine(const struct updates *updates, const struct process *process)
{
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source != STEP_BY_PERIOD)
			return 0;
	return process->step_count == 0 || process->step_count > updates->count + updates->count / STEPS_OFF + 1;
}

/* The last of `count` steps, which lie in order, that began before the round was over; NULL = there is none. */
static const struct step *step_before(const struct process *process, size_t count, const struct update_round *round)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (process->steps[middle].time_ns <= (int64_t)round->end)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : &process->steps[low - 1];
}

static int is_outside(const struct process *process, size_t count, const struct update_round *round)
{
	const struct step *before = step_before(process, count, round);

	return before == NULL || (before->end_ns != TIME_UNKNOWN && before->end_ns < (int64_t)round->end);
}

/* The next round on its thread begins where this one ends, as far as is known. */
static void add_step(const struct updates *updates, size_t at, size_t count, struct process *process)
{
	const struct update_round *round = &updates->rounds[at], *next = round + 1;
	const struct step *before = step_before(process, count, round);
	int64_t begin = (int64_t)round->begin, end = (int64_t)round->end;
	struct step *steps;

	begin = before != NULL && before->end_ns > begin ? before->end_ns : begin;
	if (at + 1 < updates->count && next->thread == round->thread && is_outside(process, count, next) &&
	    step_before(process, count, next) == before)
		end = (int64_t)next->begin;
	steps = model_room(process->steps, process->step_count, sizeof *steps);
	if (steps == NULL) {
		process->steps_beyond++;
		return;
	}
	process->steps = steps;
	steps[process->step_count++] = (struct step){.time_ns = begin,
						     .end_ns = end,
						     .rest_ns = end == (int64_t)round->end ? end : 0,
						     .thread = round->thread,
						     .source = SOURCE_eager,
						     .confidence = 0.5,
						     .is_chosen = 1,
						     .is_update = 1};
}

static int by_time(const void *a, const void *b)
{
	const struct step *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return one->thread < other->thread ? -1 : one->thread > other->thread;
}

int updates_make_steps(const struct updates *updates, struct process *process)
{
	size_t outside = 0, count;

	if (updates->count < ROUNDS_LEAST)
		return 0;
	if (is_too_fine(updates, process))
		process->step_count = 0;
	count = process->step_count;
	for (size_t i = 0; i < count; i++)
		if (!process->steps[i].is_batch)
			return 0;
	for (size_t i = 0; i < updates->count; i++)
		outside += (size_t)is_outside(process, count, &updates->rounds[i]);
	if (outside < ROUNDS_LEAST)
		return 0;
	for (size_t i = 0; i < updates->count; i++)
		if (is_outside(process, count, &updates->rounds[i]))
			add_step(updates, i, count, process);
	process->steps_beyond += updates->beyond;
	qsort(process->steps, process->step_count, sizeof *process->steps, by_time);
	for (size_t i = 0; i < process->step_count; i++)
		process->steps[i].number = i + 1;
	return 1;
}
