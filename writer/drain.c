/* SPDX-License-Identifier: Apache-2.0 */
/* The draining thread; see writer/drain.h. */
#include "writer/drain.h"

#include "writer/stream.h"
#include "writer/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>

#define STACK_BYTES (256u << 10) /* encoder and LZ4 need 2 KiB: their memory is mapped; the rest is libc's thread start */

/* struct tfp_drainer.phase */
enum { NONE = 0, STARTING = 1, RUNNING = 2, STOPPING = 3 };

static int is_thread_allowed; /* written at start-up */

void tfp_drain_allow_thread(int is_allowed)
{
	is_thread_allowed = is_allowed;
}

static void futex_wait(uint32_t *word, uint32_t value)
{
	tfp_sys(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

static void futex_wake(uint32_t *word)
{
	tfp_sys(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

/* Drains every full chunk. Returns 0, or -1 when one could not be written: it stays full. */
static int drain_all(struct tfp_lane *scratch)
{
	uint32_t count = tfp_state->chunk_count;
	int result = 0;

	for (uint32_t i = 0; i < count && i < TFP_KNOWN_CHUNKS; i++) {
		struct tfp_chunk *chunk = tfp_state->chunks[i];
		if (chunk && (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & 0xff) == TFP_CHUNK_FULL &&
		    tfp_chunk_drain(chunk, scratch))
			result = -1;
	}
	return result;
}

static void *drain_thread(void *unused)
{
	struct tfp_drainer *drainer = &tfp_state->drainer;
	struct tfp_lane scratch = {.cursor = NULL};

	(void)unused;
	tfp_thread_ignore();
	tfp_sys(SYS_prctl, 15 /* PR_SET_NAME */, (long)"tfprof", 0, 0, 0, 0);
	for (;;) {
		uint32_t asked = __atomic_load_n(&drainer->asked, __ATOMIC_ACQUIRE);
		drain_all(&scratch);
		if (__atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) == STOPPING)
			break;
		futex_wait(&drainer->asked, asked);
	}
	if (scratch.scratch)
		tfp_pages_put(scratch.scratch, scratch.scratch_bytes);
	return NULL;
}

/* While libc works for us its allocations are ours, not the host's. Pairs with leave_own. */
static struct tfp_thread *enter_own(void)
{
	struct tfp_thread *self = tfp_self && tfp_self->is_ready == 1 ? tfp_self : tfp_thread_start();

	if (self) {
		self->depth++;
		self->is_own++;
	}
	return self;
}

static void leave_own(struct tfp_thread *self)
{
	self->is_own--;
	self->depth--;
}

/* With every signal blocked but libc's own two: the host's handlers never run on our thread. */
static int create_blocked(tfp_pthread_create *create, pthread_t *thread)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int error = create(thread, &attributes, drain_thread, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

void tfp_drain_start(tfp_pthread_create *create)
{
	uint32_t none = NONE;

	if (!is_thread_allowed || !tfp_state || tfp_state->phase != TFP_STATE_READY || tfp_sys_is_sealed())
		return;
	struct tfp_drainer *drainer = &tfp_state->drainer;
	if (!__atomic_compare_exchange_n(&drainer->phase, &none, STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	int error = errno;
	struct tfp_thread *self = enter_own();
	int failed = !self || create_blocked(create, &drainer->thread);
	if (self)
		leave_own(self);
	__atomic_store_n(&drainer->phase, failed ? NONE : RUNNING, __ATOMIC_RELEASE);
	errno = error;
}

void tfp_drain_pause(void)
{
	uint32_t running = RUNNING;

	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	struct tfp_drainer *drainer = &tfp_state->drainer;
	if (!__atomic_compare_exchange_n(&drainer->phase, &running, STOPPING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_add(&drainer->asked, 1, __ATOMIC_RELEASE);
	futex_wake(&drainer->asked);
	struct tfp_thread *self = enter_own();
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* fork is no cancellation point, so this join must be none */
	pthread_join(drainer->thread, NULL);
	pthread_setcancelstate(before, NULL);
	if (self)
		leave_own(self);
	__atomic_store_n(&drainer->phase, NONE, __ATOMIC_RELEASE);
}

/* The outside drainer of `tfprof run` looked at this log within the last quarter of a second. */
static int has_helper(void)
{
	uint64_t beat = __atomic_load_n(&tfp_state->live->helper_beat, __ATOMIC_ACQUIRE); /* stored by launcher/drainer.c */

	return beat && (int64_t)(tfp_ticks() - beat) < (int64_t)(tfp_state->second_ticks / 4);
}

int tfp_drain_is_running(void)
{
	return __atomic_load_n(&tfp_state->drainer.phase, __ATOMIC_ACQUIRE) == RUNNING || has_helper();
}

int tfp_drain_hand_over(struct tfp_chunk *chunk)
{
	struct tfp_drainer *drainer = &tfp_state->drainer;

	__atomic_store_n(&chunk->state, (uint64_t)TFP_CHUNK_FULL, __ATOMIC_RELEASE); /* pairs with tfp_chunk_drain */
	if (__atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) != RUNNING)
		return has_helper() ? 0 : -1; /* the helper comes by on its own */
	__atomic_fetch_add(&drainer->asked, 1, __ATOMIC_RELEASE);
	futex_wake(&drainer->asked);
	return tfp_drain_is_running() ? 0 : -1;
}
