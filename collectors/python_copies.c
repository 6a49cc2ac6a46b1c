/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of memory that may go away; see collectors/python_copies.h. */
#include "collectors/python_copies.h"

#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

#define HIGHEST (UINT64_C(1) << 56) /* no program's address lies beyond; the kernel takes negative places for errors */

int tfp_python_copies_open(struct tfp_python_copies *copies)
{
	copies->number = tfp_kept_number(copies->memory);
	return copies->number < 0 ? -1 : 0;
}

int tfp_python_copy(struct tfp_python_copies *copies, uintptr_t address, void *to, size_t bytes)
{
	if (!address || address >= HIGHEST)
		return -1;
	return tfp_sys(SYS_pread64, copies->number, (long)to, (long)bytes, (long)address, 0, 0) == (long)bytes ? 0 : -1;
}

static int copy_stretch(struct tfp_python_copies *copies, uintptr_t from, size_t bytes)
{
	copies->bytes = 0;
	if (bytes > sizeof copies->stretch || tfp_python_copy(copies, from, copies->stretch, bytes))
		return -1;
	copies->address = from;
	copies->bytes = bytes;
	copies->stretches++;
	return 0;
}

uintptr_t tfp_python_copy_frame(struct tfp_python_copies *copies, uintptr_t address, size_t bytes)
{
	uintptr_t end = address + bytes, low = end - TFP_PYTHON_STRETCH;

	if (address & 7 || bytes > TFP_PYTHON_STRETCH || address < TFP_PYTHON_STRETCH)
		return 0;
	if (copies->bytes && address >= copies->address && end <= copies->address + copies->bytes)
		return (uintptr_t)copies->stretch + (address - copies->address);
	low = (low + 7) & ~(uintptr_t)7;
	/* Down from it, or as far as its page goes, or it alone. */
	if (copy_stretch(copies, low, end - low) && copy_stretch(copies, address & ~(uintptr_t)4095, end - (address & ~(uintptr_t)4095)) &&
	    copy_stretch(copies, address, end - address))
		return 0;
	return (uintptr_t)copies->stretch + (address - copies->address);
}

uintptr_t tfp_python_copy_object(struct tfp_python_copies *copies, uintptr_t address, size_t bytes)
{
	uint8_t *to = copies->objects + copies->used;

	if (bytes > TFP_PYTHON_OBJECTS - copies->used || tfp_python_copy(copies, address, to, bytes))
		return 0;
	copies->used += (bytes + 15) & ~(size_t)15;
	return (uintptr_t)to;
}
