/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/analysis/replay: steps made by hand, whose lengths follow from how they are made. */
#include "reducer/analysis/replay.h"
#include "test/unit/straight_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US 1000
#define STEPS 4
#define STEP_US 1000
#define MANY 16

static struct step steps[MANY + 1];
static struct gpu gpu;
static struct window_range whole[] = {{INT64_MIN, INT64_MAX}};
static struct process process;
static struct straight_clock straight;
static struct analysis_options options;
static struct analysis_input input;
static uint64_t flows;

static void lay(size_t count)
{
	flows = 0;
	gpu = (struct gpu){0};
	for (size_t i = 0; i <= count; i++)
		steps[i] = (struct step){.time_ns = (int64_t)i * STEP_US * US, .end_ns = TIME_UNKNOWN, .number = i, .thread = 1,
					 .is_chosen = 1, .rest_ns = TIME_UNKNOWN};
	process = (struct process){.log_id = 5, .gpu = &gpu, .ranges = whole, .range_count = 1, .steps = steps, .step_count = count + 1};
	straight_clock_set(&straight, &process, &gpu);
	options = (struct analysis_options){0};
	input = (struct analysis_input){.process = &process, .options = &options};
}

static struct replay *begin(size_t count)
{
	lay(count);
	return analysis_replay.begin(&input);
}

/* Times are us. */
static void call(struct replay *replay, uint32_t thread, enum gpu_kind kind, const char *name, int64_t from, int64_t to, uint64_t flow)
{
	struct span span = {.what = SPAN_CALL, .call = kind, .name = name, .thread = thread, .track = thread, .device = GPU_NONE,
			    .start_ns = from * US, .duration_ns = (uint64_t)(to - from) * US, .flow = flow,
			    .op = flow ? "an op" : NULL};

	analysis_replay.span(replay, &span);
}

/* Called for at `at` by a call of 5 us. */
static void work(struct replay *replay, uint32_t thread, uint32_t queue, const char *name, int64_t at, int64_t from, int64_t to)
{
	struct span span = {.what = SPAN_KERNEL, .on = SPAN_QUEUE, .track = queue, .name = name, .op = "an op", .thread = thread,
			    .start_ns = from * US, .duration_ns = (uint64_t)(to - from) * US, .called_ns = at * US, .flow = ++flows};

	call(replay, thread, GPU_LAUNCH, "launch", at, at + 5, flows);
	analysis_replay.span(replay, &span);
}

static const struct replay_process *finish(struct replay *replay, enum replay_fault fault)
{
	analysis_replay.end(replay);
	assert_int_equal(replay->count, 1);
	assert_int_equal(replay->processes[0].fault, fault);
	if (fault == REPLAY_FINE) /* what nothing is changed of is as it was */
		assert_in_range((uint64_t)replay->processes[0].model_ns, (uint64_t)(0.999 * replay->processes[0].measured_ns),
				(uint64_t)(1.001 * replay->processes[0].measured_ns));
	return &replay->processes[0];
}

static const struct replay_change *change(const struct replay *replay, enum replay_what what, const char *name)
{
	const struct replay_process *replayed = &replay->processes[0];

	for (size_t i = 0; i < replayed->change_count; i++)
		if (replayed->changes[i].what == what && strcmp(replay->words.items[replayed->changes[i].name], name) == 0)
			return &replayed->changes[i];
	fail_msg("%s %s is not tried", replay_what_name(what), name);
	return NULL;
}

/* us on the way in all steps. */
static int64_t on_path(const struct replay *replay, enum replay_part part, const char *name)
{
	const struct replay_process *replayed = &replay->processes[0];
	double ns = 0;

	for (size_t i = 0; i < replayed->path_count; i++)
		if (replayed->path[i].part == part && (!name || strcmp(replay->words.items[replayed->path[i].name], name) == 0))
			ns += replayed->path[i].ns;
	return (int64_t)(ns / US);
}

#define LASTS(ns, us) assert_int_equal((int64_t)((ns) + 0.5), (int64_t)(us)*US)

/* One begins where the one before it ends, and together they last as long as the steps did. */
static void pieces_are_whole(const struct replay *replay)
{
	const struct replay_process *replayed = &replay->processes[0];
	int64_t ns = 0;

	for (size_t i = 0; i < replayed->piece_count; i++) {
		const struct replay_piece *piece = &replayed->pieces[i];
		assert_true(piece->duration_ns > 0);
		if (i)
			assert_int_equal(piece->start_ns + (int64_t)piece->duration_ns, replayed->pieces[i - 1].start_ns);
		ns += (int64_t)piece->duration_ns;
	}
	assert_int_equal(ns, (int64_t)replayed->measured_ns);
}

