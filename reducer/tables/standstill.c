/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that stopped; see reducer/tables/standstill.h. */
#include "reducer/tables/standstill.h"

#include "reducer/model/losses.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/native_looks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NS INT64_C(3000000000) /* that nothing ended, */
#define MEDIANS 10		     /* as long as so many usual steps, */
#define LONGEST 2		     /* and as so many of the longest */
#define STEPS_LEAST 3		     /* that are judged: of fewer nothing is usual */
#define TOLD_MOST 3		     /* places where processes stand */
#define UNTOLD_NS INT64_C(2500000000) /* device records come within: several flush periods */

struct standstills {
	struct standstill *items; /* in order of the processes */
	size_t count, room;
};

/* What is usual of the judged steps of the process; false where they are too few. */
static bool find_usual(struct standstill *still, const struct step_rows *rows)
{
	size_t to, from = step_rows_of(rows, still->process, &to), count = 0;
	uint64_t *times = base_alloc(to - from + 1, sizeof(*times));

	for (size_t i = from; i < to; i++)
		if (step_rows_judges(rows, i))
			times[count++] = rows->items[i]->total_ns;
	if (count >= STEPS_LEAST) {
		base_sort_naturals(times, count);
		still->median_ns = times[(count - 1) / 2];
		still->longest_ns = times[count - 1];
	}
	free(times);
	return count >= STEPS_LEAST;
}

bool standstill_since(struct standstill *since, const struct request *request, size_t process)
{
	const struct process *of = &request->run->processes[process];
	struct units units;
	size_t count;

	*since = (struct standstill){.process = process, .to_ns = of->gone_ns > of->end_ns ? of->gone_ns : of->end_ns};
	units_of_steps(&units, of);
	for (size_t i = 0; i < units.count; i++) {
		const struct unit *unit = &units.items[i];
		int64_t ns = unit->is_cut ? unit->start_ns : unit->end_ns;
		if (i > 0 && ns < since->from_ns)
			continue;
		since->from_ns = ns;
		since->thread = unit->thread;
		since->step = unit->is_cut && unit->number ? unit->number - 1 : unit->number;
	}
	count = units.count;
	units_free(&units);
	return count > 0;
}

/* Whether records of that time may be among those that were lost. With FULL=wrap older ones are given up all the while. */
static bool may_be_lost(const struct process *process, int64_t from_ns)
{
	unsigned whole_kind = 0; /* of the loss that `whole_ns` is of; 0 is none */
	int64_t whole_ns = TIME_UNKNOWN;

	for (size_t i = 0; i < process->loss_count; i++) {
		const struct loss *loss = &process->losses[i];
		if (!loss->count || loss->last_ns < from_ns || loss_is_degraded(loss->kind))
			continue;
		if (loss->kind != whole_kind)
			whole_ns = losses_whole_from(process, loss->kind);
		whole_kind = loss->kind;
		if (whole_ns == TIME_UNKNOWN || whole_ns > from_ns)
			return true;
	}
	return false;
}

/* Whether all that happened from then to the end is in the log, as far as the process lived. */
static bool is_recorded(const struct process *process, const struct standstill *still)
{
	if (may_be_lost(process, still->from_ns))
		return false;
	for (size_t i = 0; i < process->range_count; i++)
		if (process->ranges[i].from_ns <= still->from_ns && process->ranges[i].to_ns >= process->end_ns)
			return true;
	return false;
}

bool standstill_has_stopped(struct standstill *still, const struct step_rows *rows, const struct request *request)
{
	const struct process *process = &request->run->processes[still->process];
	uint64_t ns = still->to_ns > still->from_ns ? (uint64_t)(still->to_ns - still->from_ns) : 0;
	bool is_end = process_has_failed(process) || process->end == END_RUNNING || process->end == END_UNKNOWN;

	return is_end && ns >= LEAST_NS && !process_is_foreign(process) && is_recorded(process, still) && find_usual(still, rows) &&
	       ns >= MEDIANS * still->median_ns && ns >= LONGEST * still->longest_ns;
}

