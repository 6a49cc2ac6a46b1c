/* SPDX-License-Identifier: Apache-2.0 */
/* From an instruction to its line, as CPython's three kinds of tables say it. Rule: pure; reads the table alone. */
#include "collectors/python_layout.h"

#include "writer/poison.h"

/* Pairs {bytes of code, signed step of the line}; a step of 0 bytes belongs to the next one. */
static int64_t from_lnotab(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return line;
}

/* Pairs {bytes of code, signed step of the line before them}; a step of -128: these bytes have no line. */
static int64_t from_linetable(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int step = (int8_t)table[i + 1];
		end += table[i];
		if (step != -128)
			line += step;
		if (at < end)
			return step == -128 ? 0 : line;
	}
	return 0;
}

/* A number in groups of six bits, least significant first; bit 6: more follow. */
static uint64_t take_number(const uint8_t *table, size_t bytes, size_t *i)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *i < bytes && shift < 60; shift += 6) {
		uint8_t byte = table[(*i)++];
		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

/* An entry begins with 1ccccnnn: code c, n + 1 instructions of two bytes; what follows has bit 7 clear. */
static int64_t from_locations(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i < bytes;) {
		unsigned head = table[i++], code = head >> 3 & 15;
		if (!(head & 128))
			return 0;
		end += 2 * ((head & 7) + 1u);
		if (code == 13 || code == 14) {
			uint64_t step = take_number(table, bytes, &i);
			line += step & 1 ? -(int64_t)(step >> 1) : (int64_t)(step >> 1);
		} else if (code >= 10 && code <= 12) {
			line += code - 10;
		}
		if (at < end)
			return code == 15 ? 0 : line;
		while (i < bytes && !(table[i] & 128))
			i++;
	}
	return 0;
}

uint32_t tfp_python_line(enum tfp_python_lines kind, const uint8_t *table, size_t bytes, uint32_t first, uint32_t at)
{
	int64_t line = kind == TFP_PYTHON_LNOTAB      ? from_lnotab(table, bytes, first, at)
		       : kind == TFP_PYTHON_LINETABLE ? from_linetable(table, bytes, first, at)
						      : from_locations(table, bytes, first, at);

	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}
