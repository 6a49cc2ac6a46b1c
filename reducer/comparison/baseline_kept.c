/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading rows and facts of baselines; see baseline_kept.h.
 *
 *	summed  RUNS  RUNS WITH STEPS  STEPS  DELAY OF A STEP  DELAY OF ALL     as struct kept has them
 *	filters OPTIONS                                            that were given
 *	fact    KIND  NAME  VALUE
 *	rows    SUBJECT  RUNS THAT RECORDED IT  LEFT OUT  MOST OF EACH VALUE ...
 *	row     SUBJECT  KEYS ...  VALUES ...  SPREAD
 */
#include "reducer/comparison/baseline_kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MOST 1e18 /* what a table's cell holds */

static const char *const words[] = {"summed", "filters", "fact", "rows", "row"};

static bool is_escaped(unsigned char byte)
{
	return byte < ' ' || byte == 0x7f || byte == '\\';
}

static void put_text(FILE *file, const char *text)
{
	fputc('\t', file);
	for (const char *at = text; *at; at++)
		if (is_escaped((unsigned char)*at))
			fprintf(file, "\\x%02x", (unsigned char)*at);
		else
			fputc((unsigned char)*at, file);
}

static int digit_of(char letter)
{
	return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The text of a field, to be freed. NULL = it is not as put_text writes it. */
static char *text_of(const char *field)
{
	char *text = base_copy(field, strlen(field)), *to = text;

	for (const char *at = field; *at; at++) {
		int high, low;
		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		high = at[1] == 'x' ? digit_of(at[2]) : -1;
		low = high >= 0 ? digit_of(at[3]) : -1;
		if (low < 0 || (high == 0 && low == 0)) {
			free(text);
			return NULL;
		}
		*to++ = (char)(high << 4 | low);
		at += 3;
	}
	*to = 0;
	return text;
}

static void put_value(FILE *file, bool is_known, double value)
{
	if (is_known)
		fprintf(file, "\t%.0f", value);
	else
		fputs("\t-", file);
}

static size_t key_count(const struct join_spec *spec)
{
	size_t count = 0;

	while (count < JOIN_KEYS && spec->keys[count])
		count++;
	return count;
}

static size_t value_count(const struct join_spec *spec)
{
	size_t count = 0;

	while (count < JOIN_VALUES && spec->values[count])
		count++;
	return count;
}

static int by_keys(const void *a, const void *b)
{
	const struct join_item *one = a, *other = b;
	int order = 0;

	for (size_t i = 0; !order && i < JOIN_KEYS && one->keys[i]; i++)
		order = strcmp(one->keys[i], other->keys[i]);
	return order;
}

/* In the order of their names: what did not change does not move. */
static void put_rows(FILE *file, const struct kept_kind *kind, const struct kept_rows *kept)
{
	const struct join_rows *rows = &kept->rows;
	size_t keys = key_count(&kind->spec), values = value_count(&kind->spec);
	struct join_item *sorted = base_alloc(rows->count + 1, sizeof(*sorted));

	fprintf(file, "rows\t%s\t%zu\t%zu", kind->word, kept->recorded, rows->left_out);
	for (size_t i = 0; i < values; i++)
		put_value(file, true, rows->most_of[i]);
	fputc('\n', file);
	for (size_t i = 0; i < rows->count; i++)
		sorted[i] = rows->items[i];
	qsort(sorted, rows->count, sizeof(*sorted), by_keys);
	for (size_t i = 0; i < rows->count; i++) {
		fprintf(file, "row\t%s", kind->word);
		for (size_t k = 0; k < keys; k++)
			put_text(file, sorted[i].keys[k]);
		for (size_t k = 0; k < values; k++)
			put_value(file, sorted[i].is_known[k], sorted[i].values[k]);
		put_value(file, true, sorted[i].spread);
		fputc('\n', file);
	}
	free(sorted);
}

size_t baseline_put_kept(FILE *file, struct kept *kept, size_t most)
{
	size_t lines = 2;

	fprintf(file, "summed\t%zu\t%zu\t%.0f\t%.0f\t%.0f\n", kept->run_count, kept->with_steps, kept->steps, kept->step_delay_ns,
		kept->delay_ns);
	fputs("filters", file);
	put_text(file, kept->filters ? kept->filters : "");
	fputc('\n', file);
	for (size_t i = 0; i < kept->traits.count; i++) {
		const struct trait *trait = &kept->traits.items[i];
		fputs("fact", file);
		put_text(file, trait->kind);
		put_text(file, trait->name);
		put_text(file, trait->value);
		fputc('\n', file);
		lines++;
	}
	for (size_t i = 0; i < KEPT_SUBJECTS; i++) {
		join_keep(&kept->subjects[i].rows, &kept_kinds[i]->spec, most);
		put_rows(file, kept_kinds[i], &kept->subjects[i]);
		lines += 1 + kept->subjects[i].rows.count;
	}
	return lines;
}

bool baseline_is_kept(const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

bool baseline_number(const char *word, double *value)
{
	char *end;

	*value = strtod(word, &end);
	if (strcmp(word, "-") == 0) {
		*value = -1;
		return true;
	}
	return end != word && !*end && *value >= 0 && *value <= VALUE_MOST;
}

#define NO_NUMBER "not a number"

/* As many numbers as there are fields; `is_known` NULL = none may be missing. */
static bool take_numbers(char *const *fields, size_t count, double *values, bool *is_known)
{
	for (size_t i = 0; i < count; i++) {
		if (!baseline_number(fields[i], &values[i]) || (!is_known && values[i] < 0))
			return false;
		if (is_known)
			is_known[i] = values[i] >= 0;
		values[i] = values[i] < 0 ? 0 : values[i];
	}
	return true;
}

static const char *take_summed(struct kept *kept, char *const *fields, size_t count)
{
	double values[5];

	if (count != 6 || !take_numbers(&fields[1], 5, values, NULL) || values[0] < 1)
		return NO_NUMBER;
	if (kept->run_count)
		return "a sum for the second time";
	for (size_t i = 0; i < 3; i++)
		if (values[i] != floor(values[i]))
			return NO_NUMBER;
	if (values[1] > values[0] || values[2] < values[1] || (values[1] > 0) != (values[2] > 0))
		return "steps of more or fewer runs than there are";
	kept->run_count = (size_t)values[0];
	kept->with_steps = (size_t)values[1];
	kept->steps = values[2];
	kept->step_delay_ns = values[3];
	kept->delay_ns = values[4];
	return NULL;
}

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
}

/* Texts of fields, to be freed. False = one is no text. */
static bool take_texts(char *const *fields, size_t count, char **texts)
{
	for (size_t i = 0; i < count; i++) {
		texts[i] = text_of(fields[i]);
		if (!texts[i]) {
			free_texts(texts, i);
			return false;
		}
	}
	return true;
}

#define NO_TEXT "a name that is not written as names are"

static const char *take_fact(struct kept *kept, char *const *fields, size_t count)
{
	char *texts[3];

	if (count != 4 || !take_texts(&fields[1], 3, texts))
		return NO_TEXT;
	traits_add(&kept->traits, texts[0], texts[1], texts[2]);
	return NULL;
}

static const char *take_filters(struct kept *kept, char *const *fields, size_t count)
{
	if (count != 2 || kept->filters || !take_texts(&fields[1], 1, &kept->filters))
		return NO_TEXT;
	return NULL;
}

static const char *take_head(struct kept_rows *rows, const struct join_spec *spec, char *const *fields, size_t count)
{
	double head[2];
	size_t values = value_count(spec);

	if (count != 4 + values || !take_numbers(&fields[2], 2, head, NULL) || !take_numbers(&fields[4], values, rows->rows.most_of, NULL))
		return NO_NUMBER;
	rows->recorded = (size_t)head[0];
	rows->rows.left_out = (size_t)head[1];
	return NULL;
}

static const char *take_row(struct join_rows *rows, const struct join_spec *spec, char *const *fields, size_t count)
{
	size_t keys = key_count(spec), values = value_count(spec), before = rows->count;
	char *texts[JOIN_KEYS] = {0};
	double numbers[JOIN_VALUES] = {0}, spread;
	bool is_known[JOIN_VALUES] = {0};
	struct join_item *item;

	if (count != 3 + keys + values || !take_numbers(&fields[2 + keys], values, numbers, is_known) ||
	    !take_numbers(&fields[2 + keys + values], 1, &spread, NULL))
		return NO_NUMBER;
	if (!take_texts(&fields[2], keys, texts))
		return NO_TEXT;
	item = join_item(rows, texts);
	if (rows->count == before)
		return "a row for the second time";
	memcpy(item->values, numbers, sizeof(item->values));
	memcpy(item->is_known, is_known, sizeof(item->is_known));
	item->spread = spread;
	return NULL;
}

const char *baseline_take_kept(struct kept *kept, char *const *fields, size_t count)
{
	if (strcmp(fields[0], "summed") == 0)
		return take_summed(kept, fields, count);
	if (strcmp(fields[0], "filters") == 0)
		return take_filters(kept, fields, count);
	if (strcmp(fields[0], "fact") == 0)
		return take_fact(kept, fields, count);
	for (size_t i = 0; count > 1 && i < KEPT_SUBJECTS; i++) {
		if (strcmp(fields[1], kept_kinds[i]->word) != 0)
			continue;
		if (strcmp(fields[0], "rows") == 0)
			return take_head(&kept->subjects[i], &kept_kinds[i]->spec, fields, count);
		return take_row(&kept->subjects[i].rows, &kept_kinds[i]->spec, fields, count);
	}
	return "a word that this program does not know";
}
