/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of JAX, from the names of its calls: how often the loop's line ran, the first time by another road. */
#include "reducer/model/xla_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
	COMPILE = 1, FIRST, MOVE, RUN, FREE, WAIT, EVAL_COMPILE, EVAL_FIRST, EVAL_RUN, EAGER_FIRST, EAGER_RUN, OTHER_FIRST, NO_LINE,
	KERAS_FIRST, KERAS_FIT, KERAS_EVALUATE, FIT_FIRST, FIT_MORE, ON_BATCH, FIT_FREE, FIT_FREE_NO_LINE, MODEL_FIRST,
	MODEL_LATE, EVAL_FREE, OTHER_EVAL_FIRST, OTHER_EVAL_FREE, GUIDE_FIRST, GUIDE_LATE, EAGER_CHECK, EAGER_MOVE, CALL_BACK, WRAPPED_RUN,
	EVAL_EAGER, NAMES
};

static struct xla_runs *runs;
static struct xla_loop loop;
static uint64_t now;
static unsigned counts[NAMES]; /* calls by id */

static const char *const names[] = {
	[COMPILE] = "XLA call: main (a.py, line 9) in backend_compile_and_load +0xc",
	[FIRST] = "XLA call: main (a.py, line 9) in __call__ +0x1",
	[MOVE] = "XLA call: main (a.py, line 9) +0xa",
	[RUN] = "XLA call: main (a.py, line 9) +0x5",
	[FREE] = "XLA call: main (a.py, line 9) +0xf",
	[WAIT] = "XLA call: main (a.py, line 9) +0x7",
	[EVAL_COMPILE] = "XLA call: main (a.py, line 20) in backend_compile_and_load +0xc",
	[EVAL_FIRST] = "XLA call: main (a.py, line 20) in __call__ +0x1",
	[EVAL_RUN] = "XLA call: main (a.py, line 20) +0x5",
	[EVAL_FREE] = "XLA call: main (a.py, line 20) +0xf",
	[OTHER_EVAL_FIRST] = "XLA call: main (a.py, line 21) in __call__ +0x1",
	[OTHER_EVAL_FREE] = "XLA call: main (a.py, line 21) +0xf",
	[EAGER_FIRST] = "XLA call: main (a.py, line 30) in __call__ +0x1",
	[EAGER_RUN] = "XLA call: main (a.py, line 30) in apply_primitive +0x5",
	[EAGER_MOVE] = "XLA call: main (a.py, line 30) in apply_primitive +0xa",
	[EAGER_CHECK] = "XLA call: main (a.py, line 30) in ones +0x6",
	[OTHER_FIRST] = "XLA call: main (a.py, line 9) in __call__ +0x5", /* a wrapper's own __call__ */
	[KERAS_FIRST] = "XLA call: main (a.py, line 9) in __call__ +0x1",
	[KERAS_FIT] = "XLA call: main (a.py, line 9) in iterator_step +0x5",
	[KERAS_EVALUATE] = "XLA call: main (a.py, line 9) in iterator_step +0x5", /* from another function of Keras */
	[FIT_FIRST] = "XLA call: main (a.py, line 9) in fit.iterator_step.__call__ +0x1",
	[FIT_MORE] = "XLA call: main (a.py, line 9) in fit.iterator_step +0x5",
	[ON_BATCH] = "XLA call: main (a.py, line 12) in train_on_batch.iterator_step +0x5",
	[FIT_FREE] = "XLA call: main (a.py, line 9) in fit.iterator_step +0x8",
	[FIT_FREE_NO_LINE] = "libjax_common.so+0x8",
	[MODEL_FIRST] = "XLA call: model (a.py, line 4) in __call__ +0x1",
	[MODEL_LATE] = "XLA call: model (a.py, line 4) in log_prob +0x9",
	[GUIDE_FIRST] = "XLA call: model (a.py, line 5) in __call__ +0x1",
	[GUIDE_LATE] = "XLA call: model (a.py, line 5) in log_prob +0x9",
	[CALL_BACK] = "XLA call: main (a.py, line 9) in wrapper +0x5",
	[WRAPPED_RUN] = "XLA call: main (a.py, line 9) in __call__ +0x5",
	[EVAL_EAGER] = "XLA call: main (a.py, line 20) in apply_primitive +0x5",
	[NO_LINE] = "libjax_common.so+0xf",
};

