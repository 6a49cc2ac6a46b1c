/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to settings and back, driven by preload/settings.def.
 *
 * Rule: limits and choice words are read from the row's own range text, never written here again; a value is checked
 * whole before the field is touched. Calls nothing (see the header).
 */
#include "preload/settings_parse.h"

#include "collectors/match.h"
#include "preload/settings_text.h"

#include <signal.h>

#include "writer/poison.h"

/* The number that follows `words` in the row's range. The unit test checks that every row that needs one has one. */
static uint64_t limit(const struct tfp_setting_row *row, const char *words, uint64_t otherwise)
{
	const char *text = tfp_text_behind(row->range, words);
	uint64_t number;

	return text && tfp_read_units(text, tfp_size_units, &number) ? number : otherwise;
}

/* ---- one parser and one printer a type; a parser returns NULL or why not ---- */

static const char *parse_text(const struct tfp_setting_row *row, const char *value, tfp_setting_text *field)
{
	struct tfp_sink sink = {*field, sizeof *field, 0};

	(void)row;
	if (!*value)
		return "it is empty";
	if (tfp_text_length(value) >= sizeof *field)
		return "it is longer than 1023 bytes";
	tfp_put_text(&sink, value);
	return NULL;
}

static void print_text(struct tfp_sink *sink, const struct tfp_setting_row *row, const tfp_setting_text *field)
{
	(void)row;
	tfp_put_text(sink, *field);
}

static const char *parse_names(const struct tfp_setting_row *row, const char *value, tfp_setting_text *field)
{
	const char *at;

	for (at = value; *at; at++)
		if (*at == '/')
			return "a program is named by its file name, without directories";
	if (*value)
		return parse_text(row, value, field);
	(*field)[0] = 0;
	return NULL;
}

#define print_names print_text

static const char *parse_pattern(const struct tfp_setting_row *row, const char *value, tfp_setting_text *field)
{
	static struct tfp_pattern trial; /* start-up, one thread; the collector makes its own */
	const char *why = *value ? tfp_pattern_make(&trial, value) : NULL;

	if (why || *value)
		return why ? why : parse_text(row, value, field);
	(*field)[0] = 0;
	return NULL;
}
#define print_pattern print_text

static const char *parse_size(const struct tfp_setting_row *row, const char *value, uint64_t *field)
{
	uint64_t number;
	const char *end = tfp_read_units(value, tfp_size_units, &number);

	if (!end || *end)
		return "it is not a size";
	if (number && number < limit(row, "at least ", 0))
		return "it is too small";
	*field = number;
	return NULL;
}

static void print_size(struct tfp_sink *sink, const struct tfp_setting_row *row, const uint64_t *field)
{
	(void)row;
	tfp_put_units(sink, *field, tfp_size_units);
}

static const char *parse_count(const struct tfp_setting_row *row, const char *value, uint32_t *field)
{
	uint64_t number, least;
	const char *end = tfp_read_units(value, tfp_count_units, &number);

	if (!end || *end)
		return "it is not a whole number";
	if (tfp_read_digits(row->range, &least) && number < least)
		return "it is too small";
	if (number > limit(row, " to ", UINT32_MAX))
		return "it is too large";
	*field = (uint32_t)number;
	return NULL;
}

static void print_count(struct tfp_sink *sink, const struct tfp_setting_row *row, const uint32_t *field)
{
	(void)row;
	tfp_put_number(sink, *field);
}

static const char *parse_flag(const struct tfp_setting_row *row, const char *value, int *field)
{
	(void)row;
	if ((value[0] != '0' && value[0] != '1') || value[1])
		return "it is neither 0 nor 1";
	*field = value[0] == '1';
	return NULL;
}

static void print_flag(struct tfp_sink *sink, const struct tfp_setting_row *row, const int *field)
{
	(void)row;
	tfp_put_letter(sink, *field ? '1' : '0');
}

