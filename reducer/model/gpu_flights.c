/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and device records in flight. See gpu_flights.h. */
#include "reducer/model/gpu_flights.h"

#include "reducer/model/gpu.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MOST (1u << 20) /* of the index */

int flights_begin(struct gpu_flights *flights, double ticks_per_ns)
{
	*flights = (struct gpu_flights){.wait_ticks = (uint64_t)(FLIGHTS_WAIT_NS * ticks_per_ns)};
	flights->slabs = calloc(FLIGHTS_MAX / FLIGHTS_SLAB, sizeof *flights->slabs);
	flights->index_room = 1024;
	flights->index_shift = 32 - 10;
	flights->index = calloc(flights->index_room, sizeof *flights->index);
	flights->recent = calloc(FLIGHTS_RECENT, sizeof *flights->recent);
	return flights->slabs == NULL || flights->index == NULL || flights->recent == NULL ? -1 : 0;
}

void flights_free(struct gpu_flights *flights)
{
	for (uint32_t i = 0; i < flights->slab_count; i++)
		free(flights->slabs[i]);
	free(flights->slabs);
	free(flights->index);
	free(flights->recent);
}

static struct gpu_flight *flight_at(const struct gpu_flights *flights, uint32_t place)
{
	return &flights->slabs[place / FLIGHTS_SLAB][place % FLIGHTS_SLAB];
}

/* Ids come one after the other: eight of them lie side by side, and groups of eight far apart (multiples of the golden ratio). */
static inline uint32_t home_of(const struct gpu_flights *flights, uint32_t low)
{
	return (low >> 3) * 0x9e3779b1u >> (flights->index_shift + 3) << 3 | (low & 7);
}

/* The place of the flight of that id, + 1; 0 = there is none. */
static inline uint32_t place_of(const struct gpu_flights *flights, uint64_t correlation)
{
	uint32_t place = flights->index[home_of(flights, (uint32_t)correlation)];

	while (place != 0 && flight_at(flights, place - 1)->correlation != correlation)
		place = flight_at(flights, place - 1)->beside;
	return place;
}

struct gpu_flight *flights_find(struct gpu_flights *flights, uint64_t correlation)
{
	uint32_t place = place_of(flights, correlation);

	return place == 0 ? NULL : flight_at(flights, place - 1);
}

static void remember(struct gpu_flights *flights, struct gpu_flight *flight, uint32_t place)
{
	uint32_t *first = &flights->index[home_of(flights, (uint32_t)flight->correlation)];

	flight->beside = *first;
	*first = place;
}

/* A new index of `room` entries; without memory the old one stays. */
static void remake_index(struct gpu_flights *flights, uint32_t room)
{
	uint32_t *made = calloc(room, sizeof *made);

	if (made == NULL)
		return;
	free(flights->index);
	flights->index = made;
	flights->index_room = room;
	flights->index_shift = 32 - (uint32_t)__builtin_ctz(room);
	for (unsigned list = 0; list < FLIGHT_LISTS; list++)
		for (uint32_t place = flights->first[list]; place != 0; place = flight_at(flights, place - 1)->next)
			remember(flights, flight_at(flights, place - 1), place);
}

static void forget(struct gpu_flights *flights, const struct gpu_flight *flight, uint32_t place)
{
	uint32_t *at = &flights->index[home_of(flights, (uint32_t)flight->correlation)];

	while (*at != place)
		at = &flight_at(flights, *at - 1)->beside;
	*at = flight->beside;
}

static void unlink_flight(struct gpu_flights *flights, struct gpu_flight *flight)
{
	if (flight->previous != 0)
		flight_at(flights, flight->previous - 1)->next = flight->next;
	else
		flights->first[flight->list] = flight->next;
	if (flight->next != 0)
		flight_at(flights, flight->next - 1)->previous = flight->previous;
	else
		flights->last[flight->list] = flight->previous;
}

static void link_last(struct gpu_flights *flights, struct gpu_flight *flight, uint32_t place, enum flight_list list)
{
	flight->list = (uint8_t)list;
	flight->next = 0;
	flight->previous = flights->last[list];
	if (flight->previous != 0)
		flight_at(flights, flight->previous - 1)->next = place;
	else
		flights->first[list] = place;
	flights->last[list] = place;
}