static int make(void **state)
{
	(void)state;
	now = 100;
	memset(counts, 0, sizeof counts);
	runs = xla_runs_make(6);
	return runs == NULL ? -1 : 0;
}

static int drop(void **state)
{
	(void)state;
	xla_runs_free(runs);
	return 0;
}

static void call(unsigned id, uint64_t took)
{
	if (xla_runs_is_new(runs, id))
		xla_runs_name(runs, id, names[id]);
	xla_runs_begin(runs, id, now, 1);
	xla_runs_end(runs, id, took);
	now += took + 10;
	counts[id]++;
}

static void calls(const unsigned *ids, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		for (const unsigned *id = ids; *id != 0; id++)
			call(*id, 20);
}

static unsigned calls_of_loop(size_t steps)
{
	unsigned sum = 0;

	xla_runs_find(runs, steps, &loop);
	for (size_t i = 0; i < loop.count; i++)
		sum += counts[loop.ids[i]];
	return sum;
}

static void counts_the_first_run(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 19);
	assert_int_equal(calls_of_loop(0), 20);
	assert_int_equal(loop.begin, 100);
	assert_int_equal(calls_of_loop(19), 20); /* a period that missed one */
	assert_int_equal(calls_of_loop(50), 0);	 /* another loop's */
	assert_int_equal(calls_of_loop(13), 20); /* of nothing that each round does */
	assert_int_equal(calls_of_loop(5), 20);	 /* of rounds of four, in which nothing else runs */
}

/* Arguments are moved before, arrays freed and values waited for after: as often as the function runs, or twice. */
static void tells_runs_from_what_goes_with_them(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, WAIT, 0}, 1);
	calls((unsigned[]){MOVE, MOVE, RUN, FREE, WAIT, 0}, 3);
	calls((unsigned[]){MOVE, MOVE, RUN, NO_LINE, FREE, WAIT, 0}, 6);
	assert_int_equal(calls_of_loop(0), 10);
}

/* The second call compiled again, for other types. */
static void counts_a_run_that_compiled_again(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 2);
	calls((unsigned[]){OTHER_FIRST, 0}, 8);
	calls((unsigned[]){RUN, 0}, 8);
	assert_int_equal(calls_of_loop(8), 10);
}

/* 29 batches of another shape each compile; of 11 more the shape was there before: the period is that of compiling. */
static void counts_calls_that_compile_with_those_that_do_not(void **state)
{
	(void)state;
	for (int i = 0; i < 29; i++) {
		calls((unsigned[]){COMPILE, FIRST, WAIT, 0}, 1);
		calls((unsigned[]){RUN, WAIT, 0}, i >= 18);
	}
	assert_int_equal(calls_of_loop(29), 40);
	assert_true(loop.compiles_again && loop.count == 2);
	for (size_t i = 0; i < loop.count; i++)
		assert_int_equal(loop.firsts >> i & 1, loop.ids[i] == FIRST);
	assert_true(xla_runs_compiles(runs, &loop, COMPILE) && !xla_runs_compiles(runs, &loop, WAIT));
	assert_false(xla_runs_compiles(runs, &loop, EVAL_COMPILE));
}

/* What calls back into Python is run by the road of first calls each time; what is called back moves two values. */
static void counts_runs_by_the_other_road_alone(void **state)
{
	(void)state;
	calls((unsigned[]){MOVE, COMPILE, FIRST, CALL_BACK, CALL_BACK, WAIT, 0}, 1);
	calls((unsigned[]){MOVE, FIRST, CALL_BACK, CALL_BACK, WAIT, 0}, 29);
	assert_int_equal(calls_of_loop(0), 30);
	assert_int_equal(loop.begin, 100);
	assert_int_equal(calls_of_loop(60), 30); /* a period of half a step */
	calls((unsigned[]){EVAL_FIRST, 0}, 1);
	calls((unsigned[]){EVAL_RUN, EVAL_RUN, EVAL_RUN, EVAL_RUN, 0}, 30); /* another function, which took more time */
	assert_int_equal(calls_of_loop(0), 121);
}

