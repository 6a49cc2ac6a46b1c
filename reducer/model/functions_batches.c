/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of tf.data that a loop takes, as its steps; see functions.c. */
#include "reducer/model/functions_internal.h"
#include "reducer/model/step_choice.h"

#define BATCHES_LEAST 5 /* as periods.c has it of steps */

/* Where in the same loop another batch is asked for; NULL = nowhere. Calls of other threads may lie between. */
static const struct batch_call *next_of(const struct functions *taken, size_t i)
{
	size_t next = taken->batches[i].next;

	return next != 0 && !taken->batches[next - 1].makes_iterator ? &taken->batches[next - 1] : NULL;
}

/* Behind the last call of a loop more is learnt than from the batch before: not from a batch of its own. */
static int is_learnt_behind(const struct functions *taken, size_t i)
{
	const struct batch_call *call = &taken->batches[i], *before;
	size_t usual;

	if (call->before == 0 || taken->batches[call->before - 1].makes_iterator)
		return 0;
	before = &taken->batches[call->before - 1];
	usual = updates_count(&taken->updates, call->thread, before->begin, call->begin);
	return usual > 0 && updates_count(&taken->updates, call->thread, call->begin, call->trained) > usual;
}

/* The last call of a loop found no data, unless it was learnt from, or as much was done with it as with the one before. */
static int is_batch(const struct functions *taken, size_t i)
{
	const struct batch_call *call = &taken->batches[i];

	return !call->makes_iterator &&
	       (next_of(taken, i) != NULL || ((call->trained != 0 || (call->reached != 0 && call->first == call->wanted_first)) &&
				       !is_learnt_behind(taken, i)));
}

/* A loop that takes of several iterators for one step does nothing between; of JAX that is not known. */
static int is_joined(const struct functions *taken, size_t i)
{
	return !taken->is_jax && taken->batches[i].used == 0;
}

/* Where the step of that batch began: with the first of those that are joined. */
static const struct batch_call *first_of_step(const struct functions *taken, size_t i)
{
	for (size_t before = taken->batches[i].before; before != 0 && is_batch(taken, before - 1) && is_joined(taken, before - 1);
	     before = taken->batches[i].before)
		i = before - 1;
	return &taken->batches[i];
}

/* When the last of a loop was done with. */
static uint64_t end_of(const struct batch_call *call)
{
	return call->trained > call->reached ? call->trained : call->reached;
}

/* A thread that takes batches trains itself: another one that trains tells nothing of whose batches it has. */
static int learns_itself(const struct functions *taken)
{
	for (size_t i = 0; i < taken->scan->process->log->stream_count; i++)
		if (taken->open[i].last_batch != 0 && taken->open[i].trains)
			return 1;
	return 0;
}

void functions_make_batches(struct functions *taken)
{
	struct process *process = taken->scan->process;
	const struct batch_call *calls = taken->batches;
	size_t count = 0;
	int learns = learns_itself(taken);

	for (size_t i = 0; i < taken->batch_count; i++)
		count += is_batch(taken, i) && !is_joined(taken, i);
	if (count < BATCHES_LEAST)
		return;
	step_choice_drop(process);
	for (size_t i = 0; i < taken->batch_count; i++) {
		const struct batch_call *next = next_of(taken, i);
		if (!is_batch(taken, i) || is_joined(taken, i))
			continue;
		step_choice_add(process, (struct step){.time_ns = (int64_t)first_of_step(taken, i)->begin,
						       .end_ns = (int64_t)(next != NULL ? next->begin : end_of(&calls[i])),
						       .rest_ns = next != NULL ? 0 : (int64_t)end_of(&calls[i]),
						       .thread = calls[i].thread,
						       .source = SOURCE_eager,
						       .name = "IteratorGetNext",
						       .confidence = 1,
						       .is_batch = 1,
						       .is_scored = learns && calls[i].trained == 0});
	}
	process->steps_beyond += taken->batches_beyond;
	step_choice(process);
}

/* Up to the next batch: is a step open, or does one begin? Steps lie in order. */
static int has_step(const struct process *process, uint64_t from, uint64_t to)
{
	size_t low = 0, high = process->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (process->steps[middle].time_ns <= (int64_t)to)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && (process->steps[low - 1].end_ns == TIME_UNKNOWN || process->steps[low - 1].end_ns > (int64_t)from);
}

size_t functions_batches_aside(const struct functions *taken)
{
	const struct process *process = taken->scan->process;
	const struct batch_call *calls = taken->batches;
	size_t count = 0;

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source != SOURCE_eager)
			return 0;
	for (size_t i = 0; i < taken->batch_count; i++) {
		const struct batch_call *next = next_of(taken, i);
		count += is_batch(taken, i) && !is_joined(taken, i) &&
			 !has_step(process, calls[i].begin, next != NULL ? next->begin : calls[i].begin + 1);
	}
	return process->step_count > 0 && count >= BATCHES_LEAST ? count : 0;
}
