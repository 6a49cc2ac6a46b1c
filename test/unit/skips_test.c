/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of skips_split: where skipped batches lie among the steps, on several threads, and of very many. */
#include "reducer/model/skips.h"

#include "reducer/model/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 200000 /* steps, and skips: their product is more than a test has time for */

/* A step each 100 ticks from 100 on, of two threads in turn. */
static void make(struct process *process, size_t count)
{
	*process = (struct process){.steps = NULL};
	for (size_t i = 0; i < count; i++) {
		process->steps = model_room(process->steps, i, sizeof *process->steps);
		process->steps[process->step_count++] = (struct step){.time_ns = (int64_t)(i + 1) * 100,
								      .end_ns = (int64_t)(i + 3) * 100,
								      .thread = 1 + (uint32_t)i % 2,
								      .source = SOURCE_record_function,
								      .is_chosen = 1};
	}
}

static void skips_are_fronts(void **state)
{
	static const struct skip skips[] = {{50, 1}, {150, 1}, {160, 1}, {310, 2}, {450, 1}};
	static const int64_t wanted[][3] = {{100, 150, 1}, {150, 160, 1}, {160, 300, 1}, {200, 310, 2},
					    {310, 400, 2}, {300, 450, 1}, {450, 500, 1}, {400, 600, 2}};
	struct period periods[] = {{.step = 0}, {.step = SIZE_MAX}, {.step = 2}, {.step = 3}};
	struct process process;

	(void)state;
	make(&process, 4);
	skips_split(&process, skips, sizeof skips / sizeof *skips, periods, 4);
	assert_int_equal(process.step_count, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(process.steps[i].time_ns, wanted[i][0]);
		assert_int_equal(process.steps[i].end_ns, wanted[i][1]);
		assert_int_equal(process.steps[i].thread, wanted[i][2]);
	}
	assert_int_equal(periods[0].step, 0);
	assert_int_equal(periods[1].step, SIZE_MAX);
	assert_int_equal(periods[2].step, 5);
	assert_int_equal(periods[3].step, 7);
	free(process.steps);
}

static void many_are_not_looked_through_for_each(void **state)
{
	struct skip *skips = calloc(MANY, sizeof *skips);
	struct process process;

	(void)state;
	make(&process, MANY);
	for (size_t i = 0; i < MANY; i++)
		skips[i] = (struct skip){.time = (i + 1) * 100 + 50, .thread = 1 + (uint32_t)i % 2};
	skips_split(&process, skips, MANY, NULL, 0);
	assert_int_equal(process.step_count, 2 * MANY);
	assert_int_equal(process.steps[2 * MANY - 1].time_ns, MANY * 100 + 50);
	free(process.steps);
	make(&process, MANY);
	process.steps[0].thread = 3;
	for (size_t i = 0; i < MANY; i++) /* far behind the only step of their thread; one is late by a step */
		skips[i] = (struct skip){.time = MANY * 100 + i - (i == 1 ? 1000 : 0), .thread = 3 - (i == 1)};
	skips_split(&process, skips, MANY, NULL, 0);
	assert_int_equal(process.step_count, 2 * MANY);
	assert_int_equal(process.steps[MANY - 1].time_ns, MANY * 100 + MANY - 1);
	assert_int_equal(process.steps[2 * MANY - 11].time_ns, MANY * 100 - 999);
	free(process.steps);
	free(skips);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(skips_are_fronts), cmocka_unit_test(many_are_not_looked_through_for_each)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
