/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates from every kind of stack that C knows: ways WAY ALLOCATIONS. What it finds out is nothing; the shim that is
 * preloaded compares. Rule: signals may interrupt any instruction of the walkers below, but no allocator.
 */
#include "test/stacks/noinline.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static _Atomic long left; /* allocations still to be made */
static __thread uint32_t seed = 1;
static volatile uintptr_t sink;

/* The preload's: captures and compares without allocating. */
extern void stackshim_probe(void) __attribute__((weak));

static uint32_t chance(uint32_t of)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % of;
}

static NOINLINE void allocate(void)
{
	void *block = malloc(chance(200) + 1);

	sink = (uintptr_t)block;
	free(block);
	left--;
}

/* Functions whose frames are laid out in different ways, calling one another at random. */
static NOINLINE void walk(int depth);

static NOINLINE void small(int depth)
{
	walk(depth - 1);
	sink = (uintptr_t)&depth;
}

static NOINLINE void large(int depth)
{
	volatile char room[5000];

	room[chance(5000)] = 1;
	walk(depth - 1);
	sink = (uintptr_t)room;
}

static NOINLINE void variable(int depth)
{
	volatile char *room = alloca(chance(300) + 16);

	room[0] = 1;
	walk(depth - 1);
	sink = (uintptr_t)room;
}

/*
 * Signals probe anywhere: not in aligned(), whose last instruction but one gcc's tables describe wrongly, so that libgcc's
 * unwinder, which the stacks are held against, reads a return address out of the data and dies.
 */
static int is_probed;

static NOINLINE void aligned(int depth)
{
	_Alignas(64) volatile char room[64];
	volatile char *more = alloca(chance(100) + 1);

	more[0] = room[0] = 1;
	walk(depth - 1);
	sink = (uintptr_t)(room + (more[0] & 1));
}

static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, int depth)
{
	walk(depth - 1);
	return a + b * c - d + e * f + g - h + depth;
}

static NOINLINE double floating(double x, int depth)
{
	double y = x * 1.5;

	walk(depth - 1);
	return y / (x + 2);
}

static int compare(const void *a, const void *b)
{
	if (chance(8) == 0)
		allocate();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void sorted(int depth)
{
	int numbers[6] = { 3, 1, 2, depth, 5, 4 };

	qsort(numbers, 6, sizeof(int), compare);
	walk(depth - 1);
	sink = (uintptr_t)numbers;
}

static NOINLINE void jumping(int depth)
{
	jmp_buf place;

	if (setjmp(place) == 0) {
		allocate();
		longjmp(place, 1);
	}
	walk(depth - 1);
}

static NOINLINE void walk(int depth)
{
	if (left <= 0)
		return;
	if (depth <= 0 || chance(3) == 0)
		allocate();
	if (depth <= 0)
		return;
	switch (chance(9)) {
	case 0: small(depth); break;
	case 1: large(depth); break;
	case 2: variable(depth); break;
	case 3: (is_probed ? variable : aligned)(depth); break;
	case 4: sink = (uintptr_t)many(depth, 2, 3, 4, 5, 6, 7, 8, depth); break;
	case 5: sink = (uintptr_t)floating(depth, depth); break;
	case 6: sorted(depth); break;
	case 7: jumping(depth); break;
	default: small(depth); walk(depth - 2); break;
	}
}

/* The same few leaves again and again below callers that are others each time, all frames of one size. */
static NOINLINE void leaf_one(void)
{
	allocate();
	sink = 1;
}

static NOINLINE void leaf_two(void)
{
	allocate();
	sink = 2;
}

static NOINLINE void forked(int depth, uint32_t path)
{
	if (depth == 0) {
		for (int i = 0; i < 4; i++)
			(chance(2) ? leaf_one : leaf_two)();
	} else if (path & 1) {
		forked(depth - 1, path >> 1);
	} else {
		forked(depth - 1, path >> 1);
		sink = (uintptr_t)depth;
	}
	sink = path;
}

static void leaves(void)
{
	while (left > 0)
		forked(8, chance(256));
}

static void plain(void)
{
	while (left > 0)
		walk((int)chance(30));
}

/* Signals, which interrupt arithmetic at any instruction, prologues and leaf functions included. */
static NOINLINE long leaf(long n)
{
	return n * 3 + 1;
}

static NOINLINE long middle(long n)
{
	volatile long saved = n;

	return n < 2 ? saved : leaf(n) + middle(n / 2);
}

static NOINLINE long outer(long n)
{
	volatile char *room = alloca((size_t)n % 64 + 16);

	room[0] = 1;
	return middle(n) + room[0];
}

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	if (chance(2))
		allocate();
	else
		walk((int)chance(5));
	errno = saved;
}

static void interrupted(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct itimerval every = { { 0, 50 }, { 0, 50 } };
	stack_t other = { .ss_sp = malloc(65536), .ss_size = 65536 };
	sigset_t alarm;

	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	setitimer(ITIMER_REAL, &every, NULL);
	while (left > 0) {
		for (int i = 0; i < 200; i++)
			sink = (uintptr_t)outer((long)chance(1000));
		if (chance(10) == 0)
			raise(SIGALRM);
		/* In the allocator no signal may arrive that allocates. */
		sigprocmask(SIG_BLOCK, &alarm, NULL);
		walk((int)chance(8));
		sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	}
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
}

static void on_probe(int number)
{
	(void)number;
	left--;
	stackshim_probe();
}

