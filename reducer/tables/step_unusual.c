/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that are much longer than the usual ones; see reducer/tables/step_unusual.h. */
#include "reducer/tables/step_unusual.h"

#include "reducer/model/windows.h"

#include <inttypes.h>
#include <stdlib.h>

#define STEPS_LEAST 20	 /* judged: of fewer a median says little */
#define WARM_TIMES 2	 /* as long as the median: a step that still warms up */
#define WARM_SHARE 0.05	 /* of the judged time beyond the median, from which it is worth a word */
#define PAUSE_TIMES 20	 /* as long as the median; so long are pauses between the calls of TensorFlow and JAX, too (step_choice.c) */
#define PAUSE_OTHER 0.8	 /* of its time nothing was recorded of */
#define PAUSES_MOST 0.05 /* of the steps: what more of them do is part of the loop */
#define PAUSE_SHARE 0.05 /* of the judged time, from which it is worth a word */
#define STOPPED_PARTS 5	 /* of a pause: in all but one of so many the library's own thread stood still, too */

/* Where the rows of the process end that has row `from`. */
static size_t end_of(const struct step_rows *rows, size_t from)
{
	size_t end = from;

	while (end < rows->count && rows->items[end]->process == rows->items[from]->process)
		end++;
	return end;
}

/* What is usual for a process: its judged rows, their time in all, the median. */
struct usual {
	size_t end, count;
	uint64_t all_ns, median_ns;
};

static struct usual usual_of(const struct step_rows *rows, size_t from)
{
	struct usual usual = {.end = end_of(rows, from)};
	uint64_t *times = base_alloc(usual.end - from + 1, sizeof(*times));

	for (size_t i = from; i < usual.end; i++)
		if (step_rows_judges(rows, i))
			usual.all_ns += times[usual.count++] = rows->items[i]->total_ns;
	if (usual.count) {
		base_sort_naturals(times, usual.count);
		usual.median_ns = times[(usual.count - 1) / 2];
	}
	free(times);
	return usual;
}

static double share_of(uint64_t ns, const struct usual *usual)
{
	return usual->all_ns ? (double)ns / (double)usual->all_ns : 0;
}

struct step_warm step_warm_of(const struct step_rows *rows, size_t from)
{
	struct usual usual = usual_of(rows, from);
	struct step_warm warm = {0};
	uint64_t beyond = 0;

	for (size_t i = from; i < usual.end && usual.count >= STEPS_LEAST; i++) {
		const struct step_row *row = rows->items[i];
		if (!step_rows_judges(rows, i))
			continue;
		if (row->total_ns < WARM_TIMES * usual.median_ns) {
			warm.next = row->unit.number;
			break;
		}
		warm.first = warm.count ? warm.first : row->unit.number;
		warm.last = row->unit.number;
		warm.count++;
		warm.ns += row->total_ns;
		beyond += row->total_ns - usual.median_ns;
	}
	warm.share = share_of(warm.ns, &usual);
	if (warm.count * 2 > usual.count || (double)beyond < WARM_SHARE * (double)usual.all_ns || warm.next <= warm.last)
		return (struct step_warm){0};
	return warm;
}

static bool is_pause(const struct step_row *row, uint64_t least_ns)
{
	return row->total_ns >= least_ns && (double)row->exposed_ns[PART_OTHER] >= PAUSE_OTHER * (double)row->total_ns;
}

bool step_pauses_has(const struct step_pauses *pauses, const struct step_row *row)
{
	return pauses->count && is_pause(row, pauses->least_ns);
}

struct step_pauses step_pauses_of(const struct step_rows *rows, size_t from)
{
	struct usual usual = usual_of(rows, from);
	struct step_pauses found = {.least_ns = PAUSE_TIMES * usual.median_ns};

	for (size_t i = from; i < usual.end && usual.count >= STEPS_LEAST; i++) {
		const struct step_row *row = rows->items[i];
		if (!step_rows_judges(rows, i) || !is_pause(row, found.least_ns))
			continue;
		found.count++;
		found.ns += row->total_ns;
		found.other_ns += row->exposed_ns[PART_OTHER];
		if (row->total_ns > found.longest_ns) {
			found.longest = row->unit.number;
			found.longest_row = i;
			found.longest_ns = row->total_ns;
		}
	}
	found.share = share_of(found.ns, &usual);
	if ((double)found.count > PAUSES_MOST * (double)usual.count || found.share < PAUSE_SHARE)
		return (struct step_pauses){0};
	return found;
}

/* The name of the process with that row, behind `before`; nothing where there is but one. */
static void put_process(struct text *text, const char *before, const struct step_rows *rows, const struct request *request, size_t row)
{
	if (rows->items[0]->process != rows->items[rows->count - 1]->process)
		text_format(text, "%s%s", before, request->run->processes[rows->items[row]->process].called);
}

