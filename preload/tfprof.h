/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof for programs that want to say something to their recorder: open and close the window, mark steps, name ranges.
 *
 *   #include <tfprof.h>
 *   tfprof_step(42);
 *   tfprof_push("load batch");
 *   ...
 *   tfprof_pop();
 *
 * Nothing is linked: the calls find the library when it is preloaded, and are a load and a branch when it is not.
 * Rule: from any thread, also in signal handlers; errno is kept; nothing blocks, fails or prints. C (99 or newer) and C++.
 */
#ifndef TFPROF_H
#define TFPROF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * *entry = address of the library's function, 0 without the library. The address is read from the GOT in assembly,
 * because linkers settle a plain weak reference of a position-dependent program as 0 for good.
 */
#if defined(__x86_64__) && defined(__LP64__)
#define TFPROF_FIND(entry, name) __asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" : "=r"(*(entry)))
#elif defined(__aarch64__) && defined(__LP64__)
#define TFPROF_FIND(entry, name)                                                                                       \
	__asm__(".weak " #name "\n\tadrp %0, :got:" #name "\n\tldr %0, [%0, :got_lo12:" #name "]" : "=r"(*(entry)))
#else
#define TFPROF_FIND(entry, name) (*(entry) = name)
#endif

void tfprof_api_start(void) __attribute__((weak));
void tfprof_api_stop(void) __attribute__((weak));
void tfprof_api_step(uint64_t number) __attribute__((weak));
void tfprof_api_push(const char *name) __attribute__((weak));
void tfprof_api_pop(void) __attribute__((weak));
uint64_t tfprof_api_begin(const char *name) __attribute__((weak));
void tfprof_api_end(uint64_t range) __attribute__((weak));
void tfprof_api_mark(const char *name) __attribute__((weak));

/* Opens the window now, whatever TFPROF_WINDOW says; nothing when it is open. The exact moment is in the log. */
static inline void tfprof_start(void)
{
	void (*entry)(void);

	TFPROF_FIND(&entry, tfprof_api_start);
	if (entry)
		entry();
}

/* Closes the window now, until tfprof_start, the signal, or the next entry of TFPROF_WINDOW opens it again. */
static inline void tfprof_stop(void)
{
	void (*entry)(void);

	TFPROF_FIND(&entry, tfprof_api_stop);
	if (entry)
		entry();
}

/* A step begins here, on this thread; the one before ends. `number` is yours: reports and `step:` windows use it. */
static inline void tfprof_step(uint64_t number)
{
	void (*entry)(uint64_t);

	TFPROF_FIND(&entry, tfprof_api_step);
	if (entry)
		entry(number);
}

/* A named range begins on this thread, inside those already open. The name is copied; UTF-8, NULL is the empty name. */
static inline void tfprof_push(const char *name)
{
	void (*entry)(const char *);

	TFPROF_FIND(&entry, tfprof_api_push);
	if (entry)
		entry(name);
}

/* The innermost range of this thread ends. One that is not open is ignored. */
static inline void tfprof_pop(void)
{
	void (*entry)(void);

	TFPROF_FIND(&entry, tfprof_api_pop);
	if (entry)
		entry();
}

/*
 * A named range of the whole process: it need not nest, and any thread may end it by the number that its beginning returned
 * (0 without the library). For what is spread over threads, coroutines or callbacks.
 */
static inline uint64_t tfprof_begin(const char *name)
{
	uint64_t (*entry)(const char *);

	TFPROF_FIND(&entry, tfprof_api_begin);
	return entry ? entry(name) : 0;
}

static inline void tfprof_end(uint64_t range)
{
	void (*entry)(uint64_t);

	TFPROF_FIND(&entry, tfprof_api_end);
	if (entry)
		entry(range);
}

/* This moment has a name. */
static inline void tfprof_mark(const char *name)
{
	void (*entry)(const char *);

	TFPROF_FIND(&entry, tfprof_api_mark);
	if (entry)
		entry(name);
}

#ifdef __cplusplus
}
#endif

#endif
