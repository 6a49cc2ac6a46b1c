/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of collectors/repeats.c: words of loops go in, numbers of steps come out.
 *
 * Rule: each test has a process of its own, for what was seen is kept for good.
 */
#include "collectors/repeats.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int ready(void)
{
	return 0;
}
int (*const tfp_start_process)(void) = ready;

#define SECOND 1000000u

static const char here, other;
static uint64_t last; /* number of the step that began last */
static uint64_t now, pace = 2000; /* microseconds that each word takes */

/* Gives words of letters; returns how many steps began. */
static unsigned say(const char *words)
{
	unsigned begun = 0;

	for (; *words; words++) {
		uint64_t step = tfp_repeats_step(&here, (uint64_t)(unsigned char)*words << 20, now += pace, SECOND);
		last = step ? step : last;
		begun += step != 0;
	}
	return begun;
}

/* Runs a test where nothing has been seen yet. */
static void alone(void (*test)(void))
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		test();
		_exit(0);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
}

static void want(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "%s; the last step is %llu\n", what, (unsigned long long)last);
		_exit(1);
	}
}
#define WANT(condition) want(condition, #condition)

static void a_loop(void)
{
	WANT(say("init and so on") == 0); /* letters of it come in the loop: they are no anchor */
	WANT(say("xdyxdy") == 0);
	say("xdy");
	WANT(say("x") == 1 && last == 4); /* the fourth round, and it is known at its first word */
	WANT(say("dy") == 0);
	for (unsigned round = 5; round < 100; round++)
		WANT(say("xdy") == 1 && last == round);
	WANT(say("no loop any more") == 0);
}

static void one_word(void)
{
	say("abc");
	WANT(say("zzzz") == 0);
	say("z");
	WANT(say("z") == 1 && last == 6);
}

static void nothing_repeats(void)
{
	for (uint64_t word = 1; word < 5000; word++)
		WANT(tfp_repeats_step(&here, word * word, 0, SECOND) == 0);
}

/* Each third round scores, each tenth writes: the loop is still the loop, and its steps are counted on. */
static void other_work_between(void)
{
	for (unsigned round = 1; round < 200; round++) {
		say("ab");
		if (round % 3 == 0)
			say("s");
		say("c");
		if (round % 10 == 0)
			say("wv");
		WANT(round < 12 || last == round);
	}
}

/* Equal layers are taken for steps until whole steps were seen to repeat. */
static void layers(void)
{
	pace = 10;
	for (unsigned step = 1; step < 20; step++) {
		unsigned begun = say("ekqvkqvkqvkqvkqvkqvhu");
		WANT(step < 5 || (begun == 1 && last == step));
	}
}

/* What a step leaves behind is freed, one after the other, in a rush that is no loop of steps. */
static void frees(void)
{
	for (unsigned step = 1; step < 20; step++) {
		pace = step % 2 ? 100000 : 300;
		unsigned begun = say("e");
		pace = 3;
		WANT(say("fffffffffffffffffffffffffffff") == 0);
		WANT(step < 5 || (begun == 1 && last == step));
	}
}

/* Also where some of it is freed only after a wait (jax.jit, whose old weights go when the new ones are there). */
static void frees_around_a_wait(void)
{
	for (unsigned step = 1; step < 20; step++) {
		pace = 300;
		WANT(say("eexf") <= 1);
		pace = 4;
		WANT(say("ffffffffffffffffffffffffffff") == 0);
		pace = 5000;
		WANT(say("f") == 0);
		pace = 4;
		WANT(say("f") == 0);
	}
	WANT(last >= 19);
}

/* A model's layers are initialized one after the other, and a window opens for that; then comes the loop. */
static void settled_before_the_loop(void)
{
	pace = 400;
	for (unsigned layer = 1; layer <= 12; layer++)
		say("uvw");
	WANT(last == 12);
	tfp_repeats_settle();
	for (unsigned round = 1; round <= 40; round++)
		say("rstrtt");
	WANT(last == 40);
}

/* What makes the weights repeats, too: a loop that is over gives way. */
static void before_the_loop(void)
{
	say("wwwwwwwwwwwwwwwwwwww");
	for (unsigned round = 1; round < 30; round++) {
		say("rst");
		WANT(round < 9 || last == round);
	}
}

