/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that may be being written (reducer/read/moment.h), of which nothing changes any more: damaged ones, and such as are cut off. */
#include "reducer/read/events.h"
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Its process is this one, which runs. */
static void begin_running(struct maker *maker)
{
	FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re"), *stat = fopen("/proc/self/stat", "re");
	char line[1024] = "";
	const char *at;

	assert_true(boot != NULL && stat != NULL && fgets(line, sizeof line, stat) != NULL);
	maker_begin(maker);
	maker_schema(maker, "");
	maker->header.pid = (uint32_t)getpid();
	maker->header.pid_namespace = 0;
	at = strrchr(line, ')');
	assert_non_null(at);
	for (int field = 2; field < 22; field++) {
		at = strchr(at + 1, ' ');
		assert_non_null(at);
	}
	maker->header.process_start = strtoull(at, NULL, 10);
	for (int i = 0, digit; i < 32 && (digit = fgetc(boot)) != EOF;) {
		char text[2] = {(char)digit, 0};

		if (digit == '-')
			continue;
		maker->header.boot_id[i / 2] = (uint8_t)(maker->header.boot_id[i / 2] << 4 | strtoul(text, NULL, 16));
		i++;
	}
	fclose(boot);
	fclose(stat);
}

static void test_of_a_chunk_that_is_cut_off_the_records_before_the_cut_are_read(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	struct diag_list diags;
	struct log *log;
	size_t block;

	(void)state;
	for (int i = 0; i < 100; i++)
		MAKER_ADD(records, i + 1, free, .address = 16);
	maker_begin(&maker);
	maker_schema(&maker, "");
	block = maker_chunk(&maker, 1, 0, 1, records);
	maker_finish(&maker);
	log = maker_open(&maker, block + sizeof(struct tfp_block_header) + sizeof(struct tfp_chunk) + records->size / 2, &diags);
	assert_non_null(log);
	assert_non_null(log->moment);
	assert_int_equal(maker_count_records(log), 50);
	assert_true(diags.damage > 0);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
	free(records);
}

static int count_slots(void *context, const struct tfp_thread_slot *slot)
{
	*(size_t *)context += slot->serial;
	return 0;
}

static void test_slots_of_one_number_do_not_say_that_the_process_runs(void **state)
{
	struct tfp_thread_slot slots[3] = {{.state = 1, .serial = 1}, {.state = 1, .serial = 1, .tid = 7}, {.state = 1, .serial = 2}};
	struct maker maker;
	struct diag_list diags;
	struct log *log;
	size_t sum = 0;

	(void)state;
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_live(&maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	maker_finish(&maker);
	log = maker_open(&maker, maker.size, &diags);
	assert_non_null(log);
	assert_non_null(log->moment);
	assert_int_equal(log->is_running, 0);
	assert_int_equal(log_slots(log, count_slots, &sum), 0);
	assert_int_equal(sum, 4);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
}

/* Each wait is at least one voluntary switch. */
static void test_a_thousand_damaged_blocks_are_not_waited_for_one_by_one(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	struct rusage before, after;
	struct diag_list diags;
	struct log *log;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	begin_running(&maker);
	for (uint64_t i = 1; i <= 1000; i++) {
		size_t offset = maker_events(&maker, 1, 0, i, 0, records); /* may move the bytes */

		maker.bytes[offset + sizeof(struct tfp_block_header)] ^= 1;
	}
	maker_events(&maker, 1, 0, 1001, 0, records);
	maker_finish(&maker);
	log = maker_open(&maker, maker.size, &diags);
	assert_non_null(log);
	assert_int_equal(log->is_running, 1);
	getrusage(RUSAGE_THREAD, &before);
	assert_int_equal(maker_count_records(log), 1);
	getrusage(RUSAGE_THREAD, &after);
	assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 1, 1000);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
	free(records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_a_chunk_that_is_cut_off_the_records_before_the_cut_are_read),
		cmocka_unit_test(test_slots_of_one_number_do_not_say_that_the_process_runs),
		cmocka_unit_test(test_a_thousand_damaged_blocks_are_not_waited_for_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
