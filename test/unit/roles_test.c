/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of the roles of streams: whose turn it was, whatever the order in which work is told; who launched it. */
#include "reducer/analysis/analysis.h"
#include "reducer/analysis/roles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORKS (2 * ROLE_TURNS) /* of a device */
#define BUFFER 1000	       /* pieces of work that one thread's buffer tells before the next thread's comes */

static void tell(void *result, uint32_t device, uint32_t stream, int64_t start_ns, uint32_t thread)
{
	const struct span span = {.kind = SPAN_WHOLE,
				  .what = SPAN_KERNEL,
				  .on = SPAN_QUEUE,
				  .device = device,
				  .context = device,
				  .stream = stream,
				  .start_ns = start_ns,
				  .duration_ns = 5,
				  .thread = thread,
				  .name = "kernel"};

	analysis_roles.span(result, &span);
}

/* Two streams of a device take turns; the work of each is told in long pieces, and that of another device, of one stream, between them. */
static void test_turns_are_those_of_the_device_in_time(void **state)
{
	struct process process = {.log_id = 1};
	const struct analysis_input input = {.process = &process};
	struct roles *roles = analysis_roles.begin(&input);

	(void)state;
	for (int64_t from = 0; from < WORKS; from += BUFFER)
		for (uint32_t stream = 0; stream < 2; stream++)
			for (int64_t i = from; i < from + BUFFER && i < WORKS; i++) {
				if (i % 2 == stream)
					tell(roles, 0, 7 + stream, 10 * i, 1);
				else if (stream == 0)
					tell(roles, 1, 9, 10 * i, 1);
			}
	analysis_roles.end(roles);
	assert_int_equal(roles->count, 3);
	assert_int_equal(roles->rows[0].switches, WORKS / 2 - 1); /* the first of all follows nothing */
	assert_int_equal(roles->rows[1].switches, WORKS / 2);
	assert_int_equal(roles->rows[2].switches, 0);
	analysis_roles.free(roles);
}

/* Work whose call was not recorded tells of no second thread. */
static void test_an_unknown_caller_is_nobody(void **state)
{
	static const uint32_t threads[][3] = {{0, 3, 3}, {3, 0, 3}, {0, 3, 4}, {0, 0, 0}};
	struct process process = {.log_id = 1};
	const struct analysis_input input = {.process = &process};
	struct roles *roles = analysis_roles.begin(&input);

	(void)state;
	for (uint32_t stream = 0; stream < 4; stream++)
		for (uint32_t i = 0; i < 3; i++)
			tell(roles, 0, stream, 100 * stream + 10 * i, threads[stream][i]);
	analysis_roles.end(roles);
	for (uint32_t stream = 0; stream < 4; stream++) {
		assert_int_equal(roles->rows[stream].first_thread, stream == 3 ? 0 : 3);
		assert_int_equal(roles->rows[stream].other_threads, stream == 2);
	}
	analysis_roles.free(roles);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns_are_those_of_the_device_in_time),
						  cmocka_unit_test(test_an_unknown_caller_is_nobody)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
