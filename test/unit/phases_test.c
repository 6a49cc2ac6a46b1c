/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the phases of a step: which pass ops and kernels belong to. Rule: the steps are made by hand, times are small. */
#include "reducer/analysis/phases.h"

#include "reducer/analysis/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct log no_log;
static struct process process;
static struct run run = {.processes = &process, .process_count = 1};
static struct analysis_options options;
static struct analysis_input input = {.run = &run, .process = &process, .options = &options};
static struct steps *result;

static void begin(struct step *steps, size_t count)
{
	process = (struct process){.log = &no_log, .log_id = 1, .pid = 1, .end_ns = 1000, .steps = steps, .step_count = count};
	result = analysis_steps.begin(&input);
}

static void host(const char *name, enum phase phase, int64_t from, int64_t to)
{
	analysis_steps.span(result, &(struct span){.what = SPAN_OP,
						   .on = SPAN_THREAD,
						   .thread = 1,
						   .source = 5,
						   .phase = (uint8_t)phase,
						   .name = name,
						   .start_ns = from,
						   .duration_ns = (uint64_t)(to - from)});
}

static const struct steps *done(void)
{
	analysis_steps.end(result);
	return result;
}

static void phases_follow_names(void **state)
{
	struct phases phases = {.has_pattern = {0}};

	(void)state;
	assert_int_equal(phases_of(NULL, "autograd::engine::evaluate_function: MmBackward0", 5, 1), PHASE_BACKWARD);
	assert_int_equal(phases_of(NULL, "Optimizer.step#AdamW.step", 5, 7), PHASE_OPTIMISER);
	assert_int_equal(phases_of(NULL, "gradient_tape/model/dense/MatMul:MatMul", 4, 0), PHASE_BACKWARD);
	assert_int_equal(phases_of(NULL, "model/dense/MatMul:MatMul", 4, 0), PHASE_NONE);
	assert_int_equal(phases_of(NULL, "training/adam/mul:Mul", 4, 0), PHASE_OPTIMISER);
	assert_int_equal(phases_of(NULL, "adamant/mul:Mul", 4, 0), PHASE_NONE);
	assert_int_equal(phases_of(NULL, "nccl:all_reduce", 5, 0), PHASE_COMMUNICATION);
	assert_int_equal(phases_of(NULL, "aten::mm", 5, 0), PHASE_NONE);
	assert_int_equal(phases_set(&phases, PHASE_OPTIMISER, "^weights$"), 0);
	assert_int_equal(phases_of(&phases, "weights", 0, 0), PHASE_OPTIMISER);
	assert_int_equal(phases_of(&phases, "Optimizer.step#AdamW.step", 5, 7), PHASE_NONE);
	assert_int_not_equal(phases_set(&phases, PHASE_FORWARD, "("), 0);
	phases_free(&phases);
}

/* An op that nothing says a phase of is of the forward pass, but not where a batch is fetched. */
static void what_is_done_for_the_input_is_of_no_pass(void **state)
{
	struct step steps[] = {{.time_ns = 0, .end_ns = 100, .number = 1, .is_chosen = 1}};
	const struct steps *found;

	(void)state;
	begin(steps, 1);
	host("aten::mm", PHASE_NONE, 0, 10);
	host("aten::stack", PHASE_INPUT, 20, 60);
	found = done();
	assert_int_equal(found->rows[0].phase_ns[PHASE_FORWARD], 10);
	assert_int_equal(found->rows[0].phase_ns[PHASE_NONE], 90);
	assert_int_equal(found->rows[0].exposed_ns[PART_HOST_COMPUTE], 50);
	analysis_steps.free(result);
}

/* tf.data runs its functions on TensorFlow's threads, as the step's ops are: what a step waits for meanwhile is no forward pass. */
static void what_runs_while_input_is_awaited_is_of_no_pass(void **state)
{
	struct step steps[] = {{.time_ns = 0, .end_ns = 100, .number = 1, .is_chosen = 1}};
	const struct steps *found;

	(void)state;
	begin(steps, 1);
	host("MatMul:MatMul", PHASE_NONE, 0, 30);
	host("Iterator::Root", PHASE_INPUT, 10, 40);
	host("MatMul_1:MatMul", PHASE_NONE, 20, 50);
	host("gradients/MatMul", PHASE_BACKWARD, 35, 60);
	found = done();
	assert_int_equal(found->rows[0].phase_ns[PHASE_FORWARD], 10);
	assert_int_equal(found->rows[0].phase_ns[PHASE_BACKWARD], 25);
	assert_int_equal(found->rows[0].exposed_ns[PART_INPUT_WAIT], 30);
	analysis_steps.free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_follow_names),
		cmocka_unit_test(what_is_done_for_the_input_is_of_no_pass),
		cmocka_unit_test(what_runs_while_input_is_awaited_is_of_no_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
