/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outside drainer (setting DRAIN=helper): a process that compresses and writes the full chunks of a job's logs.
 *
 * Rule: nobody depends on it. It takes a chunk by the same compare-and-swap as any drainer, programs see by helper_beat
 * whether it is there, and where it is not, slow or killed they drain themselves.
 */
#ifndef TFPROF_LAUNCHER_HELPER_H
#define TFPROF_LAUNCHER_HELPER_H

#include "preload/settings_parse.h"

#include <stdint.h>

struct helper {
	int alive; /* our end of a pipe: when it closes the helper leaves with the last process of the job; -1 = no helper */
	int done;  /* the helper answers here when it has written what the program left */
};

/*
 * Starts the helper where the settings ask for it, as nobody's child (it must not appear among the program's), detached
 * from terminal, descriptors and process group. Where it cannot be started the recording works without it. Call it before
 * the program is started, from a process with one thread.
 */
struct helper helper_start(const struct tfp_settings *settings, const uint8_t job_id[16]);

/* The program has ended: waits until the helper has looked once more, one second at most. */
void helper_finish(struct helper *helper);

#endif
