/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of the steps of made loops that nobody marked, from the records of a log to step_stats: as real GPUs record them, where none
 * is at hand. Each is the outline of a program that was recorded on one.
 */
#include "test/logmaker_train.h"
#include "test/unit/run_made.h"

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


static void named(struct train *train, const char *const *names, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		train_name(train, i, names[i]);
}

/* The steps of a log of one thread with what `work` puts into it. */
static const struct process *steps_of(void (*work)(struct train *train))
{
	struct maker maker;

	train_make(&maker, work);
	return run_made_of(&maker, "steps_made_test");
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

enum { FORWARD = 1, STEP_OP, OPS };
#define BEGIN_CAPTURE 2
#define END_CAPTURE 3
#define INSTANTIATE 4
#define LAUNCH_GRAPH 5
#define GRAPH 0x1000
#define EXECUTABLE 0x2000
#define OTHER_GRAPH 0x3000
#define OTHER_EXECUTABLE 0x4000
#define WARMING_UP 3u

static void graph_call(struct train *train, uint32_t function, uint64_t object, uint64_t other)
{
	PUT(train, gpu_object, .object = object, .other = other);
	PUT(train, gpu_call, .duration = 500, .function = function, .flags = 1);
}

static void optimizer(struct train *train, uint64_t number)
{
	train_end(train, train_begin(train, STEP_OP, RECORD_FUNCTION, USER), RECORD_FUNCTION);
	PUT(train, step_end, .number = number);
	PUT(train, step, .number = number + 1, .source = RECORD_FUNCTION);
}

/* PyTorch's capture of a whole network: warming up, the capture, which may have the optimizer in it, and then the replays. */
static void replay(struct train *train, int has_optimizer, unsigned replays)
{
	static const char *const names[OPS] = {[FORWARD] = "aten::linear", [STEP_OP] = "Optimizer.step#SGD.step"};
	static const char *const functions[][2] = {{"#2", "cudaStreamBeginCapture"},
						   {"#3", "cudaStreamEndCapture"},
						   {"#4", "cudaGraphInstantiateWithFlags"},
						   {"#5", "cudaGraphLaunch"}};
	uint64_t number = 1;

	named(train, names, OPS);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		maker_fact(&train->maker, TFP_TAG_function,
			   (const char *const[]){functions[i][0], functions[i][1], "cuda runtime", "graph", "", NULL});
	PUT(train, step, .number = number, .source = RECORD_FUNCTION);
	for (unsigned i = 0; i < WARMING_UP; i++) {
		one(train, FORWARD, RECORD_FUNCTION);
		optimizer(train, number++);
	}
	graph_call(train, BEGIN_CAPTURE, 0, 0);
	one(train, FORWARD, RECORD_FUNCTION);
	if (has_optimizer)
		optimizer(train, number++);
	graph_call(train, END_CAPTURE, GRAPH, 0);
	graph_call(train, INSTANTIATE, EXECUTABLE, GRAPH);
	for (unsigned i = 0; i < replays; i++) {
		one(train, FORWARD, RECORD_FUNCTION);
		graph_call(train, LAUNCH_GRAPH, EXECUTABLE, 0);
		if (!has_optimizer)
			optimizer(train, number++);
	}
}

static void replay_all(struct train *train)
{
	replay(train, 1, 40);
}

static void replay_without_optimizer(struct train *train)
{
	replay(train, 0, 40);
}

static void replay_seldom(struct train *train)
{
	replay(train, 1, 3);
}

static size_t count_chosen(const struct process *process, unsigned source)
{
	size_t count = 0;

	for (size_t i = 0; i < process->step_count; i++)
		count += process->steps[i].is_chosen && process->steps[i].source == source && process->steps[i].end_ns != TIME_UNKNOWN;
	return count;
}

/* 200 replays were in no step, and warming up was all of the training. */
static void a_graph_that_holds_the_optimizer_is_a_step_each_time(void **state)
{
	const struct process *process = steps_of(replay_all);
	const struct step *before = NULL;

	(void)state;
	assert_int_equal(count_chosen(process, STEP_BY_PERIOD), 40);
	assert_int_equal(count_chosen(process, RECORD_FUNCTION), 0);
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (!step->is_chosen)
			continue;
		assert_int_equal(step->trained, TRAINED_REPLAY);
		assert_true(step->end_ns > step->time_ns);
		if (before != NULL)
			assert_int_equal(step->time_ns, before->end_ns); /* with the copy in front of the launch */
		before = step;
	}
}

