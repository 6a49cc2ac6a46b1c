/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theoretical occupancy: how many warps of a kernel fit on a multiprocessor at once, and what keeps it from more.
 *
 * Rule: the device's own numbers first, a table by compute capability where the log lacks them; unknown stays unknown. The
 * shared memory of a multiprocessor is taken at its largest, as without a preference of the program's.
 */
#ifndef REDUCER_TABLES_OCCUPANCY_H
#define REDUCER_TABLES_OCCUPANCY_H

#include "reducer/model/gpu.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a multiprocessor, unless said otherwise. */
struct occupancy_device {
	unsigned major, minor;    /* compute capability */
	uint64_t warps, blocks, registers, shared_bytes; /* 0 = take the table's */
};

struct occupancy_kernel {
	uint64_t threads;         /* of a block */
	uint64_t registers;       /* of a thread */
	uint64_t shared_bytes;    /* of a block: static and dynamic */
};

enum occupancy_limit { LIMIT_WARPS = 1, LIMIT_REGISTERS = 2, LIMIT_SHARED = 4, LIMIT_BLOCKS = 8 };

struct occupancy {
	uint64_t blocks, warps, most_warps; /* on a multiprocessor */
	unsigned limits;          /* enum occupancy_limit; several may bind at once */
};

/* False where the compute capability is not known, or the numbers make no kernel. */
bool occupancy_of(const struct occupancy_device *device, const struct occupancy_kernel *kernel, struct occupancy *result);

/* The same of a launch. False where the device (NULL) is not known, too. */
bool occupancy_of_launch(const struct gpu_device *device, const struct gpu_shape *shape, struct occupancy *result);

/* The limits in words: "registers", "warps+blocks". */
const char *occupancy_limit_text(unsigned limits, char text[64]);

#endif
