/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks whose last record is cut off: of a program that wrote over them, or that another process drains as it finds them. And
 * chunks of all kinds of records: the first field of each comes out as it went in.
 * Rule: the chunk's last byte is the last one before a page that cannot be read.
 */
#include "writer/encode.h"
#include "writer/format.h"
#include "writer/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <lz4.h>

enum { PAGE = 65536, MOST = 3 * sizeof(struct tfp_record_alloc) }; /* bytes; a multiple of every machine's pages */

/* The records that are found in the first `bytes` of these. */
static uint64_t found_in(const void *records, size_t bytes)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t scratch_bytes = tfp_scratch_bytes(bytes);
	void *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
	struct tfp_block_header header = {0};

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_non_null(scratch);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	memcpy(pages + PAGE - bytes, records, bytes);
	tfp_encode(scratch, scratch_bytes, pages + PAGE - bytes, bytes, 0, &header);
	free(scratch);
	munmap(pages, 2 * PAGE);
	return header.records;
}

static void test_a_cut_record_is_left_out(void **state)
{
	const uint8_t tags[] = {TFP_TAG_alloc, TFP_TAG_free, TFP_TAG_sample};
	const size_t sizes[] = {sizeof(struct tfp_record_alloc), sizeof(struct tfp_record_free), sizeof(struct tfp_record_sample)};

	(void)state;
	for (size_t first = 0; first < 3; first++) {
		for (size_t last = 0; last < 3; last++) {
			_Alignas(8) uint8_t records[MOST + sizeof(struct tfp_record_sample) * 2] = {0};

			records[0] = tags[first];
			records[sizes[first]] = tags[last];
			for (size_t bytes = 8; bytes <= sizes[first] + sizes[last]; bytes += 8) {
				uint64_t whole = (bytes >= sizes[first]) + (bytes >= sizes[first] + sizes[last]);
				assert_int_equal(found_in(records, bytes), whole);
			}
		}
	}
}

#define TFP_FACT(tag, name, help)
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_END()
#define TFP_EVENT(tag, name, help) [tag] = sizeof(struct tfp_record_##name),
static const uint8_t bytes_of[256] = {
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FIELD
#undef TFP_END
#undef TFP_FACT

enum { CHUNK = 40000, COLUMNS = 4 * CHUNK }; /* bytes */

static uint8_t value_of(unsigned tag, unsigned row)
{
	return (uint8_t)(tag + row * 7);
}

/* A chunk of records of these two kinds, `run` of one and one of the other in turn. Returns its bytes. */
static size_t fill(uint8_t *records, unsigned often, unsigned seldom, unsigned run, unsigned *counts)
{
	size_t at = 0;

	counts[often] = counts[seldom] = 0;
	for (unsigned i = 0;; i++) {
		unsigned tag = i % (run + 1) == run ? seldom : often;
		if (at + bytes_of[tag] > CHUNK)
			return at;
		memset(records + at, 0, bytes_of[tag]);
		*(uint64_t *)(void *)(records + at) = (uint64_t)i * 1000 << TFP_TAG_BITS | tag;
		records[at + 8] = value_of(tag, counts[tag]++);
		at += bytes_of[tag];
	}
}

static uint64_t next_varint(const uint8_t **at)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

static void check_column(const struct tfp_column_header *column, const uint8_t *at, unsigned count)
{
	uint64_t before = 0;

	assert_int_equal(column->value_count, count);
	for (unsigned row = 0; row < count; row++) {
		uint64_t value = next_varint(&at);
		if (column->encoding == TFP_ENCODE_DELTA)
			value = before += value >> 1 ^ (0 - (value & 1));
		else if (column->encoding != TFP_ENCODE_CONST)
			assert_int_equal(column->encoding, TFP_ENCODE_VARINT);
		assert_int_equal(value, value_of(column->tag, row));
	}
}

/* Returns how many first fields of kinds there were. */
static unsigned check(const uint8_t *payload, const struct tfp_block_header *header, const unsigned *counts)
{
	static _Alignas(8) uint8_t columns[COLUMNS];
	unsigned found = 0;
	uint32_t sums[2];

	assert_true(header->raw_bytes <= COLUMNS);
	assert_int_equal(header->codec, TFP_CODEC_LZ4);
	int bytes = LZ4_decompress_safe((const char *)payload, (char *)columns, (int)header->encoded_bytes, COLUMNS);
	assert_int_equal(bytes, header->raw_bytes);
	memcpy(sums, columns, sizeof sums);
	const uint8_t *at = columns + sizeof sums;
	for (uint32_t i = 0; i < sums[1]; i++) {
		struct tfp_column_header column;
		memcpy(&column, at, sizeof column);
		at += sizeof column;
		if (column.tag > TFP_TAG_free && column.field == 0) {
			check_column(&column, at, counts[column.tag]);
			found++;
		}
		at += column.bytes;
	}
	return found;
}

static void test_records_of_any_kinds_come_out_as_they_went_in(void **state)
{
	static _Alignas(8) uint8_t records[CHUNK];
	static unsigned counts[256];
	size_t scratch_bytes = tfp_scratch_bytes(CHUNK);
	void *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);

	(void)state;
	assert_non_null(scratch);
	for (unsigned often = TFP_TAG_free + 1; often < 256; often++) {
		for (unsigned seldom = TFP_TAG_free + 1; seldom < 256; seldom += 1 + often % 7) {
			struct tfp_block_header header = {0};
			if (often == seldom || !bytes_of[often] || !bytes_of[seldom])
				continue;
			size_t bytes = fill(records, often, seldom, 1 + seldom % 5, counts);
			const uint8_t *space = tfp_encode(scratch, scratch_bytes, records, bytes, 0, &header);
			assert_int_equal(header.records, counts[often] + counts[seldom]);
			assert_int_equal(check(space + sizeof header, &header, counts), 2);
		}
	}
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cut_record_is_left_out),
		cmocka_unit_test(test_records_of_any_kinds_come_out_as_they_went_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
