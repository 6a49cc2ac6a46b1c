/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from periodicity: found in jobs as they are, and none in programs without any. */
#include "reducer/model/periods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct periods periods;
static struct period_found found;
static uint64_t now;
static uint64_t seed;
static uint32_t thread;

static int make(void **state)
{
	(void)state;
	now = 0;
	seed = 12345;
	thread = 1;
	return periods_begin(&periods);
}

static int drop(void **state)
{
	(void)state;
	periods_free(&periods);
	free(found.steps);
	found.steps = NULL;
	return 0;
}

static uint32_t chance(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void word(uint64_t key, uint64_t took)
{
	periods_add(&periods, key, now, thread);
	now += took;
}

static void words(uint64_t first, int count)
{
	for (int i = 0; i < count; i++)
		word(first + (uint64_t)i, 10 + chance(5));
}

enum { LOAD = 1, FORWARD = 100, BACKWARD = 200, UPDATE = 300, SAVE = 400, START = 500, SCORE = 600, OTHER = 700 };

static void train_step(int variant)
{
	word(LOAD, 50);
	words(FORWARD, 10);
	words(OTHER + variant * 10, 3); /* kernels that depend on the shape */
	words(BACKWARD, 12);
	words(UPDATE, 6);
}

static void evaluate(int batches)
{
	for (int i = 0; i < batches; i++) {
		word(LOAD, 50);
		words(FORWARD, 10);
		word(SCORE, 10);
	}
}

static void finds(size_t steps, double least)
{
	assert_int_equal(periods_find(&periods, &found), 0);
	assert_int_equal(found.count, steps);
	assert_true(found.confidence >= least && found.confidence <= 1);
	for (size_t i = 0; i + 1 < found.count; i++)
		assert_int_equal(found.steps[i].end, found.steps[i + 1].begin);
}

static void finds_none(void)
{
	assert_int_equal(periods_find(&periods, &found), 0);
	assert_int_equal(found.count, 0);
	assert_null(found.steps);
}

static void a_plain_loop(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++)
		train_step(0);
	finds(50, 0.99);
	assert_int_equal(found.anchor, LOAD);
	assert_true(found.steps[7].likeness > 0.99);
}

static void other_work_follows_a_step(void **state)
{
	uint64_t ends[40];

	(void)state;
	for (int i = 0; i < 40; i++) {
		train_step(0);
		ends[i] = now;
		if (i % 10 == 9)
			words(SAVE, 80);
	}
	finds(40, 0.8);
	for (int i = 0; i < 39; i++)
		assert_int_equal(found.steps[i].rest, i % 10 == 9 ? ends[i] : 0);
}

/* A loop whose step waits for its batch in front: behind the last one none comes, but other work. */
static void what_follows_the_last_step_is_not_its(void **state)
{
	uint64_t end = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		words(FORWARD, 6);
		end = now;
		if (i < 39)
			word(LOAD, 50);
	}
	word(SAVE, 10000); /* the result is read, by code that is compiled first */
	words(SAVE + 1, 60);
	finds(40, 0.9);
	assert_int_equal(found.anchor, FORWARD);
	assert_int_equal(found.steps[39].end, end);
}

/* Results are printed at the end, five alike, where of 26 steps one was not like the others. */
static void a_small_loop_behind_the_steps_is_not_preferred(void **state)
{
	(void)state;
	for (int i = 0; i < 26; i++) {
		train_step(0);
		words(START, i == 12 ? 40 : 0);
	}
	for (int i = 0; i < 5; i++)
		words(SAVE, 3);
	finds(26, 0.5);
}

static void a_whole_job(void **state)
{
	(void)state;
	words(START, 80);
	for (int i = 0; i < 3; i++) { /* warm-up: everything twice, other kernels are tried */
		train_step(1);
		words(START, 20);
	}
	for (int i = 0; i < 100; i++) {
		train_step((int)chance(4));
		if (i % 40 == 39) {
			evaluate(10);
			words(SAVE, 60);
		}
	}
	words(SAVE, 60);
	finds(103, 0.7);
	assert_true(found.anchor >= OTHER || found.anchor >= BACKWARD);
}

