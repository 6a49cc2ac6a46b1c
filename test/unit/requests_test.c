/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that threads answer beside each other, from the records of a log: each is one, what repeats across threads makes no steps. */
#include "test/logmaker.h"
#include "test/unit/run_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4u
#define ROUNDS 60u
#define ROUND 100000u /* ticks, of 1 ns */
#define NVTX 1
enum { REQUEST = 77, LIBRARY };
enum { COPY = 1, LAUNCH, WAIT }; /* functions of CUDA; none is asked for by its name */


static void call(struct maker_records *records, uint64_t *time, unsigned function)
{
	MAKER_ADD(records, *time += 1000, gpu_call, .duration = 500, .function = function, .stack = 1, .flags = 2);
}

/* name: of the range around all of it, or around its wait alone; 0 = none */
static void answer(struct maker_records *records, uint64_t time, uint64_t around_all, uint64_t around_wait)
{
	if (around_all)
		MAKER_ADD(records, time += 1000, range_push, .name = around_all, .source = NVTX);
	call(records, &time, COPY);
	for (int i = 0; i < 4; i++)
		call(records, &time, LAUNCH);
	if (around_wait)
		MAKER_ADD(records, time += 1000, range_push, .name = around_wait, .source = NVTX);
	call(records, &time, WAIT);
	if (around_wait)
		MAKER_ADD(records, time += 1000, range_pop, .source = NVTX);
	if (around_all)
		MAKER_ADD(records, time += 1000, range_pop, .source = NVTX);
}

/* How many steps are found where so many threads take turns. */
static size_t count_steps(unsigned threads, uint64_t around_all, uint64_t around_wait)
{
	struct tfp_thread_slot slots[THREADS] = {{.state = 0}};
	struct maker maker;

	maker_begin_seed(&maker);
	for (unsigned t = 0; t < threads; t++)
		slots[t] = (struct tfp_thread_slot){.state = 1, .serial = t + 1, .tid = 100 + t, .name = "worker"};
	maker_live(&maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	maker.live.threads_count = threads;
	for (unsigned t = 0; t < threads; t++) {
		struct maker_records *records = calloc(1, sizeof *records);
		assert_non_null(records);
		for (unsigned i = 0; i < ROUNDS; i++)
			answer(records, 100000 + (i * threads + t) * (uint64_t)ROUND / threads, around_all, around_wait);
		maker_events(&maker, t + 1, 0, 1, 0, records);
		free(records);
	}
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.end_time = 200000 + (uint64_t)ROUNDS * ROUND;
	maker_finish(&maker);
	return run_made_of(&maker, "requests_test")->step_count;
}

/* "60 steps" of a server that answered 240 requests on four threads. */
static void of_several_threads_are_no_steps(void **state)
{
	(void)state;
	assert_int_equal(count_steps(THREADS, REQUEST, 0), 0);
}

static void of_one_thread_are_its_steps(void **state)
{
	(void)state;
	assert_int_equal(count_steps(1, REQUEST, 0), ROUNDS);
}

/* Threads train beside each other, one a device, and a library names its own calls. */
static void a_library_names_none(void **state)
{
	(void)state;
	assert_int_equal(count_steps(THREADS, 0, LIBRARY), ROUNDS);
}

static void nor_does_nobody(void **state)
{
	(void)state;
	assert_int_equal(count_steps(THREADS, 0, 0), ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(of_several_threads_are_no_steps, run_made_forget),
		cmocka_unit_test_teardown(of_one_thread_are_its_steps, run_made_forget),
		cmocka_unit_test_teardown(a_library_names_none, run_made_forget),
		cmocka_unit_test_teardown(nor_does_nobody, run_made_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
