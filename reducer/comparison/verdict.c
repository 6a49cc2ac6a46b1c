/* SPDX-License-Identifier: Apache-2.0 */
/* What may be said of a difference. See verdict.h. */
#include "reducer/comparison/verdict.h"

#include "reducer/comparison/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_runs(struct figures *runs, size_t count)
{
	for (size_t i = 0; runs && i < count; i++)
		figures_free(&runs[i]);
	free(runs);
}

static void free_kept(struct kept *kept)
{
	if (kept)
		kept_free(kept);
	free(kept);
}

void compared_free(struct compared *compared)
{
	free_runs(compared->before_runs, compared->before.run_count);
	free_runs(compared->after_runs, compared->after.run_count);
	figures_free(&compared->before);
	figures_free(&compared->after);
	free(compared->before_program);
	free_kept(compared->before_kept);
	free_kept(compared->after_kept);
}

const char *verdict_word(enum verdict_kind kind, enum table_unit unit)
{
	switch (kind) {
	case VERDICT_FEW:
		return "too few to tell";
	case VERDICT_BUSIER:
		return "cannot tell: busy";
	case VERDICT_EQUAL:
		return "no difference to tell";
	case VERDICT_MORE:
		return unit == UNIT_NS ? "longer" : "more";
	case VERDICT_LESS:
		return unit == UNIT_NS ? "shorter" : "less";
	default:
		return NULL;
	}
}

const char *verdict_of_looks(double change, double error, double waited)
{
	if (fabs(change) <= 2 * error)
		return verdict_word(VERDICT_EQUAL, UNIT_NS);
	if (fabs(change) <= 2 * error + waited)
		return verdict_word(VERDICT_BUSIER, UNIT_NS);
	return change > 0 ? "slower" : "faster";
}

static bool is_of_one(const struct compared *compared)
{
	return compared->before.run_count <= 1 && compared->after.run_count <= 1;
}

/* The values of a figure; of one run against several the one that it has. */
static size_t samples_of(const struct figures *figures, const struct figure *figure, bool is_one, const double **samples)
{
	bool has_parts = figures->run_count <= 1;

	*samples = has_parts && !is_one ? &figure->value : figure->samples;
	return has_parts && !is_one ? 1 : figure->sample_count;
}

/* Of too few runs: processor time is the one time that others on the machine cannot stretch without end. */
static struct interval taken_of(const struct figure *before, const struct figure *after)
{
	double ratio = after->value / before->value;

	return (struct interval){true, true, ratio - 1, ratio / FIGURES_CPU_APART - 1, ratio * FIGURES_CPU_APART - 1};
}

static struct interval interval_of(const struct compared *compared, const struct figure *before, const struct figure *after)
{
	bool is_one = is_of_one(compared);
	const double *old, *new;
	size_t old_count = samples_of(&compared->before, before, is_one, &old);
	size_t new_count = samples_of(&compared->after, after, is_one, &new);

	struct interval interval = interval_make(old, old_count, new, new_count, is_one ? INTERVAL_OF_ONE : INTERVAL_OF_RUNS);
	bool is_cpu = strcmp(after->id, FIGURES_CPU) == 0 && before->value > 0 && after->value > 0;

	return interval.is_known || !is_cpu ? interval : taken_of(before, after);
}

static double busiest(const struct compared *compared)
{
	return compared->after.busy > compared->before.busy ? compared->after.busy : compared->before.busy;
}

/* The change of what the steps need of themselves, whoever else wants the processors. */
static struct interval own_interval(const struct compared *compared, const char *id)
{
	const struct figure *before = figures_find(&compared->before, id), *after = figures_find(&compared->after, id);

	return before && after ? interval_of(compared, before, after) : (struct interval){0};
}

static bool is_busy(const struct compared *compared, const struct figure *figure)
{
	return figure->nature == FIGURE_WALL && busiest(compared) >= VERDICT_BUSY;
}

/*
 * Did what the steps need of themselves change the same way, for sure? Where that is only taken so, the time must itself have changed by as
 * much: it may be any part.
 */
static bool is_own(const struct compared *compared, struct interval change)
{
	struct interval undelayed = own_interval(compared, "step_undelayed"), cpu = own_interval(compared, FIGURES_CPU);

	if (change.low > 0)
		return (undelayed.is_known && undelayed.low > 0) ||
		       (cpu.is_known && cpu.low > 0 && (!cpu.is_taken || change.low > FIGURES_CPU_APART - 1));
	return (undelayed.is_known && undelayed.high < 0) ||
	       (cpu.is_known && cpu.high < 0 && (!cpu.is_taken || change.high < 1 / FIGURES_CPU_APART - 1));
}

/* Of one run a side a time says nothing unless it is known that the machine was not busy: nothing else tells the two apart. */
static bool is_blind(const struct compared *compared, const struct figure *figure)
{
	return figure->nature == FIGURE_WALL && is_of_one(compared) && (compared->before.busy < 0 || compared->after.busy < 0);
}

bool verdict_is_beyond(const struct compared *compared, const struct verdict *verdict, const struct figure *after, double share)
{
	return verdict->interval.is_known && verdict->interval.low > share + VERDICT_ROUNDING && verdict->kind != VERDICT_BUSIER &&
	       !is_blind(compared, after);
}

