/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/model/steps_beside: what repeats in a process that only predicts is no step beside a training. */
#include "reducer/model/steps_beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 10

enum { TRAINS, SERVES, PROCESSES };

static struct step steps[PROCESSES][STEPS];
static struct op ops[PROCESSES][2];
static struct process processes[PROCESSES];
static struct run run = {.processes = processes, .process_count = PROCESSES};

/* Steps 100 ns apart from `from_ns` on, all chosen. */
static void make(size_t at, unsigned source, int64_t from_ns, const char *op)
{
	ops[at][0].name = "aten::mm";
	ops[at][1].name = op;
	processes[at] = (struct process){.steps = steps[at], .step_count = STEPS, .ops = {.items = ops[at], .count = 2}};
	for (size_t i = 0; i < STEPS; i++)
		steps[at][i] = (struct step){.time_ns = from_ns + (int64_t)i * 100, .source = source, .is_chosen = 1};
}

static void expect(size_t at, size_t chosen)
{
	for (size_t i = 0; i < STEPS; i++)
		assert_int_equal(steps[at][i].is_chosen, i < chosen);
	assert_int_equal(processes[at].beside_count, STEPS - chosen);
}

static void a_server_has_none_beside_a_training(void **state)
{
	(void)state;
	make(TRAINS, SOURCE_record_function, 0, "Optimizer.step#SGD.step");
	make(SERVES, STEP_BY_PERIOD, 500, "aten::relu");
	steps_beside(&run);
	expect(TRAINS, STEPS);
	expect(SERVES, 0);
}

static void what_learns_by_hand_keeps_them(void **state)
{
	(void)state;
	make(TRAINS, SOURCE_record_function, 0, "Optimizer.step#SGD.step");
	make(SERVES, STEP_BY_PERIOD, 500, "AddmmBackward0");
	steps_beside(&run);
	expect(SERVES, STEPS);
}

static void what_marks_them_itself_keeps_them(void **state)
{
	(void)state;
	make(TRAINS, SOURCE_record_function, 0, "Optimizer.step#SGD.step");
	make(SERVES, SOURCE_api, 500, "aten::relu");
	steps_beside(&run);
	expect(SERVES, STEPS);
}

static void what_runs_before_or_behind_it_keeps_them(void **state)
{
	(void)state;
	make(TRAINS, SOURCE_record_function, 0, "Optimizer.step#SGD.step");
	make(SERVES, STEP_BY_PERIOD, 901, "aten::relu");
	steps_beside(&run);
	expect(SERVES, STEPS);
	make(SERVES, STEP_BY_PERIOD, -901, "aten::relu");
	steps_beside(&run);
	expect(SERVES, STEPS);
}

static void servers_alone_keep_them(void **state)
{
	(void)state;
	make(TRAINS, STEP_BY_PERIOD, 0, "aten::relu");
	make(SERVES, STEP_BY_PERIOD, 0, "aten::relu");
	steps_beside(&run);
	expect(TRAINS, STEPS);
	expect(SERVES, STEPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_has_none_beside_a_training), cmocka_unit_test(what_learns_by_hand_keeps_them),
		cmocka_unit_test(what_marks_them_itself_keeps_them),   cmocka_unit_test(what_runs_before_or_behind_it_keeps_them),
		cmocka_unit_test(servers_alone_keep_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
