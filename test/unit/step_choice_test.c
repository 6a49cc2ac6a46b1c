/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/model/step_choice: which steps count, where they end, and which one an end record means. */
#include "reducer/model/step_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 400

static struct step steps[STEPS];
static struct process process = {.steps = steps};

/* Steps 100 ticks apart, the end of each unknown, on one thread. */
static void begin(size_t count, unsigned source)
{
	process.step_count = count;
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct step){
			.time_ns = 1000 + (int64_t)i * 100, .end_ns = TIME_UNKNOWN, .number = i, .thread = 1, .source = source};
}

/* Steps found while the program ran: a loop from the fourth round on, and one from `number` on behind its `first` steps. */
static void begin_loops(size_t count, size_t first, uint64_t number)
{
	begin(count, SOURCE_repeats);
	for (size_t i = 0; i < count; i++)
		steps[i].number = i < first ? i + 4 : i - first + number;
}

static void only_the_most_trusted_count(void **state)
{
	(void)state;
	begin(STEPS, SOURCE_nvtx);
	steps[STEPS - 1].source = SOURCE_eager;
	step_choice(&process);
	for (size_t i = 0; i < STEPS; i++)
		assert_int_equal(steps[i].is_chosen, i == STEPS - 1);
}

/* Where the data ran out, the step before it on the thread and of the source ends; those of others in between do not. */
static void data_that_ran_out_end_the_step_before(void **state)
{
	(void)state;
	begin(6, SOURCE_record_function);
	steps[2].thread = steps[4].thread = 2;
	steps[3].is_empty = steps[5].is_empty = 1;
	step_choice(&process);
	assert_int_equal(steps[1].rest_ns, steps[3].time_ns);
	assert_int_equal(steps[2].rest_ns, 0);
	assert_int_equal(steps[4].rest_ns, 0);
	assert_false(steps[3].is_chosen);
	assert_int_equal(steps[3].rest_ns, 0); /* the one before the second empty one is empty itself */
}

/* A pause counts from the end of the call before it, if the next one is the same thread's. */
static void a_long_pause_is_in_no_step(void **state)
{
	(void)state;
	begin(40, SOURCE_eager);
	for (size_t i = 0; i < 40; i++)
		steps[i].end_ns = steps[i].time_ns + 50;
	for (size_t i = 20; i < 40; i++)
		steps[i].time_ns += 5000, steps[i].end_ns += 5000;
	for (size_t i = 30; i < 40; i++) {
		steps[i].time_ns += 5000, steps[i].end_ns += 5000;
		steps[i].thread = 2;
	}
	step_choice(&process);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(steps[i].rest_ns, i == 19 ? steps[i].end_ns : 0);
}

/* Layers were taken for steps, 4 to 30, then whole steps were seen, from 5 on. */
static void guesses_that_were_given_up_are_left_out(void **state)
{
	(void)state;
	begin_loops(47, 27, 5);
	step_choice(&process);
	for (size_t i = 0; i < 47; i++)
		assert_int_equal(steps[i].is_chosen, i >= 27);
}

static void an_end_means_the_last_step_of_its_number(void **state)
{
	(void)state;
	begin(STEPS, SOURCE_nvtx);
	steps[STEPS - 5].number = steps[STEPS - 9].number = 7000;
	assert_ptr_equal(step_choice_ended(&process, 7000, 1), &steps[STEPS - 5]);
	assert_null(step_choice_ended(&process, 7001, 1));
	assert_ptr_equal(step_choice_ended(&process, STEPS - 200, 1), &steps[STEPS - 200]);
	assert_null(step_choice_ended(&process, 3, 1)); /* too long ago: it is not looked for among all */
}

/* PyTorch's threads train beside each other: the number is the last step's, the end is of the thread's own. */
static void an_end_of_pytorch_is_of_its_own_thread(void **state)
{
	(void)state;
	begin(10, SOURCE_record_function);
	steps[9].thread = 2;
	assert_ptr_equal(step_choice_ended(&process, 9, 1), &steps[8]);
	assert_ptr_equal(step_choice_ended(&process, 9, 2), &steps[9]);
}

/* A loop, 4 to 303, then an evaluation's rounds, 4 to 30. Nobody knows when the last step of the loop ended. */
static void guesses_of_a_short_loop_behind_are_left_out(void **state)
{
	(void)state;
	begin_loops(327, 300, 4);
	step_choice(&process);
	for (size_t i = 0; i < 327; i++) {
		assert_int_equal(steps[i].is_chosen, i < 300);
		assert_int_equal(steps[i].rest_ns, 0);
	}
}

/* A loop, 4 to 30, then another one of half its length, 4 to 15: without windows the last counts, and the one that alone had a window. */
static void guesses_that_a_window_opened_for_are_kept(void **state)
{
	struct window windows[] = {{.time_ns = 1600, .is_open = 1}, {.time_ns = 2200}, {.time_ns = 3650, .is_open = 1}, {.time_ns = 4500}};

	(void)state;
	for (size_t window_count = 0; window_count <= 4; window_count += 2) {
		begin_loops(39, 27, 4);
		process.windows = windows;
		process.window_count = window_count;
		step_choice(&process);
		for (size_t i = 0; i < 39; i++)
			assert_int_equal(steps[i].is_chosen, window_count == 2 ? i < 27 : i >= 27);
	}
	process.window_count = 0;
}

/* The rounds of making weights had a window, the training behind them, 40 times as long, had none: it is what counts. */
static void guesses_that_lasted_much_longer_need_no_window(void **state)
{
	struct window windows[] = {{.time_ns = 1100, .is_open = 1}, {.time_ns = 1300}};

	(void)state;
	begin_loops(327, 8, 4);
	process.windows = windows;
	process.window_count = 2;
	step_choice(&process);
	for (size_t i = 0; i < 327; i++)
		assert_int_equal(steps[i].is_chosen, i >= 8);
	process.window_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_most_trusted_count),	       cmocka_unit_test(data_that_ran_out_end_the_step_before),
		cmocka_unit_test(a_long_pause_is_in_no_step),	       cmocka_unit_test(an_end_means_the_last_step_of_its_number),
		cmocka_unit_test(an_end_of_pytorch_is_of_its_own_thread),
		cmocka_unit_test(guesses_that_were_given_up_are_left_out), cmocka_unit_test(guesses_of_a_short_loop_behind_are_left_out),
		cmocka_unit_test(guesses_that_a_window_opened_for_are_kept),
		cmocka_unit_test(guesses_that_lasted_much_longer_need_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
