/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of the short road of usual launches (reducer/model/gpu_usual.h): the same log is added up on it and, where every
 * launch is kept, without it; every sum must be the same.
 *
 * Rule: made logs alone, the same words of chance in each run; what the log must contain to be a test is checked.
 */
#include "reducer/model/gpu.h"
#include "reducer/model/gpu_usual.h"
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

enum { LAUNCH = 200, GRAPH = 201, COPY = 202, SYNC = 203 };

struct stream {
	struct maker_records records;
	uint64_t sequence;
};

struct made {
	struct maker maker;
	struct stream calls, device;
	uint64_t seed, base; /* base: the ids of launches begin behind it */
};

static uint64_t chance(struct made *made, uint64_t below)
{
	made->seed = made->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (made->seed >> 33) % below;
}

static void spill(struct made *made, struct stream *stream, uint32_t thread)
{
	if (stream->records.size + 256 <= sizeof stream->records.bytes)
		return;
	maker_events(&made->maker, thread, 0, ++stream->sequence, 0, &stream->records);
	stream->records.size = 0;
}

/* One call, usual or not. Its id is `i`; a few share that of the one before, and a few have none. */
static void add_call(struct made *made, uint64_t i)
{
	uint64_t end = 1000 * i + 200, odd = chance(made, 1000), id = odd == 1 ? 0 : made->base + i - (odd == 0);
	uint32_t function = odd < 20 ? SYNC : odd < 30 ? GRAPH : odd < 80 ? COPY : LAUNCH;

	spill(made, &made->calls, 1);
	if (odd == 2) /* lost */
		return;
	if (function == COPY)
		MAKER_ADD(&made->calls.records, end - 1, gpu_copy, .bytes = odd == 40 ? 0 : 4096);
	MAKER_ADD(&made->calls.records, end, gpu_call, .duration = 200, .correlation = id, .function = function, .stack = 1,
		  .flags = (uint8_t)(odd == 90 ? 7 : 3), .result = odd > 90 && odd < 96);
}

/* What the device did for launch `i`, read at `time`: once, twice the same, twice different, never, or at an impossible time. */
static void add_work(struct made *made, uint64_t i, uint64_t time)
{
	uint64_t odd = chance(made, 200), start = REALTIME + 1000 * i + (odd == 0 ? 0 : 300), again = odd == 3 ? 7 : 0;

	spill(made, &made->device, 2);
	if (odd == 1)
		return;
	if (odd == 2)
		start = odd % 2 ? 0 : REALTIME + time + 100000000;
	if (odd >= 100 && odd < 150) /* the file of another profiler says what it was for; op 3 has no name */
		MAKER_ADD(&made->device.records, time, device_op, .op = 1 + (uint32_t)(i % 3));
	for (unsigned times = odd == 3 || odd == 4 ? 2 : 1; times > 0; times--)
		MAKER_ADD(&made->device.records, time, kernel, .start = start + times * again, .duration = 500 + i % 64,
			  .correlation = made->base + i, .shape = 1 + (uint32_t)(i % 2), .queue = 1, .graph = odd == 5 ? 9 : 0);
	if (odd == 6)
		MAKER_ADD(&made->device.records, time, device_copy, .start = start, .duration = 400,
			  .correlation = made->base + i, .bytes = 4096, .queue = 2, .kind = 1, .source = 2, .destination = 3);
}

/* The device's records come late, now by a few launches and now by `most`; some before their call returned. */
static void make(const char *path, uint64_t launches, uint64_t most, uint64_t seed)
{
	struct made *made = calloc(1, sizeof *made);
	uint64_t read = 1, late = 0;

	made->seed = seed;
	made->base = seed * 731;
	maker_begin(&made->maker);
	maker_schema(&made->maker, "");
	maker_gpu_facts(&made->maker, 2, 2);
	maker_fact(&made->maker, TFP_TAG_op_name, (const char *const[]){"#1", "dense:MatMul", NULL});
	maker_fact(&made->maker, TFP_TAG_op_name, (const char *const[]){"#2", "norm:Sum", NULL});
	for (uint64_t i = 1; i <= launches; i++) {
		add_call(made, i);
		if (chance(made, 20000) == 0)
			late = late == 0 ? most : 0;
		for (; read <= launches && read + late < i + 1 + chance(made, 2); read++)
			add_work(made, read, 1000 * i + (late == 0 ? 100 : 20000));
	}
	for (; read <= launches; read++)
		add_work(made, read, 1000 * launches + 50000);
	maker_chunk(&made->maker, 1, 0, ++made->calls.sequence, &made->calls.records);
	maker_chunk(&made->maker, 2, 0, ++made->device.sequence, &made->device.records);
	made->maker.live.end_kind = TFP_END_EXIT;
	made->maker.live.end_time = launches * 1000 + 100000;
	maker_finish(&made->maker);
	assert_int_equal(maker_write(&made->maker, path, made->maker.size), 0);
	maker_free(&made->maker);
	free(made);
}

