/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the process; see collectors/system_threads.h. */
#include "collectors/system_threads.h"

#include "collectors/tasks.h"
#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

#define THREADS_MOST 512 /* 1 us each, once a second */
#define KEPT_MOST 128

enum reading {
#define TFP_READING(number, name, subject, kind, unit, help) READ_##name = (number),
#include "collectors/tables/readings.def"
#undef TFP_READING
};

struct delay {
	uint32_t tid; /* 0 = free */
	uint32_t round;
	uint32_t is_asked; /* its file was opened, or cannot be */
	struct tfp_kept file;
};

/* Written by who has the role in system.c; a fork child closes what it inherited. */
static struct tfp_kept list;
static struct delay delays[KEPT_MOST];
static uint32_t round_now;
static char text[96]; /* a path, then what a file holds: stacks of hooks are short */
static int is_listed; /* the list was opened */

/* With the list the calling thread's file, mostly the only one there is. */
void tfp_system_threads_open(void)
{
	is_listed = tfp_kept_most() > 0 && tfp_tasks_open(&list) == 0;
	if (!is_listed)
		return;
	delays[0] = (struct delay){.tid = (uint32_t)tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0), .is_asked = 1};
	tfp_kept_open(&delays[0].file, NULL, "/proc/thread-self/schedstat", 0);
}

void tfp_system_threads_close(void)
{
	tfp_kept_close(&list);
	for (uint32_t i = 0; i < KEPT_MOST; i++) {
		tfp_kept_close(&delays[i].file);
		delays[i] = (struct delay){0};
	}
}

/* The thread's place, one newly given to it where there is room; NULL: none. */
static struct delay *place_of(uint32_t tid, uint32_t most)
{
	struct delay *unused = NULL;

	for (uint32_t i = 0; i < KEPT_MOST && i < most; i++) {
		if (delays[i].tid == tid)
			return &delays[i];
		if (!delays[i].tid && !unused)
			unused = &delays[i];
	}
	return unused;
}

/* When the thread was met a second time: one that lives shorter gives no two values, and costs the host no number. */
static void open_delay(struct delay *delay, const char *tid_text)
{
	size_t length = tfp_length(tid_text);

	delay->is_asked = 1; /* also where it cannot be opened: it is not tried again */
	if (length > 12 || !tfp_kept_room(0))
		return;
	tfp_copy(text, tid_text, length);
	tfp_copy(text + length, "/schedstat", 11);
	tfp_kept_open(&delay->file, &list, text, 0);
}

/* Text of schedstat: ns on a processor, ns waiting for one, times it was given one. */
static int put_delay(struct delay *delay, struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	static const struct tfp_system_rule rules[] = {
		{READ_thread_run, "", NULL, 1, 1}, {READ_thread_delay, "", NULL, 2, 1}, {READ_thread_slices, "", NULL, 4, 1}};
	uint64_t values[3];
	long got = delay->file.number ? tfp_kept_read(&delay->file, text, sizeof text) : -1;

	for (int i = 0; i < 3; i++)
		if (got <= 0 || tfp_system_figure(text, (size_t)got, 0, &rules[i], NULL, &values[i]))
			return -1;
	for (int i = 0; i < 3; i++)
		TFP_PUT(thread, lane, now, reading, .value = values[i], .subject = delay->tid, .kind = rules[i].reading);
	return 0;
}

static void put_clock(uint32_t tid, struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	uint64_t ns = tfp_clock_thread_ns(tid);

	if (ns)
		TFP_PUT(thread, lane, now, reading, .value = ns, .subject = tid, .kind = READ_thread_run);
}

/* One round. */
struct round {
	struct tfp_thread *thread;
	struct tfp_lane *lane;
	uint64_t now;
	uint32_t seen, most; /* `most`: files that may be kept */
};

static int put_one(void *context, uint32_t tid, const char *name)
{
	struct round *round = context;

	if (round->seen++ == THREADS_MOST)
		return 1;
	if (tid == round->thread->tid * (uint64_t)(round->thread->is_own != 0) ||
	    tid == __atomic_load_n(&tfp_state->drainer.tid, __ATOMIC_RELAXED))
		return 0;
	struct delay *delay = place_of(tid, round->most);
	if (delay && delay->tid && !delay->is_asked)
		open_delay(delay, name);
	if (delay) {
		delay->tid = tid;
		delay->round = round_now;
	}
	if (!delay || put_delay(delay, round->thread, round->lane, round->now))
		put_clock(tid, round->thread, round->lane, round->now);
	return 0;
}

/* Threads that were not met this time have ended, unless their clocks go: the kernel's list is cut short where a thread in it ends. */
static void forget_ended(void)
{
	for (uint32_t i = 0; i < KEPT_MOST; i++) {
		if (!delays[i].tid || delays[i].round == round_now || tfp_clock_thread_ns(delays[i].tid))
			continue;
		tfp_kept_close(&delays[i].file);
		delays[i] = (struct delay){0};
	}
}

int tfp_system_threads_read(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, char *room, size_t bytes)
{
	struct round round = {.thread = thread, .lane = lane, .now = now, .most = tfp_kept_most()};
	uint32_t used = tfp_system_files_count() + 1;

	if (!is_listed)
		return 0;
	round.most = round.most > used ? round.most - used : 0;
	round_now++;
	int is_whole = tfp_tasks_each(&list, room, bytes, put_one, &round);
	if (is_whole > 0)
		forget_ended();
	return is_whole < 0 ? -1 : 0;
}
