/* SPDX-License-Identifier: Apache-2.0 */
/* The table of live blocks: whatever comes and goes, it holds what a plain list of all addresses holds. */
#include "reducer/model/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ADDRESSES = 30000, EVENTS = 1000000, ODD = 17 };

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 16;
}

/* Every ODD-th has sizes that do not fit an entry. */
static struct live_block block_of(uint64_t place, uint64_t time)
{
	return (struct live_block){.address = 0x1000 + place * 16, .time = time << 6, .stack = (uint32_t)place, .slack = 7,
				   .usable = place % ODD == 0 ? (UINT64_C(1) << 40) - 1 + place : time % 5000};
}

static void check(const struct live_table *table, uint64_t place, uint64_t made)
{
	const struct live_entry *entry = live_find(table, 0x1000 + place * 16);
	struct live_block block, expected = block_of(place, made - 1);

	assert_int_equal(entry != NULL, made != 0);
	if (entry == NULL)
		return;
	block = live_get(table, entry);
	assert_int_equal(block.address, expected.address);
	assert_int_equal(block.time, expected.time);
	assert_int_equal(block.usable, expected.usable);
	assert_int_equal(block.stack, expected.stack);
	assert_int_equal(block.slack, expected.slack);
}

/* `places`: addresses in use at one time; they move on, so that graves are not taken over but have to be swept. */
static void compare_with_list(size_t places, uint64_t move_every)
{
	struct live_table table = {0};
	uint64_t *made = calloc(ADDRESSES, sizeof *made), random = places;
	size_t live = 0;

	assert_non_null(made);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t place = (i / move_every + next_random(&random) % places) % ADDRESSES;
		struct live_block block = block_of(place, i);
		struct live_entry *hole, *entry = live_seek(&table, block.address, &hole);

		check(&table, place, made[place]);
		if (entry != NULL)
			live_remove(&table, entry);
		else
			assert_int_equal(i % 2 ? live_put(&table, &block) : live_put_at(&table, hole, &block), 0);
		made[place] = entry != NULL ? 0 : i + 1;
		live += entry != NULL ? (size_t)-1 : 1;
		assert_int_equal(table.count, live);
	}
	for (uint64_t place = 0; place < ADDRESSES; place++)
		check(&table, place, made[place]);
	for (size_t at = 0, blocks = 0; at <= table.capacity; at++) {
		if (at == table.capacity)
			assert_int_equal(blocks, live);
		else
			blocks += (size_t)live_is_block(&table.entries[at]);
	}
	live_free(&table);
	free(made);
}

static void test_many_blocks_at_few_addresses(void **state)
{
	(void)state;
	compare_with_list(ADDRESSES, EVENTS);
}

static void test_addresses_that_move_on(void **state)
{
	(void)state;
	compare_with_list(12000, 10);
}

static void test_few_blocks(void **state)
{
	(void)state;
	compare_with_list(100, 3);
}

/* Graves do not make the table grow: as large as for the blocks alone. */
static void test_graves_take_no_memory(void **state)
{
	struct live_table table = {0};
	size_t capacity;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(live_put(&table, &(struct live_block){.address = 16 + i * 16}), 0);
	capacity = table.capacity;
	for (uint64_t i = 0; i < 200000; i++) {
		live_remove(&table, live_find(&table, 16 + i * 16));
		assert_int_equal(live_put(&table, &(struct live_block){.address = 16 + (10000 + i) * 16}), 0);
	}
	assert_int_equal(table.count, 10000);
	assert_true(table.capacity <= capacity + capacity / 2);
	live_free(&table);
}

static void expect_all(const struct live_table *table, const uint64_t *addresses, size_t count)
{
	assert_int_equal(table->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct live_entry *entry = live_find(table, addresses[i]);

		assert_non_null(entry);
		assert_int_equal(live_get(table, entry).usable, i);
	}
}

/* A wider table is the same one: also of megabytes, in large pages, and where it was full of graves. */
static void test_growth_loses_nothing(void **state)
{
	enum { COUNT = 600000 };
	uint64_t *addresses = calloc(COUNT, sizeof *addresses), random = 1;
	struct live_table table = {0};
	size_t grown = 0;

	(void)state;
	assert_non_null(addresses);
	for (size_t i = 0; i < COUNT; i++) {
		size_t before = table.capacity;

		addresses[i] = next_random(&random) << 4 | (uint64_t)i << 44;
		assert_int_equal(live_put(&table, &(struct live_block){.address = addresses[i] + 8}), 0);
		assert_int_equal(live_put(&table, &(struct live_block){.address = addresses[i], .usable = i}), 0);
		live_remove(&table, live_find(&table, addresses[i] + 8));
		if (table.capacity == before)
			continue;
		expect_all(&table, addresses, i + 1);
		grown++;
	}
	assert_true(grown > 15);
	expect_all(&table, addresses, COUNT);
	live_free(&table);
	free(addresses);
}

/* Blocks that all belong at the end of the table, or all at its front, so that they go around or stand far from there. */
static void test_growth_of_a_crowd(void **state)
{
	(void)state;
	for (int at_end = 0; at_end < 2; at_end++) {
		uint64_t addresses[400], address = 16;
		struct live_table table = {0};

		assert_int_equal(live_put(&table, &(struct live_block){.address = address}), 0);
		live_remove(&table, live_find(&table, address));
		for (size_t count = 0; count < 400; address += 16) {
			size_t home = live_home(&table, address);

			if (at_end ? home < table.capacity - 2 : home > 1)
				continue;
			addresses[count] = address;
			assert_int_equal(live_put(&table, &(struct live_block){.address = address, .usable = count}), 0);
			expect_all(&table, addresses, ++count);
		}
		assert_true(table.capacity > 1024);
		live_free(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_blocks_at_few_addresses),
		cmocka_unit_test(test_addresses_that_move_on),
		cmocka_unit_test(test_few_blocks),
		cmocka_unit_test(test_graves_take_no_memory),
		cmocka_unit_test(test_growth_loses_nothing),
		cmocka_unit_test(test_growth_of_a_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
