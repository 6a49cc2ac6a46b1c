/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.python: in which functions of the script the time of a step grew or shrank.
 *
 * Rule: by function and file (wherever it lies), for lines move from one version to the next; a function has the time of the libraries
 * that it calls. All are estimates by looks (tables/python_looks.h): what differs by less than twice its standard error is not
 * called different, nor what may be the wait for a processor alone, of which no look tells in what function it was.
 */
#include "reducer/comparison/looked.h"
#include "reducer/comparison/moved.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_HELP "of a step where both runs have steps, else in all, in it and in the libraries that it called: "
static const struct table_column columns[] = {
	[LOOKED_NAME] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "qualified name; before Python 3.11 the plain one"},
	[LOOKED_PLACE] = {"file", "file", TABLE_TEXT, UNIT_NONE, 0, "as the code object has it"},
	LOOKED_COLUMNS(TIME_HELP),
	[LOOKED_VERDICT] = {"verdict", "verdict", TABLE_TEXT, UNIT_NONE, 0,
			     "slower, faster, no difference to tell (by the looks), or cannot tell: busy (it may be the wait for a "
			     "processor), of steps alone (the error is)"},
};

const struct kept_kind kept_python = {
	.word = "python",
	.rows = "functions",
	.table = &table_comparison_python,
	.spec = {.kind = &table_python_time,
		 .keys = {"function", "file"},
		 .values = {"step_own_ns", "own_error_ns", "time_own_ns"},
		 .errors = 1u << LOOKED_ERROR_OF,
		 .rank = LOOKED_ALL},
	.is_recorded = python_looks_any,
};

/* Of a mean run of each side. */
static struct looked_delays delays_of(const struct kept_pair *pair)
{
	const struct kept *before = pair->before_side, *after = pair->after_side;
	bool has_steps = pair->basis.has_steps;

	return (struct looked_delays){(has_steps ? before->step_delay_ns : before->delay_ns) / (double)before->run_count,
				      (has_steps ? after->step_delay_ns : after->delay_ns) / (double)after->run_count};
}

static void fill(struct table *table, const struct request *request)
{
	struct kept_pair pair;
	struct looked_delays delays;
	size_t moved;

	if (!looked_compare(&pair, table, request, KEPT_PYTHON, "Python"))
		return;
	delays = delays_of(&pair);
	moved = moved_join(&pair.join, looked_value(&pair));
	looked_rows(table, &pair, &delays);
	if (moved)
		table_note(table, NOTE_INFERRED,
			   "%zu function%s in files of the same name in another folder %s taken for the same: by the ends of their paths.",
			   moved, moved == 1 ? "" : "s", moved == 1 ? "was" : "were");
	if (delays.before > 0 || delays.after > 0)
		table_note(table, NOTE_INFERRED,
			   "Wall time, also that in which other work had the processors: %.2f ms of %s before, %.2f ms now. No look tells "
			   "in which function that was: what differs by less is not called slower or faster.",
			   delays.before / 1e6, pair.basis.has_steps ? "a step" : "the run", delays.after / 1e6);
	else
		table_note(table, NOTE_INFO,
			   "Wall time, also that in which other work had the processors: comparison.times says how long that was.");
	kept_close(&pair);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_comparison_python = {
	.id = "comparison.python",
	.title = "Functions of Python of two runs",
	.help = "With --against: the time of each function of the script, with the libraries that it calls, in the older run and in "
		"this one, the largest difference first.",
	.columns = columns,
	.column_count = LOOKED_COLUMN_COUNT,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 10,
	.needs_scan = true,
	.needs_base = true,
	.analyses = needs,
	.fill = fill,
};
