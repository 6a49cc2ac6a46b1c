/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log, drained from outside: finds its chunks, writes the full ones as events blocks, frees them.
 */
#ifndef TFPROF_LAUNCHER_DRAINER_H
#define TFPROF_LAUNCHER_DRAINER_H

#include "preload/settings_parse.h"
#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

struct drainer; /* one log */

/* Opens the log at `path` for draining; NULL where it is none of this job, or not whole (yet). */
struct drainer *drainer_open(const char *path, const uint8_t job_id[16], const struct tfp_settings *settings);
void drainer_close(struct drainer *drainer);

/* Says to the program that somebody is here, then drains what is full. Returns how many chunks were written. */
size_t drainer_look(struct drainer *drainer);

/* Whether the process that fills the log exists; asked of the kernel ten times a second at most. */
int drainer_has_process(struct drainer *drainer);

#endif
