/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits for children, as the host calls them: who was killed cannot say so, but who waited for him knows by what.
 *
 * Rule: the real function gets what it was given, but a place for the status where the host wants none; errno, cancellation
 * and restarts are its own. Only a child that a signal killed is told.
 */
#include "collectors/process.h"
#include "preload/real.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Of a wait that said that a child is gone. */
static void tell(pid_t child, int status)
{
	int error = errno;

	if (WIFSIGNALED(status))
		tfp_process_child_killed(child, status);
	errno = error;
}

/* A child's stop is no end: WIFSIGNALED is false of it. Without the real function nothing can be waited for. */
#define WAIT(name, parameters, arguments) \
	TFP_EXPORT pid_t name parameters \
	{ \
		int own = 0; \
		int *told = status ? status : &own; \
		pid_t child = -1; \
\
		tfp_resolve(); \
		if (tfp_real.name) \
			child = tfp_real.name arguments; \
		else \
			errno = ENOSYS; \
		if (child > 0) \
			tell(child, *told); \
		return child; \
	}

WAIT(wait, (int *status), (told))
WAIT(waitpid, (pid_t pid, int *status, int options), (pid, told, options))
WAIT(wait3, (int *status, int options, struct rusage *use), (told, options, use))
WAIT(wait4, (pid_t pid, int *status, int options, struct rusage *use), (pid, told, options, use))

TFP_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
	tfp_resolve();
	if (!tfp_real.waitid) {
		errno = ENOSYS;
		return -1;
	}
	int result = tfp_real.waitid(kind, id, info, options);
	if (result == 0 && info && info->si_pid > 0 && (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED))
		tell(info->si_pid, info->si_status & 0x7f);
	return result;
}
