/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks whose last record is cut off: of a program that wrote over them, or that another process drains as it finds them.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cut_record_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
