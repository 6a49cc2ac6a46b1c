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

/* The stack grew below what was seen of it: still one stretch, if all between can be read. */
static int extend_down(struct tfp_stretch *stretch, uintptr_t sp)
{
	uintptr_t start = stretch->start;

	if (sp >= start || start - sp > DOWN)
		return 0;
	while (start > sp) {
		start -= PAGE;
		if (!tfp_stack_memory_can_read(start))
			return 0;
	}
	stretch->start = start;
	return 1;
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
	for (int i = 0; i < TFP_STRETCHES; i++)
		if (extend_down(&memory->stretches[i], sp))
			return i;
	return add(memory, sp & ~(uintptr_t)(PAGE - 1), (sp | (PAGE - 1)) + 1);
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
