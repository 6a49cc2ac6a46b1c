/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs that a run has left, as far as the launcher looks into them: the file header and the live words.
 */
#ifndef TFPROF_LAUNCHER_LOGS_H
#define TFPROF_LAUNCHER_LOGS_H

#include <stdint.h>
#include <sys/types.h>

struct logs {
	unsigned count;      /* logs of the job */
	uint64_t disk_bytes; /* what they occupy */
	char *program;       /* path of the log of the program itself (its last image), NULL = none; malloc'ed */
	uint32_t program_exec_count;
};

/*
 * Looks through `directory` for logs of the job that were written to at `since_s` (realtime, seconds) or later. The
 * program's own is told by pid and start (0 = any). A file that is no whole log header is passed over.
 */
struct logs logs_find(const char *directory, const uint8_t job_id[16], int64_t since_s, pid_t pid, uint64_t start);
void logs_free(struct logs *logs);

/*
 * Appends an END block with the raw wait status to the log at `path`, and the same to its live words where the process
 * itself left no word. The process must be dead. Returns 0, or -1 with errno.
 */
int logs_append_end(const char *path, int wait_status, pid_t pid);

#endif
