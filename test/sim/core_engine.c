/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines: settles start and end of each piece of work when it is submitted, and retires it once its end has passed.
 *
 *	submit:  start = max(now + launch_ns, tail of the stream, end of what it must wait for, a free slot of its engine)
 *	retire:  in order of (end, number) over all devices, one at a time, under retire_lock
 *
 * Rule: the schedule is never changed after submission; only losing a device or a context takes work away (sim_drop_work).
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inner.h"
#include "oracle.h"

static pthread_mutex_t retire_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static bool is_worker_made;		/* under sim_lock */
static bool is_stopping, is_asked_for;	/* under sleep_lock */
static __thread bool is_worker;

static struct sim_piece **heap;		/* by (true_end, number); under sim_lock, as all below */
static size_t heap_count, heap_room;
static struct sim_piece *free_pieces;
static uint64_t last_number;

struct sim_piece *sim_piece_new(enum sim_work_kind kind)
{
	struct sim_piece *piece;

	sim_lock();
	piece = free_pieces;
	if (piece)
		free_pieces = piece->next_free;
	sim_unlock();
	if (piece)
		memset(piece, 0, sizeof *piece);
	else
		piece = sim_allocate(sizeof *piece);
	piece->work.kind = kind;
	return piece;
}

void sim_piece_free(struct sim_piece *piece)
{
	free(piece->staged);
	piece->staged = NULL;
	sim_lock();
	piece->next_free = free_pieces;
	free_pieces = piece;
	sim_unlock();
}

static bool is_before(const struct sim_piece *one, const struct sim_piece *other)
{
	return one->work.true_end < other->work.true_end ||
		(one->work.true_end == other->work.true_end && one->work.number < other->work.number);
}

static void heap_put(struct sim_piece *piece)
{
	size_t at = heap_count++;

	if (at == heap_room) {
		heap_room = heap_room ? 2 * heap_room : 1024;
		heap = realloc(heap, heap_room * sizeof *heap);
		if (!heap)
			abort();
	}
	for (; at && is_before(piece, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = piece;
}

static struct sim_piece *heap_take(void)
{
	struct sim_piece *first = heap[0];
	struct sim_piece *last = heap[--heap_count];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < heap_count; at = child) {
		if (child + 1 < heap_count && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], last))
			break;
		heap[at] = heap[child];
	}
	if (heap_count)
		heap[at] = last;
	return first;
}

/* The slot that leaves the smallest gap; when none is free by then, the one that is free first. */
static uint64_t *choose_slot(struct sim_machine *machine, int engine, uint64_t ready)
{
	uint64_t *best = &machine->slots[0];

	if (engine >= 0)
		return &machine->engines[engine == SIM_TO_HOST && machine->facts.copy_engines < 2 ? SIM_TO_DEVICE : engine];
	for (int i = 1; i < machine->slot_count; i++) {
		uint64_t *slot = &machine->slots[i];

		if (*slot <= ready ? *best > ready || *slot > *best : *slot < *best)
			best = slot;
	}
	return best;
}

uint64_t sim_stream_ready_locked(struct sim_stream *stream)
{
	struct sim_context *context = stream->context;
	uint64_t ready = stream->tail;

	if (stream->kind == 1)
		ready = context->blocking_end > ready ? context->blocking_end : ready;
	else if (!(stream->flags & 1))
		ready = context->legacy_end > ready ? context->legacy_end : ready;
	return ready;
}

static void raise_to(uint64_t *place, uint64_t value)
{
	*place = value > *place ? value : *place;
}

void sim_stream_extend_locked(struct sim_stream *stream, uint64_t end)
{
	struct sim_context *context = stream->context;

	raise_to(&stream->tail, end);
	raise_to(&context->tail, end);
	raise_to(&context->machine->tail, end);
	if (stream->kind == 1)
		raise_to(&context->legacy_end, end);
	if (stream->kind == 1 || !(stream->flags & 1))
		raise_to(&context->blocking_end, end);
}

