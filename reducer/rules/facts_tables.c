/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that join cells of one row of a table, or rows with what else is known.
 *
 * Rule: a cell is asked for by its column's id, and what is empty makes nothing known.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	for (size_t i = 0; serial && process->gpu && i < process->gpu->kernel_count; i++)
		if (process->gpu->kernels[i].thread == serial)
			return true;
	return false;
}

/* The time that each launching thread waited for a processor during the steps, as the kernel tells it. */
struct delays {
	struct {
		uint32_t pid, tid;
		double ns;
	} list[64];
	size_t count;
};

static void add_delay(struct delays *delays, uint32_t pid, uint32_t tid, double ns)
{
	size_t i = 0;

	while (i < delays->count && (delays->list[i].pid != pid || delays->list[i].tid != tid))
		i++;
	if (i == sizeof(delays->list) / sizeof(delays->list[0]))
		return;
	if (i == delays->count) {
		delays->list[delays->count].pid = pid;
		delays->list[delays->count].tid = tid;
		delays->list[delays->count++].ns = 0;
	}
	delays->list[i].ns += ns;
}

static void take_reading(struct delays *delays, const struct rule_facts *facts, const struct request *request,
			 const struct table *table, size_t row)
{
	double time, pid, tid, delay;

	if (!cell(table, row, "time_ns", &time) || !cell(table, row, "process", &pid) || !cell(table, row, "thread", &tid) ||
	    !cell(table, row, "thread_delay_ns", &delay))
		return;
	if (facts_known(facts, FACT_whole_ns) && (time < (double)facts->steps_from_ns || time > (double)facts->steps_to_ns))
		return;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].pid == (uint32_t)pid && is_launching(&request->run->processes[i], (uint32_t)tid)) {
			add_delay(delays, (uint32_t)pid, (uint32_t)tid, delay);
			return;
		}
}

static void gather_delays(struct rule_facts *facts, const struct request *request)
{
	struct delays delays = {0};
	struct table *table;
	size_t worst = 0;
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++)
		any |= facts_gpu(request, i) && facts_gpu(request, i)->kernel_count > 0;
	if (!any)
		return;
	table = tables_make(&table_host_usage, request);
	for (size_t row = 0; row < table->shown_count; row++)
		take_reading(&delays, facts, request, table, row);
	table_free(table);
	for (size_t i = 1; i < delays.count; i++)
		worst = delays.list[i].ns > delays.list[worst].ns ? i : worst;
	if (delays.count)
		facts_own(facts, FACT_launch_delay_ns, delays.list[worst].ns, "host_usage", "thread_delay_ns",
			  "process=%u,thread=%u", delays.list[worst].pid, delays.list[worst].tid);
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
		double value, of;
		size_t length;
		const char *text = table_get_text(table, row, what, &length);
		if (!cell(table, row, "value", &value) || !cell(table, row, "of", &of))
			continue;
		if (is_text(text, length, "ops placed on a device"))
			facts_own(facts, FACT_ops_device, value, "overview.placement", "value", "what=%.*s", (int)length, text);
		else if (is_text(text, length, "ops placed on the host"))
			facts_own(facts, FACT_ops_host, value, "overview.placement", "value", "what=%.*s", (int)length, text);
		else if (is_text(text, length, "host op time (ns) run eagerly") && of > 0)
			facts_own(facts, FACT_eager_percent, 100 * value / of, "overview.placement", "value", "what=%.*s",
				  (int)length, text);
	}
	table_free(table);
}

void facts_gather_tables(struct rule_facts *facts, const struct request *request)
{
	gather_delays(facts, request);
	gather_fragmentation(facts, request);
	gather_placement(facts, request);
}