/* Six trainings, each with a function and weights of its own: where it took long to free these, 126 steps were found for 120. */
static void weights_that_are_made_anew_do_not_say_what_runs(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		calls((unsigned[]){EVAL_FIRST, 0}, i == 0); /* zeros */
		calls((unsigned[]){EVAL_EAGER, EVAL_FREE, EVAL_FREE, 0}, i > 0);
		calls((unsigned[]){COMPILE, FIRST, WAIT, FREE, 0}, 1);
		calls((unsigned[]){RUN, WAIT, FREE, 0}, 19);
	}
	assert_int_equal(calls_of_loop(120), 120);
}

static void functions_that_one_line_compiles_are_compiled_once(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 4);
	calls((unsigned[]){RUN, 0}, 20);
	assert_int_equal(calls_of_loop(0), 24);
	assert_false(loop.compiles_again);
}

/* 30 steps of one call, a loss printed each fifth, were 6 steps; what runs something else each fifth call has 6. */
static void a_loss_that_is_printed_makes_no_step_longer(void **state)
{
	(void)state;
	calls((unsigned[]){EAGER_FIRST, EAGER_RUN, EAGER_RUN, EAGER_RUN, EAGER_RUN, EAGER_RUN, EAGER_RUN, 0}, 1); /* before the loop */
	calls((unsigned[]){COMPILE, FIRST, WAIT, 0}, 1);
	calls((unsigned[]){RUN, RUN, RUN, RUN, 0}, 1);
	calls((unsigned[]){RUN, NO_LINE, WAIT, RUN, RUN, RUN, RUN, 0}, 5);
	assert_int_equal(calls_of_loop(6), 30);
	calls((unsigned[]){RUN, RUN, RUN, RUN, RUN, EAGER_RUN, 0}, 1);
	assert_int_equal(calls_of_loop(7), 0);
}

static void takes_the_loop_that_ran_longest(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 29);
	call(EVAL_COMPILE, 1000000);
	calls((unsigned[]){EVAL_FIRST, 0}, 1);
	calls((unsigned[]){EVAL_RUN, 0}, 9);
	assert_int_equal(calls_of_loop(0), 30);
	assert_int_equal(calls_of_loop(10), 10); /* the period is of the other one */
}

/* While evaluation ran something else had the processor. */
static void a_busy_machine_makes_no_loop_longer(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 29);
	calls((unsigned[]){EVAL_COMPILE, EVAL_FIRST, EVAL_RUN, 0}, 1);
	for (int i = 0; i < 8; i++)
		call(EVAL_RUN, 20000);
	assert_int_equal(calls_of_loop(0), 30);
}

/* The function was compiled by another line. */
static void knows_a_loop_that_was_warmed_up_elsewhere(void **state)
{
	(void)state;
	calls((unsigned[]){EVAL_COMPILE, EVAL_FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 12);
	assert_int_equal(calls_of_loop(0), 12);
	assert_int_equal(loop.begin, 0);
}

/* A package's own jit is an object that is called (Flax'), so no line runs anything itself; what each frees it does itself. */
static void what_takes_no_time_runs_nothing(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	for (unsigned i = 0; i < 30; i++) {
		calls((unsigned[]){WRAPPED_RUN, FREE, 0}, 1);
		call(FREE, 4);
		if (i == 8)
			calls((unsigned[]){EVAL_COMPILE, EVAL_FIRST, 0}, 1);
		if (i > 8 && i % 4 == 0) {
			call(EVAL_EAGER, 20);
			call(EVAL_FREE, 5);
			call(EVAL_FREE, 40);
		}
	}
	assert_int_equal(calls_of_loop(30), 31);
	assert_int_equal(loop.begin, 100);
}

static void takes_no_single_ops_for_a_loop(void **state)
{
	(void)state;
	calls((unsigned[]){EAGER_FIRST, 0}, 1);
	calls((unsigned[]){EAGER_RUN, 0}, 30);
	assert_int_equal(calls_of_loop(0), 0);
}

/* Evaluation after each of five epochs came to its place four times, and nine times to where values are freed. */
static void a_line_of_few_runs_tells_the_place_too(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){MOVE, RUN, 0}, 10);
	calls((unsigned[]){EVAL_COMPILE, EVAL_FIRST, EVAL_FREE, 0}, 1);
	calls((unsigned[]){MOVE, RUN, 0}, 10);
	calls((unsigned[]){EVAL_FREE, EVAL_RUN, EVAL_FREE, 0}, 4);
	calls((unsigned[]){OTHER_EVAL_FIRST, OTHER_EVAL_FREE, 0}, 1);
	calls((unsigned[]){OTHER_EVAL_FREE, 0}, 6); /* a line that frees, and no more */
	assert_int_equal(calls_of_loop(20), 21);
}

