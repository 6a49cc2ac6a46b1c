/* SPDX-License-Identifier: Apache-2.0 */
/* The column of heap addresses, from the writer's encoder to the reducer's decoder; and what decoders make of other bytes. */
#include "reducer/read/heapcode.h"
#include "writer/format.h"
#include "writer/heapcode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Kinds of addresses: few or many, mostly multiples of 16, some of 8, some of 1, the largest there is. */
static uint64_t some_address(uint64_t random, unsigned of)
{
	if (random >> 60 == 0)
		return of == 2 ? random : random & ~UINT64_C(15);
	if (random >> 57 == 9)
		return UINT64_MAX - (random & 3);
	if (of == 0)
		return (random >> 33) % 97 * 48;
	return of == 1 ? (random >> 33) % 3000 * 24 : (random >> 33) % 97 * 48 + (random >> 61 == 1) + (random >> 60 == 5) * 8;
}

static void test_heap_addresses_come_back(void **state)
{
	enum { EVENTS = 20000 };
	uint64_t *addresses = calloc(EVENTS, sizeof *addresses), *sizes = calloc(EVENTS, sizeof *sizes), random = 7;
	uint8_t *out = malloc(EVENTS * TFP_HEAPCODE_CODE_MAX);
	void *memory = aligned_alloc(64, (tfp_heapcode_memory(EVENTS) + 63) / 64 * 64);

	(void)state;
	for (unsigned of = 0; of < 3; of++) {
		struct tfp_heapcode encoder = tfp_heapcode_begin(memory, EVENTS, out);

		for (size_t i = 0; i < EVENTS; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			addresses[i] = some_address(random, of);
			sizes[i] = (random >> 20) % 3 == 0 ? 0 : (random >> 22) % (random >> 59 == 1 ? 100000 : 90) + 1;
			if (random >> 54 == 77)
				sizes[i] = UINT64_MAX - (random & 31); /* a request that its chunk wraps around for */
			if (sizes[i] != 0)
				tfp_heapcode_alloc(&encoder, addresses[i], tfp_heapcode_chunk(sizes[i]));
			else
				tfp_heapcode_free(&encoder, addresses[i]);
		}
		struct heapcode *decoder = heapcode_make(TFP_ENCODE_LISTS, out, (size_t)(encoder.out - out), EVENTS);
		for (size_t i = 0; i < EVENTS; i++) {
			const uint8_t tag = sizes[i] != 0 ? HEAPCODE_ALLOC : HEAPCODE_RELEASE;
			uint64_t address = 1, rest = 1;

			heapcode_decode(decoder, &tag, 1, &sizes[i], sizes[i] != 0 ? &address : &rest, sizes[i] != 0 ? &rest : &address);
			assert_int_equal(address, addresses[i]);
		}
		heapcode_free(decoder);
	}
	free(addresses);
	free(sizes);
	free(out);
	free(memory);
}

/* Codes that no writer wrote: each event takes one, whatever it says, and nothing is read or written outside. */
static void test_heap_addresses_of_any_bytes(void **state)
{
	enum { EVENTS = 400 };
	uint8_t codes[EVENTS * 2], tags[EVENTS];
	uint64_t sizes[EVENTS], of_alloc[EVENTS], of_release[EVENTS], random = 11;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		for (size_t i = 0; i < sizeof codes; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			codes[i] = (uint8_t)(random >> 56 & (round % 2 ? 0xff : 0x1f));
			tags[i / 2] = random >> 40 & 1 ? HEAPCODE_ALLOC : HEAPCODE_RELEASE;
			sizes[i / 2] = random >> 33 & (round % 3 ? 63 : 0xffff);
		}
		for (unsigned encoding = TFP_ENCODE_HEAP; encoding <= TFP_ENCODE_LISTS; encoding += TFP_ENCODE_LISTS - TFP_ENCODE_HEAP) {
			struct heapcode *decoder = heapcode_make(encoding, codes, sizeof codes / (1 + round % 4), EVENTS);

			heapcode_decode(decoder, tags, EVENTS, sizes, of_alloc, of_release);
			heapcode_free(decoder);
		}
	}
}

/* A column as logs of before hold it: docs/format.md, "older heap addresses". */
static void test_heap_addresses_of_older_logs(void **state)
{
	static const struct {
		uint64_t requested, address; /* requested 0: a release */
	} events[] = {
		{24, 0x1000},  {24, 0x1020}, {100, 0x1040}, {0, 0x1020}, {0, 0x1000},  {24, 0x1000}, {24, 0x1020},
		{24, 0x10b0}, {0, 0x9000}, {24, 0x9000}, {0, 0x1040}, {24, 0x1008}, {100, 0x1040}, {0, 0x9005},
	};
	/* far, next, next; age, near; top, top, far; far; stray; age; exact, top; exact */
	static const uint8_t codes[] = {0x97, 4, 20, 20, 8, 14, 0, 0, 23 + 18, 0x81, 0x40,
					16, 20, 22, 0xef, 0xff, 0x03, 0, 0, 0x8a, 0xff, 0x03};
	struct heapcode *decoder = heapcode_make(TFP_ENCODE_HEAP, codes, sizeof codes, sizeof events / sizeof *events);

	(void)state;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		const uint8_t tag = events[i].requested != 0 ? HEAPCODE_ALLOC : HEAPCODE_RELEASE;
		uint64_t address = 1;

		heapcode_decode(decoder, &tag, 1, &events[i].requested, &address, &address);
		assert_int_equal(address, events[i].address);
	}
	assert_ptr_equal(decoder->state.at, decoder->end);
	heapcode_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap_addresses_come_back),
		cmocka_unit_test(test_heap_addresses_of_any_bytes),
		cmocka_unit_test(test_heap_addresses_of_older_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
