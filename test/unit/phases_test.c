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

static void kernel(enum phase phase, int64_t called, int64_t from, int64_t to)
{
	analysis_steps.span(result, &(struct span){.what = SPAN_KERNEL,
						   .on = SPAN_QUEUE,
						   .thread = 1,
						   .source = SPAN_NO_SOURCE,
						   .phase = (uint8_t)phase,
						   .name = "gemm_float",
						   .op = "aten::mm",
						   .start_ns = from,
						   .duration_ns = (uint64_t)(to - from),
						   .called_ns = called});
}

static void edges_are(const struct step_row *row, size_t of, int64_t forward_ns, int64_t backward_ns)
{
	assert_int_equal(row->edges[of].forward_ns, forward_ns);
	assert_int_equal(row->edges[of].backward_ns, backward_ns);
}

/* The device is behind: what the first step launched runs while the host is in the second one. */
static void passes_begin_and_end_by_what_was_launched(void **state)
{
	struct step steps[] = {{.time_ns = 0, .end_ns = TIME_UNKNOWN, .number = 1, .thread = 1, .is_chosen = 1},
			       {.time_ns = 100, .end_ns = 200, .number = 2, .thread = 1, .is_chosen = 1}};
	const struct steps *found;

	(void)state;
	begin(steps, 2);
	kernel(PHASE_NONE, 10, 60, 80);
	kernel(PHASE_BACKWARD, 30, 90, 130);
	kernel(PHASE_OPTIMISER, 40, 130, 140);
	kernel(PHASE_INPUT, 105, 140, 145);
	kernel(PHASE_NONE, 110, 145, 150);
	kernel(PHASE_COMMUNICATION, 120, 150, 160);
	found = done();
	edges_are(&found->rows[0], EDGES_DEVICE, 60, 130);
	edges_are(&found->rows[0], EDGES_HOST, TIME_UNKNOWN, TIME_UNKNOWN);
	edges_are(&found->rows[1], EDGES_DEVICE, 145, TIME_UNKNOWN);
	analysis_steps.free(result);
}

/* Without a device, an op without a phase is the step's on its own thread. */
static void passes_of_the_host(void **state)
{
	struct step steps[] = {{.time_ns = 0, .end_ns = 100, .number = 1, .thread = 1, .is_chosen = 1}};
	struct span op = {.what = SPAN_OP, .on = SPAN_THREAD, .thread = 2, .source = SOURCE_record_function, .name = "aten::mm"};
	const struct steps *found;

	(void)state;
	begin(steps, 1);
	op.duration_ns = 5;
	analysis_steps.span(result, &op);
	host("aten::stack", PHASE_INPUT, 5, 10);
	host("aten::mm", PHASE_NONE, 20, 30);
	op.start_ns = 30;
	op.phase = PHASE_BACKWARD;
	analysis_steps.span(result, &op);
	host("aten::add_", PHASE_OPTIMISER, 40, 60);
	found = done();
	edges_are(&found->rows[0], EDGES_HOST, 20, 35);
	analysis_steps.free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_follow_names),
		cmocka_unit_test(what_is_done_for_the_input_is_of_no_pass),
		cmocka_unit_test(what_runs_while_input_is_awaited_is_of_no_pass),
		cmocka_unit_test(passes_begin_and_end_by_what_was_launched),
		cmocka_unit_test(passes_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