static void sleep_until(uint64_t end)
{
	struct timespec at = {.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u)};

	pthread_mutex_lock(&sleep_lock);
	if (!is_stopping && !is_asked_for)
		pthread_cond_timedwait(&wake, &sleep_lock, &at);
	is_asked_for = false;
	pthread_mutex_unlock(&sleep_lock);
}

/* Something only the worker can do is on its way: a worker with nothing to do sleeps for longer than that may wait. */
static void ask_for_worker(void)
{
	pthread_mutex_lock(&sleep_lock);
	is_asked_for = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&sleep_lock);
}

/* The end of the first piece on its way, all ones when there is none. */
static uint64_t first_end(bool *is_ours)
{
	uint64_t end;

	sim_lock();
	end = heap_count ? heap[0]->work.true_end : UINT64_MAX;
	*is_ours = !heap_count || is_worker || !heap[0]->wants_own_thread;
	sim_unlock();
	return end;
}

static void retire_one(void)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_piece *piece;

	sim_lock();
	piece = heap_take();
	if (piece->work.kind == SIM_KERNEL)
		__atomic_fetch_sub(&piece->stream->context->machine->in_flight, 1, __ATOMIC_RELAXED);
	sim_unlock();
	if (piece->act)
		piece->act(piece);
	if (piece->stream && piece->stream->context->error) /* it broke it, or was behind: no end; only a forced flush tells of it */
		sim_oracle("void\t%llu", (unsigned long long)piece->work.number);
	else if (subscriber && subscriber->work && piece->work.kind != SIM_ACTION)
		subscriber->work(&piece->work);
	sim_piece_free(piece);
}

/* Retires what ends by then, as far as this thread may. Returns whether nothing of it is left. */
static bool retire_due(uint64_t until)
{
	uint64_t now = sim_clock_now();
	bool is_ours, is_done = false;

	if (until > now)
		until = now;
	pthread_mutex_lock(&retire_lock);
	for (;;) {
		if (first_end(&is_ours) > until) {
			is_done = true;
			break;
		}
		if (!is_ours)
			break;
		retire_one();
	}
	pthread_mutex_unlock(&retire_lock);
	return is_done;
}

static void *work(void *unused)
{
	struct timespec now;
	bool is_stop = false, is_ours;

	is_worker = true;
	while (!is_stop) {
		uint64_t end = first_end(&is_ours), limit;

		/* Once a millisecond is enough: who waits retires for himself. */
		clock_gettime(CLOCK_REALTIME, &now);
		limit = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (end == UINT64_MAX ? 20000000 : 1000000);
		sleep_until(limit);
		retire_due(UINT64_MAX);
		pthread_mutex_lock(&sleep_lock);
		is_stop = is_stopping;
		pthread_mutex_unlock(&sleep_lock);
	}
	return unused;
}

static void make_worker(void)
{
	sigset_t all, before;
	bool is_made;

	if (__atomic_load_n(&is_worker_made, __ATOMIC_ACQUIRE))
		return;
	sim_lock();
	is_made = is_worker_made;
	is_worker_made = true;
	sim_unlock();
	if (is_made)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&worker, NULL, work, NULL))
		abort();
	pthread_setname_np(worker, "simgpu");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

