/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the process of a log runs now.
 *
 * Rule: a process is looked for only where it could be seen: on this boot of this machine, in this namespace of process ids.
 */
#ifndef REDUCER_READ_ALIVE_H
#define REDUCER_READ_ALIVE_H

#include "writer/format.h"

enum alive {
	ALIVE_NO,
	ALIVE_YES,     /* a process of that id and start time is there */
	ALIVE_UNKNOWN, /* it was of another machine, another boot of this one, or another namespace of process ids */
};
enum alive alive_find(const struct tfp_file_header *header);

#endif
