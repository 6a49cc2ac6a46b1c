/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regular expressions of a command line; see reducer/base/pattern.h.
 *
 * Rule: an expression weighs what it is with its repetitions written out, as libc does: x+ is xx*, x{2,4} is xxx?x?.
 */
#include "reducer/base/pattern.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* libc took 0.1 to 3 s and at most 0.8 GB for what weighs so much (glibc 2.36), and some 100 bytes of stack for each open group. */
#define WEIGHT_MOST 10000
#define GROUPS_MOST 1000
#define OPTIONAL_WEIGHT 4 /* of a copy that may be left out: its cost grows as the square of their number */

struct weighed {
	const char *at;
	uint64_t sums[GROUPS_MOST + 1]; /* of each open group, the outermost first */
	size_t depth;
	uint64_t last; /* of what a repetition would repeat; part of the sum */
};

static void add(struct weighed *weighed, uint64_t weight)
{
	weighed->last = weight;
	weighed->sums[weighed->depth] += weight;
}

/* Digits at *at, and past them; what is refused anyway is not told apart, so that no product overflows. */
static uint64_t times_at(const char **at)
{
	uint64_t times = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		times = times > WEIGHT_MOST ? times : times * 10 + (uint64_t)(**at - '0');
	return times;
}

static void repeat(struct weighed *weighed, uint64_t times)
{
	uint64_t *sum = &weighed->sums[weighed->depth];

	*sum += weighed->last * times - weighed->last;
	weighed->last *= times;
}

/* Stands on "{" and goes to its "}"; where no number follows it is a letter. */
static void repeat_counted(struct weighed *weighed)
{
	const char *at = weighed->at + 1;
	uint64_t least, most;

	if (*at != ',' && (*at < '0' || *at > '9')) {
		add(weighed, 1);
		return;
	}
	least = most = times_at(&at);
	if (*at == ',') {
		at++;
		most = *at == '}' ? least + 1 : times_at(&at);
	}
	if (*at == '}')
		weighed->at = at; /* else libc refuses it */
	if (most > least)
		repeat(weighed, least + (most - least) * OPTIONAL_WEIGHT);
	else
		repeat(weighed, least ? least : 1);
}

/* Stands on "["; goes to its "]", or to the last character. */
static void skip_bracket(struct weighed *weighed)
{
	const char *at = weighed->at + 1;

	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		const char kind = *at == '[' ? at[1] : 0;
		const char end[] = {kind, ']', 0};
		const char *past = kind == ':' || kind == '.' || kind == '=' ? strstr(at + 2, end) : NULL;

		at = past ? past + 2 : at + 1;
	}
	weighed->at = *at ? at : at - 1;
}

static bool open_group(struct weighed *weighed)
{
	if (weighed->depth == GROUPS_MOST)
		return false;
	weighed->sums[++weighed->depth] = 1;
	return true;
}

static void close_group(struct weighed *weighed)
{
	if (weighed->depth == 0)
		add(weighed, 1);
	else
		add(weighed, weighed->sums[weighed->depth--]);
}

static bool is_too_large(const char *pattern)
{
	struct weighed weighed = {.at = pattern};

	for (; *weighed.at && weighed.sums[weighed.depth] <= WEIGHT_MOST; weighed.at++) {
		switch (*weighed.at) {
		case '(':
			if (!open_group(&weighed))
				return true;
			break;
		case ')':
			close_group(&weighed);
			break;
		case '+':
			repeat(&weighed, 2);
			break;
		case '{':
			repeat_counted(&weighed);
			break;
		case '*':
		case '?':
			break;
		case '[':
			skip_bracket(&weighed);
			add(&weighed, 1);
			break;
		default:
			weighed.at += *weighed.at == '\\' && weighed.at[1];
			add(&weighed, 1);
		}
	}
	return weighed.sums[weighed.depth] > WEIGHT_MOST;
}

int pattern_compile(regex_t *compiled, const char *pattern, int flags)
{
	if (is_too_large(pattern)) {
		*compiled = (regex_t){0}; /* for regerror, and a regfree that finds nothing */
		return REG_ESIZE;
	}
	return regcomp(compiled, pattern, REG_EXTENDED | flags);
}
