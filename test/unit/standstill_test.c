/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of steps that stopped before their process ended, and of where its code stood meanwhile.
 *
 * Rule: times are in milliseconds; each test changes one thing of a process that stands still.
 */
#include "reducer/read/log.h"
#include "reducer/tables/standstill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define STEPS 20
#define END (2000 * MS) /* of the last step */

static struct log whole; /* that gave nothing up */

struct fixture {
	struct diag_list diags;
	struct process process;
	struct run run;
	struct request request;
	struct window_range range;
	struct step steps[STEPS];
	struct step_row items[STEPS];
	const struct step_row *order[STEPS];
	bool is_first[STEPS];
	struct step_rows rows;
};

/* Steps of 100 ms, killed 3 s after the last one. */
static int set_up(void **state)
{
	struct fixture *made = calloc(1, sizeof(*made));

	made->range = (struct window_range){INT64_MIN, INT64_MAX};
	made->process = (struct process){.log = &whole, .command = "train", .called = "7", .end = END_SIGNAL, .end_status = 9,
					 .end_ns = END + 3000 * MS, .steps = made->steps,
					 .step_count = STEPS, .ranges = &made->range, .range_count = 1};
	made->run = (struct run){.processes = &made->process, .process_count = 1, .diags = &made->diags, .is_scanned = 1};
	made->request = (struct request){.run = &made->run, .from_ns = INT64_MIN, .to_ns = INT64_MAX};
	for (size_t i = 0; i < STEPS; i++) {
		made->steps[i] = (struct step){.time_ns = (int64_t)i * 100 * MS, .end_ns = (int64_t)(i + 1) * 100 * MS, .number = i + 5,
					       .thread = 3, .confidence = 1, .is_chosen = 1};
		made->items[i] = (struct step_row){.kind = UNIT_STEP, .total_ns = 100 * MS};
		made->order[i] = &made->items[i];
	}
	made->is_first[0] = true;
	made->rows = (struct step_rows){.items = made->order, .count = STEPS, .whole_count = STEPS, .kind = UNIT_STEP,
					.judged_count = STEPS - 1, .is_first = made->is_first};
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static bool stands(struct fixture *made)
{
	struct standstill still;

	assert_true(standstill_since(&still, &made->request, 0));
	assert_int_equal(still.from_ns, END);
	assert_int_equal(still.step, STEPS + 4);
	assert_int_equal(still.thread, 3);
	return standstill_has_stopped(&still, &made->rows, &made->request);
}

static void how_long(void **state)
{
	struct fixture *made = *state;

	assert_true(stands(made));
	made->process.end_ns -= 1;
	assert_false(stands(made));
	made->process.gone_ns = END + 3000 * MS; /* no record for long, but it was there */
	assert_true(stands(made));
	made->items[7].total_ns = (uint64_t)(1500 * MS);
	assert_true(stands(made));
	made->items[7].total_ns += 1;
	assert_false(stands(made));
	made->items[7].total_ns = (uint64_t)(100 * MS);
	made->items[0].total_ns = (uint64_t)(9000 * MS); /* the first one compiles */
	assert_true(stands(made));
	for (size_t i = 0; i < STEPS; i++)
		made->items[i].total_ns = (uint64_t)(301 * MS);
	assert_false(stands(made));
}

static void how_it_ended(void **state)
{
	struct fixture *made = *state;
	struct process *process = &made->process;

	process->end = END_RUNNING;
	assert_true(stands(made));
	process->end = END_UNKNOWN;
	assert_true(stands(made));
	process->end = END_EXEC;
	assert_false(stands(made));
	process->end = END_EXIT;
	assert_true(stands(made));
	process->end_status = 0;
	assert_false(stands(made));
}

static void what_was_not_recorded(void **state)
{
	struct fixture *made = *state;
	struct loss loss = {.name = "output_write", .count = 1, .first_ns = 5, .last_ns = END - 1};

	made->process.losses = &loss;
	made->process.loss_count = 1;
	assert_true(stands(made));
	loss.last_ns = END;
	assert_false(stands(made));
	loss.kind = 10; /* stack_cut: no record is missing */
	assert_true(stands(made));
	made->process.loss_count = 0;
	made->range.to_ns = END + 100 * MS; /* the window closed */
	assert_false(stands(made));
}

/* A last step without an end: nothing ended since it began, and it is not one that ended. */
static void a_step_that_does_not_end(void **state)
{
	struct fixture *made = *state;
	struct standstill still;

	made->steps[STEPS - 1].end_ns = TIME_UNKNOWN;
	assert_true(standstill_since(&still, &made->request, 0));
	assert_int_equal(still.from_ns, (STEPS - 1) * 100 * MS);
	assert_int_equal(still.step, STEPS + 3);
	made->process.step_count = 0;
	assert_false(standstill_since(&still, &made->request, 0));
}

/* What of a look's time lies in the stretch counts, and only what its thread did. */
static void looks_of_a_stretch(void **state)
{
	struct fixture *made = *state;
	struct python_look looks[] = {
		{.time_ns = 110, .wall_ns = 20, .cpu_ns = 3, .cpu_time_ns = 110, .thread = 3, .count = 1},
		{.time_ns = 120, .wall_ns = 10, .thread = 4, .stack = PYTHON_LOOK_IN_DOUBT, .count = 1},
		{.time_ns = 90, .wall_ns = 20, .cpu_ns = 5, .cpu_time_ns = 90, .thread = 3, .count = 1},
		{.time_ns = 140, .wall_ns = 30, .cpu_ns = 7, .cpu_time_ns = 140, .thread = 3, .count = 1},
		{.time_ns = 200, .wall_ns = 10, .cpu_ns = 9, .cpu_time_ns = 95, .thread = 3, .count = 1},
	};
	struct standing standing;

	made->process.python.looks = looks;
	made->process.python.look_count = sizeof(looks) / sizeof(looks[0]);
	struct stretch stretch = stretch_make(&made->request, 0, 100, 130);
	assert_true(standing_find(&standing, &made->request, &stretch, 3));
	assert_int_equal(standing.looked_ns, 30);
	assert_int_equal(standing.cpu_ns, 3);
	assert_null(standing.line.function);
	assert_true(standing_find(&standing, &made->request, &stretch, 4));
	assert_int_equal(standing.looked_ns, 0);
	assert_false(standing_find(&standing, &made->request, &stretch, 5));
	stretch_free(&stretch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(how_long), TEST(how_it_ended), TEST(what_was_not_recorded), TEST(a_step_that_does_not_end), TEST(looks_of_a_stretch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
