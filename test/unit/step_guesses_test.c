/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/model/step_guesses: loops over several devices by one thread, from the records of a log. */
#include "test/logmaker_train.h"
#include "test/unit/run_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICES 4u
#define PARTS 20u /* of a round: more than rounds inside a step are taken for */
#define ROUNDS 30u
enum { COPY = 1, LAUNCH, PEER, RECORD, HOLD, WAIT }; /* functions of CUDA; none is asked for by its name */


static size_t count_steps(void (*work)(struct train *train))
{
	struct maker maker;

	train_make(&maker, work);
	return run_made_of(&maker, "step_guesses_test")->step_count;
}

static void call(struct train *train, unsigned function, unsigned device)
{
	PUT(train, gpu_call, .duration = 500, .function = function, .stack = 1, .context = 1 + device, .flags = 2);
}

/* For each device the same, then all are waited for. */
static void data_parallel(struct train *train)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned d = 0; d < DEVICES; d++) {
			call(train, COPY, d);
			for (unsigned k = 0; k < 8; k++)
				call(train, LAUNCH, d);
		}
		for (unsigned d = 0; d < DEVICES; d++) {
			call(train, LAUNCH, d);
			call(train, LAUNCH, d);
		}
		for (unsigned d = 0; d < DEVICES; d++)
			call(train, WAIT, d);
	}
}

/* Many short parts that take turns among the devices, and as much again, for longer, that differs from them. */
static void pipeline(struct train *train)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		call(train, RECORD, 0);
		for (unsigned m = 0; m < PARTS; m++) {
			call(train, PEER, m % DEVICES);
			for (unsigned k = 0; k < 3; k++)
				call(train, LAUNCH, m % DEVICES);
		}
		for (unsigned m = 0; m < PARTS; m++) {
			train->time += 10000;
			call(train, COPY, m % DEVICES);
			call(train, HOLD, m % DEVICES);
		}
		for (unsigned d = 0; d < DEVICES; d++)
			call(train, WAIT, d);
	}
}

/* Operations of PyTorch, by ids of names. */
enum { LINEAR_OP = 301, RELU_OP, LOSS_OP, BACKWARD_OP, UPDATE_OP };

static void op(struct train *train, unsigned name, uint8_t scope)
{
	train_end(train, train_begin(train, name, RECORD_FUNCTION, scope), RECORD_FUNCTION);
}

/* With an optimizer that marks nothing, as Keras' do. */
static void batch(struct train *train, bool learns)
{
	train->time += 20000;
	op(train, LINEAR_OP, FUNCTION);
	op(train, RELU_OP, FUNCTION);
	op(train, LOSS_OP, FUNCTION);
	if (!learns)
		return;
	op(train, BACKWARD_OP, BACKWARD);
	op(train, UPDATE_OP, FUNCTION);
}

static void name_ops(struct train *train)
{
	train_name(train, LINEAR_OP, "aten::linear");
	train_name(train, RELU_OP, "aten::relu");
	train_name(train, LOSS_OP, "aten::mse_loss");
	train_name(train, BACKWARD_OP, "autograd::engine::evaluate_function: MseLossBackward0");
	train_name(train, UPDATE_OP, "aten::sub_");
}

/* Each epoch scores more batches than it learns from. */
static void epochs(struct train *train)
{
	name_ops(train);
	for (unsigned epoch = 0; epoch < 3; epoch++)
		for (unsigned i = 0; i < ROUNDS; i++)
			batch(train, i < 12);
}

/* No steps at all: no function is called once a round, nor from a line of its own. */
static void a_loop_over_devices_is_one_step_a_round(void **state)
{
	(void)state;
	assert_in_range(count_steps(data_parallel), ROUNDS - 1, ROUNDS);
}

/* Its parts were the steps, and left 88 % of the time between them. */
static void so_is_a_pipeline_over_devices(void **state)
{
	(void)state;
	assert_in_range(count_steps(pipeline), ROUNDS - 1, ROUNDS);
}

/* All were steps, but where less than half of them were scored. */
static void what_an_epoch_scores_is_no_step(void **state)
{
	(void)state;
	assert_int_equal(count_steps(epochs), 3 * 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_loop_over_devices_is_one_step_a_round, run_made_forget),
		cmocka_unit_test_teardown(so_is_a_pipeline_over_devices, run_made_forget),
		cmocka_unit_test_teardown(what_an_epoch_scores_is_no_step, run_made_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
