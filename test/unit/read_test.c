/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/read: whole, cut, flipped, foreign, future and hostile logs.
 *
 * Rule: each expectation stands in the test; every log is made here.
 */
#include "reducer/read/crc32c.h"
#include "reducer/read/events.h"
#include "reducer/read/schema.h"
#include "reducer/read/stacks.h"
#include "test/logmaker.h"
#include "writer/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int count_facts(void *context, const struct fact *fact)
{
	(void)fact;
	++*(int *)context;
	return 0;
}

static int count_slots(void *context, const struct tfp_thread_slot *slot)
{
	assert_true(slot->serial == 1 || slot->serial == 2);
	++*(int *)context;
	return 0;
}

/* Reads everything there is in a log of `bytes` bytes; what it holds does not matter, only that it can be read. */
static uint64_t read_all(const struct maker *maker, size_t bytes, uint64_t *damage)
{
	struct diag_list diags;
	struct log *log = maker_open(maker, bytes, &diags);
	struct tfp_end_payload end;
	uint64_t records = 0;
	int facts = 0;

	if (log != NULL) {
		struct stacks *stacks = stacks_load(log);
		const struct tfp_pc *frames[4];

		records = maker_count_records(log);
		log_facts(log, count_facts, &facts);
		log_end(log, &end);
		for (uint32_t id = 0; id < stacks->node_count; id++)
			stacks_frames(stacks, id, frames, 4);
		stacks_free(stacks);
		log_close(log);
	}
	*damage = diags.damage;
	diag_free(&diags);
	return records;
}

static void test_checksum_of_the_nine_digits(void **state)
{
	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_portable("123456789", 9), 0xe3069283);
	assert_int_equal(tfp_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_portable("", 0), 0);
}

static void test_built_in_schema_is_that_of_the_writer(void **state)
{
	struct schema *built_in = schema_built_in();
	const struct schema_record *alloc = schema_record(built_in, "alloc");

	(void)state;
	assert_int_equal(alloc->raw_bytes, sizeof(struct tfp_record_alloc));
	assert_int_equal(alloc->fields[schema_field(alloc, "slack")].offset, offsetof(struct tfp_record_alloc, slack));
	assert_int_equal(alloc->fields[schema_field(alloc, "function")].offset, offsetof(struct tfp_record_alloc, function));
	assert_int_equal(schema_record(built_in, "window")->raw_bytes, sizeof(struct tfp_record_window));
	assert_int_equal(schema_field(alloc, "nonsense"), -1);
	assert_string_equal(schema_loss(built_in, 1)->name, "output_write");
	schema_free(built_in);
}

static void test_everything_is_read(void **state)
{
	struct maker maker;
	struct diag_list diags;
	struct log *log;
	int facts = 0, slots = 0;
	struct tfp_end_payload end;

	(void)state;
	maker_everything(&maker);
	log = maker_open(&maker, maker.size, &diags);
	assert_non_null(log);
	assert_int_equal(log->stream_count, 3);
	assert_int_equal(log->events_blocks, 2);
	assert_int_equal(log->unknown_blocks, 1);
	assert_true(log->hole_bytes >= 5000);
	assert_int_equal(maker_count_records(log), 25);
	log_facts(log, count_facts, &facts);
	assert_int_equal(facts, 6);
	log_slots(log, count_slots, &slots);
	assert_int_equal(slots, 2);
	assert_int_equal(log_end(log, &end), 1);
	assert_int_equal(end.wait_status, 9);
	assert_int_equal(diags.damage, 0);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
}

static void test_a_chunk_counts_until_its_events_block_is_whole(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	size_t block;
	uint64_t damage;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	MAKER_ADD(records, 2, free, .address = 32);
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_chunk(&maker, 1, 0, 1, records);
	block = maker_events(&maker, 1, 0, 1, 0, records);
	maker_finish(&maker);
	assert_int_equal(read_all(&maker, maker.size, &damage), 2);
	assert_int_equal(damage, 0);
	maker.bytes[block + sizeof(struct tfp_block_header)] ^= 1;
	assert_int_equal(read_all(&maker, maker.size, &damage), 2);
	assert_int_equal(damage, 0); /* nothing is missing: the chunk has it all */
	maker.bytes[block] ^= 1;
	assert_int_equal(read_all(&maker, maker.size, &damage), 2);
	assert_int_equal(read_all(&maker, block + 20, &damage), 2);
	maker_free(&maker);
	free(records);
}