bool verdict_is_within(const struct compared *compared, const struct verdict *verdict, const struct figure *after, double share)
{
	struct interval own;

	if (!verdict->interval.is_known || verdict->interval.high > share + VERDICT_ROUNDING || is_blind(compared, after))
		return false;
	if (!is_busy(compared, after))
		return true;
	own = own_interval(compared, "step_undelayed");
	if (!own.is_known)
		own = own_interval(compared, FIGURES_CPU);
	return own.is_known && own.high <= share + VERDICT_ROUNDING;
}

struct verdict verdict_find(const struct compared *compared, const struct figure *before, const struct figure *after)
{
	struct verdict verdict = {.kind = VERDICT_FEW, .interval = interval_of(compared, before, after)};

	if (!verdict.interval.is_known && after->nature == FIGURE_FIXED)
		verdict.kind = VERDICT_NONE;
	if (!verdict.interval.is_known)
		return verdict;
	verdict.kind = verdict.interval.low > 0 ? VERDICT_MORE : verdict.interval.high < 0 ? VERDICT_LESS : VERDICT_EQUAL;
	if (verdict.kind != VERDICT_EQUAL && is_busy(compared, after) && !is_own(compared, verdict.interval))
		verdict.kind = VERDICT_BUSIER;
	return verdict;
}

static void put_busy(struct text *text, const struct compared *compared)
{
	double before = compared->before.busy, after = compared->after.busy;

	text_string(text, "; the machine was busy: waiting for a processor was ");
	if (before >= 0)
		text_format(text, "%.0f %% of the steps before%s", 100 * before, after >= 0 ? ", " : "");
	if (after >= 0)
		text_format(text, "%.0f %% of the steps now", 100 * after);
	if (is_of_one(compared))
		text_string(text, ", which one run a side cannot tell from the program's own");
}

/* "4 and 7 runs", those that have the figure, and how many more there are. */
static void put_runs(struct text *text, const struct compared *compared, const struct figure *before, const struct figure *after)
{
	const double *unused;
	size_t old = samples_of(&compared->before, before, false, &unused), new = samples_of(&compared->after, after, false, &unused);

	text_format(text, "%zu and %zu runs", old, new);
	if (old < compared->before.run_count || new < compared->after.run_count)
		text_format(text, " of %zu and %zu, the only ones that tell it", compared->before.run_count, compared->after.run_count);
}

static bool has_zero(const struct figure *figure)
{
	for (size_t i = 0; i < figure->sample_count; i++)
		if (!(figure->samples[i] > 0))
			return true;
	return !(figure->value > 0);
}

static void put_few(struct text *text, const struct compared *compared, const struct figure *before, const struct figure *after)
{
	bool is_one = is_of_one(compared);

	if (has_zero(before) || has_zero(after)) {
		text_string(text, "a run has none of it");
		return;
	}
	if (is_one && !before->sample_count && !after->sample_count) {
		text_string(text, "of one run a side nothing says how it varies: --run=each with 3 runs a side or more");
		return;
	}
	if (is_one)
		text_format(text, "%zu and %zu stretches of steps", before->sample_count, after->sample_count);
	else
		put_runs(text, compared, before, after);
	text_string(text, " are too few to be sure: 3 runs a side (--run=each) or 20 steps of one are the least");
}

/* Why it is the program's all the same. */
static void put_own(struct text *text, const struct compared *compared)
{
	const struct figure *before = figures_find(&compared->before, FIGURES_CPU), *after = figures_find(&compared->after, FIGURES_CPU);

	if (before && after && own_interval(compared, FIGURES_CPU).low > 0)
		text_format(text, "; but its processor time grew as well, by %.0f %%", 100 * (after->value / before->value - 1));
	else
		text_string(text, "; but without that wait it is longer as well");
}

void verdict_put_basis(struct text *text, const struct verdict *verdict, const struct compared *compared,
		       const struct figure *before, const struct figure *after)
{
	if (verdict->kind == VERDICT_NONE)
		return;
	if (!verdict->interval.is_known) {
		put_few(text, compared, before, after);
		return;
	}
	text_format(text, "between %+.1f and %+.1f %% (", 100 * verdict->interval.low, 100 * verdict->interval.high);
	if (!is_of_one(compared))
		put_runs(text, compared, before, after);
	if (verdict->interval.is_taken)
		text_format(text, "%stoo few runs to know how they differ: by less than %g times, as is taken of processor time",
			    is_of_one(compared) ? "" : ": ", FIGURES_CPU_APART);
	else if (is_of_one(compared))
		text_format(text, "one run a side, by %zu and %zu stretches of it: how runs differ is not known",
			    before->sample_count, after->sample_count);
	text_char(text, ')');
	if (is_busy(compared, after))
		put_busy(text, compared);
	else if (is_blind(compared, after))
		text_string(text, "; how busy the machine was is not known, without which one run a side tells nothing");
	if (verdict->kind == VERDICT_MORE && is_busy(compared, after))
		put_own(text, compared);
	if (verdict->kind == VERDICT_BUSIER)
		text_format(text, "; without that wait it is not %s for sure", verdict->interval.low > 0 ? "longer" : "shorter");
}
