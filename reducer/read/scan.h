/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a log's blocks. Private to reducer/read. */
#ifndef REDUCER_READ_SCAN_H
#define REDUCER_READ_SCAN_H

#include "reducer/read/log.h"

/* Fills in blocks, streams and schema of a log whose header was read. Returns -1 without memory. */
int scan_blocks(struct log *log);

#endif
