/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run has a name, a unit and one value.
 *
 * Rule: a value is read from the table that shows it, or from the steps as the tables count them; nothing is worked out anew.
 */
#include "reducer/comparison/figures.h"

#include "reducer/tables/gpu_rows.h"

#include "reducer/tables/busy.h"
#include "reducer/comparison/interval.h"

#include <stdlib.h>
#include <string.h>

#define PART_STEPS 4 /* of a stretch of a run at least */

struct figure *figures_add(struct figures *figures, const char *id, enum table_unit unit, enum figure_nature nature, double value,
			   const char *help)
{
	struct figure *figure;

	figures->items = base_grow(figures->items, &figures->room, figures->count + 1, sizeof(*figures->items));
	figure = &figures->items[figures->count++];
	*figure = (struct figure){.id = base_copy(id, strlen(id)),
				  .unit = unit,
				  .nature = nature,
				  .value = value,
				  .help = base_copy(help, strlen(help))};
	return figure;
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
	for (size_t i = 0; i < figures->count; i++) {
		free(figures->items[i].id);
		free(figures->items[i].help);
		free(figures->items[i].samples);
	}
	free(figures->items);
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

/* A figure of steps: what is taken of which value of theirs. */
struct of_steps {
	enum step_value value;
	unsigned percent; /* of 100 steps as many took at most that; 0 = the mean */
};

/* The judged steps, in the order in which they ran. */
struct judged_steps {
	const struct step_row **rows;
	uint64_t *values; /* room for as many */
	size_t count;
};

/* Of some of them. Percentiles by nearest rank, as overview.steps has them. */
static double take(const struct judged_steps *steps, size_t from, size_t count, struct of_steps what)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		steps->values[i] = step_value(steps->rows[from + i], what.value);
		sum += (double)steps->values[i];
	}
	if (!what.percent)
		return sum / (double)count;
	base_sort_naturals(steps->values, count);
	return (double)steps->values[(count * what.percent + 99) / 100 - 1];
}

/* Steps that a stretch must have, so that its figure is not that of one step. */
static size_t steps_needed(struct of_steps what)
{
	unsigned beyond = what.percent > 50 ? 100 - what.percent : what.percent;
	size_t needed = beyond ? 100 / beyond : 0;

	return needed < PART_STEPS ? PART_STEPS : needed;
}

static void add_of_steps(struct figures *figures, const struct judged_steps *steps, const char *id, struct of_steps what,
			 const char *help)
{
	struct figure *figure = figures_add(figures, id, UNIT_NS, FIGURE_WALL, take(steps, 0, steps->count, what), help);
	size_t parts = steps->count / steps_needed(what);

	parts = parts < FIGURES_PARTS ? parts : FIGURES_PARTS;
	figure->samples = base_alloc(parts + 1, sizeof(*figure->samples));
	for (size_t i = 0; i < parts; i++) {
		size_t from = steps->count * i / parts, to = steps->count * (i + 1) / parts;
		figure->samples[i] = take(steps, from, to - from, what);
	}
	figure->sample_count = parts;
}

/* "input_ns" -> "input" */
static void add_part(struct figures *figures, const struct judged_steps *steps, enum step_value value)
{
	char *id = base_copy(step_value_id(value), strlen(step_value_id(value)) - strlen("_ns"));

	add_of_steps(figures, steps, id, (struct of_steps){value, 0}, step_value_help(value));
	free(id);
}

/* What the steps had of the processors. */
static void add_processors(struct figures *figures, const struct step_rows *rows, const struct request *request)
{
	struct busy busy = busy_find(rows, request);

	figures->busy = busy.share;
	if (busy.cpu.steps > 0)
		figures_add(figures, FIGURES_CPU, UNIT_NS, FIGURE_TIME, busy.cpu.part_ns / busy.cpu.steps,
			    "processor time of a step: of its process, all threads, from the first step to the last, by their "
			    "number");
	if (!(busy.delay.steps > 0))
		return;
	figures_add(figures, "step_undelayed", UNIT_NS, FIGURE_TIME, (busy.delay.all_ns - busy.delay.part_ns) / busy.delay.steps,
		    "from the first step to the last without the time that their thread waited for a processor, by their number");
	figures_add(figures, "step_delay", UNIT_NS, FIGURE_WALL, busy.delay.part_ns / busy.delay.steps,
		    "time of a step in which its thread could have run and waited for a processor: the machine was busy");
}

