/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading limits, and judging figures by them.
 *
 * Rule: the unit that was written must be the figure's.
 */
#include "reducer/comparison/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct suffix {
	const char *text;
	enum limit_scale scale;
	double factor;
} suffixes[] = {
	{"%", LIMIT_PERCENT, 1},       {"ns", LIMIT_NS, 1},
	{"us", LIMIT_NS, 1e3},	       {"ms", LIMIT_NS, 1e6},
	{"s", LIMIT_NS, 1e9},	       {"m", LIMIT_NS, 60e9},
	{"h", LIMIT_NS, 3600e9},       {"B", LIMIT_BYTES, 1},
	{"KB", LIMIT_BYTES, 1e3},      {"MB", LIMIT_BYTES, 1e6},
	{"GB", LIMIT_BYTES, 1e9},      {"KiB", LIMIT_BYTES, 1024},
	{"MiB", LIMIT_BYTES, 1048576}, {"GiB", LIMIT_BYTES, 1073741824},
	{"TB", LIMIT_BYTES, 1e12},     {"TiB", LIMIT_BYTES, 1099511627776},
	{"", LIMIT_PLAIN, 1},
};
#define SUFFIX_COUNT (sizeof(suffixes) / sizeof(suffixes[0]))

static _Noreturn void no_limit(const char *option, const char *words, const char *written)
{
	base_die("--%s=%s: '%s' is no limit: give a percentage (5%%), a time (12ms), a size (2GiB) or a number", option, words,
		 written);
}

void figure_limits_take(struct figure_limits *limits, const char *option, const char *words)
{
	const char *equals = strrchr(words, '='), *written = equals ? equals + 1 : "";
	size_t length = equals ? (size_t)(equals - words) : 0;
	const struct suffix *suffix = NULL;
	double value;
	char *end;

	if (!length)
		base_die("--%s=%s: write NAME=VALUE, for example step_p50=5%% or peak:heap=2GiB; -t comparison names the figures",
			 option, words);
	value = strtod(written, &end);
	for (size_t i = 0; i < SUFFIX_COUNT && !suffix; i++)
		if (strcmp(suffixes[i].text, end) == 0)
			suffix = &suffixes[i];
	if (!suffix)
		no_limit(option, words, written);
	if (end == written || !(value >= 0) || isinf(value * suffix->factor))
		no_limit(option, words, written);
	limits->items = base_grow(limits->items, &limits->room, limits->count + 1, sizeof(*limits->items));
	limits->items[limits->count++] = (struct figure_limit){
		.figure = base_copy(words, length), .words = words, .scale = suffix->scale, .value = value * suffix->factor};
}

void figure_limits_free(struct figure_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		free(limits->items[i].figure);
	free(limits->items);
	*limits = (struct figure_limits){0};
}

const char *limit_state_name(enum limit_state state)
{
	static const char *const names[] = {
		[LIMIT_NONE] = "", [LIMIT_KEPT] = "kept", [LIMIT_UNSURE] = "cannot tell", [LIMIT_EXCEEDED] = "exceeded"};

	return names[state];
}

/* What is written in decimals and worked out in binary is off by less: 100 * 1.15 is 114.99999999999999. */
static bool is_at_most(double value, double most)
{
	return value <= most * (1 + VERDICT_ROUNDING);
}

static enum limit_state judge_change(const struct figure_limit *limit, const struct compared *compared,
				     const struct figure *before, const struct figure *after)
{
	struct verdict verdict = verdict_find(compared, before, after);
	double share = limit->value / 100;

	if (verdict.kind == VERDICT_NONE)
		return is_at_most(after->value, before->value * (1 + share)) ? LIMIT_KEPT : LIMIT_EXCEEDED;
	if (!verdict.interval.is_known)
		return LIMIT_UNSURE;
	if (verdict_is_within(compared, &verdict, after, share))
		return LIMIT_KEPT;
	return verdict_is_beyond(compared, &verdict, after, share) ? LIMIT_EXCEEDED : LIMIT_UNSURE;
}

enum limit_state figure_limit_judge(const struct figure_limit *limit, const struct compared *compared, const struct figure *after,
				    double *most)
{
	const struct figure *before = figures_find(&compared->before, after->id);

	*most = limit->value;
	if (limit->scale == LIMIT_PERCENT)
		*most = before ? before->value * (1 + limit->value / 100) : 0;
	if (limit->scale == LIMIT_PERCENT && before)
		return judge_change(limit, compared, before, after);
	return is_at_most(after->value, *most) ? LIMIT_KEPT : LIMIT_EXCEEDED;
}

/* Of a figure of a device's memory where several have the number: the limit of that number holds for each. */
static bool is_meant(const char *limited, const char *figure)
{
	size_t length = strlen(limited);

	return strncmp(limited, figure, length) == 0 && (!figure[length] || (figure[length] == ' ' && strstr(limited, ":device:")));
}

enum limit_state figure_limits_judge(const struct figure_limits *limits, const struct compared *compared,
				     const struct figure *after, double *most)
{
	enum limit_state worst = LIMIT_NONE;

	for (size_t i = 0; limits && i < limits->count; i++) {
		enum limit_state state;
		double this_most;
		if (!is_meant(limits->items[i].figure, after->id))
			continue;
		state = figure_limit_judge(&limits->items[i], compared, after, &this_most);
		if (worst == LIMIT_NONE || this_most < *most)
			*most = this_most;
		worst = state > worst ? state : worst;
	}
	return worst;
}

