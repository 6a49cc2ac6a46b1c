/* SPDX-License-Identifier: Apache-2.0 */
/* What few steps do; see reducer/analysis/rare_work.h. */
#include "reducer/analysis/rare_work.h"

#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 65536u
#define USUAL_FROM 64 /* steps: of fewer it is too early to say that a name is usual */

struct rare_work_pass {
	const struct analysis_input *input;
	struct units units;
	const struct unit *last; /* that something began in */
};

static void *begin(const struct analysis_input *input)
{
	struct rare_work *work = base_alloc(1, sizeof(*work));

	if (!input)
		return work;
	work->pass = base_alloc(1, sizeof(*work->pass));
	work->pass->input = input;
	units_of_steps(&work->pass->units, input->process);
	return work;
}

static const struct unit *unit_of(struct rare_work_pass *pass, int64_t time_ns)
{
	if (!pass->last || time_ns < pass->last->start_ns || time_ns >= pass->last->end_ns)
		pass->last = units_at(&pass->units, time_ns, 0, UINT64_MAX);
	return pass->last;
}

/* The row of a name, which during the pass has the name's number; NULL = there are too many. */
static struct rare_row *row_of(struct rare_work *work, const struct span *span)
{
	const struct rare_work_pass *pass = work->pass;
	uint32_t name;

	if (work->words.count >= NAMES_MOST) {
		work->untold++;
		return NULL;
	}
	name = words_lasting(&work->words, span->name);
	if (name == work->count) {
		work->rows = base_grow(work->rows, &work->room, work->count + 1, sizeof(*work->rows));
		work->rows[work->count++] = (struct rare_row){
			.log_id = pass->input->process->log_id, .process = pass->input->index, .name = name, .what = span->what};
	}
	return &work->rows[name];
}

static void forget(struct rare_row *row)
{
	free(row->entries);
	row->entries = NULL;
	row->count = row->room = 0;
	row->is_usual = true;
}

/* Another thread of the program that waits there for its peer, as one that talks to helper processes does all the time. */
static bool is_idle(const struct span *span, const struct unit *unit)
{
	return span->what == SPAN_READ && unit->thread && span->thread != unit->thread &&
	       (input_is_queue(span->name) || input_is_network(span->name));
}

static void take(void *result, const struct span *span)
{
	struct rare_work *work = result;
	struct rare_work_pass *pass = work->pass;
	const struct unit *unit = pass->units.count && span->kind == SPAN_WHOLE ? unit_of(pass, span->start_ns) : NULL;
	struct rare_row *row;

	if (!unit || span->start_ns + (int64_t)span->duration_ns > unit->end_ns || is_idle(span, unit))
		return;
	row = row_of(work, span);
	if (!row || row->is_usual)
		return;
	if (!row->count || row->entries[row->count - 1].step != unit->step) {
		row->entries = base_grow(row->entries, &row->room, row->count + 1, sizeof(*row->entries));
		row->entries[row->count++] = (struct rare_entry){.step = (uint32_t)unit->step};
	}
	row->entries[row->count - 1].count++;
	row->entries[row->count - 1].ns += span->what == SPAN_READ ? span->self_ns : span->duration_ns;
	if (row->count >= USUAL_FROM && row->count * 2 > (size_t)(unit - pass->units.items) + 1)
		forget(row);
}

static int by_step(const void *a, const void *b)
{
	uint32_t one = ((const struct rare_entry *)a)->step, other = ((const struct rare_entry *)b)->step;

	return one < other ? -1 : one > other;
}

/* Where steps of several threads overlap they are told in turns: then a step has several entries. */
static void join_entries(struct rare_row *row)
{
	size_t kept = 0;

	qsort(row->entries, row->count, sizeof(*row->entries), by_step);
	for (size_t i = 1; i < row->count; i++) {
		if (row->entries[i].step != row->entries[kept].step) {
			row->entries[++kept] = row->entries[i];
			continue;
		}
		row->entries[kept].count += row->entries[i].count;
		row->entries[kept].ns += row->entries[i].ns;
	}
	row->count = kept + 1;
}

static void end(void *result)
{
	struct rare_work *work = result;
	size_t kept = 0;

	for (size_t i = 0; i < work->count; i++) {
		struct rare_row *row = &work->rows[i];
		if (!row->count)
			continue;
		join_entries(row);
		work->rows[kept++] = *row;
	}
	work->count = kept;
	units_free(&work->pass->units);
	free(work->pass);
	work->pass = NULL;
}

static void merge(void *into, const void *from)
{
	struct rare_work *work = into;
	const struct rare_work *more = from;

	for (size_t i = 0; i < more->count; i++) {
		struct rare_row *row;
		work->rows = base_grow(work->rows, &work->room, work->count + 1, sizeof(*work->rows));
		row = &work->rows[work->count++];
		*row = more->rows[i];
		row->name = words_number(&work->words, more->words.items[row->name]);
		row->entries = base_alloc(row->count, sizeof(*row->entries));
		row->room = row->count;
		memcpy(row->entries, more->rows[i].entries, row->count * sizeof(*row->entries));
	}
	work->untold += more->untold;
}

static void print(const void *result, struct text *text)
{
	const struct rare_work *work = result;
	char **lines = base_alloc(work->count + 1, sizeof(*lines));

	for (size_t i = 0; i < work->count; i++) {
		const struct rare_row *row = &work->rows[i];
		struct text line = {0};
		text_format(&line, "%" PRIx64 " %s:", row->log_id, work->words.items[row->name]);
		for (size_t k = 0; k < row->count; k++)
			text_format(&line, " %" PRIu32 " %" PRIu32 " %" PRIu64, row->entries[k].step, row->entries[k].count,
				    row->entries[k].ns);
		text_char(&line, '\n');
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, work->count);
	text_format(text, "untold %" PRIu64 "\n", work->untold);
}

static void drop(void *result)
{
	struct rare_work *work = result;

	for (size_t i = 0; i < work->count; i++)
		free(work->rows[i].entries);
	free(work->rows);
	words_free(&work->words);
	if (work->pass)
		units_free(&work->pass->units);
	free(work->pass);
	free(work);
}

const struct analysis_kind analysis_rare_work = {
	.name = "rare_work",
	.wants = SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_COMPILE) | SPAN_BIT(SPAN_READ),
	.begin = begin,
	.span = take,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
