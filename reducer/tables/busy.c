/* SPDX-License-Identifier: Apache-2.0 */
/* Readings between the first judged step and the last. See busy.h. */
#include "reducer/tables/busy.h"

#include "reducer/model/rank.h"
#include "reducer/tables/around.h"
#include "reducer/tables/step_unusual.h"
#include "reducer/tables/task_delays.h"

#include <stdlib.h>

#define GUESS_MOST 0.1	 /* of the time asked for: what may lie outside it between the two readings around each of its ends */
#define INSIDE_LEAST 0.4 /* of the time asked for: between the first and the last reading inside it */

/* A total that was read at moments. */
struct points {
	struct point {
		int64_t time_ns;
		double value;
	} * items;
	size_t count, room;
};

static void add_point(struct points *points, int64_t time_ns, double value)
{
	points->items = base_grow(points->items, &points->room, points->count + 1, sizeof(*points->items));
	points->items[points->count++] = (struct point){time_ns, value};
}

/* The total at a moment between two readings; *outside grows by what lies beyond it up to the next reading. */
static double value_at(const struct points *points, int64_t moment, bool is_start, double *outside)
{
	for (size_t i = 0; i + 1 < points->count; i++) {
		const struct point *from = &points->items[i], *to = from + 1;
		double length = (double)(to->time_ns - from->time_ns), part = (double)(moment - from->time_ns);
		if (moment < from->time_ns || moment > to->time_ns || length <= 0)
			continue;
		*outside += is_start ? part : length - part;
		return from->value + (to->value - from->value) * part / length;
	}
	return -1;
}

/* Judged steps of a process, in order. */
struct stretch {
	const struct step_rows *rows;
	size_t process;
	int64_t from, to;
};

/* Between the first and the last reading inside. */
static struct busy_sum sum_inside(const struct points *points, const struct stretch *stretch)
{
	const struct point *first = NULL, *last = NULL;

	for (size_t i = 0; i < points->count; i++) {
		const struct point *point = &points->items[i];
		if (point->time_ns < stretch->from || point->time_ns > stretch->to)
			continue;
		first = first ? first : point;
		last = point;
	}
	if (!first || (double)(last->time_ns - first->time_ns) < INSIDE_LEAST * (double)(stretch->to - stretch->from))
		return (struct busy_sum){0};
	return (struct busy_sum){(double)(last->time_ns - first->time_ns), last->value - first->value,
				 step_rows_between(stretch->rows, stretch->process, first->time_ns, last->time_ns)};
}

static struct busy_sum sum_of(const struct points *points, const struct stretch *stretch)
{
	double outside = 0, before = value_at(points, stretch->from, true, &outside),
	       after = value_at(points, stretch->to, false, &outside);

	if (before < 0 || after < before || outside > GUESS_MOST * (double)(stretch->to - stretch->from))
		return sum_inside(points, stretch);
	return (struct busy_sum){(double)(stretch->to - stretch->from), after - before,
				 step_rows_between(stretch->rows, stretch->process, stretch->from, stretch->to)};
}

/* Between the readings around the steps, or the nearest that there are, *around; negative = not known. */
static double share_of(const struct points *points, const struct stretch *stretch, struct around *around)
{
	*around = (struct around){.from_ns = stretch->from, .to_ns = stretch->to};
	for (size_t i = 0; i < points->count && !around_is_whole(around); i++)
		around_add(around, points->items[i].time_ns, points->items[i].value);
	return around_is_known(around) ? (around->last - around->first) / (double)(around->last_ns - around->first_ns) : -1;
}

static void points_of_cpu(struct points *points, const struct process *process)
{
	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of == USE_OF_PROCESS && sample->has_use)
			add_point(points, sample->time_ns, (double)(sample->user_ns + sample->system_ns));
	}
}

