/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pattern matcher for the setting STEP_RANGE: what step markers are called.
 *
 * A pattern is one or more alternatives, separated by `|`. In each: characters, `.` (any), `[a-z_]` and `[^...]` (sets),
 * `\d` (a digit), `\w` (a letter, digit or _), `\` before any other character (itself), each with `*`, `+` or `?`
 * behind it; `^` at its begin and `$` at its end tie it to the text's. Groups and counts are refused.
 * Rule: time is bounded by pattern times text, nothing is allocated, the stack stays small.
 */
#ifndef TFP_COLLECTORS_MATCH_H
#define TFP_COLLECTORS_MATCH_H

#include <stddef.h>
#include <stdint.h>

#define TFP_PATTERN_ATOMS 126 /* two words of states, each with an end */

/* One position of a pattern: which bytes it takes, and whether it may be passed over or stay. */
struct tfp_atom {
	uint64_t bytes[4];
	uint8_t is_optional, is_repeated, is_end, is_tied; /* is_end: of an alternative; is_tied: `^` before it, `$` at an end */
};

struct tfp_pattern {
	uint32_t count; /* 0: matches nothing */
	struct tfp_atom atoms[TFP_PATTERN_ATOMS + 2];
};

/* Makes a pattern of text. NULL, or what is wrong with it (static text); *pattern then matches nothing. */
const char *tfp_pattern_make(struct tfp_pattern *pattern, const char *text);

/* Whether the pattern is found in the text, anywhere unless it is tied. Any context. */
int tfp_pattern_is_in(const struct tfp_pattern *pattern, const char *text, size_t length);

#endif
