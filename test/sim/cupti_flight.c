/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on its way in the fake libcupti: from submission to the record in a buffer.
 *
 * Rule: whether work is recorded is settled when it is submitted, by the kinds enabled then. It may end, on another
 * thread, before its submission is told; the second of the two to come writes the record.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_state.h"

enum { BUCKETS = 4096, HELD = 65536, LONGEST = SIM_RECORD_MOST + 256 };

struct flight {
	struct flight *next;
	bool has_begun, has_ended;
	struct sim_work work;
};

/* A record that a fault holds back. */
struct held {
	uint64_t due; /* CLOCK_MONOTONIC ns */
	uint32_t thread;
	uint32_t bytes;
	char record[LONGEST];
};

static pthread_mutex_t flights_lock = PTHREAD_MUTEX_INITIALIZER; /* taken alone, or before sim_cupti.lock; guards all here */
static struct flight *buckets[BUCKETS], *spare;
static struct held *held[HELD];
static size_t held_count;

static uint64_t mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_wanted(const struct sim_work *work)
{
	bool is_node = work->graph_id && work->kind != SIM_GRAPH;

	if (is_node && sim_kind_is_on(51) && work->kind != SIM_HOST_FUNCTION)
		return false; /* graphs as a whole: their nodes are not told */
	switch (work->kind) {
	case SIM_KERNEL:
		return sim_kind_is_on(10) || sim_kind_is_on(3);
	case SIM_COPY:
		return sim_kind_is_on(work->copy.kind == 10 ? 22 : 1);
	case SIM_SET:
		return sim_kind_is_on(2);
	case SIM_GRAPH:
		return sim_kind_is_on(51);
	case SIM_EVENT_RECORD:
		return sim_kind_is_on(36);
	case SIM_HOST_FUNCTION:
		return sim_kind_is_on(work->graph_id ? 56 : 58);
	default:
		return false;
	}
}

static struct flight **find(uint64_t number)
{
	struct flight **at = &buckets[number % BUCKETS];

	while (*at && (*at)->work.number != number)
		at = &(*at)->next;
	return at;
}

static struct flight *add(struct flight **at, const struct sim_work *work)
{
	struct flight *flight = spare ? spare : calloc(1, sizeof(*flight));

	if (spare)
		spare = spare->next;
	*flight = (struct flight){.work = *work, .next = *at};
	*at = flight;
	return flight;
}

static void take_away(struct flight **at)
{
	struct flight *flight = *at;

	*at = flight->next;
	flight->next = spare;
	spare = flight;
}

void sim_flight_begin(const struct sim_work *work)
{
	bool has_ended = false;
	struct flight **at;

	if (is_wanted(work))
		sim_buffer_prepare(work->thread);
	pthread_mutex_lock(&flights_lock);
	at = find(work->number);
	if (*at) {
		has_ended = true;
		take_away(at);
	} else {
		add(at, work)->has_begun = true;
		if (!is_wanted(work))
			(*at)->work.kind = SIM_ACTION;
	}
	pthread_mutex_unlock(&flights_lock);
	if (has_ended && is_wanted(work))
		sim_record_work(work, false);
}

void sim_flight_end(const struct sim_work *work)
{
	bool is_recorded = false;
	struct flight **at;

	pthread_mutex_lock(&flights_lock);
	at = find(work->number);
	if (*at) {
		is_recorded = (*at)->work.kind != SIM_ACTION;
		take_away(at);
	} else {
		add(at, work)->has_ended = true;
	}
	pthread_mutex_unlock(&flights_lock);
	if (is_recorded)
		sim_record_work(work, false);
}

void sim_flight_force(void)
{
	struct sim_work *works = NULL;
	size_t count = 0;

	pthread_mutex_lock(&flights_lock);
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct flight *flight = buckets[i]; flight; flight = flight->next) {
			if (!flight->has_begun || flight->work.kind == SIM_ACTION)
				continue;
			works = realloc(works, (count + 1) * sizeof(*works));
			works[count++] = flight->work;
			flight->work.kind = SIM_ACTION; /* told: its end is not */
		}
	}
	pthread_mutex_unlock(&flights_lock);
	for (size_t i = 0; i < count; i++)
		sim_record_work(&works[i], true);
	free(works);
}

/* Under flights_lock: takes the held record at a place out and appends it. */
static void release(size_t at)
{
	struct held *one = held[at];

	memmove(&held[at], &held[at + 1], (--held_count - at) * sizeof(held[0]));
	sim_buffer_append(one->thread, one->record, one->bytes);
	free(one);
}

void sim_flight_release(bool is_all)
{
	uint64_t now = mono_ns();

	pthread_mutex_lock(&flights_lock);
	for (size_t i = 0; i < held_count;)
		if (is_all || held[i]->due <= now)
			release(i);
		else
			i++;
	pthread_mutex_unlock(&flights_lock);
}

uint64_t sim_flight_due(void)
{
	uint64_t soonest = UINT64_MAX, now = mono_ns();

	/* The worker asks with sim_cupti.lock held; a record that is being held back right now is seen the next time. */
	if (pthread_mutex_trylock(&flights_lock))
		return 1000000;
	for (size_t i = 0; i < held_count; i++)
		soonest = held[i]->due < soonest ? held[i]->due : soonest;
	pthread_mutex_unlock(&flights_lock);
	return soonest == UINT64_MAX ? soonest : soonest <= now ? 1000000 : soonest - now;
}

void sim_flight_record(uint32_t thread, void *record, size_t bytes)
{
	uint64_t late = sim_fault(SIM_FAULT_late_ms) * UINT64_C(1000000), window = sim_fault(SIM_FAULT_shuffle);
	struct held *one;

	if (!late && !window) {
		sim_buffer_append(thread, record, bytes);
		return;
	}
	one = calloc(1, sizeof(*one));
	*one = (struct held){.due = mono_ns() + late, .thread = thread, .bytes = (uint32_t)bytes};
	memcpy(one->record, record, bytes < LONGEST ? bytes : LONGEST);
	pthread_mutex_lock(&flights_lock);
	if (held_count == HELD)
		release(0);
	held[held_count++] = one;
	while (window && !late && held_count > window)
		release(sim_random(60) % held_count);
	pthread_mutex_unlock(&flights_lock);
}
