/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs with GPU records, made for the unit tests of what the reducer makes of them.
 *
 * Device time is CLOCK_REALTIME: the origin's plus ticks. Included by one file of a program.
 */
#ifndef TEST_UNIT_GPU_MADE_H
#define TEST_UNIT_GPU_MADE_H

#include "reducer/model/gpu.h"
#include "reducer/model/gpu_launches.h"
#include "reducer/model/run.h"
#include "test/logmaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REALTIME UINT64_C(1700000000000000000) /* of maker_begin */
#define AT(ticks) (REALTIME + (ticks))
#define ORIGIN 1000 /* ticks */

/* A log being made: thread 1 calls, thread 2 is ours and writes device records. */
struct made {
	struct maker maker;
	struct maker_records *calls, *device;
	char path[64];
	struct diag_list diags;
	struct run *run;
};

static inline struct made *begin_made(void)
{
	struct made *made = calloc(1, sizeof *made);

	made->calls = calloc(1, sizeof *made->calls);
	made->device = calloc(1, sizeof *made->device);
	snprintf(made->path, sizeof made->path, "gpu_made.%d.tfp", (int)getpid());
	maker_begin(&made->maker);
	maker_schema(&made->maker, "");
	maker_gpu_facts(&made->maker, 2, 2);
	made->maker.live.end_kind = TFP_END_EXIT;
	made->maker.live.end_time = 1000000000;
	return made;
}

static inline struct gpu *scan_with(struct made *made, const struct run_options *options)
{
	const char *paths[1] = {made->path};

	if (made->calls->size != 0)
		maker_chunk(&made->maker, 1, 0, 1, made->calls);
	if (made->device->size != 0)
		maker_chunk(&made->maker, 2, 0, 1, made->device);
	maker_finish(&made->maker);
	assert_int_equal(maker_write(&made->maker, made->path, made->maker.size), 0);
	made->run = run_open(paths, 1, NULL, &made->diags);
	assert_non_null(made->run);
	assert_int_equal(run_scan(made->run, options), 0);
	assert_non_null(made->run->processes[0].gpu);
	return made->run->processes[0].gpu;
}

static struct gpu_launch launches[16]; /* of the last scan(), the first ones by time */

static inline struct gpu *scan(struct made *made)
{
	struct gpu *gpu = scan_with(made, &(struct run_options){.wants_launches = 1});
	for (size_t i = 0; i < 16 && gpu_launches_next(gpu, &launches[i]);)
		i++;
	return gpu;
}

static inline void end_made(struct made *made)
{
	run_close(made->run);
	diag_free(&made->diags);
	unlink(made->path);
	maker_free(&made->maker);
	free(made->calls);
	free(made->device);
	free(made);
}

static inline void call(struct made *made, uint64_t begin, uint64_t end, uint32_t function, uint64_t correlation, uint32_t flags,
		 uint32_t result)
{
	MAKER_ADD(made->calls, end, gpu_call, .duration = end - begin, .correlation = correlation, .function = function, .stack = 1,
		  .flags = (uint8_t)flags, .result = result, .context = 1);
}

static inline void kernel(struct made *made, uint64_t decoded, uint64_t start, uint64_t duration, uint64_t correlation)
{
	MAKER_ADD(made->device, decoded, kernel, .start = start, .duration = duration, .correlation = correlation, .shape = 1,
		  .queue = 1);
}

enum { LAUNCH = 200, GRAPH = 201, COPY = 202, SYNC = 203, ALLOC = 204, FREE = 205, GEMM = 206, MODULE = 207 };

#endif
