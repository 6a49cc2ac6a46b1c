/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one program as if tfprof were not there.
 *
 * Rule: the program stays in our process group, so the terminal's ^C, ^\ and ^Z reach it directly; what reaches us alone
 * (kill PID by a supervisor) is passed on. We sleep in sigwaitinfo with those signals blocked; no handler runs.
 */
#include "launcher/child.h"

#include "launcher/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Signals that a person or supervisor sends to a job. Not the faults (ours), not CHLD, not KILL and STOP, and not CONT,
 * which shells send to the whole group. Another signal that kill(2) sends to the whole group reaches the program twice:
 * nothing tells us apart from a signal sent to us alone, and losing that one would be worse.
 */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
				SIGTSTP, SIGXCPU, SIGPWR,  SIGWINCH, SIGURG,  SIGIO};

/*
 * What a write of ours raises: our line on a pipe that nobody reads any more, or from the background of a terminal that
 * stops who writes (stty tostop); a log that ends at RLIMIT_FSIZE. All are errors of that write, and the program has its
 * own of them: it starts with what we inherited.
 */
static const int of_writing[] = {SIGPIPE, SIGTTOU, SIGXFSZ};

enum { OF_WRITING = sizeof of_writing / sizeof of_writing[0] };

static struct sigaction inherited[OF_WRITING]; /* written by child_ignore_writes() alone */

void child_ignore_writes(void)
{
	struct sigaction ignored;
	size_t i;

	memset(&ignored, 0, sizeof ignored);
	ignored.sa_handler = SIG_IGN;
	for (i = 0; i < OF_WRITING; i++)
		sigaction(of_writing[i], &ignored, &inherited[i]);
}

static void watch(sigset_t *old)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
		sigaddset(&set, passed_on[i]);
	for (i = SIGRTMIN; i <= (size_t)SIGRTMAX; i++)
		sigaddset(&set, (int)i);
	sigprocmask(SIG_BLOCK, &set, old);
}

/* In the child: returns only to _exit, after telling the parent why through `report`. */
static _Noreturn void become(char **argv, int report, const sigset_t *mask, const struct sigaction *child_action)
{
	size_t i;
	int why;

	sigaction(SIGCHLD, child_action, NULL);
	for (i = 0; i < OF_WRITING; i++)
		sigaction(of_writing[i], &inherited[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	why = errno;
	while (write(report, &why, sizeof why) < 0 && errno == EINTR)
		;
	_exit(why == ENOENT ? SAY_NOT_FOUND : SAY_NOT_EXECUTABLE);
}

/* /proc/PID/stat, also valid of a zombie: fields 3 (state) and 22 (start, clock ticks since boot); 0 = unknown. */
static void look_up(pid_t pid, char *state, uint64_t *start)
{
	unsigned long long ticks = 0;
	char path[64], text[1024], *rest;
	size_t length;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	*state = 0;
	*start = 0;
	file = fopen(path, "re");
	if (!file)
		return;
	length = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[length] = 0;
	rest = strrchr(text, ')'); /* a program's name may hold anything, also ) */
	if (rest && sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			   state, &ticks) == 2)
		*start = ticks;
}

/* ^Z: the shell must see its job stop, so we stop as the program did; after fg both run again. */
static void stop_like(pid_t child, int signal_number)
{
	uint64_t start;
	char state;

	if (signal_number != SIGTSTP && signal_number != SIGTTIN && signal_number != SIGTTOU)
		return; /* a debugger's SIGSTOP: whoever sent it wakes the program, not us */
	raise(SIGSTOP);
	look_up(child, &state, &start);
	if (state == 'T')
		kill(child, SIGCONT); /* only we were woken */
}

/* What the child did. Returns 1 once it has ended (and is not reaped yet). */
static int look(pid_t child)
{
	siginfo_t state;

	for (;;) {
		state.si_pid = 0;
		if (waitid(P_PID, (id_t)child, &state, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) || !state.si_pid)
			return 0;
		if (state.si_code != CLD_STOPPED && state.si_code != CLD_TRAPPED)
			return 1;
		waitid(P_PID, (id_t)child, &state, WSTOPPED | WNOHANG);
		stop_like(child, state.si_status);
	}
}

/* The terminal sends to the whole group, so the program has it already. */
static int came_to_all(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL;
}

static void wait_for(pid_t child)
{
	sigset_t set;
	siginfo_t info;
	int number;

	sigprocmask(SIG_SETMASK, NULL, &set);
	while (!look(child)) {
		number = sigwaitinfo(&set, &info);
		if (number <= 0 || number == SIGCHLD || came_to_all(&info) || info.si_pid == child)
			continue;
		kill(child, number);
	}
}

/* Reads the reason that become() sent; 0 when exec closed the pipe. */
static int exec_error(int report)
{
	int why = 0;
	ssize_t length;

	do
		length = read(report, &why, sizeof why);
	while (length < 0 && errno == EINTR);
	close(report);
	return length == (ssize_t)sizeof why ? why : 0;
}

struct child_end child_run(char **argv)
{
	struct child_end end = {0, 0, 0, 0};
	struct sigaction original, usual;
	sigset_t mask;
	int report[2];
	char state;

	memset(&usual, 0, sizeof usual);
	usual.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &usual, &original); /* an inherited SIG_IGN would leave us nothing to wait for */
	watch(&mask);
	if (pipe2(report, O_CLOEXEC))
		say_die("no pipe: %s", strerror(errno));
	end.pid = fork();
	if (end.pid < 0)
		say_die("no process: %s", strerror(errno));
	if (!end.pid)
		become(argv, report[1], &mask, &original);
	close(report[1]);
	end.exec_errno = exec_error(report[0]);
	wait_for(end.pid);
	look_up(end.pid, &state, &end.start);
	while (waitpid(end.pid, &end.wait_status, 0) < 0 && errno == EINTR)
		;
	return end;
}

void child_exit_like(int wait_status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t all;

	if (WIFEXITED(wait_status))
		exit(WEXITSTATUS(wait_status));
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core); /* the program has left its own core; ours would replace it */
	signal(WTERMSIG(wait_status), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	kill(getpid(), WTERMSIG(wait_status));
	exit(128 + WTERMSIG(wait_status));
}
