/* SPDX-License-Identifier: Apache-2.0 */
/* Text without libc; see preload/settings_text.h. */
#include "preload/settings_text.h"

#include "writer/poison.h"

size_t tfp_text_length(const char *text)
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

int tfp_text_is_word(const char *text, size_t length, const char *word)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (!word[i] || lower(text[i]) != lower(word[i]))
			return 0;
	return !word[length];
}

const char *tfp_text_after(const char *text, const char *prefix)
{
	while (*prefix)
		if (*text++ != *prefix++)
			return NULL;
	return text;
}

const char *tfp_text_behind(const char *text, const char *word)
{
	const char *found = NULL;

	for (; *text && !found; text++)
		found = tfp_text_after(text, word);
	return found;
}

void tfp_put_letter(struct tfp_sink *sink, char c)
{
	if (sink->length + 1 >= sink->room)
		return;
	sink->to[sink->length++] = c;
	sink->to[sink->length] = 0;
}

void tfp_put_text(struct tfp_sink *sink, const char *text)
{
	if (sink->room)
		sink->to[sink->length] = 0;
	while (*text)
		tfp_put_letter(sink, *text++);
}

void tfp_put_number(struct tfp_sink *sink, uint64_t number)
{
	if (number >= 10)
		tfp_put_number(sink, number / 10);
	tfp_put_letter(sink, (char)('0' + number % 10));
}

const struct tfp_unit tfp_size_units[] = {
	{"T", UINT64_C(1) << 40}, {"G", UINT64_C(1) << 30}, {"M", UINT64_C(1) << 20}, {"k", UINT64_C(1) << 10}, {"", 1}, {NULL, 0},
};
const struct tfp_unit tfp_time_units[] = {
	{"h", UINT64_C(3600000000000)}, {"m", UINT64_C(60000000000)}, {"s", UINT64_C(1000000000)},
	{"ms", UINT64_C(1000000)},      {"us", UINT64_C(1000)},       {"ns", 1},
	{NULL, 0},
};
const struct tfp_unit tfp_count_units[] = {{"", 1}, {NULL, 0}};

const char *tfp_read_digits(const char *text, uint64_t *number)
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

const char *tfp_read_units(const char *text, const struct tfp_unit *units, uint64_t *number)
{
	size_t letters = 0;

	text = tfp_read_digits(text, number);
	if (!text)
		return NULL;
	while (is_letter(text[letters]))
		letters++;
	if (!letters && !*number)
		return text;
	for (; units->name; units++)
		if (tfp_text_is_word(text, letters, units->name))
			return __builtin_mul_overflow(*number, units->factor, number) ? NULL : text + letters;
	return NULL;
}

void tfp_put_units(struct tfp_sink *sink, uint64_t number, const struct tfp_unit *units)
{
	while (number % units->factor || (!number && units->name[0] && units->factor > 1))
		units++;
	tfp_put_number(sink, number / units->factor);
	tfp_put_text(sink, units->name);
}
