/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.split: what the time of all steps together went into; overview.steps: how it varies from step to step.
 *
 * Rule: both speak of the steps whose end is known. Percentiles are by nearest rank; the deviation is that of a sample.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/step_changes.h"
#include "reducer/tables/step_values.h"

#include <math.h>
#include <stdlib.h>

enum { CATEGORY, EXPOSED, PER_STEP, SHARE, STEADY, STEADY_STEP, STEADY_SHARE, OVERLAPPED, VALUE, HELP, SPLIT_COLUMNS };
static const struct table_column split_columns[] = {
	[CATEGORY] = {"category", "part", TABLE_TEXT, UNIT_NONE, 0, "what the time went into"},
	[EXPOSED] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "of all steps; the parts sum to the time of the steps"},
	[PER_STEP] = {"per_step_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "total_ns by the number of steps"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "of the time of all steps"},
	[STEADY] = {"steady_ns", "judged time", TABLE_INTEGER, UNIT_NS, 2,
		    "of the steps that are judged: of more than five all but the first, unless the log tells that others came before it"},
	[STEADY_STEP] = {"steady_step_ns", "a judged step", TABLE_INTEGER, UNIT_NS, 1, "steady_ns by the number of those"},
	[STEADY_SHARE] = {"steady_share", "judged", TABLE_REAL, UNIT_RATIO, 0,
			  "of the time of the steps that are judged: what overview.verdict speaks of"},
	[OVERLAPPED] = {"overlapped_ns", "hidden", TABLE_INTEGER, UNIT_NS, 1,
			"went on as well while the time counted for another part; in no share"},
	[VALUE] = {"column", "column", TABLE_TEXT, UNIT_NONE, 2, "of step_stats that has it step by step"},
	[HELP] = {"meaning", "meaning", TABLE_TEXT, UNIT_NONE, 3, "what counts"},
};

/* The parts that people know, in the order in which they read them. */
static const struct {
	const char *name;
	enum step_value value, hidden; /* hidden: STEP_VALUES = nothing hides it */
} split_rows[] = {
	{"compilation", VALUE_COMPILATION, VALUE_COMPILATION_HIDDEN},
	{"output", VALUE_OUTPUT, VALUE_OUTPUT_HIDDEN},
	{"input", VALUE_INPUT, VALUE_INPUT_HIDDEN},
	{"kernel launch", VALUE_KERNEL_LAUNCH, VALUE_KERNEL_LAUNCH_HIDDEN},
	{"host compute", VALUE_HOST_COMPUTE, VALUE_HOST_COMPUTE_HIDDEN},
	{"device collectives", VALUE_COLLECTIVES, VALUE_COLLECTIVES_HIDDEN},
	{"device to device", VALUE_DEVICE_TO_DEVICE, VALUE_DEVICE_TO_DEVICE_HIDDEN},
	{"device compute", VALUE_COMPUTE, STEP_VALUES},
	{"communication", VALUE_HOST_COMMUNICATION, VALUE_HOST_COMMUNICATION_HIDDEN},
	{"other", VALUE_OTHER, STEP_VALUES},
};

static uint64_t sum_of(const struct step_rows *rows, enum step_value value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_counts(rows, rows->items[i]))
			sum += step_value(rows->items[i], value);
	return sum;
}

static uint64_t steady_sum(const struct step_rows *rows, enum step_value value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_judges(rows, i))
			sum += step_value(rows->items[i], value);
	return sum;
}

static void put_steady(struct table *table, const struct step_rows *rows, enum step_value value)
{
	uint64_t sum = steady_sum(rows, value), all = steady_sum(rows, VALUE_TOTAL);

	table_integer(table, STEADY, (int64_t)sum);
	table_integer(table, STEADY_STEP, (int64_t)(sum / (rows->judged_count ? rows->judged_count : rows->whole_count)));
	if (all)
		table_real(table, STEADY_SHARE, (double)sum / (double)all);
}

static void note_none(struct table *table, const struct step_rows *rows)
{
	struct text why = {0};

	if (rows->count)
		return;
	step_rows_say_none(&why, rows);
	table_note(table, rows->all_count ? NOTE_INFO : NOTE_MISSING, rows->all_count ? "%s." : "%s: step_stats says what marks steps.",
		   why.bytes);
	text_free(&why);
}

