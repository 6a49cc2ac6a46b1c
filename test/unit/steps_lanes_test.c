/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of steps that live at other times are passed over together, no one that has a unit at a time is; a thread's is found. */
#include "reducer/analysis/steps_pass.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LANES (3u * LANES_TOGETHER)

static void only_neighbours_in_time_are_looked_at(void **state)
{
	static struct unit units[LANES];
	static struct lane lanes[LANES];
	struct lane_times times[3];
	struct steps_pass pass = {.units = {.items = units, .count = LANES}, .lanes = lanes, .lane_count = LANES, .lane_times = times};

	(void)state;
	for (size_t l = 0; l < LANES; l++) {
		units[l] = (struct unit){.thread = (uint32_t)(2 * l + 1), .start_ns = (int64_t)l * 10, .end_ns = (int64_t)l * 10 + 10};
		lanes[l] = (struct lane){.from = l, .to = l + 1};
	}
	for (size_t k = 0; k < 3; k++)
		times[k] = (struct lane_times){(int64_t)(k * LANES_TOGETHER * 10), (int64_t)((k + 1) * LANES_TOGETHER * 10)};
	assert_true(steps_lane_at(&pass, 0, 5, 5) == 0);
	assert_true(steps_lane_at(&pass, 0, LANES_TOGETHER * 10, LANES_TOGETHER * 10) == LANES_TOGETHER);
	assert_true(steps_lane_at(&pass, LANES_TOGETHER, 5, 5) == LANES);
	assert_true(steps_lane_at(&pass, LANES_TOGETHER + 1, 5, LANES * 10) == LANES_TOGETHER + 1);
	assert_true(steps_lane_of(&pass, 1) == 0 && steps_lane_of(&pass, 2 * LANES - 1) == LANES - 1);
	assert_true(steps_lane_of(&pass, 2) == LANES && steps_lane_of(&pass, 2 * LANES + 1) == LANES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_neighbours_in_time_are_looked_at)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
