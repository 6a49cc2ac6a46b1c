/* SPDX-License-Identifier: Apache-2.0 */
/* Several ends of Optimizer.step that are one step; see reducer/model/turns.h. */
#include "reducer/model/turns.h"

#define TURNS_MOST 4	/* optimizers in one step: more are not looked for */
#define TURNS_LEAST 8	/* periods: fewer may alternate by chance */
#define SAME_SHARE 0.9	/* of the periods are like that of the last round, */
#define OTHER_SHARE 0.1 /* and at most so many like the one before */
#define BATCHES_LEAST 8	/* steps that bring a batch: of fewer it is not said that the others belong to them */
#define ODD_SHARE 0.1	/* of the steps without a batch learn as the one before them did, at most: else batches are used again */

#define ROUNDS_OF_ANY 12 /* periods: whole rounds of two, three and four */
#define ROUNDS_LEAST 5	/* of a critic that steps several times, and then the other one once */

/* One training. */
struct turns {
	struct process *process;
	const struct period *periods;
	size_t count;
	size_t end; /* the steps from there on are another training's */
};

void turns_add(struct step *first, struct step *more, enum step_union as)
{
	more->is_chosen = 0;
	first->end_ns = more->end_ns;
	first->turns = first->turns == 0 ? 2 : first->turns + 1;
	first->as = as;
}

void turns_count_again(struct process *process)
{
	uint64_t number = 0; /* of the one before */

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source == SOURCE_record_function && process->steps[i].is_chosen)
			number = process->steps[i].number = number == 0 ? process->steps[i].number : number + 1;
}

struct step *turns_step_before(struct process *process, size_t i)
{
	for (size_t k = i; k > 0; k--)
		if (process->steps[k - 1].is_chosen && process->steps[k - 1].thread == process->steps[i].thread)
			return &process->steps[k - 1];
	return NULL;
}

/* The share of periods whose backward pass is that of `back` periods before. */
static double alike(const struct turns *taken, size_t back)
{
	size_t same = 0, all = 0;

	for (size_t k = back; k < taken->count; k++) {
		all += taken->periods[k].found.has_stepped;
		same += taken->periods[k].found.has_stepped &&
			taken->periods[k].found.backward == taken->periods[k - back].found.backward;
	}
	return all > 0 ? (double)same / (double)all : 0;
}

/* Steps of one round of `turns` become one: the first of them, which lasts to the end of the last. */
static void join(const struct turns *taken, size_t from, unsigned turns)
{
	struct process *process = taken->process;
	struct step *first = NULL;
	unsigned turn = 0;

	for (size_t i = from; i < taken->end; i++) {
		struct step *step = &process->steps[i];
		if (step->source != SOURCE_record_function || !step->is_chosen)
			continue;
		if (turn == 0)
			first = step;
		else
			turns_add(first, step, STEP_OF_TURNS);
		turn = (turn + 1) % turns;
	}
	turns_count_again(process);
}

/* The first period that is a step, where all are of one thread; taken->count = none, or they are of several. */
static size_t first_of_one_thread(const struct turns *taken)
{
	size_t first = 0;

	while (first < taken->count && taken->periods[first].step == NO_STEP)
		first++;
	for (size_t k = first; k < taken->count; k++)
		if (taken->periods[k].thread != taken->periods[first].thread)
			return taken->count;
	return first;
}

/* Was a batch taken for it? Where no loader is used, data that are drawn or picked are one. */
static int has_batch(const struct period *period, int has_loader)
{
	return has_loader ? period->found.has_loaded : period->found.has_drawn;
}

/* Which turns of the rounds take a batch. */
struct bringers {
	int has_loader;
	size_t rounds, often, seldom; /* turns in which nearly all rounds take one, in which hardly any does */
	size_t again; /* steps without a batch whose backward pass is that of the last one with one: it is used again */
};

static struct bringers bringers_of(const struct turns *taken, size_t first, unsigned turns)
{
	struct bringers found = {.rounds = (taken->count - first) / turns};
	size_t with[TURNS_MOST] = {0};
	const struct period *bringer = NULL;

	for (size_t k = first; k < taken->count; k++)
		found.has_loader |= taken->periods[k].found.has_loaded;
	for (size_t k = first; k < taken->count; k++) {
		int is_bringer = has_batch(&taken->periods[k], found.has_loader);
		with[(k - first) % turns] += is_bringer != 0;
		found.again += !is_bringer && bringer != NULL && taken->periods[k].found.backward == bringer->found.backward;
		bringer = is_bringer ? &taken->periods[k] : bringer;
	}
	for (unsigned turn = 0; turn < turns; turn++) {
		found.often += (double)with[turn] >= SAME_SHARE * (double)found.rounds;
		found.seldom += (double)with[turn] <= OTHER_SHARE * (double)found.rounds;
	}
	return found;
}

