/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the room that a device had when an allocation on it failed: a process made by hand goes in.
 *
 * Rule: each sentence is whole.
 */
#include "reducer/tables/device_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB UINT64_C(1073741824)
#define MS INT64_C(1000000)

static struct timeline_point points[] = {{.time_ns = 100 * MS, .live = 1 * GIB}, {.time_ns = 900 * MS, .live = 70 * GIB}};
static struct account accounts[] = {
	{.allocator = "pytorch cuda:0", .kind = ACCOUNT_POINTS, .timeline = {.points = points, .count = 2}},
	{.allocator = "device:0", .kind = ACCOUNT_POINTS, .timeline = {.points = points, .count = 2}},
};
static struct use_reading readings[2];
static struct use_sample sample;

/* The device has 80 GiB; of it so many were in use at that time. */
static void room_is(int64_t read_ns, uint64_t used, uint64_t asked, const char *wanted)
{
	struct process process = {.accounts = accounts, .account_count = 2, .use = {.samples = &sample, .count = 1, .readings = readings}};
	struct run run = {.processes = &process, .process_count = 1};
	const struct request request = {.run = &run};
	const struct refused refused = {.allocator = "pytorch cuda:0", .time_ns = 1000 * MS, .requested_bytes = asked};
	struct text text = {0};

	sample = (struct use_sample){.of = USE_OF_DEVICE, .time_ns = read_ns, .readings = 2};
	readings[0] = (struct use_reading){.kind = USE_memory_total, .value = 80 * GIB};
	readings[1] = (struct use_reading){.kind = USE_memory_used, .value = used, .next = 1};
	device_room_put(&text, &request, 0, &refused);
	assert_string_equal(text.bytes, wanted);
	text_free(&text);
}

/* What was read before the process took most of it contradicts what it had, unless that is said. */
static void a_reading_is_older_than_what_was_taken(void **state)
{
	(void)state;
	room_is(700 * MS, 5 * GIB, 6 * GIB,
		"Device 0 has 80.0 GiB. This process had 70.0 GiB on pytorch cuda:0, 70.0 GiB on device:0. In use of it by all processes "
		"and the driver, read 300 ms before, when this process had 1.00 GiB: 5.00 GiB. Free then, if the others had no "
		"more (inferred): 6.00 GiB.");
	room_is(990 * MS, 79 * GIB, UINT64_MAX,
		"Device 0 has 80.0 GiB. This process had 70.0 GiB on pytorch cuda:0, 70.0 GiB on device:0. In use of it by all processes "
		"and the driver, read 10 ms before: 79.0 GiB. Free then, if the others had no more (inferred): 1.00 "
		"GiB.");
}

/* A pool of 64 MiB at most, of a device that is nearly empty: who reads of 6 GiB free wants to know what else refuses. */
static void more_is_free_than_was_asked_for(void **state)
{
	(void)state;
	room_is(700 * MS, 5 * GIB, GIB / 4,
		"Device 0 has 80.0 GiB. This process had 70.0 GiB on pytorch cuda:0, 70.0 GiB on device:0. In use of it by all processes "
		"and the driver, read 300 ms before, when this process had 1.00 GiB: 5.00 GiB. Free then, if the others had no "
		"more (inferred): 6.00 GiB. More than was asked for: perhaps a limit of its pool, of an allocator, of MPS, or torn room.");
}

static void names_of_devices(void **state)
{
	(void)state;
	assert_true(device_room_is_of("device:0") && device_room_is_of("device:?") && device_room_is_of("pytorch cuda:1"));
	assert_true(device_room_is_of("GPU_0_bfc"));
	assert_false(device_room_is_of("heap") || device_room_is_of("pinned") || device_room_is_of("pytorch cpu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_is_older_than_what_was_taken),
		cmocka_unit_test(more_is_free_than_was_asked_for),
		cmocka_unit_test(names_of_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
