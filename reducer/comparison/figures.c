/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run has a name, a unit and one value.
 *
 * Rule: a value is read from the table that shows it, or from the steps as the tables count them; nothing is worked out anew.
 */
#include "reducer/comparison/figures.h"

#include <stdlib.h>
#include <string.h>

static void add(struct figures *figures, enum table_unit unit, double value, const char *help, const char *name, const char *of)
{
	struct text id = {0};

	text_string(&id, name);
	if (of)
		text_format(&id, ":%s", of);
	figures->items = base_grow(figures->items, &figures->room, figures->count + 1, sizeof(*figures->items));
	figures->items[figures->count++] = (struct figure){id.bytes, unit, value, help};
}

const struct figure *figures_find(const struct figures *figures, const char *id)
{
	for (size_t i = 0; i < figures->count; i++)
		if (strcmp(figures->items[i].id, id) == 0)
			return &figures->items[i];
	return NULL;
}

void figures_free(struct figures *figures)
{
	for (size_t i = 0; i < figures->count; i++)
		free(figures->items[i].id);
	free(figures->items);
	free(figures->steps);
	*figures = (struct figures){0};
}

struct request figures_plain(const struct request *request)
{
	struct request plain = *request;

	plain.name = NULL;
	plain.sort = NULL;
	plain.top = SIZE_MAX;
	plain.is_top_given = plain.is_text = false;
	return plain;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Nearest rank, as overview.steps has it. */
static double percentile(const struct figures *figures, size_t percent)
{
	return (double)figures->steps[(figures->step_count * percent + 99) / 100 - 1];
}

/* Mean of a judged step, of a part of its time. */
static double mean(const struct step_rows *rows, enum step_value value)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_judges(rows, i)) {
			sum += (double)step_value(rows->items[i], value);
			count++;
		}
	return count ? sum / (double)count : 0;
}

/* "input_ns" -> "input" */
static void add_part(struct figures *figures, const struct step_rows *rows, enum step_value value)
{
	char *id = base_copy(step_value_id(value), strlen(step_value_id(value)) - strlen("_ns"));

	add(figures, UNIT_NS, mean(rows, value), step_value_help(value), id, NULL);
	free(id);
}

static void add_steps(struct figures *figures, const struct request *request)
{
	static const enum step_value parts[] = {
		VALUE_COMPILATION, VALUE_OUTPUT,	   VALUE_INPUT,	       VALUE_KERNEL_LAUNCH, VALUE_HOST_COMPUTE,
		VALUE_COLLECTIVES, VALUE_DEVICE_TO_DEVICE, VALUE_COMPUTE,      VALUE_OTHER,	    VALUE_FORWARD,
		VALUE_BACKWARD,	   VALUE_OPTIMISER,	   VALUE_COMMUNICATION};
	struct step_rows rows;

	step_rows_find(&rows, request);
	figures->kind = rows.kind;
	figures->all_steps = rows.whole_count;
	figures->steps = base_alloc(rows.count + 1, sizeof(*figures->steps));
	for (size_t i = 0; i < rows.count; i++)
		if (step_rows_judges(&rows, i))
			figures->steps[figures->step_count++] = step_value(rows.items[i], VALUE_TOTAL);
	qsort(figures->steps, figures->step_count, sizeof(*figures->steps), by_size);
	if (figures->step_count && rows.kind != UNIT_WHOLE) {
		add(figures, UNIT_NS, percentile(figures, 50), "median time of a step", "step_p50", NULL);
		add(figures, UNIT_NS, mean(&rows, VALUE_TOTAL), "mean time of a step", "step_mean", NULL);
		add(figures, UNIT_NS, percentile(figures, 90), "9 of 10 steps took at most that", "step_p90", NULL);
		add(figures, UNIT_NS, percentile(figures, 99), "99 of 100 steps took at most that", "step_p99", NULL);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			add_part(figures, &rows, parts[i]);
		add(figures, UNIT_COUNT, (double)figures->step_count, "steps that are judged", "steps", NULL);
	}
	step_rows_free(&rows);
}

static double sum_column(const struct table_kind *kind, const struct request *request, const char *column)
{
	struct table *table = tables_make(kind, request);
	size_t at = table_find_column(kind, column);
	double sum = 0;

	for (size_t row = 0; row < table->shown_count; row++)
		if (table_is_known(table, row, at))
			sum += table_get_number(table, row, at);
	table_free(table);
	return sum;
}

/* The job's row of every allocator of memory.summary. */
static void add_memory(struct figures *figures, const struct request *request)
{
	static const struct {
		const char *column, *name, *help;
		enum table_unit unit;
	} wanted[] = {
		{"peak_bytes", "peak", "most usable bytes live at one time", UNIT_BYTES},
		{"live_bytes", "live", "usable bytes not given back at the end", UNIT_BYTES},
		{"allocated_bytes", "allocated", "usable bytes allocated in all", UNIT_BYTES},
		{"allocations", "allocations", "blocks allocated in all", UNIT_COUNT},
	};
	struct table *table = tables_make(&table_memory_summary, request);
	size_t scope = table_find_column(table->kind, "scope"), allocator = table_find_column(table->kind, "allocator"), length;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t column = table_find_column(table->kind, wanted[i].column);
		for (size_t row = 0; row < table->shown_count; row++) {
			const char *text = table_get_text(table, row, scope, &length);
			if (length != 3 || memcmp(text, "job", 3) != 0 || !table_is_known(table, row, column))
				continue;
			text = table_get_text(table, row, allocator, &length);
			char *of = base_copy(text, length);
			add(figures, wanted[i].unit, table_get_number(table, row, column), wanted[i].help, wanted[i].name, of);
			free(of);
		}
	}
	table_free(table);
}

void figures_make(struct figures *figures, const struct request *request)
{
	struct request plain = figures_plain(request);
	double kernels;

	*figures = (struct figures){0};
	add_steps(figures, &plain);
	add(figures, UNIT_NS, (double)plain.run->duration_ns, "from the start of the run to its end", "run", NULL);
	add_memory(figures, &plain);
	plain.group = GROUP_KERNEL;
	kernels = sum_column(&table_kernel_stats, &plain, "occurrences");
	if (kernels > 0)
		add(figures, UNIT_COUNT, kernels, "kernels that ran", "kernels", NULL);
}
