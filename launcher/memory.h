/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kernel killed for want of memory while the program ran.
 *
 * Rule: only differences of the kernel's own counters; what cannot be read is 0, and then nothing is said.
 */
#ifndef TFPROF_LAUNCHER_MEMORY_H
#define TFPROF_LAUNCHER_MEMORY_H

#include "collectors/system_group.h"

#include <stdint.h>

struct memory_watch {
	struct tfp_group group; /* ours, which the program begins in; at the level with the tightest limit */
	uint64_t kills;		/* of this control group so far, processes */
	uint64_t machine_kills; /* of the whole machine so far, processes */
};

/* What happened since a watch began. */
struct memory_end {
	uint64_t limit_bytes;	/* of the control group; 0 = none, or not known */
	uint64_t kills;		/* processes of the control group killed for memory */
	uint64_t machine_kills; /* processes of the machine killed for memory, those included */
};

/* Before the program starts, and after its end. */
struct memory_watch memory_begin(void);
struct memory_end memory_since(const struct memory_watch *watch);

#endif
