/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to settings and back, driven by preload/settings.def.
 *
 * Rule: limits and choice words are read from the row's own range text, never written here again; a value is checked
 * whole before the field is touched. Calls nothing (see the header).
 */
#include "preload/settings_parse.h"

#include "collectors/match.h"

#include <signal.h>

#include "writer/poison.h"

/* ---- text without libc ---- */

struct sink {
	char *to;
	size_t room, length;
};

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static char lower(char c)
{
	if (c == '-')
		return '_';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether `length` bytes of text are exactly `word`. */
static int is_word(const char *text, size_t length, const char *word)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (!word[i] || lower(text[i]) != lower(word[i]))
			return 0;
	return !word[length];
}

static const char *after(const char *text, const char *prefix)
{
	while (*prefix)
		if (*text++ != *prefix++)
			return NULL;
	return text;
}

/* The text behind the first occurrence of `word`, or NULL. */
static const char *behind(const char *text, const char *word)
{
	const char *found = NULL;

	for (; *text && !found; text++)
		found = after(text, word);
	return found;
}

static void put_letter(struct sink *sink, char c)
{
	if (sink->length + 1 >= sink->room)
		return;
	sink->to[sink->length++] = c;
	sink->to[sink->length] = 0;
}

static void put(struct sink *sink, const char *text)
{
	if (sink->room)
		sink->to[sink->length] = 0;
	while (*text)
		put_letter(sink, *text++);
}

static void put_number(struct sink *sink, uint64_t number)
{
	if (number >= 10)
		put_number(sink, number / 10);
	put_letter(sink, (char)('0' + number % 10));
}

/* ---- numbers with units ---- */

struct unit {
	const char *name;
	uint64_t factor;
};

/* Powers of 1024, as memory is counted; largest first, so that printing finds the largest exact one. */
static const struct unit size_units[] = {
	{"T", UINT64_C(1) << 40}, {"G", UINT64_C(1) << 30}, {"M", UINT64_C(1) << 20}, {"k", UINT64_C(1) << 10}, {"", 1},
};
static const struct unit time_units[] = {
	{"h", UINT64_C(3600000000000)}, {"m", UINT64_C(60000000000)}, {"s", UINT64_C(1000000000)},
	{"ms", UINT64_C(1000000)},      {"us", UINT64_C(1000)},       {"ns", 1},
};
static const struct unit count_units[] = {{"", 1}};

#define UNITS(table) table, sizeof(table) / sizeof(table)[0]

/* Reads decimal digits; returns what follows, or NULL when there are none or they do not fit. */
static const char *read_digits(const char *text, uint64_t *number)
{
	const char *start = text;

	*number = 0;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(*number, 10u, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number))
			return NULL;
	return text == start ? NULL : text;
}

static int is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Reads a number and its unit; a bare 0 needs none. Returns what follows, or NULL. */
static const char *read_units(const char *text, const struct unit *units, size_t count, uint64_t *number)
{
	size_t letters = 0, i;

	text = read_digits(text, number);
	if (!text)
		return NULL;
	while (is_letter(text[letters]))
		letters++;
	if (!letters && !*number)
		return text;
	for (i = 0; i < count; i++)
		if (is_word(text, letters, units[i].name))
			return __builtin_mul_overflow(*number, units[i].factor, number) ? NULL : text + letters;
	return NULL;
}

static void put_units(struct sink *sink, uint64_t number, const struct unit *units)
{
	while (number % units->factor || (!number && units->name[0] && units->factor > 1))
		units++;
	put_number(sink, number / units->factor);
	put(sink, units->name);
}

/* The number that follows `words` in the row's range. The unit test checks that every row that needs one has one. */
static uint64_t limit(const struct tfp_setting_row *row, const char *words, uint64_t otherwise)
{
	const char *text = behind(row->range, words);
	uint64_t number;

	return text && read_units(text, UNITS(size_units), &number) ? number : otherwise;
}

/* ---- one parser and one printer a type; a parser returns NULL or why not ---- */

static const char *parse_text(const struct tfp_setting_row *row, const char *value, tfp_setting_text *field)
{
	struct sink sink = {*field, sizeof *field, 0};

	(void)row;
	if (!*value)
		return "it is empty";
	if (length_of(value) >= sizeof *field)
		return "it is longer than 1023 bytes";
	put(&sink, value);
	return NULL;
}

