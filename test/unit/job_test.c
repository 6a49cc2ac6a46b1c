/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what a job held of a device: processes made by hand go in.
 *
 * Rule: each expectation stands in the test.
 */
#include "reducer/tables/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB UINT64_C(1073741824)

/* With a window blocks are there whose device no record tells: of no device it can be said that it held nothing. */
static void blocks_of_an_unknown_device(void **state)
{
	struct account accounts[] = {{.allocator = "device:?", .kind = ACCOUNT_POINTS, .allocations = 3, .peak_bytes = 2 * GIB},
				     {.allocator = "device:1", .kind = ACCOUNT_POINTS, .allocations = 1, .peak_bytes = GIB}};
	struct process process = {.accounts = accounts, .account_count = 2};
	struct run run = {.processes = &process, .process_count = 1};
	const struct request request = {.run = &run};
	struct job_peak peak = job_device_peak(&request, &process, 0);

	(void)state;
	assert_true(peak.is_least);
	assert_int_equal(peak.accounts, 0);
	peak = job_device_peak(&request, &process, 1);
	assert_int_equal(peak.bytes, GIB);
	assert_int_equal(peak.accounts, 1);
	accounts[0].allocator = "pinned";
	assert_false(job_device_peak(&request, &process, 0).is_least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_of_an_unknown_device)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
