/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people read them.
 *
 * Rule: three significant digits and the unit.
 */
#include "reducer/report/human.h"

#include "reducer/report/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void human_ns(struct text *out, int64_t ns)
{
	double seconds = (double)ns / 1e9, size = seconds < 0 ? -seconds : seconds;
	int64_t whole = (int64_t)(size + 0.5);

	if (ns == 0)
		text_string(out, "0 s");
	else if (size < 999.5e-9)
		text_format(out, "%" PRId64 " ns", ns);
	else if (size < 999.5e-6)
		text_digits(out, seconds * 1e6, "us");
	else if (size < 0.9995)
		text_digits(out, seconds * 1e3, "ms");
	else if (size < 99.95)
		text_digits(out, seconds, "s");
	else if (whole < 3600)
		text_format(out, "%s%" PRId64 " m %02" PRId64 " s", ns < 0 ? "-" : "", whole / 60, whole % 60);
	else
		text_format(out, "%s%" PRId64 " h %02" PRId64 " m", ns < 0 ? "-" : "", whole / 3600, whole % 3600 / 60);
}

void human_count(struct text *out, int64_t count)
{
	char digits[32];
	size_t length;

	if (count >= 10000000 || count <= -10000000) {
		double millions = (double)count / 1e6;
		bool is_large = millions >= 999.5 || millions <= -999.5;
		text_digits(out, is_large ? millions / 1e3 : millions, is_large ? "G" : "M");
		return;
	}
	snprintf(digits, sizeof(digits), "%" PRId64, count < 0 ? -count : count);
	length = strlen(digits);
	if (count < 0)
		text_char(out, '-');
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text_char(out, ',');
		text_char(out, digits[i]);
	}
}

/* Arithmetic operations: powers of ten, as devices are measured. */
static void human_flops(struct text *out, double count)
{
	static const char *const units[] = {"flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop", "Eflop"};
	size_t unit = 0;

	while ((count >= 999.5 || count <= -999.5) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		count /= 1000;
		unit++;
	}
	text_digits(out, count, units[unit]);
}

static void human_integer(struct text *out, enum table_unit unit, int64_t value)
{
	switch (unit) {
	case UNIT_BYTES:
		text_size(out, value);
		break;
	case UNIT_NS:
		human_ns(out, value);
		break;
	case UNIT_COUNT:
		human_count(out, value);
		break;
	case UNIT_BYTES_PER_S:
		text_size(out, value);
		text_string(out, "/s");
		break;
	case UNIT_FLOPS:
	case UNIT_FLOPS_PER_S:
		human_flops(out, (double)value);
		text_string(out, unit == UNIT_FLOPS ? "" : "/s");
		break;
	case UNIT_MILLIWATTS:
	case UNIT_MILLIJOULES:
		text_digits(out, (double)value / 1e3, unit == UNIT_MILLIWATTS ? "W" : "J");
		break;
	case UNIT_MEGAHERTZ:
	case UNIT_CELSIUS:
		human_count(out, value);
		text_string(out, unit == UNIT_MEGAHERTZ ? " MHz" : " C");
		break;
	case UNIT_NONE:
	case UNIT_RATIO:
		text_format(out, "%" PRId64, value);
		break;
	}
}

static void human_real(struct text *out, enum table_unit unit, double value)
{
	double size = value < 0 ? -value : value;

	if (unit == UNIT_RATIO)
		text_format(out, value > 0 && value < 1e-5 ? "<0.001 %%" : "%.3g %%", 100 * value);
	else if (size < 9.2e18 && (unit != UNIT_NONE || size >= 999.5)) /* of int64_t; from there on %.3g has an exponent */
		human_integer(out, unit == UNIT_NONE ? UNIT_COUNT : unit, (int64_t)(value < 0 ? value - 0.5 : value + 0.5));
	else
		text_format(out, "%.3g", value);
}

/* The first plural in a text about many: where it ends, and how much of it one alone does not have. 0 = there is none. */
static size_t end_of_plural(const char *many, size_t *too_much)
{
	static const struct {
		const char *ends;
		size_t too_much;
	} plurals[] = {{"sses", 2}, {"ches", 2}, {"children", 3}, {"s", 1}};

	for (size_t end = 0; many[end]; end++)
		for (size_t i = 0; strchr(" ,:(", many[end + 1]) && i < sizeof(plurals) / sizeof(plurals[0]); i++) {
			size_t length = strlen(plurals[i].ends);
			if (end + 1 < length || memcmp(&many[end + 1 - length], plurals[i].ends, length) != 0)
				continue;
			*too_much = plurals[i].too_much;
			return end + 1;
		}
	return 0;
}

void human_counted(struct text *out, uint64_t count, const char *many)
{
	static const char *const words[][2] = {{" that end ", " that ends "}, {" that were ", " that was "}, {" their ", " its "}};
	size_t too_much = 0, from = count == 1 ? end_of_plural(many, &too_much) : 0;

	human_count(out, (int64_t)count);
	text_char(out, ' ');
	text_put(out, many, from - too_much);
	while (many[from]) {
		size_t i = 0;
		while (i < sizeof(words) / sizeof(words[0]) && strncmp(&many[from], words[i][0], strlen(words[i][0])) != 0)
			i++;
		if (count == 1 && i < sizeof(words) / sizeof(words[0])) {
			text_put(out, words[i][1], strlen(words[i][1]) - 1);
			from += strlen(words[i][0]) - 1;
		} else {
			text_char(out, many[from++]);
		}
	}
}

void human_cell(struct text *out, const struct table *table, size_t row, size_t column)
{
	const struct table_column *kind = &table->kind->columns[column];
	size_t length;
	const char *bytes;

	if (!table_is_known(table, row, column))
		return;
	switch (kind->type) {
	case TABLE_INTEGER:
		human_integer(out, kind->unit, table_get_integer(table, row, column));
		break;
	case TABLE_REAL:
		human_real(out, kind->unit, table_get_number(table, row, column));
		break;
	case TABLE_TEXT:
		bytes = table_get_text(table, row, column, &length);
		escape_visible(out, bytes, length);
		break;
	case TABLE_STACK:
		break;
	}
}
