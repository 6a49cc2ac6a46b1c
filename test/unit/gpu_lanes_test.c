/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/model/gpu_lanes: busy time of a device and of its streams is the union of what ran, whatever overlaps. */
#include "reducer/model/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu_queue queues[2];
static struct gpu_queue *all = queues;
static struct gpu_sweep sweep;

static uint64_t cells_of(const struct gpu_lane *lane)
{
	uint64_t sum = 0;

	for (size_t i = 0; lane->cells && i < GPU_LANE_CELLS; i++)
		sum += lane->cells[i];
	assert_int_equal(sum, lane->busy_ns);
	return sum;
}

static void lay(uint32_t queue, uint64_t start, uint64_t end)
{
	struct gpu_interval interval = {.start = start, .end = end, .queue = queue, .is_kernel = 1};

	gpu_sweep_add(&sweep, &interval);
}

static int begin(void **state)
{
	(void)state;
	memset(queues, 0, sizeof queues);
	sweep = (struct gpu_sweep){.queues = &all};
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++)
		gpu_lane_free(&queues[i].lane);
	gpu_sweep_free(&sweep);
	return 0;
}

static void nodes_of_a_graph_overlap_on_their_stream(void **state)
{
	(void)state;
	lay(0, 1000, 2000);
	lay(0, 1500, 2500); /* beside the first */
	lay(0, 1600, 1700); /* within both */
	lay(0, 900, 950);   /* told late */
	lay(0, 9000, 9010);
	gpu_sweep_end(&sweep);
	assert_int_equal(cells_of(&queues[0].lane), 50 + 1500 + 10);
	assert_int_equal(cells_of(&sweep.busy), 50 + 1500 + 10);
	assert_int_equal(cells_of(&sweep.overlap), 500);
}

static void streams_overlap_each_other(void **state)
{
	(void)state;
	lay(0, 100, 200);
	lay(1, 150, 300);
	lay(0, 200, 400);
	gpu_sweep_end(&sweep);
	assert_int_equal(cells_of(&queues[0].lane), 300);
	assert_int_equal(cells_of(&queues[1].lane), 150);
	assert_int_equal(cells_of(&sweep.busy), 300);
}

static void nobody_asks_when(void **state)
{
	(void)state;
	sweep.is_total = 1;
	lay(0, 100, 200);
	lay(0, 150, 300);
	gpu_sweep_end(&sweep);
	assert_null(queues[0].lane.cells);
	assert_int_equal(sweep.busy.busy_ns, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nodes_of_a_graph_overlap_on_their_stream, begin, end),
		cmocka_unit_test_setup_teardown(streams_overlap_each_other, begin, end),
		cmocka_unit_test_setup_teardown(nobody_asks_when, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
