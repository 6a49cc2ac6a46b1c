/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live blocks of a log whose file system must not be mapped (a fault could wait for a network, or for good): kept in a
 * file of /dev/shm, so that they survive the process, and copied to the log every second (of more than 8 MiB a part each time) and at
 * the end.
 *
 * Rule: shared memory is the host's; we take 8 MiB or an eighth of what is free, whichever is less, and what we take is
 * allocated first, so that no store of anybody's can fault for our sake.
 */
#include "writer/log.h"

#include "writer/sys.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "writer/poison.h"

#define SHADOW_MOST (UINT64_C(8) << 20)

static void write_path(struct tfp_log *log)
{
	static const char start[] = TFP_SHADOW_DIRECTORY "/tfprof.";
	char *at = log->shadow_path + sizeof start - 1;

	tfp_copy(log->shadow_path, start, sizeof start - 1);
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[log->id >> shift & 15];
	*at = 0;
}

static uint64_t bytes_to_spare(void)
{
	struct statfs system;

	if (tfp_sys(SYS_statfs, (long)TFP_SHADOW_DIRECTORY, (long)&system, 0, 0, 0, 0) < 0 || system.f_type != 0x01021994)
		return 0; /* 0x01021994: tmpfs */
	uint64_t share = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize / 8;
	return share < SHADOW_MOST ? share : SHADOW_MOST;
}

/* [offset, offset + bytes) of the shared file, allocated and mapped. NULL: there is no room. */
static void *map_shared(struct tfp_log *log, uint64_t offset, uint64_t bytes, int flags)
{
	if (!tfp_file_fits(offset + bytes))
		return NULL;
	long file = tfp_sys(SYS_openat, AT_FDCWD, (long)log->shadow_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600, 0, 0);

	if (file < 0)
		return NULL;
	void *start = NULL;
	if (tfp_file_allocate(file, offset, bytes) >= 0)
		start = tfp_pages_share(file, offset, bytes);
	tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	return start;
}

void *tfp_shadow_map(struct tfp_log *log, uint64_t offset, uint64_t bytes, int *is_kill_safe)
{
	void *memory = NULL;

	if (log->shadow_path[0] && log->shadow_left >= bytes)
		memory = map_shared(log, offset, bytes, 0);
	*is_kill_safe = memory != NULL;
	if (!memory)
		return tfp_pages_get(bytes, 1);
	log->shadow_left -= bytes; /* two threads at once can take a block more than the share: 256 KiB */
	return memory;
}

void *tfp_shadow_begin(struct tfp_log *log)
{
	void *memory = NULL;

	log->shadows = tfp_pages_get(TFP_SHADOWS * sizeof *log->shadows, 1);
	if (!log->shadows)
		return NULL;
	log->shadow_left = bytes_to_spare();
	write_path(log);
	if (log->shadow_left >= log->first_bytes)
		memory = map_shared(log, 0, log->first_bytes, O_CREAT | O_EXCL);
	if (memory) {
		log->shadow_left -= log->first_bytes;
		return memory;
	}
	tfp_shadow_end(log);
	return tfp_pages_get(log->first_bytes, 1);
}

void tfp_shadow_end(struct tfp_log *log)
{
	if (log->shadow_path[0])
		tfp_sys(SYS_unlinkat, AT_FDCWD, (long)log->shadow_path, 0, 0, 0, 0);
	log->shadow_path[0] = 0;
}
