/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every offline layer needs: giving up, memory, growing text, nearest names.
 *
 * Rule: knows nothing of logs or tables.
 */
#include "reducer/base/base.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE (2u << 20) /* bytes of a large page on x86-64; those of other machines are larger or the same */

void base_print(FILE *file, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if ((*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f)
			fprintf(file, "\\x%02x", *at);
		else if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* the same above ASCII, in UTF-8: 0x9b begins commands, too */
			fprintf(file, "\\u%04x", *++at);
		else
			fputc(*at, file);
}

static void say(const char *format, va_list arguments)
{
	char *sentence = NULL;

	fputs("tfprof-reduce: ", stderr);
	if (vasprintf(&sentence, format, arguments) >= 0)
		base_print(stderr, sentence);
	fputc('\n', stderr);
	free(sentence);
}

void base_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(1);
}

void base_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void *base_alloc(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes ? bytes : 1);

	if (!memory)
		base_die("out of memory (%zu times %zu bytes)", count, bytes);
	return memory;
}

void *base_grow_more(void *array, size_t *room, size_t need, size_t bytes)
{
	size_t next = *room ? *room : 16;

	while (next < need)
		next *= 2;
	if (next > SIZE_MAX / bytes)
		base_die("out of memory (%zu times %zu bytes)", next, bytes);
	array = realloc(array, next * bytes);
	if (!array)
		base_die("out of memory (%zu bytes)", next * bytes);
	*room = next;
	return array;
}

void *base_reach_more(void *array, size_t *room, size_t place, size_t bytes)
{
	size_t before = *room;

	array = base_grow_more(array, room, place + 1, bytes);
	memset((char *)array + before * bytes, 0, (*room - before) * bytes);
	return array;
}

void base_large_pages(void *array, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)array + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)array + bytes) & ~(page - 1);

	if (bytes >= LARGE_PAGE)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* refused: the pages are the usual ones */
}

char *base_copy(const void *bytes, size_t length)
{
	char *copy = base_alloc(length + 1, 1);

	if (length)
		memcpy(copy, bytes, length);
	return copy;
}

char *base_without_numbers(const char *name)
{
	char *key = base_copy(name, strlen(name)), *to = key;

	for (const char *at = name; *at; at++)
		if (!isdigit((unsigned char)*at))
			*to++ = *at;
		else if (to == key || to[-1] != '#')
			*to++ = '#';
	*to = 0;
	return key;
}

size_t base_without_address(const char *name, size_t length)
{
	static const char begin[] = "XLA call: ";
	size_t digits = length;

	if (length < sizeof(begin) || memcmp(name, begin, sizeof(begin) - 1) != 0)
		return length;
	while (digits > 0 && isxdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits == length || digits < sizeof(begin) + 4 || memcmp(&name[digits - 4], " +0x", 4) != 0)
		return length;
	return digits - 4;
}

void text_put(struct text *text, const void *bytes, size_t length)
{
	text->bytes = base_grow(text->bytes, &text->room, text->length + length + 1, 1);
	if (length)
		memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = 0;
}

void text_string(struct text *text, const char *string)
{
	text_put(text, string, strlen(string));
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void text_sorted_lines(struct text *text, char **lines, size_t count)
{
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++) {
		text_string(text, lines[i]);
		free(lines[i]);
	}
	free(lines);
}

void text_char(struct text *text, char c)
{
	text->bytes = base_grow(text->bytes, &text->room, text->length + 2, 1);
	text->bytes[text->length++] = c;
	text->bytes[text->length] = 0;
}

/* How many digits a number has: 1233 / 4096 is nearly the logarithm of 2. */
static unsigned digits_of(uint64_t number)
{
	static const uint64_t tens[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
					100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
					10000000000000000, 100000000000000000, 1000000000000000000, UINT64_C(10000000000000000000)};
	unsigned guess = (unsigned)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;

	return guess + (number >= tens[guess]);
}

char *base_put_natural(char *to, uint64_t number)
{
	static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
				    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
	char *end = to + (number ? digits_of(number) : 1), *at = end;

	for (; number >= 100; number /= 100)
		memcpy(at -= 2, pairs + number % 100 * 2, 2);
	if (number >= 10)
		memcpy(at - 2, pairs + number * 2, 2);
	else
		*--at = (char)('0' + number);
	return end;
}

void text_natural(struct text *text, uint64_t number)
{
	char *end;

	text->bytes = base_grow(text->bytes, &text->room, text->length + BASE_DIGITS + 1, 1); /* the zero byte */
	end = base_put_natural(text->bytes + text->length, number);
	*end = 0;
	text->length = (size_t)(end - text->bytes);
}

