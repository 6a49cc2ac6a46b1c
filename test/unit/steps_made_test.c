/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of the steps of made loops that nobody marked, from the records of a log to step_stats: as real GPUs record them, where none
 * is at hand. Each is the outline of a program that was recorded on one.
 */
#include "reducer/model/run.h"
#include "test/logmaker_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TSL 1
#define NVTX 1
#define LAUNCH 1 /* a function of CUDA; none of it is asked for by its name */

static char path[64];
static struct diag_list diags;
static struct run *run;

static void named(struct train *train, const char *const *names, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		train_name(train, i, names[i]);
}

/* The steps of a log of one thread with what `work` puts into it. */
static const struct process *steps_of(void (*work)(struct train *train))
{
	const char *paths[1] = {path};
	struct maker maker;

	train_make(&maker, work);
	snprintf(path, sizeof path, "steps_made_test.%d.tfp", (int)getpid());
	assert_int_equal(maker_write(&maker, path, maker.size), 0);
	maker_free(&maker);
	run = run_open(paths, 1, &(struct run_options){0}, &diags);
	assert_non_null(run);
	assert_int_equal(run_scan(run, &(struct run_options){0}), 0);
	return &run->processes[0];
}

static int forget(void **state)
{
	(void)state;
	unlink(path);
	run_close(run);
	diag_free(&diags);
	memset(&diags, 0, sizeof diags);
	run = NULL;
	return 0;
}

static void launch(struct train *train)
{
	PUT(train, gpu_call, .duration = 500, .function = LAUNCH, .stack = 1, .flags = 2);
}

/* lax.scan of `rounds`: the host launches each round of its loop. */
static void scan_in_call(struct train *train, uint32_t name, unsigned rounds)
{
	uint64_t key = train_begin(train, name, XLA, 0);

	PUT(train, range_push, .name = 71, .domain = TSL, .source = NVTX);
	for (unsigned i = 0; i < rounds; i++) {
		PUT(train, range_push, .name = 72, .domain = TSL, .source = NVTX);
		launch(train);
		launch(train);
		PUT(train, range_pop, .domain = TSL, .source = NVTX);
	}
	PUT(train, range_pop, .domain = TSL, .source = NVTX);
	train_end(train, key, XLA);
}

static void one(struct train *train, uint32_t name, uint8_t source)
{
	train_end(train, train_begin(train, name, source, 0), source);
}

static void scan_calls(struct train *train, unsigned calls)
{
	enum { COMPILE = 1, FIRST, RUN, FREE, WAIT, NAMES };
	static const char *const names[NAMES] = {[COMPILE] = "XLA call: main (a.py, line 9) in backend_compile_and_load +0xc",
						 [FIRST] = "XLA call: main (a.py, line 9) in __call__ +0x1",
						 [RUN] = "XLA call: main (a.py, line 9) +0x5",
						 [FREE] = "XLA call: main (a.py, line 9) +0x3",
						 [WAIT] = "XLA call: main (a.py, line 9) in block_until_ready +0x7"};

	named(train, names, NAMES);
	for (unsigned i = 0; i < calls; i++) {
		if (i == 0)
			one(train, COMPILE, XLA);
		scan_in_call(train, i == 0 ? FIRST : RUN, 50);
		if (i > 0)
			one(train, FREE, XLA);
		one(train, WAIT, XLA);
	}
}

static void scan_called_often(struct train *train)
{
	scan_calls(train, 10);
}

static void scan_called_once(struct train *train)
{
	scan_calls(train, 1);
}

/* 500 steps were found where a person means the ten calls of the function that has a loop inside. */
static void what_a_compiled_function_repeats_is_no_step(void **state)
{
	const struct process *process = steps_of(scan_called_often);

	(void)state;
	assert_int_equal(process->step_count, 10);
	for (size_t i = 0; i < process->step_count; i++)
		assert_int_equal(process->steps[i].source, STEP_BY_PERIOD);
}

/* All training may be one call: then its rounds are all that repeats. */
static void unless_it_is_called_once(void **state)
{
	(void)state;
	assert_int_equal(steps_of(scan_called_once)->step_count, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_a_compiled_function_repeats_is_no_step, forget),
		cmocka_unit_test_teardown(unless_it_is_called_once, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
