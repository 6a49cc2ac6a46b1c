/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that join cells of one row of a table, or rows with what else is known.
 *
 * Rule: a cell is asked for by its column's id, and what is empty makes nothing known.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/step_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READING_NS 1100000000 /* the kernel's figures of a thread are read once a second */

static bool cell(const struct table *table, size_t row, const char *column, double *value)
{
	size_t at = table_find_column(table->kind, column);

	if (at == SIZE_MAX || !table_is_known(table, row, at))
		return false;
	*value = table_get_number(table, row, at);
	return true;
}

static bool is_text(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool is_launching(const struct process *process, uint32_t tid)
{
	uint32_t serial = 0;

	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].tid == tid)
			serial = process->threads[i].serial;
	for (size_t i = 0; serial && i < process->gpu->kernel_count; i++)
		if (process->gpu->kernels[i].thread == serial)
			return true;
	return false;
}

/* What of the time between two readings lies in judged steps of a process, in ns: evaluation and the ends of epochs lie in none. */
static int64_t inside_steps(const struct step_rows *rows, size_t process, int64_t from_ns, int64_t to_ns)
{
	int64_t inside = 0, covered = from_ns;

	for (size_t i = 0; i < rows->count; i++) { /* by start: those of several threads overlap */
		const struct step_row *row = rows->items[i];
		int64_t from = row->start_ns, to = from + (int64_t)row->total_ns;
		if (row->process != process || !step_rows_judges(rows, i))
			continue;
		from = from > covered ? from : covered;
		to = to < to_ns ? to : to_ns;
		inside += to > from ? to - from : 0;
		covered = to > covered ? to : covered;
	}
	return inside;
}

/*
 * How long a thread at least waited for a processor during the steps: its totals, as the kernel tells them, at both ends.
 * A thread begins with nothing, but the first one, which had another program's time before the exec. Readings lie outside of
 * the steps: all the time between two that is not of steps may have been waiting, and is taken off.
 */
static bool delay_of(const struct rule_facts *facts, const struct request *request, const struct step_rows *rows, size_t p,
		     const struct thread *thread, double *ns)
{
	const struct process *process = &request->run->processes[p];
	bool has_steps = facts_known(facts, FACT_step_time_ns), has_first = thread->tid != process->pid, has_last = false;
	uint64_t first = 0, last = 0, value;
	int64_t from = thread->start_ns, to = 0;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_TASK || sample->subject != thread->tid ||
		    !use_value(&process->use, sample, USE_thread_delay, &value) ||
		    (has_steps && sample->time_ns > facts->steps_end_ns + READING_NS))
			continue;
		if (!has_first || (has_steps && sample->time_ns <= facts->steps_from_ns)) {
			first = value;
			from = sample->time_ns;
			has_first = true;
			continue;
		}
		last = value;
		to = sample->time_ns;
		has_last = true;
	}
	if (!has_last)
		return false;
	*ns = last > first ? (double)(last - first) : 0;
	if (has_steps)
		*ns -= (double)(to - from - inside_steps(rows, p, from, to));
	*ns = *ns > 0 ? *ns : 0;
	return true;
}

static void take_delays(struct rule_facts *facts, const struct request *request, const struct step_rows *rows, size_t p)
{
	const struct process *process = &request->run->processes[p];
	double ns;

	for (size_t i = 0; i < process->thread_count; i++) {
		uint32_t tid = process->threads[i].tid;
		if (!is_launching(process, tid) || !delay_of(facts, request, rows, p, &process->threads[i], &ns))
			continue;
		if (!facts_known(facts, FACT_launch_delay_ns) || ns > facts_value(facts, FACT_launch_delay_ns))
			facts_own(facts, FACT_launch_delay_ns, ns, "host_usage", "thread_delay_ns", "process=%u,thread=%u",
				  process->pid, tid);
	}
}

/* Does a thread begin the steps that are counted? */
static bool is_stepping(const struct process *process, uint32_t serial)
{
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen && process->steps[i].thread == serial)
			return true;
	return false;
}

/* The threads that run the steps, of all processes: their steps are added up too. Without a word of one of them nothing is known.
 */
static void gather_step_delay(struct rule_facts *facts, const struct request *request, const struct step_rows *rows)
{
	double sum = 0;
	size_t threads = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; k < process->thread_count && request_wants_process(request, process); k++) {
			double ns;
			if (!is_stepping(process, process->threads[k].serial))
				continue;
			if (!delay_of(facts, request, rows, i, &process->threads[k], &ns))
				return;
			sum += ns;
			threads++;
		}
	}
	if (threads)
		facts_own(facts, FACT_step_delay_ns, sum, "host_usage", "thread_delay_ns", "%s", "");
}

static void gather_delays(struct rule_facts *facts, const struct request *request)
{
	struct step_rows rows;

	step_rows_find(&rows, request);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (facts_gpu(request, i))
			take_delays(facts, request, &rows, i);
	if (facts_known(facts, FACT_step_time_ns))
		gather_step_delay(facts, request, &rows);
	step_rows_free(&rows);
}

/* The worst fragmentation that an allocator told, with how much it had free then. */
static void gather_fragmentation(struct rule_facts *facts, const struct request *request)
{
	struct table *table = tables_make(&table_memory_allocators, request);
	size_t name = table_find_column(table->kind, "allocator");

	for (size_t row = 0; row < table->shown_count && name != SIZE_MAX; row++) {
		double value, capacity, unused;
		size_t length;
		const char *text;
		if (!cell(table, row, "fragmentation", &value) ||
		    (facts_known(facts, FACT_fragmentation) && value <= facts_value(facts, FACT_fragmentation)))
			continue;
		text = table_get_text(table, row, name, &length);
		facts_own(facts, FACT_fragmentation, value, "memory.allocators", "fragmentation", "allocator=%.*s",
			  (int)(length < 100 ? length : 100), text);
		snprintf(facts->facts[FACT_fragmentation].label, FACT_LABEL, "%.*s", (int)(length < 100 ? length : 100), text);
		if (cell(table, row, "free_bytes", &unused) && cell(table, row, "capacity_bytes", &capacity) && capacity > 0)
			facts_own(facts, FACT_fragmented_free_percent, 100 * unused / capacity, "memory.allocators", "free_bytes",
				  "%s", facts->facts[FACT_fragmentation].proof.rows);
	}
	table_free(table);
}

/* Where ops ran, of a program whose framework places them. */
static void gather_placement(struct rule_facts *facts, const struct request *request)
{
	struct table *table;
	size_t what;

	if (!facts_known(facts, FACT_tensorflow))
		return;
	table = tables_make(&table_overview_placement, request);
	what = table_find_column(table->kind, "what");
	for (size_t row = 0; row < table->shown_count && what != SIZE_MAX; row++) {
		double value;
		size_t length;
		const char *text = table_get_text(table, row, what, &length);
		if (!cell(table, row, "value", &value))
			continue;
		if (is_text(text, length, "ops placed on a device"))
			facts_own(facts, FACT_ops_device, value, "overview.placement", "value", "what=%.*s", (int)length, text);
		else if (is_text(text, length, "ops placed on the host"))
			facts_own(facts, FACT_ops_host, value, "overview.placement", "value", "what=%.*s", (int)length, text);
	}
	table_free(table);
}

void facts_gather_tables(struct rule_facts *facts, const struct request *request)
{
	gather_delays(facts, request);
	gather_fragmentation(facts, request);
	gather_placement(facts, request);
}
