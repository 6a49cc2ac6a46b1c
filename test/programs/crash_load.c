/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash_load FILE [KILL_AT]: allocates in three threads and in children by fork (two threads each) without end, and
 * publishes in FILE, shared memory, what it has done: the crash suite kills it and compares. With KILL_AT the thread
 * whose count first reaches it kills the whole process group from within.
 *
 * Rule: a slot is written by one thread. `begun` is stored before a call of malloc or free, `done` after it. The n-th
 * malloc of a slot asks for SIZE(n) bytes, so that a lost or torn record shows in the sequence of sizes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 512
#define SIZE(n) (24 + (n) * 40503 % 4001) /* as in test/crash */
#define LIVE 16                           /* blocks that a thread keeps */
#define CHILD_MALLOCS 20000               /* after which a child's thread is done */

struct slot {
	uint32_t pid, tid;
	_Atomic uint64_t mallocs_begun, mallocs_done, frees_begun, frees_done;
	uint64_t padding[3];
};

struct shared {
	_Atomic uint64_t slots_used;
	_Atomic uint64_t forks;
	uint64_t padding[6];
	struct slot slots[SLOTS];
};

static struct shared *shared;
static uint64_t kill_at;

static void add(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_release);
}

static void allocate(struct slot *slot, uint64_t limit)
{
	void *kept[LIVE] = {0};
	for (uint64_t n = 0; n < limit; n++) {
		if (kept[n % LIVE]) {
			add(&slot->frees_begun);
			free(kept[n % LIVE]);
			add(&slot->frees_done);
		}
		add(&slot->mallocs_begun);
		kept[n % LIVE] = malloc(SIZE(n));
		add(&slot->mallocs_done);
		if (kill_at && n == kill_at)
			kill(0, SIGKILL);
		for (volatile int spin = 0; spin < 150; spin++)
			;
	}
	for (int i = 0; i < LIVE; i++) {
		add(&slot->frees_begun);
		free(kept[i]);
		add(&slot->frees_done);
	}
}

static struct slot *take_slot(void)
{
	uint64_t number = atomic_fetch_add(&shared->slots_used, 1);
	if (number >= SLOTS)
		return NULL;
	shared->slots[number].pid = (uint32_t)getpid();
	shared->slots[number].tid = (uint32_t)syscall(SYS_gettid);
	return &shared->slots[number];
}

static void *always(void *nothing)
{
	struct slot *slot = take_slot();
	if (slot)
		allocate(slot, UINT64_MAX);
	return nothing;
}

static void *a_while(void *nothing)
{
	struct slot *slot = take_slot();
	if (slot)
		allocate(slot, CHILD_MALLOCS);
	return nothing;
}

static void child(void)
{
	pthread_t other;
	if (pthread_create(&other, NULL, a_while, NULL))
		_exit(1);
	a_while(NULL);
	pthread_join(other, NULL);
	_exit(0);
}

int main(int count, char **words)
{
	pthread_t threads[3];
	int fd = count > 1 ? open(words[1], O_RDWR) : -1;
	if (fd < 0 || ftruncate(fd, sizeof *shared))
		return 2;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return 2;
	kill_at = count > 2 ? strtoull(words[2], NULL, 10) : 0;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, always, NULL))
			return 1;
	for (;;) {
		pid_t pid = fork();
		if (!pid)
			child();
		add(&shared->forks);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}
