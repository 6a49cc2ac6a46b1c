/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's buffers in the fake libcupti: asked for, filled, given back by a worker thread or inside a flush.
 * Rule: a buffer is asked for on the thread that launches, and is never given back twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_state.h"

#define CONCURRENT_KERNEL 10u /* CUpti_ActivityKind */

static struct sim_lane *lane_of(uint32_t thread)
{
	struct sim_lane *lane;

	if (!sim_cupti.attributes[SIM_PER_THREAD_ACTIVITY_BUFFER])
		thread = 0;
	for (lane = sim_cupti.lanes; lane; lane = lane->next)
		if (lane->thread == thread)
			return lane;
	lane = calloc(1, sizeof(*lane));
	lane->thread = thread;
	lane->next = sim_cupti.lanes;
	sim_cupti.lanes = lane;
	return lane;
}

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Under delivery, without lock. Gives one buffer back; frees our note of it. */
static void give_back(struct sim_buffer *buffer)
{
	if (sim_fault_deliver(buffer) == SIM_DELIVER)
		sim_cupti.complete(NULL, 0, buffer->memory, buffer->size, buffer->used);
	free(buffer);
}

static struct sim_buffer *take_full(void)
{
	struct sim_buffer *buffer;

	pthread_mutex_lock(&sim_cupti.lock);
	buffer = sim_cupti.full;
	if (buffer) {
		sim_cupti.full = buffer->next;
		if (!sim_cupti.full)
			sim_cupti.full_end = &sim_cupti.full;
	}
	pthread_mutex_unlock(&sim_cupti.lock);
	return buffer;
}

static void deliver_full(void)
{
	struct sim_buffer *buffer;

	pthread_mutex_lock(&sim_cupti.delivery);
	while ((buffer = take_full()))
		give_back(buffer);
	pthread_mutex_unlock(&sim_cupti.delivery);
}

