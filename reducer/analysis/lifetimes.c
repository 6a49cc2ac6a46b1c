/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lifetimes of what was live at the peak; see lifetimes.h.
 *
 * Rule: what is released after a peak was live at it if it was made before; a higher peak makes all those forgotten, for they are
 * gone by then. So nothing but the live blocks and the largest of the gone ones is kept.
 */
#include "reducer/analysis/lifetimes.h"

#include "reducer/model/live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lifetimes_pass {
	struct live_table live;	  /* `stack` of a block: its place in `blocks` */
	struct lifetime *blocks; /* live ones, and places that are free */
	uint32_t *empty;
	size_t block_count, block_room, empty_count, empty_room;
	uint64_t events, peak_event, own; /* own: bytes of live blocks */
};

static void *begin(const struct analysis_input *input)
{
	return allocators_begin(input, sizeof(struct lifetimes));
}

static struct lifetimes *lifetimes_of(struct allocator_list *all, const char *allocator)
{
	bool is_new;
	struct lifetimes *of = allocators_of(all, allocator, &is_new);

	if (is_new) {
		of->peak_ns = TIME_UNKNOWN;
		of->pass = base_alloc(1, sizeof(*of->pass));
	}
	return of;
}

static int by_bytes(const void *a, const void *b)
{
	const struct lifetime *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return one->begun < other->begun ? -1 : one->begun > other->begun;
}

static void cut(struct lifetimes *of)
{
	if (of->count)
		qsort(of->items, of->count, sizeof(*of->items), by_bytes);
	of->count = of->count < LIFETIMES_MOST ? of->count : LIFETIMES_MOST;
}

/* One that was live at the peak. */
static void keep(struct lifetimes *of, const struct lifetime *block)
{
	if (of->count == 2 * LIFETIMES_MOST)
		cut(of);
	of->items = base_grow(of->items, &of->room, of->count + 1, sizeof(*of->items));
	of->items[of->count++] = *block;
	of->live_blocks++;
	of->live_bytes += block->bytes;
}

static void forget(struct lifetimes *of, struct live_entry *entry, int64_t time_ns, uint32_t op)
{
	struct lifetimes_pass *pass = of->pass;
	uint32_t place = live_get(&pass->live, entry).stack;
	struct lifetime *block = &pass->blocks[place];

	block->to_ns = time_ns;
	block->release_op = op;
	pass->own -= block->bytes;
	if (block->begun <= pass->peak_event)
		keep(of, block);
	block->begun = 0;
	live_remove(&pass->live, entry);
	pass->empty = base_grow(pass->empty, &pass->empty_room, pass->empty_count + 1, sizeof(*pass->empty));
	pass->empty[pass->empty_count++] = place;
}

/* A window closes: when these are released is not recorded, and they are live at no later peak. */
static void forget_all(struct allocator_list *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct lifetimes *of = allocators_at(all, i);
		struct lifetimes_pass *pass = of->pass;
		for (size_t k = 0; k < pass->block_count; k++)
			if (pass->blocks[k].begun && pass->blocks[k].begun <= pass->peak_event)
				keep(of, &pass->blocks[k]);
		live_free(&pass->live);
		pass->block_count = pass->empty_count = 0;
		pass->own = 0;
	}
}

static void make(struct allocator_list *all, struct lifetimes *of, const struct span *span, uint32_t op)
{
	struct lifetimes_pass *pass = of->pass;
	const struct span_block *said = span->block;
	uint32_t place = pass->empty_count ? pass->empty[pass->empty_count - 1] : (uint32_t)pass->block_count;

	if (!said->address || place >= LIVE_STACKS_MAX ||
	    live_put(&pass->live, &(struct live_block){.address = said->address, .usable = span->bytes, .stack = place}) != 0)
		return;
	if (pass->empty_count) {
		pass->empty_count--;
	} else {
		pass->blocks = base_grow(pass->blocks, &pass->block_room, pass->block_count + 1, sizeof(*pass->blocks));
		pass->block_count++;
	}
	pass->blocks[place] = (struct lifetime){.from_ns = span->start_ns,
						.to_ns = TIME_UNKNOWN,
						.requested = said->requested,
						.bytes = span->bytes,
						.begun = pass->events,
						.op = op,
						.region = words_lasting(&all->words, said->region),
						.shape = words_lasting(&all->words, said->shape),
						.type = said->type};
	pass->own += span->bytes;
}

