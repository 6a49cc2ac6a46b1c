/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of the steps of made loops on the CPU that stand beside much else: which of it is the loop, and what is said of the rest.
 * Each is the outline of a program that was recorded.
 */
#include "test/logmaker_train.h"
#include "test/unit/run_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ANNOTATION 4 /* a row of collectors/tables/range_sources.def */

/* The process of a log of one thread with what `work` puts into it. */
static const struct process *steps_of(void (*work)(struct train *train))
{
	struct maker maker;

	train_make(&maker, work);
	return run_made_of(&maker, "steps_told_apart_test");
}

static void one(struct train *train, uint32_t name, uint8_t source)
{
	train_end(train, train_begin(train, name, source, 0), source);
}

#define LAYERS 300 /* functions of TensorFlow */
#define CALLED 6   /* of them in each step, all in turn */
#define LEARNT 50

static void call(struct train *train, uint32_t function, uint32_t op)
{
	uint64_t key = train_begin(train, function, EAGER, USER);

	one(train, op, ANNOTATION);
	train_end(train, key, EAGER);
}

/* What learns comes behind more functions than a byte counts. */
static void many_functions(struct train *train)
{
	enum { LEARN = LAYERS + 1, FORWARD, TAPE };
	char name[32];

	for (uint32_t i = 0; i < LAYERS; i++) {
		snprintf(name, sizeof name, "__inference_layer_%c%c_7", (int)('a' + i / 26), (int)('a' + i % 26));
		train_name(train, i + 1, name);
	}
	train_name(train, LEARN, "__inference_learn_7");
	train_name(train, FORWARD, "MatMul:MatMul");
	train_name(train, TAPE, "gradient_tape/MatMul:MatMul");
	for (uint32_t i = 0; i < LAYERS; i++)
		call(train, i + 1, FORWARD);
	for (uint32_t i = 0; i < LEARNT; i++) {
		for (uint32_t k = 0; k < CALLED; k++)
			call(train, (i * CALLED + k) % LAYERS + 1, FORWARD);
		call(train, LEARN, TAPE);
	}
}

/* All 350 calls were steps where the functions could not be told apart. */
static void steps_are_found_among_many_functions(void **state)
{
	const struct process *process = steps_of(many_functions);

	(void)state;
	assert_int_equal(process->step_count, LEARNT);
	assert_string_equal(process->steps[0].name, "learn");
}

/* Two models of PyTorch, one behind the other: each request draws its input, and has ops of its own. */
enum { DRAW = 1, CONV, RELU, POOL, LSTM, LINEAR, SOFTMAX, ITEM, EMBEDDING, TANH, NAMES };

static void name_ops(struct train *train)
{
	static const char *const names[NAMES] = {[DRAW] = "aten::randn",	[CONV] = "aten::conv2d",
						 [RELU] = "aten::relu",		[POOL] = "aten::max_pool2d",
						 [LSTM] = "aten::lstm",		[LINEAR] = "aten::linear",
						 [SOFTMAX] = "aten::softmax",	[ITEM] = "aten::item",
						 [EMBEDDING] = "aten::embedding", [TANH] = "aten::tanh"};

	for (unsigned i = 1; i < NAMES; i++)
		train_name(train, i, names[i]);
	PUT(train, framework_thread, .id = 1, .source = RECORD_FUNCTION);
}

static void requests_of(struct train *train, const uint32_t *ops, size_t count, unsigned requests)
{
	for (unsigned i = 0; i < requests; i++)
		for (size_t k = 0; k < count; k++)
			one(train, ops[k], RECORD_FUNCTION);
}

static const uint32_t pictures[] = {DRAW, CONV, RELU, POOL, CONV, RELU, LINEAR, ITEM};
static const uint32_t texts[] = {DRAW, EMBEDDING, LSTM, TANH, LINEAR, SOFTMAX, ITEM};
#define PICTURES (sizeof pictures / sizeof *pictures)
#define TEXTS (sizeof texts / sizeof *texts)

