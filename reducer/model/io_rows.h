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

/* A reading of what the process (thread 0) or one of its threads has used since it began. */
struct use_sample {
	int64_t time_ns;
	uint32_t thread; /* serial; 0 = the process */
	uint64_t user_ns, system_ns, minor_faults, major_faults, waits, preemptions;
	/* Of the process alone. */
	uint64_t peak_resident_bytes, blocks_read, blocks_written, memory_bytes, memory_free_bytes;
	double load;
};

#endif
