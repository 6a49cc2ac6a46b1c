/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.times, comparison.memory, comparison.counts: the figures of two runs side by side.
 *
 * Rule: one row a figure that either side has; what only one has stays empty on the other side. No figure is called longer or
 * shorter than runs or steps let it: that is verdict.h's to say.
 */
#include "reducer/comparison/limits.h"

#include <string.h>

enum { FIGURE, BEFORE, AFTER, DIFFERENCE, CHANGE, LOW, HIGH, MOST, LIMIT, VERDICT, HELP, COLUMNS };

#define COLUMNS_OF(suffix, unit)                                                                                                 \
	{                                                                                                                        \
		[FIGURE] = {"figure", "figure", TABLE_TEXT, UNIT_NONE, 0, "its name, as --limit takes it"},                      \
		[BEFORE] = {"before" suffix,                                                                                     \
			    "before",                                                                                            \
			    TABLE_INTEGER,                                                                                       \
			    unit,                                                                                                \
			    0,                                                                                                   \
			    "of the older run (--against); of several the median"},                                              \
		[AFTER] = {"after" suffix, "after", TABLE_INTEGER, unit, 0, "of the newer run; of several the median"},          \
		[DIFFERENCE] = {"difference" suffix, "difference", TABLE_INTEGER, unit, 1, "after - before"},                    \
		[CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 0, "difference by before; empty where that is 0"},       \
		[LOW] = {"change_low",                                                                                           \
			 "from",                                                                                                 \
			 TABLE_REAL,                                                                                             \
			 UNIT_RATIO,                                                                                             \
			 0,                                                                                                      \
			 "what the change is at least, by how runs (of one run a side: stretches of it) vary; empty = too few"}, \
		[HIGH] = {"change_high", "to", TABLE_REAL, UNIT_RATIO, 0, "what the change is at most"},                         \
		[MOST] = {"at_most" suffix, "at most", TABLE_INTEGER, unit, 2, "what --limit allows; the strictest of several"}, \
		[LIMIT] = {"limit",   "limit", TABLE_TEXT,                                                                       \
			   UNIT_NONE, 1,       "kept, exceeded (exit status 3), or cannot tell (exit status 4)"},                \
		[VERDICT] = {"verdict", "verdict", TABLE_TEXT,                                                                   \
			     UNIT_NONE, 0,	   "whether it differs by more than it varies, or why that cannot be told"},     \
		[HELP] = {"meaning", "meaning", TABLE_TEXT, UNIT_NONE, 6, "what is counted; parts are the mean of a step"},      \
	}
static const struct table_column time_columns[] = COLUMNS_OF("_ns", UNIT_NS);
static const struct table_column memory_columns[] = COLUMNS_OF("_bytes", UNIT_BYTES);
static const struct table_column count_columns[] = COLUMNS_OF("", UNIT_COUNT);

static void put_change(struct table *table, const struct compared *compared, const struct figure *before,
		       const struct figure *after)
{
	struct verdict verdict = verdict_find(compared, before, after);
	int64_t difference;

	if (!__builtin_sub_overflow((int64_t)(after->value + 0.5), (int64_t)(before->value + 0.5), &difference))
		table_integer(table, DIFFERENCE, difference);
	if (before->value > 0)
		table_real(table, CHANGE, (after->value - before->value) / before->value);
	table_string(table, VERDICT, verdict_word(verdict.kind, after->unit));
	if (!verdict.interval.is_known)
		return;
	table_real(table, LOW, verdict.interval.low);
	table_real(table, HIGH, verdict.interval.high);
}

/* A figure by its name, which one of the sides has. */
static void put_row(struct table *table, const struct request *request, const struct compared *compared,
		    const struct figure *named)
{
	const struct figure *before = figures_find(&compared->before, named->id),
			    *after = figures_find(&compared->after, named->id);
	enum limit_state state = LIMIT_NONE;
	double most = 0;

	if ((!before || before->value <= 0) && (!after || after->value <= 0))
		return;
	table_row(table);
	table_string(table, FIGURE, named->id);
	table_string(table, HELP, named->help);
	if (before)
		table_integer(table, BEFORE, (int64_t)(before->value + 0.5));
	if (after) {
		table_integer(table, AFTER, (int64_t)(after->value + 0.5));
		state = figure_limits_judge(request->figure_limits, compared, after, &most);
	}
	if (before && after)
		put_change(table, compared, before, after);
	if (state == LIMIT_NONE)
		return;
	table_integer(table, MOST, (int64_t)(most * (1 + VERDICT_ROUNDING)));
	table_string(table, LIMIT, limit_state_name(state));
}

/* Of the newer run in its order, then what only the older one has. */
static void put_rows(struct table *table, const struct request *request, const struct compared *compared)
{
	enum table_unit unit = table->kind->columns[BEFORE].unit;

	for (size_t i = 0; i < compared->after.count; i++)
		if (compared->after.items[i].unit == unit)
			put_row(table, request, compared, &compared->after.items[i]);
	for (size_t i = 0; i < compared->before.count; i++)
		if (compared->before.items[i].unit == unit && !figures_find(&compared->after, compared->before.items[i].id))
			put_row(table, request, compared, &compared->before.items[i]);
}