/* Of a thread; what it waited before its process was recorded is nothing against a run. */
static void points_of_delay(struct points *points, const struct process *process, const struct thread *thread)
{
	uint64_t delay;

	for (size_t i = 0; thread && i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_TASK || sample->subject != thread->tid || sample->time_ns <= thread->start_ns ||
		    !use_value(&process->use, sample, USE_thread_delay, &delay))
			continue;
		if (!points->count && process->exec_before == PROCESS_NONE) /* the kernel goes on counting through an exec */
			add_point(points, thread->start_ns, 0);
		add_point(points, sample->time_ns, (double)delay);
	}
}

static void add(struct busy_sum *sum, struct busy_sum more, bool is_first)
{
	if (!is_first && (!sum->steps || !more.steps))
		*sum = (struct busy_sum){0};
	else
		*sum = (struct busy_sum){sum->all_ns + more.all_ns, sum->part_ns + more.part_ns, sum->steps + more.steps};
}

static const struct thread *first_thread(const struct process *process)
{
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].tid == process->pid)
			return &process->threads[i];
	return NULL;
}

/* *most: around which time the largest share is. */
static void add_process(struct busy *busy, struct around *most, const struct stretch *stretch, const struct run *run, uint32_t serial,
			bool is_first)
{
	const struct process *process = &run->processes[stretch->process];
	const struct thread *marks = process_thread(process, serial);
	struct points cpu = {0}, delay = {0};
	struct around around;
	double share;

	points_of_cpu(&cpu, process);
	points_of_delay(&delay, process, marks ? marks : first_thread(process));
	bool is_known = !process->unseen_count; /* else there were steps outside of windows, and nobody knows how many */
	add(&busy->cpu, is_known ? sum_of(&cpu, stretch) : (struct busy_sum){0}, is_first);
	add(&busy->delay, marks && is_known ? sum_of(&delay, stretch) : (struct busy_sum){0}, is_first);
	share = share_of(&delay, stretch, &around);
	if (share > busy->share) {
		busy->share = share;
		busy->process = stretch->process;
		*most = around;
	}
	free(cpu.items);
	free(delay.items);
}

/* What took the processors from the one whose share is the largest: of all that were recorded on its machine, so of one alone. */
static void add_reasons(struct busy *busy, const struct around *most, const struct run *run)
{
	struct busy_machine machine;

	busy->stretch_ns = (double)(most->to_ns - most->from_ns);
	busy->between_ns = (double)(most->last_ns - most->first_ns);
	busy->kept = machine_kept_from(&run->processes[busy->process], most->first_ns, most->last_ns);
	busy->own = busy_machine_find(&machine, run, busy->process, most->first_ns, most->last_ns) && machine.all_ns > 0
			    ? machine.own_ns / machine.all_ns
			    : -1;
}

/* Of the rows from `first` on the first judged one's thread. */
static uint32_t first_judged(const struct step_rows *rows, size_t first)
{
	while (!step_rows_judges(rows, first))
		first++;
	return rows->items[first]->unit.thread;
}

struct busy busy_find(const struct step_rows *rows, const struct request *request)
{
	struct busy busy = {.share = -1};
	struct around most = {0};
	bool is_first = true;

	for (size_t i = 0, end; i < rows->count; i = end) {
		struct stretch stretch = {.rows = rows, .process = rows->items[i]->process};
		if (!step_rows_ran(rows, stretch.process, &end, &stretch.from, &stretch.to))
			continue;
		add_process(&busy, &most, &stretch, request->run, first_judged(rows, i), is_first);
		is_first = false;
	}
	if (busy.share >= 0)
		add_reasons(&busy, &most, request->run);
	return busy;
}

/* The judged steps of one thread, which do not overlap, while time goes on. */
struct stepping {
	const struct step_rows *rows;
	struct step_pauses pauses; /* they are none of them */
	size_t at, end;
	uint32_t thread;
	int64_t from, to; /* the first one's start, the last one's end */
};