uint64_t sim_submit_locked(struct sim_stream *stream, struct sim_piece *piece, int engine, uint64_t duration, uint64_t not_before)
{
	struct sim_machine *machine = stream->context->machine;
	struct sim_work *work_done = &piece->work;
	uint64_t start = sim_clock_now() + (engine == SIM_NO_ENGINE ? 0 : SIM_NUMBER("launch_ns", 1500));
	uint64_t *slot;

	raise_to(&start, not_before);
	if (!piece->is_in_graph)
		raise_to(&start, sim_stream_ready_locked(stream));
	if (engine != SIM_NO_ENGINE) {
		slot = choose_slot(machine, engine, start);
		raise_to(&start, *slot);
		*slot = start + duration;
	}
	piece->stream = stream;
	work_done->number = ++last_number;
	work_done->device = machine->facts.ordinal;
	work_done->context_id = stream->context->id;
	work_done->stream_id = stream->id;
	work_done->correlation = sim_correlation();
	work_done->thread = sim_thread_id();
	work_done->true_start = start;
	work_done->true_end = start + duration;
	work_done->start = sim_clock_device(machine->facts.ordinal, start);
	work_done->end = sim_clock_device(machine->facts.ordinal, start + duration);
	if (work_done->kind == SIM_KERNEL) {
		__atomic_fetch_add(&machine->in_flight, 1, __ATOMIC_RELAXED);
		work_done->kernel.submitted = sim_clock_device(machine->facts.ordinal, sim_clock_now());
	}
	if (!piece->is_in_graph)
		sim_stream_extend_locked(stream, start + duration);
	heap_put(piece);
	if (piece->wants_own_thread)
		ask_for_worker();
	return start + duration;
}

void sim_after_submit(const struct sim_work *done)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	make_worker();
	sim_oracle_work(done);
	if (subscriber && subscriber->submitted && done->kind != SIM_ACTION)
		subscriber->submitted(done);
}

uint64_t sim_submit(struct sim_stream *stream, struct sim_piece *piece, int engine, uint64_t duration)
{
	struct sim_work copy;
	uint64_t end;

	sim_lock();
	end = sim_submit_locked(stream, piece, engine, duration, 0);
	copy = piece->work;
	sim_unlock();
	sim_after_submit(&copy);
	return end;
}

bool sim_is_retired(uint64_t true_ns)
{
	return true_ns <= sim_clock_now() && retire_due(true_ns);
}

void sim_wait_until(uint64_t true_ns)
{
	if (sim_clock_now() < true_ns)
		sim_clock_sleep_until(true_ns);
	while (!retire_due(true_ns)) {
		ask_for_worker();
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
}

void sim_retire(bool is_all)
{
	uint64_t last = 0;

	sim_lock();
	for (int i = 0; is_all && i < sim_device_count(); i++)
		raise_to(&last, sim_machine_at(i)->tail);
	sim_unlock();
	if (is_all)
		sim_wait_until(last);
	else
		retire_due(UINT64_MAX);
}

void sim_drop_work(struct sim_machine *machine, struct sim_context *context)
{
	uint64_t now = sim_clock_now();
	struct sim_piece **kept;
	size_t count = 0, total;

	pthread_mutex_lock(&retire_lock);
	sim_lock();
	total = heap_count;
	kept = heap;
	heap = NULL;
	heap_count = heap_room = 0;
	for (size_t i = 0; i < total; i++) {
		struct sim_piece *piece = kept[i];
		bool is_lost = piece->work.true_end > now && piece->stream->context->machine == machine &&
			(!context || piece->stream->context == context);

		if (is_lost)
			kept[count++] = piece;
		else
			heap_put(piece);
		if (is_lost && piece->work.kind == SIM_KERNEL)
			__atomic_fetch_sub(&machine->in_flight, 1, __ATOMIC_RELAXED);
	}
	sim_unlock();
	pthread_mutex_unlock(&retire_lock);
	for (size_t i = 0; i < count; i++) {
		sim_oracle("void\t%llu", (unsigned long long)kept[i]->work.number);
		sim_piece_free(kept[i]);
	}
	free(kept);
}

void sim_engine_stop(void)
{
	bool is_made;

	sim_lock();
	is_made = is_worker_made;
	sim_unlock();
	pthread_mutex_lock(&sleep_lock);
	is_stopping = true;
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&sleep_lock);
	if (is_made && !is_worker)
		pthread_join(worker, NULL);
}