static struct run *scan(const char *path, int wants_launches, struct diag_list *diags)
{
	const char *paths[1] = {path};
	struct run *run = run_open(paths, 1, NULL, diags);

	assert_non_null(run);
	assert_int_equal(run_scan(run, &(struct run_options){.wants_launches = wants_launches}), 0);
	assert_non_null(run->processes[0].gpu);
	return run;
}

static void same_spread(const struct spread *one, const struct spread *other)
{
	assert_int_equal(one->count, other->count);
	assert_int_equal(one->sum, other->sum);
	assert_int_equal(one->least, other->least);
	assert_int_equal(one->most, other->most);
}

/* Rows stand in the order in which they were made, which may differ. */
static const struct gpu_kernel *twin_of(const struct gpu *gpu, const struct gpu_kernel *kernel)
{
	for (size_t i = 0; i < gpu->kernel_count; i++)
		if (gpu->kernels[i].shape == kernel->shape && gpu->kernels[i].queue == kernel->queue &&
		    gpu->kernels[i].thread == kernel->thread && gpu->kernels[i].op == kernel->op)
			return &gpu->kernels[i];
	return NULL;
}

static void same(const struct gpu *one, const struct gpu *other)
{
	assert_memory_equal(&one->counts, &other->counts, sizeof one->counts);
	same_spread(&one->queue_delays, &other->queue_delays);
	assert_int_equal(one->kernel_count, other->kernel_count);
	assert_true(one->kernel_count > 8); /* of two shapes, with two ops and without, with a call and without */
	for (size_t i = 0; i < one->kernel_count; i++) {
		const struct gpu_kernel *kernel = &one->kernels[i], *twin = twin_of(other, kernel);

		assert_non_null(twin);
		assert_int_equal(kernel->occurrences, twin->occurrences);
		assert_int_equal(kernel->untimed, twin->untimed);
		same_spread(&kernel->times, &twin->times);
	}
	assert_int_equal(one->copy_count, other->copy_count);
	assert_int_equal(one->graph_count, other->graph_count);
	assert_int_equal(one->sweeps[0].busy.busy_ns, other->sweeps[0].busy.busy_ns);
	assert_int_equal(one->sweeps[0].overlap.busy_ns, other->sweeps[0].overlap.busy_ns);
	assert_int_equal(one->sweeps[0].kernels.busy_ns, other->sweeps[0].kernels.busy_ns);
}

static void compare(uint64_t launches, uint64_t most, uint64_t seed)
{
	char path[64];
	struct diag_list diags = {0};
	struct run *usual, *whole;
	const struct gpu_counts *counts;

	snprintf(path, sizeof path, "gpu_usual_test.%d.tfp", (int)getpid());
	make(path, launches, most, seed);
	usual = scan(path, 0, &diags);
	whole = scan(path, 1, &diags);
	same(usual->processes[0].gpu, whole->processes[0].gpu);
	counts = &usual->processes[0].gpu->counts;
	assert_true(counts->launches[GPU_PAIRED] > launches * 9 / 10);
	for (unsigned pairing = 0; pairing < GPU_NOT_LAUNCHED; pairing++)
		assert_true(counts->launches[pairing] > 0);
	assert_true(counts->duplicates > 0);
	assert_true(counts->repeated_calls > 0);
	assert_true(counts->impossible_records > 0);
	run_close(usual);
	run_close(whole);
	diag_free(&diags);
	unlink(path);
}

static void test_short_road_adds_up_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		compare(20000, 300 * seed, seed);
}

/* More launches wait than there is room for: the eldest go on as flights. */
static void test_more_wait_than_there_is_room_for(void **state)
{
	(void)state;
	compare(4 * GPU_USUAL_MOST, 2 * GPU_USUAL_MOST, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_road_adds_up_the_same),
		cmocka_unit_test(test_more_wait_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
