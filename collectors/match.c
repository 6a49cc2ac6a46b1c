/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern matcher; see collectors/match.h. All states that a text may be in are kept at once, as bits. */
#include "collectors/match.h"

#include "writer/sys.h"

#include "writer/poison.h"

struct states {
	uint64_t bits[2];
};

static int has(const struct states *states, uint32_t state)
{
	return states->bits[state >> 6] >> (state & 63) & 1;
}

/* Adds a state, and those behind it that are reached by passing over optional atoms. */
static void add(const struct tfp_pattern *pattern, struct states *states, uint32_t state)
{
	for (;;) {
		states->bits[state >> 6] |= UINT64_C(1) << (state & 63);
		if (pattern->atoms[state].is_end || !pattern->atoms[state].is_optional)
			return;
		state++;
	}
}

static void add_starts(const struct tfp_pattern *pattern, struct states *states, int is_first)
{
	for (uint32_t i = 0; i < pattern->count; i++)
		if ((i == 0 || pattern->atoms[i - 1].is_end) && (is_first || pattern->atoms[i].is_end || !pattern->atoms[i].is_tied))
			add(pattern, states, i);
}

static int has_ended(const struct tfp_pattern *pattern, const struct states *states, int is_last)
{
	for (uint32_t i = 0; i < pattern->count; i++)
		if (pattern->atoms[i].is_end && has(states, i) && (is_last || !pattern->atoms[i].is_tied))
			return 1;
	return 0;
}

int tfp_pattern_is_in(const struct tfp_pattern *pattern, const char *text, size_t length)
{
	struct states now = {{0, 0}};

	if (!pattern->count)
		return 0;
	add_starts(pattern, &now, 1);
	for (size_t at = 0; at < length; at++) {
		struct states next = {{0, 0}};
		unsigned char byte = (unsigned char)text[at];
		if (has_ended(pattern, &now, 0))
			return 1;
		for (uint32_t i = 0; i < pattern->count; i++) {
			const struct tfp_atom *atom = &pattern->atoms[i];
			if (has(&now, i) && !atom->is_end && atom->bytes[byte >> 6] >> (byte & 63) & 1)
				add(pattern, &next, atom->is_repeated ? i : i + 1);
		}
		now = next;
		add_starts(pattern, &now, 0);
	}
	return has_ended(pattern, &now, 1);
}

static void take(struct tfp_atom *atom, unsigned first, unsigned last)
{
	for (; first <= last; first++)
		atom->bytes[first >> 6] |= UINT64_C(1) << (first & 63);
}

static void take_escaped(struct tfp_atom *atom, unsigned char letter)
{
	if (letter != 'd' && letter != 'w') {
		take(atom, letter, letter);
		return;
	}
	take(atom, '0', '9');
	if (letter == 'w') {
		take(atom, 'a', 'z');
		take(atom, 'A', 'Z');
		take(atom, '_', '_');
	}
}

/* `at` stands behind the [. Returns where the set has ended, NULL when it does not. */
static const char *take_set(struct tfp_atom *atom, const char *at)
{
	int is_not = *at == '^';

	at += is_not;
	for (int is_first = 1; *at && (*at != ']' || is_first); is_first = 0) {
		unsigned char from = (unsigned char)*at++;
		if (from == '\\' && *at) {
			take_escaped(atom, (unsigned char)*at++);
			continue;
		}
		unsigned char to = from;
		if (*at == '-' && at[1] && at[1] != ']') {
			to = (unsigned char)at[1];
			at += 2;
		}
		take(atom, from, to);
	}
	for (int i = 0; is_not && i < 4; i++)
		atom->bytes[i] = ~atom->bytes[i];
	return *at == ']' ? at + 1 : NULL;
}

/* One atom without what stands behind it. */
static const char *take_atom(struct tfp_atom *atom, const char *at, const char **wrong)
{
	char letter = *at++;

	switch (letter) {
	case '.':
		take(atom, 0, 255);
		return at;
	case '[':
		at = take_set(atom, at);
		*wrong = at ? NULL : "a set that began with [ has no ]";
		return at;
	case '\\':
		*wrong = *at ? NULL : "nothing stands behind the last \\";
		take_escaped(atom, (unsigned char)*at);
		return at + 1;
	case '(':
	case ')':
	case '{':
	case '}':
		*wrong = "groups and counts are not known here; write \\( for the character";
		return at;
	case '*':
	case '+':
	case '?':
		*wrong = "nothing stands before *, + or ? that could be repeated";
		return at;
	default:
		take(atom, (unsigned char)letter, (unsigned char)letter);
		return at;
	}
}

static const char too_long[] = "longer than 126 characters and sets";

/* What stands behind an atom; x+ becomes x x*. */
static const char *take_count(struct tfp_pattern *pattern, const char *at)
{
	struct tfp_atom *atom = &pattern->atoms[pattern->count++];

	if (*at == '+') {
		pattern->atoms[pattern->count] = *atom;
		pattern->atoms[pattern->count].is_tied = 0;
		atom = &pattern->atoms[pattern->count++];
	}
	atom->is_repeated = *at == '*' || *at == '+';
	atom->is_optional = *at == '*' || *at == '+' || *at == '?';
	return *at && atom->is_optional ? at + 1 : at;
}

static const char *end_alternative(struct tfp_pattern *pattern, int is_tied)
{
	struct tfp_atom *end = &pattern->atoms[pattern->count];

	if (pattern->count == 0 || end[-1].is_end)
		return "an alternative is empty: it would match everything";
	end->is_end = 1;
	end->is_tied = (uint8_t)is_tied;
	pattern->count++;
	return NULL;
}

static const char *make(struct tfp_pattern *pattern, const char *at)
{
	const char *wrong = NULL;
	int is_begin_tied = *at == '^';

	at += is_begin_tied;
	while (*at) {
		if (pattern->count + 3 > TFP_PATTERN_ATOMS)
			return too_long;
		int is_tied = *at == '$' && (!at[1] || at[1] == '|');
		if (*at == '|' || is_tied) {
			wrong = end_alternative(pattern, is_tied);
			if (wrong)
				return wrong;
			at += is_tied;
			if (!*at)
				return NULL;
			at++;
			is_begin_tied = *at == '^';
			at += is_begin_tied;
			continue;
		}
		pattern->atoms[pattern->count].is_tied = (uint8_t)is_begin_tied;
		is_begin_tied = 0;
		at = take_atom(&pattern->atoms[pattern->count], at, &wrong);
		if (wrong)
			return wrong;
		at = take_count(pattern, at);
	}
	return end_alternative(pattern, 0);
}

const char *tfp_pattern_make(struct tfp_pattern *pattern, const char *text)
{
	tfp_fill(pattern, 0, sizeof *pattern);
	const char *wrong = make(pattern, text);
	if (wrong)
		tfp_fill(pattern, 0, sizeof *pattern);
	return wrong;
}
