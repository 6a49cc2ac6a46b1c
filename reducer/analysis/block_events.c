/* SPDX-License-Identifier: Apache-2.0 */
/* Single allocations and releases; see block_events.h. Rule: what an event is worth is decided in one place, is_worth_more. */
#include "reducer/analysis/block_events.h"

#include "reducer/model/live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct block_pass {
	struct live_table live;
	uint64_t own; /* bytes of live blocks */
};

static void *begin(const struct analysis_input *input)
{
	return allocators_begin(input, sizeof(struct block_events));
}

static struct block_events *events_of(struct allocator_list *all, const char *allocator)
{
	bool is_new;
	struct block_events *events = allocators_of(all, allocator, &is_new);

	if (is_new)
		events->pass = base_alloc(1, sizeof(*events->pass));
	return events;
}

static int64_t stretch_of(const struct block_events *events, int64_t time_ns)
{
	int64_t length = INT64_C(1) << events->width;

	return time_ns >= 0 ? time_ns / length : -((length - 1 - time_ns) / length);
}

static bool is_worth_more(const struct block_event *one, const struct block_event *other)
{
	return one->bytes > other->bytes || (one->bytes == other->bytes && one->time_ns < other->time_ns);
}

/* Doubles the stretches until there are few enough. */
static void widen(struct block_events *events)
{
	while (events->count > BLOCK_EVENTS_MOST) {
		size_t kept = 0;
		events->width++;
		for (size_t i = 0; i < events->count; i++) {
			const struct block_event *event = &events->items[i];
			if (kept == 0 ||
			    stretch_of(events, events->items[kept - 1].time_ns) != stretch_of(events, event->time_ns))
				events->items[kept++] = *event;
			else if (is_worth_more(event, &events->items[kept - 1]))
				events->items[kept - 1] = *event;
		}
		events->count = kept;
	}
}

/* Events come nearly in the order of time. */
static void keep(struct block_events *events, const struct block_event *event)
{
	int64_t stretch = stretch_of(events, event->time_ns);
	size_t at = events->count;

	while (at > 0 && stretch_of(events, events->items[at - 1].time_ns) > stretch)
		at--;
	if (at > 0 && stretch_of(events, events->items[at - 1].time_ns) == stretch) {
		if (is_worth_more(event, &events->items[at - 1]))
			events->items[at - 1] = *event;
		return;
	}
	events->items = base_grow(events->items, &events->room, events->count + 1, sizeof(*events->items));
	memmove(&events->items[at + 1], &events->items[at], (events->count - at) * sizeof(*events->items));
	events->items[at] = *event;
	events->count++;
	widen(events);
}

/* A window closes: what is released from here on is not recorded. */
static void forget_all(struct allocator_list *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct block_events *events = allocators_at(all, i);
		live_free(&events->pass->live);
		events->pass->own = 0;
	}
}

static void take(void *result, const struct span *span)
{
	struct allocator_list *all = result;
	const struct span_block *said = span->block;
	struct block_events *events;
	uint64_t bytes;

	if (span->what == SPAN_WINDOW && !span->number)
		forget_all(all);
	if (!said)
		return;
	events = events_of(all, span->name);
	bytes = live_settle(&events->pass->live, said->address, span->bytes, said->is_release, &events->pass->own);
	if (all->input->options->wants_time && !all->input->options->wants_time(all->input->options->context, span))
		return;
	events->told++;
	keep(events, &(struct block_event){.time_ns = span->start_ns,
					   .requested = said->requested,
					   .bytes = bytes,
					   .live = said->total || said->has_room ? said->total : events->pass->own,
					   .fragmentation = said->fragmentation,
					   .op = words_lasting(&all->words, said->op ? said->op : span->op),
					   .region = words_lasting(&all->words, said->region),
					   .shape = words_lasting(&all->words, said->shape),
					   .type = said->type,
					   .is_release = said->is_release != 0,
					   .has_room = said->has_room != 0});
}

static void drop_pass(struct block_events *events)
{
	if (!events->pass)
		return;
	live_free(&events->pass->live);
	free(events->pass);
	events->pass = NULL;
}

static void end(void *result)
{
	struct allocator_list *all = result;

	for (size_t i = 0; i < all->count; i++)
		drop_pass(allocators_at(all, i));
	allocators_sort(all);
}

static void own(struct allocator_list *into, const struct allocator_list *from, void *copy)
{
	struct block_events *events = copy;
	const struct block_event *items = events->items;

	events->room = events->count;
	events->items = base_alloc(events->count + 1, sizeof(*events->items));
	for (size_t k = 0; k < events->count; k++) {
		struct block_event *event = &events->items[k];
		*event = items[k];
		event->op = allocators_word(into, from, event->op);
		event->region = allocators_word(into, from, event->region);
		event->shape = allocators_word(into, from, event->shape);
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
		const struct block_events *events = allocators_at(all, i);
		text_format(text, "%" PRIx64 " %s: %" PRIu64 " width %u\n", events->of.log_id, allocators_name(all, i),
			    events->told, events->width);
		for (size_t k = 0; k < events->count; k++)
			text_format(text, "  %" PRId64 " %s%" PRIu64 " %s %s\n", events->items[k].time_ns,
				    events->items[k].is_release ? "-" : "", events->items[k].bytes,
				    all->words.items[events->items[k].op], all->words.items[events->items[k].shape]);
	}
}

static void drop_item(void *item)
{
	struct block_events *events = item;

	drop_pass(events);
	free(events->items);
}

static void drop(void *result)
{
	allocators_free(result, drop_item);
}

const struct analysis_kind analysis_block_events = {
	.name = "block_events",
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