static void test_a_damaged_block_costs_only_itself(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	size_t second;
	uint64_t damage;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_events(&maker, 1, 0, 1, 0, records);
	second = maker_events(&maker, 1, 0, 2, 0, records);
	maker_events(&maker, 1, 0, 3, 0, records);
	maker_events(&maker, 2, 0, 1, 0, records);
	maker_finish(&maker);
	assert_int_equal(read_all(&maker, maker.size, &damage), 4);
	assert_int_equal(damage, 0);
	maker.bytes[second + sizeof(struct tfp_block_header) + 3] ^= 64; /* its payload */
	assert_int_equal(read_all(&maker, maker.size, &damage), 3);
	assert_int_equal(damage, 1);
	maker.bytes[second + 9] ^= 64; /* and its header: the next is found by looking for it */
	assert_int_equal(read_all(&maker, maker.size, &damage), 3);
	assert_int_equal(damage, 2); /* what it held, and that it is missing */
	maker_free(&maker);
	free(records);
}

#define COARSER (getenv("TEST_ALL") ? 1u : 5u) /* so many times fewer places in `make test`: each is a reading of a whole log */

static void test_every_prefix_can_be_read(void **state)
{
	struct maker maker;
	uint64_t damage, last = 0;

	(void)state;
	maker_everything(&maker);
	for (size_t bytes = 0; bytes < maker.size; bytes += (bytes < 4096 || bytes > maker.size - 4096 ? 7 : 61) * COARSER) {
		uint64_t records = read_all(&maker, bytes, &damage);
		assert_true(records >= last && (bytes > 1024 || damage > 0));
		last = records;
	}
	assert_int_equal(read_all(&maker, maker.size, &damage), 25);
	maker_free(&maker);
}

static void test_every_flipped_bit_can_be_read(void **state)
{
	struct maker maker;
	uint64_t damage;

	(void)state;
	maker_everything(&maker);
	for (size_t at = 0; at < maker.size; at += (maker.bytes[at] == 0 ? 29 : 3) * COARSER) {
		maker.bytes[at] ^= (uint8_t)(1u << at % 8);
		read_all(&maker, maker.size, &damage);
		maker.bytes[at] ^= (uint8_t)(1u << at % 8);
	}
	maker_free(&maker);
}

static void assert_refused(struct maker *maker, size_t bytes, const char *reason)
{
	struct diag_list diags;

	assert_null(maker_open(maker, bytes, &diags));
	assert_int_equal(diags.count, 1);
	assert_int_equal(diags.items[0].level, DIAG_FATAL);
	assert_string_equal(diags.items[0].reason, reason);
	assert_string_equal(diags.items[0].file, maker_path());
	diag_free(&diags);
}

static void test_what_is_no_log_is_refused_with_a_reason(void **state)
{
	struct maker maker;

	(void)state;
	maker_everything(&maker);
	assert_refused(&maker, 0, "the file is empty");
	assert_refused(&maker, 100, "the file ends inside its header");
	maker.bytes[130] ^= 1;
	assert_refused(&maker, maker.size, "the file header is damaged (checksum)");
	maker.header.major = 2;
	maker_finish(&maker);
	assert_refused(&maker, maker.size, "the format is of another major version");
	maker.header.major = 1;
	maker.header.features_incompat = 4;
	maker_finish(&maker);
	assert_refused(&maker, maker.size, "the file needs features that this program does not know");
	memcpy(maker.bytes, "#!/bin/sh", 9);
	assert_refused(&maker, maker.size, "this is not a tfprof log, nor a trace that tfprof reads");
	maker_free(&maker);
}

