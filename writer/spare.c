/* SPDX-License-Identifier: Apache-2.0 */
/* Disk space that the log leaves to the program; see spare.h. */
#include "writer/spare.h"

#include "writer/log.h"
#include "writer/sys.h"

#include <sys/syscall.h>
#include <sys/vfs.h>

#include "writer/poison.h"

uint64_t tfp_spare_bytes(long descriptor, uint64_t wanted)
{
	struct statfs system;

	if (!wanted || tfp_sys(SYS_fstatfs, descriptor, (long)&system, 0, 0, 0, 0) < 0)
		return 0;
	return tfp_spare_part(wanted, (uint64_t)system.f_blocks * (uint64_t)system.f_bsize);
}

int tfp_spare_is_short(const char *path, long descriptor, uint64_t kept)
{
	struct statfs system;

	if (tfp_sys(SYS_statfs, (long)path, (long)&system, 0, 0, 0, 0) < 0 &&
	    tfp_sys(SYS_fstatfs, descriptor, (long)&system, 0, 0, 0, 0) < 0)
		return 0;
	return system.f_blocks && (uint64_t)system.f_bavail * (uint64_t)system.f_bsize < kept;
}

int tfp_spare_forbids(struct tfp_log *log, uint64_t old, uint64_t bytes, long descriptor)
{
	uint64_t end = old + bytes;
	int is_short = 0;

	if (!log->spare_bytes || log->is_wrapping)
		return 0;
	if (end > __atomic_load_n(&log->spare_end, __ATOMIC_RELAXED)) {
		is_short = tfp_spare_is_short(log->path, descriptor, log->spare_bytes + bytes);
		if (!is_short)
			__atomic_store_n(&log->spare_end, end + tfp_spare_step(log->spare_bytes), __ATOMIC_RELAXED);
	}
	__atomic_store_n(&log->is_crowded, is_short, __ATOMIC_RELAXED);
	return is_short;
}