static void print_text(struct sink *sink, const struct tfp_setting_row *row, const tfp_setting_text *field)
{
	(void)row;
	put(sink, *field);
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
	const char *end = read_units(value, UNITS(size_units), &number);

	if (!end || *end)
		return "it is not a size";
	if (number && number < limit(row, "at least ", 0))
		return "it is too small";
	*field = number;
	return NULL;
}

static void print_size(struct sink *sink, const struct tfp_setting_row *row, const uint64_t *field)
{
	(void)row;
	put_units(sink, *field, size_units);
}

static const char *parse_count(const struct tfp_setting_row *row, const char *value, uint32_t *field)
{
	uint64_t number, least;
	const char *end = read_units(value, UNITS(count_units), &number);

	if (!end || *end)
		return "it is not a whole number";
	if (read_digits(row->range, &least) && number < least)
		return "it is too small";
	if (number > limit(row, " to ", UINT32_MAX))
		return "it is too large";
	*field = (uint32_t)number;
	return NULL;
}

static void print_count(struct sink *sink, const struct tfp_setting_row *row, const uint32_t *field)
{
	(void)row;
	put_number(sink, *field);
}

static const char *parse_flag(const struct tfp_setting_row *row, const char *value, int *field)
{
	(void)row;
	if ((value[0] != '0' && value[0] != '1') || value[1])
		return "it is neither 0 nor 1";
	*field = value[0] == '1';
	return NULL;
}

static void print_flag(struct sink *sink, const struct tfp_setting_row *row, const int *field)
{
	(void)row;
	put_letter(sink, *field ? '1' : '0');
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
		if (is_word(word, length, value))
			return n;
	return -1;
}

static void print_choice(struct sink *sink, const struct tfp_setting_row *row, unsigned n)
{
	size_t length;
	const char *word = choice_word(row->range, n, &length);

	while (length--)
		put_letter(sink, *word++);
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
	static void print_##type(struct sink *sink, const struct tfp_setting_row *row, const enum tfp_##type *field)    \
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
	const char *bytes = after(value, "sample:"), *end;
	uint64_t number;
	int mode;

	if (bytes) {
		end = read_units(bytes, UNITS(size_units), &number);
		if (!end || *end)
			return "what follows sample: is not a size";
		if (number < limit(row, "at least ", 0))
			return "the sampling interval is too small";
		field->mode = TFP_MODE_SAMPLE;
		field->sample_bytes = number;
		return NULL;
	}
	for (mode = TFP_MODE_PASS; mode <= TFP_MODE_FULL; mode++) {
		if (!is_word(value, length_of(value), mode_words[mode]))
			continue;
		field->mode = (enum tfp_mode)mode;
		return NULL;
	}
	return "there is no such mode";
}

static void print_malloc_mode(struct sink *sink, const struct tfp_setting_row *row,
			      const struct tfp_malloc_setting *field)
{
	(void)row;
	put(sink, mode_words[field->mode]);
	if (field->mode == TFP_MODE_SAMPLE) {
		put_letter(sink, ':');
		put_units(sink, field->sample_bytes, size_units);
	}
}

static const char *const window_words[] = {
	[TFP_WINDOW_TIME] = "time:", [TFP_WINDOW_STEP] = "step:", [TFP_WINDOW_LAUNCH] = "launch:"};

/* Reads FROM-TO in the entry's unit. Returns what follows, or NULL. */
static const char *read_range(const char *text, struct tfp_window_entry *entry)
{
	const struct unit *units = entry->unit == TFP_WINDOW_TIME ? time_units : count_units;
	size_t count = entry->unit == TFP_WINDOW_TIME ? sizeof time_units / sizeof time_units[0] : 1;

	text = read_units(text, units, count, &entry->from);
	if (!text || *text != '-')
		return NULL;
	return read_units(text + 1, units, count, &entry->to);
}

static const char *read_entry(const char **text, struct tfp_window_entry *entry)
{
	const char *rest = NULL;
	unsigned unit = 0;

	for (; unit < sizeof window_words / sizeof window_words[0] && !rest; unit++)
		rest = after(*text, window_words[unit]);
	if (!rest)
		return "an entry begins with neither time:, step: nor launch:";
	entry->unit = (enum tfp_window_unit)(unit - 1);
	rest = read_range(rest, entry);
	if (!rest || (*rest && *rest != ','))
		return entry->unit == TFP_WINDOW_TIME ? "an entry is not FROM-TO with units (ns us ms s m h)"
						      : "an entry is not FROM-TO in whole numbers";
	if (entry->from > entry->to || (entry->unit == TFP_WINDOW_TIME && entry->from == entry->to))
		return "a window ends before it begins";
	*text = rest;
	return NULL;
}