/* Ops of the Optimizer.step that period ends with, for this turn of the first round, or of the last whole one. */
static uint64_t updates_of(const struct turns *taken, size_t first, unsigned turns, unsigned turn, int is_last)
{
	size_t rounds = (taken->count - first) / turns;
	size_t last = rounds > 1 ? rounds - 2 : 0; /* the very last period is what follows the last step */

	return taken->periods[first + (is_last ? last * turns : 0) + turn].found.updates;
}

/*
 * One optimizer whose loss takes turns (two tasks): the first of its steps made its state, and none of the other turns made any.
 * Where the first made none, nothing tells.
 */
static int is_one_optimizer(const struct turns *taken, size_t first, unsigned turns)
{
	for (unsigned turn = 1; turn < turns; turn++)
		if (updates_of(taken, first, turns, turn, 0) != updates_of(taken, first, turns, turn, 1))
			return 0;
	return updates_of(taken, first, turns, 0, 0) > updates_of(taken, first, turns, 0, 1);
}

/* Did each turn of the first round make state, which its last one does not? Then each has an optimizer of its own. */
static int all_made(const struct turns *taken, size_t first, unsigned turns)
{
	for (unsigned turn = 0; turn < turns; turn++)
		if (updates_of(taken, first, turns, turn, 0) <= updates_of(taken, first, turns, turn, 1))
			return 0;
	return 1;
}

/*
 * Are rounds of so many turns steps? Not where each turn takes a batch of a loader: two tasks, of one optimizer or two. `same`: the share
 * of backward passes that are as the one before. Where some are, or all (an actor and a critic of one shape, each with an optimizer that
 * made its own state), just one turn of each round takes a batch; else the batch is used again.
 */
static int are_rounds(const struct turns *taken, size_t first, unsigned turns, double same)
{
	struct bringers bringers;

	if (alike(taken, turns) < SAME_SHARE || is_one_optimizer(taken, first, turns))
		return 0;
	bringers = bringers_of(taken, first, turns);
	if (same <= OTHER_SHARE)
		return !bringers.has_loader || bringers.often < turns;
	if (bringers.often != 1 || bringers.seldom != turns - 1)
		return 0;
	return all_made(taken, first, turns) || (same <= 1 - 2 * SAME_SHARE / turns &&
						 (double)bringers.again <= OTHER_SHARE * (double)bringers.rounds);
}

/*
 * Two optimizers of one class have one name, so both mark steps: a GAN's. Where their backward passes take turns they are one step.
 * Returns whether that is so.
 */
static int join_turns(const struct turns *taken, size_t first)
{
	double same = alike(taken, 1);

	if (taken->count - first < TURNS_LEAST)
		return 0;
	for (unsigned turns = 2; turns <= TURNS_MOST; turns++)
		if (are_rounds(taken, first, turns, same)) {
			join(taken, taken->periods[first].step, turns);
			return 1;
		}
	return 0;
}

/* Another backward pass than the one before. */
static int learns_else(const struct period *period)
{
	return period->found.has_stepped && period->found.backward != period[-1].found.backward;
}

/*
 * Or one steps more seldom than the other. A step that took no batch, and that had another backward pass than the one before it, goes on
 * with that one's batch. Where some had the same backward pass, batches are used more than once: each is a step.
 */
static void join_batches(const struct turns *taken, size_t first)
{
	struct process *process = taken->process;
	const struct period *periods = taken->periods;
	size_t with = 0, without = 0, odd = 0;
	int has_loader = 0;

	for (size_t k = first; k < taken->count; k++)
		has_loader |= periods[k].found.has_loaded;
	for (size_t k = first; k < taken->count; k++) {
		int is_without = k > first && !has_batch(&periods[k], has_loader);
		with += has_batch(&periods[k], has_loader) != 0;
		without += is_without;
		odd += is_without && !learns_else(&periods[k]);
	}
	if (with < BATCHES_LEAST || without < 2 || (double)odd > ODD_SHARE * (double)without)
		return;
	for (size_t k = first + 1; k < taken->count; k++) {
		size_t step = periods[k].step;
		struct step *before = step == NO_STEP || has_batch(&periods[k], has_loader) ? NULL : turns_step_before(process, step);
		if (before != NULL && process->steps[step].is_chosen && learns_else(&periods[k]))
			turns_add(before, &process->steps[step], STEP_OF_BATCH);
	}
	turns_count_again(process);
}