/* A package's functions ran op by op, from two lines of the script, before its loop began. */
static void set_up_by_a_package_tells_no_place(void **state)
{
	(void)state;
	calls((unsigned[]){MODEL_FIRST, 0}, 1);
	calls((unsigned[]){MODEL_LATE, 0}, 6);
	calls((unsigned[]){GUIDE_FIRST, 0}, 1);
	calls((unsigned[]){GUIDE_LATE, 0}, 5);
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 19);
	assert_int_equal(calls_of_loop(0), 20);
}

/* Without jit each op compiles in the first round and comes by its own road from the second on; what compiles nothing comes each time. */
static void finds_the_round_that_compiled(void **state)
{
	(void)state;
	calls((unsigned[]){EAGER_FIRST, EAGER_CHECK, 0}, 1);
	uint64_t second = now;
	calls((unsigned[]){EAGER_MOVE, EAGER_RUN, EAGER_CHECK, 0}, 9);
	assert_int_equal(xla_runs_before(runs, EAGER_MOVE, 9, second), 100);
	assert_int_equal(xla_runs_before(runs, EAGER_MOVE, 6, second), 0); /* of another loop */
}

static void what_each_round_has_lacks_none(void **state)
{
	(void)state;
	calls((unsigned[]){MOVE, COMPILE, FIRST, 0}, 1);
	uint64_t first = now;
	calls((unsigned[]){WAIT, 0}, 1);
	calls((unsigned[]){MOVE, RUN, WAIT, 0}, 9);
	assert_int_equal(xla_runs_before(runs, WAIT, 10, first), 0);
}

static void few_calls_are_no_loop(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){RUN, 0}, 4);
	assert_int_equal(calls_of_loop(0), 0);
	assert_int_equal(xla_runs_before(runs, NO_LINE, 9, now), 0);
}

/* Keras runs batches of training and of evaluation by one function, from two Python stacks. */
static void tells_what_keras_trains_from_what_it_evaluates(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, KERAS_FIRST, 0}, 1);
	calls((unsigned[]){KERAS_FIT, 0}, 17);
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){KERAS_EVALUATE, 0}, 16);
	assert_int_equal(calls_of_loop(0), 18);
	assert_int_equal(calls_of_loop(36), 18); /* a period of all batches */
}

/* It says which it trains with, from whatever line; what it frees by the way runs nothing. */
static void takes_all_that_keras_trains_by(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIT_FIRST, FIT_FREE_NO_LINE, 0}, 1);
	calls((unsigned[]){FIT_MORE, FIT_FREE, FIT_FREE, 0}, 17);
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){KERAS_EVALUATE, 0}, 30);
	calls((unsigned[]){ON_BATCH, 0}, 3);
	assert_int_equal(calls_of_loop(0), 21);
	assert_true(loop.is_trained);
}

/* Each shape of a batch compiles, and some versions compile for the first batches again: each such call trains, too. */
static void counts_each_batch_for_which_keras_compiles(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIT_FIRST, 0}, 3);
	calls((unsigned[]){FIT_MORE, 0}, 15);
	calls((unsigned[]){COMPILE, FIT_FIRST, 0}, 1);
	calls((unsigned[]){COMPILE, FIRST, KERAS_EVALUATE, KERAS_EVALUATE, 0}, 1);
	calls((unsigned[]){FIT_MORE, 0}, 19);
	assert_int_equal(calls_of_loop(0), 38);
	assert_true(loop.is_trained && loop.begin == 100);
	for (size_t i = 0; i < loop.count; i++)
		assert_int_equal(loop.firsts >> i & 1, loop.ids[i] == FIT_FIRST);
	assert_true(xla_runs_is_training(runs, FIT_MORE) && !xla_runs_is_training(runs, KERAS_EVALUATE));
}

static void takes_nothing_where_keras_runs_single_ops(void **state)
{
	(void)state;
	calls((unsigned[]){FIT_FREE_NO_LINE, 0}, 1);
	calls((unsigned[]){FIT_FREE, 0}, 30);
	assert_int_equal(calls_of_loop(0), 0);
}

