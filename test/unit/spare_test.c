/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of disk space that is kept free.
 *
 * Rule: what cannot be told forbids nothing.
 */
#include "writer/log.h"
#include "writer/spare.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

/* The log's name is gone, and its number the host's: whatever it has there is not a full disk. */
static void test_what_has_no_disk_is_not_short(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(tfp_spare_bytes(ends[0], 1 << 20), 0);
	assert_false(tfp_spare_is_short("/no such file", ends[0], 1));
	close(ends[0]);
	close(ends[1]);
	assert_false(tfp_spare_is_short("/no such file", ends[0], 1));
}

static void test_a_disk_is_short_of_more_than_it_has(void **state)
{
	int folder = open(".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);

	(void)state;
	assert_true(folder >= 0);
	assert_int_equal(tfp_spare_bytes(folder, 1), 1);
	assert_true(tfp_spare_bytes(folder, UINT64_MAX) < UINT64_MAX);
	assert_true(tfp_spare_is_short(".", -1, UINT64_MAX));
	assert_true(tfp_spare_is_short("/no such file", folder, UINT64_MAX));
	assert_false(tfp_spare_is_short(".", -1, 0));
	close(folder);
}

/* What the log is about to take is not free any more: it is what is left behind it that counts. */
static void test_growth_leaves_what_is_kept(void **state)
{
	static struct tfp_log log = {.spare_bytes = 1, .path = "."};

	(void)state;
	assert_true(tfp_spare_forbids(&log, 0, UINT64_MAX / 2, -1));
	assert_true(log.is_crowded);
	assert_false(tfp_spare_forbids(&log, UINT64_MAX / 2, 1, -1));
	assert_false(log.is_crowded);
	assert_false(tfp_spare_forbids(&log, 0, UINT64_MAX / 2, -1)); /* below what was allowed: not asked again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_has_no_disk_is_not_short),
		cmocka_unit_test(test_a_disk_is_short_of_more_than_it_has),
		cmocka_unit_test(test_growth_leaves_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