/* Under lock: sleeps until something is full, held back no longer, or the period is over. */
static void worker_sleep(void)
{
	uint64_t wait = sim_flight_due(), until;
	uint64_t period = sim_cupti.flush_period_ms * UINT64_C(1000000);
	struct timespec at;

	if (sim_cupti.full && !period)
		return;
	wait = period && period < wait ? period : wait;
	if (wait == UINT64_MAX) {
		pthread_cond_wait(&sim_cupti.wake, &sim_cupti.lock);
		return;
	}
	until = host_ns() + wait;
	at = (struct timespec){(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	pthread_cond_timedwait(&sim_cupti.wake, &sim_cupti.lock, &at);
}

static void *worker(void *unused)
{
	(void)unused;
	for (;;) {
		uint64_t stall;

		pthread_mutex_lock(&sim_cupti.lock);
		if (!sim_cupti.is_stopping)
			worker_sleep();
		if (sim_cupti.is_stopping) {
			pthread_mutex_unlock(&sim_cupti.lock);
			return NULL;
		}
		pthread_mutex_unlock(&sim_cupti.lock);
		stall = sim_fault_worker_stall();
		if (stall)
			nanosleep(&(struct timespec){(time_t)(stall / 1000000000u), (long)(stall % 1000000000u)}, NULL);
		sim_flight_release(false);
		deliver_full();
	}
}

/* Under lock. */
static void start_worker(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (sim_cupti.has_worker)
		return;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sim_cupti.has_worker = !pthread_create(&thread, &attributes, worker, NULL);
	pthread_attr_destroy(&attributes);
}

static void check_zeroed(const uint8_t *memory, size_t size)
{
	if (!sim_cupti.attributes[SIM_ZEROED_OUT_ACTIVITY_BUFFER])
		return;
	for (size_t i = 0; i < size; i++) {
		if (memory[i]) {
			fprintf(stderr, "simgpu: the client promised zeroed buffers, and byte %zu of one is %u\n", i, memory[i]);
			abort();
		}
	}
}

/* Under lock: asks the client for a buffer; NULL when it has none. */
static struct sim_buffer *ask(void)
{
	struct sim_buffer *buffer = calloc(1, sizeof(*buffer));

	sim_cupti.request(&buffer->memory, &buffer->size, &buffer->max_records);
	if (!buffer->memory || !buffer->size) {
		free(buffer);
		return NULL;
	}
	if ((uintptr_t)buffer->memory % 8) {
		fprintf(stderr, "simgpu: the client gave a buffer at %p, which is not aligned to 8 bytes\n", (void *)buffer->memory);
		abort();
	}
	check_zeroed(buffer->memory, buffer->size);
	if (!sim_cupti.attributes[SIM_ZEROED_OUT_ACTIVITY_BUFFER])
		memset(buffer->memory, 0, buffer->size);
	start_worker();
	return buffer;
}

/* Under lock. */
static void queue_full(struct sim_buffer *buffer)
{
	buffer->next = NULL;
	*sim_cupti.full_end = buffer;
	sim_cupti.full_end = &buffer->next;
	pthread_cond_signal(&sim_cupti.wake);
}

static bool has_room(const struct sim_buffer *buffer, size_t bytes)
{
	return buffer->used + bytes <= buffer->size && (!buffer->max_records || buffer->records < buffer->max_records);
}

void sim_buffer_prepare(uint32_t thread)
{
	static _Atomic uint64_t storm;
	struct sim_lane *lane;

	pthread_mutex_lock(&sim_cupti.lock);
	lane = sim_cupti.request ? lane_of(thread) : NULL;
	if (lane && !lane->current)
		lane->current = ask();
	/* A storm: buffers asked for at once, and given back empty. */
	for (uint64_t i = 0; lane && !atomic_load(&storm) && i < sim_fault(SIM_FAULT_request_storm); i++) {
		struct sim_buffer *buffer = ask();

		if (buffer)
			queue_full(buffer);
	}
	atomic_store(&storm, 1);
	pthread_mutex_unlock(&sim_cupti.lock);
}

void sim_buffer_append(uint32_t thread, const void *record, size_t bytes)
{
	struct sim_lane *lane;

	pthread_mutex_lock(&sim_cupti.lock);
	lane = sim_cupti.request ? lane_of(thread) : NULL;
	if (lane && lane->current && !has_room(lane->current, bytes)) {
		queue_full(lane->current);
		lane->current = NULL;
	}
	if (lane && !lane->current)
		lane->current = ask();
	if (lane && lane->current && has_room(lane->current, bytes)) {
		memcpy(lane->current->memory + lane->current->used, record, bytes);
		lane->current->used += bytes;
		lane->current->records++;
		lane->current->has_kernel |= *(const uint32_t *)record == CONCURRENT_KERNEL; /* a record begins with its kind */
	} else {
		sim_cupti.dropped++;
	}
	pthread_mutex_unlock(&sim_cupti.lock);
}

void sim_buffer_flush(void)
{
	pthread_mutex_lock(&sim_cupti.lock);
	for (struct sim_lane *lane = sim_cupti.lanes; lane; lane = lane->next) {
		if (!lane->current || !lane->current->used)
			continue;
		queue_full(lane->current);
		lane->current = NULL;
	}
	pthread_mutex_unlock(&sim_cupti.lock);
	deliver_full();
}

/* Without the lock: at exit a thread of the client that had it may be gone for good. The worker may sleep on; it is detached. */
void sim_buffer_stop(void)
{
	atomic_store(&sim_cupti.is_stopping, true);
	pthread_cond_broadcast(&sim_cupti.wake);
}

size_t sim_buffer_take_dropped(void)
{
	size_t dropped;

	pthread_mutex_lock(&sim_cupti.lock);
	dropped = sim_cupti.dropped;
	sim_cupti.dropped = 0;
	pthread_mutex_unlock(&sim_cupti.lock);
	return dropped;
}
