/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in texts of the system; see collectors/system_text.h. */
#include "collectors/system_text.h"

#include "writer/sys.h"

#include "writer/poison.h"

#define NO_LIMIT (UINT64_C(1) << 62) /* control groups of version 1 write nearly 2^63 for no limit */

static int is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int tfp_system_number(const char *text, const char *end, uint64_t *value)
{
	uint64_t number = 0;
	const char *at = text;

	for (; at < end && is_digit(*at); at++) {
		if (number > UINT64_MAX / 10 - 1)
			return -1;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	if (at == text || number >= NO_LIMIT)
		return -1;
	*value = number;
	return 0;
}

/* The start of the line's word n, NULL where it has fewer. */
static const char *word_at(const char *line, const char *end, unsigned n)
{
	for (;; n--) {
		while (line < end && is_blank(*line))
			line++;
		if (line == end || n == 0)
			return line == end ? NULL : line;
		while (line < end && !is_blank(*line))
			line++;
	}
}

static size_t word_length(const char *word, const char *end)
{
	const char *at = word;

	while (at < end && !is_blank(*at))
		at++;
	return (size_t)(at - word);
}

static int sum_words(const char *line, const char *end, uint32_t words, uint64_t *sum)
{
	for (unsigned n = 0; n < 32; n++) {
		uint64_t number;
		if (!(words >> n & 1))
			continue;
		const char *word = word_at(line, end, n);
		if (!word || tfp_system_number(word, end, &number))
			return -1;
		*sum += number;
	}
	return 0;
}

static int behind_key(const char *line, const char *end, const char *key, uint64_t *sum)
{
	size_t length = tfp_length(key);
	uint64_t number;

	for (const char *at = line; at + length < end; at++) {
		if (!tfp_same(at, key, length))
			continue;
		if (tfp_system_number(at + length, end, &number))
			return -1;
		*sum += number;
		return 0;
	}
	return -1;
}

static int is_wanted(const char *text, const char *line, const char *end, const struct tfp_system_rule *rule,
		     tfp_system_filter *filter)
{
	if (!rule->line)
		return !filter || filter(text, line, end);
	size_t length = tfp_length(rule->line);
	const char *word = word_at(line, end, 0);
	return length == 0 || (word && word_length(word, end) == length && tfp_same(word, rule->line, length));
}

int tfp_system_figure(const char *text, size_t bytes, int is_cut, const struct tfp_system_rule *rule, tfp_system_filter *filter,
		      uint64_t *value)
{
	const char *end = text + bytes, *next;
	int is_found = 0;
	uint64_t sum = 0;

	if (is_cut && !rule->line)
		return -1;
	for (const char *line = text; line < end; line = next + 1) {
		for (next = line; next < end && *next != '\n';)
			next++;
		if (!is_wanted(text, line, next, rule, filter) || (is_cut && next == end))
			continue;
		int missing = rule->key ? behind_key(line, next, rule->key, &sum) : sum_words(line, next, rule->words, &sum);
		if (rule->line && missing)
			return -1;
		is_found |= !missing;
		if (rule->line)
			break;
	}
	*value = sum * rule->scale;
	return is_found ? 0 : -1;
}

int tfp_system_is_interface(const char *text, const char *line, const char *end)
{
	const char *word = word_at(line, end, 0);
	size_t length = word ? word_length(word, end) : 0;

	(void)text;
	return length > 1 && word[length - 1] == ':' && !(length == 3 && word[0] == 'l' && word[1] == 'o');
}

/* Made of other disks or of memory: counted there, or no disk. */
static int is_derived(const char *name, size_t length)
{
	static const char *const starts[] = {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		size_t start = tfp_length(starts[i]);
		if (length > start && tfp_same(name, starts[i], start))
			return 1;
	}
	return 0;
}

/* Whether `name` is a part of the disk: its name and digits, with a p between where the disk's ends with a digit. */
static int is_part(const char *name, size_t length, const char *disk, size_t disk_length)
{
	size_t at = disk_length;

	if (length <= disk_length || !disk_length || !tfp_same(name, disk, disk_length))
		return 0;
	if (is_digit(disk[disk_length - 1]) && name[at++] != 'p')
		return 0;
	if (at == length)
		return 0;
	while (at < length && is_digit(name[at]))
		at++;
	return at == length;
}

int tfp_system_is_disk(const char *text, const char *line, const char *end)
{
	const char *name = word_at(line, end, 2);
	size_t length = name ? word_length(name, end) : 0;

	if (!length || is_derived(name, length))
		return 0;
	for (const char *at = text, *next; at < line; at = next + 1) { /* the kernel lists a disk before its parts */
		for (next = at; *next != '\n';)
			next++;
		const char *disk = word_at(at, next, 2);
		if (disk && is_part(name, length, disk, word_length(disk, next)))
			return 0;
	}
	return 1;
}
