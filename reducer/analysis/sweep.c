/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over intervals; see reducer/analysis/sweep.h. */
#include "reducer/analysis/sweep.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 1024 /* intervals for which a run keeps its room */
#define ROOM_FIRST 4	/* of a run and of the runs: a sweep a step may wait for each of 100,000 short steps */
#define RUNS_ABREAST 8	/* runs whose edges are looked at one by one; a run is begun for what would overlap in its own below this */

static int64_t last_start(const struct sweep_run *run)
{
	return run->items[run->count - 1].start_ns;
}

/* Whether an interval that begins then may stand behind the others of a run, which stays free of overlaps. */
static bool fits(const struct sweep_run *run, int64_t start_ns, uint32_t mask)
{
	return run->end_ns <= start_ns || (run->items[run->count - 1].mask == mask && last_start(run) <= start_ns);
}

/* The run that got the one before of the same class. NULL = none did. */
static struct sweep_run *last_run(struct sweep *sweep, uint32_t mask)
{
	size_t place = sweep->recent[(unsigned)__builtin_ctz(mask) % 4];

	return place < sweep->run_count ? &sweep->runs[place] : NULL;
}

/* The same, where it fits: NULL else. */
static struct sweep_run *recent_run(struct sweep *sweep, int64_t start_ns, uint32_t mask)
{
	struct sweep_run *run = last_run(sweep, mask);

	return run && run->count && !run->is_mixed && fits(run, start_ns, mask) ? run : NULL;
}

static struct sweep_run *new_run(struct sweep *sweep)
{
	if (!sweep->runs) {
		sweep->runs = base_alloc(ROOM_FIRST, sizeof(*sweep->runs));
		sweep->run_room = ROOM_FIRST;
	}
	sweep->runs = base_grow(sweep->runs, &sweep->run_room, sweep->run_count + 1, sizeof(*sweep->runs));
	sweep->runs[sweep->run_count] = (struct sweep_run){.end_ns = INT64_MIN};
	return &sweep->runs[sweep->run_count++];
}

/*
 * The run that begins its last closest before `start_ns`, of those in which nothing would overlap; else an empty one, a new one,
 * one in which it overlaps, or the first, which is then out of order.
 */
static struct sweep_run *run_for(struct sweep *sweep, int64_t start_ns, uint32_t mask)
{
	struct sweep_run *best = NULL, *empty = NULL, *clear = NULL;

	for (size_t i = 0; i < sweep->run_count; i++) {
		struct sweep_run *run = &sweep->runs[i];
		if (!run->count) {
			empty = run;
		} else if (!run->is_mixed && last_start(run) <= start_ns) {
			best = !best || last_start(run) > last_start(best) ? run : best;
			if (fits(run, start_ns, mask))
				clear = !clear || last_start(run) > last_start(clear) ? run : clear;
		}
	}
	sweep->steps += sweep->run_count;
	if (clear || empty)
		return clear ? clear : empty;
	if (sweep->run_count < (best ? RUNS_ABREAST : SWEEP_RUNS))
		return new_run(sweep);
	if (best)
		return best;
	sweep->runs[0].is_mixed = true;
	return &sweep->runs[0];
}

static void widen(struct sweep_run *run)
{
	if (run->items) {
		run->items = base_grow(run->items, &run->room, run->count + 1, sizeof(*run->items));
		return;
	}
	run->items = base_alloc(ROOM_FIRST, sizeof(*run->items));
	run->room = ROOM_FIRST;
}

/*
 * An op is told behind those inside it, which are of its classes, most often: the last of a run without overlaps that lie in the interval
 * and have no class that it lacks say nothing any more.
 */
static void drop_covered(struct sweep *sweep, struct sweep_run *run, int64_t start_ns, int64_t end_ns, uint32_t mask)
{
	const struct sweep_interval *items = run->items;
	size_t kept = run->count;

	while (kept && items[kept - 1].start_ns >= start_ns && items[kept - 1].end_ns <= end_ns && !(items[kept - 1].mask & ~mask))
		kept--;
	if (kept == run->count)
		return;
	sweep->count -= run->count - kept;
	sweep->steps += run->count - kept;
	run->count = kept;
	run->end_ns = kept ? items[kept - 1].end_ns : INT64_MIN;
}

