/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the collector reads CUPTI's buffers: gpu_decode ROUNDS. Links the guest's own archive.
 *
 * A buffer of 4 MiB with kernel records of CUPTI 13.0 (216 bytes; one in eight a copy, of 96), 40 launch shapes, 4 streams,
 * is read again and again into a lane that is emptied after each. Prints "decode_million_s X", records a second of
 * processor time / 10^6. Rule: records are written into memory, not encoded or compressed; that is the drain's work.
 */
#include "collectors/cupti_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 4 << 20, LANE = 8 << 20, KERNEL = 216, COPY = 96, SHAPES = 40 };

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

static int no_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	(void)tag, (void)fields, (void)count;
	return 0;
}

static char names[SHAPES][64];
static uint32_t correlation = 1;

static void put(uint8_t *at, size_t offset, size_t bytes, uint64_t value)
{
	memcpy(at + offset, &value, bytes);
}

static size_t add(uint8_t *at, unsigned number)
{
	uint64_t start = UINT64_C(1700000000000000000) + number * 2000ull;
	unsigned shape = number * 7 % SHAPES, is_copy = number % 8 == 7;

	put(at, 0, 4, is_copy ? 1 : 10);
	put(at, 16, 8, start);
	put(at, 24, 8, start + 1500);
	if (is_copy) {
		at[4] = 1;
		put(at, 8, 8, 4096);
		put(at, 36, 4, 1);
		put(at, 40, 4, 7 + number % 4);
		put(at, 44, 4, correlation++);
		return COPY;
	}
	put(at, 44, 4, 1);
	put(at, 48, 4, 7 + number % 4);
	for (unsigned i = 0; i < 3; i++) {
		put(at, 52 + 4 * i, 4, shape + 1);
		put(at, 64 + 4 * i, 4, i ? 1 : 128);
	}
	put(at, 92, 4, correlation++);
	put(at, 104, 8, (uintptr_t)names[shape]);
	return KERNEL;
}

static struct tfp_lane *new_lane(void)
{
	struct tfp_lane *lane = calloc(1, sizeof(*lane));

	lane->chunk = calloc(1, sizeof(struct tfp_chunk) + LANE);
	return lane;
}

static double run(struct tfp_cupti_decoder *decoder, const uint8_t *buffer, size_t bytes, int rounds)
{
	static struct tfp_thread_slot slot;
	static struct tfp_thread thread = {.is_ready = 1, .slot = &slot};
	struct tfp_lane *lane = new_lane();
	clock_t begin = clock();

	for (int i = 0; i < rounds; i++) {
		lane->cursor = (uint8_t *)(lane->chunk + 1);
		lane->end = lane->cursor + LANE;
		tfp_cupti_decode(decoder, &thread, lane, buffer, bytes);
	}
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 100;
	uint8_t *buffer = calloc(1, BUFFER);
	_Atomic uint64_t newest = 1;
	struct tfp_cupti_decoder decoder = {.fact = no_fact, .newest = &newest, .wanted.count = 1};
	size_t bytes = 0;
	unsigned records = 0;

	for (unsigned i = 0; i < SHAPES; i++)
		snprintf(names[i], sizeof(names[i]), "_Z%ukernel_number_%02uPfS_i", 16u, i);
	while (bytes + KERNEL <= BUFFER)
		bytes += add(buffer + bytes, records++);
	decoder.tables = tfp_cupti_tables_make(no_fact);
	decoder.wanted.items[0].to = UINT64_MAX;
	decoder.strides.of[10] = KERNEL;
	decoder.strides.of[1] = COPY;
	run(&decoder, buffer, bytes, 3);
	decoder.records = 0;
	double seconds = run(&decoder, buffer, bytes, rounds);
	if (decoder.records != (uint64_t)records * (unsigned)rounds || decoder.unreadable) {
		fprintf(stderr, "read %llu of %u records a round\n", (unsigned long long)decoder.records, records);
		return 1;
	}
	printf("decode_million_s %.3f\n", (double)decoder.records / seconds / 1e6);
	printf("ns_per_event %.3f\n", 1e9 * seconds / (double)decoder.records);
	return 0;
}