static bool is_of(const struct stepping *stepping, size_t i)
{
	const struct step_row *row = stepping->rows->items[i];

	return step_rows_judges(stepping->rows, i) && row->unit.thread == stepping->thread && !step_pauses_has(&stepping->pauses, row);
}

/* How much of a stretch steps took. */
static int64_t stepped_in(struct stepping *stepping, int64_t from, int64_t to)
{
	int64_t sum = 0;

	for (size_t i = stepping->at; i < stepping->end; i++) {
		int64_t start = stepping->rows->items[i]->start_ns, end = start + (int64_t)stepping->rows->items[i]->total_ns;
		if (start >= to)
			break;
		if (end <= from)
			stepping->at = i + 1;
		else if (is_of(stepping, i))
			sum += (end < to ? end : to) - (start > from ? start : from);
	}
	return sum;
}

static struct stepping stepping_of(const struct step_rows *rows, size_t first, size_t end)
{
	struct stepping stepping = {.rows = rows, .at = first, .end = end, .from = INT64_MAX, .to = INT64_MIN};

	while (stepping.at < end && !step_rows_judges(rows, stepping.at))
		stepping.at++;
	if (stepping.at < end) {
		stepping.thread = rows->items[stepping.at]->unit.thread;
		stepping.pauses = step_pauses_of(rows, first);
	}
	for (size_t i = stepping.at; i < end; i++) {
		int64_t start = rows->items[i]->start_ns, stop = start + (int64_t)rows->items[i]->total_ns;
		if (!is_of(&stepping, i))
			continue;
		stepping.from = start < stepping.from ? start : stepping.from;
		stepping.to = stop > stepping.to ? stop : stepping.to;
	}
	return stepping;
}

double busy_thread(const struct step_rows *rows, size_t first, size_t end, const struct process *process)
{
	struct stepping stepping = stepping_of(rows, first, end);
	const struct use_sample *before = NULL, *nearest = NULL, *last = NULL;
	double used = 0, time = 0;

	for (size_t i = 0; stepping.from < stepping.to && i < process->use.count; i++) {
		const struct use_sample *now = &process->use.samples[i];
		if (now->of != USE_OF_THREAD || !now->has_use || now->subject != stepping.thread)
			continue;
		if (before && stepped_in(&stepping, before->time_ns, now->time_ns) * 2 > now->time_ns - before->time_ns) {
			used += (double)(now->user_ns + now->system_ns - before->user_ns - before->system_ns);
			time += (double)(now->time_ns - before->time_ns);
		}
		before = now;
		if (!nearest || llabs(now->time_ns - stepping.from) < llabs(nearest->time_ns - stepping.from))
			nearest = now;
		if (!last || llabs(now->time_ns - stepping.to) <= llabs(last->time_ns - stepping.to))
			last = now;
	}
	if (time > 0)
		return used / time;
	if (!nearest || last->time_ns <= nearest->time_ns)
		return -1;
	return (double)(last->user_ns + last->system_ns - nearest->user_ns - nearest->system_ns) /
	       (double)(last->time_ns - nearest->time_ns);
}

/* What all processors of the machine spent on programs and in the kernel, as a process read it from `from` to `to`. */
static void points_of_machine(struct points *points, const struct process *process, int64_t from, int64_t to)
{
	uint64_t user, system;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of == USE_OF_PROCESS && sample->time_ns >= from && sample->time_ns <= to &&
		    use_value(&process->use, sample, USE_host_user, &user) && use_value(&process->use, sample, USE_host_system, &system))
			add_point(points, sample->time_ns, (double)user + (double)system);
	}
}

/* What all processors of the machine did, whatever it was, until a moment at which a process read it. */
static double spent_until(const struct process *process, int64_t moment)
{
	static const uint16_t parts[] = {USE_host_user, USE_host_system, USE_host_idle, USE_host_iowait, USE_host_stolen};
	double sum = 0;
	uint64_t value;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_PROCESS || sample->time_ns != moment || !use_value(&process->use, sample, USE_host_user, &value))
			continue;
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
			sum += use_value(&process->use, sample, parts[p], &value) ? (double)value : 0;
		break;
	}
	return sum;
}

