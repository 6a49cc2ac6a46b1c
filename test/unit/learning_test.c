/* SPDX-License-Identifier: Apache-2.0 */
/* Which forward work a backward pass came for, from ops as PyTorch tells them. */
#include "reducer/model/learning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LAYER = 1, PLAIN, LOADER, ZERO, STEP, REGION, DRAW, AROUND, MODE, NAMES };
enum { FUNCTION = 0, BACKWARD = 1, SCRIPT = 2, USER = 7, ELSEWHERE = 16 };
#define NO_GRADIENTS UINT64_MAX

static struct learning learning;
static struct learning_names known;
static uint64_t now, sequence;

static int make(void **state)
{
	static const char *const names[] = {
		[LAYER] = "aten::linear",	      [PLAIN] = "aten::relu",	[LOADER] = "enumerate(DataLoader)#_Single.__next__",
		[ZERO] = "Optimizer.zero_grad#SGD", [STEP] = "Optimizer.step#SGD.step", [REGION] = "Torch-Compiled Region: 0/0",
		[DRAW] = "aten::randn",	      [AROUND] = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
		[MODE] = "PythonDispatchMode"};

	(void)state;
	learning = (struct learning){.names = &known};
	learning_again(&learning);
	for (uint64_t name = LAYER; name < NAMES; name++)
		learning_name(&learning, name, names[name]);
	now = 100;
	sequence = 1;
	return 0;
}

static int drop(void **state)
{
	(void)state;
	learning_free(&learning);
	learning_free_names(&known);
	known.kinds = NULL;
	return 0;
}

/* An op with another inside it; its time. */
static uint64_t op(uint64_t name, unsigned scope, uint64_t number)
{
	uint64_t began = now += 10;

	learning_begin(&learning, name, began, scope, began);
	if (number != NO_GRADIENTS)
		learning_sequence(&learning, number);
	learning_begin(&learning, LAYER, began + 1, FUNCTION, began + 1);
	learning_end(&learning, began + 1);
	learning_end(&learning, began);
	return began;
}

static uint64_t forward(int layers)
{
	uint64_t first = op(LAYER, FUNCTION, sequence++);

	for (int i = 1; i < layers; i++) {
		op(PLAIN, FUNCTION, sequence++);
		op(LAYER, FUNCTION, sequence++);
	}
	return first;
}

static void backward(uint64_t from)
{
	for (uint64_t at = sequence; at-- > from;)
		learning_backward(&learning, PLAIN, at);
}

static void score(int layers)
{
	for (int i = 0; i < layers; i++) {
		op(LOADER, USER, NO_GRADIENTS);
		op(LAYER, FUNCTION, NO_GRADIENTS);
		op(PLAIN, FUNCTION, NO_GRADIENTS);
	}
}

static void a_step_alone_is_no_evaluation(void **state)
{
	uint64_t first;

	(void)state;
	op(LOADER, USER, NO_GRADIENTS);
	op(ZERO, USER, NO_GRADIENTS);
	first = forward(4);
	backward(1);
	op(STEP, USER, NO_GRADIENTS);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, first);
	assert_int_equal(found.evaluated_to, 0);
	assert_true(found.has_stepped);
}

static void layers_without_gradients_before_it_are(void **state)
{
	uint64_t loader, first;

	(void)state;
	op(PLAIN, FUNCTION, sequence); /* loss.item(): no node is made, so the number comes again */
	score(1000);
	op(LOADER, USER, NO_GRADIENTS); /* the end of the loader that scores */
	loader = op(LOADER, USER, NO_GRADIENTS);
	op(ZERO, USER, NO_GRADIENTS);
	first = forward(3);
	backward(1);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.evaluated_to, loader);
	assert_int_equal(found.trained_from, first);
	assert_true(learning.count < 20); /* memory follows the step, not what was scored */
}

static void layers_with_gradients_that_nobody_used_are(void **state)
{
	uint64_t zero, from;

	(void)state;
	forward(50);
	from = sequence;
	zero = op(ZERO, USER, NO_GRADIENTS);
	forward(3);
	backward(from);
	assert_int_equal(learning_found(&learning).evaluated_to, zero);
}

