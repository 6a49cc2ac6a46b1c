/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of steps_unseen: of steps that nobody marked those count whose end a window holds. */
#include "reducer/model/steps_unseen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT 6

/* Windows from 0 to 1,000 and from 5,000 to 6,000; steps of 300, the third and the last of which an edge cuts. */
static struct window_range ranges[] = {{0, 1000}, {5000, 6000}};
static const int64_t begins[COUNT] = {100, 400, 700, 5200, 5500, 5800};
static struct step steps[COUNT];
static struct process process = {
	.steps = steps, .step_count = COUNT, .ranges = ranges, .range_count = 2, .window_count = 4, .end_ns = 9000};

static void make(struct step like)
{
	process.unseen_count = 0;
	process.end_ns = 9000;
	for (size_t i = 0; i < COUNT; i++) {
		steps[i] = like;
		steps[i].time_ns = begins[i];
		steps[i].thread = 1;
		steps[i].is_chosen = 1;
	}
	steps_unseen(&process);
}

static void what_repeats_has_no_step_from_one_window_to_the_next(void **state)
{
	(void)state;
	make((struct step){.source = STEP_BY_PERIOD, .end_ns = TIME_UNKNOWN});
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(steps[i].is_chosen, i != 2 && i != 5);
	assert_int_equal(process.unseen_count, 2);
	assert_int_equal(steps[0].rest_ns, 0);
	assert_int_equal(steps[1].rest_ns, 700); /* not until 5,200 */
	assert_int_equal(steps[4].rest_ns, 5800);
}

/* Calls of a function of TensorFlow that trains say when they end; what comes behind is in none. */
static void a_step_that_says_when_it_ended_ends_there(void **state)
{
	(void)state;
	make((struct step){.source = 7, .is_call = 1, .end_ns = 950});
	assert_int_equal(steps[2].is_chosen, 1);
	assert_int_equal(steps[2].rest_ns, 950);
	make((struct step){.source = 7, .is_call = 1, .end_ns = 1200}); /* that is not in the log */
	assert_int_equal(steps[2].is_chosen, 0);
}

static void marked_steps_stay(void **state)
{
	(void)state;
	make((struct step){.source = 0, .end_ns = TIME_UNKNOWN});
	assert_int_equal(process.unseen_count, 0);
	assert_int_equal(steps[1].rest_ns, 0);
	process.window_count = 0; /* a log of which nothing was left out */
	make((struct step){.source = STEP_BY_PERIOD, .end_ns = TIME_UNKNOWN});
	assert_int_equal(process.unseen_count, 0);
	process.window_count = 4;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_repeats_has_no_step_from_one_window_to_the_next),
		cmocka_unit_test(a_step_that_says_when_it_ended_ends_there),
		cmocka_unit_test(marked_steps_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
