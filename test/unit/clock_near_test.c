/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of clock_ns_near, gpu_clock_ticks_near and gpu_clock_ns_near: the same answers as the functions that look for the
 * stretch each time, for times in any order, before, between, at and behind the knots, and for clocks that run backwards.
 * And of clock_fits.
 */
#include "reducer/model/clock.h"
#include "reducer/model/gpu_clock.h"
#include "reducer/model/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KNOTS 40
#define TIMES 20000

static uint64_t state_of_chance = 1;

static uint64_t chance(uint64_t below)
{
	state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state_of_chance >> 20) % below;
}

/* A time near the one before, most often; else anywhere, or far behind all. */
static uint64_t next_time(uint64_t last, uint64_t first, uint64_t whole)
{
	switch (chance(20)) {
	case 0:
		return first - 1000 + chance(2000);
	case 1:
		return first + chance(3 * whole);
	case 2:
		return UINT64_MAX - chance(UINT64_MAX / 4);
	case 3:
		return chance(3);
	default:
		return last + chance(whole / 1000);
	}
}

/* `count` knots about 0.3 s apart, of a clock of that many ticks a second. */
static void ask_clock(unsigned count, double ticks_per_ns, uint64_t first_ns)
{
	struct clock_map map = {.kind = 1, .clock_hz = 2000000000, .first_ticks = 500, .offset_ns = 77};
	uint64_t ticks = 1000, ns = first_ns, whole = 0, time = ticks;
	struct clock_near near = {0};

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(clock_add(&map, ticks, ns), 0);
		ns += 300000000 + chance(1000000);
		whole += (uint64_t)(300500000 * ticks_per_ns);
		ticks += (uint64_t)(300500000 * ticks_per_ns) + chance(1000);
	}
	clock_settle(&map);
	for (unsigned i = 0; i < TIMES; i++) {
		time = next_time(time, 1000, whole + 1000);
		assert_int_equal(clock_ns_near(&map, &near, time), clock_ns(&map, time));
	}
	for (size_t i = 0; i < map.count; i++)
		for (uint64_t beside = 0; beside < 3; beside++)
			assert_int_equal(clock_ns_near(&map, &near, map.knots[i].ticks + beside - 1),
					 clock_ns(&map, map.knots[i].ticks + beside - 1));
	clock_free(&map);
}

static void times_of_the_run_are_the_same(void **state)
{
	(void)state;
	for (unsigned count = 0; count <= KNOTS; count += count < 3 ? 1 : 13) {
		ask_clock(count, 2.1, 5000);
		ask_clock(count, 0.024, UINT64_C(1) << 40);
		ask_clock(count, 1.0, UINT64_C(18000000000000000000)); /* too far for 63 bits behind some knots */
	}
}

#define READINGS 9
/* 1 s apart, 2 GHz: reading `wrong` has that instead of its ticks or ns, and the others tell the times all the same. */
static void ask_wrong(unsigned wrong, int is_of_ticks, uint64_t value, uint64_t hz)
{
	struct clock_map map = {.kind = 1, .clock_hz = hz, .first_ticks = 2000000000};

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t ticks = UINT64_C(2000000000) * (i + 1), ns = UINT64_C(5000000000) + UINT64_C(1000000000) * i;
		assert_int_equal(clock_add(&map, i == wrong && is_of_ticks ? value : ticks, i == wrong && !is_of_ticks ? value : ns), 0);
	}
	clock_settle(&map);
	for (unsigned i = 0; i < 2 * READINGS; i++)
		assert_in_range(clock_ns(&map, UINT64_C(2000000000) + UINT64_C(1000000000) * i), UINT64_C(500000000) * i,
				UINT64_C(500000000) * i + 1);
	clock_free(&map);
}

static void a_wrong_reading_changes_no_time(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < READINGS; wrong++) {
		ask_wrong(wrong, 0, UINT64_C(1) << 62, 2000000000);
		ask_wrong(wrong, 0, UINT64_MAX, 2000000000);
		ask_wrong(wrong, 0, 0, 2000000000);
		ask_wrong(wrong, 1, UINT64_C(1) << 62, 2000000000);
	}
	ask_wrong(0, 0, UINT64_C(1) << 62, 0);
}

/* A counter that goes on while the machine sleeps for a day: times before and behind are as far apart as the clock says. */
static void a_machine_may_sleep(void **state)
{
	struct clock_map map = {.kind = 1, .clock_hz = 2000000000};
	const uint64_t day = UINT64_C(86400) * 2000000000;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(clock_add(&map, i * 2000000000 + (i > 2 ? day : 0), i * 1000000000), 0);
	clock_settle(&map);
	assert_int_equal(clock_ns(&map, UINT64_C(5) * 2000000000 + day) - clock_ns(&map, 0), UINT64_C(5000000000));
	assert_int_equal(clock_ns(&map, UINT64_C(2) * 2000000000) - clock_ns(&map, 0), UINT64_C(2000000000));
	clock_free(&map);
}