static void take(void *result, const struct span *span)
{
	struct allocator_list *all = result;
	const struct span_block *said = span->block;
	struct lifetimes *of;
	struct live_entry *entry;
	uint64_t held;
	uint32_t op;

	if (span->what == SPAN_WINDOW && !span->number)
		forget_all(all);
	if (!said)
		return;
	of = lifetimes_of(all, span->name);
	op = words_lasting(&all->words, said->op ? said->op : span->op);
	of->pass->events++;
	entry = said->address ? live_find(&of->pass->live, said->address) : NULL;
	if (entry)
		forget(of, entry, span->start_ns, op);
	if (!said->is_release)
		make(all, of, span, op);
	held = (said->total || said->has_room ? said->total : of->pass->own) + said->stack;
	if (all->input->options->wants_time && !all->input->options->wants_time(all->input->options->context, span))
		return;
	if (held < of->peak_bytes || (of->peak_ns != TIME_UNKNOWN && !held))
		return;
	of->peak_bytes = held;
	of->peak_ns = span->start_ns;
	of->pass->peak_event = of->pass->events;
	of->count = 0;
	of->live_blocks = of->live_bytes = 0;
}

static void drop_pass(struct lifetimes *of)
{
	if (!of->pass)
		return;
	live_free(&of->pass->live);
	free(of->pass->blocks);
	free(of->pass->empty);
	free(of->pass);
	of->pass = NULL;
}

static void end(void *result)
{
	struct allocator_list *all = result;

	for (size_t i = 0; i < all->count; i++) {
		struct lifetimes *of = allocators_at(all, i);
		for (size_t k = 0; k < of->pass->block_count; k++)
			if (of->pass->blocks[k].begun && of->pass->blocks[k].begun <= of->pass->peak_event)
				keep(of, &of->pass->blocks[k]);
		cut(of);
		drop_pass(of);
	}
	allocators_sort(all);
}

static void own(struct allocator_list *into, const struct allocator_list *from, void *copy)
{
	struct lifetimes *of = copy;
	const struct lifetime *items = of->items;

	of->room = of->count;
	of->items = base_alloc(of->count + 1, sizeof(*of->items));
	for (size_t k = 0; k < of->count; k++) {
		struct lifetime *block = &of->items[k];
		*block = items[k];
		block->op = allocators_word(into, from, block->op);
		block->release_op =
			block->to_ns == TIME_UNKNOWN ? block->release_op : allocators_word(into, from, block->release_op);
		block->region = allocators_word(into, from, block->region);
		block->shape = allocators_word(into, from, block->shape);
	}
}

static void merge(void *into, const void *from)
{
	allocators_merge(into, from, own);
}

static void print(const void *result, struct text *text)
{
	const struct allocator_list *all = result;

	for (size_t i = 0; i < all->count; i++) {
		const struct lifetimes *of = allocators_at(all, i);
		text_format(text, "%" PRIx64 " %s: %" PRIu64 " at %" PRId64 ", %" PRIu64 " of %" PRIu64 "\n", of->of.log_id,
			    allocators_name(all, i), of->peak_bytes, of->peak_ns, of->live_blocks, of->live_bytes);
		for (size_t k = 0; k < of->count; k++)
			text_format(text, "  %" PRId64 " %" PRId64 " %" PRIu64 " %s %s\n", of->items[k].from_ns, of->items[k].to_ns,
				    of->items[k].bytes, all->words.items[of->items[k].op], all->words.items[of->items[k].shape]);
	}
}

static void drop_item(void *item)
{
	struct lifetimes *of = item;

	drop_pass(of);
	free(of->items);
}

static void drop(void *result)
{
	allocators_free(result, drop_item);
}

const struct analysis_kind analysis_lifetimes = {
	.name = "lifetimes",
	.wants = SPAN_BIT(SPAN_BLOCK) | SPAN_BIT(SPAN_WINDOW),
	.is_of_all_times = true,
	.is_of_all_places = true,
	.begin = begin,
	.span = take,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