/* A second graph, which was captured behind the first, and `order` of launches of both. */
static void replay_two(struct train *train, const char *order, unsigned rounds, int has_optimizer)
{
	uint64_t number = WARMING_UP + 2;

	replay(train, 1, 0);
	graph_call(train, BEGIN_CAPTURE, 0, 0);
	one(train, FORWARD, RECORD_FUNCTION);
	if (has_optimizer)
		optimizer(train, number++);
	graph_call(train, END_CAPTURE, OTHER_GRAPH, 0);
	graph_call(train, INSTANTIATE, OTHER_EXECUTABLE, OTHER_GRAPH);
	for (unsigned i = 0; i < rounds; i++)
		for (const char *at = order; *at; at++)
			graph_call(train, LAUNCH_GRAPH, *at == 'a' ? EXECUTABLE : OTHER_EXECUTABLE, 0);
	graph_call(train, LAUNCH_GRAPH, EXECUTABLE, 0); /* killed in the middle of a round */
}

static void take_turns(struct train *train)
{
	replay_two(train, "ab", 40, 1);
}

static void step_twice_and_once(struct train *train)
{
	replay_two(train, "aab", 40, 1);
}

static void of_two_lengths(struct train *train)
{
	replay_two(train, "abaabbba", 10, 1);
}

static void evaluates_with_a_graph(struct train *train)
{
	replay_two(train, "aaabbbb", 10, 0);
}

/* As optimizers that take turns without graphs: 40 steps of a generator and a discriminator were 80. */
static void graphs_that_take_turns_make_one_step(void **state)
{
	const struct process *process = steps_of(take_turns);

	(void)state;
	assert_int_equal(count_chosen(process, STEP_BY_PERIOD), 40);
	for (size_t i = 1, before = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen) {
			assert_int_equal(process->steps[i].turns, 2);
			if (before > 0)
				assert_int_equal(process->steps[i].time_ns, process->steps[before].end_ns);
			before = i;
		}
}

static void a_critic_may_take_several(void **state)
{
	(void)state;
	assert_int_equal(count_chosen(steps_of(step_twice_and_once), STEP_BY_PERIOD), 40);
}

static void graphs_in_no_order_are_a_step_each(void **state)
{
	(void)state;
	assert_int_equal(count_chosen(steps_of(of_two_lengths), STEP_BY_PERIOD), 81);
}

static void a_graph_without_optimizer_beside_it_is_none(void **state)
{
	(void)state;
	assert_int_equal(count_chosen(steps_of(evaluates_with_a_graph), STEP_BY_PERIOD), 31);
}

static void one_without_it_leaves_the_steps_to_pytorch(void **state)
{
	(void)state;
	const struct process *process = steps_of(replay_without_optimizer);
	assert_int_equal(count_chosen(process, STEP_BY_PERIOD), 0);
	assert_int_equal(count_chosen(process, RECORD_FUNCTION), WARMING_UP + 40);
}

static void so_do_a_few_replays(void **state)
{
	(void)state;
	assert_int_equal(count_chosen(steps_of(replay_seldom), RECORD_FUNCTION), WARMING_UP + 1);
}

enum { COPY = 1, PRODUCT, ITEM, OTHER, COPY_OPS };
#define RECORD_EVENT 2
#define WAIT_EVENT 3
#define LATE 65000000u /* ticks: of 1 ns */
#define ROUNDS 50u

/* A round of a loop with a second stream, and no training. `parts`: of its six, so many. */
static void on_two_streams(struct train *train, unsigned parts)
{
	if (parts > 0)
		PUT(train, gpu_call, .duration = 500, .function = RECORD_EVENT, .stack = 1, .flags = 2);
	if (parts > 1)
		PUT(train, gpu_call, .duration = 500, .function = WAIT_EVENT, .stack = 1, .flags = 2);
	if (parts > 2)
		one(train, COPY, RECORD_FUNCTION);
	if (parts > 3)
		one(train, PRODUCT, RECORD_FUNCTION);
	if (parts > 4) {
		uint64_t key = train_begin(train, ITEM, RECORD_FUNCTION, 0);
		train->time += 9000; /* waits */
		train_end(train, key, RECORD_FUNCTION);
	}
}

