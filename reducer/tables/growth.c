/* SPDX-License-Identifier: Apache-2.0 */
/* Live memory that grows without end; see reducer/tables/growth.h. */
#include "reducer/tables/growth.h"

#define PARTS 8		/* the steady part of the steps is cut into these */
#define STEADY_FROM 0.2 /* of the steps: what comes first fills caches */
#define POINTS_LEAST 64 /* of a curve that is worth judging */

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

/* Bytes that an account grew steadily during the steps; 0 = it did not. */
static uint64_t growth_of(const struct process *process, const struct account *account, int64_t from_ns, int64_t to_ns, int64_t *ns)
{
	const struct timeline *curve = &account->timeline;
	int64_t from = ready_ns(process, from_ns), to = to_ns < process->end_ns ? to_ns : process->end_ns;
	int64_t length = to - from, width = (int64_t)((double)length * (1 - STEADY_FROM)) / PARTS;
	uint64_t lows[PARTS];

	if (account->is_live_unknown || curve->count < POINTS_LEAST || length * 2 < to_ns - from_ns)
		return 0;
	from += (int64_t)((double)length * STEADY_FROM);
	for (size_t i = 0; i < PARTS; i++) {
		lows[i] = low_point(curve, from + (int64_t)i * width, from + (int64_t)(i + 1) * width);
		if (i && lows[i] <= lows[i - 1])
			return 0;
	}
	*ns = width * (PARTS - 1);
	return lows[PARTS - 1] - lows[0];
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
	const struct process *process = &request->run->processes[i];
	int64_t ns = 0;
	uint64_t bytes = growth_of(process, account, from_ns, to_ns, &ns);
	double percent = account->peak_bytes ? 100.0 * (double)bytes / (double)account->peak_bytes : 0;

	most->is_judged |= account->timeline.count >= POINTS_LEAST;
	if (!bytes || percent <= most->percent)
		return;
	*most = (struct growth){
		.account = account, .process = i, .bytes = bytes, .percent = percent, .ns = ns, .is_judged = true};
}

/* Is it the host's memory that fills? A framework's allocator of the host takes its blocks from the heap, which grows with it. */
static bool is_of_host(const struct growth *growth, const struct process *process, int64_t from_ns, int64_t to_ns)
{
	int64_t ns;

	return growth_of(process, &process->heap, from_ns, to_ns, &ns) * 2 >= growth->bytes;
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
	if (most.account != NULL && is_of_host(&most, &run->processes[most.process], from_ns, to_ns))
		most.room_bytes = room_of(&run->processes[most.process]);
	return most;
}
