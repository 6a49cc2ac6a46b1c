/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects of a comparison, from logs or a baseline; see reducer/comparison/kept.h. */
#include "reducer/comparison/kept.h"

#include "reducer/comparison/verdict.h"
#include "reducer/tables/busy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct kept_kind *const kept_kinds[KEPT_SUBJECTS] = {
	[KEPT_OPS] = &kept_ops,
	[KEPT_KERNELS] = &kept_kernels,
	[KEPT_PYTHON] = &kept_python,
	[KEPT_NATIVE] = &kept_native,
	[KEPT_SITES] = &kept_sites,
};

unsigned kept_wanted(const struct table_kind *const *kinds, size_t count)
{
	unsigned subjects = 0;

	for (size_t i = 0; i < count; i++) {
		if (kinds[i] == &table_comparison_environment)
			subjects |= KEPT_FACTS;
		for (unsigned k = 0; k < KEPT_SUBJECTS; k++)
			if (kept_kinds[k]->table == kinds[i])
				subjects |= 1u << k;
	}
	return subjects;
}

/* How long of a mean step (without steps: of all) the thread that counts waited for a processor; 0 where that is little, or unknown. */
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

/* All that the subjects read, in one pass. */
static void run_analyses(const struct request *request, unsigned subjects)
{
	const struct table_kind *kinds[KEPT_SUBJECTS];
	size_t count = 0;

	for (size_t i = 0; i < KEPT_SUBJECTS; i++)
		if (subjects & 1u << i)
			kinds[count++] = kept_kinds[i]->spec.kind;
	request_run_analyses(request, kinds, count);
}

static void put_filter(struct text *text, const char *option, const char *value)
{
	if (value)
		text_format(text, "%s--%s=%s", text->length ? " " : "", option, value);
}

static void put_window(struct text *text, const struct request *request)
{
	if (request->from_ns == INT64_MIN && request->to_ns == INT64_MAX)
		return;
	text_format(text, "%s--window=", text->length ? " " : "");
	if (request->from_ns != INT64_MIN)
		text_format(text, "%" PRId64 "ns", request->from_ns);
	text_char(text, '-');
	if (request->to_ns != INT64_MAX)
		text_format(text, "%" PRId64 "ns", request->to_ns);
}

/* What decides which rows there are, and what they are of. */
static char *filters_of(const struct request *request)
{
	struct text text = {0};

	put_filter(&text, "process", request->process);
	put_filter(&text, "host", request->host);
	put_filter(&text, "rank", request->rank);
	put_filter(&text, "thread", request->thread);
	put_filter(&text, "device", request->device);
	put_filter(&text, "stream", request->stream);
	put_filter(&text, "allocator", request->allocator);
	put_window(&text, request);
	if (request->has_steps)
		text_format(&text, "%s--step=%" PRIu64 "-%" PRIu64, text.length ? " " : "", request->first_step, request->last_step);
	if (request->group != GROUP_OP)
		put_filter(&text, "group-by", request_groups[request->group]);
	return text.bytes ? text.bytes : base_copy("", 0);
}

void kept_add(struct kept *kept, const struct request *request, unsigned subjects)
{
	struct request plain = figures_plain(request);
	double steps;

	kept->run_count++;
	if (!kept->filters)
		kept->filters = filters_of(&plain);
	if (!subjects)
		return;
	run_analyses(&plain, subjects);
	steps = figures_steps(&plain);
	kept->with_steps += steps > 0;
	kept->steps += steps;
	if (subjects & 1u << KEPT_PYTHON) {
		kept->step_delay_ns += delay_of(&plain, true);
		kept->delay_ns += delay_of(&plain, false);
	}
	for (size_t i = 0; i < KEPT_SUBJECTS; i++) {
		const struct kept_kind *kind = kept_kinds[i];
		struct request of = plain;
		if (!(subjects & 1u << i))
			continue;
		if (kind->group != GROUP_OP)
			of.group = kind->group;
		kept->subjects[i].recorded += !kind->is_recorded || kind->is_recorded(&of);
		join_gather(&kept->subjects[i].rows, &kind->spec, &of);
	}
}

void kept_finish(struct kept *kept)
{
	for (size_t i = 0; i < KEPT_SUBJECTS; i++)
		join_finish(&kept->subjects[i].rows, kept->run_count);
}

