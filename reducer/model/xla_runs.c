/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of compiled functions; see reducer/model/xla_runs.h. */
#include "reducer/model/xla_runs.h"

#include "reducer/base/index.h"
#include "reducer/model/xla_runs_internal.h"

#include <stdlib.h>
#include <string.h>

#define TRAINED (XLA_NAMES_MAX + 1u) /* see struct candidate */
#define STEPS_OFF 8u	 /* a period may miss or double one step of so many */

struct xla_runs *xla_runs_make(uint64_t least_ticks)
{
	struct xla_runs *runs = calloc(1, sizeof *runs);

	if (runs != NULL) {
		runs->kind_count = 1;
		runs->least_ticks = least_ticks;
	}
	return runs;
}

void xla_runs_free(struct xla_runs *runs)
{
	free(runs);
}

static uint64_t hash_text(const char *text, size_t length)
{
	return base_hash(BASE_HASH, text, length) | 1;
}

/* "XLA call: f (a.py, line 2) in __call__ +0x1": the parts up to the bracket, and from the plus on. 0 = another kind of name. */
static int split(const char *name, uint64_t *line, uint64_t *place)
{
	const char *end = strstr(name, ", line "), *plus = strrchr(name, '+');

	end = end == NULL ? NULL : strchr(end, ')');
	if (strncmp(name, "XLA call: ", 10) != 0 || end == NULL || plus == NULL)
		return 0;
	*line = hash_text(name, (size_t)(end - name));
	*place = hash_text(plus, strlen(plus));
	return 1;
}

/* XLA_LINES_MAX = no room. */
static size_t line_of(struct xla_runs *runs, uint64_t hash)
{
	size_t at = 0;

	while (at < runs->line_count && runs->lines[at].hash != hash)
		at++;
	if (at == runs->line_count && at < XLA_LINES_MAX)
		runs->lines[runs->line_count++].hash = hash;
	return at;
}

int xla_runs_is_new(const struct xla_runs *runs, uint64_t id)
{
	return id < XLA_NAMES_MAX && runs->kinds_of[id] == 0;
}

/* Is that the innermost function, itself or within a batch of Keras'? */
static int is_in(const char *name, const char *function)
{
	const char *in = strstr(name, ") in "), *found = in == NULL ? NULL : strstr(in, function);

	return found != NULL && strncmp(found + strlen(function), " +", 2) == 0 && (found == in + 5 || found[-1] == '.');
}

/* What Keras' trainer for JAX trains by; what it evaluates and predicts by are called so. */
static int is_trained(const char *name)
{
	const char *in = strstr(name, ") in ");

	return in != NULL && (strncmp(in + 5, "fit.iterator_step", 17) == 0 || strncmp(in + 5, "train_on_batch.iterator_step", 28) == 0);
}

static void add_small(struct xla_runs *runs, uint64_t place)
{
	if (runs->small_count < XLA_PLACES_MAX && !xla_place_is_small(runs, place))
		runs->small[runs->small_count++] = place;
}

void xla_runs_name(struct xla_runs *runs, uint64_t id, const char *name)
{
	uint64_t hash = hash_text(name, strlen(name)), line_hash, place;
	const char *plus = strrchr(name, '+');
	size_t line, at = 1;

	runs->kinds_of[id] = 1;
	if (!split(name, &line_hash, &place)) {
		if (plus != NULL)
			add_small(runs, hash_text(plus, strlen(plus)));
		return;
	}
	line = line_of(runs, line_hash);
	if (line == XLA_LINES_MAX)
		return;
	while (at < runs->kind_count && runs->kinds[at].hash != hash)
		at++;
	if (at > XLA_KINDS_MAX)
		return;
	if (at == runs->kind_count)
		runs->kinds[runs->kind_count++] = (struct xla_kind){.hash = hash,
								.place = place,
								.line = (uint16_t)line,
								.is_first_run = is_in(name, "__call__") != 0,
								.is_eager = is_in(name, "apply_primitive") != 0,
								.is_direct = strstr(name, ") in ") == NULL || is_in(name, "wrapped"),
								.is_compiling = strstr(name, "compile") != NULL,
								.is_wait = is_in(name, "_value") || is_in(name, "block_until_ready"),
								.is_keras = is_in(name, "iterator_step") != 0,
								.is_trained = is_trained(name) != 0};
	runs->kinds_of[id] = (uint16_t)(at + 1);
}

static size_t kind_of(const struct xla_runs *runs, uint64_t id)
{
	return id < XLA_NAMES_MAX && runs->kinds_of[id] > 1 ? runs->kinds_of[id] - 1u : 0;
}

int xla_runs_is_training(const struct xla_runs *runs, uint64_t id)
{
	return runs->kinds[kind_of(runs, id)].is_trained;
}

