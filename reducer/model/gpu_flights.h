/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and device records that wait for each other, by correlation id. Private to the model.
 *
 * Rule: memory is bounded by FLIGHTS_MAX whatever the log holds: what is settled leaves soon, what waits longest leaves
 * first when it is full. A flight is settled exactly once.
 *
 *   fresh ──(FLIGHTS_KEEP younger ones)──► settled, if a launch, copy or set is paired
 *                                     └──► waiting ──(FLIGHTS_WAIT_NS)──► settled, if no launch or paired
 *                                                                    └──► old, until it is paired, crowded out, or the end
 */
#ifndef REDUCER_MODEL_GPU_FLIGHTS_H
#define REDUCER_MODEL_GPU_FLIGHTS_H

#include <stddef.h>
#include <stdint.h>

#define FLIGHTS_MAX 327680u           /* of 144 bytes: 45 MiB, with their index 47 MiB */
#define FLIGHTS_KEEP 256u             /* insertions for which a paired launch stays: few, so that they stay in the cache */
#define FLIGHTS_RECENT 8192u          /* of those that left: their device record is still known if it comes twice */
#define FLIGHTS_WAIT_NS 2500000000u   /* several flush periods */
#define FLIGHTS_SLAB 4096u

enum flight_has { FLIGHT_CALL = 1, FLIGHT_DEVICE = 2 };
enum flight_list { FLIGHT_FRESH, FLIGHT_WAITING, FLIGHT_OLD, FLIGHT_LISTS };

struct gpu_flight {
	uint64_t correlation;
	uint64_t begin, end;      /* of the call, ticks */
	uint64_t first, last;     /* of the device, device time; 0 = no sane time yet */
	uint64_t bytes;
	uint64_t born;            /* insertions before it */
	uint64_t time;            /* ticks of the last record about it */
	uint64_t doubles[2];      /* keys of the first and the last device record */
	uint32_t function, thread, op, stack, kernel, shape, queue, graph, records, library;
	uint32_t pending;         /* first device record that came before the call, + 1 */
	uint32_t next, previous;  /* in its list, + 1 */
	uint32_t beside;          /* the next of its place in the index, + 1 */
	uint8_t has, kind, list, impossible, state, copy_kind;
	uint8_t is_captured : 1, is_failed : 1, is_empty : 1, is_waited : 1;
};

struct gpu_flights {
	struct gpu_flight **slabs;
	uint32_t slab_count, count, used, free; /* free: first of the list of unused ones, + 1 */
	uint32_t *index;          /* by hash of the low half of the correlation id: the first flight of that hash, + 1 */
	uint32_t index_room;      /* a power of two */
	uint32_t index_shift;     /* 32 - log2 of it */
	uint32_t first[FLIGHT_LISTS], last[FLIGHT_LISTS]; /* + 1 */
	uint64_t insertions;
	uint64_t *recent;         /* by correlation id modulo FLIGHTS_RECENT: key of the device record */
	uint64_t wait_ticks;
	/* Gets each flight once, when nothing more is expected of it. is_crowded: it was pushed out. */
	void (*settle)(void *context, struct gpu_flight *flight, int is_crowded);
	void *context;
	int is_cut;               /* no memory */
};

int flights_begin(struct gpu_flights *flights, double ticks_per_ns);
void flights_free(struct gpu_flights *flights);

/* The flight of that id, or NULL. */
struct gpu_flight *flights_find(struct gpu_flights *flights, uint64_t correlation);

/* A new one, zeroed but for its id and time. NULL without memory. Others may be settled meanwhile. */
struct gpu_flight *flights_add(struct gpu_flights *flights, uint64_t correlation, uint64_t time);

/* Something was added to the flight: it counts as fresh again. */
void flights_touch(struct gpu_flights *flights, struct gpu_flight *flight, uint64_t time);

/* Whether a flight of that id and with that device record has left not long ago. */
static inline int flights_had(const struct gpu_flights *flights, uint64_t correlation, uint64_t key)
{
	return flights->recent[correlation % FLIGHTS_RECENT] == key;
}

/* Settles all that are left. */
void flights_end(struct gpu_flights *flights);

#endif
