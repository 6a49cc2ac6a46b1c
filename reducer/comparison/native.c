/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.native: in which functions of native code the processor time of a step grew or shrank.
 *
 * Rule: by function and module's name; a function has the time of the C library and the language's runtime that it calls. All are
 * estimates by samples (tables/native_looks.h): what differs by less than twice its standard error is not called different.
 */
#include "reducer/comparison/looked.h"
#include "reducer/tables/native_looks.h"

#define TIME_HELP \
	"processor time of all threads, of a step where both runs have steps, else in all, in it and in what it called of the C library " \
	"and the language's runtime: "
static const struct table_column columns[] = {
	[LOOKED_NAME] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "as native_time has it"},
	[LOOKED_PLACE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 0, "the program or library that holds it"},
	LOOKED_COLUMNS(TIME_HELP),
	[LOOKED_VERDICT] = {"verdict", "verdict", TABLE_TEXT, UNIT_NONE, 0,
			     "slower, faster, no difference to tell (by the samples), or cannot tell: of steps alone (the error is)"},
};

const struct kept_kind kept_native = {
	.word = "native",
	.rows = "functions",
	.table = &table_comparison_native,
	.spec = {.kind = &table_native_time,
		 .keys = {"function", "module"},
		 .values = {"step_cpu_own_ns", "cpu_error_ns", "cpu_own_ns"},
		 .errors = 1u << LOOKED_ERROR_OF,
		 .rank = LOOKED_ALL},
	.is_recorded = native_looks_any,
};

static void fill(struct table *table, const struct request *request)
{
	struct kept_pair pair;

	if (!looked_compare(&pair, table, request, KEPT_NATIVE, "native"))
		return;
	looked_rows(table, &pair, &(struct looked_delays){0, 0});
	table_note(table, NOTE_INFO,
		   "Processor time alone, of samples: native_time tells how much of it they stand for, and what threads wait for.");
	kept_close(&pair);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_comparison_native = {
	.id = "comparison.native",
	.title = "Functions of native code of two runs",
	.help = "With --against: the processor time of each function of native code, with the C library and runtime that it calls, in the "
		"older run and in this one, the largest difference first.",
	.columns = columns,
	.column_count = LOOKED_COLUMN_COUNT,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 10,
	.needs_scan = true,
	.needs_base = true,
	.analyses = needs,
	.fill = fill,
};