/* `pause`: within the step in the middle. */
static void streams_with(struct train *train, uint64_t pause)
{
	static const char *const names[COPY_OPS] = {
		[COPY] = "aten::to", [PRODUCT] = "aten::matmul", [ITEM] = "aten::item", [OTHER] = "aten::normal_"};

	named(train, names, COPY_OPS);
	for (unsigned i = 0; i < ROUNDS; i++) {
		on_two_streams(train, 5);
		train->time += i == 0 ? 100000 : i == ROUNDS / 2 ? pause : 0; /* the first one makes much */
	}
}

static void streams(struct train *train)
{
	streams_with(train, 0);
}

static void torn_down(struct train *train)
{
	streams(train);
	train->time += LATE;
	on_two_streams(train, 1);
	launch(train);
}

static void killed_within(struct train *train)
{
	streams(train);
	on_two_streams(train, 2);
}

static void killed_late(struct train *train)
{
	streams(train);
	train->time += LATE;
	on_two_streams(train, 2);
}

static void goes_on(struct train *train)
{
	streams(train);
	train->time += LATE;
	one(train, OTHER, RECORD_FUNCTION);
	one(train, OTHER, RECORD_FUNCTION);
}

static void goes_on_as_it_paused(struct train *train)
{
	streams_with(train, 2 * LATE);
	train->time += LATE;
	one(train, OTHER, RECORD_FUNCTION);
	one(train, OTHER, RECORD_FUNCTION);
}

/* The loop's last step ends with the op that waits, and nothing begins behind it. */
static void ends_with_its_own(void (*work)(struct train *train))
{
	const struct process *process = steps_of(work);
	const struct step *last = &process->steps[process->step_count - 1], *usual = &process->steps[ROUNDS - 2];

	assert_int_equal(process->step_count, ROUNDS);
	assert_in_range(last->end_ns - last->time_ns, 14000, usual->end_ns - usual->time_ns);
}

/* "step 50: 65.9 ms, a pause": it lasted until events were given back. */
static void the_last_step_ends_before_tearing_down(void **state)
{
	(void)state;
	ends_with_its_own(torn_down);
}

static void and_before_what_is_no_part_of_any(void **state)
{
	(void)state;
	ends_with_its_own(goes_on);
}

/* One long step, a checkpoint say, was the measure of the last one. */
static void and_where_another_one_was_long(void **state)
{
	(void)state;
	ends_with_its_own(goes_on_as_it_paused);
}

static void a_step_that_was_cut_has_no_end(void (*work)(struct train *train))
{
	const struct process *process = steps_of(work);
	const struct step *last = &process->steps[process->step_count - 1];

	assert_int_equal(process->step_count, ROUNDS + 1);
	assert_true(last->end_ns == TIME_UNKNOWN);
	assert_int_equal(last[-1].end_ns, last->time_ns);
}

static void one_that_a_kill_cut_is_told(void **state)
{
	(void)state;
	a_step_that_was_cut_has_no_end(killed_within);
}

static void and_if_it_came_late(void **state)
{
	(void)state;
	a_step_that_was_cut_has_no_end(killed_late);
}

enum { FILL = 1, LAYER, LOSS, TUNING_OPS };
#define IN_SCRIPT 3u /* stacks of train_make's: of Python's code 1, */
#define IN_BENCH 4u  /* and of 2, which that called */
#define TUNED 400u
#define BATCHES 30u

static void look(struct train *train, unsigned round, uint32_t stack)
{
	if (round % 10 == 0)
		PUT(train, python_time, .thread = 1, .stack = stack, .wall = 1000);
}

/* Triton's do_bench, if `stack` says so. */
static void tune(struct train *train, uint32_t stack)
{
	static const char *const names[TUNING_OPS] = {[FILL] = "aten::zero_", [LAYER] = "aten::linear", [LOSS] = "aten::argmax"};

	named(train, names, TUNING_OPS);
	maker_fact(&train->maker, TFP_TAG_python_code, (const char *const[]){"#1", "main", "/home/one/tune.py", "#10", NULL});
	maker_fact(&train->maker, TFP_TAG_python_code,
		   (const char *const[]){"#2", "do_bench", "/usr/lib/python3/site-packages/triton/testing.py", "#20", NULL});
	for (unsigned i = 0; i < TUNED; i++) {
		look(train, i, stack);
		one(train, FILL, RECORD_FUNCTION);
		PUT(train, gpu_call, .duration = 500, .function = RECORD_EVENT, .stack = 1, .flags = 2);
		launch(train);
		PUT(train, gpu_call, .duration = 500, .function = RECORD_EVENT, .stack = 1, .flags = 2);
	}
}