void xla_runs_begin(struct xla_runs *runs, uint64_t id, uint64_t time, uint32_t thread)
{
	struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];
	struct xla_line *line = &runs->lines[kind->line];

	if (kind == runs->kinds)
		return;
	if (line->begin == 0)
		line->begin = time;
	kind->thread = kind->count == 0 || kind->thread == thread ? thread : 0;
	if (kind->count++ == 0) {
		kind->first = time;
		kind->runner = line->runner;
	}
	kind->last = time;
	if (runs->callers[id].count++ == 0)
		runs->callers[id].runner = line->runner;
	if (kind->is_first_run && runs->first_runs == 0)
		runs->first_runs = kind->place;
	if (!kind->is_first_run || kind->place != runs->first_runs)
		return;
	line->runner = (uint32_t)id + 1;
	line->ran = line->ran == 0 ? time : line->ran;
}

void xla_runs_end(struct xla_runs *runs, uint64_t id, uint64_t ticks)
{
	struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];

	if (kind->least == 0 || ticks < kind->least)
		kind->least = ticks;
	if (id < XLA_NAMES_MAX && (runs->callers[id].least == 0 || ticks < runs->callers[id].least))
		runs->callers[id].least = ticks;
	if (ticks < runs->least_ticks && kind != runs->kinds && !kind->is_small) {
		kind->is_small = 1;
		add_small(runs, kind->place);
	}
}

void xla_runs_lasted(struct xla_runs *runs, uint64_t id, uint64_t begin, uint64_t end)
{
	const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];
	size_t count = runs->lasting_count;

	if (kind == runs->kinds || kind->is_compiling || end <= begin)
		return;
	while (count > 0 && runs->lasting[count - 1].ticks <= end - begin)
		count--;
	if (count < XLA_LASTING_MAX) {
		runs->lasting[count].begin = begin;
		runs->lasting[count++].ticks = end - begin;
	}
	runs->lasting_count = count;
}

uint64_t xla_runs_awaited(const struct xla_runs *runs, uint64_t from, uint64_t *begin)
{
	uint64_t place = xla_place(runs);
	size_t at = 0;

	while (at < runs->lasting_count && runs->lasting[at].begin < from)
		at++;
	if (at == runs->lasting_count)
		return 0;
	*begin = runs->lasting[at].begin;
	for (size_t i = 1; i < runs->kind_count; i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		int runs_function = kind->is_first_run ? kind->place == runs->first_runs : kind->is_direct && kind->place == place;
		if (runs_function && kind->count > 0 && kind->last >= from && kind->first < *begin)
			return 0;
	}
	return runs->lasting[at].ticks;
}

static int is_near(size_t calls, size_t steps)
{
	return steps == 0 || (calls <= steps + steps / STEPS_OFF + 2 && steps <= calls + calls / STEPS_OFF + 2);
}

/*
 * More calls than steps, and no whole number of them each: the period is not that of their line, but of something done there now and
 * then.
 */
static int is_no_part(size_t calls, size_t steps)
{
	size_t each = steps == 0 ? 0 : (calls + steps / 2) / steps;

	return calls > steps && each > 0 && !is_near(calls, each * steps);
}

/*
 * Does nothing else run while the line calls again and again? Then each of its calls is a step, even where each whole number of them
 * something that runs nothing is done, too: a loss is printed.
 */
static int is_alone(const struct xla_runs *runs, const struct xla_kind *kind)
{
	for (size_t i = 1; i < runs->kind_count; i++) {
		const struct xla_kind *other = &runs->kinds[i];
		if (other != kind && other->place == kind->place && other->count > 0 && other->last > kind->first &&
		    other->first < kind->last)
			return 0;
	}
	return 1;
}

/* Has the kind one call more than most others that run something? Then its first step is among them: another line compiled for
 * it. */
static int has_one_more(const struct xla_runs *runs, const struct xla_kind *kind)
{
	size_t same = 0, less = 0;

	for (size_t i = 1; i < runs->kind_count; i++) {
		same += runs->kinds[i].place == kind->place && runs->kinds[i].count == kind->count;
		less += runs->kinds[i].place == kind->place && runs->kinds[i].count + 1 == kind->count;
	}
	return less > same;
}

/*
 * What may be a loop: all calls of a kind; of Keras', which trains and evaluates by one function, those that train, from wherever, else
 * those from one Python stack.
 */
struct candidate {
	const struct xla_kind *kind;
	size_t count;
	uint64_t took; /* ticks, if each had taken the least: the machine may have been busy during some */
	uint32_t runner, id; /* id: XLA_NAMES_MAX = all of the kind, TRAINED = all that Keras trains by at its place */
};

/* Is it known by its name, and not only by its place, that such a call runs a step? */
static int is_sure(const struct xla_kind *kind)
{
	return kind->is_direct || kind->is_keras;
}