/* One kernel behind the other, and a wait for both. */
static void a_stream_and_a_wait(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
		work(replay, 1, 0, "b", at + 15, at + 521, at + 821);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 830, 0);
	}
	const struct replay_process *replayed = finish(replay, REPLAY_FINE);
	LASTS(replayed->measured_ns, 4000);
	LASTS(replayed->model_ns, 4000);
	LASTS(replayed->usual_ns, 4000);
	assert_int_equal(replayed->waits, STEPS);
	assert_false(replayed->is_device_end);
	pieces_are_whole(replay);
	assert_int_equal(replay->processes[0].piece_count, 4 * 7); /* host, launch delay, a, queue delay, b, wakes, host */
	assert_int_equal(on_path(replay, REPLAY_HOST, ""), 4 * 180);
	assert_int_equal(on_path(replay, REPLAY_LAUNCH, "a"), 4 * 10);
	assert_int_equal(on_path(replay, REPLAY_KERNEL, "a"), 4 * 500);
	assert_int_equal(on_path(replay, REPLAY_QUEUE, ""), 4 * 1);
	assert_int_equal(on_path(replay, REPLAY_KERNEL, "b"), 4 * 300);
	assert_int_equal(on_path(replay, REPLAY_WAKE, "wait"), 4 * 9);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->half_ns, 4 * 750);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->none_ns, 4 * 504); /* b waits for its own launch then: 15 + 10 */
	LASTS(change(replay, REPLAY_OP, "an op")->half_ns, 4 * 600);
	LASTS(change(replay, REPLAY_ALL_DEVICE, "")->none_ns, 4 * 204);
	LASTS(change(replay, REPLAY_ALL_HOST, "")->all_ns, 4 * 180);
	LASTS(change(replay, REPLAY_ALL_HOST, "")->none_ns, 4 * 820);
	LASTS(change(replay, REPLAY_HOST_OF, "an op")->all_ns, 4 * 10);
	LASTS(change(replay, REPLAY_HOST_OF, "an op")->none_ns, 4 * 990);
	LASTS(change(replay, REPLAY_ALL_CALLS, "")->none_ns, 4 * 1000); /* behind the device's work */
	LASTS(change(replay, REPLAY_ALL_WAITS, "")->none_ns, 801 + 3 * 802); /* what the device takes for it */
	analysis_replay.free(replay);
}

/* What another stream does meanwhile is hidden, and gains nothing. */
static void work_beside_is_hidden(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "long", at + 10, at + 20, at + 520);
		work(replay, 1, 1, "short", at + 15, at + 25, at + 325);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 530, 0);
	}
	finish(replay, REPLAY_FINE);
	assert_int_equal(on_path(replay, REPLAY_KERNEL, "short"), 0);
	LASTS(change(replay, REPLAY_WORK_NAME, "short")->none_ns, 4000);
	LASTS(change(replay, REPLAY_WORK_NAME, "long")->half_ns, 4 * 750);
	analysis_replay.free(replay);
}

/* Work that begins just behind another stream's end waited for it. */
static void work_waits_for_another_stream(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "first", at + 10, at + 20, at + 520);
		work(replay, 1, 1, "then", at + 15, at + 523, at + 623);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 630, 0);
	}
	assert_int_equal(finish(replay, REPLAY_FINE)->guessed_orders, STEPS);
	assert_int_equal(on_path(replay, REPLAY_KERNEL, "first"), 4 * 500);
	LASTS(change(replay, REPLAY_WORK_NAME, "first")->none_ns, 4 * 502); /* its launch, 15 + 10, holds up the second then */
	analysis_replay.free(replay);
}

/* As PyTorch's backward pass: the thread of the steps waits for another one, in no call; what asks again and again hands on nothing. */
static void another_thread_takes_its_turn(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		for (int64_t i = 0; i < 5; i++)
			work(replay, 2, 0, "back", at + 100 + 50 * i, at + 110 + 50 * i, at + 130 + 50 * i);
		call(replay, 2, GPU_SYNC, "wait", at + 350, at + 352, 0);
		work(replay, 2, 0, "slow", at + 400, at + 410, at + 810);
		call(replay, 2, GPU_SYNC, "wait", at + 405, at + 815, 0);
		for (int64_t i = 0; i < 90; i++)
			call(replay, 3, GPU_EVENT, "query", at + 10 * i, at + 10 * i + 1, 0);
	}
	finish(replay, REPLAY_FINE);
	assert_int_equal(on_path(replay, REPLAY_KERNEL, "slow"), 4 * 400);
	LASTS(change(replay, REPLAY_WORK_NAME, "slow")->half_ns, 4 * 800);
	pieces_are_whole(replay);
	analysis_replay.free(replay);
}