static void find_all(struct standstills *all, const struct request *request)
{
	bool is_part = request->has_steps || request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->thread ||
		       request->device || request->stream;
	struct step_rows rows;

	*all = (struct standstills){0};
	if (is_part || request->run->diags->damage)
		return;
	step_rows_find(&rows, request);
	for (size_t i = 0; i < request->run->process_count; i++) {
		struct standstill still;
		if (!standstill_since(&still, request, i) || !standstill_has_stopped(&still, &rows, request))
			continue;
		all->items = base_grow(all->items, &all->room, all->count + 1, sizeof(*all->items));
		all->items[all->count++] = still;
	}
	step_rows_free(&rows);
}

/* Where several processes stand. */
struct place {
	struct standing standing; /* of the first of them */
	size_t first, count;	  /* first: in standstills */
	bool is_running;	  /* it used half of that time or more on a processor */
};

static bool is_alike(const struct standing *one, const struct standing *other)
{
	return one->line.line == other->line.line && strcmp(one->line.function, other->line.function) == 0 &&
	       strcmp(one->line.file, other->line.file) == 0;
}

/* The places, each once; `places` has room for one a process. Those that no look tells of have none. */
static size_t find_places(struct place *places, const struct standstills *all, const struct request *request)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct standstill *still = &all->items[i];
		struct stretch stretch = stretch_make(request, still->process, still->from_ns, still->to_ns);
		struct place place = {.first = i, .count = 1};
		size_t at = 0;
		standing_find(&place.standing, request, &stretch, still->thread);
		stretch_free(&stretch);
		if (!place.standing.line.function)
			continue;
		place.is_running = place.standing.cpu_ns >= place.standing.looked_ns / 2;
		while (at < count && !is_alike(&places[at].standing, &place.standing))
			at++;
		if (at == count)
			places[count++] = place;
		else
			places[at].count++;
	}
	return count;
}

/* The fewest first: one rank alone somewhere is the one to look at. */
static int by_count(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? -1 : 1;
	return one->first < other->first ? -1 : one->first > other->first;
}

/* Other threads that stood in code of the program's own: the loader's, that the loop waits for. Returns how many were told. */
static size_t say_threads(struct text *text, const struct standstill *still, const struct request *request, size_t most)
{
	const struct process *process = &request->run->processes[still->process];
	struct stretch stretch = stretch_make(request, still->process, still->from_ns, still->to_ns);
	size_t count = 0;

	for (size_t i = 0; i < process->thread_count && count < most; i++) {
		struct standing standing;
		if (process->threads[i].serial == still->thread ||
		    !standing_find(&standing, request, &stretch, process->threads[i].serial) || !standing.is_own)
			continue;
		text_format(text, ", its thread %u at ", process->threads[i].tid);
		standing_say(text, &standing);
		count++;
	}
	stretch_free(&stretch);
	return count;
}

/* Of one process whose Python code was not looked at, or stood nowhere: where the thread of its steps was last. */
static void say_native(struct text *text, const struct standstill *still, const struct request *request)
{
	const struct process *process = &request->run->processes[still->process];
	struct native_last *last = native_last_make(request, still->process, still->to_ns);
	struct text function = {0};
	const char *waits_in;

	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].serial == still->thread &&
		    native_last_of(last, process->threads[i].tid, &function, &waits_in) && function.length)
			text_format(text, " At the last look at native code it was in %s, %s%s%s.", function.bytes,
				    waits_in ? "waiting (" : "running", waits_in ? waits_in : "", waits_in ? ")" : "");
	text_free(&function);
	native_last_free(last);
}

