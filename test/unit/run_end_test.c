/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of killed processes: how long they lasted, by their records and by the clock of who waited for them; what they counted. */
#include "reducer/model/scan.h"
#include "test/unit/straight_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static struct straight_clock straight;
static struct process process;
static struct run run = {.processes = &process, .process_count = 1};

/* One of pid 100 that began at second 50 since boot, whose last record is 2 s after that. */
static void begin(void)
{
	process = (struct process){.pid = 100, .end_ticks = 2 * SECOND};
	straight_clock_set(&straight, &process, NULL);
	straight.log.header.pid = 100;
	straight.log.header.origin.raw_ns = 50 * SECOND;
	straight.log.header.origin.realtime_ns = 1000 * SECOND;
	process.told = (struct tfp_end_payload){.pid = 100, .realtime_ns = 1009 * SECOND, .raw_ns = 59 * SECOND};
}

static void lasted(uint64_t seconds)
{
	run_set_times(&run);
	assert_int_equal(run.duration_ns, 2 * SECOND);
	assert_int_equal(process.gone_ns, seconds * SECOND);
	assert_int_equal(run.gone_ns, seconds * SECOND);
}

static void a_killed_one_lasted_until_it_was_waited_for(void **state)
{
	(void)state;
	begin();
	lasted(9);
	straight.log.live.end_kind = TFP_END_WAITED;
	lasted(9);
	straight.log.live.end_kind = TFP_END_EXIT; /* it said so itself */
	lasted(2);
}

static void who_sets_the_wall_clock_changes_nothing(void **state)
{
	(void)state;
	begin();
	process.told.realtime_ns = 12079000 * SECOND;
	lasted(9);
	process.told.realtime_ns = 1;
	lasted(9);
	straight.log.header.origin.realtime_ns = 1; /* a machine without a battery: 1970 */
	process.told.realtime_ns = UINT64_C(1700000000) * SECOND;
	lasted(9);
}

static void what_cannot_be_is_not_said(void **state)
{
	(void)state;
	begin();
	process.told.raw_ns = 0; /* a log of before */
	lasted(2);
	process.told.raw_ns = 51 * SECOND; /* before the last record */
	lasted(2);
	process.told.raw_ns = 49 * SECOND; /* before the first */
	lasted(2);
	process.told.raw_ns = UINT64_MAX;
	lasted(2);
	begin();
	process.told.pid = 99;
	lasted(2);
}

/* Counters are stored one by one, in an order of the compiler's: bytes may stand there before the call that they are of. */
static void bytes_counted_before_their_call_agree_where_it_was_cut_off(void **state)
{
	struct process one = {.end = END_SIGNAL, .thread_count = 1};
	struct account account = {.allocations = 7, .event_allocations = 7, .requested_bytes = 500, .event_requested_bytes = 500,
				  .allocated_bytes = 600 + 1272, .event_allocated_bytes = 600};

	(void)state;
	assert_true(process_counters_agree(&one, &account));
	account.event_allocated_bytes = account.allocated_bytes + 1; /* told, and never counted */
	assert_false(process_counters_agree(&one, &account));
	account.event_allocated_bytes = 600;
	one.end = END_EXIT;
	assert_false(process_counters_agree(&one, &account));
	account.allocated_bytes = 600;
	assert_true(process_counters_agree(&one, &account));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_one_lasted_until_it_was_waited_for),
		cmocka_unit_test(who_sets_the_wall_clock_changes_nothing),
		cmocka_unit_test(what_cannot_be_is_not_said),
		cmocka_unit_test(bytes_counted_before_their_call_agree_where_it_was_cut_off),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	clock_free(&straight.map);
	return failed;
}