/* The backward pass of a single step: the first call of its thread comes behind the calls of the one that went forward. */
static void the_first_call_of_a_thread(void **state)
{
	struct replay *replay = begin(1);

	(void)state;
	for (int64_t i = 0; i < 5; i++)
		work(replay, 1, 0, "forward", 100 + 50 * i, 110 + 50 * i, 130 + 50 * i);
	work(replay, 2, 0, "backward", 400, 410, 810);
	work(replay, 2, 0, "backward", 405, 811, 812);
	call(replay, 2, GPU_SYNC, "wait", 410, 815, 0);
	finish(replay, REPLAY_FINE);
	pieces_are_whole(replay);
	assert_true(replay->processes[0].guessed_turns > 0);
	assert_int_equal(on_path(replay, REPLAY_LATE, ""), 0);
	assert_true(on_path(replay, REPLAY_HOST, NULL) > 200);
	analysis_replay.free(replay);
}

/* A thread that computes and then launches on its own, while the thread of the steps goes on: nobody handed that on. */
static void a_thread_of_its_own(void **state)
{
	struct replay *replay = begin(1);

	(void)state;
	for (int64_t i = 0; i < 19; i++)
		work(replay, 1, 0, "forward", 50 * i, 5 + 50 * i, 20 + 50 * i);
	work(replay, 2, 1, "beside", 820, 825, 990);
	finish(replay, REPLAY_FINE);
	assert_int_equal(replay->processes[0].guessed_turns, 0);
	analysis_replay.free(replay);
}

/* The host gives the device more than it can do: a step is as long as the device works for it. */
static void a_host_that_runs_ahead(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t i = 0; i < STEPS; i++)
		work(replay, 1, 0, "a", STEP_US * i + 10, 20 + 1501 * i, 1520 + 1501 * i);
	const struct replay_process *replayed = finish(replay, REPLAY_FINE);
	assert_true(replayed->is_device_end);
	pieces_are_whole(replay);
	LASTS(replayed->model_ns, 1500 + 3 * 1501);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->none_ns, 4000);
	analysis_replay.free(replay);
}

/* A library's call is its inner calls; a driver's call inside a runtime's is a part of that. */
static void calls_inside_calls(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
		call(replay, 1, GPU_LIBRARY, "gemm", at + 5, at + 18, 0);
		call(replay, 1, GPU_OTHER, "inner", at + 11, at + 12, 0);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 530, 0);
	}
	assert_int_equal(finish(replay, REPLAY_FINE)->calls, 2 * STEPS + STEPS + 1);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->half_ns, 4 * 750);
	analysis_replay.free(replay);
}

/* Calls that begin before the one before them has ended, as other tools write them, and a mark inside a call. */
static void calls_that_overlap(void **state)
{
	(void)state;
	for (int64_t by = 0; by <= 2; by++) {
		struct replay *replay = begin(STEPS);
		for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
			work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
			call(replay, 1, GPU_SYNC, "wait", at + 15 - by, at + 530, 0);
			call(replay, 1, GPU_OTHER, "long", at + STEP_US - 100, at + STEP_US + 5, 0);
		}
		finish(replay, REPLAY_FINE);
		LASTS(change(replay, REPLAY_WORK_NAME, "a")->half_ns, 4 * 750);
		LASTS(change(replay, REPLAY_ALL_DEVICE, "")->half_ns, 4 * 750);
		analysis_replay.free(replay);
	}
}

/* Work without a length that ends as the wait for it does, and work that seems to begin before its call. */
static void odd_times(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
		work(replay, 1, 0, "none", at + 15, at + 530, at + 530);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 530, 0);
		work(replay, 1, 1, "early", at + 700, at + 690, at + 790);
		call(replay, 1, GPU_SYNC, "wait", at + 705, at + 800, 0);
	}
	finish(replay, REPLAY_FINE);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->half_ns, 4 * 750);
	LASTS(change(replay, REPLAY_WORK_NAME, "early")->half_ns, 4 * 950);
	analysis_replay.free(replay);
}

