/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for steps, and which of them only evaluate, where a program has many names or functions before those that matter. */
#include "reducer/analysis/steps_evaluation.h"
#include "test/unit/run_made.h"

#include <stdlib.h>

#define NVTX 1
#define EARLIER 700u /* names, or functions, that come once */
#define REQUESTS 60u
#define REQUEST_NAME 5000u

/* Without a number, which would be taken for that of a request. */
static void name_range(struct maker *maker, unsigned number, const char *before)
{
	char id[24], name[32];

	snprintf(id, sizeof id, "#%u", number);
	snprintf(name, sizeof name, "%s %c%c%c", before, 'a' + number / 676 % 26, 'a' + number / 26 % 26, 'a' + number % 26);
	maker_fact(maker, TFP_TAG_string, (const char *const[]){id, name, NULL});
}

static void add_range(struct maker_records *records, uint64_t *time, unsigned name, unsigned ticks)
{
	MAKER_ADD(records, *time += 1000, range_push, .name = name, .source = NVTX);
	MAKER_ADD(records, *time += ticks, range_pop, .source = NVTX);
}

static void requests_are_found_behind_other_names(void **state)
{
	struct tfp_thread_slot slot = {.state = 1, .serial = 1, .tid = 100, .name = "server"};
	struct maker_records *records = calloc(1, sizeof *records);
	struct analysis_options options = {0};
	struct analysis_input input = {.options = &options};
	struct maker maker;
	struct units units;
	uint64_t time = 1000;

	(void)state;
	assert_non_null(records);
	maker_begin_seed(&maker);
	maker_live(&maker, TFP_BLOCK_THREADS, NULL, &slot, sizeof slot);
	maker.live.threads_count = 1;
	for (unsigned i = 1; i <= EARLIER; i++) {
		name_range(&maker, i, "load");
		add_range(records, &time, i, 100);
	}
	name_range(&maker, REQUEST_NAME, "answer");
	for (unsigned i = 0; i < REQUESTS; i++)
		add_range(records, &time, REQUEST_NAME, 5000);
	maker_events(&maker, 1, 0, 1, 0, records);
	free(records);
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.end_time = time + 1000;
	maker_finish(&maker);
	input.process = run_made_of(&maker, "units_test");
	input.run = run_made.run;
	units_make(&units, &input);
	assert_int_equal(units.kind, UNIT_REQUEST);
	assert_int_equal(units.count, REQUESTS);
	units_free(&units);
}

/* Two calls of each function but the last; every third learns, at the second. */
static void each_function_is_looked_at(void **state)
{
	static struct step_row rows[2 * EARLIER + 1];
	static uint64_t functions[2 * EARLIER + 1];
	struct steps steps = {.rows = rows, .count = 2 * EARLIER + 1};

	(void)state;
	for (unsigned i = 0; i < 2 * EARLIER; i++) {
		functions[i] = 7 + i / 2;
		rows[i].phase_ns[PHASE_BACKWARD] = i / 2 % 3 == 0 && i % 2 == 1;
	}
	steps_find_evaluation(&steps, functions);
	for (unsigned i = 0; i < 2 * EARLIER; i++)
		assert_int_equal(rows[i].is_evaluation, i / 2 % 3 != 0);
	assert_false(rows[2 * EARLIER].is_evaluation); /* of no function */
}

static void where_none_learns_none_evaluates(void **state)
{
	static struct step_row rows[2];
	struct steps steps = {.rows = rows, .count = 2};

	(void)state;
	steps_find_evaluation(&steps, (const uint64_t[]){1, 2});
	assert_false(rows[0].is_evaluation || rows[1].is_evaluation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(requests_are_found_behind_other_names, run_made_forget),
		cmocka_unit_test(each_function_is_looked_at),
		cmocka_unit_test(where_none_learns_none_evaluates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
