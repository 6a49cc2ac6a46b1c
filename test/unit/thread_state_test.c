/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of a thread's state: when it is looked for, and what is counted around its begin. */
#include "writer/stream.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "writer/file.h"
#include "writer/log.h"
#include "writer/schema.h"
#include "writer/signals.h"
#include "writer/store.h"

static char folder[] = "/tmp/thread_state_test.XXXXXX", path[256];

static int starts;

static int start(void)
{
	starts++;
	return tfp_state && tfp_state->phase == TFP_STATE_READY ? 0 : -1;
}
int (*const tfp_start_process)(void) = start;

static struct tfp_state *cold_state(void)
{
	tfp_state = tfp_pages_get(sizeof *tfp_state, 1);
	assert_non_null(tfp_state);
	return tfp_state;
}

/* A log could not be made, and will not be: a hook that asks at each call gets the answer without another look. */
static void test_no_look_where_the_start_has_failed(void **state)
{
	(void)state;
	cold_state();
	starts = 0;
	assert_null(tfp_thread_start());
	assert_int_equal(starts, 1);
	tfp_state->phase = TFP_STATE_FAILED;
	assert_null(tfp_thread_start());
	assert_int_equal(starts, 1);
	tfp_pages_put(tfp_state, sizeof *tfp_state);
	tfp_state = NULL;
}

/* A handler that interrupted tfp_signals_block has forked: the child's counter is empty when the two come to an end. */
static void test_signals_given_back_in_a_child_of_a_handler(void **state)
{
	static _Atomic uint32_t inside;
	struct tfp_signals signals;

	(void)state;
	tfp_signals_begin(&inside);
	tfp_signals_block(&signals);
	assert_int_equal(inside, 1);
	inside = 0;
	tfp_signals_restore(&signals);
	assert_int_equal(inside, 0);
	tfp_signals_block(&signals);
	tfp_signals_restore(&signals);
	assert_int_equal(inside, 0);
	tfp_signals_begin(NULL);
}

/* A question to the loader allocates, and that call is the thread's first: what it does afterwards is the host's all the same. */
static void test_a_thread_that_begins_inside_a_question(void **state)
{
	static struct tfp_thread thread;

	(void)state;
	tfp_count_own(1);
	thread.is_ready = 1;
	tfp_self = &thread;
	tfp_count_own(-1);
	assert_int_equal(thread.is_own, 0);
	tfp_count_own(1);
	assert_int_equal(thread.is_own, 1);
	tfp_count_own(-1);
	assert_int_equal(thread.is_own, 0);
	tfp_self = NULL;
}

static struct tfp_thread *taken;

static void *take_state(void *unused)
{
	taken = tfp_thread_start();
	return unused;
}

static struct tfp_thread *state_of_new_thread(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, take_state, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_non_null(taken);
	return taken;
}

static void begin_log(void)
{
	struct tfp_file_header header = {.log_id = 0x1234, .pid = (uint32_t)getpid()};
	struct tfp_file_options options = {.directory = folder, .host = "host"};

	tfp_clock_choose();
	header.clock_kind = tfp_clock_kind;
	tfp_clock_read(&header.origin);
	tfp_origin.ticks = header.origin.ticks;
	cold_state();
	tfp_state->pid = header.pid;
	assert_int_equal(tfp_file_make(&options, &header), 0);
	assert_int_equal(tfp_schema_store(), 0);
	tfp_state->phase = TFP_STATE_READY;
	snprintf(path, sizeof path, "%s/host.%u.%016x.tfp", folder, header.pid, 0x1234);
}

static void end_log(void)
{
	unlink(path);
	tfp_state = NULL;
}

/* A thread ended inside a call of a framework, as a cancelled one does: the next to have its state is not inside of that call. */
static void test_what_a_thread_leaves_behind(void **state)
{
	(void)state;
	begin_log();
	struct tfp_thread *first = state_of_new_thread();
	first->op_since = 1000;
	first->op_nested = 1;
	assert_ptr_equal(state_of_new_thread(), first);
	assert_int_equal(first->op_since, 0);
	assert_int_equal(first->op_nested, 0);
	end_log();
}

/* Every call of a thread for which the log has no room would pay for a try: one in a hundredth of a second does, here of a long one. */
static void *find_no_room(void *unused)
{
	tfp_state->log->max_bytes = tfp_state->live->file_end;
	tfp_state->second_ticks = 0;
	for (int i = 0; i < 1000; i++)
		assert_null(tfp_thread_start());
	tfp_state->second_ticks = UINT64_C(1) << 60;
	assert_null(tfp_thread_start());
	assert_int_equal(tfp_store_pc(0x1000, 0, 0), 0);
	assert_int_equal(tfp_store_node(0, 1), 0);
	tfp_state->log->max_bytes = 0;
	assert_null(tfp_thread_start());
	return unused;
}

/* Nor does what found none take numbers: a log that counts what is in none of its blocks looks damaged. */
static void test_a_thread_that_finds_no_room(void **state)
{
	pthread_t thread;

	(void)state;
	begin_log();
	assert_int_equal(pthread_create(&thread, NULL, find_no_room, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(tfp_state->live->early_calls, 1002);
	assert_int_equal(state_of_new_thread()->serial, 1);
	assert_int_equal(tfp_state->slot_count, 1);
	assert_int_equal(tfp_state->live->pcs_count + tfp_state->live->nodes_count, 0);
	assert_int_equal(tfp_store_pc(0x1000, 0, 0), 1);
	assert_int_equal(tfp_store_node(0, 1), 1);
	end_log();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_look_where_the_start_has_failed),
		cmocka_unit_test(test_signals_given_back_in_a_child_of_a_handler),
		cmocka_unit_test(test_a_thread_that_begins_inside_a_question),
		cmocka_unit_test(test_what_a_thread_leaves_behind),
		cmocka_unit_test(test_a_thread_that_finds_no_room),
	};

	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