/* A step of a student, whose teacher acts first with so many layers, after so many were scored. When the teacher's batch came. */
static uint64_t taught(int scored, int acts, struct learning_found *found)
{
	uint64_t loader, from;

	score(scored);
	op(LOADER, USER, NO_GRADIENTS); /* it has no data left */
	loader = op(LOADER, USER, NO_GRADIENTS);
	for (int i = 0; i < acts; i++)
		op(LAYER, FUNCTION, NO_GRADIENTS);
	from = sequence;
	forward(2);
	backward(from);
	*found = learning_found(&learning);
	learning_note_acts(&learning, found);
	learning_again(&learning);
	return loader;
}

static void what_is_scored_before_a_teacher_is_told_from_it(void **state)
{
	struct learning_found found;
	uint64_t loader;

	(void)state;
	taught(0, 3, &found);
	assert_int_equal(found.acted, 3);
	taught(7, 3, &found); /* nobody knows yet how many layers it has */
	assert_int_equal(found.acted, 10);
	assert_int_equal(found.acted_from, 0);
	for (int i = 0; i < 2; i++)
		taught(0, 3, &found);
	loader = taught(1000, 3, &found);
	assert_int_equal(found.usual_acts, 3);
	assert_int_equal(found.acted, 1003);
	assert_int_equal(found.acted_from, loader);
	loader = taught(2 * LEARNING_ACTS, 3, &found); /* what is remembered goes round */
	assert_int_equal(found.acted_from, loader);
	taught(0, 2, &found);
	assert_int_equal(found.acted_from, 0);
}

static void what_acts_with_gradients_is_told_from_what_is_scored(void **state)
{
	struct learning_found found;
	uint64_t loader, from;

	(void)state;
	score(9);
	loader = op(LOADER, USER, NO_GRADIENTS);
	forward(3); /* a maker's, detached */
	from = sequence;
	forward(2);
	backward(from);
	found = learning_found(&learning);
	assert_int_equal(found.acted, 9);
	assert_int_equal(found.unacted_from, loader);
	learning_again(&learning);
	forward(3);
	from = sequence;
	forward(2);
	backward(from);
	assert_int_equal(learning_found(&learning).unacted_from, 0);
}

static void layers_behind_the_forward_pass_are_not(void **state)
{
	(void)state;
	forward(3);
	score(5); /* a teacher, a metric: part of the step */
	backward(1);
	assert_int_equal(learning_found(&learning).evaluated_to, 0);
}

static void micro_batches_are_of_one_step(void **state)
{
	uint64_t first, from;

	(void)state;
	first = forward(2);
	backward(1);
	from = sequence;
	forward(2);
	backward(from);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, first);
	assert_int_equal(found.evaluated_to, 0);
}

/* Optimizer.step with a closure: what trains lies inside it, and its own products are no layers. */
static void a_closure_trains_inside_the_step(void **state)
{
	uint64_t step, first;

	(void)state;
	score(3);
	step = now += 10;
	learning_begin(&learning, STEP, step, USER, step);
	first = forward(2);
	backward(1);
	op(LAYER, FUNCTION, NO_GRADIENTS);
	learning_end(&learning, step);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, first);
	assert_int_equal(found.evaluated_to, first);
	assert_int_equal(learning.events[learning.count - 1].sequence, sequence - 1);
	score(1);
	assert_int_equal(learning.events[learning.count - 1].sequence, NO_GRADIENTS); /* seen again behind it */
}

static void ranges_hold_and_async_ops_do_not_count(void **state)
{
	uint64_t range = now += 10, first;

	(void)state;
	learning_begin(&learning, PLAIN, range, USER, range); /* record_function("epoch") */
	learning_begin(&learning, LAYER, 7, FUNCTION | ELSEWHERE, now);
	learning_begin(&learning, PLAIN, range + 1, SCRIPT, range + 1);
	first = op(REGION, FUNCTION, sequence++);
	learning_end(&learning, range + 1);
	backward(1);
	learning_end(&learning, range);
	assert_int_equal(learning_found(&learning).trained_from, first);
}

