/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ops by what they were given. Rule: spans are made by hand, sums are worked out on paper. */
#include "reducer/analysis/shaped.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct shaped *result;

static void tell(struct span span)
{
	span.kind = SPAN_WHOLE;
	assert_true(analysis_shaped.wants & SPAN_BIT(span.what));
	analysis_shaped.span(result, &span);
}

static void op(const char *name, const char *inputs, uint64_t ns, uint64_t self_ns)
{
	tell((struct span){.what = SPAN_OP,
			   .on = SPAN_THREAD,
			   .source = SOURCE_record_function,
			   .name = name,
			   .inputs = inputs,
			   .duration_ns = ns,
			   .self_ns = self_ns});
}

static const struct shaped_op *row(const char *name, const char *inputs)
{
	for (size_t i = 0; i < result->count; i++)
		if (strcmp(result->words.items[result->ops[i].name], name) == 0 &&
		    strcmp(result->words.items[result->ops[i].inputs], inputs) == 0)
			return &result->ops[i];
	fail_msg("no row of %s of %s", name, inputs);
	return NULL;
}

static void shapes_are_told_apart(void **state)
{
	const struct shaped_op *small, *large;

	(void)state;
	result = analysis_shaped.begin(NULL);
	op("aten::mm", "float[2,3];float[3,2]", 10, 10);
	op("aten::mm", "float[20,3];float[3,2]", 40, 30);
	op("aten::mm", "float[2,3];float[3,2]", 14, 12);
	op("aten::zeros", NULL, 3, 3);
	tell((struct span){.what = SPAN_KERNEL,
			   .on = SPAN_QUEUE,
			   .name = "gemm",
			   .op = "aten::mm",
			   .op_source = SOURCE_record_function,
			   .inputs = "float[20,3];float[3,2]",
			   .duration_ns = 500});
	tell((struct span){.what = SPAN_COPY, .on = SPAN_QUEUE, .name = "copy", .duration_ns = 70});
	assert_int_equal(result->count, 3);
	small = row("aten::mm", "float[2,3];float[3,2]");
	large = row("aten::mm", "float[20,3];float[3,2]");
	assert_int_equal(small->occurrences, 2);
	assert_int_equal(small->ns, 24);
	assert_int_equal(small->self_ns, 22);
	assert_int_equal(small->least_ns, 10);
	assert_int_equal(small->most_ns, 14);
	assert_int_equal(small->works, 0);
	assert_int_equal(large->works, 1);
	assert_int_equal(large->device_ns, 500);
	assert_int_equal(row("aten::zeros", "")->occurrences, 1);
	analysis_shaped.free(result);
}

/* TensorFlow's stand behind the name of a TraceMe event; what is no op of it has no row. */
static void shapes_of_traces(void **state)
{
	const struct span_argument arguments[] = {{.name = "", .text = "shape=(float[2,3];;int32[2])"}, {.name = "", .text = "region=()"}};
	struct span span = {.what = SPAN_TRACE, .source = SOURCE_traceme, .name = "dense/MatMul:MatMul", .argument_count = 1};

	(void)state;
	result = analysis_shaped.begin(NULL);
	span.arguments = &arguments[0];
	tell(span);
	span.arguments = &arguments[1];
	tell(span);
	span.name = "ExecutorState::Process";
	tell(span);
	assert_int_equal(result->count, 2);
	assert_int_equal(row("dense/MatMul:MatMul", "float[2,3];;int32[2]")->occurrences, 1);
	assert_int_equal(row("dense/MatMul:MatMul", "")->occurrences, 1);
	analysis_shaped.free(result);
}

static void deviation_follows_from_sums(void **state)
{
	uint64_t large = UINT64_C(1) << 61; /* its square has no room in 64 bits */

	(void)state;
	assert_true(isnan(spread_deviation_of(0, 0, 0)));
	assert_true(isnan(spread_deviation_of(1, 5, 25)));
	assert_true(fabs(spread_deviation_of(3, 12, 4 + 16 + 36) - 2) < 1e-12);
	assert_true(spread_deviation_of(2, 2 * large, 2 * (spread_squares)large * large) < 1e-6);
	assert_true(fabs(spread_deviation_of(2, large, (spread_squares)large * large) / ((double)large / sqrt(2)) - 1) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_told_apart),
		cmocka_unit_test(shapes_of_traces),
		cmocka_unit_test(deviation_follows_from_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
