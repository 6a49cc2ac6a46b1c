/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of learning of an eager loop, and which of them are steps. */
#include "reducer/model/updates.h"

#include "reducer/model/function_names.h"
#include "reducer/model/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct updates updates;
static struct log_stream stream = {.thread = 3};
static struct log log_of_one = {.streams = &stream, .stream_count = 1};
static struct process process;
static uint64_t now;

static int make(void **state)
{
	(void)state;
	process = (struct process){.log = &log_of_one};
	now = 0;
	return updates_begin(&updates, &process);
}

static int drop(void **state)
{
	(void)state;
	updates_free(&updates);
	free(process.steps);
	return 0;
}

static void op(const char *name)
{
	updates_take(&updates, 0, function_op_kind(name), now += 10);
}

/* Acts, each of two ops, then what they were learnt by. The time of its first op. */
static uint64_t learn(int acts)
{
	uint64_t first = now + 10;

	for (int i = 0; i < acts; i++) {
		op("MatMul");
		op("Softmax");
	}
	op("ReluGrad");
	op("MatMul");
	op("BroadcastGradientArgs");
	op("AssignSubVariableOp");
	op("Mul");
	op("AssignSubVariableOp");
	return first;
}

static void add_step(struct step step)
{
	process.steps = model_room(process.steps, process.step_count, sizeof step);
	assert_non_null(process.steps);
	process.steps[process.step_count++] = step;
}

static void each_change_behind_a_gradient_ends_a_step(void **state)
{
	uint64_t begins[6];

	(void)state;
	op("MatMul"); /* made, and tried */
	op("VarHandleOp");
	for (int i = 0; i < 6; i++)
		begins[i] = learn(i + 1);
	updates_end(&updates, &process);
	assert_true(updates_make_steps(&updates, &process));
	assert_int_equal(process.step_count, 6);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(process.steps[i].time_ns, begins[i]);
		assert_int_equal(process.steps[i].end_ns, i < 5 ? begins[i + 1] : now);
		assert_int_equal(process.steps[i].thread, 3);
		assert_int_equal(process.steps[i].number, i + 1);
	}
	assert_int_equal(process.steps[5].rest_ns, now);
}

static void a_change_without_a_gradient_is_none(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++) {
		op("MatMul");
		op("AssignSubVariableOp"); /* an average of batches */
	}
	updates_end(&updates, &process);
	assert_int_equal(updates.count, 0);
	assert_false(updates_make_steps(&updates, &process));
}

static void steps_of_a_period_give_way_where_most_do_not_learn(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++)
		learn(4);
	updates_end(&updates, &process);
	for (int i = 0; i < 7; i++) /* one too many */
		add_step((struct step){.time_ns = i, .source = STEP_BY_PERIOD});
	assert_false(updates_make_steps(&updates, &process));
	assert_int_equal(process.step_count, 7);
	for (int i = 7; i < 24; i++)
		add_step((struct step){.time_ns = i, .source = STEP_BY_PERIOD});
	assert_true(updates_make_steps(&updates, &process));
	assert_int_equal(process.step_count, 6);
}

static void rounds_of_batches_make_none_and_those_behind_do(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		uint64_t begin = learn(1);
		add_step((struct step){.time_ns = (int64_t)begin, .end_ns = (int64_t)now, .source = SOURCE_eager, .is_batch = 1});
	}
	uint64_t behind = learn(1);
	for (int i = 0; i < 4; i++)
		learn(1);
	updates_end(&updates, &process);
	assert_int_equal(updates_count(&updates, 3, 0, behind), 5);
	assert_int_equal(updates_count(&updates, 3, behind, now), 5);
	assert_int_equal(updates_count(&updates, 4, behind, now), 0);
	assert_true(updates_make_steps(&updates, &process));
	assert_int_equal(process.step_count, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(process.steps[i].is_update, i >= 5);
	assert_int_equal(process.steps[5].time_ns, behind);
}

static void steps_that_somebody_marked_stay_alone(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++)
		learn(1);
	updates_end(&updates, &process);
	add_step((struct step){.time_ns = 1, .end_ns = 2, .source = SOURCE_eager, .is_call = 1});
	assert_false(updates_make_steps(&updates, &process));
	assert_int_equal(process.step_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_change_behind_a_gradient_ends_a_step, make, drop),
		cmocka_unit_test_setup_teardown(a_change_without_a_gradient_is_none, make, drop),
		cmocka_unit_test_setup_teardown(steps_of_a_period_give_way_where_most_do_not_learn, make, drop),
		cmocka_unit_test_setup_teardown(rounds_of_batches_make_none_and_those_behind_do, make, drop),
		cmocka_unit_test_setup_teardown(steps_that_somebody_marked_stay_alone, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