static void without_a_backward_pass_nothing_is_said(void **state)
{
	(void)state;
	score(3);
	forward(3);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, 0);
	assert_int_equal(found.evaluated_to, 0);
}

static void another_backward_pass_has_another_sum(void **state)
{
	uint64_t one;

	(void)state;
	forward(3);
	backward(1);
	one = learning_found(&learning).backward;
	learning_again(&learning);
	uint64_t from = sequence;
	forward(3);
	backward(from);
	assert_int_equal(learning_found(&learning).backward, one);
	learning_backward(&learning, LAYER, from);
	assert_int_not_equal(learning_found(&learning).backward, one);
}

static void forward_work_alone_is_told_from_learning(void **state)
{
	(void)state;
	assert_false(learning_is_forward(&learning));
	op(LOADER, USER, NO_GRADIENTS);
	op(PLAIN, FUNCTION, NO_GRADIENTS);
	assert_false(learning_is_forward(&learning));
	score(2);
	assert_true(learning_is_forward(&learning));
	uint64_t from = sequence;
	forward(2);
	assert_true(learning_is_forward(&learning));
	backward(from);
	assert_false(learning_is_forward(&learning));
	learning_again(&learning);
	score(1);
	op(STEP, USER, NO_GRADIENTS);
	assert_false(learning_is_forward(&learning));
}

static void a_batch_is_loaded_or_drawn(void **state)
{
	(void)state;
	assert_false(learning_found(&learning).has_loaded);
	op(LOADER, USER, NO_GRADIENTS);
	assert_true(learning_found(&learning).has_loaded);
	assert_false(learning_found(&learning).has_drawn);
	score(2);
	op(DRAW, FUNCTION, NO_GRADIENTS); /* in front of the first layer that may be learnt from */
	assert_true(learning_found(&learning).has_drawn);
	learning_again(&learning);
	forward(1);
	op(DRAW, FUNCTION, NO_GRADIENTS); /* dropout: part of the layers */
	assert_false(learning_found(&learning).has_drawn);
	assert_false(learning_found(&learning).has_loaded);
}

/* PyTorch 1.13: the outer one, and what moves its arguments, are no such layer. */
static void a_layer_under_autocast_has_the_number_of_the_one_inside(void **state)
{
	uint64_t layer = now += 10;

	(void)state;
	learning_begin(&learning, LAYER, layer, FUNCTION, layer);
	learning_begin(&learning, PLAIN, layer + 1, FUNCTION, layer + 1);
	learning_sequence(&learning, 1);
	learning_end(&learning, layer + 1);
	learning_begin(&learning, LAYER, layer + 2, FUNCTION, layer + 2);
	learning_sequence(&learning, 2);
	learning_end(&learning, layer + 2);
	learning_end(&learning, layer);
	learning_backward(&learning, PLAIN, 2);
	learning_backward(&learning, PLAIN, 1);
	assert_int_equal(learning_found(&learning).trained_from, layer);
}

static void a_hook_of_the_backward_pass_steps_within_it(void **state)
{
	uint64_t around = now += 10;

	(void)state;
	op(STEP, USER, NO_GRADIENTS);
	assert_false(learning.is_within);
	learning_begin(&learning, AROUND, around, FUNCTION, around);
	assert_false(learning_is_layer(&learning, around));
	op(STEP, USER, NO_GRADIENTS);
	assert_true(learning.is_within);
	learning_end(&learning, around);
	learning_begin(&learning, LAYER, around + 1, FUNCTION, around + 1);
	assert_true(learning_is_layer(&learning, around + 1));
	learning_end(&learning, around + 1);
	op(STEP, USER, NO_GRADIENTS);
	assert_false(learning.is_within);
}

