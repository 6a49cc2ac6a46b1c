/* SPDX-License-Identifier: Apache-2.0 */
/* Device work by range; see reducer/analysis/range_work.h. */
#include "reducer/analysis/range_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By number of the nesting (struct span_nest): what was done for it and nothing inside it. */
struct nest_sum {
	uint64_t kernels, ns;
	uint32_t outer; /* number; 0 = none */
	uint32_t row;
	bool is_known, is_inner;
};

struct range_work_pass {
	struct nest_sum *sums;
	size_t room;
};

struct row_key {
	const char *name, *domain;
	uint8_t source;
};

static void *begin(const struct analysis_input *input)
{
	struct range_work *work = base_alloc(1, sizeof(*work));

	if (input)
		work->pass = base_alloc(1, sizeof(*work->pass));
	return work;
}

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct range_work *work = context;
	const struct range_work_row *row = &work->rows[number];
	const struct row_key *want = key;

	return row->source == want->source && strcmp(work->words.items[row->name], want->name) == 0 &&
	       strcmp(work->words.items[row->domain], want->domain) == 0;
}

static uint32_t find(const struct range_work *work, const struct row_key *key, uint64_t *hash)
{
	*hash = base_hash(BASE_HASH, key->name, strlen(key->name) + 1);
	*hash = base_mix(base_hash(*hash, key->domain, strlen(key->domain) + 1) ^ key->source);
	return base_index_find(&work->index, *hash, is_same, work, key);
}

static uint32_t row_of(struct range_work *work, const char *name, const char *domain, uint8_t source)
{
	const struct row_key key = {.name = name, .domain = domain, .source = source};
	uint64_t hash;
	uint32_t number = find(work, &key, &hash);

	if (number == UINT32_MAX) {
		number = (uint32_t)work->count++;
		work->rows = base_grow(work->rows, &work->room, work->count, sizeof(*work->rows));
		work->rows[number] = (struct range_work_row){.name = words_number(&work->words, name),
							     .domain = words_number(&work->words, domain),
							     .source = source};
		base_index_add(&work->index, hash, number);
	}
	return number;
}

const struct range_work_row *range_work_find(const struct range_work *work, const char *name, const char *domain, unsigned source)
{
	const struct row_key key = {.name = name, .domain = domain, .source = (uint8_t)source};
	uint64_t hash;
	uint32_t number = find(work, &key, &hash);

	return number == UINT32_MAX ? NULL : &work->rows[number];
}

/* The sum of a nesting that was not seen before, and those of all that it lies in. */
static void add_nest(struct range_work *work, const struct span_nest *nest)
{
	struct range_work_pass *pass = work->pass;

	pass->sums = base_reach(pass->sums, &pass->room, nest->number, sizeof(*pass->sums));
	for (; nest->outer && !pass->sums[nest->number].is_known; nest = nest->outer)
		pass->sums[nest->number] = (struct nest_sum){.outer = nest->outer->number,
							     .row = row_of(work, nest->name, nest->domain, nest->source),
							     .is_known = true,
							     .is_inner = nest->is_inner};
}

static inline __attribute__((always_inline)) void add(struct range_work *work, const struct span *span, uint64_t duration_ns)
{
	const struct range_work_pass *pass = work->pass;
	const struct span_nest *nest = span->nest;
	struct nest_sum *sum;

	if (!nest || !nest->outer) { /* no call that is known; in no range */
		work->unplaced += !nest;
		work->beyond += nest && nest->is_beyond;
		return;
	}
	if (nest->number >= pass->room || !pass->sums[nest->number].is_known)
		add_nest(work, nest);
	sum = &pass->sums[nest->number];
	sum->kernels += span->what == SPAN_KERNEL;
	sum->ns += duration_ns;
}

static void take(void *result, const struct span *span)
{
	if (span->on == SPAN_QUEUE)
		add(result, span, span->duration_ns);
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].like->on == SPAN_QUEUE)
			add(result, spans[i].like, spans[i].duration_ns);
}

/* What lies in a nesting has a higher number than that: from the last to the first each has its own and all inside it. */
static void end(void *result)
{
	struct range_work *work = result;
	struct range_work_pass *pass = work->pass;

	for (size_t i = 0; i < pass->room; i++)
		if (pass->sums[i].is_known)
			work->rows[pass->sums[i].row].self_ns += pass->sums[i].ns;
	for (size_t i = pass->room; i-- > 0;) {
		const struct nest_sum *sum = &pass->sums[i];
		if (!sum->is_known)
			continue;
		if (!sum->is_inner) {
			work->rows[sum->row].kernels += sum->kernels;
			work->rows[sum->row].ns += sum->ns;
		}
		pass->sums[sum->outer].kernels += sum->kernels;
		pass->sums[sum->outer].ns += sum->ns;
	}
	free(pass->sums);
	free(pass);
	work->pass = NULL;
}

static void merge(void *into, const void *from)
{
	struct range_work *work = into;
	const struct range_work *more = from;

	for (size_t i = 0; i < more->count; i++) {
		const struct range_work_row *add = &more->rows[i];
		uint32_t number = row_of(work, more->words.items[add->name], more->words.items[add->domain], add->source);
		struct range_work_row *row = &work->rows[number];

		row->kernels += add->kernels;
		row->ns += add->ns;
		row->self_ns += add->self_ns;
	}
	work->beyond += more->beyond;
	work->unplaced += more->unplaced;
}

static void print(const void *result, struct text *text)
{
	const struct range_work *work = result;
	char **lines = base_alloc(work->count + 1, sizeof(*lines));

	for (size_t i = 0; i < work->count; i++) {
		const struct range_work_row *row = &work->rows[i];
		struct text line = {0};
		text_format(&line, "%s/%s %u: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", work->words.items[row->domain],
			    work->words.items[row->name], row->source, row->kernels, row->ns, row->self_ns);
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, work->count);
	text_format(text, "beyond %" PRIu64 ", unplaced %" PRIu64 "\n", work->beyond, work->unplaced);
}

static void drop(void *result)
{
	struct range_work *work = result;

	words_free(&work->words);
	base_index_free(&work->index);
	if (work->pass)
		free(work->pass->sums);
	free(work->pass);
	free(work->rows);
	free(work);
}

const struct analysis_kind analysis_range_work = {
	.name = "range_work",
	.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH),
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