static _Noreturn void no_figure(const struct figure_limit *limit, const struct figures *figures, const char *whose)
{
	struct base_nearest nearest = base_nearest_start(limit->figure);
	struct text all = {0};

	for (size_t i = 0; i < figures->count; i++) {
		base_nearest_offer(&nearest, figures->items[i].id);
		text_format(&all, "%s%s", i ? ", " : "", figures->items[i].id);
	}
	if (strncmp(limit->figure, "step", 4) == 0 && !figures->step_count)
		base_die("--limit=%s: no steps were recorded in %s (-t step_stats says what marks steps)", limit->words, whose);
	if (strcmp(limit->figure, "step_cpu") == 0 || strcmp(limit->figure, "step_undelayed") == 0 ||
	    strcmp(limit->figure, "step_delay") == 0)
		base_die("--limit=%s: %s has no readings (TFPROF_SYS) near enough to its first and last step: it is too short, "
			 "or they were off; let it run for some seconds, or limit step_p10, which needs none",
			 limit->words, whose);
	if (nearest.best)
		base_die("--limit=%s: %s has no figure '%s'; did you mean '%s'?", limit->words, whose, limit->figure,
			 nearest.best);
	base_die("--limit=%s: %s has no figure '%s'; it has %s", limit->words, whose, limit->figure, all.bytes);
}

/* Of several, the greatest. */
static const struct figure *find_meant(const struct figures *figures, const char *limited)
{
	const struct figure *exact = figures_find(figures, limited), *most = NULL;

	for (size_t i = 0; i < figures->count; i++)
		if (is_meant(limited, figures->items[i].id) && (!most || figures->items[i].value > most->value))
			most = &figures->items[i];
	return exact ? exact : most;
}

const struct figure *figure_limit_find(const struct figure_limit *limit, const struct compared *compared)
{
	static const enum table_unit units[] = {[LIMIT_NS] = UNIT_NS, [LIMIT_BYTES] = UNIT_BYTES, [LIMIT_PLAIN] = UNIT_COUNT};
	const struct figure *after = find_meant(&compared->after, limit->figure);

	if (!after)
		no_figure(limit, &compared->after, "this run");
	if (limit->scale != LIMIT_PERCENT && units[limit->scale] != after->unit && limit->value > 0)
		base_die("--limit=%s: %s is %s", limit->words, after->id,
			 after->unit == UNIT_NS	     ? "a time: give for example 12ms, 1.5s or 5%"
			 : after->unit == UNIT_BYTES ? "a size: give for example 512MiB, 2GB or 5%"
						     : "a number: give for example 1000 or 5%");
	if (limit->scale == LIMIT_PERCENT && !compared->before.run_count)
		base_die("--limit=%s: a percentage needs an older run: --against=LOG", limit->words);
	if (limit->scale == LIMIT_PERCENT && !find_meant(&compared->before, limit->figure))
		no_figure(limit, &compared->before, "the older run");
	return after;
}

static void put_value(struct text *text, enum table_unit unit, double value)
{
	if (unit == UNIT_NS && value < 1e6)
		text_format(text, "%.6g us", value / 1e3);
	else if (unit == UNIT_NS)
		text_format(text, "%.6g ms", value / 1e6);
	else if (unit == UNIT_BYTES && value < 1048576)
		text_format(text, "%.6g KiB", value / 1024);
	else if (unit == UNIT_BYTES)
		text_format(text, "%.6g MiB", value / 1048576);
	else
		text_format(text, "%.15g", value);
}

void figure_limit_sentence(struct text *text, const struct figure_limit *limit, const struct compared *compared)
{
	const struct figure *after = figure_limit_find(limit, compared), *before = figures_find(&compared->before, after->id);
	double most;
	enum limit_state state = figure_limit_judge(limit, compared, after, &most);

	text_format(text, "limit %s %s: %s is ", limit->words,
		    state == LIMIT_UNSURE ? "cannot be judged" : limit_state_name(state), after->id);
	put_value(text, after->unit, after->value);
	text_string(text, ", at most ");
	put_value(text, after->unit, most);
	text_string(text, " is allowed");
	if (before) {
		text_string(text, "; it was ");
		put_value(text, before->unit, before->value);
	}
	if (before && before->value > 0)
		text_format(text, " (%+.1f %%)", 100 * (after->value - before->value) / before->value);
	if (before && limit->scale == LIMIT_PERCENT) {
		struct verdict verdict = verdict_find(compared, before, after);
		struct text basis = {0};
		verdict_put_basis(&basis, &verdict, compared, before, after);
		if (basis.length)
			text_format(text, "; %s", basis.bytes);
		text_free(&basis);
	}
	text_char(text, '.');
}

enum limit_state figure_limits_check(const struct figure_limits *limits, const struct compared *compared, struct text *sentences)
{
	enum limit_state worst = LIMIT_NONE;

	for (size_t i = 0; i < limits->count; i++) {
		double most;
		enum limit_state state =
			figure_limit_judge(&limits->items[i], compared, figure_limit_find(&limits->items[i], compared), &most);
		worst = state > worst ? state : worst;
		if (state == LIMIT_KEPT)
			continue;
		text_string(sentences, "tfprof-reduce: ");
		figure_limit_sentence(sentences, &limits->items[i], compared);
		text_char(sentences, '\n');
	}
	return worst;
}