static void fill_split(struct table *table, const struct request *request)
{
	struct step_rows rows;
	uint64_t all;

	step_rows_find(&rows, request);
	all = sum_of(&rows, VALUE_TOTAL);
	for (size_t i = 0; i < sizeof(split_rows) / sizeof(split_rows[0]) && rows.whole_count; i++) {
		uint64_t exposed = sum_of(&rows, split_rows[i].value);
		table_row(table);
		table_string(table, CATEGORY, split_rows[i].name);
		table_integer(table, EXPOSED, (int64_t)exposed);
		table_integer(table, PER_STEP, (int64_t)(exposed / rows.whole_count));
		if (all)
			table_real(table, SHARE, (double)exposed / (double)all);
		put_steady(table, &rows, split_rows[i].value);
		if (split_rows[i].hidden != STEP_VALUES)
			table_integer(table, OVERLAPPED, (int64_t)sum_of(&rows, split_rows[i].hidden));
		table_string(table, VALUE, step_value_id(split_rows[i].value));
		table_string(table, HELP, step_value_help(split_rows[i].value));
	}
	if (rows.whole_count)
		table_note(table, NOTE_INFO, "%zu %s%s; %zu more without an end in the log: not counted.", rows.whole_count,
			   rows.kind == UNIT_WHOLE ? "whole process" : unit_kind_name(rows.kind),
			   rows.whole_count == 1     ? ""
			   : rows.kind == UNIT_WHOLE ? "es"
						     : "s",
			   rows.count - rows.whole_count - rows.unrecorded);
	step_rows_note_first(table, &rows, request);
	note_none(table, &rows);
	step_rows_notes(table, request, &rows);
	notes_recording(table, request);
	step_rows_free(&rows);
}

enum { STATISTIC, COUNT, VALUES, STEPS_COLUMNS = VALUES + STEP_VALUES };
static const struct table_column steps_columns[] = {
	[STATISTIC] = {"statistic", "statistic", TABLE_TEXT, UNIT_NONE, 0,
		       "mean, deviation (of a sample), min, max, mad (median distance from the median), p50, p90, p99"},
	[COUNT] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 1, "how many it is of"},
#define STEP_VALUE(symbol, id, header, detail, help)                                                                             \
	[VALUES + VALUE_##symbol] = {id, header, TABLE_INTEGER, UNIT_NS, detail, help},
#include "reducer/tables/step_values.def"
#undef STEP_VALUE
};
enum { MEAN, DEVIATION, LEAST, MOST, MAD, P50, P90, P99, STATISTICS };

/* Nearest rank: the smallest that at least `percent` of all are not above. */
static uint64_t percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
	return sorted[(count * percent + 99) / 100 - 1];
}

/* `values`: sorted on return. */
static void statistics_of(uint64_t *values, size_t count, uint64_t *found)
{
	double sum = 0, squares = 0, mean;
	uint64_t *distances = base_alloc(count, sizeof(*distances));

	base_sort_naturals(values, count);
	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += ((double)values[i] - mean) * ((double)values[i] - mean);
	found[MEAN] = (uint64_t)(mean + 0.5);
	found[DEVIATION] = count < 2 ? 0 : (uint64_t)(sqrt(squares / (double)(count - 1)) + 0.5);
	found[LEAST] = values[0];
	found[MOST] = values[count - 1];
	found[P50] = percentile(values, count, 50);
	found[P90] = percentile(values, count, 90);
	found[P99] = percentile(values, count, 99);
	for (size_t i = 0; i < count; i++)
		distances[i] = values[i] > found[P50] ? values[i] - found[P50] : found[P50] - values[i];
	base_sort_naturals(distances, count);
	found[MAD] = percentile(distances, count, 50);
	free(distances);
}

static void fill_steps(struct table *table, const struct request *request)
{
	static const char *const names[STATISTICS] = {"mean", "deviation", "min", "max", "mad", "p50", "p90", "p99"};
	uint64_t found[STEP_VALUES][STATISTICS] = {0}, *values;
	struct step_rows rows;

	step_rows_find(&rows, request);
	values = base_alloc(rows.whole_count + 1, sizeof(*values));
	for (enum step_value v = 0; v < STEP_VALUES && rows.whole_count; v++) {
		size_t count = 0;
		for (size_t i = 0; i < rows.count; i++)
			if (step_rows_counts(&rows, rows.items[i]))
				values[count++] = step_value(rows.items[i], v);
		statistics_of(values, count, found[v]);
	}
	for (size_t s = 0; s < STATISTICS && rows.whole_count; s++) {
		table_row(table);
		table_string(table, STATISTIC, names[s]);
		table_integer(table, COUNT, (int64_t)rows.whole_count);
		for (enum step_value v = 0; v < STEP_VALUES; v++)
			if (s != DEVIATION || rows.whole_count > 1)
				table_integer(table, VALUES + (size_t)v, (int64_t)found[v][s]);
	}
	note_none(table, &rows);
	step_changes_note(table, &rows, request);
	step_rows_notes(table, request, &rows);
	free(values);
	step_rows_free(&rows);
}

#define STEP_FILTERS (FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD)
static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_overview_split = {
	.id = "overview.split",
	.title = "Where the time of the steps goes",
	.help = "The time of all steps (or requests) by what it went into: input, launches, host, device, the rest; what is "
		"hidden apart.",
	.columns = split_columns,
	.column_count = SPLIT_COLUMNS,
	.filters = STEP_FILTERS,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill_split,
};
const struct table_kind table_overview_steps = {
	.id = "overview.steps",
	.title = "How steps vary",
	.help = "Mean, deviation, minimum, maximum and percentiles of the time of steps and of each of its parts.",
	.columns = steps_columns,
	.column_count = STEPS_COLUMNS,
	.filters = STEP_FILTERS,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill_steps,
};
