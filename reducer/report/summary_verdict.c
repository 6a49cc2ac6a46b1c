/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's answers: the verdict, where the time of a step goes as bars, and what to do about it.
 *
 * Rule: what is shown are rows of overview.verdict, overview.split and recommendations; nothing where there are no steps.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"

#include <langinfo.h>
#include <stdio.h>
#include <string.h>

#define BARS 5		    /* lines of the split */
#define BAR_MOST 60	    /* columns of the whole */
#define SPLIT_WIDTH 48	    /* of a line of it without its bar */
#define SMALLEST 0.005	    /* share that has a line */
#define ADVICE 3	    /* recommendations */
#define TABLE_ROWS_SPLIT 32 /* categories, at most */

/* The text of a cell, harmless; "" where it is empty. Valid until the next call with the same room. */
static const char *text_of(struct text *room, const struct table *table, size_t row, const char *id)
{
	size_t column = table_find_column(table->kind, id);

	text_clear(room);
	human_cell(room, table, row, column);
	return room->length ? room->bytes : "";
}

static const char *colour_of(const char *level)
{
	return strcmp(level, "high") == 0 ? "1;31" : strcmp(level, "moderate") == 0 ? "33" : "32";
}

void summary_put_verdict(struct summary *summary)
{
	struct table *table = tables_make(&table_overview_verdict, summary->request);
	struct text level = {0}, sentence = {0};

	if (table->shown_count && strcmp(text_of(&level, table, 0, "level"), "unknown") != 0 && level.length) {
		fputc('\n', summary->file);
		summary->used++;
		summary_colour(summary, colour_of(level.bytes));
		summary_sentence(summary, "", text_of(&sentence, table, 0, "sentence"), 2);
		summary_colour(summary, "0");
	}
	text_free(&level);
	text_free(&sentence);
	table_free(table);
}

/* A bar of eighths of a column; of '#' where the terminal's letters have none. */
static void put_bar(struct text *out, double share, size_t width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	double columns = (share < 0 ? 0 : share > 1 ? 1 : share) * (double)width;
	size_t whole = (size_t)columns, part = (size_t)((columns - (double)whole) * 8);
	bool is_drawn = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

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

	text_format(&summary->line, "  %-19s", text_of(&cell, table, row, "category"));
	put_bar(&summary->line, table_get_number(table, row, share), width < BAR_MOST ? width : BAR_MOST);
	text_format(&summary->line, "%6.1f %%", 100 * table_get_number(table, row, share));
	text_format(&summary->line, "%10s", text_of(&cell, table, row, "per_step_ns"));
	summary_end_line(summary);
	text_free(&cell);
}

void summary_put_split(struct summary *summary)
{
	struct table *table = tables_make(&table_overview_split, summary->request);
	size_t share = table_find_column(table->kind, "share");
	bool is_shown[TABLE_ROWS_SPLIT] = {false};

	for (size_t i = 0; i < BARS; i++) {
		size_t row = next_largest(table, share, is_shown);
		if (row == SIZE_MAX)
			break;
		is_shown[row] = true;
		put_part(summary, table, row, share);
	}
	table_free(table);
}

void summary_put_advice(struct summary *summary)
{
	struct table *table = tables_make(&table_recommendations, summary->request);
	struct text cell = {0};

	if (table->shown_count)
		summary_heading(summary, "What to do (-t recommendations shows the evidence)");
	for (size_t row = 0; row < table->shown_count && row < ADVICE; row++) {
		char first[16];
		snprintf(first, sizeof(first), "  %zu. ", row + 1);
		summary_sentence(summary, first, text_of(&cell, table, row, "finding"), row ? 1 : 2);
		summary_sentence(summary, "     ", text_of(&cell, table, row, "remedy"), 2);
	}
	text_free(&cell);
	table_free(table);
}
