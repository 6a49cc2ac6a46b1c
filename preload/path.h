/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as the host gives them to exec and spawn. */
#ifndef TFP_PRELOAD_PATH_H
#define TFP_PRELOAD_PATH_H

#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the log says of a path: where the kernel answers EFAULT to it, it is not read here either. */
static inline const char *tfp_path_readable(const char *path)
{
	return tfp_sys(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) == -EFAULT ? "(unreadable)" : path;
}

#endif