/* Two threads train side by side, one a device: a step is one of both, not one of each. */
static void threads_abreast(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		thread = 1 + (uint32_t)(i & 1);
		train_step(0);
		thread = 3 - thread;
		train_step(0);
	}
	finds(40, 0.99);
}

/* Two threads serve requests, by chance each as often, but not in rounds: each request is one. */
static void threads_of_one_queue(void **state)
{
	(void)state;
	for (int i = 0; i < 80; i++) {
		thread = i % 8 < 3 || i % 8 == 5 ? 1 : 2; /* 1 1 1 2 2 1 2 2 */
		train_step(0);
	}
	finds(80, 0.99);
}

/* Two threads serve requests, the one much more often: each request is one. */
static void threads_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		thread = i % 4 == 0 ? 2 : 1;
		train_step(0);
	}
	finds(40, 0.99);
}

/* The first step compiles, for longer than all others take; a checkpoint goes to a slow disk. */
static void time_does_not_count(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		train_step(0);
		if (i == 0 || i == 30)
			now += 100000000;
	}
	finds(60, 0.99);
}

/* Twelve equal layers forward, twelve backward, then the update: the step is the whole, not the layer. */
static void layers_are_no_steps(void **state)
{
	(void)state;
	for (int step = 0; step < 30; step++) {
		word(LOAD, 20);
		for (int layer = 0; layer < 12; layer++)
			words(FORWARD, 5);
		for (int layer = 0; layer < 12; layer++)
			words(BACKWARD, 7);
		words(UPDATE, 4);
	}
	finds(30, 0.99);
}

static void only_forward_layers_are_no_steps(void **state)
{
	(void)state;
	for (int step = 0; step < 30; step++) {
		word(LOAD, 20);
		for (int layer = 0; layer < 12; layer++)
			words(FORWARD, 5);
		words(SCORE, 4);
	}
	finds(30, 0.99);
}

static void epochs_are_no_steps(void **state)
{
	(void)state;
	for (int epoch = 0; epoch < 8; epoch++) {
		for (int step = 0; step < 60; step++)
			train_step(0);
		evaluate(4);
		words(SAVE, 10);
	}
	finds(480, 0.9);
}

static void know(uint64_t key, enum period_word_kind kind)
{
	for (size_t i = 0; i < periods.symbol_count; i++)
		if (periods.symbols[i].key == key)
			periods.symbols[i].kind = kind;
}

/* Fifty equal layers behind another one, and a head like each of them: more regular than the layers is hardly possible. */
static void layers_of_a_deep_net_are_no_steps(void **state)
{
	(void)state;
	for (int step = 0; step < 30; step++) {
		word(LOAD, 20);
		for (int layer = 0; layer < 50; layer++)
			words(FORWARD, 5);
		words(FORWARD, 4);
	}
	know(LOAD, PERIOD_WORD_LAYER);
	know(FORWARD, PERIOD_WORD_LAYER);
	finds(30, 0.9);
	assert_int_equal(found.anchor, LOAD);
}

/* A compiler says more in the first step, and once again later, than all steps say together. */
static void what_compiles_may_outlast_the_steps(void **state)
{
	(void)state;
	for (int step = 0; step < 30; step++) {
		word(LOAD, 20);
		for (int i = 0; i < 500 && (step == 0 || step == 20); i++) {
			word(START + chance(40), 5);
			if (i % 50 == 0)
				word(OTHER, 5);
		}
		words(FORWARD, 3);
	}
	finds_none();
	know(OTHER, PERIOD_WORD_TRACE);
	finds(30, 0.9);
	assert_int_equal(found.anchor, LOAD);
	assert_int_equal(found.steps[0].rest, 0); /* it is part of the step */
	assert_int_equal(found.steps[20].rest, 0);
}

static void a_net_that_is_made_has_no_steps(void **state)
{
	(void)state;
	for (int layer = 0; layer < 60; layer++)
		words(START, 6);
	for (int i = 0; i < 6; i++)
		know(START + (uint64_t)i, PERIOD_WORD_MAKING);
	finds_none();
	know(START, PERIOD_WORD_PLAIN);
	finds(60, 0.99);
}