/* A window was open: what a step is stays. */
static void settled(void)
{
	pace = 10;
	for (unsigned epoch = 0; epoch < 12; epoch++) {
		for (unsigned step = 0; step < 7; step++)
			say("fgh");
		say("EEE");
		if (epoch == 0)
			tfp_repeats_settle();
	}
	WANT(last == 12 * 7);
}

/* Evaluation behind each epoch is no other loop, as long as all before it. */
static void settled_with_evaluation(void)
{
	for (unsigned epoch = 0; epoch < 5; epoch++) {
		for (unsigned step = 0; step < 30; step++)
			say("fgh");
		if (epoch == 0)
			tfp_repeats_settle();
		for (unsigned batch = 0; batch < 20; batch++)
			WANT(say("abc") == 0);
	}
	WANT(last == 5 * 30);
}

/* Another thread that makes more calls takes over; a few between change nothing. */
static void threads(void)
{
	for (unsigned i = 0; i < 5; i++)
		tfp_repeats_step(&other, i + 1, 0, SECOND);
	for (unsigned round = 0; round < 10; round++)
		say("mno");
	WANT(last > 6);
	uint64_t before = last;
	tfp_repeats_step(&other, 17, 0, SECOND);
	WANT(say("mno") == 1 && last == before + 1);
}

static _Atomic int is_over;

static void *call_beside(void *unused)
{
	for (uint64_t word = 1; !is_over; word++)
		tfp_repeats_step(&other, word % 50 + 1, 0, SECOND);
	return unused;
}

/* Those of others never make a word of the thread that is followed be left out. */
static void threads_beside(void)
{
	pthread_t thread;

	for (unsigned round = 1; round <= 10; round++)
		say("mno");
	WANT(last == 10 && pthread_create(&thread, NULL, call_beside, NULL) == 0);
	for (unsigned round = 11; round < 300000; round++)
		WANT(say("mno") == 1 && last == round);
	is_over = 1;
	pthread_join(thread, NULL);
}

static void *go_on(void *unused)
{
	while (!is_over)
		tfp_repeats_step(&here, (uint64_t)'m' << 20, 0, SECOND);
	return unused;
}

/* The thread that was in here does not exist in a fork child, whose own words are counted on. */
static void forked_within(void)
{
	pthread_t thread;

	for (unsigned round = 1; round <= 10; round++)
		say("mno");
	tfp_repeats_settle();
	WANT(last == 10 && pthread_create(&thread, NULL, go_on, NULL) == 0);
	for (unsigned i = 0; i < 200; i++) {
		int status = 1;
		pid_t child = fork();
		if (child == 0) {
			tfp_repeats_forked();
			_exit(say("mnomno") != 2);
		}
		WANT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	}
	is_over = 1;
	pthread_join(thread, NULL);
}

/* More different words than are told apart, then a loop, then more of them, which are not, and another loop. */
static void too_many_words(void)
{
	for (uint64_t word = 1; word < 100000; word++)
		tfp_repeats_step(&here, word * 0x10001, 0, SECOND);
	for (unsigned round = 0; round < 2000; round++)
		say("xyz");
	WANT(last >= 1990);
	for (uint64_t word = 1; word < 100000; word++)
		tfp_repeats_step(&here, word * 0x10001, 0, SECOND);
	last = 0;
	for (unsigned round = 0; round < 2000; round++)
		say("rst");
	WANT(last >= 1990);
}

#define TEST(name) \
	static void test_##name(void **unused) \
	{ \
		(void)unused; \
		alone(name); \
	}
TEST(a_loop)
TEST(one_word)
TEST(nothing_repeats)
TEST(other_work_between)
TEST(layers)
TEST(frees)
TEST(frees_around_a_wait)
TEST(before_the_loop)
TEST(settled_before_the_loop)
TEST(settled)
TEST(settled_with_evaluation)
TEST(threads)
TEST(threads_beside)
TEST(forked_within)
TEST(too_many_words)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loop),
		cmocka_unit_test(test_one_word),
		cmocka_unit_test(test_nothing_repeats),
		cmocka_unit_test(test_other_work_between),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_frees_around_a_wait),
		cmocka_unit_test(test_before_the_loop),
		cmocka_unit_test(test_settled_before_the_loop),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_settled_with_evaluation),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_beside),
		cmocka_unit_test(test_forked_within),
		cmocka_unit_test(test_too_many_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
