/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on the simulated device around what happens in a process's life. Built by test/cases/gpu-cupti-life, linked with the
 * simulated runtime. cupti_life MODE MEMSETS; each mode makes twice MEMSETS memsets, one half before and one half after it:
 * fork, fork_exec, seccomp, _exit, handler (the second half in an exit handler), destructor.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void **, size_t);
int cudaMemset(void *, int, size_t);
int cudaDeviceSynchronize(void);

static void *block;
static int count;
static const char *mode;

static void work(void)
{
	int failures = 0;

	for (int i = 0; i < count; i++)
		failures += cudaMemset(block, i, 4096) != 0;
	failures += cudaDeviceSynchronize() != 0;
	printf("%d memsets, %d failures\n", count, failures);
	fflush(stdout);
}

static void forked(int is_exec)
{
	int status = -1;
	pid_t child = fork();

	if (!child && is_exec)
		execlp("true", "true", (char *)NULL);
	if (!child)
		_exit(cudaMemset(block, 1, 16) ? 7 : 8); /* CUDA does not survive a fork */
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

/* Allows every system call: what matters is that there is a filter, which nobody can know to be harmless. */
static void filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("filter %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

__attribute__((destructor)) static void destroy(void)
{
	if (mode && !strcmp(mode, "destructor"))
		work();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 64;
	mode = argv[1];
	count = atoi(argv[2]);
	printf("malloc %d\n", cudaMalloc(&block, 4096));
	work();
	if (!strcmp(mode, "fork") || !strcmp(mode, "fork_exec"))
		forked(mode[4] != 0);
	if (!strcmp(mode, "seccomp"))
		filter();
	if (!strcmp(mode, "handler"))
		return atexit(work);
	if (!strcmp(mode, "destructor"))
		return 0;
	work();
	if (!strcmp(mode, "_exit"))
		_exit(5);
	return 3;
}
