/* SPDX-License-Identifier: Apache-2.0 */
/* Careful looks; see collectors/tensorflow_prove.h. */
#include "collectors/tensorflow_prove.h"

#include "collectors/stacks_memory.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "writer/poison.h"

#define LOOKED_AT 64 /* bytes of a text */
#define PAGE 4096u   /* the smallest of any machine */

/* Page by page, where a filter or an emulator knows no copies through the kernel. */
static int can_read(const void *from, size_t bytes)
{
	uintptr_t at = (uintptr_t)from & ~(uintptr_t)7, end = (uintptr_t)from + bytes;

	for (; at < end; at = (at | (PAGE - 1)) + 1)
		if (!tfp_stack_memory_can_read(at))
			return 0;
	return 1;
}

int tfp_prove_read(void *to, const void *from, size_t bytes)
{
	struct iovec mine = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
	long self = tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long got = tfp_sys(SYS_process_vm_readv, self, (long)&mine, 1, (long)&there, 1, 0);

	if (got == -ENOSYS || got == -EPERM) {
		if (!can_read(from, bytes))
			return -1;
		tfp_copy(to, from, bytes);
		return 0;
	}
	return got == (long)bytes ? 0 : -1;
}

int tfp_prove_text(const char *text, size_t length)
{
	char copy[LOOKED_AT] = {0};
	size_t looked = length < LOOKED_AT ? length : LOOKED_AT;

	if (!length)
		return 1;
	if (length >= TFP_PROVE_TEXT || !text || tfp_prove_read(copy, text, looked))
		return 0;
	for (size_t i = 0; i < looked; i++)
		if ((unsigned char)copy[i] < ' ')
			return 0;
	return tfp_prove_read(copy, text + length - 1, 1) == 0;
}

int tfp_prove_note(struct tfp_proof *proof, int is_good)
{
	if (is_good)
		__atomic_fetch_add((uint32_t *)&proof->good, 1, __ATOMIC_RELAXED);
	else
		proof->is_refuted = 1;
	return is_good;
}