/*
 * Calls by the other road: one, unless the line compiles again and again, for each shape of a batch say. Several functions of one line
 * compile before it comes to any of them once more.
 */
static size_t firsts_of(const struct xla_runs *runs, const struct candidate *one)
{
	size_t count = one->runner == 0 || !one->kind->is_direct ? 1 : runs->callers[one->runner - 1].count;

	return count * (STEPS_OFF - 1) >= one->count && runs->kinds[kind_of(runs, one->runner - 1)].last > one->kind->first ? count : 1;
}

/* What a loop's number of calls has to do with the steps that a period found. */
enum fit { FIT_STEPS, FIT_WHOLE };

static int fits(const struct xla_runs *runs, const struct candidate *one, size_t steps, enum fit fit)
{
	size_t calls = one->count + firsts_of(runs, one);

	if (fit == FIT_WHOLE)
		return one->kind->is_direct && calls > steps + 1 && is_alone(runs, one->kind);
	return is_near(calls, steps) || (one->kind->is_direct && is_no_part(calls, steps));
}

static void look_at(const struct xla_runs *runs, uint64_t place, size_t steps, enum fit fit, struct candidate one,
		    struct candidate *best)
{
	const struct xla_kind *kind = one.kind, *other = best->kind;

	if (kind == runs->kinds || kind->is_eager || kind->is_keras == (one.id == XLA_NAMES_MAX) || one.count < CALLS_LEAST ||
	    xla_place_is_small(runs, kind->place) ||
	    !(kind->is_keras || (kind->place == place && fits(runs, &one, steps, fit))))
		return;
	if (other == NULL || (is_sure(kind) == is_sure(other) ? one.took > best->took : is_sure(kind)))
		*best = one;
}

static int is_of_training(const struct xla_kind *kind, uint64_t place)
{
	return kind->is_keras && kind->is_trained && kind->place == place;
}

/* All that Keras trains by at the place of kind `at`. */
static struct candidate trained_at(const struct xla_runs *runs, size_t at)
{
	struct candidate one = {.kind = &runs->kinds[at], .id = TRAINED};

	for (size_t i = 1; i < runs->kind_count && is_of_training(one.kind, one.kind->place); i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		if (!is_of_training(kind, one.kind->place))
			continue;
		one.count += kind->count;
		one.took += kind->count * kind->least;
	}
	return one;
}

/* Which first run belongs to the loop: id + 1, 0 = none, or it is among the calls, or it is not known which of several. */
static uint32_t runner_of(const struct xla_runs *runs, const struct candidate *best)
{
	if (best->kind->is_keras)
		return best->runner != 0 && runs->callers[best->runner - 1].count == 1 ? best->runner : 0;
	return best->kind->is_direct || !has_one_more(runs, best->kind) ? best->runner : 0;
}

/* 0 = no room. */
static int add_id(struct xla_loop *loop, uint32_t id)
{
	if (loop->count == XLA_RUNS_JOINED)
		return 0;
	loop->ids[loop->count++] = id;
	return 1;
}

/*
 * Keras' fit may be called again and again, from several lines, and compiles for each shape of a batch (the last one of an epoch is often
 * smaller) and for each layout of the weights: all that trained, by either road.
 */
static void add_trained(const struct xla_runs *runs, uint64_t place, struct xla_loop *loop)
{
	for (uint32_t id = 0; id < XLA_NAMES_MAX; id++) {
		const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];
		int is_first = kind->is_trained && kind->is_first_run && kind->place == runs->first_runs;
		if (runs->callers[id].count == 0 || !(is_first || is_of_training(kind, place)) || !add_id(loop, id) || !is_first)
			continue;
		loop->firsts |= UINT64_C(1) << (loop->count - 1);
		if (loop->begin == 0 || runs->lines[kind->line].begin < loop->begin)
			loop->begin = runs->lines[kind->line].begin;
	}
}

static struct candidate best_that_fits(const struct xla_runs *runs, uint64_t place, size_t steps, enum fit fit)
{
	struct candidate best = {.kind = NULL};

	for (size_t i = 1; i < runs->kind_count && place != 0; i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		uint64_t took = kind->count * kind->least;
		look_at(runs, place, steps, fit, (struct candidate){kind, kind->count, took, kind->runner, XLA_NAMES_MAX}, &best);
	}
	for (uint32_t id = 0; id < XLA_NAMES_MAX && place != 0; id++) {
		const struct xla_caller *caller = &runs->callers[id];
		const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];
		uint64_t took = caller->count * caller->least;
		if (!kind->is_trained)
			look_at(runs, place, steps, fit, (struct candidate){kind, caller->count, took, caller->runner, id}, &best);
	}
	return best;
}