void text_integer(struct text *text, int64_t number)
{
	if (number < 0)
		text_char(text, '-');
	text_natural(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void text_fill(struct text *text, char c, size_t count)
{
	text->bytes = base_grow(text->bytes, &text->room, text->length + count + 1, 1);
	memset(text->bytes + text->length, c, count);
	text->length += count;
	text->bytes[text->length] = 0;
}

#define WHOLE_MOST 1e9 /* from here on nine digits are not all */

void text_real(struct text *text, double value)
{
	if (value > -WHOLE_MOST && value < WHOLE_MOST && (double)(int64_t)value == value && !(value == 0 && signbit(value)))
		text_integer(text, (int64_t)value);
	else
		text_format(text, "%.9g", value);
}

void text_digits(struct text *text, double value, const char *unit)
{
	double size = value < 0 ? -value : value;

	text_format(text, size < 9.995 ? "%.2f %s" : size < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
}

void text_size(struct text *text, int64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes > -1024 && bytes < 1024) {
		text_format(text, "%" PRId64 " B", bytes);
		return;
	}
	while ((value >= 999.5 || value <= -999.5) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	text_digits(text, value, units[unit]);
}

void text_format(struct text *text, const char *format, ...)
{
	size_t room = text->room > text->length ? text->room - text->length : 0;
	va_list arguments, again;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(room ? text->bytes + text->length : NULL, room, format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length >= room) { /* of none, too: whoever put a text has one */
		text->bytes = base_grow(text->bytes, &text->room, text->length + (size_t)length + 1, 1);
		vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
	}
	text->length += length >= 0 ? (size_t)length : 0;
	if (length < 0 && room)
		text->bytes[text->length] = 0;
	va_end(again);
}

/* Whether the last number before `at` is 1. */
static int follows_one(const char *begin, const char *at)
{
	while (at > begin && !isdigit((unsigned char)at[-1]))
		at--;
	return at > begin && at[-1] == '1' && (at - 1 == begin || !(isdigit((unsigned char)at[-2]) || strchr(".,", at[-2])));
}

void text_by_count(char *sentence)
{
	char *to = sentence;

	for (char *from = sentence; *from != '\0';) {
		char *middle = *from == '\1' ? strchr(from, '\2') : NULL, *end = middle != NULL ? strchr(middle, '\3') : NULL;

		if (end == NULL) {
			*to++ = *from++;
			continue;
		}
		int is_one = follows_one(sentence, to);
		size_t length = (size_t)(is_one ? middle - from : end - middle) - 1;
		memmove(to, is_one ? from + 1 : middle + 1, length);
		to += length;
		from = end + 1;
	}
	*to = '\0';
}

void text_wrap(struct text *text, const char *first, const char *sentence, size_t width)
{
	size_t indent = strlen(first), used = indent;

	text_string(text, first);
	while (*sentence) {
		size_t word = strcspn(sentence, " ");
		if (used > indent && used + 1 + word > width) {
			text_char(text, '\n');
			text_fill(text, ' ', indent);
			used = indent;
		} else if (used > indent) {
			text_char(text, ' ');
			used++;
		}
		text_put(text, sentence, word);
		used += word;
		sentence += word;
		sentence += strspn(sentence, " ");
	}
	text_char(text, '\n');
}

void text_clear(struct text *text)
{
	text->length = 0;
	if (text->bytes)
		text->bytes[0] = 0;
}

void text_free(struct text *text)
{
	free(text->bytes);
	*text = (struct text){0};
}

#define NEAREST_MAX 64 /* longer names are compared by their first bytes */

/* Levenshtein's distance, one row at a time. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NEAREST_MAX + 1], columns = strnlen(b, NEAREST_MAX), lines = strnlen(a, NEAREST_MAX);

	for (size_t j = 0; j <= columns; j++)
		row[j] = j;
	for (size_t i = 1; i <= lines; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t j = 1; j <= columns; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[columns];
}

struct base_nearest base_nearest_start(const char *word)
{
	size_t length = strnlen(word, NEAREST_MAX);

	return (struct base_nearest){.word = word, .best_distance = length / 3 + 2};
}

void base_nearest_offer(struct base_nearest *nearest, const char *candidate)
{
	size_t distance = edit_distance(nearest->word, candidate);

	if (distance >= nearest->best_distance)
		return;
	nearest->best = candidate;
	nearest->best_distance = distance;
}

/* Byte by byte, from the highest. */
uint32_t base_at_rank(const uint32_t *values, size_t count, size_t rank)
{
	uint32_t value = 0;

	for (int shift = 24; shift >= 0; shift -= 8) {
		size_t of_byte[256] = {0};
		uint32_t byte = 0;
		for (size_t i = 0; i < count; i++)
			of_byte[values[i] >> shift & 255] += ((values[i] ^ value) >> shift) < 256;
		for (; rank >= of_byte[byte]; byte++)
			rank -= of_byte[byte];
		value |= byte << shift;
	}
	return value;
}

size_t base_count_before(const void *things, size_t count, uint64_t key, base_before *is_before)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_before(things, middle, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define SORT_INSERTED 32u /* so few are put in order one by one */

static void insert_each(uint64_t *numbers, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t moved = numbers[i];
		size_t at = i;

		for (; at > 0 && numbers[at - 1] > moved; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = moved;
	}
}

/* Byte by byte, from the lowest; bytes that are the same in all are passed over. */
void base_sort_naturals(uint64_t *numbers, size_t count)
{
	uint64_t differs = 0, *from = numbers, *to, *spare;

	if (count <= SORT_INSERTED) {
		insert_each(numbers, count);
		return;
	}
	to = spare = base_alloc(count, sizeof(*spare));
	for (size_t i = 1; i < count; i++)
		differs |= numbers[i] ^ numbers[0];
	for (int shift = 0; shift < 64; shift += 8) {
		size_t places[257] = {0};
		uint64_t *sorted = to;
		if (!(differs >> shift & 255))
			continue;
		for (size_t i = 0; i < count; i++)
			places[(from[i] >> shift & 255) + 1]++;
		for (size_t i = 1; i < 256; i++)
			places[i] += places[i - 1];
		for (size_t i = 0; i < count; i++)
			sorted[places[from[i] >> shift & 255]++] = from[i];
		to = from;
		from = sorted;
	}
	if (from != numbers)
		memcpy(numbers, from, count * sizeof(*numbers));
	free(spare);
}

static int by_size(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return one < other ? -1 : one > other;
}

double base_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_size);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