/* Batches that a net predicts, and another net that looks at them now and then: an epoch is no step of theirs. */
static void batches_are_no_layers(void **state)
{
	(void)state;
	for (int epoch = 0; epoch < 8; epoch++) {
		for (int step = 0; step < 40; step++) {
			word(LOAD, 50);
			words(FORWARD, 5);
		}
		words(SCORE, 3);
	}
	know(LOAD, PERIOD_WORD_LOOP);
	know(FORWARD, PERIOD_WORD_LAYER);
	know(SCORE, PERIOD_WORD_LAYER);
	finds(320, 0.9);
}

static void chance_has_no_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++)
		word(FORWARD + chance(30), 5 + chance(50));
	finds_none();
}

static void few_kinds_by_chance_have_no_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++)
		word(FORWARD + chance(6), 5 + chance(50));
	finds_none();
}

/* A server: requests of ten kinds, each with words of its own, in any order. */
static void mixed_requests_are_no_steps(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3000; i++) {
			uint64_t kind = 1000 + 50 * chance(10);
			words(kind, 4 + (int)chance(20));
		}
		finds_none();
		periods_free(&periods);
		periods_begin(&periods);
	}
}

static void one_call_repeated_is_no_step(void **state)
{
	(void)state;
	for (int i = 0; i < 5000; i++)
		word(FORWARD, 10);
	finds_none();
}

/* Seven graphs are given back at the end, in no time: these are no steps of what took all the rest. */
static void what_is_given_back_at_the_end_is_no_step(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		word(FORWARD + chance(30), 50 + chance(50));
	for (int i = 0; i < 7; i++)
		words(SAVE, 4);
	finds_none();
}

/* A net is made, with more words than its few steps have; or was compiled for longer than these last. */
static void few_or_short_steps_are_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 10000; i++)
		word(START + chance(30), 1);
	for (int i = 0; i < 6; i++)
		train_step(0);
	finds(6, 0.9);
	free(found.steps);
	periods_free(&periods);
	periods_begin(&periods);
	word(START, 10000000);
	for (int i = 0; i < 6; i++)
		train_step(0);
	finds(6, 0.9);
}

static void straight_code_has_no_steps(void **state)
{
	(void)state;
	words(START, 5000);
	finds_none();
}

static void four_are_too_few(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		train_step(0);
	finds_none();
}

static void millions_of_words_fit(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		train_step(0);
		for (int j = 0; j < 1000; j++)
			word(START + (uint64_t)(j % 2), 1);
	}
	assert_true(periods.count <= 1u << 20);
	finds(3000, 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_plain_loop, make, drop),
		cmocka_unit_test_setup_teardown(other_work_follows_a_step, make, drop),
		cmocka_unit_test_setup_teardown(threads_abreast, make, drop),
		cmocka_unit_test_setup_teardown(threads_of_one_queue, make, drop),
		cmocka_unit_test_setup_teardown(threads_apart, make, drop),
		cmocka_unit_test_setup_teardown(what_follows_the_last_step_is_not_its, make, drop),
		cmocka_unit_test_setup_teardown(a_small_loop_behind_the_steps_is_not_preferred, make, drop),
		cmocka_unit_test_setup_teardown(a_whole_job, make, drop),
		cmocka_unit_test_setup_teardown(time_does_not_count, make, drop),
		cmocka_unit_test_setup_teardown(layers_are_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(only_forward_layers_are_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(layers_of_a_deep_net_are_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(batches_are_no_layers, make, drop),
		cmocka_unit_test_setup_teardown(what_compiles_may_outlast_the_steps, make, drop),
		cmocka_unit_test_setup_teardown(a_net_that_is_made_has_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(epochs_are_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(chance_has_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(few_kinds_by_chance_have_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(mixed_requests_are_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(one_call_repeated_is_no_step, make, drop),
		cmocka_unit_test_setup_teardown(what_is_given_back_at_the_end_is_no_step, make, drop),
		cmocka_unit_test_setup_teardown(few_or_short_steps_are_steps, make, drop),
		cmocka_unit_test_setup_teardown(straight_code_has_no_steps, make, drop),
		cmocka_unit_test_setup_teardown(four_are_too_few, make, drop),
		cmocka_unit_test_setup_teardown(millions_of_words_fit, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
