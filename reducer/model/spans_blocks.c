/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of what frameworks' allocators hand out and get back; see spans.h.
 *
 * Rule: a block_detail and a block_room belong to the block that follows them in their stream.
 */
#include "reducer/model/spans_internal.h"

#include <string.h>

static const char *word(const struct spans *spans, uint64_t id)
{
	return id == 0 ? NULL : spans_text(spans, spans_place_of(&spans->words, id));
}

void spans_take_block_detail(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_block *block = &spans->pending[stream].block;

	block->requested = SPANS_VALUE(0);
	block->step = SPANS_VALUE(1);
	block->op = word(spans, SPANS_VALUE(2));
	block->region = word(spans, SPANS_VALUE(3));
	block->shape = word(spans, SPANS_VALUE(4));
	block->type = (uint32_t)SPANS_VALUE(5);
}

void spans_take_block_room(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct span_block *block = &((struct spans *)state)->pending[stream].block;
	uint64_t bits = SPANS_VALUE(3);

	block->free = SPANS_VALUE(0);
	block->stack = SPANS_VALUE(1);
	block->peak = SPANS_VALUE(2);
	memcpy(&block->fragmentation, &bits, sizeof bits);
	block->has_room = 1;
}

void spans_take_block(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_block *block = &spans->pending[stream].block;
	uint64_t operation = SPANS_VALUE(5);
	struct span_place place = spans_where(spans, stream);
	struct span span = {.kind = SPAN_INSTANT,
			    .what = SPAN_BLOCK,
			    .on = SPAN_THREAD,
			    .track = spans_serial(spans, stream),
			    .thread = spans_serial(spans, stream),
			    .depth = place.depth,
			    .phase = place.phase,
			    .source = SPAN_NO_SOURCE,
			    .start_ns = spans_ns(spans, batch->times[i]),
			    .name = word(spans, SPANS_VALUE(4)),
			    .bytes = SPANS_VALUE(1),
			    .op = spans_text(spans, place.op),
			    .range = spans_text(spans, place.range),
			    .called_ns = TIME_UNKNOWN,
			    .block = block};

	block->address = SPANS_VALUE(0);
	block->total = SPANS_VALUE(2);
	block->reserved = SPANS_VALUE(3);
	block->is_release = operation == 2;
	if (operation == 1 || operation == 2)
		spans_tell(spans, &span);
	memset(block, 0, sizeof *block);
}
