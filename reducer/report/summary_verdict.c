/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's answers: the verdict, where the time of a step goes as bars, and what to do about it.
 *
 * Rule: what is shown are rows of overview.verdict, overview.split and recommendations; nothing where there are no steps.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/step_values.h"
#include "reducer/tables/verdict_steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define VERDICT_LINES 7 /* of 80 columns: the longest has them */
#define BARS 5	       /* lines of the split */
#define BAR_MOST 60    /* columns of the whole */
#define SPLIT_WIDTH 48 /* of a line of it without its bar */
#define SMALLEST 0.005 /* share that has a line */
#define FIRST_FROM 0.05 /* share of the first steps in all that is worth a line, where the verdict has no sentence of it */
#define ADVICE 3       /* recommendations */
#define FINDING_LINES 2
#define REMEDY_LINES 3
#define INDENT "     "
#define TABLE_ROWS_SPLIT 32 /* categories, at most */

static const char *colour_of(const char *level)
{
	return strcmp(level, "high") == 0 ? "1;31" : strcmp(level, "moderate") == 0 ? "33" : "32";
}

/*
 * The verdict, in at most so many lines: whole, or its first sentences and that there are more. A first sentence that is longer than
 * that is left as it is: its end is cut.
 */
static const char *verdict_text(const struct summary *summary, struct text *text, size_t lines)
{
	static const char more[] = " More: -t overview.verdict.";
	const char *all = summary_text(text, summary->verdict, 0, "sentence");
	size_t end = strlen(all);

	while (summary_measure(summary, "", all, lines + 1) > lines) {
		do
			end -= end > 0;
		while (end > 0 && (text->bytes[end] != ' ' || text->bytes[end - 1] != '.'));
		if (end == 0)
			break;
		text->length = end;
		text_string(text, more);
		all = text->bytes;
	}
	return all;
}

void summary_measure_verdict(struct summary *summary)
{
	struct text sentence = {0};

	if (summary->verdict->shown_count)
		summary->verdict_lines = summary_measure(summary, "", verdict_text(summary, &sentence, VERDICT_LINES), VERDICT_LINES);
	text_free(&sentence);
}

void summary_put_verdict(struct summary *summary)
{
	const struct table *table = summary->verdict;
	struct text level = {0}, sentence = {0};

	if (table->shown_count) {
		const char *word = summary_text(&level, table, 0, "level");
		bool is_known = strcmp(word, "unknown") != 0;
		summary_gap(summary);
		size_t left = summary_left(summary), lines = left < VERDICT_LINES ? left : VERDICT_LINES;
		if (is_known)
			summary_colour(summary, colour_of(word));
		summary_sentence(summary, "", verdict_text(summary, &sentence, lines), lines);
		if (is_known)
			summary_colour(summary, "0");
	}
	text_free(&level);
	text_free(&sentence);
}

/* A bar of eighths of a column; of '#' where the terminal's letters have none. */
static void put_bar(struct text *out, double share, size_t width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	double columns = (share < 0 ? 0 : share > 1 ? 1 : share) * (double)width;
	size_t whole = (size_t)columns, part = (size_t)((columns - (double)whole) * 8);
	bool is_drawn = summary_has_blocks();

	for (size_t i = 0; i < whole; i++)
		text_string(out, is_drawn ? "█" : "#");
	if (is_drawn)
		text_string(out, eighths[part]);
	text_fill(out, ' ', width - whole - (is_drawn && part));
}

/* The row of the largest share that has no line yet and is worth one; SIZE_MAX = none. */
static size_t next_largest(const struct table *table, size_t share, const bool *is_shown)
{
	size_t best = SIZE_MAX;

	for (size_t row = 0; row < table->shown_count && row < TABLE_ROWS_SPLIT; row++)
		if (!is_shown[row] && table_is_known(table, row, share) && table_get_number(table, row, share) >= SMALLEST &&
		    (best == SIZE_MAX || table_get_number(table, row, share) > table_get_number(table, best, share)))
			best = row;
	return best;
}