static void test_what_people_name_instead_of_a_log_is_called_by_its_name(void **state)
{
	static const struct {
		const char *head, *reason;
	} rows[] = {
		{"\x1f\x8b\x08xxxx", "this is a file packed by gzip"},
		{"version https://git-lfs.github.com/spec/v1\noid", "this stands for a file that Git LFS keeps elsewhere"},
		{"SQLite format 3", "this is a SQLite database, as Nsight Systems exports them: tfprof reads none"},
		{"\x80\x04\x95xxxx", "this is a pickle of Python's, as PyTorch's memory snapshots are: tfprof reads none"},
		{"PK\x03\x04xxxx", "this is a zip archive"},
		{"\xff\xfe{xxx", "this is text of UTF-16"},
		{"<!DOCTYPE html>", "this is a web page"},
		{"\x0a\xef\xbf\xbd\x06\x08",
		 "bytes of this file were replaced (U+FFFD), as happens to what is no text and is written as text"},
		{"{\"\xef\xbf\xbd\"", "this is JSON, but no trace that tfprof reads: it has no \"traceEvents\", and is no list of events"},
	};
	struct maker maker;

	(void)state;
	maker_everything(&maker);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(maker.bytes, 'x', 200);
		memcpy(maker.bytes, rows[i].head, strlen(rows[i].head));
		assert_refused(&maker, maker.size, rows[i].reason);
	}
	maker_free(&maker);
}

static void test_a_later_minor_version_is_read(void **state)
{
	struct maker maker;
	uint64_t damage;

	(void)state;
	maker_everything(&maker);
	maker.header.minor = 7;
	maker.header.features_compat = 1;
	maker.header.features_warn = 1;
	maker.header.header_bytes = 300; /* with fields behind those we know */
	maker_finish(&maker);
	assert_int_equal(read_all(&maker, maker.size, &damage), 25);
	assert_int_equal(damage, 0);
	maker_free(&maker);
}

/* A payload of columns, by hand. */
struct by_hand {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct by_hand *to, const void *bytes, size_t count)
{
	memcpy(to->bytes + to->size, bytes, count);
	to->size += count;
}

static void put_column(struct by_hand *to, uint16_t tag, uint16_t field, uint8_t encoding, uint32_t values, const char *data,
		       uint32_t bytes)
{
	struct tfp_column_header header = {.tag = tag, .field = field, .encoding = encoding, .value_count = values, .bytes = bytes};

	put(to, &header, sizeof header);
	put(to, data, bytes);
}

/* Two releases at ticks 1 and 2, and a third column as given. */
static uint64_t read_columns(uint32_t records, uint16_t tag, uint16_t field, uint8_t encoding, uint32_t values,
			     const char *data, uint32_t bytes, uint64_t *damage)
{
	struct maker maker;
	struct by_hand hand = {.size = 0};
	const uint32_t counts[2] = {records, 3};
	uint64_t count;

	put(&hand, counts, sizeof counts);
	put_column(&hand, 0, 0, TFP_ENCODE_BYTES, 2, "\x02\x02", 2);
	put_column(&hand, 0, 1, TFP_ENCODE_DELTA, 2, "\x02\x02", 2);
	put_column(&hand, tag, field, encoding, values, data, bytes);
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_sealed(&maker, TFP_BLOCK_EVENTS, &(struct tfp_block_header){.thread = 1, .sequence = 1}, hand.bytes, hand.size);
	maker_finish(&maker);
	count = read_all(&maker, maker.size, damage);
	maker_free(&maker);
	return count;
}

