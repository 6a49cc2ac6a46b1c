/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of memory that grows while steps go on: curves made by hand go in.
 *
 * Rule: 100 steps of a second, one point of a curve in each.
 */
#include "reducer/tables/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB UINT64_C(1048576)
#define SECOND INT64_C(1000000000)
#define STEPS 100

static struct timeline_point heap_points[STEPS], torch_points[STEPS];
static struct use_reading readings[3];
static struct use_sample sample;
static struct account account;
static struct process process;
static struct run run = {.processes = &process, .process_count = 1};
static const struct request request = {.run = &run};

/* From `first` MiB on, `a_step` more in each step; in each again `within` on top of it for a while. */
static struct account curve(struct timeline_point *points, const char *name, uint64_t first, uint64_t a_step, uint64_t within)
{
	struct account made = {.allocator = name, .kind = ACCOUNT_POINTS, .timeline = {.points = points, .count = STEPS}};

	for (size_t i = 0; i < STEPS; i++) {
		points[i].time_ns = (int64_t)i * SECOND;
		points[i].live = (first + i * a_step + (i % 5 == 2 ? within : 0)) * MIB;
		made.peak_bytes = points[i].live > made.peak_bytes ? points[i].live : made.peak_bytes;
	}
	return made;
}

static void has(uint16_t kind, uint64_t value)
{
	size_t count = process.use.reading_count++;

	readings[count] = (struct use_reading){.kind = kind, .value = value, .next = sample.readings};
	sample.readings = (uint32_t)count + 1;
}

static void begin(void)
{
	sample = (struct use_sample){.of = USE_OF_PROCESS};
	process = (struct process){.accounts = &account,
				   .account_count = 1,
				   .end_ns = STEPS * SECOND,
				   .use = {.samples = &sample, .count = 1, .readings = readings}};
}

/* Low points lie in 8 parts of the last 80 steps, ten steps each. */
static void what_stays_from_step_to_step_is_growth(void **state)
{
	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 2, 50);
	account = curve(torch_points, "pytorch cpu", 10, 2, 0);
	struct growth growth = growth_find(&request, 0, STEPS * SECOND);
	assert_true(growth.is_judged);
	assert_ptr_equal(growth.account, &account); /* by its own peak it grew more */
	assert_int_equal(growth.bytes, 140 * MIB);
	assert_int_equal(growth.ns, 70 * SECOND);
	assert_float_equal(growth.percent, 100.0 * 140 / 208, 1e-9);
	assert_int_equal(growth.room_bytes, 0); /* nobody read it */
}

static void what_comes_and_goes_is_none(void **state)
{
	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 0, 500);
	account = curve(torch_points, "pytorch cpu", 10, 0, 0);
	struct growth growth = growth_find(&request, 0, STEPS * SECOND);
	assert_true(growth.is_judged);
	assert_null(growth.account);
	process.heap = curve(heap_points, "heap", 100, 1, 0);
	process.heap.is_live_unknown = 1;
	assert_null(growth_find(&request, 0, STEPS * SECOND).account);
}

/* A limit that is nearer than the end of the machine's memory counts; a device's memory has no room of the host's. */
static void room_is_that_of_the_host(void **state)
{
	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 2, 0);
	account = curve(torch_points, "pytorch cpu", 10, 2, 0);
	has(USE_host_available, 900 * MIB);
	assert_int_equal(growth_find(&request, 0, STEPS * SECOND).room_bytes, 900 * MIB);
	has(USE_group_memory, 300 * MIB);
	has(USE_group_memory_limit, 1000 * MIB);
	assert_int_equal(growth_find(&request, 0, STEPS * SECOND).room_bytes, 700 * MIB);
	process.heap = curve(heap_points, "heap", 100, 0, 0);
	account = curve(torch_points, "device:0", 10, 2, 0);
	assert_ptr_equal(growth_find(&request, 0, STEPS * SECOND).account, &account);
	assert_int_equal(growth_find(&request, 0, STEPS * SECOND).room_bytes, 0);
}

/* Code that is made for five of the first thirty steps takes longer than all other steps, and stays: no step keeps anything. */
static void what_long_steps_keep_is_no_growth_of_each_step(void **state)
{
	static struct step steps[STEPS];
	int64_t now = 0;

	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 0, 0);
	account = curve(torch_points, "pytorch cpu", 10, 0, 0);
	for (size_t i = 0; i < STEPS; i++) {
		steps[i] = (struct step){.time_ns = now, .number = i + 1, .is_chosen = 1};
		now += i < 30 && i % 6 == 0 ? 15 * SECOND : SECOND / 4;
	}
	for (size_t i = 0; i < STEPS; i++)
		heap_points[i].live += (uint64_t)(heap_points[i].time_ns < 80 * SECOND ? i : 80) * MIB;
	process.heap.peak_bytes = 180 * MIB;
	assert_int_equal(growth_find(&request, 0, now).bytes, 60 * MIB); /* by time alone */
	process.steps = steps;
	process.step_count = STEPS;
	assert_null(growth_find(&request, 0, now).account);
	for (size_t i = 0; i < STEPS; i++)
		steps[i].time_ns = (int64_t)i * SECOND;
	process.heap = curve(heap_points, "heap", 100, 2, 0);
	struct growth growth = growth_find(&request, 0, STEPS * SECOND);
	assert_int_equal(growth.bytes, 140 * MIB); /* the steps 20 to 29, and 90 to 99 */
	assert_float_equal(growth.steps, 70, 1e-9);
}

