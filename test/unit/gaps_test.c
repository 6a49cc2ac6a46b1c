/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/analysis/gaps: gaps of made spans, against what follows from how they are made. */
#include "reducer/analysis/gaps.h"
#include "test/unit/straight_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu_sweep sweeps[2];
static struct gpu gpu;
static struct window_range whole[] = {{INT64_MIN, INT64_MAX}};
static struct process process;
static struct straight_clock straight;
static struct analysis_options options;
static struct analysis_input input;

static void lay_one(uint32_t device, uint64_t from_ns, uint64_t to_ns)
{
	struct gpu_interval interval = {.start = from_ns, .end = to_ns, .is_kernel = 1};

	gpu_sweep_add(&sweeps[device], &interval);
}

/* What the first pass over a log finds of the intervals of each device, {device, from, to} until a `to` of 0. */
static void lay(const uint64_t (*intervals)[3])
{
	gpu = (struct gpu){.sweeps = sweeps, .sweep_count = 2};
	for (uint32_t d = 0; d < 2; d++) {
		sweeps[d] = (struct gpu_sweep){.device = d};
		for (size_t i = 0; intervals[i][2]; i++)
			if (intervals[i][0] == d)
				lay_one(d, intervals[i][1], intervals[i][2]);
		gpu_sweep_end(&sweeps[d]);
	}
	process = (struct process){.log_id = 5, .pid = 100, .gpu = &gpu, .ranges = whole, .range_count = 1};
	straight_clock_set(&straight, &process, &gpu);
	options = (struct analysis_options){0};
	input = (struct analysis_input){.process = &process, .options = &options};
}

static void work(struct gaps *gaps, uint32_t device, const char *name, int64_t from_ns, int64_t to_ns, int64_t called_ns)
{
	struct span span = {.what = SPAN_KERNEL,
			    .on = SPAN_QUEUE,
			    .track = device,
			    .name = name,
			    .device = device,
			    .start_ns = from_ns,
			    .duration_ns = (uint64_t)(to_ns - from_ns),
			    .called_ns = called_ns,
			    .op = "an op",
			    .thread = 1};

	analysis_gaps.span(gaps, &span);
}

static void call(struct gaps *gaps, enum gpu_kind kind, const char *name, int64_t from_ns, int64_t to_ns)
{
	struct span span = {.what = SPAN_CALL,
			    .call = kind,
			    .name = name,
			    .thread = 1,
			    .device = GPU_NONE,
			    .start_ns = from_ns,
			    .duration_ns = (uint64_t)(to_ns - from_ns)};

	analysis_gaps.span(gaps, &span);
}

static const struct gap *finish(struct gaps *gaps, size_t count)
{
	analysis_gaps.end(gaps);
	assert_int_equal(gaps->count, count);
	return gaps->rows;
}

static void drop(struct gaps *gaps)
{
	analysis_gaps.free(gaps);
	clock_free(&straight.map);
	for (size_t d = 0; d < gpu.sweep_count; d++)
		gpu_sweep_free(&sweeps[d]);
}

static const char *word(const struct gaps *gaps, uint32_t number)
{
	return gaps->words.items[number];
}

/* Streams of a device together: it rests only while none of them works. */
static void a_gap_and_its_parts(void **state)
{
	const uint64_t intervals[][3] = {{0, 50000, 90000}, {0, 60000, 100000}, {0, 180000, 200000}, {0, 185000, 190000}, {0, 0, 0}};
	struct gaps *gaps;
	const struct gap *gap;

	(void)state;
	lay(intervals);
	gaps = analysis_gaps.begin(&input);
	call(gaps, GPU_SYNC, "cudaDeviceSynchronize", 100000, 130000);
	call(gaps, GPU_LAUNCH, "cudaLaunchKernel", 150000, 160000);
	work(gaps, 0, "short", 50000, 90000, 40000);
	work(gaps, 0, "first", 60000, 100000, 50000);
	work(gaps, 0, "second", 180000, 200000, 150000);
	work(gaps, 0, "beside", 185000, 190000, 150000);
	gap = finish(gaps, 1);
	assert_int_equal(gap->start_ns, 100000);
	assert_int_equal(gap->ns, 80000);
	assert_int_equal(gap->called_ns, 150000);
	assert_int_equal(gap->part_ns[GAP_WAIT], 30000);
	assert_int_equal(gap->part_ns[GAP_LAUNCH], 10000);
	assert_int_equal(gap->part_ns[GAP_OTHER], 40000);
	assert_string_equal(word(gaps, gap->before), "first");
	assert_string_equal(word(gaps, gap->after), "second");
	assert_string_equal(word(gaps, gap->op), "an op");
	assert_string_equal(word(gaps, gap->range), "");
	assert_string_equal(word(gaps, gap->during), "cudaDeviceSynchronize");
	assert_int_equal(gap->during_ns, 30000);
	assert_int_equal(gaps->sums[0].all, 1);
	drop(gaps);
}

