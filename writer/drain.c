/* SPDX-License-Identifier: Apache-2.0 */
/* The draining thread; see writer/drain.h. */
#include "writer/drain.h"

#include "writer/stream.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Before glibc 2.34 they were libpthread's, which a program without threads lacks: preload/guard.h. */
#pragma weak pthread_sigmask
#pragma weak pthread_attr_setstacksize
#pragma weak pthread_join

#define STACK_BYTES (256u << 10) /* encoder and LZ4 need 2 KiB: their memory is mapped; the rest is libc's thread start */
#define TASK_STACK_BYTES (1u << 20) /* a task calls a library of others */
#define FIRST_MS 1000u /* between two looks whether the process's first thread is still there */
#define PAUSE_MS 2000u /* a task that waits for a stuck driver must not keep the host from forking */

#define LEAVES_MOST 100 /* looks whether it is gone, half of them 1 ms apart: 10 us are enough where it has a processor */

/* struct tfp_drainer.phase, a futex. GONE: the thread has made its last step and can be joined at once. */
enum { NONE = 0, STARTING = 1, RUNNING = 2, STOPPING = 3, GONE = 4 };

static int is_thread_allowed; /* written at start-up */

void tfp_drain_allow_thread(int is_allowed)
{
	is_thread_allowed = is_allowed;
}

/* Drains every full chunk: looks at all of them, a page each. Returns 0, or -1 when one could not be written: it stays full. */
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

static tfp_drain_task *task_of(const struct tfp_drainer *drainer, enum tfp_drain_tasks which)
{
	return __atomic_load_n(&drainer->tasks[which], __ATOMIC_ACQUIRE);
}

static int has_task(const struct tfp_drainer *drainer)
{
	for (int i = 0; i < TFP_TASKS; i++)
		if (task_of(drainer, (enum tfp_drain_tasks)i))
			return 1;
	return 0;
}

/*
 * Runs the task if somebody asked or it is due (monotonic ns, at *due), and if this thread can have a state to write with.
 * Milliseconds until it is due again.
 */
static uint32_t run_task(tfp_drain_task *task, int is_asked, uint64_t *due)
{
	uint64_t now = tfp_clock_monotonic_ns();
	struct tfp_thread *self = task && (is_asked || now >= *due) ? tfp_thread_own() : NULL;

	if (!task)
		return TFP_DRAIN_NEVER;
	if (!is_asked && now < *due)
		return *due == UINT64_MAX ? TFP_DRAIN_NEVER : (uint32_t)((*due - now) / 1000000) + 1;
	uint32_t ms = self ? task(self) : TFP_DRAIN_NEVER;
	*due = ms == TFP_DRAIN_NEVER ? UINT64_MAX : tfp_clock_monotonic_ns() + ms * UINT64_C(1000000);
	return ms;
}

/* Milliseconds until one is due again. */
static uint32_t run_tasks(struct tfp_drainer *drainer, int is_asked, uint64_t due[TFP_TASKS])
{
	uint32_t soonest = TFP_DRAIN_NEVER;

	for (int i = 0; i < TFP_TASKS; i++) {
		uint32_t ms = run_task(task_of(drainer, (enum tfp_drain_tasks)i), is_asked, &due[i]);
		soonest = ms < soonest ? ms : soonest;
	}
	return soonest;
}

