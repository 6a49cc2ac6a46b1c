/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one program as if tfprof were not there: its exit, its signals, its place in the terminal's job control.
 */
#ifndef TFPROF_LAUNCHER_CHILD_H
#define TFPROF_LAUNCHER_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct child_end {
	pid_t pid;
	uint64_t start;  /* /proc/PID/stat field 22; 0 = unknown */
	int exec_errno;  /* not 0: the program could not be executed, for this reason */
	int wait_status; /* as waitpid gives it */
};

/* Before the first line of ours: from here on what we write may fail, and kills or stops nobody. */
void child_ignore_writes(void);

/*
 * Forks, executes argv (looked up in PATH, in this process's environment), passes signals on, waits. Dies aloud only if
 * there is no process to be had. Call it behind child_ignore_writes(), from a process with one thread.
 */
struct child_end child_run(char **argv);

/* The exit status a shell would see; dies of the same signal where the program did. */
_Noreturn void child_exit_like(int wait_status);

#endif
