/* SPDX-License-Identifier: Apache-2.0 */
/* Ops by what they were given; see reducer/analysis/shaped.h. */
#include "reducer/analysis/shaped.h"

#include "reducer/analysis/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *begin(const struct analysis_input *input)
{
	(void)input;
	return base_alloc(1, sizeof(struct shaped));
}

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct shaped_op *have = &((const struct shaped *)context)->ops[number], *want = key;

	return have->name == want->name && have->inputs == want->inputs && have->source == want->source;
}

static struct shaped_op *op_of(struct shaped *shaped, const char *name, const char *inputs, uint8_t source)
{
	const struct shaped_op key = {.name = words_number(&shaped->words, name),
				      .inputs = words_number(&shaped->words, inputs),
				      .source = source};
	uint64_t hash = base_mix((uint64_t)key.name << 32 | key.inputs) ^ base_mix(source);
	uint32_t number = base_index_find(&shaped->index, hash, is_same, shaped, &key);

	if (number == UINT32_MAX) {
		number = (uint32_t)shaped->count++;
		shaped->ops = base_grow(shaped->ops, &shaped->room, shaped->count, sizeof(*shaped->ops));
		shaped->ops[number] = key;
		base_index_add(&shaped->index, hash, number);
	}
	return &shaped->ops[number];
}

static void count(struct shaped_op *op, const struct span *span)
{
	uint64_t ns = span->duration_ns;

	op->least_ns = op->occurrences && op->least_ns < ns ? op->least_ns : ns;
	op->most_ns = op->most_ns > ns ? op->most_ns : ns;
	op->occurrences++;
	op->ns += ns;
	op->self_ns += span->self_ns;
	op->squares += (spread_squares)ns * ns;
}

static void count_flops(struct shaped_op *op, const struct span *span)
{
	const struct span_flops *flops = span->flops;

	op->flops = flops_plus(op->flops, flops->flops.count);
	op->flops_times++;
	op->flops_ns += span->duration_ns;
	if (flops->is_innermost) {
		op->launched = flops_plus(op->launched, flops->flops.count);
		op->launched_times++;
	}
}

/* TensorFlow tells what its ops were given behind their names: ...shape=(float[2,3];int32[]). */
static void take_trace(struct shaped *shaped, const struct span *span)
{
	const char *text = span->argument_count ? span->arguments[0].text : NULL, *shape = text ? strstr(text, "shape=(") : NULL;
	const char *end = shape ? strrchr(shape, ')') : NULL;
	char *inputs = NULL;

	if (!part_is_op(span))
		return;
	if (end) {
		shape += strlen("shape=(");
		inputs = base_copy(shape, (size_t)(end - shape));
	}
	count(op_of(shaped, span->name, inputs, span->source), span);
	free(inputs);
}

static void take(void *result, const struct span *span)
{
	struct shaped *shaped = result;

	if (span->on == SPAN_QUEUE) {
		struct shaped_op *op = span->op ? op_of(shaped, span->op, span->inputs, span->op_source) : NULL;
		if (op) {
			op->works++;
			op->device_ns += span->duration_ns;
		}
	} else if (span->is_open) {
		return;
	} else if (span->what == SPAN_OP) {
		count(op_of(shaped, span->name, span->inputs, span->source), span);
	} else if (span->what == SPAN_TRACE) {
		take_trace(shaped, span);
	} else if (span->what == SPAN_FLOPS && span->flops->origin == FLOPS_BY_OP && !span->flops->is_replay) {
		count_flops(op_of(shaped, span->name, span->inputs, span->source), span);
	}
}

static void merge(void *into, const void *from)
{
	struct shaped *shaped = into;
	const struct shaped *more = from;

	for (size_t i = 0; i < more->count; i++) {
		const struct shaped_op *add = &more->ops[i];
		struct shaped_op *op =
			op_of(shaped, more->words.items[add->name], more->words.items[add->inputs], add->source);

		if (add->occurrences) {
			op->least_ns = op->occurrences && op->least_ns < add->least_ns ? op->least_ns : add->least_ns;
			op->most_ns = op->most_ns > add->most_ns ? op->most_ns : add->most_ns;
		}
		op->occurrences += add->occurrences;
		op->ns += add->ns;
		op->self_ns += add->self_ns;
		op->squares += add->squares;
		op->works += add->works;
		op->device_ns += add->device_ns;
		op->flops = flops_plus(op->flops, add->flops);
		op->flops_times += add->flops_times;
		op->flops_ns += add->flops_ns;
		op->launched = flops_plus(op->launched, add->launched);
		op->launched_times += add->launched_times;
	}
}

static void print(const void *result, struct text *text)
{
	const struct shaped *shaped = result;
	char **lines = base_alloc(shaped->count + 1, sizeof(*lines));

	for (size_t i = 0; i < shaped->count; i++) {
		const struct shaped_op *op = &shaped->ops[i];
		struct text line = {0};
		text_format(&line, "%s(%s) %u: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "..%" PRIu64 " %" PRIu64,
			    shaped->words.items[op->name], shaped->words.items[op->inputs], op->source, op->occurrences, op->ns,
			    op->self_ns, op->least_ns, op->most_ns, (uint64_t)op->squares);
		text_format(&line, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", op->works,
			    op->device_ns, op->flops, op->flops_times, op->flops_ns, op->launched, op->launched_times);
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, shaped->count);
}

static void drop(void *result)
{
	struct shaped *shaped = result;

	words_free(&shaped->words);
	base_index_free(&shaped->index);
	free(shaped->ops);
	free(shaped);
}

const struct analysis_kind analysis_shaped = {
	.name = "shaped",
	.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH) | SPAN_BIT(SPAN_OP) |
		 SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_FLOPS),
	.begin = begin,
	.span = take,
	.merge = merge,
	.print = print,
	.free = drop,
};
