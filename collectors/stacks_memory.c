/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable stretches of stack. Rule: see stacks_memory.h.
 */
#include "collectors/stacks_memory.h"

#include "writer/sys.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define PAGE 4096u                    /* the smallest of any machine; larger ones are asked for more often than needed */
#define MAIN_STACK (UINT64_C(1) << 27) /* bytes below its end in which the kernel maps nothing else (128 MiB gap) */
#define REACH (UINT64_C(1) << 24)     /* bytes that one frame may span: 16 MiB; more is taken for a lost track */

#define DOWN (UINT64_C(1) << 20)      /* bytes: how far below a stretch the same stack is looked for, 0.1 us a page */

/* Where the initial thread's stack began, kept by the loader. */
extern void *__libc_stack_end __attribute__((weak));

/* There under Valgrind, whatever its tool. */
extern char _vgnU_freeres __attribute__((weak));

int tfp_stack_memory_can_read(uintptr_t address)
{
	/* Valgrind tells its user of an odd request for signals. The kernel copies a time before it looks for the timer. */
	if (__builtin_expect(&_vgnU_freeres != NULL, 0))
		return tfp_sys(SYS_timer_settime, -1, 0, (long)address, 0, 0, 0) == -EINVAL;
	/* The kernel copies a signal set from there before it refuses the request. */
	return tfp_sys(SYS_rt_sigprocmask, 0x7ffffff, (long)address, 0, 8, 0, 0) == -EINVAL;
}

static int add(struct tfp_stack_memory *memory, uintptr_t start, uintptr_t end)
{
	int number = (int)(memory->next++ % TFP_STRETCHES);

	memory->stretches[number].start = start;
	memory->stretches[number].end = end;
	return number;
}

/* The stretch that begins next above `sp`, not too far from it; -1 = there is none. */
static int next_above(const struct tfp_stack_memory *memory, uintptr_t sp)
{
	int found = -1;

	for (int i = 0; i < TFP_STRETCHES; i++) {
		uintptr_t start = memory->stretches[i].start;

		if (start > sp && start - sp <= DOWN && (found < 0 || start < memory->stretches[found].start))
			found = i;
	}
	return found;
}

/*
 * A page of stack that is in no stretch. Where all up to the next one can be read, the same stack grew below what was seen of it: still
 * one stretch. Asked from below, so that of coroutines' stacks, which lie side by side, no more is asked for than of one.
 */
static int add_page(struct tfp_stack_memory *memory, uintptr_t page)
{
	int above = next_above(memory, page);
	uintptr_t end = page + PAGE;

	while (above >= 0 && end < memory->stretches[above].start && tfp_stack_memory_can_read(end))
		end += PAGE;
	if (above < 0 || end < memory->stretches[above].start)
		return add(memory, page, end);
	memory->stretches[above].start = page;
	return above;
}

int tfp_stack_memory_at(struct tfp_stack_memory *memory, uintptr_t sp, int is_certain)
{
	uintptr_t top = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;

	for (int i = 0; i < TFP_STRETCHES; i++)
		if (sp >= memory->stretches[i].start && sp < memory->stretches[i].end)
			return i;
	if (sp < top && top - sp < MAIN_STACK)
		return add(memory, top - MAIN_STACK, top);
	sp &= ~(uintptr_t)7;
	if (!is_certain && !tfp_stack_memory_can_read(sp))
		return -1;
	return add_page(memory, sp & ~(uintptr_t)(PAGE - 1));
}

int tfp_stack_memory_extend(struct tfp_stack_memory *memory, int number, uintptr_t address)
{
	struct tfp_stretch *stretch = &memory->stretches[number];

	if (address < stretch->start || address - stretch->start > REACH + (stretch->end - stretch->start))
		return 0;
	while (address >= stretch->end) {
		if (!tfp_stack_memory_can_read(stretch->end))
			return 0;
		stretch->end += PAGE;
	}
	return 1;
}
