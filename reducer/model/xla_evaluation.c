/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation between steps of JAX; see reducer/model/xla_evaluation.h. */
#include "reducer/model/xla_evaluation.h"

#include "reducer/model/xla_runs_internal.h"

#include <stdlib.h>

#define RARE_PART 5  /* of so many steps one has it */
#define LONG_TIMES 2 /* median steps */

enum role { ROLE_PLAIN, ROLE_WAIT, ROLE_OTHER };

/* What a symbol is in the loop. */
struct known {
	enum role role;
	int is_rare, is_usual;
};

uint32_t *xla_evaluation_count(const struct periods *periods, const struct period_found *found)
{
	uint32_t *counts = calloc(2 * periods->symbol_count + 1, sizeof *counts), *seen = counts + periods->symbol_count;
	size_t step = 0;

	for (size_t i = 0; counts != NULL && i < periods->count; i++) {
		const struct period_word *word = &periods->words[i];
		while (step < found->count && word->time >= found->steps[step].begin)
			step++;
		if (step == 0 || seen[word->symbol] == step)
			continue;
		counts[word->symbol]++;
		seen[word->symbol] = (uint32_t)step;
	}
	return counts;
}

static int is_run(const struct xla_runs *runs, const struct xla_kind *kind, uint64_t place)
{
	return kind->is_first_run ? kind->place == runs->first_runs : kind->is_direct && kind->place == place;
}

/* A line that runs nothing, and calls the library itself, waits: array.block_until_ready(). */
static int is_wait(const struct xla_runs *runs, const struct xla_kind *kind, uint64_t place)
{
	if (kind->is_wait || !kind->is_direct || kind->place == place)
		return kind->is_wait;
	for (size_t i = 1; i < runs->kind_count; i++)
		if (runs->kinds[i].line == kind->line && is_run(runs, &runs->kinds[i], place))
			return 0;
	return 1;
}

/* The place by which the loop's line runs its function. */
static const struct xla_kind *counted_kind(const struct xla_runs *runs, const struct xla_loop *loop)
{
	const struct xla_kind *counted = NULL;

	for (size_t i = 0; i < loop->count; i++) {
		const struct xla_kind *one = xla_kind_of(runs, loop->ids[i]);
		if (!one->is_first_run && (counted == NULL || one->count > counted->count))
			counted = one;
	}
	return counted;
}

static struct known *find_known(const struct periods *periods, const struct xla_runs *runs, const struct xla_kind *counted,
				uint64_t (*id_of)(uint64_t key), const struct period_found *found)
{
	uint32_t *counts = xla_evaluation_count(periods, found);
	struct known *known = counts == NULL ? NULL : calloc(periods->symbol_count + 1, sizeof *known);

	for (size_t i = 0; known != NULL && i < periods->symbol_count; i++) {
		uint64_t id = id_of(periods->symbols[i].key);
		const struct xla_kind *kind = xla_kind_of(runs, id);
		known[i].is_rare = (uint64_t)counts[i] * RARE_PART <= found->count;
		known[i].is_usual = (uint64_t)counts[i] * 2 > found->count;
		if (id == UINT64_MAX || kind == runs->kinds)
			continue;
		if (is_run(runs, kind, counted->place))
			known[i].role = kind->line == counted->line ? ROLE_PLAIN : ROLE_OTHER;
		else if (is_wait(runs, kind, counted->place))
			known[i].role = ROLE_WAIT;
	}
	free(counts);
	return known;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* 0 = no memory, or no steps. */
static uint64_t median_of(const struct period_found *found)
{
	uint64_t *lengths = calloc(found->count + 1, sizeof *lengths), median;

	if (lengths == NULL)
		return 0;
	for (size_t i = 0; i < found->count; i++)
		lengths[i] = found->steps[i].end - found->steps[i].begin;
	qsort(lengths, found->count, sizeof *lengths, by_size);
	median = lengths[found->count / 2];
	free(lengths);
	return median;
}

/* What is seen of a step, word by word. */
struct seen {
	uint64_t rare, other; /* since when rare things are done in a row; of them since when, once another function runs. 0 = not */
	uint64_t behind;      /* when something usual came after that */
	int is_waited;
};

/* 0 = it waits for its own work behind that, or another function ran before: it is left as it is. */
static int see(struct seen *seen, const struct known *known, uint64_t time)
{
	if (seen->other != 0) {
		seen->behind = seen->behind == 0 && known->is_usual ? time : seen->behind;
		return !(known->is_usual && known->role == ROLE_WAIT);
	}
	if (!seen->is_waited && known->is_rare && known->role == ROLE_OTHER)
		return 0;
	if (known->role == ROLE_WAIT) {
		seen->is_waited = 1;
		seen->rare = 0;
	} else if (!known->is_rare) {
		seen->rare = 0;
	} else if (seen->rare == 0) {
		seen->rare = time;
	}
	if (seen->is_waited && known->is_rare && known->role == ROLE_OTHER)
		seen->other = seen->rare;
	return 1;
}

void xla_evaluation_leave(const struct periods *periods, const struct xla_runs *runs, const struct xla_loop *loop,
			  uint64_t (*id_of)(uint64_t key), struct period_found *found)
{
	const struct xla_kind *counted = counted_kind(runs, loop);
	struct known *known = counted == NULL ? NULL : find_known(periods, runs, counted, id_of, found);
	uint64_t median = known == NULL ? 0 : median_of(found);
	size_t word = 0;

	for (size_t i = 0; median > 0 && i + 1 < found->count; i++) {
		struct period_step *step = &found->steps[i];
		struct seen seen = {.rare = 0};
		int is_left = 1;
		while (word < periods->count && periods->words[word].time <= step->begin)
			word++;
		for (; word < periods->count && periods->words[word].time < step->end; word++)
			is_left &= see(&seen, &known[periods->words[word].symbol], periods->words[word].time);
		uint64_t until = seen.behind != 0 ? seen.behind : step->end;
		if (is_left && seen.other != 0 && until - seen.other >= LONG_TIMES * median)
			step->rest = seen.other;
	}
	free(known);
}
