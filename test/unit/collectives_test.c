/* SPDX-License-Identifier: Apache-2.0 */
/* How long TensorFlow's collectives last, from traces that come in any order. */
#include "reducer/model/spans.h"
#include "reducer/model/spans_collectives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define RUN "CollectiveOpV2Kernel::Run"
#define DONE "CollectiveExecutor::ExecuteAsync::Done"

static int take(struct spans_collectives *collectives, const char *name, uint64_t number, int64_t time, int64_t *lasted)
{
	const struct span_argument arguments[] = {
		{.name = "arguments", .text = "name=CollectiveReduceV2"},
		{.name = name[10] == 'O' ? "_p" : "_c", .number = number},
	};
	const struct span span = {.name = name, .start_ns = time, .arguments = arguments, .argument_count = 2};
	int64_t from = 0, to = 0;
	int is_known = collectives_take(collectives, &span, &from, &to);

	*lasted = to - from;
	return is_known;
}

static void a_collective_lasts_until_it_is_done(void **state)
{
	struct spans_collectives collectives = {.count = 0};
	int64_t lasted;

	(void)state;
	assert_false(take(&collectives, RUN, 7, 1000, &lasted));
	assert_false(take(&collectives, RUN, 8, 1500, &lasted));
	assert_true(take(&collectives, DONE, 7, 3000, &lasted));
	assert_int_equal(lasted, 2000);
	assert_true(take(&collectives, DONE, 8, 4000, &lasted));
	assert_int_equal(lasted, 2500);
	assert_false(take(&collectives, DONE, 8, 5000, &lasted)); /* each is done once */
}

/* The trace of what starts it may be told later: each thread's wait for what follows them. */
static void its_end_may_be_told_first(void **state)
{
	struct spans_collectives collectives = {.count = 0};
	int64_t lasted;

	(void)state;
	assert_false(take(&collectives, DONE, 7, 3000, &lasted));
	assert_true(take(&collectives, RUN, 7, 1000, &lasted));
	assert_int_equal(lasted, 2000);
}

static void one_that_never_ends_is_forgotten(void **state)
{
	struct spans_collectives collectives = {.count = 0};
	int64_t lasted;

	(void)state;
	for (uint64_t i = 1; i <= COLLECTIVES_MOST + 1; i++)
		assert_false(take(&collectives, RUN, i, (int64_t)i, &lasted));
	assert_false(take(&collectives, DONE, 1, 5000, &lasted));
	assert_true(take(&collectives, DONE, COLLECTIVES_MOST + 1, 5000, &lasted));
}

static void what_has_no_number_or_another_name_is_none(void **state)
{
	struct spans_collectives collectives = {.count = 0};
	int64_t lasted;

	(void)state;
	assert_false(take(&collectives, RUN, 0, 1000, &lasted));
	assert_false(take(&collectives, DONE, 0, 2000, &lasted));
	assert_false(take(&collectives, "CollectiveExecutor::RunClosure", 7, 1000, &lasted));
	assert_false(take(&collectives, DONE, 7, 2000, &lasted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collective_lasts_until_it_is_done),
		cmocka_unit_test(its_end_may_be_told_first),
		cmocka_unit_test(one_that_never_ends_is_forgotten),
		cmocka_unit_test(what_has_no_number_or_another_name_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