static void what_was_dispatched_is_waited_for_behind_the_last_call(void **state)
{
	uint64_t begin = 0, last;

	(void)state;
	calls((unsigned[]){COMPILE, FIRST, WAIT, 0}, 1);
	calls((unsigned[]){RUN, 0}, 10);
	last = now;
	xla_runs_lasted(runs, WAIT, last + 10, last + 400);
	xla_runs_lasted(runs, COMPILE, last + 400, last + 900); /* what compiles waits for nothing */
	xla_runs_lasted(runs, WAIT, last + 900, last + 950);
	assert_int_equal(xla_runs_awaited(runs, last, &begin), 390);
	assert_int_equal(begin, last + 10);
	assert_int_equal(xla_runs_awaited(runs, last + 20, &begin), 50);
	assert_int_equal(xla_runs_awaited(runs, last + 1000, &begin), 0);
	now = last + 5;
	call(EVAL_FIRST, 20); /* another function was run: it may be waited for that */
	assert_int_equal(xla_runs_awaited(runs, last, &begin), 0);
}

static void a_function_that_runs_now_and_then_may_end_a_step(void **state)
{
	(void)state;
	calls((unsigned[]){COMPILE, FIRST, 0}, 1);
	calls((unsigned[]){EVAL_COMPILE, EVAL_FIRST, 0}, 1);
	for (int i = 0; i < 6; i++) {
		calls((unsigned[]){RUN, WAIT, 0}, 16);
		call(EVAL_RUN, 20);
	}
	calls_of_loop(96);
	assert_true(xla_runs_may_end_step(runs, &loop, EVAL_RUN));
	assert_false(xla_runs_may_end_step(runs, &loop, RUN));
	assert_false(xla_runs_may_end_step(runs, &loop, WAIT));
	call(EVAL_RUN, 2); /* shorter than what is counted: a figure, a copy */
	assert_false(xla_runs_may_end_step(runs, &loop, EVAL_RUN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_the_first_run, make, drop),
		cmocka_unit_test_setup_teardown(tells_runs_from_what_goes_with_them, make, drop),
		cmocka_unit_test_setup_teardown(counts_a_run_that_compiled_again, make, drop),
		cmocka_unit_test_setup_teardown(counts_calls_that_compile_with_those_that_do_not, make, drop),
		cmocka_unit_test_setup_teardown(counts_runs_by_the_other_road_alone, make, drop),
		cmocka_unit_test_setup_teardown(weights_that_are_made_anew_do_not_say_what_runs, make, drop),
		cmocka_unit_test_setup_teardown(functions_that_one_line_compiles_are_compiled_once, make, drop),
		cmocka_unit_test_setup_teardown(a_loss_that_is_printed_makes_no_step_longer, make, drop),
		cmocka_unit_test_setup_teardown(takes_the_loop_that_ran_longest, make, drop),
		cmocka_unit_test_setup_teardown(a_busy_machine_makes_no_loop_longer, make, drop),
		cmocka_unit_test_setup_teardown(knows_a_loop_that_was_warmed_up_elsewhere, make, drop),
		cmocka_unit_test_setup_teardown(what_takes_no_time_runs_nothing, make, drop),
		cmocka_unit_test_setup_teardown(takes_no_single_ops_for_a_loop, make, drop),
		cmocka_unit_test_setup_teardown(a_line_of_few_runs_tells_the_place_too, make, drop),
		cmocka_unit_test_setup_teardown(set_up_by_a_package_tells_no_place, make, drop),
		cmocka_unit_test_setup_teardown(finds_the_round_that_compiled, make, drop),
		cmocka_unit_test_setup_teardown(what_each_round_has_lacks_none, make, drop),
		cmocka_unit_test_setup_teardown(few_calls_are_no_loop, make, drop),
		cmocka_unit_test_setup_teardown(tells_what_keras_trains_from_what_it_evaluates, make, drop),
		cmocka_unit_test_setup_teardown(takes_all_that_keras_trains_by, make, drop),
		cmocka_unit_test_setup_teardown(counts_each_batch_for_which_keras_compiles, make, drop),
		cmocka_unit_test_setup_teardown(a_function_that_runs_now_and_then_may_end_a_step, make, drop),
		cmocka_unit_test_setup_teardown(what_was_dispatched_is_waited_for_behind_the_last_call, make, drop),
		cmocka_unit_test_setup_teardown(takes_nothing_where_keras_runs_single_ops, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