/* Whoever ran out of memory is not told for how long it lasts, be it a limit of his own that nobody read. */
/* Four steps, of which the first takes most of the time: what it keeps says nothing of those behind it. */
static void what_the_first_of_few_steps_keeps_is_no_growth(void **state)
{
	static struct step steps[4];

	(void)state;
	begin();
	account = curve(torch_points, "PyTorch cuda:0", 10, 2, 0);
	for (size_t i = 60; i < STEPS; i++)
		torch_points[i].live = torch_points[59].live;
	for (size_t i = 0; i < 4; i++)
		steps[i] = (struct step){.time_ns = (i ? 50 + 10 * (int64_t)i : 0) * SECOND, .number = i + 1, .is_chosen = 1};
	process.steps = steps;
	process.step_count = 4;
	assert_null(growth_find(&request, 0, STEPS * SECOND).account);
	assert_null(growth_find(&request, 0, 60 * SECOND).account); /* of one step there is nothing behind it */
	for (size_t i = 60; i < STEPS; i++)
		torch_points[i].live = torch_points[59].live + (i - 59) * MIB;
	assert_int_equal(growth_find(&request, 0, STEPS * SECOND).bytes, 28 * MIB); /* each four of the last 32 seconds of 40 */
}

static void what_ran_out_has_no_room(void **state)
{
	struct refused refused = {.time_ns = 90 * SECOND, .allocator = "heap"};

	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 2, 0);
	account = curve(torch_points, "pytorch cpu", 10, 2, 0);
	has(USE_host_available, 900 * MIB);
	process.refused = (struct refused_rows){.list = &refused, .count = 1, .told = 1};
	struct growth growth = growth_find(&request, 0, STEPS * SECOND);
	assert_int_equal(growth.refused, 1);
	assert_int_equal(growth.room_bytes, 0);
	refused.allocator = "cuda:0";
	growth = growth_find(&request, 0, STEPS * SECOND);
	assert_int_equal(growth.refused, 0);
	assert_int_equal(growth.room_bytes, 900 * MIB);
}

/* What is freed behind a peak near the end is freed because the program ends; a life that is short is not judged. */
static void a_life_without_steps_is_judged_to_its_peak(void **state)
{
	(void)state;
	begin();
	process.heap = curve(heap_points, "heap", 100, 2, 0);
	account = curve(torch_points, "pytorch cpu", 10, 0, 0);
	heap_points[STEPS - 1].live = 0;
	process.heap.peak_time_ns = (STEPS - 2) * SECOND;
	has(USE_host_available, 900 * MIB);
	struct growth growth = growth_of_lives(&request);
	assert_ptr_equal(growth.account, &process.heap);
	assert_in_range(growth.bytes, 130 * MIB, 140 * MIB);
	assert_int_equal(growth.room_bytes, 900 * MIB);
	process.heap.peak_time_ns = STEPS / 2 * SECOND; /* and what is freed behind one in the middle is not */
	assert_null(growth_of_lives(&request).account);
	process.heap = curve(heap_points, "heap", 100, 2, 0);
	process.heap.peak_time_ns = TIME_UNKNOWN;
	assert_ptr_equal(growth_of_lives(&request).account, &process.heap);
	process.end_ns = GROWTH_LIFE_NS - 1;
	assert_null(growth_of_lives(&request).account);
}

/* A library is loaded, or a table is read; what is added before and behind that is a few bytes. */
static void what_one_part_of_the_time_keeps_is_no_growth_all_the_while(void **state)
{
	(void)state;
	begin();
	for (int64_t at = 25; at <= 85; at += 10) { /* what comes in the last part is in no low point */
		process.heap = curve(heap_points, "heap", 100, 0, 0);
		account = curve(torch_points, "pytorch cpu", 10, 0, 0);
		for (size_t i = 0; i < STEPS; i++)
			heap_points[i].live += i * 1000 + ((int64_t)i < at ? 0 : 200 * MIB);
		assert_null(growth_find(&request, 0, STEPS * SECOND).account);
		assert_null(growth_of_lives(&request).account);
	}
	for (size_t i = 0; i < STEPS; i++) /* 2 MiB each step, and once what is as large as all of that four times, which is not told */
		heap_points[i].live = (2 * i + (i < 50 ? 0 : 8 * STEPS)) * MIB;
	assert_non_null(growth_of_lives(&request).account);
	assert_true(growth_of_lives(&request).bytes < 2 * STEPS * MIB);
	for (size_t i = 0; i < STEPS; i++) /* loads for half of the time */
		heap_points[i].live = (i < 50 ? i : 50) * 2 * MIB + i * 1000;
	assert_null(growth_of_lives(&request).account);
	for (size_t i = 0; i < STEPS; i++) /* grows ever faster, or slower */
		heap_points[i].live = i * i * MIB;
	assert_non_null(growth_of_lives(&request).account);
	for (size_t i = 0; i < STEPS; i++)
		heap_points[i].live = (i * STEPS * 2 - i * i) * MIB;
	assert_non_null(growth_of_lives(&request).account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_from_step_to_step_is_growth),
		cmocka_unit_test(what_comes_and_goes_is_none),
		cmocka_unit_test(room_is_that_of_the_host),
		cmocka_unit_test(what_long_steps_keep_is_no_growth_of_each_step),
		cmocka_unit_test(what_the_first_of_few_steps_keeps_is_no_growth),
		cmocka_unit_test(what_ran_out_has_no_room),
		cmocka_unit_test(a_life_without_steps_is_judged_to_its_peak),
		cmocka_unit_test(what_one_part_of_the_time_keeps_is_no_growth_all_the_while),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