static void each_device_by_itself(void **state)
{
	const uint64_t intervals[][3] = {{0, 0, 10000}, {1, 10000, 20000}, {0, 20000, 30000}, {1, 40000, 50000}, {0, 0, 0}};
	struct gaps *gaps;
	const struct gap *gap;

	(void)state;
	lay(intervals);
	gaps = analysis_gaps.begin(&input);
	work(gaps, 0, "a", 0, 10000, TIME_UNKNOWN);
	work(gaps, 1, "b", 10000, 20000, TIME_UNKNOWN);
	work(gaps, 0, "c", 20000, 30000, TIME_UNKNOWN);
	work(gaps, 1, "d", 40000, 50000, TIME_UNKNOWN);
	gap = finish(gaps, 2);
	assert_int_equal(gap[0].device, 1);
	assert_int_equal(gap[0].ns, 20000);
	assert_int_equal(gap[0].called_ns, TIME_UNKNOWN);
	assert_string_equal(word(gaps, gap[0].before), "b");
	assert_int_equal(gap[1].device, 0);
	assert_int_equal(gap[1].ns, 10000);
	assert_string_equal(word(gaps, gap[1].after), "c");
	drop(gaps);
}

/* What nobody recorded was perhaps no rest. */
static void no_gap_across_the_edge_of_a_window(void **state)
{
	static struct window_range ranges[] = {{0, 100000}, {300000, 400000}};
	const uint64_t intervals[][3] = {{0, 0, 10000}, {0, 20000, 30000}, {0, 310000, 320000}, {0, 340000, 350000}, {0, 0, 0}};
	struct gaps *gaps;
	const struct gap *gap;

	(void)state;
	lay(intervals);
	process.ranges = ranges;
	process.range_count = 2;
	gaps = analysis_gaps.begin(&input);
	work(gaps, 0, "a", 0, 10000, TIME_UNKNOWN);
	work(gaps, 0, "b", 20000, 30000, TIME_UNKNOWN);
	work(gaps, 0, "c", 310000, 320000, TIME_UNKNOWN);
	work(gaps, 0, "d", 340000, 350000, TIME_UNKNOWN);
	gap = finish(gaps, 2);
	assert_string_equal(word(gaps, gap[0].after), "d");
	assert_string_equal(word(gaps, gap[1].after), "b");
	assert_int_equal(gaps->sums[0].all, 3);
	assert_int_equal(gaps->sums[0].unrecorded, 1);
	assert_int_equal(gaps->sums[0].unrecorded_ns, 280000);
	drop(gaps);
}

static bool is_late(const void *context, const struct span *span)
{
	(void)context;
	return span->start_ns >= 25000;
}

static void a_gap_is_of_the_time_it_begins_in(void **state)
{
	const uint64_t intervals[][3] = {{0, 0, 10000}, {0, 20000, 30000}, {0, 50000, 60000}, {0, 0, 0}};
	struct gaps *gaps;

	(void)state;
	lay(intervals);
	options.wants_time = is_late;
	gaps = analysis_gaps.begin(&input);
	work(gaps, 0, "a", 0, 10000, TIME_UNKNOWN);
	work(gaps, 0, "b", 20000, 30000, TIME_UNKNOWN);
	work(gaps, 0, "c", 50000, 60000, TIME_UNKNOWN);
	assert_int_equal(finish(gaps, 1)->start_ns, 30000);
	drop(gaps);
}

/*
 * More than waits at once, and more gaps than are kept; the gap behind work i is 1000 + i ns long, and the host has called for the
 * next work 300 ns before it, by many short calls. Records of the device come far behind the calls.
 */
static void many(void **state)
{
	const int64_t count = 3 * GPU_GAPS_MOST, behind = 5000, inside = 2 * GAPS_PENDING / GAPS_MOST;
	int64_t called = 0, begun = 0;
	struct gaps *gaps;
	const struct gap *gap;

	(void)state;
	lay((const uint64_t[][3]){{0, 0, 0}});
	sweeps[0] = (struct gpu_sweep){0};
	for (int64_t i = 0, at = 0; i < count; at += 2000 + i++)
		lay_one(0, (uint64_t)at + 300, (uint64_t)at + 1300);
	gpu_sweep_end(&sweeps[0]);
	gaps = analysis_gaps.begin(&input);
	for (int64_t i = 0; i < count + behind; i++) {
		for (int64_t k = 0; i < count && k < inside; k++)
			call(gaps, GPU_LAUNCH, "cudaLaunchKernel", called + k - 10, called + k - 9);
		called += 2000 + i;
		if (i >= behind) {
			work(gaps, 0, (i - behind) % 2 ? "odd" : "even", begun + 300, begun + 1300, begun);
			begun += 2000 + (i - behind);
		}
	}
	gap = finish(gaps, GAPS_MOST);
	for (int64_t k = 0; k < GAPS_MOST; k++) {
		int64_t i = count - 2 - k;
		assert_int_equal(gap[k].ns, 1000 + i);
		assert_int_equal(gap[k].called_ns - gap[k].start_ns, 700 + i);
		assert_int_equal(gap[k].part_ns[GAP_LAUNCH], inside);
		assert_string_equal(word(gaps, gap[k].before), i % 2 ? "odd" : "even");
		assert_string_equal(word(gaps, gap[k].after), i % 2 ? "even" : "odd");
	}
	assert_int_equal(gaps->sums[0].all, count - 1);
	assert_int_equal(gaps->sums[0].kept, GPU_GAPS_MOST);
	assert_int_equal(gaps->sums[0].late, 0);
	drop(gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_gap_and_its_parts), cmocka_unit_test(each_device_by_itself),
					   cmocka_unit_test(no_gap_across_the_edge_of_a_window),
					   cmocka_unit_test(a_gap_is_of_the_time_it_begins_in), cmocka_unit_test(many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
