/* SPDX-License-Identifier: Apache-2.0 */
/* What part of a step a span of the host is. */
#include "reducer/analysis/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint32_t classes(enum span_what what, unsigned source, const char *name, enum phase phase)
{
	struct parts parts = {.split = SPLIT_OURS};
	struct span span = {
		.what = what, .on = SPAN_THREAD, .thread = 1, .source = (uint8_t)source, .name = name, .phase = (uint8_t)phase};
	uint32_t mask = part_classes_of(&parts, &span);

	parts_free(&parts);
	return mask;
}

static int computes(enum span_what what, unsigned source, const char *name)
{
	return (classes(what, source, name, PHASE_NONE) & CLASS_BIT(PART_HOST_COMPUTE)) != 0;
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

/* Where NCCL is called devices exchange data, and the host has work of its own. */
static void only_the_host_communicates_through_the_host(void **state)
{
	(void)state;
	const uint32_t parts = CLASS_BIT(PART_HOST_COMPUTE) | CLASS_BIT(PART_COMMUNICATION);
	assert_int_equal(classes(SPAN_RANGE, SOURCE_record_function, "gloo:all_reduce", PHASE_COMMUNICATION) & parts,
			 CLASS_BIT(PART_COMMUNICATION));
	assert_int_equal(classes(SPAN_RANGE, SOURCE_record_function, "nccl:all_reduce", PHASE_COMMUNICATION) & parts,
			 CLASS_BIT(PART_HOST_COMPUTE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_compute_and_ranges_do_not),
		cmocka_unit_test(code_compiled_ahead_of_time_computes),
		cmocka_unit_test(only_the_host_communicates_through_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
