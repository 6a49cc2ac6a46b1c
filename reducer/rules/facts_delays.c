/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about threads that waited for a processor, as the kernel tells it.
 *
 * Rule: work follows threads, steps and readings, each gone through once: a look at one of them searches what was sorted.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/busy.h"
#include "reducer/tables/step_cover.h"
#include "reducer/tables/task_delays.h"

#include <math.h>
#include <stdlib.h>

#define READING_NS 1100000000 /* the kernel's figures of a thread are read once a second */

/* Of one process. */
struct delays {
	const struct process *process;
	struct task_delays tasks;
	struct step_cover judged; /* evaluation and the ends of epochs lie in none */
};

static int by_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static struct delays delays_find(const struct request *request, const struct step_rows *rows, size_t p)
{
	const struct process *process = &request->run->processes[p];
	struct delays delays = {.process = process, .tasks = task_delays_find(process)};
	size_t end;

	for (size_t i = step_rows_of(rows, p, &end); i < end; i++)
		if (step_rows_judges(rows, i))
			step_cover_add(&delays.judged, rows->items[i]->start_ns, (int64_t)rows->items[i]->total_ns);
	step_cover_unite(&delays.judged);
	return delays;
}

static void delays_free(struct delays *delays)
{
	task_delays_free(&delays->tasks);
	free(delays->judged.items);
}

/* What of the time between two readings lies in judged steps, in ns. */
static int64_t inside_steps(const struct delays *delays, int64_t from_ns, int64_t to_ns)
{
	const struct step_cover *judged = &delays->judged;
	size_t low = 0, high = judged->count;
	int64_t inside = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (judged->items[middle].to_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < judged->count && judged->items[low].from_ns < to_ns; low++) {
		int64_t from = judged->items[low].from_ns > from_ns ? judged->items[low].from_ns : from_ns;
		int64_t to = judged->items[low].to_ns < to_ns ? judged->items[low].to_ns : to_ns;
		inside += to > from ? to - from : 0;
	}
	return inside;
}

/*
 * How long a thread at least waited for a processor during the steps: its totals, as the kernel tells them, at both ends.
 * A thread begins with nothing, but the first one, which had another program's time before the exec. Readings lie outside of
 * the steps: all the time between two that is not of steps may have been waiting, and is taken off.
 */
static bool delay_of(const struct rule_facts *facts, const struct delays *delays, const struct thread *thread, double *ns)
{
	bool has_steps = facts_known(facts, FACT_step_time_ns), has_first = thread->tid != delays->process->pid, has_last = false;
	uint64_t first = 0, last = 0;
	int64_t from = thread->start_ns, to = 0;
	size_t end;

	for (size_t i = task_delays_of(&delays->tasks, thread->tid, &end); i < end; i++) {
		int64_t time_ns = delays->tasks.items[i].time_ns;
		if (has_steps && time_ns > facts->steps_end_ns + READING_NS)
			continue;
		if (!has_first || (has_steps && time_ns <= facts->steps_from_ns)) {
			first = delays->tasks.items[i].value;
			from = time_ns;
			has_first = true;
			continue;
		}
		last = delays->tasks.items[i].value;
		to = time_ns;
		has_last = true;
	}
	if (!has_last)
		return false;
	*ns = last > first ? (double)(last - first) : 0;
	if (has_steps)
		*ns -= (double)(to - from - inside_steps(delays, from, to));
	*ns = *ns > 0 ? *ns : 0;
	return true;
}

/* Serials, each perhaps several times; sorted by the caller. */
struct serials {
	uint32_t *items;
	size_t count;
};

static bool has_serial(const struct serials *serials, uint32_t serial)
{
	return bsearch(&serial, serials->items, serials->count, sizeof(serial), by_number) != NULL;
}

static struct serials of_launching(const struct gpu *gpu)
{
	struct serials serials = {base_alloc(gpu->kernel_count + 1, sizeof(uint32_t)), 0};

	for (size_t i = 0; i < gpu->kernel_count; i++)
		if (gpu->kernels[i].thread)
			serials.items[serials.count++] = gpu->kernels[i].thread;
	qsort(serials.items, serials.count, sizeof(uint32_t), by_number);
	return serials;
}