static void test_columns_that_lie_are_damage(void **state)
{
	static const struct {
		uint32_t records;
		uint16_t tag, field;
		uint8_t encoding;
		uint32_t values;
		const char *data;
		uint32_t bytes;
		uint64_t count;
	} cases[] = {
		{2, 2, 0, TFP_ENCODE_VARINT, 2, "\x10\x20", 2, 2},
		{2, 2, 0, TFP_ENCODE_VARINT, 2, "\x10", 1, 0},         /* a value short */
		{2, 2, 0, TFP_ENCODE_VARINT, 2, "\x10\x20\x30", 3, 0}, /* a value more */
		{2, 2, 0, TFP_ENCODE_VARINT, 2, "\x10\xa0", 2, 0},     /* cut inside a value */
		{2, 2, 0, TFP_ENCODE_CONST, 2, "", 0, 0},
		{2, 2, 0, TFP_ENCODE_CONST, 2, "\x90\x10", 2, 2},
		{2, 2, 0, TFP_ENCODE_BYTES, 2, "\x10", 1, 0},
		{2, 2, 0, TFP_ENCODE_VARINT, 3, "\x10\x20\x30", 3, 0}, /* more values than records */
		{2, 1, 0, TFP_ENCODE_LISTS, 2, "\x11", 1, 2},          /* codes that end early are 0 */
		{2, 1, 0, TFP_ENCODE_HEAP, 2, "\x11", 1, 2},
		{2, 2, 0, TFP_ENCODE_SPARSE, 2, "\x10", 1, 2},
		{2, 2, 0, TFP_ENCODE_SPARSE, 2, "\x10\x01\x20", 3, 2},
		{2, 2, 0, TFP_ENCODE_SPARSE, 2, "\x10\x02\x20", 3, 0}, /* a row too many */
		{2, 2, 0, TFP_ENCODE_SPARSE, 2, "\x10\x01", 2, 0},     /* a row without its value */
		{2, 2, 0, TFP_ENCODE_SPARSE, 2, "", 0, 0},
		{2, 1, 0, TFP_ENCODE_LISTS, 9, "\x11", 1, 0},
		{2, 2, 0, TFP_ENCODE_LISTS, 2, "\x11", 1, 0},
		{2, 1, 0, TFP_ENCODE_HEAP, 9, "\x11", 1, 0},
		{2, 2, 0, TFP_ENCODE_HEAP, 2, "\x11", 1, 0},
		{2, 2, 0, 77, 2, "\x11", 1, 2},                        /* of tomorrow: skipped */
		{2, 2, 999, TFP_ENCODE_VARINT, 2, "\x10\x20", 2, 2},
		{2, 0, 0, TFP_ENCODE_BYTES, 2, "\x10\x20", 2, 0},      /* twice */
		{2, 0, 5, TFP_ENCODE_BYTES, 2, "\x10\x20", 2, 2},
		{1000000, 2, 0, TFP_ENCODE_CONST, 1000000, "\x10", 1, 0},
		{0xffffffff, 2, 0, TFP_ENCODE_CONST, 0xffffffff, "\x10", 1, 0},
		{3, 2, 0, TFP_ENCODE_CONST, 3, "\x10", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t damage, count = read_columns(cases[i].records, cases[i].tag, cases[i].field, cases[i].encoding,
						      cases[i].values, cases[i].data, cases[i].bytes, &damage);

		assert_int_equal(count, cases[i].count);
		assert_int_equal(damage != 0, cases[i].count == 0);
	}
}

static void test_times_in_another_encoding_are_not_believed(void **state)
{
	struct maker maker;
	struct by_hand hand = {.size = 0};
	const uint32_t counts[2] = {4, 2};
	uint64_t damage;

	(void)state;
	put(&hand, counts, sizeof counts);
	put_column(&hand, 0, 0, TFP_ENCODE_BYTES, 4, "\x02\x02\x02\x02", 4);
	put_column(&hand, 0, 1, TFP_ENCODE_CONST, 4, "\x02", 1);
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_sealed(&maker, TFP_BLOCK_EVENTS, &(struct tfp_block_header){.thread = 1, .sequence = 1}, hand.bytes, hand.size);
	maker_finish(&maker);
	assert_int_equal(read_all(&maker, maker.size, &damage), 0);
	assert_int_equal(damage, 1);
	maker_free(&maker);
}

static void test_sizes_that_lie_are_damage(void **state)
{
	static const uint64_t raw[] = {0, 1, TFP_RAW_MAX, TFP_RAW_MAX + 1, UINT64_MAX, UINT64_C(1) << 40};
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	struct tfp_block_header *header;
	size_t block;
	uint64_t damage;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	maker_begin(&maker);
	maker_schema(&maker, "");
	block = maker_events(&maker, 1, 0, 1, 0, records);
	maker_events(&maker, 1, 0, 2, 0, records);
	maker_finish(&maker);
	header = (struct tfp_block_header *)(void *)(maker.bytes + block);
	for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
		struct tfp_block_header kept = *header;

		header->raw_bytes = raw[i];
		maker_repair(&maker, block);
		assert_int_equal(read_all(&maker, maker.size, &damage), 1);
		assert_int_equal(damage, 1);
		*header = kept;
		header->encoded_bytes = raw[i] + 4096; /* reaches beyond the file: what lies behind its header is still found */
		maker_repair(&maker, block);
		assert_int_equal(read_all(&maker, maker.size, &damage), 1);
		assert_true(damage >= 1);
		*header = kept;
	}
	maker_free(&maker);
	free(records);
}

