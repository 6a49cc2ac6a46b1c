/* SPDX-License-Identifier: Apache-2.0 */
/* Live memory that grows without end; see reducer/tables/growth.h. */
#include "reducer/tables/growth.h"

#include <string.h>

#define PARTS 8		/* the steady part of the steps is cut into these */
#define STEADY_FROM 0.2 /* of the steps: what comes first fills caches */
#define POINTS_LEAST 64 /* of a curve that is worth judging */
#define STEPS_LEAST (2 * PARTS) /* fewer are not cut by their number */
#define JUMP_LEAVES 4	/* where one part has so much of the growth that no quarter is left, it jumped there */
#define LATER_LEAST 5	/* and where the second half has no fifth of it, it was over by then */
#define NEAR_END 0.9	/* of a life: what is freed behind a peak there is freed because the program ends */

/* The smallest live value of a curve in [from, to); the value that it comes in with counts too. */
static uint64_t low_point(const struct timeline *curve, int64_t from, int64_t to)
{
	uint64_t low = UINT64_MAX, before = 0;

	for (size_t i = 0; i < curve->count && curve->points[i].time_ns < to; i++) {
		if (curve->points[i].time_ns < from)
			before = curve->points[i].live;
		else if (curve->points[i].live < low)
			low = curve->points[i].live;
	}
	return low == UINT64_MAX ? before : low;
}

/* When a process was ready for its part of the steps. */
static int64_t ready_ns(const struct process *process, int64_t steps_ns)
{
	int64_t first_ns = INT64_MAX;

	if (process->start_ns <= steps_ns)
		return steps_ns;
	for (size_t k = 0; k < process->account_count; k++) {
		const struct timeline *curve = &process->accounts[k].timeline;
		if (curve->count && curve->points[0].time_ns < first_ns)
			first_ns = curve->points[0].time_ns;
	}
	return first_ns == INT64_MAX ? process->start_ns : first_ns;
}

/* A process's steps that began in a stretch of time. */
static size_t count_steps(const struct process *process, int64_t from, int64_t to)
{
	size_t count = 0;

	for (size_t i = 0; i < process->step_count; i++)
		count += process->steps[i].is_chosen && process->steps[i].time_ns >= from && process->steps[i].time_ns < to;
	return count;
}

/*
 * Of a few steps the first is where frameworks and drivers start up, and it may be most of the time: judged is what comes behind it.
 * Returns the begin of that; to where there is nothing.
 */
static int64_t behind_first(const struct process *process, int64_t from, int64_t to)
{
	int64_t first_ns = to, second_ns = to;

	if (count_steps(process, from, to) == 0 || count_steps(process, from, to) >= STEPS_LEAST)
		return from;
	for (size_t i = 0; i < process->step_count; i++) {
		int64_t ns = process->steps[i].time_ns;
		if (!process->steps[i].is_chosen || ns < from || ns >= second_ns)
			continue;
		second_ns = ns < first_ns ? first_ns : ns;
		first_ns = ns < first_ns ? ns : first_ns;
	}
	return second_ns;
}

/*
 * Cuts the steady part of [from, to) into PARTS, with as many steps each where the process has steps of its own: what functions are traced
 * for, or a pause, makes some of them long. Returns how many steps lie between the middles of the first part and the last; 0 = not known.
 */
static double cut(const struct process *process, int64_t from, int64_t to, int64_t edges[PARTS + 1])
{
	size_t steps = count_steps(process, from, to), seen = 0, part = 0;
	int64_t length = to - from, width = (int64_t)((double)length * (1 - STEADY_FROM)) / PARTS;

	for (size_t i = 0; i < PARTS + 1; i++)
		edges[i] = from + (int64_t)((double)length * STEADY_FROM) + (int64_t)i * width;
	if (steps < STEPS_LEAST)
		return 0;
	for (size_t i = 0; i < process->step_count && part < PARTS; i++) {
		const struct step *step = &process->steps[i];
		if (!step->is_chosen || step->time_ns < from || step->time_ns >= to)
			continue;
		if ((double)seen++ + 0.5 > (double)steps * (STEADY_FROM + (1 - STEADY_FROM) * (double)part / PARTS))
			edges[part++] = step->time_ns;
	}
	edges[PARTS] = to;
	return (double)steps * (1 - STEADY_FROM) * (PARTS - 1) / PARTS;
}

/*
 * By how much an account whose low points rise grew all the while; 0 = it did not. Where one part has nearly all of it (code or data is
 * loaded there) that part counts as the largest of the others; where the first half has, there is no growth without end.
 */
static uint64_t steady_bytes(const uint64_t lows[PARTS])
{
	uint64_t all = lows[PARTS - 1] - lows[0], later = lows[PARTS - 1] - lows[PARTS / 2 - 1], most = 0, second = 0;
	size_t at = 0;

	for (size_t i = 1; i < PARTS; i++) {
		uint64_t more = lows[i] - lows[i - 1];
		second = more > most ? most : more > second ? more : second;
		at = more > most ? i : at;
		most = more > most ? more : most;
	}
	if ((all - most) * JUMP_LEAVES < all) {
		all -= most - second;
		later -= at >= PARTS / 2 ? most - second : 0;
		if (all < GROWTH_BYTES)
			return 0;
	}
	return later * LATER_LEAST >= all ? all : 0;
}

