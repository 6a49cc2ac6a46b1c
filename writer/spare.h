/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFPROF_KEEP_FREE: disk space that the log leaves to the program, which may have a checkpoint to write.
 *
 * Rule: the file system is asked each MiB of growth, not at each block. What cannot be told forbids nothing. A log that gives up its
 * oldest events (FULL=wrap) has a limit of its own and is not asked about.
 */
#ifndef TFP_WRITER_SPARE_H
#define TFP_WRITER_SPARE_H

#include <stdint.h>

struct tfp_log;

/* How much a log may grow before it is asked again: an eighth of what is kept, so that it is hardly ever touched, at most 1 MiB. */
static inline uint64_t tfp_spare_step(uint64_t kept)
{
	return kept / 8 < UINT64_C(1) << 20 ? kept / 8 : UINT64_C(1) << 20;
}

/* Of `wanted` bytes a twentieth of the file system at most, so that something can be recorded on a small one. */
static inline uint64_t tfp_spare_part(uint64_t wanted, uint64_t system_bytes)
{
	return wanted < system_bytes / 20 ? wanted : system_bytes / 20;
}

/* The same of the file system where `descriptor` lies. 0 = it cannot be told. */
uint64_t tfp_spare_bytes(long descriptor, uint64_t wanted);

/* Whether less than `kept` bytes are free where the file `path` lies, or, where no name leads there, `descriptor`; a pipe has no disk. */
int tfp_spare_is_short(const char *path, long descriptor, uint64_t kept);

/*
 * Whether the log, which ends at `old` and whose number is perhaps `descriptor`, may not grow by so many bytes, which are free still;
 * log->is_crowded says so until it may again. Any context.
 */
int tfp_spare_forbids(struct tfp_log *log, uint64_t old, uint64_t bytes, long descriptor);

#endif
