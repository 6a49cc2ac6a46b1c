/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of work on a device that failed: what came back, which work is suspected, what of it is a loss.
 *
 * Rule: each expectation stands in the test; every log is made here. Times of CUPTI's records are 0 as those of a context that died.
 */
#include "test/unit/gpu_made.h"

#include "reducer/model/losses.h"

#define ILLEGAL_ADDRESS 700
#define WAIT_STREAM 3
#define WAIT_CONTEXT 4

static void copy(struct made *made, uint64_t decoded, uint64_t start, uint64_t duration, uint64_t correlation)
{
	MAKER_ADD(made->device, decoded, device_copy, .start = start, .duration = duration, .correlation = correlation, .bytes = 8,
		  .queue = 1);
}

static void waited(struct made *made, uint64_t decoded, uint64_t correlation, unsigned kind)
{
	MAKER_ADD(made->device, decoded, device_wait, .start = AT(decoded), .duration = 1, .correlation = correlation,
		  .kind = (uint8_t)kind, .context = 1, .stream = 7);
}

/* A copy that was waited for, then two kernels and a copy that nothing gives an end; none of their records has a time. */
static void make_work(struct made *made, unsigned kind, uint32_t wait_result)
{
	call(made, 100, 110, COPY, 1, 3, 0);
	call(made, 120, 130, SYNC, 2, 3, wait_result);
	call(made, 200, 210, COPY, 3, 3, 0);
	call(made, 220, 230, LAUNCH, 4, 3, 0);
	call(made, 240, 250, LAUNCH, 5, 3, 0);
	waited(made, 125, 2, kind);
	copy(made, 900, 0, 0, 1);
	copy(made, 901, 0, 0, 3);
	kernel(made, 902, 0, 0, 4);
	kernel(made, 903, 0, 0, 5);
}

static void test_the_first_kernel_behind_a_wait_that_ended_well(void **state)
{
	(void)state;
	for (unsigned kind = WAIT_STREAM; kind <= WAIT_CONTEXT; kind++) {
		struct made *made = begin_made();
		const struct gpu_fault *fault;
		make_work(made, kind, 0);
		call(made, 300, 400, SYNC, 6, 3, ILLEGAL_ADDRESS);
		call(made, 500, 510, SYNC, 7, 3, ILLEGAL_ADDRESS);
		fault = &scan(made)->fault;
		assert_int_equal(fault->result, ILLEGAL_ADDRESS);
		assert_int_equal(fault->called_ns, 300);
		assert_int_equal(fault->returned_ns, 400);
		assert_int_equal(fault->suspect_count, 1);
		assert_int_equal(fault->suspects[0].host_ns, 220);
		assert_int_equal(fault->endless, 3);
		assert_int_equal(losses_of_gpu(&made->run->processes[0]), 0);
		end_made(made);
	}
}

static void test_a_wait_that_failed_says_nothing_of_what_ended(void **state)
{
	struct made *made = begin_made();
	const struct gpu_fault *fault;

	(void)state;
	make_work(made, WAIT_STREAM, ILLEGAL_ADDRESS);
	fault = &scan(made)->fault;
	assert_int_equal(fault->returned_ns, 130);
	assert_int_equal(fault->suspect_count, 1);
	assert_int_equal(fault->suspects[0].host_ns, 100); /* what was called after that is not it */
	assert_int_equal(fault->endless, 1);
	end_made(made);
}

static void test_without_a_fault_such_records_are_lost(void **state)
{
	struct made *made = begin_made();
	const struct gpu *gpu;

	(void)state;
	make_work(made, WAIT_STREAM, 0);
	call(made, 300, 400, SYNC, 6, 3, 600); /* cudaErrorNotReady */
	call(made, 500, 510, GEMM, 7, 3, ILLEGAL_ADDRESS); /* a library's own code */
	gpu = scan(made);
	assert_int_equal(gpu->fault.result, 0);
	assert_int_equal(gpu->fault.suspect_count, 0);
	assert_int_equal(losses_of_gpu(&made->run->processes[0]), 4);
	end_made(made);
}

static void test_what_runs_well_is_not_suspected(void **state)
{
	struct made *made = begin_made();
	const struct gpu_fault *fault;

	(void)state;
	call(made, 100, 110, LAUNCH, 1, 3, 0);
	call(made, 120, 130, LAUNCH, 2, 3, 0);
	call(made, 140, 150, LAUNCH, 3, 3, 719);
	kernel(made, 900, AT(115), 10, 1);
	kernel(made, 901, 0, 0, 2);
	fault = &scan(made)->fault;
	assert_int_equal(fault->result, 719);
	assert_int_equal(fault->suspect_count, 1);
	assert_int_equal(fault->suspects[0].host_ns, 120);
	assert_int_equal(fault->endless, 1);
	end_made(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_kernel_behind_a_wait_that_ended_well),
		cmocka_unit_test(test_a_wait_that_failed_says_nothing_of_what_ended),
		cmocka_unit_test(test_without_a_fault_such_records_are_lost),
		cmocka_unit_test(test_what_runs_well_is_not_suspected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