/* is_wild: the device's clock is set back now and then. */
static void ask_device(unsigned count, bool is_wild)
{
	struct gpu_knot knots[KNOTS] = {{0}};
	struct gpu_clock clock = {.knots = knots, .count = count, .room = KNOTS, .ns_per_tick = 0.5, .tail = 0.5};
	uint64_t first = UINT64_C(1700000000000000000), time = first;
	struct gpu_clock_near near = {0};

	for (unsigned i = 0; i < count; i++) {
		knots[i].ticks = (i ? knots[i - 1].ticks : 100) + 400000000 + chance(1000000);
		knots[i].ns = i ? knots[i - 1].ns + 200000000 + chance(500000) : first;
		knots[i].slope = 0.5 + (double)chance(1000) / 1e6;
		if (is_wild && i % 7 == 5)
			knots[i].ns -= 900000000;
	}
	for (unsigned i = 0; i < TIMES; i++) {
		time = next_time(time, first, 200000000 * count);
		assert_int_equal(gpu_clock_ticks_near(&clock, &near, time), gpu_clock_ticks(&clock, time, NULL));
	}
}

/* The other way round: clocks that are set back have one device time for each tick all the same. */
static void ask_ticks(unsigned count, bool is_wild)
{
	struct gpu_knot knots[KNOTS] = {{0}};
	struct gpu_clock clock = {.knots = knots, .count = count, .room = KNOTS, .ns_per_tick = 0.5, .tail = 0.5, .drift = 1e-4};
	uint64_t first = 500, time = first, error, near_error;
	struct gpu_clock_stretch near = {0};

	for (unsigned i = 0; i < count; i++) {
		knots[i] = (struct gpu_knot){.ticks = i ? knots[i - 1].ticks + 400000000 + chance(1000000) : first,
					     .ns = UINT64_C(1700000000000000000) + 200000000 * i - (is_wild && i % 7 == 5 ? 900000000 : 0),
					     .error = (uint32_t)chance(1000),
					     .slope = 0.5 + (double)chance(1000) / 1e6};
	}
	for (unsigned i = 0; i < TIMES; i++) {
		time = next_time(time, first, 400000000 * (uint64_t)count);
		assert_int_equal(gpu_clock_ns_near(&clock, &near, time, &near_error), gpu_clock_ns(&clock, time, &error));
		assert_int_equal(near_error, error);
	}
}

static void times_of_devices_are_the_same(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= KNOTS; count += count < 3 ? 1 : 13) {
		ask_device(count, false);
		ask_device(count, true);
		ask_ticks(count, false);
		ask_ticks(count, true);
	}
}

#define SECONDS 600000u	/* seven days */
#define TURN 100000u	/* seconds after which the device's clock runs the other way off */
#define LOOK 9973u	/* seconds between two times that are asked for: a prime */

/* A reading a second of a clock that runs 10 us a second fast, then slow: the last days are known as well as the first. */
static void devices_are_followed_for_days(void **state)
{
	const uint64_t first = UINT64_C(1700000000000000000), second = 1000000000;
	static uint64_t truth[SECONDS / LOOK + 1];
	struct log log = {.header = {.origin = {.realtime_ns = first}}};
	struct clock_map map = {.ns_per_tick = 1};
	struct process process = {.log = &log, .clock = &map};
	struct gpu_clock clock;
	uint64_t ns = first;

	(void)state;
	assert_int_equal(gpu_clock_begin(&clock, &process), 0);
	for (uint64_t s = 1; s <= SECONDS; s++) {
		ns += s / TURN % 2 ? second - 10000 : second + 10000;
		gpu_clock_realtime(&clock, s * second, ns, 40);
		if (s % LOOK == 0)
			truth[s / LOOK] = ns;
	}
	for (uint64_t s = LOOK; s <= SECONDS; s += LOOK) {
		uint64_t error, told = gpu_clock_ns(&clock, s * second, &error);
		assert_in_range(told, truth[s / LOOK] - 50000, truth[s / LOOK] + 50000);
		assert_true(error < 50000);
		assert_in_range(gpu_clock_ticks(&clock, truth[s / LOOK], NULL), s * second - 50000, s * second + 50000);
	}
	gpu_clock_free(&clock);
}

/* A time namespace moves what is read beside the same counter. */
static void a_process_in_a_time_namespace_has_another_clock(void **state)
{
	struct log one = {.header = {.clock_hz = 1000000000, .origin = {.ticks = 1000, .raw_ns = 5000}}}, two = one;
	struct clock_map map = {.kind = TFP_CLOCK_TSC};

	(void)state;
	assert_int_equal(clock_fits(&map, &one), 1);
	assert_int_equal(clock_add_origin(&map, &one), 0);
	two.header.origin.ticks += UINT64_C(3600000000000); /* an hour later */
	two.header.origin.raw_ns += UINT64_C(3600000000000) + 500000000;
	assert_int_equal(clock_fits(&map, &two), 1);
	two.header.clock_hz = 900000000; /* badly known */
	assert_int_equal(clock_fits(&map, &two), 1);
	two.header.clock_hz = 1000000000;
	two.header.origin.raw_ns += UINT64_C(500000000000000);
	assert_int_equal(clock_fits(&map, &two), 0);
	two.header.origin.raw_ns -= UINT64_C(1000000000000000);
	assert_int_equal(clock_fits(&map, &two), 0);
	clock_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_in_a_time_namespace_has_another_clock),
		cmocka_unit_test(a_wrong_reading_changes_no_time),
		cmocka_unit_test(a_machine_may_sleep),
		cmocka_unit_test(times_of_the_run_are_the_same),
		cmocka_unit_test(times_of_devices_are_the_same),
		cmocka_unit_test(devices_are_followed_for_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