void sweep_add_any(struct sweep *sweep, int64_t start_ns, int64_t end_ns, uint32_t mask)
{
	int64_t start = start_ns;
	struct sweep_run *run;

	if (start < sweep->told_ns) {
		int64_t before = end_ns < sweep->told_ns ? end_ns : sweep->told_ns;
		sweep->late_ns += before > start ? (uint64_t)(before - start) : 0;
		start = sweep->told_ns;
	}
	if (start >= end_ns || !mask)
		return;
	run = last_run(sweep, mask);
	if (run && !run->is_mixed && !run->overlaps)
		drop_covered(sweep, run, start, end_ns, mask);
	run = recent_run(sweep, start, mask);
	if (!run) {
		run = run_for(sweep, start, mask);
		sweep->recent[(unsigned)__builtin_ctz(mask) % 4] = (uint8_t)(run - sweep->runs);
	}
	/* Equal classes that touch are one interval. */
	if (run->count) {
		struct sweep_interval *last = &run->items[run->count - 1];
		if (last->mask == mask && start >= last->start_ns && start <= last->end_ns) {
			last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
			run->end_ns = end_ns > run->end_ns ? end_ns : run->end_ns;
			return;
		}
	}
	run->overlaps |= start < run->end_ns;
	run->end_ns = end_ns > run->end_ns ? end_ns : run->end_ns;
	if (run->count == run->room)
		widen(run);
	run->items[run->count++] = (struct sweep_interval){start, end_ns, mask};
	sweep->count++;
}

static int by_start(const void *a, const void *b)
{
	const struct sweep_interval *one = a, *other = b;

	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static void order_runs(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->run_count; i++) {
		struct sweep_run *run = &sweep->runs[i];
		if (!run->is_mixed)
			continue;
		qsort(run->items, run->count, sizeof(*run->items), by_start);
		run->is_mixed = false;
	}
}