static uint64_t last_number(const struct step_rows *rows, size_t from)
{
	uint64_t last = 0;

	for (size_t i = from, end = end_of(rows, from); i < end; i++)
		if (step_rows_judges(rows, i) && rows->items[i]->unit.number > last)
			last = rows->items[i]->unit.number;
	return last;
}

void step_warm_say(struct text *text, const struct step_rows *rows, const struct request *request, double share_from)
{
	for (size_t i = 0; i < rows->count; i = end_of(rows, i)) {
		struct step_warm warm = step_warm_of(rows, i);
		if (!warm.count || warm.share < share_from)
			continue;
		text_string(text, "The program still warmed up, it seems");
		put_process(text, ", in process ", rows, request, i);
		text_format(text, ": %s", unit_kind_name(rows->kind));
		if (warm.count > 1)
			text_format(text, "s %" PRIu64 " to", warm.first);
		text_format(text, " %" PRIu64 " took at least twice the median, %.1f %% of the time that is judged (--step=%" PRIu64
			    "-%" PRIu64 " leaves that out).", warm.last, 100 * warm.share, warm.next, last_number(rows, i));
		return;
	}
}

/* How much of a step's time looks at its thread stand for; -1: looks did not begin before it and go on behind it. */
static int64_t looked_ns(const struct process *process, const struct step_row *row, int64_t end_ns)
{
	bool is_before = false, is_behind = false;
	int64_t sum = 0;

	for (size_t i = 0; i < process->python.look_count; i++) {
		const struct python_look *look = &process->python.looks[i];
		int64_t from_ns = look->time_ns - (int64_t)look->wall_ns;
		if (look->thread != row->unit.thread)
			continue;
		is_before |= look->time_ns <= row->start_ns;
		is_behind |= look->time_ns >= end_ns;
		if (look->time_ns > row->start_ns && from_ns < end_ns)
			sum += (look->time_ns < end_ns ? look->time_ns : end_ns) - (from_ns > row->start_ns ? from_ns : row->start_ns);
	}
	return is_before && is_behind ? sum : -1;
}

/* The longest time from one reading of the system to the next around a step; INT64_MAX where none were taken. */
static int64_t unread_ns(const struct process *process, const struct step_row *row, int64_t end_ns)
{
	int64_t longest_ns = 0, before_ns = INT64_MAX;

	for (size_t i = 0; i < process->use.count; i++) {
		int64_t now_ns = process->use.samples[i].time_ns;
		if (process->use.samples[i].of != USE_OF_PROCESS)
			continue;
		if (before_ns < end_ns && now_ns > row->start_ns && now_ns - before_ns > longest_ns)
			longest_ns = now_ns - before_ns;
		before_ns = now_ns;
	}
	return process->use.count ? longest_ns : INT64_MAX;
}

/*
 * Whether the library's own thread, which looks and reads all the while, stood still as long as the program did: then all of it was
 * stopped. Not where anything was lost meanwhile, or no window was open; nor of less than 2 s, for which the next look stands.
 */
static bool was_stopped(const struct step_row *row, const struct request *request)
{
	const struct process *process = &request->run->processes[row->process];
	int64_t all_ns = (int64_t)row->total_ns, end_ns = row->start_ns + all_ns, looked = looked_ns(process, row, end_ns);

	for (size_t i = 0; i < process->loss_count; i++)
		if (process->losses[i].count && process->losses[i].first_ns <= end_ns && process->losses[i].last_ns >= row->start_ns)
			return false;
	return looked >= 0 && looked <= all_ns / STOPPED_PARTS && windows_recorded_ns(process, row->start_ns, end_ns) >= all_ns &&
	       unread_ns(process, row, end_ns) >= all_ns - all_ns / STOPPED_PARTS;
}

void step_pauses_say(struct text *text, const struct step_rows *rows, const struct request *request, double share_from, double waited)
{
	for (size_t i = 0; i < rows->count; i = end_of(rows, i)) {
		struct step_pauses pauses = step_pauses_of(rows, i);
		if (!pauses.count || pauses.share < share_from || waited >= pauses.share)
			continue;
		text_format(text, "%.1f %% of the time", 100 * pauses.share);
		put_process(text, " of process ", rows, request, i);
		text_format(text, " is %zu %s%s as long as %d usual ones or more with next to nothing recorded ", pauses.count,
			    unit_kind_name(rows->kind), pauses.count > 1 ? "s" : "", PAUSE_TIMES);
		text_format(text, "(%s %" PRIu64 ": %.1f ms): %s.", unit_kind_name(rows->kind), pauses.longest,
			    (double)pauses.longest_ns / 1e6,
			    was_stopped(rows->items[pauses.longest_row], request)
				    ? "the program was stopped as a whole, it seems (SIGSTOP, a frozen control group, a hung machine), for "
				      "tfprof's own thread stood still as well"
				    : "a pause (a notebook's between two cells, SIGSTOP), a wait, or code that announces nothing");
		return;
	}
}
