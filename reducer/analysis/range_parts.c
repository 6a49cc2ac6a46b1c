/* SPDX-License-Identifier: Apache-2.0 */
/* Named ranges of a part of the time; see reducer/analysis/range_parts.h. */
#include "reducer/analysis/range_parts.h"

#include "reducer/analysis/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *begin(const struct analysis_input *input)
{
	(void)input;
	return base_alloc(1, sizeof(struct range_parts));
}

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct range_part *have = &((const struct range_parts *)context)->items[number], *want = key;

	return have->name == want->name && have->domain == want->domain && have->source == want->source &&
	       have->is_told_late == want->is_told_late;
}

static struct range_part *part_of_key(struct range_parts *parts, const struct range_part *key)
{
	uint64_t hash = base_mix((uint64_t)key->name << 32 | key->domain) ^ base_mix(key->source | (uint64_t)key->is_told_late << 8);
	uint32_t number = base_index_find(&parts->index, hash, is_same, parts, key);

	if (number == UINT32_MAX) {
		number = (uint32_t)parts->count++;
		parts->items = base_grow(parts->items, &parts->room, parts->count, sizeof(*parts->items));
		parts->items[number] = *key;
		base_index_add(&parts->index, hash, number);
	}
	return &parts->items[number];
}

/* An iterator of tf.data, and what is named like an op, are none. */
static bool is_range(const struct span *span)
{
	return span->what != SPAN_TRACE || (!part_is_op(span) && strncmp(span->name, "Iterator::", 10) != 0);
}

static void take(void *result, const struct span *span)
{
	struct range_parts *parts = result;
	struct range_part *part;

	if (!is_range(span))
		return;
	part = part_of_key(parts, &(struct range_part){.name = words_lasting(&parts->words, span->name),
						       .domain = words_lasting(&parts->words, span->domain),
						       .source = span->source,
						       .is_told_late = span->what == SPAN_TRACE});
	if (span->what == SPAN_MARK) {
		part->marks++;
		return;
	}
	if (!span->is_open) {
		part->least_ns = part->occurrences > part->cut && part->least_ns < span->duration_ns ? part->least_ns : span->duration_ns;
		part->whole_ns += span->duration_ns;
	}
	part->most_ns = part->most_ns > span->duration_ns ? part->most_ns : span->duration_ns;
	part->occurrences++;
	part->ns += span->duration_ns;
	part->cut += span->is_open ? 1 : 0;
	if (span->on == SPAN_PROCESS)
		part->process_wide++;
	else
		part->self_ns += span->self_ns;
}

static void merge(void *into, const void *from)
{
	struct range_parts *parts = into;
	const struct range_parts *more = from;

	for (size_t i = 0; i < more->count; i++) {
		const struct range_part *add = &more->items[i];
		struct range_part *part =
			part_of_key(parts, &(struct range_part){.name = words_number(&parts->words, more->words.items[add->name]),
								.domain = words_number(&parts->words, more->words.items[add->domain]),
								.source = add->source,
								.is_told_late = add->is_told_late});
		if (add->occurrences > add->cut)
			part->least_ns = part->occurrences > part->cut && part->least_ns < add->least_ns ? part->least_ns : add->least_ns;
		part->most_ns = part->most_ns > add->most_ns ? part->most_ns : add->most_ns;
		part->whole_ns += add->whole_ns;
		part->occurrences += add->occurrences;
		part->marks += add->marks;
		part->cut += add->cut;
		part->process_wide += add->process_wide;
		part->ns += add->ns;
		part->self_ns += add->self_ns;
	}
}

static void print(const void *result, struct text *text)
{
	const struct range_parts *parts = result;
	char **lines = base_alloc(parts->count + 1, sizeof(*lines));

	for (size_t i = 0; i < parts->count; i++) {
		const struct range_part *part = &parts->items[i];
		struct text line = {0};
		text_format(&line, "%s/%s %u %d: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, parts->words.items[part->domain],
			    parts->words.items[part->name], part->source, part->is_told_late, part->occurrences, part->marks,
			    part->cut, part->process_wide);
		text_format(&line, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "..%" PRIu64 "\n", part->ns, part->self_ns,
			    part->whole_ns, part->least_ns, part->most_ns);
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, parts->count);
}

static void drop(void *result)
{
	struct range_parts *parts = result;

	words_free(&parts->words);
	base_index_free(&parts->index);
	free(parts->items);
	free(parts);
}

const struct analysis_kind analysis_range_parts = {
	.name = "range_parts",
	.wants = SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_MARK),
	.is_of_parts = true,
	.begin = begin,
	.span = take,
	.merge = merge,
	.print = print,
	.free = drop,
};