static void say_places(struct text *text, const struct standstills *all, const struct request *request)
{
	struct place *places = base_alloc(all->count, sizeof(*places));
	size_t count = find_places(places, all, request);

	if (count) {
		qsort(places, count, sizeof(*places), by_count);
		text_string(text, " Meanwhile,");
	}
	for (size_t i = 0, told = 0; i < count && i < TOLD_MOST; i++) {
		text_string(text, i ? ", " : " ");
		if (places[i].count > 1)
			text_format(text, "%zu processes were at ", places[i].count);
		else if (all->count > 1)
			text_format(text, "%s was at ", request->run->processes[all->items[places[i].first].process].called);
		else
			text_string(text, "it was at ");
		standing_say(text, &places[i].standing);
		text_string(text, places[i].is_running ? ", running" : ", waiting");
		if (places[i].count == 1 && told < TOLD_MOST)
			told += say_threads(text, &all->items[places[i].first], request, TOLD_MOST - told);
	}
	if (count > TOLD_MOST)
		text_format(text, ", others at %zu more places", count - TOLD_MOST);
	if (count)
		text_string(text, ", by looks at Python code");
	else if (all->count == 1)
		say_native(text, &all->items[0], request);
	text_string(text, count ? " (-t threads_at_end)." : " What each thread did last: -t threads_at_end.");
	free(places);
}

bool standstill_unfinished(const struct process *process, int64_t end_ns, int64_t *ago_ns)
{
	*ago_ns = process->gpu && process->gpu->unfinished.count ? end_ns - process->gpu->unfinished.first_ns : 0;
	return *ago_ns >= UNTOLD_NS;
}

/* Of the process whose devices have been at it longest. */
static void say_unfinished(struct text *text, const struct standstills *all, const struct request *request)
{
	const struct process *of = NULL;
	int64_t longest_ns = 0, ago_ns;

	for (size_t i = 0; i < all->count; i++) {
		const struct process *process = &request->run->processes[all->items[i].process];
		if (!standstill_unfinished(process, all->items[i].to_ns, &ago_ns) || ago_ns <= longest_ns)
			continue;
		of = process;
		longest_ns = ago_ns;
	}
	if (!of)
		return;
	text_string(text, " No record tells that the device has finished ");
	standstill_name_unfinished(text, of->gpu);
	text_format(text, ", called %.1f s before the end%s%s", (double)longest_ns / 1e9, all->count > 1 ? " by process " : "",
		    all->count > 1 ? of->called : "");
	if (of->gpu->unfinished.count > 1)
		text_format(text, ", and %" PRIu64 " more since", of->gpu->unfinished.count - 1);
	text_char(text, '.');
}

void standstill_name_unfinished(struct text *text, const struct gpu *gpu)
{
	if (gpu->unfinished.kernel < gpu->name_count)
		gpu_kernel_text(text, gpu, gpu->unfinished.kernel);
	else if (gpu->unfinished.function < gpu->function_count)
		text_string(text, gpu->functions[gpu->unfinished.function].name);
	else
		text_string(text, "a call");
}

void standstill_say(struct text *text, const struct request *request)
{
	struct standstills all;
	const struct standstill *least;

	find_all(&all, request);
	least = all.items;
	for (size_t i = 1; i < all.count; i++)
		if (all.items[i].to_ns - all.items[i].from_ns < least->to_ns - least->from_ns)
			least = &all.items[i];
	if (all.count) {
		bool is_short = least->longest_ns < 1000000000;
		text_format(text, "No step ended any more in the last %.1f s", (double)(least->to_ns - least->from_ns) / 1e9);
		if (all.count > 1)
			text_format(text, " of %zu processes", all.count);
		else if (request->run->process_count > 1)
			text_format(text, " of process %s", request->run->processes[least->process].called);
		text_format(text, ", after step %" PRIu64 "; the longest before took %.3g %s.", least->step,
			    (double)least->longest_ns / (is_short ? 1e6 : 1e9), is_short ? "ms" : "s");
		say_places(text, &all, request);
		say_unfinished(text, &all, request);
	}
	free(all.items);
}
