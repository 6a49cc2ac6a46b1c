/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, or what stands for them; see reducer/analysis/units.h.
 *
 * Rule: without steps a pass of its own looks for what repeats outermost: ranges before calls, of them the name that took the most
 * time, at least twice, on whatever threads (a server's answer beside each other); of what a runtime's own threads run the thread as well.
 * Ranges of the process count where one thread began and ended each, one after the other; names that differ in numbers alone, where
 * these number the requests. What compiles is no request, however often.
 */
#include "reducer/analysis/units.h"

#include "reducer/analysis/parts.h"
#include "reducer/analysis/words.h"
#include "reducer/model/number_map.h"

#include <stdlib.h>
#include <string.h>

#define UNITS_MOST (1u << 20) /* as many as there may be steps */
#define ROOTS_PART 0.01 /* of what ops and ranges took outermost: what repeats and is less is something by the way */

const char *unit_kind_name(enum unit_kind kind)
{
	static const char *const names[] = {"step", "request", "call", "whole"};

	return names[kind];
}

static int compare_units(const void *a, const void *b)
{
	const struct unit *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void take_steps(struct units *units, const struct process *process)
{
	units->items = base_alloc(process->step_count + 1, sizeof(*units->items));
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (step->is_chosen)
			units->items[units->count++] = (struct unit){.start_ns = step->time_ns,
								     .marked_ns = step->end_ns,
								     .number = step->number,
								     .thread = step->thread,
								     .step = i};
	}
	qsort(units->items, units->count, sizeof(*units->items), compare_units);
	for (size_t i = 0; i < units->count; i++) {
		struct unit *unit = &units->items[i], *next = i + 1 < units->count ? unit + 1 : NULL;
		int64_t rest_ns = process->steps[unit->step].rest_ns;
		if (rest_ns > unit->start_ns)
			unit->end_ns = rest_ns;
		else if (next && next->thread == unit->thread)
			unit->end_ns = next->start_ns;
		else if (unit->marked_ns != TIME_UNKNOWN)
			unit->end_ns = unit->marked_ns;
		else
			unit->is_cut = 1;
		if (unit->is_cut)
			unit->end_ns = process->end_ns > unit->start_ns ? process->end_ns : unit->start_ns;
	}
}

#define GROUP_NONE UINT32_MAX

/* Outermost ranges and calls, while they are looked for. */
struct root {
	int64_t start_ns, end_ns;
	uint32_t group, folded, thread; /* folded: that of its name without numbers. GROUP_NONE = none */
	bool is_wide;			/* of the process */
};
struct group {
	uint32_t word, thread; /* thread: 0 = of any */
	enum unit_kind kind;
	bool is_folded, overlaps; /* overlaps: on one thread */
	uint32_t first;		  /* of a folded one: the group of its first name, or GROUP_NONE */
	uint64_t count, ns, longest_ns;
	int64_t last_start_ns, first_end_ns;
	uint32_t before_thread; /* of the one before, in the order of compare_roots: its thread, */
	int64_t before_end_ns;	/* and its end */
};
struct roots {
	struct words words;
	struct group *groups; /* no more than two for each of `items` */
	size_t group_count, group_room;
	struct number_map places; /* (what else tells groups apart, word) -> place in groups */
	struct root *items;
	size_t count, room;
	uint64_t outermost_ns; /* of ops and ranges, whatever they are called */
	uint64_t unlooked;     /* came when there were UNITS_MOST */
};

static bool is_call(const struct span *span)
{
	static const char *const names[] = {"FunctionRun", "SessionRun", "RunGraph", "PjitFunction", "ExecutorState::Process"};

	if (span->what == SPAN_OP && span->source == SOURCE_eager)
		return span->depth == 0 && strncmp(span->name, "__", 2) == 0; /* a function; plain ops are no requests */
	if (span->what != SPAN_TRACE || span->source != SOURCE_traceme || strncmp(span->name, "ExecutorState::ProcessAsync", 27) == 0)
		return false; /* the last only hands work on */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(span->name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static uint32_t group_of(struct roots *roots, struct group wanted)
{
	uint64_t high = (uint64_t)wanted.thread << 8 | (uint64_t)wanted.kind << 1 | wanted.is_folded;
	uint32_t place = number_map_find(&roots->places, high, wanted.word);

	if (place != NUMBER_MAP_NONE)
		return place;
	roots->groups = base_grow(roots->groups, &roots->group_room, roots->group_count + 1, sizeof(*roots->groups));
	wanted.last_start_ns = INT64_MIN;
	wanted.first_end_ns = INT64_MAX;
	roots->groups[roots->group_count] = wanted;
	if (number_map_set(&roots->places, high, wanted.word, (uint32_t)roots->group_count) != 0)
		base_die("out of memory for the names of requests");
	return (uint32_t)roots->group_count++;
}

/* Of a name with numbers: that of all which differ from it in these. */
static uint32_t folded_group_of(struct roots *roots, const char *name, uint32_t group)
{
	char *folded = strpbrk(name, "0123456789") ? base_without_numbers(name) : NULL;
	uint32_t found = GROUP_NONE;

	if (folded)
		found = group_of(roots, (struct group){.word = words_number(&roots->words, folded),
						       .kind = UNIT_REQUEST,
						       .is_folded = true,
						       .first = group});
	free(folded);
	return found;
}

static void add_to(struct roots *roots, uint32_t at, const struct span *span)
{
	int64_t end = span->start_ns + (int64_t)span->duration_ns;
	struct group *group = at == GROUP_NONE ? NULL : &roots->groups[at];

	if (!group)
		return;
	group->count++;
	group->ns += span->duration_ns;
	group->longest_ns = span->duration_ns > group->longest_ns ? span->duration_ns : group->longest_ns;
	group->last_start_ns = span->start_ns > group->last_start_ns ? span->start_ns : group->last_start_ns;
	group->first_end_ns = end < group->first_end_ns ? end : group->first_end_ns;
}

/* Such as go on all at one moment do not repeat: what each thread does for its life. */
static bool repeats(const struct group *group)
{
	return group->count >= 2 && group->last_start_ns >= group->first_end_ns;
}

static int take_root(void *context, const struct span *span)
{
	struct roots *roots = context;
	bool is_wide = span->what == SPAN_RANGE && span->on == SPAN_PROCESS && span->began != 0;
	bool is_range = span->what == SPAN_RANGE && span->on == SPAN_THREAD && span->depth == 0;
	struct root root = {.start_ns = span->start_ns,
			    .end_ns = span->start_ns + (int64_t)span->duration_ns,
			    .folded = GROUP_NONE,
			    .thread = is_wide ? span->began : span->thread,
			    .is_wide = is_wide};

	if (!span->is_open && (is_range || (span->what == SPAN_OP && span->on == SPAN_THREAD && span->depth == 0)))
		roots->outermost_ns += span->duration_ns;
	if (span->is_open || !(is_range || is_wide || is_call(span)) || part_is_compiling(span->name))
		return 0;
	if (roots->count == UNITS_MOST) {
		roots->unlooked++;
		return 0;
	}
	root.group = group_of(roots, (struct group){.word = words_lasting(&roots->words, span->name),
						    .thread = span->what == SPAN_TRACE ? span->thread : 0,
						    .kind = is_range || is_wide ? UNIT_REQUEST : UNIT_CALL});
	if (is_range || is_wide)
		root.folded = folded_group_of(roots, roots->words.items[words_lasting(&roots->words, span->name)], root.group);
	add_to(roots, root.group, span);
	add_to(roots, root.folded, span);
	roots->items = base_grow(roots->items, &roots->room, roots->count + 1, sizeof(*roots->items));
	roots->items[roots->count++] = root;
	return 0;
}

/* By thread, then start; of those that begin at once the longest first. */
static int compare_roots(const void *a, const void *b)
{
	const struct root *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return one->end_ns > other->end_ns ? -1 : one->end_ns < other->end_ns;
}

/* A range of the process that begins within another one of its group, on one thread: which of the two works there is not known. */
static void note_overlap(struct roots *roots, uint32_t at, const struct root *root)
{
	struct group *group = at == GROUP_NONE ? NULL : &roots->groups[at];

	if (!group)
		return;
	bool is_same = group->before_thread == root->thread;
	group->overlaps |= root->is_wide && is_same && root->start_ns < group->before_end_ns;
	if (!is_same || root->end_ns > group->before_end_ns) {
		group->before_thread = root->thread;
		group->before_end_ns = root->end_ns;
	}
}

/* Do the numbers in its names number the requests? Then each name comes fewer times than there are names; layers come in each. */
static bool are_numbered(const struct roots *roots, const struct group *group)
{
	uint64_t each = group->first == GROUP_NONE ? 1 : roots->groups[group->first].count;

	return !group->is_folded || each * each < group->count;
}

/* The group that is taken for the requests; SIZE_MAX = none repeats. */
static size_t choose(const struct roots *roots)
{
	size_t best = SIZE_MAX;

	for (size_t g = 0; g < roots->group_count; g++) {
		const struct group *group = &roots->groups[g], *other = best == SIZE_MAX ? NULL : &roots->groups[best];
		if (repeats(group) && !group->overlaps && are_numbered(roots, group) &&
		    (double)group->ns >= ROOTS_PART * (double)roots->outermost_ns &&
		    (!other || group->kind < other->kind || (group->kind == other->kind && group->ns > other->ns)))
			best = g;
	}
	return best;
}

static int compare_starts(const void *a, const void *b)
{
	const struct unit *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return one->thread < other->thread ? -1 : one->thread > other->thread;
}

/* One that was held up (its thread had no processor) is no sign of what the others are. */
static double share_of(const struct roots *roots, const struct group *group)
{
	uint64_t all = roots->outermost_ns > group->longest_ns ? roots->outermost_ns - group->longest_ns : 0;

	return all ? (double)(group->ns - group->longest_ns) / (double)all : 1;
}

static void take_roots(struct units *units, const struct roots *roots, size_t group)
{
	const struct root *last = NULL;

	units->kind = roots->groups[group].kind;
	units->share = share_of(roots, &roots->groups[group]);
	units->unlooked = roots->unlooked;
	units->name =
		base_copy(roots->words.items[roots->groups[group].word], strlen(roots->words.items[roots->groups[group].word]));
	units->items = base_alloc(roots->groups[group].count + 1, sizeof(*units->items));
	for (size_t i = 0; i < roots->count; i++) {
		const struct root *root = &roots->items[i];
		if ((root->group != group && root->folded != group) ||
		    (last && root->thread == last->thread && root->start_ns < last->end_ns))
			continue; /* of another name, or one inside another of its own */
		last = root;
		units->items[units->count++] = (struct unit){.start_ns = root->start_ns,
							     .end_ns = root->end_ns,
							     .marked_ns = root->end_ns,
							     .thread = root->thread,
							     .step = SIZE_MAX};
	}
	qsort(units->items, units->count, sizeof(*units->items), compare_starts);
	for (size_t i = 0; i < units->count; i++)
		units->items[i].number = i + 1;
	qsort(units->items, units->count, sizeof(*units->items), compare_units);
}

static void find_roots(struct units *units, const struct analysis_input *input)
{
	struct roots roots = {0};
	struct span_options options = {
		.wants = SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE), .visit = take_root, .context = &roots};
	size_t best;

	if (input->process->log->stream_count && spans_stream(input->run, input->index, &options) != 0)
		base_die("out of memory while reading the logs");
	if (roots.count)
		qsort(roots.items, roots.count, sizeof(*roots.items), compare_roots);
	for (size_t i = 0; i < roots.count; i++) {
		note_overlap(&roots, roots.items[i].group, &roots.items[i]);
		note_overlap(&roots, roots.items[i].folded, &roots.items[i]);
	}
	best = choose(&roots);
	if (best != SIZE_MAX)
		take_roots(units, &roots, best);
	words_free(&roots.words);
	number_map_free(&roots.places);
	free(roots.groups);
	free(roots.items);
}

static void take_whole(struct units *units, const struct process *process)
{
	units->kind = UNIT_WHOLE;
	units->items = base_alloc(1, sizeof(*units->items));
	units->count = 1;
	units->items[0] = (struct unit){.start_ns = process->start_ns,
					.end_ns = process->end_ns,
					.marked_ns = TIME_UNKNOWN,
					.number = 1,
					.step = SIZE_MAX};
	if (units->items[0].end_ns < units->items[0].start_ns)
		units->items[0].end_ns = units->items[0].start_ns;
}

void units_of_steps(struct units *units, const struct process *process)
{
	*units = (struct units){.kind = UNIT_STEP};
	take_steps(units, process);
}

void units_make(struct units *units, const struct analysis_input *input)
{
	units_of_steps(units, input->process);
	if (!units->count) {
		units_free(units);
		find_roots(units, input);
	}
	if (!units->count) {
		units_free(units);
		take_whole(units, input->process);
	}
}

void units_free(struct units *units)
{
	free(units->items);
	free(units->name);
	*units = (struct units){.kind = UNIT_STEP};
}

static bool is_in(const struct units *units, const struct unit *unit, int64_t time_ns)
{
	return units->kind == UNIT_WHOLE || (time_ns >= unit->start_ns && (unit->is_cut || time_ns < unit->end_ns));
}

/* Behind the last of the thread's units, from `from` on, that began by then. */
static size_t behind_begun(const struct units *units, size_t from, uint32_t thread, int64_t time_ns)
{
	size_t low = from, high = units->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct unit *unit = &units->items[middle];
		if (unit->thread == thread && unit->start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct unit *units_at(const struct units *units, int64_t time_ns, uint64_t first, uint64_t last)
{
	const struct unit *found = NULL;
	size_t from = 0;

	while (from < units->count) {
		uint32_t thread = units->items[from].thread;
		size_t at = units->kind == UNIT_WHOLE ? 1 : behind_begun(units, from, thread, time_ns);
		const struct unit *unit = at > from ? &units->items[at - 1] : NULL;
		if (unit && unit->number >= first && unit->number <= last && is_in(units, unit, time_ns) &&
		    (!found || unit->start_ns > found->start_ns))
			found = unit;
		from = behind_begun(units, from, thread, INT64_MAX);
	}
	return found;
}