static const char *parse_window(const struct tfp_setting_row *row, const char *value, struct tfp_window *field)
{
	struct tfp_window window;
	const char *why = NULL;
	uint32_t i;

	(void)row;
	window.count = 0;
	window.kind = is_word(value, length_of(value), "off") ? TFP_WINDOW_OFF : TFP_WINDOW_ALL;
	if (window.kind == TFP_WINDOW_ALL && !is_word(value, length_of(value), "all")) {
		window.kind = TFP_WINDOW_LIST;
		for (; !why; value++) {
			if (window.count == TFP_WINDOW_ENTRIES)
				return "there are more than 16 windows";
			why = read_entry(&value, &window.entries[window.count++]);
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

static void print_window(struct sink *sink, const struct tfp_setting_row *row, const struct tfp_window *field)
{
	uint32_t i;

	(void)row;
	if (field->kind != TFP_WINDOW_LIST)
		put(sink, field->kind == TFP_WINDOW_ALL ? "all" : "off");
	for (i = 0; i < field->count; i++) {
		const struct tfp_window_entry *entry = &field->entries[i];
		const struct unit *units = entry->unit == TFP_WINDOW_TIME ? time_units : count_units;

		if (i)
			put_letter(sink, ',');
		put(sink, window_words[entry->unit]);
		put_units(sink, entry->from, units);
		put_letter(sink, '-');
		put_units(sink, entry->to, units);
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
	size_t length = length_of(value), i;
	const char *end, *name = value;
	uint64_t number;

	(void)row;
	if (is_word(value, length, "none") || is_word(value, length, "0")) {
		*field = 0;
		return NULL;
	}
	end = read_digits(value, &number);
	if (length > 3 && is_word(value, 3, "SIG")) {
		name = value + 3;
		length -= 3;
	}
	for (i = 0; i < SIGNAL_NAMES; i++) {
		if (end ? *end || number != (uint64_t)signal_names[i].number : !is_word(name, length, signal_names[i].name))
			continue;
		*field = signal_names[i].number;
		return NULL;
	}
	if (!end || *end || number < SIGNAL_RT_FIRST || number > SIGNAL_RT_LAST)
		return "no such signal can open a window";
	*field = (int)number;
	return NULL;
}

static void print_signal_number(struct sink *sink, const struct tfp_setting_row *row, const int *field)
{
	size_t i;

	(void)row;
	for (i = 0; i < SIGNAL_NAMES; i++)
		if (*field == signal_names[i].number)
			break;
	if (!*field)
		put(sink, "none");
	else if (i < SIGNAL_NAMES)
		put(sink, signal_names[i].name);
	else
		put_number(sink, (uint64_t)*field);
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
	struct sink sink = {to, room, 0};

	put(&sink, ""); /* an empty value is a terminator */
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
		const char *rest = after(name, rows[number].name);

		if (rest && !*rest)
			return number;
	}
	return -1;
}

int tfp_settings_apply(struct tfp_settings *settings, const char *name, const char *value,
		       struct tfp_setting_problem *problem)
{
	struct sink remedy = {problem->remedy, sizeof problem->remedy, 0};
	const char *names[TFP_SETTING_COUNT], *why;
	int number;

	put(&remedy, "");
	problem->fault = TFP_SETTING_FINE;
	problem->row = find_row(name);
	if (problem->row >= 0) {
		why = set(settings, problem->row, value);
		if (!why)
			return 0;
		problem->fault = TFP_SETTING_BAD;
		put(&remedy, why);
		put(&remedy, "; good: ");
		put(&remedy, rows[problem->row].range);
		return -1;
	}
	for (number = 0; number < TFP_SETTING_COUNT; number++)
		names[number] = rows[number].name;
	problem->fault = TFP_SETTING_UNKNOWN;
	problem->row = tfp_nearest_word(name, names, TFP_SETTING_COUNT);
	put(&remedy, problem->row < 0 ? "no setting has such a name" : "no setting has such a name; the nearest is TFPROF_");
	put(&remedy, problem->row < 0 ? "" : rows[problem->row].name);
	return -1;
}
