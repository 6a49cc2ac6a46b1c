/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by typed cells. See select.h. */
#include "reducer/rules/select.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *sign;
	enum select_how how;
} signs[] = {{"!=", SELECT_UNLIKE}, {">=", SELECT_LEAST}, {"<", SELECT_BELOW}, {"=", SELECT_EQUAL}};
#define SIGN_COUNT (sizeof(signs) / sizeof(signs[0]))

static size_t column_of(const struct table_kind *kind, const char *name, size_t length)
{
	for (size_t i = 0; i < kind->column_count; i++)
		if (strlen(kind->columns[i].id) == length && memcmp(kind->columns[i].id, name, length) == 0)
			return i;
	return SIZE_MAX;
}

/* One "column=value" of `length` bytes. */
static bool parse_term(struct selector *selector, const struct table_kind *kind, const char *word, size_t length)
{
	size_t name = strcspn(word, "!<>="), sign = 0;

	while (sign < SIGN_COUNT && strncmp(word + name, signs[sign].sign, strlen(signs[sign].sign)) != 0)
		sign++;
	if (name >= length || sign == SIGN_COUNT || selector->count == SELECT_TERMS)
		return false;
	selector->terms[selector->count].column = column_of(kind, word, name);
	selector->terms[selector->count].how = signs[sign].how;
	selector->terms[selector->count].text = word + name + strlen(signs[sign].sign);
	selector->terms[selector->count].length = length - name - strlen(signs[sign].sign);
	selector->terms[selector->count].number = strtod(selector->terms[selector->count].text, NULL);
	return selector->terms[selector->count++].column != SIZE_MAX;
}

bool select_parse(struct selector *selector, const struct table_kind *kind, const char *words)
{
	*selector = (struct selector){0};
	while (*words) {
		size_t length = strcspn(words, ",");
		if (!parse_term(selector, kind, words, length))
			return false;
		words += length + (words[length] == ',');
	}
	return true;
}

static bool term_takes(const struct selector *selector, size_t i, const struct table *table, size_t row)
{
	size_t column = selector->terms[i].column, length;
	double number;

	if (!table_is_known(table, row, column))
		return false;
	if (table->kind->columns[column].type == TABLE_TEXT) {
		const char *text = table_get_text(table, row, column, &length);
		bool is_same = length == selector->terms[i].length && memcmp(text, selector->terms[i].text, length) == 0;
		return selector->terms[i].how == SELECT_EQUAL ? is_same : selector->terms[i].how == SELECT_UNLIKE && !is_same;
	}
	number = table_get_number(table, row, column);
	switch (selector->terms[i].how) {
	case SELECT_EQUAL:
		return number == selector->terms[i].number;
	case SELECT_UNLIKE:
		return number != selector->terms[i].number;
	case SELECT_LEAST:
		return number >= selector->terms[i].number;
	case SELECT_BELOW:
		return number < selector->terms[i].number;
	}
	return false;
}

bool select_takes(const struct selector *selector, const struct table *table, size_t row)
{
	for (size_t i = 0; i < selector->count; i++)
		if (!term_takes(selector, i, table, row))
			return false;
	return true;
}