/* Whether the machine has processors that a process may not use (taskset, a job's share of a node): what ran there took nothing from it. */
static bool has_share(const struct process *process, int64_t from, int64_t to)
{
	double processors = (spent_until(process, to) - spent_until(process, from)) / (double)(to - from);
	double allowed = (double)process_cpus(process);

	return allowed > 0 && processors > allowed + 0.5;
}

/* A process's processor time at a moment; before its first reading that of it, behind its last one that. */
static double used_at(const struct points *cpu, int64_t moment)
{
	double outside = 0, value = cpu->count ? value_at(cpu, moment, true, &outside) : 0;

	if (value >= 0)
		return value;
	return cpu->items[moment < cpu->items[0].time_ns ? 0 : cpu->count - 1].value;
}

bool busy_machine_find(struct busy_machine *machine, const struct run *run, size_t process, int64_t from, int64_t to)
{
	struct points points = {0};
	const struct point *first, *last;

	points_of_machine(&points, &run->processes[process], from, to);
	first = points.items;
	last = points.count ? &points.items[points.count - 1] : NULL;
	if (!last || (double)(last->time_ns - first->time_ns) < INSIDE_LEAST * (double)(to - from) || last->value <= first->value ||
	    has_share(&run->processes[process], first->time_ns, last->time_ns)) {
		free(points.items);
		return false;
	}
	*machine = (struct busy_machine){.all_ns = last->value - first->value};
	for (size_t i = 0; i < run->process_count; i++) {
		struct points cpu = {0};
		if (!process_shares_machine(&run->processes[i], &run->processes[process]))
			continue;
		points_of_cpu(&cpu, &run->processes[i]);
		machine->own_ns += used_at(&cpu, last->time_ns) - used_at(&cpu, first->time_ns);
		free(cpu.items);
	}
	free(points.items);
	return true;
}

/* From the first to the last reading of a thread, ns: what it waited before the first may be from before the exec. */
static double waited(const struct task_delays *delays, const struct thread *thread)
{
	size_t end, first = task_delays_of(delays, thread->tid, &end);

	while (first < end && delays->items[first].time_ns <= thread->start_ns)
		first++;
	return first < end ? (double)delays->items[end - 1].value - (double)delays->items[first].value : 0;
}

/* Adds the last readings of a process. Returns when the last one was; INT64_MIN = it has none. */
static int64_t add_last(struct busy_whole *whole, const struct process *process)
{
	const struct use_sample *last = NULL;
	struct task_delays delays = task_delays_find(process);

	for (size_t i = 0; i < process->use.count; i++)
		if (process->use.samples[i].of == USE_OF_PROCESS && process->use.samples[i].has_use)
			last = &process->use.samples[i];
	for (size_t t = 0; t < process->thread_count; t++)
		whole->delay_s += waited(&delays, &process->threads[t]) / 1e9;
	task_delays_free(&delays);
	if (last == NULL)
		return INT64_MIN;
	whole->has_use = true;
	whole->processes++;
	whole->user_s += (double)last->user_ns / 1e9;
	whole->system_s += (double)last->system_ns / 1e9;
	return last->time_ns;
}

struct busy_whole busy_of_run(const struct request *request)
{
	const struct run *run = request->run;
	struct busy_whole whole = {0};
	int64_t from = INT64_MAX, to = INT64_MIN;

	for (size_t i = 0; i < run->process_count; i++) {
		int64_t last = request_wants_process(request, &run->processes[i]) ? add_last(&whole, &run->processes[i]) : INT64_MIN;
		if (last == INT64_MIN)
			continue;
		from = run->processes[i].start_ns < from ? run->processes[i].start_ns : from;
		to = last > to ? last : to;
	}
	whole.seconds = to > from ? (double)(to - from) / 1e9 : 0;
	return whole;
}
