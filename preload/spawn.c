/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_spawn and posix_spawnp as the host calls them; see collectors/tables/process.def.
 *
 * Rule: as exec (process.c): the child learns who its parent is. At a limit of processes a thread of ours makes room.
 */
#include "collectors/process.h"

#include "preload/environment.h"
#include "preload/guard.h"
#include "preload/linked.h"
#include "preload/path.h"
#include "preload/real.h"
#include "writer/drain.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <errno.h>
#include <spawn.h>
#include <sys/syscall.h>

struct spawn {
	pid_t *child;
	const char *path;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *arguments, *const *environment;
};

typedef int spawn_real(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		       char *const *arguments, char *const *environment);

static int spawn_with(spawn_real *real, const struct spawn *spawn, char *const *environment)
{
	return real(spawn->child, spawn->path, spawn->actions, spawn->attributes, spawn->arguments, environment);
}

/* Whether our thread was there, which counted in the host's limit of processes, and is no more. A vfork child has none. */
static int has_made_room(void)
{
	if (!tfp_drain_has_thread() || tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid)
		return 0;
	tfp_drain_halt();
	return 1;
}

static int spawn_as(spawn_real *real, const struct spawn *spawn)
{
	struct tfp_environment changed;
	char *const *with_parent = tfp_environment_make(&changed, spawn->environment, 1);
	int error = spawn_with(real, spawn, with_parent);

	if (error == E2BIG && with_parent != spawn->environment) /* our variable made it too long: the child goes without */
		error = spawn_with(real, spawn, spawn->environment);
	if (__builtin_expect(error == EAGAIN, 0) && has_made_room()) {
		error = spawn_with(real, spawn, with_parent);
		tfp_drain_resume(tfp_real.pthread_create);
	}
	int kept = errno;
	tfp_environment_drop(&changed);
	if (changed.is_without && !error && !tfp_guard_leaves(spawn->path))
		tfp_process_unfollowed(1);
	tfp_process_spawned(error ? 0 : *spawn->child, tfp_path_readable(spawn->path));
	errno = kept;
	return error;
}

/* libc stores the pid while signals are still blocked: a handler may count on it. */
#define SPAWN(name) \
	TFP_EXPORT int name(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, \
			    const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) \
	{ \
		pid_t started = 0; \
\
		tfp_resolve(); \
		return spawn_as((spawn_real *)tfp_linked((void *)tfp_real.name, #name, __builtin_return_address(0)), \
				&(struct spawn){child ? child : &started, path, actions, attributes, arguments, environment}); \
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