/* How many of a run begin by then. */
static size_t begun_by(const struct sweep_run *run, int64_t time_ns)
{
	size_t low = 0, high = run->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (run->items[middle].start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t sweep_middle(struct sweep *sweep)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	if (!sweep->count)
		return sweep->told_ns;
	order_runs(sweep);
	for (size_t i = 0; i < sweep->run_count; i++) {
		const struct sweep_run *run = &sweep->runs[i];
		low = run->count && run->items[0].start_ns < low ? run->items[0].start_ns : low;
		high = run->count && last_start(run) > high ? last_start(run) : high;
	}
	while (low < high) { /* the first time by which more than half have begun */
		int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
		size_t begun = 0;
		for (size_t i = 0; i < sweep->run_count; i++)
			begun += begun_by(&sweep->runs[i], middle);
		if (begun > sweep->count / 2)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* What is active while the beginnings go by: a heap by end. */
struct active {
	struct end {
		int64_t end_ns;
		uint32_t mask;
	} * ends;
	size_t count, room;
	uint32_t of_class[SWEEP_CLASSES], mask;
	int64_t last_ns;
	uint64_t steps;
	sweep_tell *tell;
	void *context;
};

static void push_end(struct active *active, struct end end)
{
	size_t at = active->count++;

	active->ends = base_grow(active->ends, &active->room, active->count, sizeof(*active->ends));
	for (; at && active->ends[(at - 1) / 2].end_ns > end.end_ns; at = (at - 1) / 2)
		active->ends[at] = active->ends[(at - 1) / 2], active->steps++;
	active->ends[at] = end;
}

static struct end pop_end(struct active *active)
{
	struct end first = active->ends[0], moved = active->ends[--active->count];
	size_t at = 0;

	for (size_t child = 1; child < active->count; child = 2 * at + 1) {
		if (child + 1 < active->count && active->ends[child + 1].end_ns < active->ends[child].end_ns)
			child++;
		if (active->ends[child].end_ns >= moved.end_ns)
			break;
		active->ends[at] = active->ends[child];
		at = child;
		active->steps++;
	}
	active->ends[at] = moved;
	return first;
}

/* A stretch ends here; then one more, or with `step` -1 one less, of each class of the mask is active. */
static void take_edge(struct active *active, int64_t time_ns, uint32_t mask, int step)
{
	if (active->mask && time_ns > active->last_ns)
		active->tell(active->context, active->last_ns, time_ns, active->mask);
	active->last_ns = time_ns;
	active->steps++;
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned class = (unsigned)__builtin_ctz(left);
		active->of_class[class] += (uint32_t)step;
		active->mask =
			active->of_class[class] ? active->mask | UINT32_C(1) << class : active->mask & ~(UINT32_C(1) << class);
	}
}

/* All that ends before that time. */
static void take_ends(struct active *active, int64_t before_ns)
{
	while (active->count && active->ends[0].end_ns < before_ns) {
		struct end end = pop_end(active);
		take_edge(active, end.end_ns, end.mask, -1);
	}
}

/* The run whose next interval begins first, before `until_ns`; *bound_ns: when that of another does. SIZE_MAX = none is left. */
static size_t first_run(const struct sweep *sweep, const size_t *next, int64_t until_ns, int64_t *bound_ns)
{
	size_t first = SIZE_MAX;
	int64_t first_ns = until_ns;

	*bound_ns = until_ns;
	for (size_t i = 0; i < sweep->run_count; i++) {
		const struct sweep_run *run = &sweep->runs[i];
		int64_t start_ns = next[i] < run->count ? run->items[next[i]].start_ns : INT64_MAX;
		if (start_ns < first_ns) {
			*bound_ns = first_ns;
			first_ns = start_ns;
			first = i;
		} else if (start_ns < *bound_ns) {
			*bound_ns = start_ns;
		}
	}
	return first;
}

/* Of the first `count` intervals of a run what lies behind `until_ns` stays, and all others. */
static void keep_rest(struct sweep_run *run, size_t count, int64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (run->items[i].end_ns > until_ns) {
			run->items[kept] = run->items[i];
			run->items[kept++].start_ns = until_ns;
		}
	if (run->count > count)
		memmove(run->items + kept, run->items + count, (run->count - count) * sizeof(*run->items));
	run->count -= count - kept;
	if (run->count)
		return;
	if (run->room > ROOM_LEAST) {
		free(run->items);
		*run = (struct sweep_run){0};
	}
	run->overlaps = false;
	run->end_ns = INT64_MIN;
}

/* Runs of which one or more hold overlaps, or many of them: beginnings by run, ends by a heap. */
static void flush_any(struct sweep *sweep, size_t *next, int64_t until_ns, sweep_tell *tell, void *context)
{
	struct active active = {.last_ns = INT64_MIN, .tell = tell, .context = context};
	int64_t bound_ns;

	for (size_t i; (i = first_run(sweep, next, until_ns, &bound_ns)) != SIZE_MAX;) {
		const struct sweep_run *run = &sweep->runs[i];
		do {
			const struct sweep_interval *one = &run->items[next[i]++];
			if (active.count && active.ends[0].end_ns < one->start_ns)
				take_ends(&active, one->start_ns);
			if (!active.count && one->end_ns < bound_ns &&
			    (next[i] == run->count || one->end_ns < one[1].start_ns)) { /* alone: it is a stretch by itself */
				tell(context, one->start_ns, one->end_ns, one->mask);
				active.last_ns = one->end_ns;
				continue;
			}
			take_edge(&active, one->start_ns, one->mask, 1);
			push_end(&active, (struct end){one->end_ns < until_ns ? one->end_ns : until_ns, one->mask});
		} while (next[i] < run->count && run->items[next[i]].start_ns < bound_ns);
		active.steps += sweep->run_count;
	}
	while (active.count) {
		struct end end = pop_end(&active);
		take_edge(&active, end.end_ns, end.mask, -1);
	}
	free(active.ends);
	sweep->steps += active.steps;
}

/* A run without overlaps: one interval at most is active, so its beginnings and ends come one after the other. */
struct edges {
	int64_t next_ns; /* when it begins or ends; INT64_MAX = never again */
	uint32_t mask;	 /* 0 = none is active */
	const struct sweep_interval *at, *end; /* the active one or the next */
};

/* The next edge of a run goes by. */
static void pass_edge(struct edges *run)
{
	if (run->mask == 0) {
		run->mask = run->at->mask;
		run->next_ns = run->at->end_ns;
		return;
	}
	run->mask = 0;
	run->at++;
	run->next_ns = run->at < run->end ? run->at->start_ns : INT64_MAX;
}

static struct edges edges_of(const struct sweep_run *run)
{
	return (struct edges){run->count ? run->items[0].start_ns : INT64_MAX, 0, run->items, run->items + run->count};
}

/* How many intervals of a run have begun. */
static size_t begun(const struct edges *run, const struct sweep_run *of)
{
	return (size_t)(run->at - of->items) + (run->mask != 0);
}

/* Few runs, none of which holds overlaps. */
static void flush_abreast(struct sweep *sweep, size_t *next, int64_t until_ns, sweep_tell *tell, void *context)
{
	struct edges runs[RUNS_ABREAST];
	int64_t last_ns = INT64_MIN, next_ns = INT64_MAX;
	uint32_t active = 0;

	for (size_t i = 0; i < sweep->run_count; i++) {
		runs[i] = edges_of(&sweep->runs[i]);
		next_ns = runs[i].next_ns < next_ns ? runs[i].next_ns : next_ns;
	}
	while (next_ns < until_ns) {
		int64_t now_ns = next_ns;
		if (active)
			tell(context, last_ns, now_ns, active);
		last_ns = now_ns;
		next_ns = INT64_MAX;
		active = 0;
		for (size_t i = 0; i < sweep->run_count; i++) {
			while (runs[i].next_ns == now_ns)
				pass_edge(&runs[i]);
			active |= runs[i].mask;
			next_ns = runs[i].next_ns < next_ns ? runs[i].next_ns : next_ns;
		}
		sweep->steps += sweep->run_count;
	}
	if (active && last_ns < until_ns)
		tell(context, last_ns, until_ns, active);
	for (size_t i = 0; i < sweep->run_count; i++)
		next[i] = begun(&runs[i], &sweep->runs[i]);
}

/* Few runs, none of which holds overlaps or is out of order. */
static bool are_abreast(const struct sweep *sweep)
{
	bool are = sweep->run_count <= RUNS_ABREAST;

	for (size_t i = 0; i < sweep->run_count; i++)
		are &= !sweep->runs[i].overlaps && !sweep->runs[i].is_mixed;
	return are;
}

/* What is left of each run of which so many have begun. */
static void keep_rests(struct sweep *sweep, const size_t *next, int64_t until_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < sweep->run_count; i++) {
		keep_rest(&sweep->runs[i], next[i], until_ns);
		left += sweep->runs[i].count;
	}
	sweep->count = left;
	if (until_ns > sweep->told_ns)
		sweep->told_ns = until_ns;
}

void sweep_flush(struct sweep *sweep, int64_t until_ns, sweep_tell *tell, void *context)
{
	size_t next[SWEEP_RUNS] = {0};
	bool is_abreast = are_abreast(sweep);

	order_runs(sweep);
	(is_abreast ? flush_abreast : flush_any)(sweep, next, until_ns, tell, context);
	keep_rests(sweep, next, until_ns);
}

/* Sums of stretches, on the way to who asked for them. */
struct sums {
	int64_t from_ns, to_ns;
	sweep_add_up *add;
	void *context;
};

static void add_stretch(void *context, int64_t from_ns, int64_t to_ns, uint32_t mask)
{
	const struct sums *sums = context;
	int64_t from = from_ns > sums->from_ns ? from_ns : sums->from_ns, to = to_ns < sums->to_ns ? to_ns : sums->to_ns;

	if (from < to)
		sums->add(sums->context, (uint64_t)(to - from), mask);
}

/* Time of one mask, told when another comes. */
struct piece {
	uint64_t ns; /* 0 = nothing yet */
	uint32_t mask;
};

static void end_piece(const struct sums *sums, struct piece *piece)
{
	if (piece->ns)
		sums->add(sums->context, piece->ns, piece->mask);
	piece->ns = 0;
}

static inline void add_piece(const struct sums *sums, struct piece *piece, uint64_t ns, uint32_t mask)
{
	if (piece->mask != mask) {
		end_piece(sums, piece);
		piece->mask = mask;
	}
	piece->ns += ns;
}

/* The interval of a run without overlaps that comes next, as far as it counts. */
struct head {
	int64_t from_ns, to_ns;
	uint64_t shared_ns; /* of it, in which the other run is active */
	const struct sweep_interval *at, *end;
	struct piece alone;
};

/* Puts in the times of the next one of which any is left: false where there is none. */
static inline bool take_head(const struct sums *sums, struct head *head)
{
	for (; head->at < head->end; head->at++) {
		head->from_ns = head->at->start_ns > sums->from_ns ? head->at->start_ns : sums->from_ns;
		head->to_ns = head->at->end_ns < sums->to_ns ? head->at->end_ns : sums->to_ns;
		if (head->from_ns < head->to_ns)
			return true;
	}
	return false;
}

/* It is over: what was not shared was its own. */
static inline bool next_head(const struct sums *sums, struct head *head)
{
	add_piece(sums, &head->alone, (uint64_t)(head->to_ns - head->from_ns) - head->shared_ns, head->at->mask);
	head->shared_ns = 0;
	head->at++;
	return take_head(sums, head);
}

static void drain_head(const struct sums *sums, struct head *head, bool is_there)
{
	while (is_there)
		is_there = next_head(sums, head);
	end_piece(sums, &head->alone);
}

/* Two runs, as calls and kernels are, neither of which holds overlaps: what they share is the rest of what each is alone. */
static void sum_two(struct sweep *sweep, size_t *next, const struct sums *sums, int64_t until_ns)
{
	const struct sweep_run *runs = sweep->runs;
	struct head one, other;
	struct piece both = {0};
	bool has_one, has_other;

	for (size_t i = 0; i < 2; i++)
		next[i] = begun_by(&runs[i], until_ns - 1);
	one = (struct head){.at = runs[0].items, .end = runs[0].items + next[0]};
	other = (struct head){.at = runs[1].items, .end = runs[1].items + next[1]};
	has_one = take_head(sums, &one);
	has_other = take_head(sums, &other);
	while (has_one && has_other) {
		int64_t from = one.from_ns > other.from_ns ? one.from_ns : other.from_ns;
		int64_t to = one.to_ns < other.to_ns ? one.to_ns : other.to_ns;

		if (from < to) {
			add_piece(sums, &both, (uint64_t)(to - from), one.at->mask | other.at->mask);
			one.shared_ns += (uint64_t)(to - from);
			other.shared_ns += (uint64_t)(to - from);
		}
		if (one.to_ns <= other.to_ns)
			has_one = next_head(sums, &one);
		else
			has_other = next_head(sums, &other);
	}
	drain_head(sums, &one, has_one);
	drain_head(sums, &other, has_other);
	end_piece(sums, &both);
	sweep->steps += next[0] + next[1];
}

void sweep_sum(struct sweep *sweep, int64_t until_ns, int64_t from_ns, int64_t to_ns, sweep_add_up *add, void *context)
{
	struct sums sums = {from_ns, to_ns < until_ns ? to_ns : until_ns, add, context};
	size_t next[SWEEP_RUNS] = {0};

	if (sweep->run_count != 2 || !sweep->count || !are_abreast(sweep)) {
		sweep_flush(sweep, until_ns, add_stretch, &sums);
		return;
	}
	sum_two(sweep, next, &sums, until_ns);
	keep_rests(sweep, next, until_ns);
}

void sweep_free(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->run_count; i++)
		free(sweep->runs[i].items);
	free(sweep->runs);
	*sweep = (struct sweep){.told_ns = INT64_MIN};
}