static int change_phase(struct tfp_drainer *drainer, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&drainer->phase, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* libc gives each thread a list of robust mutexes, which the kernel takes away with the thread. Whoever never had one counts as gone. */
static int is_first_gone(void)
{
	void *list = NULL;
	size_t bytes;

	return tfp_sys(SYS_get_robust_list, tfp_state->pid, (long)&list, (long)&bytes, 0, 0, 0) == 0 && !list;
}

/* Until somebody asks or `ms` have passed; or the first thread is gone, and ours stops by itself. */
static void wait_until_asked(struct tfp_drainer *drainer, uint32_t asked, uint32_t ms)
{
	while (ms && __atomic_load_n(&drainer->asked, __ATOMIC_ACQUIRE) == asked) {
		uint32_t part = ms < FIRST_MS ? ms : FIRST_MS;
		tfp_futex_wait(&drainer->asked, asked, part);
		if (is_first_gone()) {
			drainer->is_over = 1;
			if (change_phase(drainer, RUNNING, STOPPING))
				return;
		}
		ms -= ms == TFP_DRAIN_NEVER ? 0 : part;
	}
}

/* A host's thread that may not be interrupted has made this one, and it would have its priority. */
static void leave_real_time(void)
{
	struct sched_param usual = {0};
	long policy = tfp_sys(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0) & ~SCHED_RESET_ON_FORK;

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		tfp_sys(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&usual, 0, 0, 0);
}

/* Gives back all it has and says so. 0: whoever asked waits no longer and counts on this thread again. */
static int can_go(struct tfp_drainer *drainer, struct tfp_lane *scratch)
{
	if (scratch->scratch)
		tfp_pages_put(scratch->scratch, scratch->scratch_bytes);
	scratch->scratch = NULL;
	return change_phase(drainer, STOPPING, GONE);
}

static void *drain_thread(void *unused)
{
	struct tfp_drainer *drainer = &tfp_state->drainer;
	struct tfp_lane scratch = {.cursor = NULL};
	uint32_t answered = 0;
	uint64_t due[TFP_TASKS] = {0};

	(void)unused;
	tfp_thread_ignore();
	drainer->tid = (uint32_t)tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	tfp_sys(SYS_prctl, 15 /* PR_SET_NAME */, (long)"tfprof", 0, 0, 0, 0);
	leave_real_time();
	for (int is_due = 1;;) {
		uint32_t asked = __atomic_load_n(&drainer->asked, __ATOMIC_ACQUIRE); /* counted behind the chunk's state */
		int is_stopping = __atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) == STOPPING;
		if (is_due || is_stopping || asked != answered)
			is_due = drain_all(&scratch) != 0;
		if (!is_stopping)
			wait_until_asked(drainer, asked, run_tasks(drainer, asked != answered, due));
		answered = asked;
		if (is_stopping && can_go(drainer, &scratch))
			break;
	}
	tfp_futex_wake(&drainer->phase);
	return NULL;
}

/* With every signal blocked but libc's own two: the host's handlers never run on our thread. */
static int create_blocked(tfp_pthread_create *create, pthread_t *thread, size_t stack_bytes)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	int error = create(thread, &attributes, drain_thread, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static void join(struct tfp_drainer *drainer)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* unshare is no cancellation point, so this join must be none */
	pthread_join(drainer->thread, NULL);
	pthread_setcancelstate(before, NULL);
}

void tfp_drain_start(tfp_pthread_create *create)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY || tfp_sys_is_sealed())
		return;
	struct tfp_drainer *drainer = &tfp_state->drainer;
	if (!pthread_join || !create || drainer->is_over || (!is_thread_allowed && !has_task(drainer)))
		return;
	int is_left = change_phase(drainer, GONE, STARTING);
	if (!is_left && !change_phase(drainer, NONE, STARTING))
		return;
	int error = errno;
	struct tfp_thread *self = tfp_own_begin();
	if (is_left)
		join(drainer);
	int failed = !self || create_blocked(create, &drainer->thread,
					      task_of(drainer, TFP_TASK_CUPTI) ? TASK_STACK_BYTES : STACK_BYTES);
	tfp_own_end(self);
	__atomic_store_n(&drainer->phase, failed ? NONE : RUNNING, __ATOMIC_RELEASE);
	errno = error;
}

/* The kernel counts the threads of a process as links of this folder, beside its own two. Ours is paused. */
static int has_threads(void)
{
	struct stat status;

	return tfp_sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&status, 0, 0, 0) == 0 && status.st_nlink > 3;
}

