/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of spans, found by what they were made from. See patterns.h. */
#include "reducer/trace/patterns.h"

#include <stdlib.h>

#define KEPT \
	(SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_HOST_COPY) | SPAN_BIT(SPAN_SET) | \
	 SPAN_BIT(SPAN_GRAPH))

struct patterns *patterns_make(void)
{
	return base_alloc(1, sizeof(struct patterns));
}

void patterns_free(struct patterns *patterns)
{
	for (size_t i = 0; i < PATTERNS_KEPT; i++) {
		text_free(&patterns->kept[i].bytes);
		text_free(&patterns->alikes[i].bytes);
	}
	text_free(&patterns->other.bytes);
	free(patterns);
}

static bool is_of(const struct pattern *pattern, const struct span *span)
{
	if (pattern->name != span->name || pattern->what != span->what || pattern->track != span->track ||
	    pattern->lane != span->lane || pattern->process != span->process || pattern->has_flow != (span->flow != 0) ||
	    pattern->argument_count != span->argument_count)
		return false;
	for (size_t i = 0; i < span->argument_count; i++)
		if (pattern->arguments[i].name != span->arguments[i].name || pattern->arguments[i].text != span->arguments[i].text)
			return false;
	return true;
}

static void set_key(struct pattern *pattern, const struct span *span)
{
	pattern->name = span->name;
	pattern->what = span->what;
	pattern->track = span->track;
	pattern->lane = span->lane;
	pattern->process = span->process;
	pattern->has_flow = span->flow != 0;
	pattern->argument_count = span->argument_count;
	for (size_t i = 0; i < span->argument_count; i++) {
		pattern->arguments[i].name = span->arguments[i].name;
		pattern->arguments[i].text = span->arguments[i].text;
	}
}

/* The pattern of spans of a number that came before; NULL = it has not. */
static struct pattern *pattern_of_alike(struct patterns *patterns, const struct span *span, bool *is_known)
{
	struct pattern *pattern = &patterns->alikes[(span->alike + span->lane * 61 + span->process * 127) % PATTERNS_KEPT];
	uint64_t *seen = &patterns->seen[span->alike % PATTERNS_KEPT];

	*is_known = pattern->alike == span->alike && pattern->lane == span->lane && pattern->process == span->process &&
		    pattern->has_flow == (span->flow != 0);
	if (*is_known)
		return pattern;
	if (*seen != span->alike) {
		*seen = span->alike;
		return NULL;
	}
	text_clear(&pattern->bytes);
	pattern->count = 0;
	pattern->alike = span->alike;
	pattern->lane = span->lane;
	pattern->process = span->process;
	pattern->has_flow = span->flow != 0;
	return pattern;
}

struct pattern *patterns_of(struct patterns *patterns, const struct span *span, bool *is_known)
{
	if (span->alike) {
		struct pattern *alike = pattern_of_alike(patterns, span, is_known);
		if (alike)
			return alike;
	}
	uintptr_t mixed = ((uintptr_t)span->name >> 3) * 31 + span->track * 7 + span->lane * 3 + span->argument_count;
	struct pattern *pattern = &patterns->kept[(mixed ^ mixed >> 9) % PATTERNS_KEPT];

	if (!(SPAN_BIT(span->what) & KEPT) || span->is_open || span->argument_count > PATTERN_ARGUMENTS)
		pattern = &patterns->other;
	*is_known = pattern != &patterns->other && is_of(pattern, span);
	if (*is_known)
		return pattern;
	text_clear(&pattern->bytes);
	pattern->count = 0;
	if (pattern != &patterns->other)
		set_key(pattern, span);
	return pattern;
}

void pattern_end(struct pattern *pattern, uint32_t argument, size_t back)
{
	pattern->pieces[pattern->count++] = (struct pattern_piece){pattern->bytes.length, argument, (uint32_t)back};
}