static void settle(struct gpu_flights *flights, uint32_t place, int is_crowded)
{
	struct gpu_flight *flight = flight_at(flights, place - 1);

	unlink_flight(flights, flight);
	forget(flights, flight, place);
	flights->count--;
	flights->recent[flight->correlation % FLIGHTS_RECENT] = flight->doubles[0];
	flights->settle(flights->context, flight, is_crowded);
	flight->next = flights->free;
	flights->free = place;
}

static void move(struct gpu_flights *flights, struct gpu_flight *flight, uint32_t place, enum flight_list list)
{
	unlink_flight(flights, flight);
	link_last(flights, flight, place, list);
}

static int is_launch(const struct gpu_flight *flight)
{
	return flight->kind >= GPU_LAUNCH && flight->kind <= GPU_GRAPH;
}

/* Looks at the eldest of each list, so that as many leave as come. */
static void age(struct gpu_flights *flights, uint64_t time)
{
	uint32_t place = flights->first[FLIGHT_FRESH];
	struct gpu_flight *flight = place == 0 ? NULL : flight_at(flights, place - 1);

	if (flight != NULL && flights->insertions - flight->born > FLIGHTS_KEEP) {
		if (flight->has == (FLIGHT_CALL | FLIGHT_DEVICE) && is_launch(flight) && flight->kind != GPU_GRAPH)
			settle(flights, place, 0);
		else
			move(flights, flight, place, FLIGHT_WAITING);
	}
	for (int i = 0; i < 2; i++) {
		place = flights->first[FLIGHT_WAITING];
		flight = place == 0 ? NULL : flight_at(flights, place - 1);
		if (flight == NULL || time < flight->time + flights->wait_ticks)
			return;
		if (flight->has == (FLIGHT_CALL | FLIGHT_DEVICE) || (!is_launch(flight) && flight->has == FLIGHT_CALL))
			settle(flights, place, 0);
		else
			move(flights, flight, place, FLIGHT_OLD);
	}
}

/* An unused place, + 1; the eldest is pushed out when there is none. 0 without memory. */
static uint32_t take_place(struct gpu_flights *flights)
{
	uint32_t place;

	if (flights->free == 0 && flights->used == flights->slab_count * FLIGHTS_SLAB && flights->used < FLIGHTS_MAX) {
		flights->slabs[flights->slab_count] = calloc(FLIGHTS_SLAB, sizeof **flights->slabs);
		flights->slab_count += flights->slabs[flights->slab_count] != NULL;
	}
	if (flights->free == 0 && flights->used < flights->slab_count * FLIGHTS_SLAB)
		return ++flights->used;
	for (int list = FLIGHT_OLD; list >= 0 && flights->free == 0; list--)
		if (flights->first[list] != 0)
			settle(flights, flights->first[list], 1);
	place = flights->free;
	if (place != 0)
		flights->free = flight_at(flights, place - 1)->next;
	return place;
}

/* Four places in the index for each flight, while it may grow; without memory the rows of its places grow longer. */
static void ready_index(struct gpu_flights *flights)
{
	if ((uint64_t)(flights->count + 1) * 4 > flights->index_room && flights->index_room < ROOM_MOST)
		remake_index(flights, flights->index_room * 2);
}

struct gpu_flight *flights_add(struct gpu_flights *flights, uint64_t correlation, uint64_t time)
{
	struct gpu_flight *flight;
	uint32_t place;

	age(flights, time);
	place = take_place(flights);
	if (place == 0) {
		flights->is_cut = 1;
		return NULL;
	}
	ready_index(flights);
	flight = flight_at(flights, place - 1);
	*flight = (struct gpu_flight){.correlation = correlation, .born = ++flights->insertions, .time = time};
	link_last(flights, flight, place, FLIGHT_FRESH);
	remember(flights, flight, place);
	flights->count++;
	return flight;
}

void flights_touch(struct gpu_flights *flights, struct gpu_flight *flight, uint64_t time)
{
	flight->time = time;
	if (flight->list == FLIGHT_FRESH && flights->insertions - flight->born < FLIGHTS_KEEP / 2)
		return;
	flight->born = flights->insertions;
	move(flights, flight, place_of(flights, flight->correlation), FLIGHT_FRESH);
}

void flights_end(struct gpu_flights *flights)
{
	for (int list = 0; list < FLIGHT_LISTS; list++)
		while (flights->first[list] != 0)
			settle(flights, flights->first[list], 0);
}