/* What "longer" rests on. */
static void note_basis(struct table *table, const struct compared *compared)
{
	double before = compared->before.busy, after = compared->after.busy;

	if (compared->before.run_count <= 1 && compared->after.run_count <= 1)
		table_note(table, NOTE_INFERRED,
			   "One run a side: bounds (99 %%) are by %d stretches of it, and know nothing of how runs of one "
			   "program differ. "
			   "Several runs of each in turn, and --run=each, tell programs apart. Of " FIGURES_CPU
			   " it is taken that equal programs differ by less than %g times.",
			   FIGURES_PARTS, FIGURES_CPU_APART);
	else
		table_note(table, NOTE_INFERRED,
			   "Bounds (95 %%) are by how runs differ: a run counts as one value, its steps do not.");
	if (before >= 0 && after >= 0)
		table_note(table, before >= VERDICT_BUSY || after >= VERDICT_BUSY ? NOTE_INFERRED : NOTE_INFO,
			   "Of the time of the steps their thread waited for a processor %.1f %% before and %.1f %% now%s.",
			   100 * before, 100 * after,
			   before >= VERDICT_BUSY || after >= VERDICT_BUSY
				   ? ": the machine was busy, and a time is not called longer or shorter unless what the steps "
				     "needed without that wait is so as well"
				   : "");
	else
		table_note(table, NOTE_MISSING,
			   "How busy the machine was is not known of %s: no readings (TFPROF_SYS) near enough to the first and "
			   "last step.",
			   before < 0 && after < 0 ? "either side"
			   : before < 0		   ? "the older side"
						   : "the newer side");
}

/*
 * What became of the devices that one side has more of. Efficiency: what the newer run does in a time, by what its devices would if
 * each did as much as one of the older run. Nothing tells whether a step has more data now, so both answers are given.
 */
static void note_scaling(struct table *table, const struct figures *before, const struct figures *after)
{
	const struct figure *devices[] = {figures_find(before, FIGURES_DEVICES), figures_find(after, FIGURES_DEVICES)};
	const struct figure *steps[] = {figures_find(before, FIGURES_STEP), figures_find(after, FIGURES_STEP)};
	double more, longer;

	if (!devices[0] || !devices[1] || !steps[0] || !steps[1] || devices[0]->value == devices[1]->value)
		return;
	more = devices[1]->value / devices[0]->value;
	longer = steps[1]->value / steps[0]->value;
	table_note(table, NOTE_INFERRED,
		   "Devices that ran kernels: %.0f before, %.0f now; the median step takes %.3g times as long. If each device has as much "
		   "data in a step as before, %.3g times as much is done in a time: scaling efficiency %.1f %% (weak scaling). If all "
		   "devices together have as much as before, %.3g times as much is done: %.1f %% (strong scaling).",
		   devices[0]->value, devices[1]->value, longer, more / longer, 100 / longer, 1 / longer, 100 / longer / more);
}

static void note_steps(struct table *table, const struct compared *compared)
{
	const struct figures *before = &compared->before, *after = &compared->after;

	if (!before->step_count || !after->step_count) {
		table_note(table, NOTE_MISSING, "Steps are not compared: the %s run has none (step_stats says what marks them).",
			   !after->step_count ? "newer" : "older");
		return;
	}
	if (before->kind != after->kind)
		table_note(table, NOTE_INFO, "What is compared is not alike: a %s of the older run, a %s of the newer one.",
			   unit_kind_name(before->kind), unit_kind_name(after->kind));
	table_note(table, NOTE_INFO,
		   "%zu of %zu %ss of %zu older run%s and %zu of %zu of %zu newer are compared (what is left out: the first, and "
		   "evaluation).",
		   before->step_count, before->all_steps, unit_kind_name(before->kind), before->run_count,
		   before->run_count == 1 ? "" : "s", after->step_count, after->all_steps, after->run_count);
	note_scaling(table, before, after);
	note_basis(table, compared);
}

/* Bytes that forked processes inherited: all, and those that their live and peak count. */
static void inherited(const struct request *side, uint64_t *all, uint64_t *counted)
{
	*all = *counted = 0;
	for (size_t i = 0; i < side->run->process_count; i++) {
		const struct process *process = &side->run->processes[i];
		if (!request_wants_process(side, process))
			continue;
		*all += process->log->live.inherited_bytes;
		*counted += process->heap.inherited_bytes;
	}
}

/* Modes differ in whether a forked process's heap begins with its parent's: notes_inherited. */
static void note_inherited(struct table *table, const struct request *request)
{
	uint64_t before_all, before_counted, after_all, after_counted;

	if (!request->base || !request_wants_allocator(request, "heap"))
		return;
	inherited(request->base, &before_all, &before_counted);
	inherited(request, &after_all, &after_counted);
	if (before_all && after_all && !before_counted != !after_counted)
		table_note(table, NOTE_INFERRED,
			   "peak:heap and live:heap are not alike: those of the %s run count what forked processes inherited, the "
			   "others' do not (settings MALLOC and WINDOW).",
			   before_counted ? "older" : "newer");
}

static void fill(struct table *table, const struct request *request)
{
	const struct compared *compared = request->compared;

	put_rows(table, request, compared);
	if (table->kind->columns[BEFORE].unit == UNIT_NS)
		note_steps(table, compared);
	if (table->kind->columns[BEFORE].unit == UNIT_BYTES)
		note_inherited(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_comparison_times = {
	.id = "comparison.times",
	.title = "Times of two runs",
	.help = "With --against: the time of a step, of its parts and phases, and of the run, in the older run and in this one.",
	.columns = time_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.needs_scan = true,
	.needs_base = true,
	.analyses = needs,
	.fill = fill,
};
const struct table_kind table_comparison_memory = {
	.id = "comparison.memory",
	.title = "Memory of two runs",
	.help = "With --against: peak, live at the end and allocated bytes of every allocator, in the older run and in this one.",
	.columns = memory_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.needs_scan = true,
	.needs_base = true,
	.fill = fill,
};
const struct table_kind table_comparison_counts = {
	.id = "comparison.counts",
	.title = "Counts of two runs",
	.help = "With --against: steps, kernels and allocations, in the older run and in this one.",
	.columns = count_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.needs_scan = true,
	.needs_base = true,
	.fill = fill,
};