/* One of two backward passes that take turns unevenly. */
struct side {
	uint64_t backward;
	size_t count;
	uint64_t made, usual; /* ops of its first Optimizer.step, which makes the optimizer's state, and of the last */
};

static struct side *side_of(struct side sides[2], const struct period *period)
{
	for (size_t i = 0; i < 2; i++)
		if (sides[i].count == 0 || sides[i].backward == period->found.backward)
			return &sides[i];
	return NULL;
}

/*
 * Has each side an optimizer of its own? Then its first step made the state of all that it steps for: as much more for each parameter
 * as the other one's did. One optimizer that has another loss at times made none, or that of the new parameters alone.
 */
static int have_own_optimizers(const struct side sides[2])
{
	return sides[0].made > sides[0].usual && sides[1].made > sides[1].usual && sides[0].usual > 0 &&
	       (sides[0].made - sides[0].usual) * sides[1].usual == (sides[1].made - sides[1].usual) * sides[0].usual;
}

/* How many steps each round has that ends with one of `last`, where nearly all have as many; 0 = they differ, or are few. */
static unsigned steps_of_round(const struct turns *taken, size_t first, const struct side *last)
{
	size_t rounds = 0, same = 0, steps = 0, each = (taken->count - first) / last->count;

	for (size_t k = first; k < taken->count; k++) {
		steps++;
		if (taken->periods[k].found.backward != last->backward)
			continue;
		rounds++;
		same += steps == each;
		steps = 0;
	}
	return rounds >= ROUNDS_LEAST && each >= 3 && (double)same >= SAME_SHARE * (double)rounds ? (unsigned)each : 0;
}

/* Up to the end of each step of `last`, with those before it. */
static void join_up_to(const struct turns *taken, size_t first, const struct side *last)
{
	struct process *process = taken->process;
	struct step *begun = NULL;

	for (size_t k = first; k < taken->count; k++) {
		struct step *step = taken->periods[k].step == NO_STEP ? NULL : &process->steps[taken->periods[k].step];
		if (step == NULL || !step->is_chosen)
			continue;
		if (begun == NULL)
			begun = step;
		else
			turns_add(begun, step, STEP_OF_ROUND);
		if (taken->periods[k].found.backward == last->backward)
			begun = NULL;
	}
	turns_count_again(process);
}

/*
 * A critic that steps several times and draws its data anew each time, and then the one that it judges, once: a round is a step. Where a
 * loader brings batches they are the steps.
 */
static void join_rounds(const struct turns *taken, size_t first)
{
	struct side sides[2] = {{.count = 0}};
	const struct side *last;

	for (size_t k = first; k < taken->count; k++) {
		const struct period *period = &taken->periods[k];
		struct side *side = side_of(sides, period);
		if (!period->found.has_stepped && k + 1 == taken->count)
			break; /* what follows the last step */
		if (side == NULL || !period->found.has_stepped || period->found.has_loaded || !period->found.has_drawn)
			return;
		side->backward = period->found.backward;
		side->usual = period->found.updates;
		side->made = side->count++ == 0 ? side->usual : side->made;
	}
	last = sides[1].count < sides[0].count ? &sides[1] : &sides[0];
	if (sides[1].count > 0 && have_own_optimizers(sides) && steps_of_round(taken, first, last) > 0)
		join_up_to(taken, first, last);
}

static void join_training(const struct turns *taken)
{
	size_t first = first_of_one_thread(taken);

	if (first >= taken->count || join_turns(taken, first))
		return;
	join_rounds(taken, first);
	join_batches(taken, first);
}

/* Has a training that begins with period k optimizers of its own? Then they make their state in its first rounds. */
static int makes_state(const struct period *periods, size_t k, size_t count)
{
	size_t some = (count - k) / 2 < ROUNDS_OF_ANY ? (count - k) / 2 : ROUNDS_OF_ANY;
	uint64_t first = 0, then = 0;

	for (size_t i = 0; i < some; i++) {
		first += periods[k + i].found.updates;
		then += periods[k + some + i].found.updates;
	}
	return first > then;
}

void turns_join(struct process *process, const struct period *periods, size_t count, const uint8_t *begins)
{
	for (size_t from = 0, to, next; from < count; from = to) {
		struct turns taken = {.process = process, .periods = periods + from, .end = process->step_count};
		for (to = from + 1; to < count && (begins == NULL || !begins[to] || !makes_state(periods, to, count)); to++)
			;
		for (next = to; next < count && periods[next].step == NO_STEP; next++)
			;
		taken.count = to - from;
		taken.end = next < count ? periods[next].step : taken.end;
		join_training(&taken);
	}
}
