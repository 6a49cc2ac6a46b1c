/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and numbers of a setting's text, read and written without libc: what preload/settings_parse.c is made of.
 *
 * Rule: as there, nothing is called and no memory is used but the caller's.
 */
#ifndef TFP_PRELOAD_SETTINGS_TEXT_H
#define TFP_PRELOAD_SETTINGS_TEXT_H

#include <stddef.h>
#include <stdint.h>

size_t tfp_text_length(const char *text);

/* Whether `length` bytes of text are exactly `word`; case does not matter, nor does - or _. */
int tfp_text_is_word(const char *text, size_t length, const char *word);

/* What follows `prefix` where the text begins with it, or NULL. */
const char *tfp_text_after(const char *text, const char *prefix);

/* The text behind the first occurrence of `word`, or NULL. */
const char *tfp_text_behind(const char *text, const char *word);

/* Where text is written: `length` bytes so far and a terminator; what has no room in `room` bytes is cut. */
struct tfp_sink {
	char *to;
	size_t room, length;
};

void tfp_put_letter(struct tfp_sink *sink, char c);
void tfp_put_text(struct tfp_sink *sink, const char *text);
void tfp_put_number(struct tfp_sink *sink, uint64_t number);

/* The units of a kind of number, the largest first, so that printing finds the largest exact one; the last has no name. */
struct tfp_unit {
	const char *name;
	uint64_t factor;
};
extern const struct tfp_unit tfp_size_units[];  /* powers of 1024, as memory is counted */
extern const struct tfp_unit tfp_time_units[];  /* in nanoseconds */
extern const struct tfp_unit tfp_count_units[]; /* none */

/* Reads decimal digits; returns what follows, or NULL when there are none or they do not fit. */
const char *tfp_read_digits(const char *text, uint64_t *number);

/* Reads a number and its unit; a bare 0 needs none. Returns what follows, or NULL. */
const char *tfp_read_units(const char *text, const struct tfp_unit *units, uint64_t *number);

/* Writes a number in the largest unit that holds it exactly. */
void tfp_put_units(struct tfp_sink *sink, uint64_t number, const struct tfp_unit *units);

#endif
