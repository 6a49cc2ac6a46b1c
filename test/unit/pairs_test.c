/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of allocations and releases: which class a life falls into, and the rows of records of several kinds in a batch. */
#include "reducer/model/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BEGIN = 64000 }; /* ticks: a block's time is kept by the 64 */
#define LIVES_MOST 1e14    /* ticks, within what is kept of a block's time */

/* The class that a life of so many ticks is counted in. */
static unsigned class_of(uint64_t ticks, double ticks_per_ns)
{
	const struct live_block block = {.address = 4096, .time = BEGIN, .usable = 24};
	struct pairs pairs;
	unsigned class = 0;

	assert_int_equal(pairs_begin(&pairs, 1, ticks_per_ns, 1), 0);
	pairs_alloc(&pairs, 0, &block);
	pairs_release(&pairs, 0, block.address, BEGIN + ticks);
	while (class < HEAP_LIFE_CLASSES && pairs.histogram->blocks[5][class] == 0)
		class++;
	pairs_free(&pairs);
	return class;
}

/* As heap.h has it: class 0 ends at 1 us, each of the others lasts ten times as long, the last but one for ever. */
static unsigned class_wanted(uint64_t ticks, double ticks_per_ns)
{
	unsigned class = 0;

	while (class < HEAP_LIFE_CLASSES - 2 && ticks >= (uint64_t)((double)heap_life_limit(class) * ticks_per_ns))
		class++;
	return class;
}

static void a_life_falls_into_its_class(void **state)
{
	static const double clocks[] = {2.1, 1, 0.024, 0.0003, 1e-12, 3e6};

	(void)state;
	for (size_t c = 0; c < sizeof clocks / sizeof *clocks; c++) {
		for (unsigned bits = 0; bits < 47; bits++)
			for (uint64_t beside = 0; beside < 3; beside++) {
				uint64_t ticks = (UINT64_C(1) << bits) + beside - 1;
				assert_int_equal(class_of(ticks, clocks[c]), class_wanted(ticks, clocks[c]));
			}
		for (unsigned class = 0; class < HEAP_LIFE_CLASSES - 2; class++)
			for (uint64_t beside = 0; beside < 3; beside++) {
				double limit = (double)heap_life_limit(class) * clocks[c];
				uint64_t ticks = limit < 1 || limit > LIVES_MOST ? 0 : (uint64_t)limit + beside - 1;
				assert_int_equal(class_of(ticks, clocks[c]), class_wanted(ticks, clocks[c]));
			}
	}
}

/* Runs and mixtures of kinds: the row of each record is the number of those of its kind before it. */
static void rows_count_records_of_their_kind(void **state)
{
	struct batch batch = {0};

	(void)state;
	for (unsigned run = 1; run < 40; run++) {
		unsigned before[256] = {0};
		size_t count = 300 + run;

		assert_int_equal(batch_begin(&batch, count), 0);
		for (size_t i = 0; i < count; i++)
			batch.tags[i] = i < 100 ? (uint8_t)(i / run * 7) : (uint8_t)(3 + i * i % 5);
		assert_int_equal(batch_number_rows(&batch, count), 0);
		assert_int_equal(batch.count, count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(batch.rows[i], before[batch.tags[i]]++);
		for (unsigned tag = 0; tag < 256; tag++)
			assert_int_equal(batch.kinds[tag] == NULL ? 0 : batch.kinds[tag]->count, before[tag]);
	}
	batch_free(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life_falls_into_its_class),
		cmocka_unit_test(rows_count_records_of_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
