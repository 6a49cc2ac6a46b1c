/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of reducer/read: what is missing at the end of a log was cut off, or was never there. */
#include "reducer/read/log.h"
#include "test/logmaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Opens the first `bytes` bytes. Returns how many events blocks and chunks with records can be read. */
static size_t parts_read(const struct maker *maker, size_t bytes, uint64_t *damage)
{
	struct diag_list diags;
	struct log *log = maker_open(maker, bytes, &diags);
	size_t parts = 0;

	assert_non_null(log);
	for (size_t i = 0; i < log->stream_count; i++)
		parts += log->streams[i].count;
	*damage = diags.damage;
	log_close(log);
	diag_free(&diags);
	return parts;
}

static void test_a_process_killed_in_its_first_block_lost_nothing(void **state)
{
	struct maker maker;
	uint64_t damage;

	(void)state;
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_finish(&maker);
	memset(maker.bytes + maker.size - 64, 0, 64);
	assert_int_equal(parts_read(&maker, maker.size, &damage), 0);
	assert_int_equal(damage, 0);
	assert_int_equal(parts_read(&maker, 4096, &damage), 0);
	assert_int_equal(damage, 0);
	maker.live.threads_count = 1; /* it had been there for longer: the file was cut off later */
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, 4096, &damage), 0);
	assert_int_equal(damage, 1);
	maker_free(&maker);
}

/* A thread of ours packs or drains while main returns: what it had reserved is not in the file, and nothing is missing. */
static void test_a_process_that_ends_while_a_block_is_written_is_whole(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	size_t schema, events;
	uint64_t damage;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	maker_begin(&maker);
	schema = maker_schema(&maker, "");
	maker_events(&maker, 1, 0, 1, 0, records);
	events = maker_events(&maker, 1, 0, 2, 0, records);
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.drained_bytes = events - schema;
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 0);
	maker.live.drained_bytes = maker.size - schema; /* it had been written: somebody cut it off */
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 1);
	maker.live.given_up_bytes = maker.size - events; /* it was another that was given up meanwhile */
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 0);
	maker.live.given_up_bytes = 0;
	maker.live.drained_bytes = events - schema;
	maker_live(&maker, TFP_BLOCK_CHUNK, NULL, records->bytes, records->size); /* and here a live one with it */
	maker.live.mapped_end = events; /* no: it was never made */
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 0);
	maker.live.mapped_end = events + 1;
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 1);
	maker.live.mapped_end = 0;
	maker_finish(&maker);
	assert_int_equal(parts_read(&maker, events, &damage), 1);
	assert_int_equal(damage, 1);
	maker_free(&maker);
	free(records);
}

/* A page that a machine lost when it went down, or a copy that was never finished, is no room that nobody used. */
static void test_what_was_written_and_is_zeros_is_lost(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	size_t schema, first, second;
	uint64_t damage;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	maker_begin(&maker);
	schema = maker_schema(&maker, "");
	first = maker_events(&maker, 1, 0, 1, 0, records);
	second = maker_live(&maker, TFP_BLOCK_THREADS, NULL, records->bytes, 0);
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.drained_bytes = maker.live.threads_count = 0;
	maker_finish(&maker);
	memset(maker.bytes + first, 0, second - first);
	assert_int_equal(parts_read(&maker, maker.size, &damage), 0);
	assert_int_equal(damage, 0); /* it had been reserved for a block */
	maker.live.drained_bytes = second - schema;
	maker_finish(&maker);
	parts_read(&maker, maker.size, &damage);
	assert_int_equal(damage, 1);
	maker.live.drained_bytes = 0;
	maker.live.threads_count = 1;
	maker_finish(&maker);
	parts_read(&maker, maker.size, &damage);
	assert_int_equal(damage, 0);
	memset(maker.bytes + first, 0, maker.size - first);
	maker_finish(&maker);
	parts_read(&maker, maker.size, &damage);
	assert_int_equal(damage, 1); /* the block of the threads is gone */
	maker.live.end_kind = TFP_END_NONE; /* killed: it may have been about to make it */
	maker_finish(&maker);
	parts_read(&maker, maker.size, &damage);
	assert_int_equal(damage, 0);
	maker_free(&maker);
	free(records);
}

/* Two logs that somebody made one file of: the second one's records are not the first's. */
static void test_a_log_ends_where_another_begins(void **state)
{
	struct maker first, second;
	struct diag_list diags;
	struct log *log;
	size_t end;

	(void)state;
	maker_everything(&first);
	maker_everything(&second);
	end = first.size;
	first.bytes = realloc(first.bytes, end + second.size);
	assert_non_null(first.bytes);
	memcpy(first.bytes + end, second.bytes, second.size);
	log = maker_open(&first, end + second.size, &diags);
	assert_non_null(log);
	assert_int_equal(log->bytes, end);
	assert_int_equal(log->duplicate_blocks, 0);
	assert_int_equal(maker_count_records(log), 25);
	assert_int_equal(diags.damage, 1);
	assert_string_equal(diags.items[0].reason, "another log begins here: what stands behind it was not read");
	log_close(log);
	diag_free(&diags);
	maker_free(&first);
	maker_free(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_killed_in_its_first_block_lost_nothing),
		cmocka_unit_test(test_a_process_that_ends_while_a_block_is_written_is_whole),
		cmocka_unit_test(test_what_was_written_and_is_zeros_is_lost),
		cmocka_unit_test(test_a_log_ends_where_another_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