static void test_stacks_cannot_loop(void **state)
{
	const uint64_t nodes[] = {0, UINT64_C(2) << 32 | 1, UINT64_C(1) << 32 | 1, UINT64_C(3) << 32 | 1, 1, UINT64_C(4) << 32 | 1};
	const struct tfp_pc pcs[] = {{0, 0, 0}, {0x400000, 0, TFP_PC_WRITTEN}};
	const struct tfp_pc *frames[8];
	struct maker maker;
	struct diag_list diags;
	struct stacks *stacks;
	struct log *log;

	(void)state;
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_live(&maker, TFP_BLOCK_PCS, NULL, pcs, sizeof pcs);
	maker_live(&maker, TFP_BLOCK_NODES, NULL, nodes, sizeof nodes);
	maker_live(&maker, TFP_BLOCK_NODES, &(struct tfp_block_header){.first_index = UINT64_MAX - 1}, nodes, sizeof nodes);
	maker_finish(&maker);
	log = maker_open(&maker, maker.size, &diags);
	stacks = stacks_load(log);
	assert_int_equal(stacks_frames(stacks, 1, frames, 8), 0);
	assert_int_equal(stacks_frames(stacks, 2, frames, 8), 0);
	assert_int_equal(stacks_frames(stacks, 3, frames, 8), 0);
	assert_true(stacks_frames(stacks, 5, frames, 8) == 2 && stacks_frames(stacks, 5, frames, 1) == 1);
	assert_int_equal(stacks_frames(stacks, 4000000000u, frames, 8), 0);
	assert_int_equal(diags.damage, 2);
	stacks_free(stacks);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
}

/* Nodes 2 and 3 stand in a packed block, in a live one too if `is_kept`; `broken`: the packed one is damaged. */
static void check_packed(int is_kept, int is_broken, size_t frames_of_3, uint64_t damage)
{
	const uint64_t nodes[] = {0, 1, UINT64_C(1) << 32 | 1, UINT64_C(2) << 32 | 1};
	const struct tfp_pc pcs[] = {{0, 0, 0}, {0x400000, 0, TFP_PC_WRITTEN}};
	const uint8_t packed[] = {2, 0, 0, 0, 2, 0, 0, 0, 0, is_broken ? 200 : 0, 1, 1};
	const struct tfp_pc *frames[8];
	struct maker maker;
	struct diag_list diags;

	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_live(&maker, TFP_BLOCK_PCS, NULL, pcs, sizeof pcs);
	maker_live(&maker, TFP_BLOCK_NODES, NULL, nodes, is_kept ? sizeof nodes : 16);
	maker_sealed(&maker, TFP_BLOCK_PACKED_NODES, &(struct tfp_block_header){.first_index = 2, .records = 2}, packed,
		     sizeof packed);
	maker_finish(&maker);
	struct log *log = maker_open(&maker, maker.size, &diags);
	struct stacks *stacks = stacks_load(log);
	assert_int_equal(stacks_frames(stacks, 1, frames, 8), 1);
	assert_int_equal(stacks_frames(stacks, 3, frames, 8), frames_of_3);
	assert_int_equal(diags.damage, damage);
	stacks_free(stacks);
	log_close(log);
	diag_free(&diags);
	maker_free(&maker);
}

static void test_packed_nodes(void **state)
{
	(void)state;
	check_packed(0, 0, 3, 0);
	check_packed(1, 0, 3, 0);
	check_packed(1, 1, 3, 0); /* killed while it packed: what was to be packed is still there */
	check_packed(0, 1, 0, 1);
}

