/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of days: of looks at Python code that follow each other one stands for several, sums stay exact, what ran is not told of the place
 * that waits, and the first hours are known as well as the last ones.
 */
#include "reducer/model/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define TAG 7
#define WAITS 11 /* stacks: 90 ms of waiting, */
#define RUNS 22  /* then 10 ms on a processor */
#define LOOKS (20ull * PYTHON_LOOKS_MOST + 1)
#define EACH_MOST 128 /* looks that one stands for: of each thread 64, and where what came since is joined to those up to twice as many */
#define WAIT_NS 90000000u
#define RUN_NS 10000000u

static void take(const struct scan_subject *subject, void *state, struct batch *batch, uint64_t number, uint64_t time)
{
	static const int fields[] = {0, 1, 2, 3, 4};
	const uint64_t runs = number % 2;
	const uint64_t values[] = {1 + number / 2 % 3, runs ? RUNS : WAITS, runs ? RUN_NS : WAIT_NS, runs ? RUN_NS : 0, runs};

	assert_int_equal(batch_begin(batch, 1), 0);
	struct batch_kind *kind = batch_add(batch, TAG, time);
	for (uint32_t field = 0; field < 5; field++)
		batch_field(batch, kind, field)[0] = values[field];
	subject->records[0].take(state, 0, batch, 0, fields);
}

static void test_a_long_run(void **unused)
{
	struct process process = {.log_id = 5};
	struct scan scan = {.process = &process};
	struct batch batch = {0};
	void *state = python_time_subject.begin(&scan);
	uint64_t wall[2] = {0, 0}, cpu[2] = {0, 0};

	(void)unused;
	for (uint64_t i = 0; i < LOOKS; i++)
		take(&python_time_subject, state, &batch, i, i);
	assert_true(process.python.look_count <= PYTHON_LOOKS_MOST && process.python.look_count > PYTHON_LOOKS_MOST / 4);
	for (size_t i = 0; i < process.python.look_count; i++) {
		const struct python_look *look = &process.python.looks[i];
		wall[look->stack == RUNS] += look->wall_ns;
		cpu[look->cpu_stack == RUNS] += look->cpu_ns;
		assert_true(look->cpu_ns == 0 || look->cpu_stack == RUNS);
		assert_true((uint64_t)look->cpu_time_ns < LOOKS);
		assert_int_equal(look->is_collecting, look->stack == RUNS);
		assert_true(look->wall_ns <= EACH_MOST * (uint64_t)WAIT_NS);
	}
	assert_int_equal(wall[0] + wall[1], LOOKS / 2 * (WAIT_NS + RUN_NS) + WAIT_NS);
	assert_int_equal(cpu[0], 0);
	assert_int_equal(cpu[1], LOOKS / 2 * RUN_NS);
	assert_true(wall[1] > (wall[0] + wall[1]) / 100 * 9 && wall[1] < (wall[0] + wall[1]) / 100 * 11);
	free(process.python.looks);
	python_time_subject.free(state);
	batch_free(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_long_run)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