static void what_a_window_cut_off_is_open_no_more(void **state)
{
	uint64_t around = now += 10, from = sequence, first;

	(void)state;
	learning_begin(&learning, AROUND, around, FUNCTION, around);
	learning_reopen(&learning);
	op(STEP, USER, NO_GRADIENTS);
	assert_false(learning.is_within);
	first = forward(1);
	backward(from);
	assert_int_equal(learning_found(&learning).trained_from, first);
}

/* What torch.compile made has no number of its own; the first op inside that has one says it. */
static uint64_t region(uint64_t number)
{
	uint64_t began = now += 10;

	learning_begin(&learning, REGION, began, FUNCTION, began);
	learning_begin(&learning, PLAIN, began + 1, FUNCTION, began + 1);
	learning_end(&learning, began + 1);
	learning_begin(&learning, PLAIN, began + 2, FUNCTION, began + 2);
	if (number != NO_GRADIENTS)
		learning_sequence(&learning, number);
	learning_end(&learning, began + 2);
	learning_begin(&learning, PLAIN, began + 3, FUNCTION, began + 3);
	learning_sequence(&learning, UINT64_C(1) << 40); /* said too late */
	learning_end(&learning, began + 3);
	learning_end(&learning, began);
	return began;
}

/* An op that a compiler runs to see what it does. */
static uint64_t trace(void)
{
	uint64_t began = now += 10;

	learning_begin(&learning, LAYER, began, FUNCTION, began);
	learning_sequence(&learning, sequence++);
	learning_begin(&learning, MODE, began + 1, FUNCTION, began + 1);
	learning_end(&learning, began + 1);
	learning_end(&learning, began);
	return began;
}

static void a_compiled_region_has_the_number_of_what_it_runs(void **state)
{
	(void)state;
	trace();
	region(sequence++); /* scored, with gradients */
	uint64_t from = sequence, first = region(sequence++);
	backward(from);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, first);
	assert_int_equal(found.evaluated_to, first);
}

static void what_a_compiler_traces_is_of_the_step(void **state)
{
	uint64_t from, first;

	(void)state;
	first = trace();
	trace();
	from = sequence;
	region(sequence++);
	backward(from);
	struct learning_found found = learning_found(&learning);
	assert_int_equal(found.trained_from, first);
	assert_int_equal(found.evaluated_to, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_step_alone_is_no_evaluation, make, drop),
		cmocka_unit_test_setup_teardown(layers_without_gradients_before_it_are, make, drop),
		cmocka_unit_test_setup_teardown(layers_with_gradients_that_nobody_used_are, make, drop),
		cmocka_unit_test_setup_teardown(what_is_scored_before_a_teacher_is_told_from_it, make, drop),
		cmocka_unit_test_setup_teardown(what_acts_with_gradients_is_told_from_what_is_scored, make, drop),
		cmocka_unit_test_setup_teardown(layers_behind_the_forward_pass_are_not, make, drop),
		cmocka_unit_test_setup_teardown(micro_batches_are_of_one_step, make, drop),
		cmocka_unit_test_setup_teardown(a_closure_trains_inside_the_step, make, drop),
		cmocka_unit_test_setup_teardown(ranges_hold_and_async_ops_do_not_count, make, drop),
		cmocka_unit_test_setup_teardown(without_a_backward_pass_nothing_is_said, make, drop),
		cmocka_unit_test_setup_teardown(forward_work_alone_is_told_from_learning, make, drop),
		cmocka_unit_test_setup_teardown(another_backward_pass_has_another_sum, make, drop),
		cmocka_unit_test_setup_teardown(a_batch_is_loaded_or_drawn, make, drop),
		cmocka_unit_test_setup_teardown(a_layer_under_autocast_has_the_number_of_the_one_inside, make, drop),
		cmocka_unit_test_setup_teardown(a_hook_of_the_backward_pass_steps_within_it, make, drop),
		cmocka_unit_test_setup_teardown(what_a_window_cut_off_is_open_no_more, make, drop),
		cmocka_unit_test_setup_teardown(a_compiled_region_has_the_number_of_what_it_runs, make, drop),
		cmocka_unit_test_setup_teardown(what_a_compiler_traces_is_of_the_step, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
