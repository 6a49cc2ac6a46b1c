/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of days: of the readings of a process, its threads and its devices some are left out, everywhere as many; totals go on to the
 * end, what is rare stays, and what was missed is added up.
 */
#include "reducer/model/scan.h"
#include "reducer/model/use_thin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define TAG 7
#define THREAD 4711
#define DEVICE 2
#define SECONDS 400000u /* four days and a half */
#define RARE_AT 12345	/* second in which NVML failed, once */

struct feed {
	struct process process;
	struct scan scan;
	struct batch batch;
};

static void take(struct feed *feed, size_t record, uint64_t time, const uint64_t *values, unsigned count)
{
	int fields[SCAN_FIELDS];

	assert_int_equal(batch_begin(&feed->batch, 1), 0);
	struct batch_kind *kind = batch_add(&feed->batch, TAG, time);
	for (unsigned field = 0; field < count; field++) {
		batch_field(&feed->batch, kind, field)[0] = values[field];
		fields[field] = (int)field;
	}
	use_subject.records[record].take(&feed->scan, 0, &feed->batch, 0, fields);
}

static void take_use(struct feed *feed, uint64_t time)
{
	const uint64_t values[12] = {time, time / 2, 0, 0, 0, 0, 1 + time, 0, 0, 0, 0, 0};

	take(feed, 1, time, values, 12);
}

static void take_reading(struct feed *feed, uint64_t time, uint64_t kind, uint64_t subject, uint64_t value)
{
	const uint64_t values[3] = {value, subject, kind};

	take(feed, 2, time, values, 3);
}

/* What is read in a second: twice of the process, once of its machine, a thread and a device, and who computed there. */
static void take_second(struct feed *feed, uint64_t second)
{
	uint64_t time = second * 10;
	const uint64_t user[3] = {second, DEVICE, 100};

	for (unsigned i = 0; i < 2; i++) {
		take_use(feed, time + i * 5);
		take_reading(feed, time + i * 5, USE_resident, 0, 1 + second);
	}
	take_reading(feed, time + 5, USE_host_user, 0, 3 * time);
	take_reading(feed, time + 5, USE_thread_run, THREAD, time);
	take_reading(feed, time + 6, USE_memory_used, DEVICE, second);
	take(feed, 3, time + 6, user, 3);
	if (second == RARE_AT)
		take_reading(feed, time + 7, USE_nvml_error, DEVICE, 15);
	if (second % 1000 == 999)
		take_reading(feed, time + 8, USE_unread, 0, 2);
}

static void test_a_long_run(void **unused)
{
	struct feed feed = {.scan = {.process = &feed.process}};
	const struct use_rows *use = &feed.process.use;
	uint64_t process = 0, machine = 0, tasks = 0, errors = 0, unread = 0, value, most_apart = 0;
	int64_t before = -10, last = 0, users = 0;

	(void)unused;
	for (uint64_t second = 0; second < SECONDS; second++)
		take_second(&feed, second);
	assert_true(use->count <= USE_ROWS_MOST / 2 && use->reading_count <= USE_ROWS_MOST && use->user_count <= USE_ROWS_MOST);
	assert_true(use->count > USE_ROWS_MOST / 16 && use->each > 1);
	assert_int_equal(use->left_out, 0);
	for (size_t i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		assert_true(sample->time_ns >= last);
		last = sample->time_ns;
		tasks += sample->of == USE_OF_TASK && use_value(use, sample, USE_thread_run, &value) && (int64_t)value == last - 5;
		errors += sample->of == USE_OF_DEVICE && use_value(use, sample, USE_nvml_error, &value);
		unread += use_value(use, sample, USE_unread, &value) ? value : 0;
		machine += use_value(use, sample, USE_host_user, &value) && (int64_t)value == 3 * (last - 5);
		if (sample->of != USE_OF_PROCESS || !sample->has_use)
			continue;
		assert_int_equal(sample->user_ns, last);
		assert_true(use_value(use, sample, USE_resident, &value) && value == 1 + (uint64_t)last / 10);
		most_apart = (uint64_t)(last - before) > most_apart ? (uint64_t)(last - before) : most_apart;
		before = last;
		process++;
	}
	assert_int_equal(before, SECONDS * INT64_C(10) - 5); /* its last one */
	assert_true(most_apart <= use->each * 20);
	assert_true(process * use->each * 2 > SECONDS && machine * use->each * 2 > SECONDS && tasks * use->each * 2 > SECONDS);
	assert_int_equal(errors, 1);
	assert_int_equal(unread, SECONDS / 1000 * 2);
	for (size_t i = 0; i < use->user_count; i++)
		users += use->users[i].used_bytes == (uint64_t)(use->users[i].time_ns - 6) / 10;
	assert_int_equal(users, use->user_count);
	assert_true((uint64_t)users * use->each * 2 > SECONDS);
	use_subject.close(&feed.process);
	batch_free(&feed.batch);
}

/* As many threads as fit nowhere: nothing is thinned again and again, and what finds no room is counted. */
static void test_too_many_threads(void **unused)
{
	struct feed feed = {.scan = {.process = &feed.process}};
	const struct use_rows *use = &feed.process.use;

	(void)unused;
	for (uint64_t i = 0; i < (1u << 20) + 1000; i++)
		take_reading(&feed, i, USE_thread_run, i, i);
	assert_int_equal(use->count + use->left_out, (1u << 20) + 1000);
	assert_true(use->left_out > 0);
	use_subject.close(&feed.process);
	batch_free(&feed.batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_long_run), cmocka_unit_test(test_too_many_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
