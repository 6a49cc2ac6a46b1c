/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose thread named "tfprof", where it has one, gets no processor for longer than a fork waits for it. Its parent holds that
 * thread as a debugger does: at the first system call by which it gives memory back after the fork has asked it to stop.
 *
 * Prints whether such a thread was held, and whether the process has one at the end. 77: this machine forbids it.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define ALLOCATIONS 2000000
#define TOLD 'x'

static int to_worker[2], to_holder[2];

static void tell(const int pipes[2])
{
	char byte = TOLD;

	if (write(pipes[1], &byte, 1) != 1)
		_exit(3);
}

static void await(const int pipes[2])
{
	char byte;

	if (read(pipes[0], &byte, 1) != 1)
		_exit(4);
}

/* The thread of the process that bears our name, 0 = none. */
static pid_t drainer_of(pid_t pid)
{
	char path[300], name[32] = "";
	struct dirent *entry;
	pid_t found = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)pid, entry->d_name);
		FILE *file = fopen(path, "r");
		if (file && fgets(name, sizeof name, file) && !strcmp(name, "tfprof\n"))
			found = atoi(entry->d_name);
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static void *nothing(void *unused)
{
	return unused;
}

static int begin_and_end_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static void work(void)
{
	if (begin_and_end_thread())
		_exit(5);
	for (int i = 0; i < ALLOCATIONS; i++)
		free(malloc((size_t)i % 1000 + 1));
	tell(to_holder);
	await(to_worker);
	pid_t child = fork();
	if (!child)
		_exit(0);
	tell(to_holder); /* the fork is over */
	await(to_worker);
	if (waitpid(child, NULL, 0) != child || begin_and_end_thread())
		_exit(5);
	printf("at the end: %s\n", drainer_of(getpid()) ? "there" : "gone");
	fflush(stdout);
	_exit(0);
}

/* The system call at which the thread stands, -1 = at none's begin. */
static long call_of(pid_t thread)
{
	struct ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info.entry.nr;
}

/* Lets the thread go on to the begin of that system call. Returns 0, or -1 where it ended before. */
static int go_to(pid_t thread, long call)
{
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, thread, 0, 0) || waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
			return -1;
		if (call_of(thread) == call)
			return 0;
	}
}

/* Whether it was held: there is such a thread, and it came to the place. -1: nobody may hold it. */
static int hold(pid_t worker)
{
	int status;
	pid_t thread = drainer_of(worker);

	if (!thread)
		return 0;
	if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) || ptrace(PTRACE_INTERRUPT, thread, 0, 0) ||
	    waitpid(thread, &status, __WALL) != thread || go_to(thread, SYS_futex))
		return -1;
	tell(to_worker);
	if (go_to(thread, SYS_munmap))
		return 0;
	await(to_holder);
	ptrace(PTRACE_DETACH, thread, 0, 0);
	return 1;
}

int main(void)
{
	int status;

	if (pipe(to_worker) || pipe(to_holder))
		return 2;
	pid_t worker = fork();
	if (!worker)
		work();
	await(to_holder);
	int held = hold(worker);
	if (held < 0) {
		kill(worker, SIGKILL);
		return 77;
	}
	printf("held: %d\n", held);
	fflush(stdout);
	if (!held) {
		tell(to_worker);
		await(to_holder);
	}
	tell(to_worker);
	return waitpid(worker, &status, 0) == worker && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
