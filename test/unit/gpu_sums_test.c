/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what GPU tables calculate with: busy curves, percentiles, occupancy, names.
 *
 * Rule: each expectation stands in the test.
 */
#include "reducer/model/gpu_lanes.h"
#include "reducer/model/spread.h"
#include "reducer/tables/occupancy.h"
#include "reducer/analysis/tensor_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A lane holds what it got, however far apart. */
static void test_lanes_widen_without_losing_time(void **state)
{
	struct gpu_lane lane = {0};
	uint64_t sum = 0, busy = 0, at = 1u << 20;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		gpu_lane_add(&lane, at, at + 700);
		sum += 700;
		at += 1 + i * i % 9000;
	}
	gpu_lane_add(&lane, 5000, 5100); /* long before the first */
	for (size_t i = 0; i < GPU_LANE_CELLS; i++)
		busy += lane.cells[i];
	assert_int_equal(busy, sum + 100);
	assert_int_equal(lane.busy_ns, sum + 100);
	assert_int_equal(lane.first, 5000);
	gpu_lane_free(&lane);
}

static void test_percentiles_are_exact_then_classed(void **state)
{
	struct spread spread = {0}, other = {0};

	(void)state;
	for (uint64_t i = 1; i <= 500; i++)
		spread_add(&spread, i * 1000);
	assert_false(spread.is_classed);
	assert_int_equal(spread_percentile(&spread, 50), 250000);
	assert_int_equal(spread_percentile(&spread, 99), 495000);
	for (uint64_t i = 501; i <= 100000; i++)
		spread_add(&other, i * 1000);
	spread_merge(&spread, &other);
	assert_true(spread.is_classed);
	assert_int_equal(spread.count, 100000);
	assert_int_equal(spread.sum, UINT64_C(1000) * 100000 * 100001 / 2);
	assert_int_equal(spread.least, 1000);
	assert_int_equal(spread.most, 100000000);
	assert_in_range(spread_percentile(&spread, 50), 50000000 - 50000000 / 127, 50000000 + 50000000 / 127);
	assert_in_range(spread_percentile(&spread, 99), 99000000 - 99000000 / 127, 99000000 + 99000000 / 127);
	spread_scale(&spread, 0.5);
	assert_in_range(spread_percentile(&spread, 50), 25000000 - 25000000 / 127, 25000000 + 25000000 / 127);
	spread_free(&spread);
	spread_free(&other);
}

/* An H100 by hand: 2048 threads, 64 K registers, 228 KiB, 32 blocks a multiprocessor. */
static void test_occupancy_by_hand(void **state)
{
	const struct occupancy_device h100 = {.major = 9, .minor = 0};
	struct occupancy result;
	char text[64];

	(void)state;
	assert_true(occupancy_of(&h100, &(struct occupancy_kernel){.threads = 256, .registers = 32}, &result));
	assert_int_equal(result.warps, 64);
	assert_true(occupancy_of(&h100, &(struct occupancy_kernel){.threads = 256, .registers = 128}, &result));
	assert_int_equal(result.blocks, 2); /* 128 x 256 registers are half of 64 K */
	assert_string_equal(occupancy_limit_text(result.limits, text), "registers");
	assert_true(occupancy_of(&h100, &(struct occupancy_kernel){.threads = 128, .registers = 32, .shared_bytes = 100 << 10}, &result));
	assert_int_equal(result.blocks, 2); /* 101 KiB of 228 with the driver's own */
	assert_string_equal(occupancy_limit_text(result.limits, text), "shared memory");
	assert_true(occupancy_of(&h100, &(struct occupancy_kernel){.threads = 32, .registers = 16}, &result));
	assert_int_equal(result.blocks, 32);
	assert_string_equal(occupancy_limit_text(result.limits, text), "blocks");
	assert_false(occupancy_of(&h100, &(struct occupancy_kernel){.threads = 2000, .registers = 16}, &result));
	assert_false(occupancy_of(&(struct occupancy_device){.major = 99}, &(struct occupancy_kernel){.threads = 32}, &result));
}

static void test_tensor_names(void **state)
{
	(void)state;
	assert_true(tensor_name_uses("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"));
	assert_true(tensor_name_uses("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32"));
	assert_true(tensor_name_uses("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN"));
	assert_false(tensor_name_uses("volta_sgemm_128x64_nn"));
	assert_false(tensor_name_uses("_ZN2at6native29vectorized_elementwise_kernelILi4EEE"));
	assert_true(tensor_name_could("volta_sgemm_128x64_nn", NULL));
	assert_true(tensor_name_could(NULL, "aten::addmm"));
	assert_false(tensor_name_could("im2col_kernel", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes_widen_without_losing_time),
		cmocka_unit_test(test_percentiles_are_exact_then_classed),
		cmocka_unit_test(test_occupancy_by_hand),
		cmocka_unit_test(test_tensor_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
