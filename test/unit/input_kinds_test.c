/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of what is advised for an iterator of tf.data that others wait for, by its kind and by what its function is. */
#include "reducer/analysis/input_kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void bottlenecks_have_the_remedy_of_their_kind(void **state)
{
	(void)state;
	assert_string_equal(input_bottleneck_kind("Iterator::Root::TFRecordV2"), "slow source");
	assert_string_equal(input_bottleneck_kind("Iterator::Root::Map"), "has a parallel version");
	assert_string_equal(input_bottleneck_kind("Iterator::Root::ParallelMapV2"), "runs in parallel");
	assert_string_equal(input_bottleneck_kind("Iterator::Root::DataServiceV3"), "data service");
	assert_string_equal(input_bottleneck_kind("Iterator::Root::Filter"), "no parallel version");
	assert_string_equal(input_bottleneck_kind("Iterator::Root::Whatever"), "other");
	assert_true(input_remedy("Iterator::Root::Whatever", false)[0]);
	assert_non_null(strstr(input_remedy("Iterator::Root::Prefetch::MemoryCache::MemoryCacheImpl::ParallelMapV2", false),
			       "first epoch"));
	assert_non_null(strstr(input_remedy("Iterator::Root::FileCache::FileCacheImpl::Map", false), "first epoch"));
	assert_non_null(strstr(input_remedy("Iterator::Root::ParallelMapV2::SnapshotWriter", false), "first epoch"));
	assert_null(strstr(input_remedy("Iterator::Root::MemoryCache::MemoryCacheImpl", false), "first epoch"));
	assert_null(strstr(input_remedy("Iterator::Root::Snapshot::SnapshotReader", false), "first epoch"));
	assert_null(strstr(input_remedy("Iterator::Root::Prefetch::ParallelMapV2", false), "first epoch"));
}

/* Python functions run one at a time: more calls at once are no remedy for a map of one. */
static void maps_of_python_are_not_for_more_threads(void **state)
{
	struct op names[] = {{.name = "PyFuncs", .self_ns = 100},
			     {.name = "map/EagerPyFunc:EagerPyFunc", .self_ns = 30},
			     {.name = "PyFunc", .self_ns = 20}};
	struct process of_tf = {.ops.items = names};

	(void)state;
	for (of_tf.ops.count = 0; of_tf.ops.count <= 3; of_tf.ops.count++) {
		bool is_python = input_is_python(&of_tf, 100);
		assert_int_equal(is_python, of_tf.ops.count == 3);
		assert_int_equal(strstr(input_remedy("Iterator::Root::Map", is_python), "one call runs at a time") != NULL, is_python);
		const char *parallel = input_remedy("Iterator::Root::ParallelMapV2", is_python);
		assert_int_equal(strstr(parallel, "one call runs at a time") != NULL, is_python);
		assert_null(strstr(input_remedy("Iterator::Root::Map::TFRecordV2", is_python), "one call runs at a time"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bottlenecks_have_the_remedy_of_their_kind),
		cmocka_unit_test(maps_of_python_are_not_for_more_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
