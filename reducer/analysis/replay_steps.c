/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are replayed; see reducer/analysis/replay_steps.h. */
#include "reducer/analysis/replay_steps.h"

#include "reducer/analysis/replay.h"
#include "reducer/model/windows.h"

#include <stdlib.h>

#define USUAL_SHARE 0.25 /* of the median: steps that differ by more are looked at only where there are no others */

static bool is_whole(const struct analysis_input *input, const struct unit *unit)
{
	struct span span = {.kind = SPAN_WHOLE, .what = SPAN_CALL, .on = SPAN_THREAD, .process = input->index,
			    .start_ns = unit->start_ns, .duration_ns = (uint64_t)(unit->end_ns - unit->start_ns),
			    .thread = unit->thread};

	return !unit->is_cut && unit->end_ns > unit->start_ns &&
	       windows_recorded_ns(input->process, unit->start_ns, unit->end_ns) == unit->end_ns - unit->start_ns &&
	       (!input->options->wants_time || input->options->wants_time(input->options->context, &span));
}

static double length_of(const struct unit *unit)
{
	return (double)(unit->end_ns - unit->start_ns);
}

/* Of the wanted steps of one thread, `count` that follow each other and differ least from the median; NULL = there are not so many. */
static const struct unit *usual_steps(const struct unit *units, const bool *are_wanted, size_t all, size_t count, double median)
{
	const struct unit *best = NULL;
	double differs = 0, least = 0;
	size_t in_a_row = 0;

	for (size_t i = 0; i < all; i++) {
		bool follows = in_a_row && units[i].start_ns == units[i - 1].end_ns;
		double one = length_of(&units[i]) - median;
		if (!are_wanted[i] || !follows) {
			in_a_row = 0;
			differs = 0;
		}
		if (!are_wanted[i])
			continue;
		differs += one < 0 ? -one : one;
		if (++in_a_row > count) {
			double left = length_of(&units[i - count]) - median;
			differs -= left < 0 ? -left : left;
		}
		if (in_a_row >= count && (!best || differs < least)) {
			best = &units[i + 1 - count];
			least = differs;
		}
	}
	return best;
}

/* As many as there are of these that follow each other. */
static size_t most_of(const struct unit *units, const bool *are_wanted, size_t all, double median, const struct unit **first)
{
	size_t count = REPLAY_STEPS_MOST;

	while (count && (*first = usual_steps(units, are_wanted, all, count, median)) == NULL)
		count--;
	return count;
}

/* Those of the thread that has most. */
static size_t main_steps(const struct units *units, const struct unit **from)
{
	size_t all = 0;

	*from = units->items;
	for (size_t i = 0, begin = 0; i < units->count; i++) {
		if (units->items[i].thread != units->items[begin].thread)
			begin = i;
		if (i + 1 - begin > all) {
			all = i + 1 - begin;
			*from = &units->items[begin];
		}
	}
	return all;
}

size_t replay_choose(const struct units *units, const struct analysis_input *input, const struct unit **first)
{
	const struct unit *from;
	size_t all = main_steps(units, &from), count = 0;
	double *lengths = base_alloc(all + 1, sizeof(*lengths));
	bool *are_whole = base_alloc(all + 1, sizeof(*are_whole)), *are_usual = base_alloc(all + 1, sizeof(*are_usual));

	for (size_t i = 0; i < all; i++) {
		are_whole[i] = is_whole(input, &from[i]);
		if (are_whole[i])
			lengths[count++] = length_of(&from[i]);
	}
	double median = base_median(lengths, count);
	for (size_t i = 0; i < all; i++)
		are_usual[i] = are_whole[i] && length_of(&from[i]) >= median * (1 - USUAL_SHARE) &&
			       length_of(&from[i]) <= median * (1 + USUAL_SHARE);
	count = most_of(from, are_usual, all, median, first);
	if (!count)
		count = most_of(from, are_whole, all, median, first);
	free(lengths);
	free(are_whole);
	free(are_usual);
	return count;
}