/* Those that begin the steps that are counted. */
static struct serials of_stepping(const struct process *process)
{
	struct serials serials = {base_alloc(process->step_count + 1, sizeof(uint32_t)), 0};

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen)
			serials.items[serials.count++] = process->steps[i].thread;
	qsort(serials.items, serials.count, sizeof(uint32_t), by_number);
	return serials;
}

/* Of threads that launch kernels. */
static void take_delays(struct rule_facts *facts, const struct delays *delays, const struct gpu *gpu)
{
	const struct process *process = delays->process;
	struct serials launching = of_launching(gpu);
	double ns;

	for (size_t i = 0; i < process->thread_count; i++) {
		uint32_t tid = process->threads[i].tid;
		if (!has_serial(&launching, process->threads[i].serial) || !delay_of(facts, delays, &process->threads[i], &ns))
			continue;
		if (!facts_known(facts, FACT_launch_delay_ns) || ns > facts_value(facts, FACT_launch_delay_ns))
			facts_own(facts, FACT_launch_delay_ns, ns, "host_usage", "thread_delay_ns", "process=%u,thread=%u",
				  process->pid, tid);
	}
	free(launching.items);
}

/* Adds up those of the threads that run the steps; false where one has no word of it. */
static bool add_step_delays(const struct rule_facts *facts, const struct delays *delays, double *sum, size_t *threads)
{
	const struct process *process = delays->process;
	struct serials stepping = of_stepping(process);
	bool is_known = true;
	double ns;

	for (size_t i = 0; i < process->thread_count && is_known; i++) {
		if (!has_serial(&stepping, process->threads[i].serial))
			continue;
		is_known = delay_of(facts, delays, &process->threads[i], &ns);
		*sum += is_known ? ns : 0;
		*threads += 1;
	}
	free(stepping.items);
	return is_known;
}

/* Who had the processors meanwhile, as the process of the first judged step read it. */
static void gather_machine(struct rule_facts *facts, const struct request *request, const struct step_rows *rows)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	size_t process = SIZE_MAX;
	struct busy_machine machine;

	for (size_t i = 0; i < rows->count; i++) {
		const struct step_row *row = rows->items[i];
		int64_t end = row->start_ns + (int64_t)row->total_ns;
		if (!step_rows_judges(rows, i))
			continue;
		process = process == SIZE_MAX ? row->process : process;
		from = row->start_ns < from ? row->start_ns : from;
		to = end > to ? end : to;
	}
	if (process == SIZE_MAX || !busy_machine_find(&machine, request->run, process, from, to))
		return;
	facts_own(facts, FACT_machine_busy_ns, floor(machine.all_ns), "host_usage", "host_user_ns", "process=%u, with host_system_ns",
		  request->run->processes[process].pid);
	facts_own(facts, FACT_own_busy_ns, floor(machine.own_ns), "host_usage", "user_ns", "%s", "with system_ns");
}

void facts_gather_delays(struct rule_facts *facts, const struct request *request)
{
	bool has_steps = facts_known(facts, FACT_step_time_ns), is_known = true;
	struct step_rows rows;
	double sum = 0;
	size_t threads = 0;

	step_rows_find(&rows, request);
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct gpu *gpu = facts_gpu(request, p);
		bool is_wanted = has_steps && request_wants_process(request, &request->run->processes[p]);
		struct delays delays;
		if (!gpu && !is_wanted)
			continue;
		delays = delays_find(request, &rows, p);
		if (gpu)
			take_delays(facts, &delays, gpu);
		if (is_wanted)
			is_known = is_known && add_step_delays(facts, &delays, &sum, &threads);
		delays_free(&delays);
	}
	if (has_steps)
		gather_machine(facts, request, &rows);
	/* Their steps are added up too. Without a word of one of them nothing is known. */
	if (threads && is_known)
		facts_own(facts, FACT_step_delay_ns, sum, "host_usage", "thread_delay_ns", "%s", "");
	step_rows_free(&rows);
}
