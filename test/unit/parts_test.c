/* SPDX-License-Identifier: Apache-2.0 */
/* What part of a step a span of the host is. */
#include "reducer/analysis/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int computes(enum span_what what, unsigned source, const char *name)
{
	struct parts parts = {.split = SPLIT_OURS};
	struct span span = {.what = what, .on = SPAN_THREAD, .thread = 1, .source = (uint8_t)source, .name = name};
	uint32_t mask = part_classes_of(&parts, &span);

	parts_free(&parts);
	return (mask & CLASS_BIT(PART_HOST_COMPUTE)) != 0;
}

static void ops_compute_and_ranges_do_not(void **state)
{
	(void)state;
	assert_true(computes(SPAN_OP, SOURCE_record_function, "aten::mm"));
	assert_false(computes(SPAN_RANGE, SOURCE_record_function, "my part"));
	assert_false(computes(SPAN_RANGE, SOURCE_record_function, "Optimizer.step#Adam.step"));
}

static void code_compiled_ahead_of_time_computes(void **state)
{
	(void)state;
	assert_true(computes(SPAN_RANGE, SOURCE_record_function, "AOTIModelContainerRunner::boxed_run"));
	assert_false(computes(SPAN_RANGE, SOURCE_nvtx, "AOTIModelContainerRunner::boxed_run"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_compute_and_ranges_do_not),
		cmocka_unit_test(code_compiled_ahead_of_time_computes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
