/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic by op and process; see reducer/analysis/flops.h. */
#include "reducer/analysis/flops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *begin(const struct analysis_input *input)
{
	struct flops_found *found = base_alloc(1, sizeof(*found));

	if (!input)
		return found;
	found->sums = base_grow(NULL, &found->sum_room, 1, sizeof(*found->sums));
	found->sums[found->sum_count++] = (struct flops_sum){.log_id = input->process->log_id, .process = input->index};
	return found;
}

struct key {
	const char *name;
	unsigned source;
};

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct flops_found *found = context;
	const struct key *wanted = key;
	const struct flops_op *op = &found->ops[number];

	return op->source == wanted->source && strcmp(found->words.items[op->name], wanted->name) == 0;
}

static uint64_t hash_of(const struct key *key)
{
	return base_hash(BASE_HASH ^ key->source, key->name, strlen(key->name));
}

const struct flops_op *flops_find_op(const struct flops_found *found, const char *name, unsigned source)
{
	struct key key = {name, source};
	uint32_t number = found ? base_index_find(&found->index, hash_of(&key), is_same, found, &key) : UINT32_MAX;

	return number == UINT32_MAX ? NULL : &found->ops[number];
}

static struct flops_op *op_of(struct flops_found *found, const char *name, unsigned source)
{
	struct key key = {name, source};
	uint64_t hash = hash_of(&key);
	uint32_t number = base_index_find(&found->index, hash, is_same, found, &key);

	if (number == UINT32_MAX) {
		number = (uint32_t)found->op_count;
		found->ops = base_grow(found->ops, &found->op_room, found->op_count + 1, sizeof(*found->ops));
		found->ops[found->op_count++] =
			(struct flops_op){.name = words_number(&found->words, name), .source = (uint8_t)source};
		base_index_add(&found->index, hash, number);
	}
	return &found->ops[number];
}

static void take(void *result, const struct span *span)
{
	struct flops_found *found = result;
	const struct span_flops *flops = span->flops;

	if (flops->is_replay) {
		found->sums[0].replays++;
		return;
	}
	const char *name = flops->origin == FLOPS_BY_CALL ? span->op : span->name;
	struct flops_op *op =
		name ? op_of(found, name, flops->origin == FLOPS_BY_CALL ? span->op_source : span->source) : NULL;

	if (flops->is_counted) {
		uint64_t *sum = &found->sums[0].flops[flops->origin][flops->flops.type];
		*sum = flops_plus(*sum, flops->flops.count);
		found->sums[0].times[flops->origin]++;
	}
	if (op && flops->is_innermost) {
		op->launched = flops_plus(op->launched, flops->flops.count);
		op->launched_times++;
	}
	if (!op || flops->origin == FLOPS_BY_CALL || flops->is_inner || span->is_open)
		return;
	op->flops = flops_plus(op->flops, flops->flops.count);
	op->occurrences++;
	op->ns += span->duration_ns;
}

static int compare_sums(const void *a, const void *b)
{
	const struct flops_sum *one = a, *other = b;

	return one->log_id < other->log_id ? -1 : one->log_id > other->log_id;
}

static void merge(void *into, const void *from)
{
	struct flops_found *found = into;
	const struct flops_found *more = from;

	for (size_t i = 0; i < more->op_count; i++) {
		const struct flops_op *add = &more->ops[i];
		struct flops_op *op = op_of(found, more->words.items[add->name], add->source);
		op->flops = flops_plus(op->flops, add->flops);
		op->occurrences += add->occurrences;
		op->ns += add->ns;
		op->launched = flops_plus(op->launched, add->launched);
		op->launched_times += add->launched_times;
	}
	for (size_t i = 0; i < more->sum_count; i++) {
		found->sums = base_grow(found->sums, &found->sum_room, found->sum_count + 1, sizeof(*found->sums));
		found->sums[found->sum_count++] = more->sums[i];
	}
	if (found->sum_count)
		qsort(found->sums, found->sum_count, sizeof(*found->sums), compare_sums);
}

uint64_t flops_add_up(const uint64_t by_origin[FLOPS_ORIGINS])
{
	uint64_t sum = flops_plus(by_origin[FLOPS_BY_OP], by_origin[FLOPS_BY_CALL]);

	return sum ? sum : by_origin[FLOPS_BY_TRACE];
}

static void print(const void *result, struct text *text)
{
	const struct flops_found *found = result;
	char **lines = base_alloc(found->op_count + 1, sizeof(*lines));

	for (size_t i = 0; i < found->op_count; i++) {
		const struct flops_op *op = &found->ops[i];
		struct text line = {0};
		text_format(&line, "%s/%u: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			    found->words.items[op->name], op->source, op->flops, op->occurrences, op->ns, op->launched,
			    op->launched_times);
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, found->op_count);
	for (size_t i = 0; i < found->sum_count; i++) {
		text_format(text, "%" PRIx64 ":", found->sums[i].log_id);
		for (size_t o = 0; o < FLOPS_ORIGINS; o++)
			for (size_t t = 0; t < FLOPS_TYPES; t++)
				text_format(text, " %" PRIu64, found->sums[i].flops[o][t]);
		text_format(text, " %" PRIu64 "\n", found->sums[i].replays);
	}
}

static void drop(void *result)
{
	struct flops_found *found = result;

	words_free(&found->words);
	base_index_free(&found->index);
	free(found->ops);
	free(found->sums);
	free(found);
}

const struct analysis_kind analysis_flops = {
	.name = "flops",
	.wants = SPAN_BIT(SPAN_FLOPS),
	.begin = begin,
	.span = take,
	.merge = merge,
	.print = print,
	.free = drop,
};
