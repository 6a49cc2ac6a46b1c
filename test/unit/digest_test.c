/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the time line in bounded memory (reducer/trace/digest.h): whatever comes in, nothing is left out silently.
 *
 * Rule: what the sums must be is counted here while spans are made up, never asked of the digest.
 */
#include "reducer/trace/digest.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LANES 5
#define ITEMS 1000u
#define TEXTS 100000u

static uint64_t seed;

static uint32_t dice(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

struct made {
	uint64_t count, busy, longest;
};

/* Kernels on lanes without overlap; every thousandth is long. Names are few, or all different. */
static void make_spans(struct digest *digest, size_t count, uint32_t names, struct made made[LANES])
{
	int64_t now[LANES] = {0};
	char name[64];

	for (size_t i = 0; i < count; i++) {
		uint32_t lane = dice(LANES), duration = dice(1000) == 0 ? 100000 : 1 + dice(400);
		struct span span = {.what = SPAN_KERNEL,
				    .on = SPAN_QUEUE,
				    .lane = lane,
				    .category = "kernel",
				    .name = name,
				    .start_ns = now[lane],
				    .duration_ns = duration,
				    .flow = i + 1};
		snprintf(name, sizeof name, "kernel_%" PRIu32, names ? dice(names) : (uint32_t)i);
		digest_add(digest, &span);
		now[lane] += duration + dice(100);
		made[lane].count++;
		made[lane].busy += duration;
		made[lane].longest = duration > made[lane].longest ? duration : made[lane].longest;
	}
}

static void compare(const struct digest *digest, const struct made made[LANES])
{
	struct made found[LANES] = {{0}};
	int64_t before[LANES];
	int ok = 1;

	for (size_t i = 0; i < LANES; i++)
		before[i] = INT64_MIN;
	for (size_t i = 0; i < digest->count; i++) {
		const struct digest_item *item = &digest->items[i];
		uint32_t lane = digest->rows[item->row].lane;
		found[lane].count += item->count;
		found[lane].busy += item->busy_ns;
		found[lane].longest = item->longest_ns > found[lane].longest ? item->longest_ns : found[lane].longest;
		ok &= item->start_ns >= before[lane] && item->busy_ns <= item->duration_ns;
		ok &= item->count == 1 ? item->busy_ns == item->duration_ns : item->longest_ns < digest->grain_ns;
		before[lane] = item->start_ns + (int64_t)item->duration_ns;
	}
	assert_true(ok);
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(found[i].count, made[i].count);
		assert_int_equal(found[i].busy, made[i].busy);
		assert_int_equal(found[i].longest, made[i].longest);
	}
}

static void nothing_is_lost(void **state)
{
	(void)state;
	for (seed = 1; seed < 20000; seed = seed * 7 + 3) {
		struct made made[LANES] = {{0}};
		struct digest digest;
		uint64_t given = seed;

		digest_start(&digest, ITEMS, TEXTS);
		make_spans(&digest, given % 3 ? 30000 : 700, given % 2 ? 20 : 0, made);
		assert_in_range(digest.count, 1, ITEMS);
		digest_finish(&digest);
		compare(&digest, made);
		while (digest_coarsen(&digest))
			compare(&digest, made);
		assert_true(digest.count <= LANES);
		digest_free(&digest);
		seed = given;
	}
}

static void few_stay_as_they_are(void **state)
{
	struct made made[LANES] = {{0}};
	struct digest digest;

	(void)state;
	seed = 5;
	digest_start(&digest, ITEMS, TEXTS);
	make_spans(&digest, ITEMS, 10, made);
	digest_finish(&digest);
	assert_int_equal(digest.count, ITEMS);
	assert_int_equal(digest.grain_ns, 0);
	digest_free(&digest);
}

/* What begins inside a window is there as it was, and no block reaches across its begin. */
static void windows_are_exact(void **state)
{
	struct made made[LANES] = {{0}};
	struct digest digest;
	size_t inside = 0;

	(void)state;
	seed = 9;
	digest_start(&digest, ITEMS, TEXTS);
	digest_look_at(&digest, 1000000, 1005000, "here");
	digest_look_at(&digest, 1004000, 1009000, "overlaps the first: not taken");
	assert_int_equal(digest.window_count, 1);
	make_spans(&digest, 100000, 10, made);
	digest_finish(&digest);
	compare(&digest, made);
	assert_true(digest.grain_ns > 0);
	for (size_t i = 0; i < digest.count; i++) {
		const struct digest_item *item = &digest.items[i];
		if (item->start_ns >= digest.windows[0].from_ns && item->start_ns < digest.windows[0].to_ns) {
			assert_int_equal(item->count, 1);
			inside++;
		}
	}
	assert_true(inside > LANES);
	digest_free(&digest);
}

/* Hostile names and crowds of threads: memory and rows stay bounded, every span is counted. */
static void hostile_runs_stay_bounded(void **state)
{
	struct digest digest;
	uint64_t count = 0;
	char *name = malloc(65537);

	(void)state;
	assert_non_null(name);
	seed = 3;
	digest_start(&digest, ITEMS, TEXTS);
	for (uint32_t i = 0; i < 8500; i++) {
		memset(name, 'a' + (int)dice(26), 65536);
		name[65536] = 0;
		name[dice(100)] = '\x1f'; /* what parts texts inside */
		name[snprintf(name, 12, "%u", i)] = '<';
		digest_add(&digest, &(struct span){.what = SPAN_RANGE,
						   .on = SPAN_THREAD,
						   .track = i,
						   .category = "range",
						   .name = name,
						   .start_ns = -5000 + (int64_t)i,
						   .duration_ns = dice(100)});
		/* Each row has an item at least. What was left may double; while there is room names are long. */
		assert_true(digest.names.bytes < TEXTS + 2 * DIGEST_NAME_MOST ||
			    digest.names.bytes < 2 * digest.row_count * (DIGEST_NAME_LEAST + 60) + 2 * DIGEST_NAME_MOST);
	}
	digest_finish(&digest);
	for (size_t i = 0; i < digest.count; i++)
		count += digest.items[i].count;
	assert_int_equal(count, 8500);
	assert_int_equal(digest.told, 8500);
	assert_true(digest.rows_shared > 0 && digest.row_count < 10000);
	digest_free(&digest);
	free(name);
}

static void peaks_of_counters_stay(void **state)
{
	struct digest digest;
	double most = 0, found = 0;

	(void)state;
	seed = 4;
	digest_start(&digest, ITEMS, TEXTS);
	for (uint32_t i = 0; i < 20000; i++) {
		double value = dice(1000000);
		most = value > most ? value : most;
		digest_add(&digest, &(struct span){.kind = SPAN_COUNTER,
						   .what = SPAN_MEMORY,
						   .on = SPAN_PROCESS,
						   .category = "memory",
						   .name = "live memory: heap",
						   .start_ns = i * 10,
						   .value = value});
	}
	digest_finish(&digest);
	assert_int_equal(digest.row_count, 1);
	for (size_t i = 0; i < digest.count; i++)
		found = digest.items[i].value > found ? digest.items[i].value : found;
	assert_true(found >= most && found <= most);
	digest_free(&digest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost),	  cmocka_unit_test(few_stay_as_they_are),
		cmocka_unit_test(windows_are_exact),	  cmocka_unit_test(hostile_runs_stay_bounded),
		cmocka_unit_test(peaks_of_counters_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
