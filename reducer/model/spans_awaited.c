/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and device work that wait for each other. See spans_awaited.h. */
#include "reducer/model/spans_awaited.h"

#include "reducer/base/base.h"

#include <stdlib.h>

int awaited_begin(struct span_awaited *awaited)
{
	awaited->room = AWAITED_LEAST;
	awaited->calls = calloc(awaited->room, sizeof *awaited->calls);
	awaited->held = calloc(AWAITED_HELD, sizeof *awaited->held);
	return awaited->calls == NULL || awaited->held == NULL ? -1 : 0;
}

void awaited_free(struct span_awaited *awaited)
{
	free(awaited->calls);
	free(awaited->held);
	awaited->calls = NULL;
	awaited->held = NULL;
}

/* Twice the room: no two calls get one place, because they had places of their own before. Without memory all stays. */
static void widen(struct span_awaited *awaited)
{
	struct span_call *wider = calloc(awaited->room * 2, sizeof *wider);

	if (wider == NULL)
		return;
	base_large_pages(wider, (size_t)awaited->room * 2 * sizeof *wider);
	for (uint32_t i = 0; i < awaited->room; i++)
		if (awaited->calls[i].correlation != 0)
			wider[awaited->calls[i].correlation & (awaited->room * 2 - 1)] = awaited->calls[i];
	awaited->looks += awaited->room;
	free(awaited->calls);
	awaited->calls = wider;
	awaited->room *= 2;
}

void awaited_put(struct span_awaited *awaited, const struct span_call *call)
{
	const struct span_call *old;

	if (awaited->calls == NULL || call->correlation == 0)
		return;
	old = &awaited->calls[call->correlation & (awaited->room - 1)];
	awaited->looks++;
	while (old->place.is_awaited && old->correlation != call->correlation && awaited->room < AWAITED_MOST) {
		uint32_t room = awaited->room;

		widen(awaited);
		if (awaited->room == room)
			break;
		old = &awaited->calls[call->correlation & (awaited->room - 1)];
	}
	awaited->calls[call->correlation & (awaited->room - 1)] = *call;
}

/* Takes a place out of its bucket; `before` is the one that points to it, 0 = it is the first. */
static struct span *unlink_held(struct span_awaited *awaited, uint16_t before, uint16_t at)
{
	struct held_span *held = &awaited->held[at - 1];
	size_t bucket = held->span.flow % AWAITED_HELD;

	if (before == 0)
		awaited->first[bucket] = held->next;
	else
		awaited->held[before - 1].next = held->next;
	if (awaited->last[bucket] == at)
		awaited->last[bucket] = before;
	held->is_held = 0;
	held->next = 0;
	return &held->span;
}

struct span *awaited_make_room(struct span_awaited *awaited)
{
	uint16_t at = (uint16_t)(awaited->held_count % AWAITED_HELD);

	/* The eldest of all is the first of its bucket. */
	return awaited->held[at].is_held ? unlink_held(awaited, 0, (uint16_t)(at + 1)) : NULL;
}

void awaited_hold(struct span_awaited *awaited, const struct span *span)
{
	uint16_t at = (uint16_t)(awaited->held_count++ % AWAITED_HELD + 1);
	struct held_span *held = &awaited->held[at - 1];
	size_t bucket = span->flow % AWAITED_HELD;

	*held = (struct held_span){.span = *span, .is_held = 1};
	held->span.arguments = NULL; /* they live on the caller's stack */
	held->span.argument_count = 0;
	if (awaited->last[bucket] == 0)
		awaited->first[bucket] = at;
	else
		awaited->held[awaited->last[bucket] - 1].next = at;
	awaited->last[bucket] = at;
	awaited->looks++;
}

struct span *awaited_unhold(struct span_awaited *awaited, uint64_t correlation)
{
	uint16_t before = 0;

	for (uint16_t at = awaited->first[correlation % AWAITED_HELD]; at != 0; before = at, at = awaited->held[at - 1].next) {
		awaited->looks++;
		if (awaited->held[at - 1].span.flow == correlation)
			return unlink_held(awaited, before, at);
	}
	return NULL;
}

struct span *awaited_unhold_any(struct span_awaited *awaited)
{
	/* What was never held is not looked at: its pages were not touched yet. */
	for (size_t i = 0; awaited->held_count != 0 && i < AWAITED_HELD; i++) {
		struct span *eldest = awaited_make_room(awaited);

		awaited->held_count++;
		if (eldest != NULL)
			return eldest;
	}
	return NULL;
}