/* Between what low points an account grew steadily during the steps; no bytes = it did not. */
static struct growth growth_of(const struct process *process, const struct account *account, int64_t from_ns, int64_t to_ns)
{
	const struct timeline *curve = &account->timeline;
	int64_t from = ready_ns(process, from_ns), to = to_ns < process->end_ns ? to_ns : process->end_ns, edges[PARTS + 1];
	struct growth growth = {.account = account, .is_judged = true};
	uint64_t lows[PARTS];

	if (account->is_live_unknown || curve->count < POINTS_LEAST || (to - from) * 2 < to_ns - from_ns)
		return growth;
	from = behind_first(process, from, to);
	if (from >= to)
		return growth;
	growth.steps = cut(process, from, to, edges);
	for (size_t i = 0; i < PARTS; i++) {
		lows[i] = low_point(curve, edges[i], edges[i + 1]);
		if (i && lows[i] <= lows[i - 1])
			return growth;
	}
	growth.ns = (edges[PARTS - 1] + edges[PARTS] - edges[0] - edges[1]) / 2;
	growth.bytes = steady_bytes(lows);
	growth.percent = account->peak_bytes ? 100.0 * (double)growth.bytes / (double)account->peak_bytes : 0;
	return growth;
}

/* What a process could still have by its last reading: of its control group's limit, or of the machine. 0 = not known. */
static uint64_t room_of(const struct process *process)
{
	uint64_t limit = 0, held = 0, machine = 0, value, room;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_PROCESS)
			continue;
		if (use_value(&process->use, sample, USE_group_memory_limit, &value))
			limit = value;
		if (use_value(&process->use, sample, USE_group_memory, &value))
			held = value;
		if (use_value(&process->use, sample, USE_host_available, &value))
			machine = value;
	}
	room = limit > held ? limit - held : 0;
	return !limit || (machine && machine < room) ? machine : room;
}

static void take(struct growth *most, const struct request *request, size_t i, const struct account *account, int64_t from_ns,
		 int64_t to_ns)
{
	struct growth growth = growth_of(&request->run->processes[i], account, from_ns, to_ns);

	most->is_judged |= account->timeline.count >= POINTS_LEAST;
	if (!growth.bytes || growth.percent <= most->percent)
		return;
	*most = growth;
	most->process = i;
}

/* Is it the host's memory that fills? A framework's allocator of the host takes its blocks from the heap, which grows with it. */
static bool is_of_host(const struct growth *growth, const struct process *process, int64_t from_ns, int64_t to_ns)
{
	return growth_of(process, &process->heap, from_ns, to_ns).bytes * 2 >= growth->bytes;
}

/* Allocations that failed for want of the memory that grew, from then on. */
static uint64_t refused_from(const struct growth *growth, const struct process *process, bool is_host, int64_t from_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < process->refused.count; i++) {
		const struct refused *row = &process->refused.list[i];
		bool is_heap = strcmp(row->allocator, "heap") == 0 || strcmp(row->allocator, "mmap") == 0;
		count += row->time_ns >= from_ns && (strcmp(row->allocator, growth->account->allocator) == 0 || (is_host && is_heap));
	}
	return count;
}

struct growth growth_find(const struct request *request, int64_t from_ns, int64_t to_ns)
{
	const struct run *run = request->run;
	struct growth most = {.account = NULL};

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (process->heap.kind != ACCOUNT_NONE)
			take(&most, request, i, &process->heap, from_ns, to_ns);
		for (size_t k = 0; k < process->account_count; k++)
			take(&most, request, i, &process->accounts[k], from_ns, to_ns);
	}
	if (most.account != NULL) {
		const struct process *process = &run->processes[most.process];
		bool is_host = is_of_host(&most, process, from_ns, to_ns);
		most.refused = refused_from(&most, process, is_host, from_ns);
		most.room_bytes = is_host && !most.refused ? room_of(process) : 0;
	}
	return most;
}

/* Until when an account is judged in a process that lived from its start to its end. */
static int64_t life_end_ns(const struct process *process, const struct account *account)
{
	int64_t near = process->start_ns + (int64_t)((double)(process->end_ns - process->start_ns) * NEAR_END);

	return account->peak_time_ns >= near && account->peak_time_ns < process->end_ns ? account->peak_time_ns : process->end_ns;
}

static void take_life(struct growth *most, const struct request *request, size_t i, const struct account *account)
{
	const struct process *process = &request->run->processes[i];
	const struct account *before = most->account;
	int64_t to_ns = life_end_ns(process, account);

	take(most, request, i, account, process->start_ns, to_ns);
	if (most->account == before)
		return;
	bool is_host = is_of_host(most, process, process->start_ns, life_end_ns(process, &process->heap));
	most->refused = refused_from(most, process, is_host, process->start_ns);
	most->room_bytes = is_host && !most->refused ? room_of(process) : 0;
}

struct growth growth_of_lives(const struct request *request)
{
	struct growth most = {.account = NULL};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || process->end_ns - process->start_ns < GROWTH_LIFE_NS)
			continue;
		if (process->heap.kind != ACCOUNT_NONE)
			take_life(&most, request, i, &process->heap);
		for (size_t k = 0; k < process->account_count; k++)
			take_life(&most, request, i, &process->accounts[k]);
	}
	return most;
}
