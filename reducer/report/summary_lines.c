/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the summary: which of the program's own lines of Python the time goes into; of a program without Python which native functions.
 *
 * Rule: what is shown are rows of python_time or native_time, of the steps that are judged; nothing where too few looks say it, or one line
 * has all.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/look_scope.h"
#include "reducer/tables/native_looks.h"
#include "reducer/tables/python_looks.h"

#include <inttypes.h>
#include <string.h>

#define ROWS 3
#define MOST 0.95
#define UNSEEN_FROM 0.1 /* of the time not looked at that make it a row: else the others seem to be all there is */
#define PLACE_MOST 40	/* columns of file and line */
#define NUMBERS_WIDTH 32 /* of a row without its names */
#define NAMES_MOST 111
#define MODULE_MOST 24	 /* columns of a module, and of a function in a sentence */
#define FUNCTION_MOST 60
#define WAITED_FROM 0.1 /* of the time of the thread that counts that make its waiting worth a sentence */

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

static void put_time(struct summary *summary, struct text *name, uint64_t ns, uint64_t whole, size_t width)
{
	text_string(&summary->line, "  ");
	text_put(&summary->line, name->bytes, name->length);
	text_fill(&summary->line, ' ', width - escape_width(name->bytes, name->length));
	summary_number(summary, human_ns, (int64_t)ns, 11);
	text_format(&summary->line, "%8.1f %%", 100.0 * (double)ns / (double)whole);
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
	put_time(summary, &cell, python_looks_judged(looks, &looks->list[number].own), python_looks_whole(looks), width);
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
	put_time(summary, &name, unseen_of(looks), python_looks_whole(looks), width);
}

/* The function with the most processor time, by own time, that is not among the `count` numbers before; SIZE_MAX = none. */
static size_t next_function(const struct native_looks *looks, const size_t *before, size_t count)
{
	size_t next = SIZE_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < looks->names.count; i++) {
		uint64_t own = native_looks_judged(looks, &looks->list[i].own);
		bool is_shown = false;
		for (size_t k = 0; k < count; k++)
			is_shown |= before[k] == i;
		if (!is_shown && own > most) {
			most = own;
			next = i;
		}
	}
	return next;
}

static void name_function(struct summary *summary, struct text *cell, const struct native_looks *looks, size_t number, size_t width)
{
	const struct python_line_name *name = &looks->names.list[number];
	struct text module = {0};

	summary->has_near |= name->function[0] == '~';
	if (name->file[0]) {
		text_string(&module, "  [");
		escape_visible(&module, name->file, strnlen(name->file, 256));
		escape_cut(&module, MODULE_MOST);
		text_string(&module, "]");
	}
	escape_visible(cell, name->function, strnlen(name->function, 256));
	escape_cut(cell, width - escape_width(module.bytes, module.length));
	text_put(cell, module.bytes, module.length);
	text_free(&module);
}

/* A process that never had a second thread was not looked at: what is said is not of those. */
static void put_who_waits(struct text *sentence, const struct request *request, const struct native_looks *looks)
{
	size_t wanted = look_scope_wanted(request, looks->processes);

	if (looks->has_steps)
		text_string(sentence, looks->processes > 1 ? "In steps the processes' threads" : "In steps the thread");
	else if (wanted)
		text_format(sentence, "The first thread%s of %" PRIu32 " of the %zu processes", looks->processes > 1 ? "s" : "",
			    looks->processes, wanted);
	else
		text_string(sentence, looks->processes > 1 ? "The processes' first threads" : "The first thread");
}

/* What the thread that counts waited, and where most, behind a margin. */
static void put_waits(struct summary *summary, const struct native_looks *looks, const char *margin)
{
	double whole = (double)native_looks_whole(looks), all = (double)native_looks_waited(looks, &looks->all);
	struct text sentence = {0}, name = {0};
	size_t first = SIZE_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < looks->names.count; i++)
		if (native_looks_waited(looks, &looks->list[i].own) > most) {
			most = native_looks_waited(looks, &looks->list[i].own);
			first = i;
		}
	if (first == SIZE_MAX || all < WAITED_FROM * whole || whole <= 0)
		return;
	name_function(summary, &name, looks, first, FUNCTION_MOST);
	const struct native_function *function = &looks->list[first];
	put_who_waits(&sentence, summary->request, looks);
	text_format(&sentence, " waited %.0f %% of the time (-t native_time), above all in %s (%s): %.0f %%.",
		    100 * (all < whole ? all / whole : 1), name.bytes,
		    native_looks_waits_in(looks->has_steps ? function->step_waits : function->waits),
		    100 * ((double)most < whole ? (double)most / whole : 1));
	summary_sentence(summary, margin, sentence.bytes, 2);
	text_free(&sentence);
	text_free(&name);
}

static void put_functions(struct summary *summary, size_t width)
{
	struct native_looks looks;
	struct text heading = {0}, name = {0};
	size_t shown[ROWS], count = 0;

	if (!native_looks_any(summary->request))
		return;
	native_looks_gather(&looks, summary->request, true);
	size_t wanted = look_scope_wanted(summary->request, looks.processes);
	text_string(&name, "Functions of native code (-t native_time)");
	if (looks.has_steps)
		text_string(&name, ", in steps");
	else if (wanted)
		text_format(&name, ", %" PRIu32 " of %zu processes", looks.processes, wanted);
	else if (looks.processes > 1)
		text_format(&name, ", of %" PRIu32 " processes", looks.processes);
	text_format(&heading, "%-*s%11s%10s", (int)width + 2, name.bytes, "processor", "of all");
	for (size_t rows = native_looks_is_enough(&looks) ? ROWS : 0; count < rows; count++) {
		shown[count] = next_function(&looks, shown, count);
		if (shown[count] == SIZE_MAX || (count ? !summary_left(summary) : !summary_heading(summary, heading.bytes, 1)))
			break;
		struct text cell = {0};
		name_function(summary, &cell, &looks, shown[count], width);
		put_time(summary, &cell, native_looks_judged(&looks, &looks.list[shown[count]].own),
			 native_looks_judged(&looks, &looks.all), width);
	}
	if (count && summary_left(summary))
		put_waits(summary, &looks, "  ");
	else if (!count && looks.all.looks >= NATIVE_LOOKS_ENOUGH && summary_left(summary) > 1) {
		summary_gap(summary);
		put_waits(summary, &looks, "");
	}
	text_free(&heading);
	text_free(&name);
	native_looks_free(&looks);
}

void summary_put_lines(struct summary *summary)
{
	size_t room = summary->options->width > NUMBERS_WIDTH + 20 ? summary->options->width - NUMBERS_WIDTH : 20;
	size_t width = room < NAMES_MOST ? room : NAMES_MOST, after = SIZE_MAX;
	struct python_looks looks;
	struct text heading = {0}, name = {0};
	uint64_t limit = UINT64_MAX;

	if (!python_looks_any(summary->request)) {
		put_functions(summary, width);
		return;
	}
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
