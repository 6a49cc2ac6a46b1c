/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.limits: each --limit and how it was judged.
 *
 * Rule: the sentence is the one that stderr has.
 */
#include "reducer/comparison/limits.h"

enum { LIMIT, FIGURE, OUTCOME, REASON, COLUMNS };

static const struct table_column columns[] = {
	[LIMIT] = {"limit", "limit", TABLE_TEXT, UNIT_NONE, 0, "as it was given"},
	[FIGURE] = {"figure", "figure", TABLE_TEXT, UNIT_NONE, 2, "which it is of"},
	[OUTCOME] = {"outcome", "outcome", TABLE_TEXT, UNIT_NONE, 0,
		     "kept, exceeded (exit status 3) or cannot tell (exit status 4)"},
	[REASON] = {"reason", "reason", TABLE_TEXT, UNIT_NONE, 0, "the figure, what is allowed, and on what the outcome rests"},
};

static void fill(struct table *table, const struct request *request)
{
	if (!request->figure_limits->count)
		table_note(table, NOTE_INFO, "No limit was given (--limit=step_cpu=5%%, --limit=peak:heap=2GiB ...).");
	for (size_t i = 0; i < request->figure_limits->count; i++) {
		const struct figure_limit *limit = &request->figure_limits->items[i];
		const struct figure *figure = figure_limit_find(limit, request->compared);
		struct text reason = {0};
		double most;
		table_row(table);
		table_string(table, LIMIT, limit->words);
		table_string(table, FIGURE, figure->id);
		table_string(table, OUTCOME, limit_state_name(figure_limit_judge(limit, request->compared, figure, &most)));
		figure_limit_sentence(&reason, limit, request->compared);
		table_string(table, REASON, reason.bytes);
		text_free(&reason);
	}
}

const struct table_kind table_comparison_limits = {
	.id = "comparison.limits",
	.title = "Limits",
	.help = "With --limit: each limit, whether it is kept, exceeded, or cannot be judged, and why.",
	.columns = columns,
	.column_count = COLUMNS,
	.is_prose = true,
	.needs_scan = true,
	.needs_limits = true,
	.fill = fill,
};