/* The best of what may be a loop; its kind is NULL where nothing may. */
static struct candidate find_loop(const struct xla_runs *runs, size_t steps)
{
	uint64_t place = xla_place(runs);
	struct candidate best = best_that_fits(runs, place, steps, FIT_STEPS);

	return best.kind != NULL ? best : best_that_fits(runs, place, steps, FIT_WHOLE);
}

/* What Keras says that it trains by comes before what else may be a loop, but for one that the script itself compiled. */
static struct candidate find_trained(const struct xla_runs *runs, struct candidate best)
{
	int is_found = 0;

	for (size_t i = 1; i < runs->kind_count; i++) {
		struct candidate one = trained_at(runs, i);
		if (xla_place_is_small(runs, one.kind->place) || one.count < CALLS_LEAST ||
		    ((is_found || (best.kind != NULL && best.kind->is_direct)) && one.took <= best.took))
			continue;
		best = one;
		is_found = 1;
	}
	return best;
}

/*
 * A line that runs its function by the road of first calls alone, unless another line's calls, which are sure, took more time, or its own
 * are more than those.
 */
static struct candidate find_other_road(const struct xla_runs *runs, struct candidate best)
{
	const struct xla_kind *kind = xla_other_road(runs);
	uint64_t took = kind == NULL ? 0 : kind->count * kind->least;

	if (kind == NULL || best.id == TRAINED)
		return best;
	if (best.kind != NULL && is_sure(best.kind) &&
	    (best.kind->line == kind->line ? best.count > kind->count : best.took >= took))
		return best;
	return (struct candidate){.kind = kind, .count = kind->count, .took = took, .id = XLA_NAMES_MAX};
}

void xla_runs_find(const struct xla_runs *runs, size_t steps, struct xla_loop *loop)
{
	struct candidate best = find_other_road(runs, find_trained(runs, find_loop(runs, steps)));
	uint32_t runner;

	*loop = (struct xla_loop){.is_trained = best.kind != NULL && best.id == TRAINED};
	if (best.kind == NULL)
		return;
	if (loop->is_trained) {
		add_trained(runs, best.kind->place, loop);
		return;
	}
	runner = runner_of(runs, &best);
	for (uint32_t id = 0; id < XLA_NAMES_MAX; id++)
		if (id + 1 == runner && add_id(loop, id)) {
			loop->firsts = UINT64_C(1) << (loop->count - 1);
			loop->compiles_again = steps > 0 && firsts_of(runs, &best) > 1; /* else nothing says that it is a loop */
		} else if (id + 1 != runner && (best.id == XLA_NAMES_MAX ? &runs->kinds[kind_of(runs, id)] == best.kind : id == best.id)) {
			(void)add_id(loop, id);
		}
	loop->begin = runner != 0 || best.kind->place == runs->first_runs ? runs->lines[best.kind->line].begin : 0;
}

/*
 * Do other calls of the line come once more than there are steps, the first time before the first of them? Then a round is missing, the
 * first: there most calls compile, and have other roads. What comes before a step in each round comes as often as there are steps.
 */
static int lacks_a_round(const struct xla_runs *runs, size_t line, size_t steps, uint64_t time)
{
	size_t same = 0, more = 0;

	for (size_t i = 1; i < runs->kind_count && steps >= CALLS_LEAST; i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		if (kind->line != line || kind->first >= time || kind->count < steps)
			continue;
		same += kind->count % steps == 0;
		more += kind->count % (steps + 1) == 0;
	}
	return more > same;
}

uint64_t xla_runs_before(const struct xla_runs *runs, uint64_t id, size_t steps, uint64_t time)
{
	const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];
	const struct xla_line *line = &runs->lines[kind->line];

	if (kind == runs->kinds || line->ran == 0 || line->ran >= time)
		return 0;
	if ((kind->place == xla_place(runs) && !has_one_more(runs, kind)) || lacks_a_round(runs, kind->line, steps, time))
		return line->begin;
	return 0;
}

int xla_runs_compiles(const struct xla_runs *runs, const struct xla_loop *loop, uint64_t id)
{
	const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)];

	return kind != runs->kinds && kind->is_compiling && loop->count > 0 && kind->line == runs->kinds[kind_of(runs, loop->ids[0])].line;
}

int xla_runs_may_end_step(const struct xla_runs *runs, const struct xla_loop *loop, uint64_t id)
{
	const struct xla_kind *kind = &runs->kinds[kind_of(runs, id)], *counted = NULL;

	for (size_t i = 0; i < loop->count; i++) {
		const struct xla_kind *one = &runs->kinds[kind_of(runs, loop->ids[i])];
		if (one == kind)
			return 0;
		counted = counted == NULL || one->count > counted->count ? one : counted;
	}
	return counted != NULL && kind->is_direct && kind->place == counted->place && kind->count >= CALLS_LEAST &&
	       kind->count < counted->count && kind->least >= counted->least;
}