/* Signals anywhere, also inside the allocator and inside the capture that it interrupts. */
static void probed(void)
{
	struct sigaction action = { .sa_handler = on_probe };
	struct itimerval every = { { 0, 50 }, { 0, 50 } };

	if (!stackshim_probe)
		return;
	is_probed = 1;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (left > 0)
		walk((int)chance(20));
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Coroutines by ucontext: stacks of their own, made and unmapped all the time. */
#define COROUTINES 24
#define COROUTINE_STACK 65536

static struct coroutine {
	ucontext_t context;
	char *stack;
	int is_live;
} coroutines[COROUTINES];
static ucontext_t scheduler;
static int current;

static NOINLINE void turn(int depth)
{
	if (chance(2))
		allocate();
	if (depth > 0)
		turn(depth - 1);
	if (chance(4) == 0)
		swapcontext(&coroutines[current].context, &scheduler);
	allocate();
}

static void coroutine_main(void)
{
	turn((int)chance(12));
	coroutines[current].is_live = 0;
	swapcontext(&coroutines[current].context, &scheduler);
}

static void contexts(void)
{
	while (left > 0) {
		struct coroutine *next = &coroutines[current = (int)chance(COROUTINES)];

		if (!next->is_live) {
			if (next->stack)
				munmap(next->stack, COROUTINE_STACK);
			next->stack = mmap(NULL, COROUTINE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			getcontext(&next->context);
			next->context.uc_stack.ss_sp = next->stack;
			next->context.uc_stack.ss_size = COROUTINE_STACK;
			next->context.uc_link = NULL;
			makecontext(&next->context, coroutine_main, 0);
			next->is_live = 1;
		}
		swapcontext(&scheduler, &next->context);
	}
}

/* Coroutines by a bare switch of the stack pointer, as boost.context and many languages do it. */
#if defined __x86_64__
void bare_switch(void **from, void *to);
__asm__(".text\n.globl bare_switch\n.type bare_switch, @function\nbare_switch:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size bare_switch, .-bare_switch\n");

static void *bare_tops[COROUTINES], *bare_scheduler;
static char *bare_stacks;

static NOINLINE void bare_turn(int depth)
{
	if (chance(2))
		allocate();
	if (depth > 0)
		bare_turn(depth - 1);
	if (chance(4) == 0)
		bare_switch(&bare_tops[current], bare_scheduler);
	allocate();
}

static void bare_main(void)
{
	bare_turn((int)chance(12));
	void **top = bare_tops[current] = NULL;
	bare_switch((void **)&top, bare_scheduler);
}

/* The stacks lie next to each other, without guards, below an unmapped page. */
static void bare(void)
{
	bare_stacks = mmap(NULL, (COROUTINES + 1) * COROUTINE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(bare_stacks + COROUTINES * COROUTINE_STACK, COROUTINE_STACK);
	while (left > 0) {
		current = (int)chance(COROUTINES);
		if (!bare_tops[current]) {
			void **top = (void **)(bare_stacks + (current + 1) * COROUTINE_STACK - 24);

			*top = NULL;
			*--top = (void *)bare_main;
			bare_tops[current] = top - 6;
		}
		bare_switch(&bare_scheduler, bare_tops[current]);
	}
}
#else
static void bare(void)
{
	contexts();
}
#endif

/* Libraries of different code that come to lie at the same addresses, in turn. */
static const char *folder;

static void call_back(void)
{
	allocate();
}

static void churn(void)
{
	while (left > 0) {
		char path[4096];
		void *library;
		void (*enter)(void (*function)(void), int depth);

		snprintf(path, sizeof(path), "%s/churn%u.so", folder, chance(3));
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		enter = library ? (void (*)(void (*)(void), int))dlsym(library, "enter") : NULL;
		if (!enter) {
			fprintf(stderr, "ways: %s\n", dlerror());
			exit(1);
		}
		for (int i = 0; i < 20; i++)
			enter(call_back, (int)chance(6));
		dlclose(library);
	}
}

static void *beside(void *argument)
{
	seed = (uint32_t)(uintptr_t)argument;
	plain();
	return NULL;
}

static void threads(void (*way)(void), int count, size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread[16];

	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], &attributes, beside, (void *)(uintptr_t)(i + 2)))
			exit(2);
	way();
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

static void churn_beside(void)
{
	threads(churn, 2, 0);
}

/* Threads of 16 KiB that come and go. */
static void *tiny_main(void *argument)
{
	seed = (uint32_t)(uintptr_t)argument;
	for (int i = 0; i < 20; i++) {
		allocate();
		jumping(0);
	}
	return NULL;
}

static void tiny(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	while (left > 0) {
		pthread_t thread[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread[i], &attributes, tiny_main, (void *)(uintptr_t)(i + 2)))
				exit(2);
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
}

static void together(void)
{
	threads(plain, 4, 0);
}

static NOINLINE void recurse(int depth)
{
	volatile int here = depth;

	if (chance(50) == 0)
		allocate();
	if (here > 0 && left > 0)
		recurse(depth - 1);
	if (chance(50) == 0)
		allocate();
}

static void deep(void)
{
	while (left > 0)
		recurse((int)chance(chance(10) ? 400 : 20000));
}

static void signals(void)
{
	interrupted(0);
}

static void other_stack(void)
{
	interrupted(SA_ONSTACK);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "plain", plain },   { "signals", signals }, { "other_stack", other_stack }, { "probed", probed },
	{ "contexts", contexts }, { "bare", bare },	   { "churn", churn },		      { "churn_beside", churn_beside },
	{ "tiny", tiny },     { "together", together }, { "deep", deep },	      { "leaves", leaves },
};

int main(int count, char **arguments)
{
	if (count < 3)
		return 2;
	folder = count > 3 ? arguments[3] : ".";
	left = atol(arguments[2]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, arguments[1])) {
			ways[i].run();
			return 0;
		}
	return 2;
}