static void tuned(struct train *train)
{
	tune(train, IN_BENCH);
}

static void like_tuning(struct train *train)
{
	tune(train, IN_SCRIPT);
}

static void tuned_first(struct train *train)
{
	tune(train, IN_BENCH);
	for (unsigned i = 0; i < BATCHES; i++) {
		look(train, i, IN_SCRIPT);
		one(train, LAYER, RECORD_FUNCTION);
		launch(train);
		one(train, LOSS, RECORD_FUNCTION);
	}
}

/* 2,301 steps were found. */
static void rounds_of_an_autotuner_are_no_steps(void **state)
{
	const struct process *process = steps_of(tuned);

	(void)state;
	assert_int_equal(process->step_count, 0);
	assert_true(process->has_measured);
}

static void the_loop_behind_them_is_found(void **state)
{
	const struct process *process = steps_of(tuned_first);

	(void)state;
	assert_int_equal(process->step_count, BATCHES);
	assert_true(process->has_measured);
}

static void the_same_in_a_script_is_a_loop(void **state)
{
	const struct process *process = steps_of(like_tuning);

	(void)state;
	assert_int_equal(process->step_count, TUNED);
	assert_false(process->has_measured);
}

#define TOKEN_OPS 16u /* each once a token */
#define TOKENS 40u
#define REQUESTS 4u

/* A model generates token by token; what begins a token is asked once more between two requests. */
static void requests(struct train *train)
{
	char name[24];

	for (unsigned i = 1; i <= TOKEN_OPS + 1; i++) {
		snprintf(name, sizeof name, "aten::op%u", i);
		train_name(train, i, name);
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		for (unsigned token = 0; token < TOKENS; token++)
			for (unsigned op = 1; op <= TOKEN_OPS; op++)
				one(train, op, RECORD_FUNCTION);
		if (i + 1 == REQUESTS)
			break;
		one(train, 1, RECORD_FUNCTION);
		one(train, TOKEN_OPS + 1, RECORD_FUNCTION);
	}
}

/* 370 steps were found of 360 tokens. */
static void what_lacks_most_of_a_step_is_none(void **state)
{
	const struct process *process = steps_of(requests);

	(void)state;
	assert_int_equal(process->step_count, REQUESTS * TOKENS);
	assert_int_equal(process->steps[TOKENS - 1].rest_ns - process->steps[TOKENS - 1].time_ns, 2000 * TOKEN_OPS);
	assert_int_equal(process->steps[TOKENS].time_ns - process->steps[TOKENS - 1].rest_ns, 2000 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_a_compiled_function_repeats_is_no_step, run_made_forget),
		cmocka_unit_test_teardown(unless_it_is_called_once, run_made_forget),
		cmocka_unit_test_teardown(a_graph_that_holds_the_optimizer_is_a_step_each_time, run_made_forget),
		cmocka_unit_test_teardown(graphs_that_take_turns_make_one_step, run_made_forget),
		cmocka_unit_test_teardown(a_critic_may_take_several, run_made_forget),
		cmocka_unit_test_teardown(graphs_in_no_order_are_a_step_each, run_made_forget),
		cmocka_unit_test_teardown(a_graph_without_optimizer_beside_it_is_none, run_made_forget),
		cmocka_unit_test_teardown(one_without_it_leaves_the_steps_to_pytorch, run_made_forget),
		cmocka_unit_test_teardown(so_do_a_few_replays, run_made_forget),
		cmocka_unit_test_teardown(the_last_step_ends_before_tearing_down, run_made_forget),
		cmocka_unit_test_teardown(and_before_what_is_no_part_of_any, run_made_forget),
		cmocka_unit_test_teardown(and_where_another_one_was_long, run_made_forget),
		cmocka_unit_test_teardown(one_that_a_kill_cut_is_told, run_made_forget),
		cmocka_unit_test_teardown(and_if_it_came_late, run_made_forget),
		cmocka_unit_test_teardown(rounds_of_an_autotuner_are_no_steps, run_made_forget),
		cmocka_unit_test_teardown(the_loop_behind_them_is_found, run_made_forget),
		cmocka_unit_test_teardown(the_same_in_a_script_is_a_loop, run_made_forget),
		cmocka_unit_test_teardown(what_lacks_most_of_a_step_is_none, run_made_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