static void put_part(struct summary *summary, const struct table *table, size_t row, size_t share)
{
	size_t width = summary->options->width > SPLIT_WIDTH + 10 ? summary->options->width - SPLIT_WIDTH : 10;
	struct text cell = {0};

	text_format(&summary->line, "  %-19s", summary_text(&cell, table, row, "category"));
	put_bar(&summary->line, table_get_number(table, row, share), width < BAR_MOST ? width : BAR_MOST);
	text_format(&summary->line, "%6.1f %%", 100 * table_get_number(table, row, share));
	text_format(&summary->line, "%10s", summary_text(&cell, table, row, "steady_step_ns"));
	summary_end_line(summary);
	text_free(&cell);
}

/* What fills steps is known only of those that were recorded. */
static void put_recorded(struct summary *summary)
{
	struct step_rows rows;

	step_rows_find(&rows, summary->request);
	if (rows.unrecorded && rows.whole_count && summary_left(summary)) {
		text_format(&summary->line,
			    rows.hides_roles ? "  What fills the %zu recorded whole; which of the others evaluate is not known:"
					     : "  What fills them, of the %zu recorded whole:",
			    rows.whole_count);
		summary_end_line(summary);
	}
	step_rows_free(&rows);
}

void summary_put_split(struct summary *summary)
{
	struct table *table = tables_make(&table_overview_split, summary->request);
	size_t share = table_find_column(table->kind, "steady_share");
	bool is_shown[TABLE_ROWS_SPLIT] = {false};

	put_recorded(summary);
	for (size_t i = 0; i < BARS && summary_left(summary); i++) {
		size_t row = next_largest(table, share, is_shown);
		if (row == SIZE_MAX)
			break;
		is_shown[row] = true;
		put_part(summary, table, row, share);
	}
	table_free(table);
}

void summary_put_first(struct summary *summary)
{
	struct step_rows rows;

	step_rows_find(&rows, summary->request);
	struct step_first first = step_rows_first(&rows);
	uint64_t judged = 0;
	for (size_t i = 0; i < rows.count; i++)
		judged += step_rows_judges(&rows, i) ? rows.items[i]->total_ns : 0;
	double share = (double)first.ns / fmax((double)(judged + first.ns), 1);
	if (share >= FIRST_FROM && share < VERDICT_FIRST_FROM && summary_left(summary)) {
		text_format(&summary->line, "  in none of these parts: the first %s%s, ", unit_kind_name(rows.kind),
			    first.count == 1 ? "" : "s");
		human_ns(&summary->line, (int64_t)first.ns);
		summary_end_line(summary);
	}
	step_rows_free(&rows);
}

/* Lines that a cell of a piece of advice takes, of so many at most. */
static size_t advice_lines(const struct summary *summary, const struct table *table, size_t row, const char *column, size_t most)
{
	struct text room = {0};
	size_t lines = summary_measure(summary, INDENT, summary_text(&room, table, row, column), most);

	text_free(&room);
	return lines;
}

/* How many pieces of advice have room for what was found, and what room that leaves: each is to be seen before what helps against one. */
static size_t advice_room(const struct summary *summary, const struct table *table, size_t *left)
{
	size_t rows = 0, used = 0, all = summary_left(summary);

	while (rows < table->shown_count && rows < ADVICE) {
		size_t lines = advice_lines(summary, table, rows, "finding", FINDING_LINES);
		if (rows && used + lines + (rows + 1 < table->shown_count) > all) /* a line says that there are more */
			break;
		used += lines;
		rows++;
	}
	used += rows < table->shown_count;
	*left = used < all ? all - used : 0;
	return rows;
}

void summary_put_advice(struct summary *summary)
{
	struct table *table = tables_make(&table_recommendations, summary->request);
	struct text room = {0};
	size_t left, rows;

	if (table->shown_count && summary_heading(summary, "What to do (-t recommendations shows the evidence)", 1) &&
	    summary_left(summary)) {
		rows = advice_room(summary, table, &left);
		for (size_t row = 0; row < rows; row++) {
			char first[16];
			size_t lines = advice_lines(summary, table, row, "remedy", REMEDY_LINES);
			snprintf(first, sizeof(first), "  %zu. ", row + 1);
			summary_sentence(summary, first, summary_text(&room, table, row, "finding"), FINDING_LINES);
			if (lines > left)
				continue;
			summary_sentence(summary, INDENT, summary_text(&room, table, row, "remedy"), REMEDY_LINES);
			left -= lines;
		}
		summary_more(summary, table->shown_count, rows, "recommendations");
	}
	text_free(&room);
	table_free(table);
}