static void test_dropped_blocks_are_not_missed(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	uint64_t damage;
	size_t second;

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	maker_begin(&maker);
	maker_schema(&maker, "");
	maker_events(&maker, 1, 0, 1, 0, records);
	second = maker_events(&maker, 1, 0, 2, 0, records);
	maker_events(&maker, 1, 0, 3, 0, records);
	maker.live.dropped_from = second;
	maker_finish(&maker);
	assert_int_equal(read_all(&maker, maker.size, &damage), 2);
	assert_int_equal(damage, 0);
	maker_free(&maker);
	free(records);
}

/* The second block was written before the first, and given up; where something is damaged it may have been that. */
static void test_a_later_block_may_be_dropped_before_an_earlier(void **state)
{
	struct maker_records *records = calloc(1, sizeof *records);

	(void)state;
	MAKER_ADD(records, 1, free, .address = 16);
	for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
		struct maker maker;
		uint64_t damage;
		size_t spoilt;

		maker_begin(&maker);
		maker_schema(&maker, "");
		maker_events(&maker, 1, 0, 2, 0, records);
		maker.live.dropped_from = maker_events(&maker, 1, 0, 1, 0, records);
		spoilt = maker_events(&maker, 2, 0, 1, 0, records);
		maker_events(&maker, 1, 0, 3, 0, records);
		maker_finish(&maker);
		if (is_damaged)
			memset(maker.bytes + spoilt, 0x55, 16);
		assert_int_equal(read_all(&maker, maker.size, &damage), is_damaged ? 2 : 3);
		assert_int_equal(damage, is_damaged ? 2 : 0);
		maker_free(&maker);
	}
	free(records);
}

/* Random allocations and releases of few addresses: every code occurs, unaligned distances too. */
/* A field that is the same all over keeps its rows from batch to batch: never those of another value, or of fewer rows. */
static void test_a_field_that_is_the_same_all_over_follows_each_batch(void **state)
{
	static const struct {
		uint64_t value;
		size_t rows;
	} filled[] = {{7, 3}, {7, 2}, {7, 9}, {8, 4}, {7, 9}, {7, BATCH_RECORDS}, {9, 0}, {7, 5}};
	struct batch batch = {0};

	(void)state;
	for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
		struct batch_kind *kind;

		assert_int_equal(batch_begin(&batch, filled[i].rows), 0);
		kind = batch_kind(&batch, 5);
		assert_non_null(kind);
		for (size_t row = 0; row < filled[i].rows; row++)
			assert_ptr_equal(batch_add(&batch, 5, 100 + row), kind);
		if (i == 4) /* between, the field was written row by row */
			for (size_t row = 0; row < filled[i].rows; row++)
				batch_field(&batch, kind, 2)[row] = 1000 + row;
		assert_int_equal(batch_fill(&batch, kind, 2, filled[i].value), 0);
		for (size_t row = 0; row < filled[i].rows; row++)
			assert_int_equal(batch_value(&batch, row, 2), filled[i].value);
	}
	batch_free(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum_of_the_nine_digits),
		cmocka_unit_test(test_built_in_schema_is_that_of_the_writer),
		cmocka_unit_test(test_everything_is_read),
		cmocka_unit_test(test_a_chunk_counts_until_its_events_block_is_whole),
		cmocka_unit_test(test_a_damaged_block_costs_only_itself),
		cmocka_unit_test(test_every_prefix_can_be_read),
		cmocka_unit_test(test_every_flipped_bit_can_be_read),
		cmocka_unit_test(test_what_is_no_log_is_refused_with_a_reason),
		cmocka_unit_test(test_what_people_name_instead_of_a_log_is_called_by_its_name),
		cmocka_unit_test(test_a_later_minor_version_is_read),
		cmocka_unit_test(test_columns_that_lie_are_damage),
		cmocka_unit_test(test_times_in_another_encoding_are_not_believed),
		cmocka_unit_test(test_sizes_that_lie_are_damage),
		cmocka_unit_test(test_stacks_cannot_loop),
		cmocka_unit_test(test_packed_nodes),
		cmocka_unit_test(test_dropped_blocks_are_not_missed),
		cmocka_unit_test(test_a_later_block_may_be_dropped_before_an_earlier),
		cmocka_unit_test(test_a_field_that_is_the_same_all_over_follows_each_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
