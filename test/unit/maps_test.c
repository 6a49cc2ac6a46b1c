/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of mapped ranges: cut by what is unmapped or mapped on top, and never live where they have no access. */
#include "reducer/model/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_mapped_is_cut(void **state)
{
	struct maps maps;

	(void)state;
	maps_begin(&maps);
	maps_map(&maps, 0x10000, 0x8000, 1, 1);
	maps_unmap(&maps, 0x12000, 0x1000, 2); /* a hole */
	assert_int_equal(maps.tally.live, 0x7000);
	assert_int_equal(maps.tally.live_blocks, 2);
	maps_unmap(&maps, 0xf000, 0x2000, 3); /* its front, and what is not mapped */
	assert_int_equal(maps.tally.live, 0x6000);
	maps_map(&maps, 0x17000, 0x4000, 2, 4); /* over its end: MAP_FIXED */
	assert_int_equal(maps.tally.live, 0x5000 + 0x4000);
	maps_unmap(&maps, 0, 0x100000, 5);
	assert_int_equal(maps.tally.live, 0);
	assert_int_equal(maps.tally.live_blocks, 0);
	assert_int_equal(maps.count, 0);
	maps_unmap(&maps, 0, 0x100000, 6);
	assert_int_equal(maps.unknown_unmaps, 1);
	assert_int_equal(maps.tally.peak, 0x9000);
	maps_free(&maps);
}

/* 64 GiB that a runtime had reserved were live, the peak, and called leaked. */
static void address_space_without_access_is_never_live(void **state)
{
	struct maps maps;

	(void)state;
	maps_begin(&maps);
	maps_map_no_access(&maps, 0x100000, 0x100000, 1, 1);
	assert_int_equal(maps.tally.live, 0);
	assert_int_equal(maps.tally.peak, 0);
	assert_int_equal(maps.no_access, 0x100000);
	assert_int_equal(maps.tally.allocations, 1); /* as the threads' counters have it */
	assert_int_equal(maps.tally.allocated_bytes, 0x100000);
	maps_map(&maps, 0x110000, 0x10000, 2, 2); /* made usable: in its middle, then at its front */
	maps_map(&maps, 0x100000, 0x1000, 2, 3);
	assert_int_equal(maps.tally.live, 0x11000);
	assert_int_equal(maps.no_access, 0x100000 - 0x11000);
	maps_map_no_access(&maps, 0x110000, 0x8000, 1, 4); /* and given up again */
	assert_int_equal(maps.tally.live, 0x9000);
	maps_unmap(&maps, 0x100000, 0x100000, 5);
	assert_int_equal(maps.tally.live, 0);
	assert_int_equal(maps.no_access, 0);
	assert_int_equal(maps.no_access_peak, 0x100000);
	assert_int_equal(maps.tally.peak, 0x11000);
	assert_int_equal(maps.count + maps.unknown_unmaps, 0);
	maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_mapped_is_cut),
		cmocka_unit_test(address_space_without_access_is_never_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
