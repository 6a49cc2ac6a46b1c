/* SPDX-License-Identifier: Apache-2.0 */
/* The place in jaxlib through which compiled functions run, of all from which it is called; see reducer/model/xla_runs.h. */
#include "reducer/model/xla_runs_internal.h"

#define SELDOM_PART 4u	/* of so many calls of a line that is seldom come to, one is made by each place that counts, */
#define SELDOM_LEAST 2u /* and so many in all */
#define DIRECT_VOTES ((size_t)XLA_LINES_MAX * XLA_LINES_MAX)

/* Calls by the most frequent kind of a line. */
static uint64_t most_calls(const struct xla_runs *runs, size_t line)
{
	uint64_t most = 0;

	for (size_t i = 1; i < runs->kind_count; i++)
		if (runs->kinds[i].line == line && runs->kinds[i].count > most)
			most = runs->kinds[i].count;
	return most;
}

/*
 * Does the line come to that place again and again, but not before its first run, if it had one? Of one that evaluates after each of a few
 * epochs fewer calls say so.
 */
static int is_behind(const struct xla_runs *runs, size_t line, uint64_t place, uint64_t *first)
{
	uint64_t count = 0;

	*first = UINT64_MAX;
	for (size_t i = 1; i < runs->kind_count; i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		if (kind->line != line || kind->place != place || kind->count == 0)
			continue;
		count += kind->count;
		*first = kind->first < *first ? kind->first : *first;
	}
	if (count < CALLS_LEAST && (count < SELDOM_LEAST || count * SELDOM_PART < most_calls(runs, line)))
		return 0;
	return *first > runs->lines[line].ran;
}

int xla_place_is_small(const struct xla_runs *runs, uint64_t place)
{
	for (size_t i = 0; i < runs->small_count; i++)
		if (runs->small[i] == place)
			return 1;
	return 0;
}

/* Of the places that a line comes to behind its first run the one that it came to last for the first time; 0 = none. */
static uint64_t last_place(const struct xla_runs *runs, size_t line, uint64_t *first)
{
	uint64_t best = 0, time;

	*first = 0;
	for (size_t i = 1; i < runs->kind_count; i++) {
		uint64_t place = runs->kinds[i].place;
		if (runs->kinds[i].line != line || place == best || xla_place_is_small(runs, place) ||
		    !is_behind(runs, line, place, &time) || time < *first)
			continue;
		best = place;
		*first = time;
	}
	return best;
}

/* Does the line itself come to that place, with no function of a package in between? */
static int is_direct_at(const struct xla_runs *runs, size_t line, uint64_t place)
{
	for (size_t i = 1; i < runs->kind_count; i++)
		if (runs->kinds[i].line == line && runs->kinds[i].place == place && runs->kinds[i].is_direct)
			return 1;
	return 0;
}

static uint64_t calls_at(const struct xla_runs *runs, size_t line, uint64_t place)
{
	uint64_t count = 0;

	for (size_t i = 1; i < runs->kind_count; i++)
		if (runs->kinds[i].line == line && runs->kinds[i].place == place)
			count += runs->kinds[i].count;
	return count;
}

/* Each kind of line outvotes all of the next: of those without a first run least is known. */
static size_t votes_of(const struct xla_runs *runs, size_t line, uint64_t place)
{
	return runs->lines[line].ran == 0 ? 1
	       : is_direct_at(runs, line, place) ? DIRECT_VOTES
						 : XLA_LINES_MAX;
}

/* A place that lines say of. */
struct claim {
	uint64_t place, first;
	size_t votes;
	uint64_t calls; /* of the lines that say so, at the place */
	int is_often;	/* a line that is come to seldom only says which of these */
};

/* Lines that ran something and come to the place again and again. */
static size_t lines_at(const struct xla_runs *runs, uint64_t place)
{
	size_t count = 0;

	for (size_t line = 0; line < runs->line_count; line++)
		count += runs->lines[line].ran != 0 && calls_at(runs, line, place) >= CALLS_LEAST;
	return count;
}

static int has_more_votes(const struct claim *claim, const struct claim *best)
{
	return claim->votes > best->votes || (claim->votes == best->votes && claim->first > best->first);
}

/*
 * Of as many lines that call what they compiled themselves: all lines have to run that, but not to wait for it; and a line that is come to
 * as seldom as once for each of a few trainings, to make its weights, may free those of the one before, and no more.
 */
static int is_better(const struct xla_runs *runs, const struct claim *claim, const struct claim *best)
{
	size_t lines, others;

	if (claim->votes / DIRECT_VOTES != best->votes / DIRECT_VOTES || best->votes < DIRECT_VOTES)
		return has_more_votes(claim, best);
	lines = lines_at(runs, claim->place);
	others = lines_at(runs, best->place);
	if (lines != others)
		return lines > others;
	if (claim->calls * SELDOM_PART < best->calls || best->calls * SELDOM_PART < claim->calls)
		return claim->calls > best->calls;
	return has_more_votes(claim, best);
}

/*
 * The place that runs what is compiled; 0 = none. What a call does besides comes earlier: it moves arguments, and in the first
 * round frees and waits. Lines say so that ran something by the other road first; only where there are none, the others do. Of them
 * those say so that call what they compiled themselves: lines of a package's set-up come to places of all kinds late.
 */
uint64_t xla_place(const struct xla_runs *runs)
{
	struct claim found[XLA_PLACES_MAX + 1] = {{.votes = 0}}, *best = &found[XLA_PLACES_MAX];
	size_t count = 0, at;

	for (size_t line = 0; line < runs->line_count; line++) {
		uint64_t first, place = last_place(runs, line, &first);
		for (at = 0; at < count && found[at].place != place; at++)
			;
		if (place == 0 || at == XLA_PLACES_MAX)
			continue;
		if (at == count) {
			found[count].place = place;
			found[count++].first = first;
		}
		found[at].votes += votes_of(runs, line, place);
		found[at].calls += calls_at(runs, line, place);
		found[at].is_often |= calls_at(runs, line, place) >= CALLS_LEAST;
	}
	for (at = 0; at < count; at++)
		if (found[at].is_often && is_better(runs, &found[at], best))
			best = &found[at];
	return best->place;
}
