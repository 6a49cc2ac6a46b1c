/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of collectors/python_held.c: the newest looks are kept, in a ring. */
#include "collectors/python_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int no_start(void)
{
	return 0;
}
int (*const tfp_start_process)(void) = no_start;

static void the_newest_looks_are_kept(void **state)
{
	struct tfp_python_held *held = calloc(1, sizeof *held);

	(void)state;
	assert_non_null(held);
	for (uint32_t i = 0; i < TFP_PYTHON_HELD + 5; i++) {
		const struct tfp_python_held_look look = {.time = i, .stack = i};
		tfp_python_hold(held, &look);
	}
	assert_int_equal(held->count, TFP_PYTHON_HELD + 5);
	assert_int_equal(held->looks[4].time, TFP_PYTHON_HELD + 4);
	assert_int_equal(held->looks[5].time, 5);
	free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_looks_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