/* A call inside another one that starts the work: it is late behind the outer one's begin. */
static void the_inner_call_starts_the_work(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		call(replay, 1, GPU_LAUNCH, "outer", at + 10, at + 80, 0);
		work(replay, 1, 0, "a", at + 70, at + 80, at + 580);
		call(replay, 1, GPU_SYNC, "wait", at + 80, at + 590, 0);
	}
	finish(replay, REPLAY_FINE);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->half_ns, 4 * 750);
	analysis_replay.free(replay);
}

/* Of copies that the host only asks for, whatever ends meanwhile, nobody waits; of a wait while several streams work: for the last. */
static void what_waits(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (int64_t at = 0; at < STEPS * STEP_US; at += 100) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 62);
		call(replay, 1, GPU_COPY, "copy", at + 60, at + 64, 0);
	}
	assert_int_equal(finish(replay, REPLAY_FINE)->waits, 0);
	LASTS(change(replay, REPLAY_WORK_NAME, "a")->none_ns, 4 * 1000);
	analysis_replay.free(replay);

	replay = begin(STEPS);
	for (int64_t at = 0; at < STEPS * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
		work(replay, 1, 1, "b", at + 15, at + 25, at + 522);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 530, 0);
	}
	assert_int_equal(finish(replay, REPLAY_FINE)->guessed_streams, STEPS);
	analysis_replay.free(replay);
}

static void more_threads_than_are_followed(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	for (uint32_t thread = 1; thread <= 70; thread++)
		work(replay, thread, 0, "a", 10 + thread, 20 + 10 * thread, 25 + 10 * thread);
	finish(replay, REPLAY_MANY_THREADS);
	analysis_replay.free(replay);
}

static void too_much_is_halved(void **state)
{
	struct replay *replay = begin(MANY);
	int64_t each = REPLAY_NODES_MOST / MANY;

	(void)state;
	for (int64_t at = 0; at < MANY * STEP_US; at += STEP_US)
		for (int64_t i = 0; i < each; i++)
			work(replay, 1, 0, "a", at + 10, at + 20, at + 21);
	assert_int_equal(finish(replay, REPLAY_FINE)->steps, MANY / 4);
	assert_true(replay->processes[0].calls + replay->processes[0].works <= REPLAY_NODES_MOST);
	analysis_replay.free(replay);
}

/* The first step takes three times as long as the others. */
static void steps_of_unusual_length_are_left_out(void **state)
{
	struct replay *replay;

	(void)state;
	lay(STEPS);
	for (size_t i = 1; i <= STEPS; i++)
		steps[i].time_ns += (int64_t)2 * STEP_US * US;
	replay = analysis_replay.begin(&input);
	for (int64_t at = 0; at < (STEPS + 2) * STEP_US; at += STEP_US) {
		work(replay, 1, 0, "a", at + 10, at + 20, at + 520);
		call(replay, 1, GPU_SYNC, "wait", at + 20, at + 530, 0);
	}
	const struct replay_process *replayed = finish(replay, REPLAY_FINE);
	assert_int_equal(replayed->first_step, 1);
	assert_int_equal(replayed->steps, STEPS - 1);
	LASTS(replayed->model_ns, 3 * 1000);
	analysis_replay.free(replay);
}

static void nothing_to_replay(void **state)
{
	struct replay *replay = begin(STEPS);

	(void)state;
	call(replay, 1, GPU_SYNC, "wait", 20, 530, 0);
	finish(replay, REPLAY_NO_WORK);
	analysis_replay.free(replay);
	replay = begin(0); /* one step, which has no end */
	work(replay, 1, 0, "a", 10, 20, 520);
	finish(replay, REPLAY_NO_STEPS);
	analysis_replay.free(replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_and_a_wait),	       cmocka_unit_test(work_beside_is_hidden),
		cmocka_unit_test(work_waits_for_another_stream), cmocka_unit_test(another_thread_takes_its_turn),
		cmocka_unit_test(the_first_call_of_a_thread),
		cmocka_unit_test(a_thread_of_its_own),
		cmocka_unit_test(a_host_that_runs_ahead),      cmocka_unit_test(calls_inside_calls),
		cmocka_unit_test(calls_that_overlap),
		cmocka_unit_test(odd_times),
		cmocka_unit_test(the_inner_call_starts_the_work),
		cmocka_unit_test(what_waits),
		cmocka_unit_test(more_threads_than_are_followed),
		cmocka_unit_test(steps_of_unusual_length_are_left_out),
		cmocka_unit_test(too_much_is_halved),	       cmocka_unit_test(nothing_to_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
