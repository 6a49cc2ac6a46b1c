/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the summary: which of the program's own lines of Python the time goes into.
 *
 * Rule: what is shown are rows of python_time, of the steps that are judged; nothing where too few looks say it, or one line has all.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/python_looks.h"

#include <inttypes.h>
#include <string.h>

#define ROWS 3
#define MOST 0.95
#define UNSEEN_FROM 0.1 /* of the time not looked at that make it a row: else the others seem to be all there is */
#define PLACE_MOST 40	/* columns of file and line */
#define NUMBERS_WIDTH 32 /* of a row without its names */
#define NAMES_MOST 111

/* The line with the most time below `limit`, of equal ones behind `after`; SIZE_MAX = none. */
static size_t next_line(const struct python_looks *looks, uint64_t limit, size_t after)
{
	size_t next = SIZE_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < looks->lines.count; i++) {
		uint64_t own = python_looks_judged(looks, &looks->list[i].own);
		if (own > most && (own < limit || (own == limit && i > after))) {
			most = own;
			next = i;
		}
	}
	return next;
}

/* Where nearly all is in one line, a call of fit, it says nothing. */
static bool is_telling(const struct python_looks *looks)
{
	size_t first = python_looks_is_enough(looks) ? python_looks_first(looks, false) : SIZE_MAX;

	return first != SIZE_MAX && (double)python_looks_judged(looks, &looks->list[first].own) <
					    MOST * (double)python_looks_judged(looks, &looks->all);
}

static void put_time(struct summary *summary, const struct python_looks *looks, struct text *name, uint64_t ns, size_t width)
{
	text_string(&summary->line, "  ");
	text_put(&summary->line, name->bytes, name->length);
	text_fill(&summary->line, ' ', width - escape_width(name->bytes, name->length));
	summary_number(summary, human_ns, (int64_t)ns, 11);
	text_format(&summary->line, "%8.1f %%", 100.0 * (double)ns / (double)python_looks_whole(looks));
	summary_end_line(summary);
	text_free(name);
}

static void put_line(struct summary *summary, const struct python_looks *looks, size_t number, size_t width)
{
	struct text cell = {0}, place = {0};

	python_looks_place(&place, looks, number);
	escape_visible(&cell, place.bytes, place.length);
	escape_cut(&cell, PLACE_MOST);
	text_string(&cell, "  ");
	escape_visible(&cell, looks->lines.list[number].function, strnlen(looks->lines.list[number].function, 256));
	escape_cut(&cell, width);
	put_time(summary, looks, &cell, python_looks_judged(looks, &looks->list[number].own), width);
	text_free(&place);
}

/* The time that was not looked at, where it is much; else 0. */
static uint64_t unseen_of(const struct python_looks *looks)
{
	uint64_t whole = python_looks_whole(looks), unseen = whole - python_looks_judged(looks, &looks->all);

	return (double)unseen < UNSEEN_FROM * (double)whole ? 0 : unseen;
}

static void put_unseen(struct summary *summary, const struct python_looks *looks, size_t width)
{
	struct text name = {0};

	if (!unseen_of(looks) || !summary_left(summary))
		return;
	text_string(&name, "(not looked at: -t python_time)");
	escape_cut(&name, width);
	put_time(summary, looks, &name, unseen_of(looks), width);
}

void summary_put_lines(struct summary *summary)
{
	size_t room = summary->options->width > NUMBERS_WIDTH + 20 ? summary->options->width - NUMBERS_WIDTH : 20;
	size_t width = room < NAMES_MOST ? room : NAMES_MOST, after = SIZE_MAX;
	struct python_looks looks;
	struct text heading = {0}, name = {0};
	uint64_t limit = UINT64_MAX;

	if (!python_looks_any(summary->request))
		return;
	python_looks_gather_judged(&looks, summary->request);
	text_string(&name, "Lines of Python, ");
	if (looks.has_steps)
		text_string(&name, "of the steps, ");
	else if (looks.processes > 1)
		text_format(&name, "of %" PRIu32 " processes, ", looks.processes);
	text_string(&name, "with libraries");
	text_format(&heading, "%-*s%11s%10s", (int)width + 2, name.bytes, "total", "of all");
	for (size_t shown = 0, rows = is_telling(&looks) ? ROWS - (unseen_of(&looks) != 0) : 0; shown < rows; shown++) {
		size_t number = next_line(&looks, limit, after);
		if (number == SIZE_MAX || (shown ? !summary_left(summary) : !summary_heading(summary, heading.bytes, 1)))
			break;
		put_line(summary, &looks, number, width);
		limit = python_looks_judged(&looks, &looks.list[number].own);
		after = number;
	}
	if (after != SIZE_MAX)
		put_unseen(summary, &looks, width);
	text_free(&heading);
	text_free(&name);
	python_looks_free(&looks);
}
