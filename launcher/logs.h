/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs that a run has left, as far as the launcher looks into them: the file header and the live words.
 */
#ifndef TFPROF_LAUNCHER_LOGS_H
#define TFPROF_LAUNCHER_LOGS_H

#include "launcher/memory.h"

#include <stdint.h>
#include <sys/types.h>

struct logs {
	unsigned count;      /* logs of the job */
	uint64_t disk_bytes; /* what they occupy */
	char *program;       /* path of the log of the program itself (its last image), NULL = none; malloc'ed */
	char *first;         /* path of the log of the job that began first, NULL = none; malloc'ed */
	uint64_t first_start_ns;
	uint32_t program_exec_count;
};

/*
 * Looks through `directory` for logs of the job that were written to at `since_s` (realtime, seconds) or later. The
 * program's own is told by pid and start (0 = any). A file that is no whole log header is passed over.
 */
struct logs logs_find(const char *directory, const uint8_t job_id[16], int64_t since_s, pid_t pid, uint64_t start);
void logs_free(struct logs *logs);

/* What an END block says: the raw wait status, and whether the kernel killed for want of memory meanwhile. */
struct logs_end {
	pid_t pid;
	int wait_status;
	struct memory_end memory;
};

/*
 * Appends an END block to the log at `path`, and the status to its live words where it is this process's log (`is_own`) and the process
 * itself left no word. The process must be dead. Returns 0, or -1 with errno.
 */
int logs_append_end(const char *path, const struct logs_end *end, int is_own);

#endif
