/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a log's blocks. Private to reducer/read. */
#ifndef REDUCER_READ_SCAN_H
#define REDUCER_READ_SCAN_H

#include "reducer/read/log.h"

/* Fills in blocks, streams and schema of a log whose header was read. Returns -1 without memory. */
int scan_blocks(struct log *log);

/* The blocks of a log that may be being written, as they stand at one moment (log->moment). scan_moment.c */
void scan_moment(struct log *log);

/* What both ways through the file do with a block, with part of a stream (-1: no room), and with `gap` bytes where none stands. */
void scan_block(struct log *log, const struct log_block *block);
int scan_part(struct log *log, uint32_t thread, uint16_t lane, uint64_t place, uint64_t sequence);
void scan_gap(struct log *log, uint64_t from, uint64_t gap, int is_zero);

/* The stream of a thread and lane, or NULL: it has no part yet. */
struct log_stream *scan_stream(const struct log *log, uint32_t thread, uint16_t lane);

/* By sequence. */
void scan_sort(struct log_stream *stream);

#endif
