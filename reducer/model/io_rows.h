/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread of a process read, by file and function, and what it used of the machine, for the tables. */
#ifndef REDUCER_MODEL_IO_ROWS_H
#define REDUCER_MODEL_IO_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct io_row {
	uint64_t file; /* hash */
	uint32_t function, thread; /* row of a hook table; serial */
	const char *path;          /* NULL = not known, or not kept */
	uint64_t calls, failed, bytes;
	int64_t time_ns;           /* inside the calls */
	int64_t first_ns, last_ns; /* first begin, last return */
};

struct io_rows {
	struct io_row *items;
	size_t count, room;
	int is_short; /* memory ran out: some are missing */
};

#endif
