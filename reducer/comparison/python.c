/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.python: in which functions of the script the time of a step grew or shrank.
 *
 * Rule: by function and file (wherever it lies), for lines move from one version to the next; a function has the time of the libraries
 * that it calls. All are estimates by looks (tables/python_looks.h): what differs by less than twice its standard error is not
 * called different, nor what may be the wait for a processor alone, of which no look tells in what function it was.
 */
#include "reducer/comparison/figures.h"
#include "reducer/comparison/looked.h"
#include "reducer/comparison/moved.h"
#include "reducer/comparison/verdict.h"
#include "reducer/tables/busy.h"
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
			     "processor)"},
};

/* How long of a step (without steps of all) the thread that counts waited for a processor; 0 where that is little or not known. */
static double delay_of(const struct request *request, bool has_steps)
{
	struct step_rows rows;
	struct busy busy;
	double all = 0;

	step_rows_find(&rows, request);
	busy = busy_find(&rows, request);
	for (size_t i = 0; i < rows.count; i++)
		all += step_rows_judges(&rows, i) ? (double)rows.items[i]->total_ns : 0;
	/* Without steps the functions' time is that of all processes, and this one's wait the longest of them. */
	all = has_steps && rows.judged_count ? all / (double)rows.judged_count : busy.stretch_ns * (double)rows.processes;
	step_rows_free(&rows);
	return busy.share >= VERDICT_BUSY ? busy.share * all : 0;
}

static void fill(struct table *table, const struct request *request)
{
	static const struct join_spec of_steps = {
		&table_python_time, {"function", "file"}, {"step_own_ns", "own_error_ns"}, 1u << LOOKED_ERROR_OF};
	static const struct join_spec of_all = {
		&table_python_time, {"function", "file"}, {"time_own_ns", "own_error_ns"}, 1u << LOOKED_ERROR_OF};
	struct request after = figures_plain(request), before = figures_plain(request->base);
	struct figures_basis basis = figures_basis(&before, &after);
	struct join join;
	struct looked_delays delays;
	size_t moved;

	if (!python_looks_any(&before) || !python_looks_any(&after)) {
		table_note(table, NOTE_MISSING, "The %s run has no looks at Python code: -t python_time says why.",
			   python_looks_any(&after) ? "older" : "newer");
		return;
	}
	delays = (struct looked_delays){delay_of(&before, basis.has_steps), delay_of(&after, basis.has_steps)};
	join_make(&join, basis.has_steps ? &of_steps : &of_all, &before, &after);
	moved = moved_join(&join);
	looked_rows(table, &join, &basis, &delays);
	if (moved)
		table_note(table, NOTE_INFERRED,
			   "%zu function%s in files of the same name in another folder %s taken for the same: by the ends of their paths.",
			   moved, moved == 1 ? "" : "s", moved == 1 ? "was" : "were");
	if (delays.before > 0 || delays.after > 0)
		table_note(table, NOTE_INFERRED,
			   "Wall time, also that in which other work had the processors: %.2f ms of %s before, %.2f ms now. No look tells "
			   "in which function that was: what differs by less is not called slower or faster.",
			   delays.before / 1e6, basis.has_steps ? "a step" : "the run", delays.after / 1e6);
	else
		table_note(table, NOTE_INFO,
			   "Wall time, also that in which other work had the processors: comparison.times says how long that was.");
	join_free(&join);
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
	.needs_base_logs = true,
	.analyses = needs,
	.fill = fill,
};
