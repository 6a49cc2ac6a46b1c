/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program will find in its environment: the library, the settings, the job id.
 */
#ifndef TFPROF_LAUNCHER_ENVIRONMENT_H
#define TFPROF_LAUNCHER_ENVIRONMENT_H

#include "preload/settings_parse.h"

#include <stdint.h>

/* Path of a file of ours: beside this program, or in `folder` beside this program's folder after `make install`.
 * malloc'ed; NULL when there is none that can be read. */
char *environment_find(const char *file, const char *folder);

/* Path of libtfprof.so; NULL as above. */
char *environment_library(void);

/*
 * Sets LD_PRELOAD (in front of what it holds), TFPROF_OUT (absolute, so that a program that changes its directory and
 * its children write to one place) and the job id (an inherited one is kept) in our own environment, makes the output
 * directory, and copies its absolute path to settings->out. Dies aloud when one of them cannot be.
 */
void environment_prepare(struct tfp_settings *settings, uint8_t job_id[16]);

#endif