static void add_judged(struct figures *figures, const struct judged_steps *steps)
{
	static const struct {
		const char *id;
		unsigned percent;
		const char *help;
	} times[] = {
		{FIGURES_STEP, 50, "median time of a step"},
		{"step_mean", 0, "mean time of a step"},
		{"step_p10", 10, "1 of 10 steps took at most that: what a step needs where little disturbs it"},
		{"step_p90", 90, "9 of 10 steps took at most that"},
		{"step_p99", 99, "99 of 100 steps took at most that"},
	};
	static const enum step_value parts[] = {
		VALUE_COMPILATION, VALUE_OUTPUT,	   VALUE_INPUT,	       VALUE_KERNEL_LAUNCH, VALUE_HOST_COMPUTE,
		VALUE_COLLECTIVES, VALUE_DEVICE_TO_DEVICE, VALUE_COMPUTE,      VALUE_OTHER,	    VALUE_FORWARD,
		VALUE_BACKWARD,	   VALUE_OPTIMISER,	   VALUE_COMMUNICATION};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		add_of_steps(figures, steps, times[i].id, (struct of_steps){VALUE_TOTAL, times[i].percent}, times[i].help);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		add_part(figures, steps, parts[i]);
}

static void add_steps(struct figures *figures, const struct request *request)
{
	struct judged_steps steps = {0};
	struct step_rows rows;

	step_rows_find(&rows, request);
	figures->kind = rows.kind;
	figures->all_steps = rows.whole_count;
	steps.rows = base_alloc(rows.count + 1, sizeof(*steps.rows));
	steps.values = base_alloc(rows.count + 1, sizeof(*steps.values));
	for (size_t i = 0; i < rows.count && rows.kind != UNIT_WHOLE; i++)
		if (step_rows_judges(&rows, i))
			steps.rows[steps.count++] = rows.items[i];
	figures->step_count = steps.count;
	if (steps.count) {
		add_judged(figures, &steps);
		add_processors(figures, &rows, request);
		figures_add(figures, "steps", UNIT_COUNT, FIGURE_FIXED, (double)steps.count, "steps that are judged");
	}
	free(steps.rows);
	free(steps.values);
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

/* The name comes from a log: what parts the words and lines of a baseline is written as \xNN. */
static void put_plain(struct text *id, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 127 || name[i] == '\\')
			text_format(id, "\\x%02x", (unsigned)(unsigned char)name[i]);
		else
			text_char(id, name[i]);
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
			struct text id = {0};
			text_format(&id, "%s:", wanted[i].name);
			put_plain(&id, text, length);
			figures_add(figures, id.bytes, wanted[i].unit, FIGURE_FIXED, table_get_number(table, row, column),
				    wanted[i].help);
			text_free(&id);
		}
	}
	table_free(table);
}

void figures_make(struct figures *figures, const struct request *request)
{
	struct request plain = figures_plain(request);
	double kernels;

	*figures = (struct figures){.run_count = 1, .busy = -1};
	add_steps(figures, &plain);
	figures_add(figures, "run", UNIT_NS, FIGURE_WALL, (double)plain.run->duration_ns, "from the start of the run to its end");
	add_memory(figures, &plain);
	plain.group = GROUP_KERNEL;
	kernels = sum_column(&table_kernel_stats, &plain, "occurrences");
	if (kernels > 0)
		figures_add(figures, "kernels", UNIT_COUNT, FIGURE_FIXED, kernels, "kernels that ran");
	if (kernels > 0)
		figures_add(figures, FIGURES_DEVICES, UNIT_COUNT, FIGURE_FIXED, (double)gpu_devices_used(&plain),
			    "devices that ran kernels");
}

static void join_figure(struct figures *joined, const struct figure *like, const struct figures *runs, size_t run_count)
{
	struct figure *figure = figures_add(joined, like->id, like->unit, like->nature, 0, like->help);
	double *values = base_alloc(run_count, sizeof(*values));

	figure->samples = base_alloc(run_count, sizeof(*figure->samples));
	for (size_t i = 0; i < run_count; i++) {
		const struct figure *of_run = figures_find(&runs[i], like->id);
		if (of_run)
			figure->samples[figure->sample_count++] = of_run->value;
	}
	memcpy(values, figure->samples, figure->sample_count * sizeof(*values));
	figure->value = base_median(values, figure->sample_count);
	free(values);
}

void figures_join(struct figures *joined, const struct figures *runs, size_t run_count)
{
	double *busy = base_alloc(run_count, sizeof(*busy));
	size_t known = 0;

	*joined = (struct figures){.run_count = run_count, .busy = -1, .kind = runs[run_count - 1].kind};
	for (size_t i = run_count; i-- > 0;) { /* the last run's order; then what only others have */
		joined->step_count += runs[i].step_count;
		joined->all_steps += runs[i].all_steps;
		if (runs[i].busy >= 0)
			busy[known++] = runs[i].busy;
		for (size_t k = 0; k < runs[i].count; k++)
			if (!figures_find(joined, runs[i].items[k].id))
				join_figure(joined, &runs[i].items[k], runs, run_count);
	}
	if (known)
		joined->busy = base_median(busy, known);
	free(busy);
}

double figures_steps(const struct request *request)
{
	struct step_rows rows;
	double steps;

	step_rows_find(&rows, request);
	steps = rows.kind == UNIT_WHOLE ? 0 : (double)rows.whole_count;
	step_rows_free(&rows);
	return steps;
}
