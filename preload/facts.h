/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says of the process and its machine. Rule: from the kernel alone; what cannot be had stays empty. */
#ifndef TFP_PRELOAD_FACTS_H
#define TFP_PRELOAD_FACTS_H

#include "writer/format.h"

#include <stddef.h>

/* Fills in who the process is (pids, starts, boot, namespace, command); `host` gets a file name's worth of host name. */
void tfp_facts_identity(struct tfp_file_header *header, char *host, size_t room);

/* Writes the argument, environment and host facts. Once the log is there. */
void tfp_facts_process(void);

#endif
