/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says of the process and its machine. Rule: from the kernel alone; what cannot be had stays empty. */
#ifndef TFP_PRELOAD_FACTS_H
#define TFP_PRELOAD_FACTS_H

#include "writer/format.h"

#include <stddef.h>

/* Fills in who the process is (pids, starts, boot, namespace, command); `host` gets a file name's worth of host name. */
void tfp_facts_identity(struct tfp_file_header *header, char *host, size_t room);

/* A process that knows nothing of its own place forks: its child asks the kernel. */
void tfp_facts_place_unknown(void);

/* When process `pid` began, in clock ticks since boot; 0 = unknown. Some 10 us and more. */
uint64_t tfp_facts_start_of(uint32_t pid);

/* Writes the argument, environment and host facts. Once the log is there. */
void tfp_facts_process(void);

#endif