static void two_models(struct train *train)
{
	name_ops(train);
	requests_of(train, pictures, PICTURES, 80);
	requests_of(train, texts, TEXTS, 80);
}

/* As many requests of each: what begins those of the first was taken for the word of both, and there were no steps. */
static void two_models_one_behind_the_other_are_two_loops(void **state)
{
	const struct process *process = steps_of(two_models);

	(void)state;
	assert_int_equal(process->step_count, 80);
	assert_int_equal(process->aside.calls, 80);
	assert_int_equal(process->aside.where, LOOP_BEHIND);
}

static void one_model_more_than_another(struct train *train)
{
	name_ops(train);
	requests_of(train, pictures, PICTURES, 30);
	requests_of(train, texts, TEXTS, 200);
}

/* The 30 were left out, and nothing was said of them. */
static void the_loop_that_is_not_counted_is_told(void **state)
{
	const struct process *process = steps_of(one_model_more_than_another);

	(void)state;
	assert_int_equal(process->step_count, 200);
	assert_int_equal(process->aside.calls, 30);
	assert_int_equal(process->aside.where, LOOP_BEFORE);
}

static void one_model_and_a_few_requests(struct train *train)
{
	name_ops(train);
	requests_of(train, pictures + 1, 4, 6);
	requests_of(train, texts, TEXTS, 200);
}

static void what_took_little_time_is_no_loop(void **state)
{
	const struct process *process = steps_of(one_model_and_a_few_requests);

	(void)state;
	assert_int_equal(process->step_count, 200);
	assert_int_equal(process->aside.calls, 0);
}

/* A loop of TensorFlow: three epochs of which the first fills a cache, each begins with an iterator; a checkpoint behind step SAVED. */
#define EPOCH 20
#define FILLED 12 /* batches, and then the cache has the others */
#define SAVED 25
#define LONG 900000 /* ticks; a step takes some 10000 */

static void filled_cache(struct train *train)
{
	enum { MAKE = 1, BATCH, LEARN, TAPE };

	train_name(train, MAKE, "MakeIterator");
	train_name(train, BATCH, "IteratorGetNext");
	train_name(train, LEARN, "__inference_learn_7");
	train_name(train, TAPE, "gradient_tape/MatMul:MatMul");
	for (unsigned i = 0; i < 3 * EPOCH; i++) {
		if (i % EPOCH == 0)
			one(train, MAKE, EAGER);
		uint64_t key = train_begin(train, BATCH, EAGER, 0);
		train->time += i < FILLED || i % EPOCH == 0 ? LONG : 0;
		train_end(train, key, EAGER);
		call(train, LEARN, TAPE);
		train->time += i == SAVED ? LONG : 0;
	}
}

/* Those steps of the first epoch were pauses: evaluation or a checkpoint, and no time went to waiting for input. */
static void waiting_for_a_batch_is_no_pause(void **state)
{
	const struct process *process = steps_of(filled_cache);

	(void)state;
	assert_int_equal(process->step_count, 3 * EPOCH);
	for (size_t i = 0; i + 1 < 3 * EPOCH; i++)
		if (i == SAVED || i % EPOCH == EPOCH - 1) /* what comes before a new iterator is an epoch's end */
			assert_int_equal(process->steps[i].rest_ns, process->steps[i].end_ns);
		else
			assert_int_equal(process->steps[i].rest_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(steps_are_found_among_many_functions, run_made_forget),
		cmocka_unit_test_teardown(waiting_for_a_batch_is_no_pause, run_made_forget),
		cmocka_unit_test_teardown(two_models_one_behind_the_other_are_two_loops, run_made_forget),
		cmocka_unit_test_teardown(the_loop_that_is_not_counted_is_told, run_made_forget),
		cmocka_unit_test_teardown(what_took_little_time_is_no_loop, run_made_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
