/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program file is, and whether a preloaded library can work in it.
 */
#ifndef TFPROF_LAUNCHER_PROGRAM_H
#define TFPROF_LAUNCHER_PROGRAM_H

#include "preload/settings_parse.h"

#define PROGRAM_PATH 4096 /* Linux PATH_MAX */

enum program_obstacle {
	PROGRAM_FINE,        /* nothing against it */
	PROGRAM_MISSING,     /* no such file in PATH, or not executable */
	PROGRAM_PRIVILEGED,  /* set-user-ID, set-group-ID or file capabilities: the loader ignores LD_PRELOAD */
	PROGRAM_STATIC,      /* no program interpreter, so nothing reads LD_PRELOAD */
	PROGRAM_GO,          /* the Go runtime allocates by itself */
	PROGRAM_OTHER_CLASS, /* 32 bits, or of another machine */
	PROGRAM_OTHER_LIBC,  /* not glibc's loader */
	PROGRAM_SANITIZER,   /* a sanitizer owns malloc; the library stands aside */
	PROGRAM_PASSED_OVER, /* by the settings ONLY and SKIP */
	PROGRAM_UNKNOWN,     /* not an ELF file we can read */
};

struct program {
	char path[PROGRAM_PATH];        /* as found */
	char interpreter[PROGRAM_PATH]; /* of a script: the program its #! line names; empty = none */
	enum program_obstacle obstacle;
};

/* Looks at what `name` would execute (PATH is searched as execvp does); of a script, at its interpreter. */
void program_examine(const char *name, const struct tfp_settings *settings, struct program *program);

/* One sentence on why nothing is recorded, and what to do; "" where nothing is known against the program. */
const char *program_reason(enum program_obstacle obstacle);

#endif