void tfp_drain_resume(tfp_pthread_create *create)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	if (task_of(&tfp_state->drainer, TFP_TASK_CUPTI) || (has_task(&tfp_state->drainer) && has_threads()))
		tfp_drain_start(create);
}

int tfp_drain_task_set(enum tfp_drain_tasks which, tfp_drain_task *task)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return -1;
	__atomic_store_n(&tfp_state->drainer.tasks[which], task, __ATOMIC_RELEASE);
	tfp_drain_wake();
	return 0;
}

void tfp_drain_wake(void)
{
	__atomic_fetch_add(&tfp_state->drainer.asked, 1, __ATOMIC_RELEASE);
	tfp_futex_wake(&tfp_state->drainer.asked);
}

int tfp_drain_has_thread(void)
{
	return tfp_state && __atomic_load_n(&tfp_state->drainer.phase, __ATOMIC_ACQUIRE) == RUNNING;
}

/* 1: it has made its last step, now or before; 0: it has not within PAUSE_MS and goes on, or there is none. */
static int stop(struct tfp_drainer *drainer)
{
	if (!change_phase(drainer, RUNNING, STOPPING))
		return __atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) == GONE;
	tfp_drain_wake();
	uint64_t begin = tfp_clock_monotonic_ns();
	while (__atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) == STOPPING &&
	       tfp_clock_monotonic_ns() - begin < PAUSE_MS * UINT64_C(1000000))
		tfp_futex_wait(&drainer->phase, STOPPING, PAUSE_MS / 8);
	return drainer->is_over || !change_phase(drainer, STOPPING, RUNNING);
}

void tfp_drain_pause(void)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	struct tfp_drainer *drainer = &tfp_state->drainer;
	if (!stop(drainer) || !change_phase(drainer, GONE, STARTING)) /* or another thread joins it: nobody may do so twice */
		return;
	struct tfp_thread *self = tfp_own_begin();
	join(drainer);
	tfp_own_end(self);
	__atomic_store_n(&drainer->phase, NONE, __ATOMIC_RELEASE);
}

void tfp_drain_halt(void)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	struct tfp_drainer *drainer = &tfp_state->drainer;
	if (!stop(drainer))
		return;
	/* Until then it counts in the host's limit of processes. */
	uint32_t tid = drainer->tid;
	for (int i = 0; tid && i < LEAVES_MOST && tfp_sys(SYS_tgkill, tfp_state->pid, tid, 0, 0, 0, 0) == 0; i++) {
		if (i < LEAVES_MOST / 2)
			tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			tfp_futex_wait(&drainer->phase, GONE, 1);
	}
	__atomic_compare_exchange_n(&drainer->tid, &tid, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void tfp_drain_end(void)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	tfp_state->drainer.is_over = 1;
	tfp_drain_pause();
}

/* The outside drainer of `tfprof run` looked at this log within the last quarter of a second. */
static int has_helper(void)
{
	uint64_t beat = __atomic_load_n(&tfp_state->live->helper_beat, __ATOMIC_ACQUIRE); /* stored by launcher/drainer.c */

	return beat && (int64_t)(tfp_ticks() - beat) < (int64_t)(tfp_state->second_ticks / 4);
}

int tfp_drain_is_running(void)
{
	return (is_thread_allowed && tfp_drain_has_thread()) || has_helper();
}

int tfp_drain_hand_over(struct tfp_chunk *chunk)
{
	struct tfp_drainer *drainer = &tfp_state->drainer;

	__atomic_store_n(&chunk->state, (uint64_t)TFP_CHUNK_FULL, __ATOMIC_RELEASE); /* pairs with tfp_chunk_drain */
	if (__atomic_load_n(&drainer->phase, __ATOMIC_ACQUIRE) != RUNNING)
		return has_helper() ? 0 : -1; /* the helper comes by on its own */
	tfp_drain_wake();
	return tfp_drain_is_running() ? 0 : -1;
}