void kept_free(struct kept *kept)
{
	traits_free(&kept->traits);
	free(kept->filters);
	for (size_t i = 0; i < KEPT_SUBJECTS; i++)
		join_rows_free(&kept->subjects[i].rows);
}

void kept_say_missing(struct table *table)
{
	table_note(table, NOTE_MISSING,
		   "The older side is a baseline of figures alone, as older versions wrote them: -f baseline writes one with all else.");
}

static struct kept_basis basis_of(const struct kept_pair *pair)
{
	const struct kept *before = pair->before_side, *after = pair->after_side;

	if (!pair->kind->is_mean && before->with_steps == before->run_count && after->with_steps == after->run_count)
		return (struct kept_basis){before->steps, after->steps, true};
	return (struct kept_basis){(double)before->run_count, (double)after->run_count, false};
}

bool kept_compare(struct kept_pair *pair, struct table *table, const struct request *request, enum kept_subject subject)
{
	const struct kept *before = request->compared->before_kept, *after = request->compared->after_kept;

	if (!before) {
		kept_say_missing(table);
		return false;
	}
	if (!request->base && strcmp(before->filters, after->filters) != 0) {
		table_note(table, NOTE_MISSING, "The baseline was written with %s, this is asked with %s: give both the same.",
			   before->filters[0] ? before->filters : "no filter", after->filters[0] ? after->filters : "none");
		return false;
	}
	*pair = (struct kept_pair){kept_kinds[subject], before, after, &before->subjects[subject], &after->subjects[subject],
				   .join = {0}};
	pair->basis = basis_of(pair);
	join_make(&pair->join, &pair->before->rows, &pair->after->rows);
	return true;
}

static void put_lacking(struct text *lacking, const char *side, size_t runs)
{
	if (runs == 1)
		text_format(lacking, "The %s run has no", side);
	else
		text_format(lacking, "Not all of the %zu %s runs have", runs, side);
}

bool kept_is_recorded(const struct kept_pair *pair, struct text *lacking)
{
	bool is_older = pair->before->recorded < pair->before_side->run_count;
	bool is_newer = pair->after->recorded < pair->after_side->run_count;

	if (is_older)
		put_lacking(lacking, "older", pair->before_side->run_count);
	else if (is_newer)
		put_lacking(lacking, "newer", pair->after_side->run_count);
	return !is_older && !is_newer;
}

void kept_say_basis(const struct kept_pair *pair, struct text *text)
{
	size_t before = pair->before_side->run_count, after = pair->after_side->run_count;

	if (pair->basis.has_steps)
		text_format(text, "of a step, over %.0f of the older run%s and %.0f of the newer one%s.", pair->basis.before,
			    before == 1 ? "" : "s", pair->basis.after, after == 1 ? "" : "s");
	else
		text_format(text, "of %s have steps.",
			    before == 1 && after == 1 ? "the whole runs: not both" : "a whole run, of several the mean: not all");
}

static void put_amount(struct text *text, double amount, enum table_unit unit)
{
	if (unit == UNIT_BYTES)
		text_format(text, "%.0f bytes", amount);
	else
		text_format(text, "%.3f ms", amount / 1e6);
}

void kept_bound(struct kept_pair *pair, struct table *table, size_t value)
{
	const struct join_spec *spec = &pair->kind->spec;
	const struct join_rows *before = &pair->before->rows;
	size_t column = table_find_column(spec->kind, spec->values[value]), bounds = 0;
	size_t removed = join_bound(&pair->join, before, value, pair->basis.before, pair->basis.after);
	struct text most = {0};

	if (!(before->most_of[value] > 0)) /* all that had any are there */
		return;
	for (size_t i = 0; i < pair->join.count; i++)
		bounds += pair->join.rows[i].before.is_bound;
	put_amount(&most, before->most_of[value] / pair->basis.before, spec->kind->columns[column].unit);
	table_note(table, bounds ? NOTE_INFERRED : NOTE_INFO,
		   "The baseline has the %zu largest %s; each of the %zu others had at most %s. %zu of the newer side may be among "
		   "those: they are compared with that, as a bound. %zu smaller ones of it are left out.",
		   before->count, pair->kind->rows, before->left_out, most.bytes, bounds, removed);
	text_free(&most);
}

void kept_close(struct kept_pair *pair)
{
	join_free(&pair->join);
}
