/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that join cells of one row of a table, or rows with what else is known.
 *
 * Rule: a cell is asked for by its column's id, and what is empty makes nothing known.
 */
#include "reducer/rules/facts_own.h"

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
	facts_gather_delays(facts, request);
	facts_gather_machine(facts, request);
	gather_fragmentation(facts, request);
	gather_placement(facts, request);
}