/* The n-th of the words of a range, separated by ", "; *length 0 beyond the last. */
static const char *choice_word(const char *range, unsigned n, size_t *length)
{
	for (; n; n--) {
		while (*range && *range != ',')
			range++;
		while (*range == ',' || *range == ' ')
			range++;
	}
	for (*length = 0; range[*length] && range[*length] != ','; ++*length)
		;
	return range;
}

/* Returns the number of the word, or -1. */
static int choose(const struct tfp_setting_row *row, const char *value)
{
	const char *word;
	size_t length;
	int n = 0;

	for (word = choice_word(row->range, 0, &length); length; word = choice_word(row->range, (unsigned)++n, &length))
		if (tfp_text_is_word(word, length, value))
			return n;
	return -1;
}

static void print_choice(struct tfp_sink *sink, const struct tfp_setting_row *row, unsigned n)
{
	size_t length;
	const char *word = choice_word(row->range, n, &length);

	while (length--)
		tfp_put_letter(sink, *word++);
}

#define CHOICE(type)                                                                                                   \
	static const char *parse_##type(const struct tfp_setting_row *row, const char *value, enum tfp_##type *field)   \
	{                                                                                                              \
		int n = choose(row, value);                                                                            \
		if (n < 0)                                                                                             \
			return "there is no such choice";                                                              \
		*field = (enum tfp_##type)n;                                                                           \
		return NULL;                                                                                           \
	}                                                                                                              \
	static void print_##type(struct tfp_sink *sink, const struct tfp_setting_row *row, const enum tfp_##type *field)    \
	{                                                                                                              \
		print_choice(sink, row, (unsigned)*field);                                                             \
	}
CHOICE(totals)
CHOICE(drain)
CHOICE(full)
CHOICE(cuda)
CHOICE(cuda_graph)
CHOICE(ops)
CHOICE(python)

static const char *const mode_words[] = {
	[TFP_MODE_PASS] = "off", [TFP_MODE_TOTALS] = "totals", [TFP_MODE_SAMPLE] = "sample", [TFP_MODE_FULL] = "full"};

static const char *parse_malloc_mode(const struct tfp_setting_row *row, const char *value,
				     struct tfp_malloc_setting *field)
{
	const char *bytes = tfp_text_after(value, "sample:"), *end;
	uint64_t number;
	int mode;

	if (bytes) {
		end = tfp_read_units(bytes, tfp_size_units, &number);
		if (!end || *end)
			return "what follows sample: is not a size";
		if (number < limit(row, "at least ", 0))
			return "the sampling interval is too small";
		field->mode = TFP_MODE_SAMPLE;
		field->sample_bytes = number;
		return NULL;
	}
	for (mode = TFP_MODE_PASS; mode <= TFP_MODE_FULL; mode++) {
		if (!tfp_text_is_word(value, tfp_text_length(value), mode_words[mode]))
			continue;
		field->mode = (enum tfp_mode)mode;
		return NULL;
	}
	return "there is no such mode";
}

static void print_malloc_mode(struct tfp_sink *sink, const struct tfp_setting_row *row,
			      const struct tfp_malloc_setting *field)
{
	(void)row;
	tfp_put_text(sink, mode_words[field->mode]);
	if (field->mode == TFP_MODE_SAMPLE) {
		tfp_put_letter(sink, ':');
		tfp_put_units(sink, field->sample_bytes, tfp_size_units);
	}
}

static const char *const window_words[] = {
	[TFP_WINDOW_TIME] = "time:", [TFP_WINDOW_STEP] = "step:",     [TFP_WINDOW_LAUNCH] = "launch:",
	[TFP_WINDOW_SLOW] = "slow:", [TFP_WINDOW_BUDGET] = "budget:",
};

#define WINDOW_STEPS 10u /* where nothing else is said */
#define SLOW_EVERY 10u   /* windows' lengths from one to the next, likewise */
#define MOST_STEPS 1000000u
#define SLOW_MOST 1000000u /* percent */

/* Reads PERCENT% and :STEPS as they come. Returns what follows, or NULL. */
static const char *read_percent(const char *text, struct tfp_window_entry *entry)
{
	entry->to = WINDOW_STEPS;
	text = tfp_read_units(text, tfp_count_units, &entry->from);
	if (!text || *text != '%')
		return NULL;
	text++;
	if (*text == ':')
		text = tfp_read_units(text + 1, tfp_count_units, &entry->to);
	return text && entry->to <= MOST_STEPS ? text : NULL;
}

/* The same with /EVERY. */
static const char *read_slow(const char *text, struct tfp_window_entry *entry)
{
	text = read_percent(text, entry);
	entry->every = SLOW_EVERY * entry->to;
	return text && *text == '/' ? tfp_read_units(text + 1, tfp_count_units, &entry->every) : text;
}

static const char *take_slow(const char **text, const char *range, struct tfp_window_entry *entry)
{
	const char *rest = read_slow(range, entry);

	if (!rest || (*rest && *rest != ','))
		return "slow: is not PERCENT%, :STEPS (at most 1000000) and /EVERY, as in 50% or 50%:20/1000";
	*text = rest;
	if (!entry->from || entry->from > SLOW_MOST)
		return "slow: is from 1% to 1000000%";
	return !entry->to || entry->to >= entry->every ? "a window of slow: has at least one step, and fewer than EVERY" : NULL;
}

static const char *take_budget(const char **text, const char *range, struct tfp_window_entry *entry)
{
	const char *rest = read_percent(range, entry);

	if (!rest || (*rest && *rest != ','))
		return "budget: is not PERCENT% and :STEPS (at most 1000000), as in 1% or 1%:20";
	*text = rest;
	return !entry->from || entry->from > 100 || !entry->to ? "budget: is from 1% to 100%, for windows of at least one step" : NULL;
}

/* Reads FROM-TO or FROM-TO/EVERY in the entry's unit. Returns what follows, or NULL. */
static const char *read_range(const char *text, struct tfp_window_entry *entry)
{
	const struct tfp_unit *units = entry->unit == TFP_WINDOW_TIME ? tfp_time_units : tfp_count_units;

	text = tfp_read_units(text, units, &entry->from);
	if (!text || *text != '-')
		return NULL;
	text = tfp_read_units(text + 1, units, &entry->to);
	return text && *text == '/' ? tfp_read_units(text + 1, units, &entry->every) : text;
}

/* NULL, or why nothing can be recorded so. */
static const char *judge_range(const struct tfp_window_entry *entry, int is_repeated)
{
	int is_time = entry->unit == TFP_WINDOW_TIME;

	if (entry->from > entry->to || (is_time && entry->from == entry->to))
		return "a window ends before it begins";
	if (is_repeated && (!entry->every || entry->to - entry->from >= entry->every - !is_time))
		return "a window is not over when it begins again";
	return NULL;
}

static const char *read_entry(const char **text, struct tfp_window_entry *entry)
{
	const char *rest = NULL, *range;
	unsigned unit = 0;

	for (; unit < sizeof window_words / sizeof window_words[0] && !rest; unit++)
		rest = tfp_text_after(*text, window_words[unit]);
	if (!rest)
		return "an entry begins with neither time:, step:, launch:, slow: nor budget:";
	entry->unit = (enum tfp_window_unit)(unit - 1);
	entry->every = 0;
	range = rest;
	if (entry->unit == TFP_WINDOW_SLOW)
		return take_slow(text, range, entry);
	if (entry->unit == TFP_WINDOW_BUDGET)
		return take_budget(text, range, entry);
	rest = read_range(range, entry);
	if (!rest || (*rest && *rest != ','))
		return entry->unit == TFP_WINDOW_TIME ? "an entry is not FROM-TO or FROM-TO/EVERY with units (ns us ms s m h)"
						      : "an entry is not FROM-TO or FROM-TO/EVERY in whole numbers";
	*text = rest;
	while (range < rest && *range != '/')
		range++;
	return judge_range(entry, range < rest);
}

/* The last entry is of a kind that can be there once. */
static int is_another(const struct tfp_window *window)
{
	enum tfp_window_unit unit = window->entries[window->count - 1].unit;
	uint32_t i = 0;

	while (window->entries[i].unit != unit)
		i++;
	return (unit == TFP_WINDOW_SLOW || unit == TFP_WINDOW_BUDGET) && i < window->count - 1;
}

static const char *parse_window(const struct tfp_setting_row *row, const char *value, struct tfp_window *field)
{
	struct tfp_window window;
	const char *why = NULL;
	uint32_t i;

	(void)row;
	window.count = 0;
	window.kind = tfp_text_is_word(value, tfp_text_length(value), "off") ? TFP_WINDOW_OFF : TFP_WINDOW_ALL;
	if (window.kind == TFP_WINDOW_ALL && !tfp_text_is_word(value, tfp_text_length(value), "all")) {
		window.kind = TFP_WINDOW_LIST;
		for (; !why; value++) {
			if (window.count == TFP_WINDOW_ENTRIES)
				return "there are more than 16 windows";
			why = read_entry(&value, &window.entries[window.count++]);
			if (!why && is_another(&window))
				return "there is more than one slow: or budget:";
			if (!why && !*value)
				break;
		}
	}
	if (why)
		return why;
	field->kind = window.kind;
	field->count = window.count;
	for (i = 0; i < window.count; i++)
		field->entries[i] = window.entries[i];
	return NULL;
}

static void print_window(struct tfp_sink *sink, const struct tfp_setting_row *row, const struct tfp_window *field)
{
	uint32_t i;

	(void)row;
	if (field->kind != TFP_WINDOW_LIST)
		tfp_put_text(sink, field->kind == TFP_WINDOW_ALL ? "all" : "off");
	for (i = 0; i < field->count; i++) {
		const struct tfp_window_entry *entry = &field->entries[i];
		const struct tfp_unit *units = entry->unit == TFP_WINDOW_TIME ? tfp_time_units : tfp_count_units;

		if (i)
			tfp_put_letter(sink, ',');
		tfp_put_text(sink, window_words[entry->unit]);
		tfp_put_units(sink, entry->from, units);
		tfp_put_text(sink, entry->unit == TFP_WINDOW_SLOW || entry->unit == TFP_WINDOW_BUDGET ? "%:" : "-");
		tfp_put_units(sink, entry->to, units);
		if (entry->every) {
			tfp_put_letter(sink, '/');
			tfp_put_units(sink, entry->every, units);
		}
	}
}

/* Signals that a program may leave to us. Not the faults (SEGV, BUS, ILL, FPE, TRAP): they come back at once. */
#define SIGNAL(name) {#name, SIG##name}
static const struct signal_name {
	const char *name;
	int number;
} signal_names[] = {
	SIGNAL(USR1), SIGNAL(USR2), SIGNAL(HUP),  SIGNAL(INT),   SIGNAL(QUIT), SIGNAL(ALRM), SIGNAL(TERM),
	SIGNAL(CHLD), SIGNAL(CONT), SIGNAL(TSTP), SIGNAL(TTIN),  SIGNAL(TTOU), SIGNAL(URG),  SIGNAL(XCPU),
	SIGNAL(XFSZ), SIGNAL(PROF), SIGNAL(IO),   SIGNAL(WINCH), SIGNAL(PWR),  SIGNAL(SYS),  SIGNAL(VTALRM),
};
#define SIGNAL_NAMES (sizeof signal_names / sizeof signal_names[0])
#define SIGNAL_RT_FIRST 34 /* 32 and 33 belong to glibc */
#define SIGNAL_RT_LAST 64

static const char *parse_signal_number(const struct tfp_setting_row *row, const char *value, int *field)
{
	size_t length = tfp_text_length(value), i;
	const char *end, *name = value;
	uint64_t number;

	(void)row;
	if (tfp_text_is_word(value, length, "none") || tfp_text_is_word(value, length, "0")) {
		*field = 0;
		return NULL;
	}
	end = tfp_read_digits(value, &number);
	if (length > 3 && tfp_text_is_word(value, 3, "SIG")) {
		name = value + 3;
		length -= 3;
	}
	for (i = 0; i < SIGNAL_NAMES; i++) {
		if (end ? *end || number != (uint64_t)signal_names[i].number : !tfp_text_is_word(name, length, signal_names[i].name))
			continue;
		*field = signal_names[i].number;
		return NULL;
	}
	if (!end || *end || number < SIGNAL_RT_FIRST || number > SIGNAL_RT_LAST)
		return "no such signal can open a window";
	*field = (int)number;
	return NULL;
}

static void print_signal_number(struct tfp_sink *sink, const struct tfp_setting_row *row, const int *field)
{
	size_t i;

	(void)row;
	for (i = 0; i < SIGNAL_NAMES; i++)
		if (*field == signal_names[i].number)
			break;
	if (!*field)
		tfp_put_text(sink, "none");
	else if (i < SIGNAL_NAMES)
		tfp_put_text(sink, signal_names[i].name);
	else
		tfp_put_number(sink, (uint64_t)*field);
}

/* ---- the table ---- */

static const struct tfp_setting_row rows[] = {
#define TFP_SETTING(NAME, field, type, initial, range, help) {#NAME, #type, initial, range, help},
#include "preload/settings.def"
#undef TFP_SETTING
};

const struct tfp_setting_row *tfp_setting_row(int number)
{
	return number >= 0 && number < TFP_SETTING_COUNT ? &rows[number] : NULL;
}

/* Parses into the row's field. Returns NULL or why not. */
static const char *set(struct tfp_settings *settings, int number, const char *value)
{
	switch (number) {
#define TFP_SETTING(NAME, field, type, initial, range, help)                                                           \
	case TFP_SETTING_##NAME:                                                                                       \
		return parse_##type(&rows[number], value, &settings->field);
#include "preload/settings.def"
#undef TFP_SETTING
	}
	return "there is no such setting";
}

size_t tfp_setting_format(const struct tfp_settings *settings, int number, char *to, size_t room)
{
	struct tfp_sink sink = {to, room, 0};

	tfp_put_text(&sink, ""); /* an empty value is a terminator */
	switch (number) {
#define TFP_SETTING(NAME, field, type, initial, range, help)                                                           \
	case TFP_SETTING_##NAME:                                                                                       \
		print_##type(&sink, &rows[number], &settings->field);                                                  \
		break;
#include "preload/settings.def"
#undef TFP_SETTING
	}
	return sink.length;
}

void tfp_settings_default(struct tfp_settings *settings)
{
	int number;

	settings->heap.sample_bytes = 0; /* a default of another mode would not set it */
	for (number = 0; number < TFP_SETTING_COUNT; number++)
		set(settings, number, rows[number].initial);
}

static int find_row(const char *name)
{
	int number;

	for (number = 0; number < TFP_SETTING_COUNT; number++) {
		const char *rest = tfp_text_after(name, rows[number].name);

		if (rest && !*rest)
			return number;
	}
	return -1;
}

int tfp_settings_apply(struct tfp_settings *settings, const char *name, const char *value,
		       struct tfp_setting_problem *problem)
{
	struct tfp_sink remedy = {problem->remedy, sizeof problem->remedy, 0};
	const char *names[TFP_SETTING_COUNT], *why;
	int number;

	tfp_put_text(&remedy, "");
	problem->fault = TFP_SETTING_FINE;
	problem->row = find_row(name);
	if (problem->row >= 0) {
		why = set(settings, problem->row, value);
		if (!why)
			return 0;
		problem->fault = TFP_SETTING_BAD;
		tfp_put_text(&remedy, why);
		tfp_put_text(&remedy, "; good: ");
		tfp_put_text(&remedy, rows[problem->row].range);
		return -1;
	}
	for (number = 0; number < TFP_SETTING_COUNT; number++)
		names[number] = rows[number].name;
	problem->fault = TFP_SETTING_UNKNOWN;
	problem->row = tfp_nearest_word(name, names, TFP_SETTING_COUNT);
	tfp_put_text(&remedy, problem->row < 0 ? "no setting has such a name" : "no setting has such a name; the nearest is TFPROF_");
	tfp_put_text(&remedy, problem->row < 0 ? "" : rows[problem->row].name);
	return -1;
}
