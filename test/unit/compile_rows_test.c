/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of what is known of a process's compilers: what a cache on disk may keep, and what is traced anew each time. */
#include "reducer/tables/compile_rows.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool traces_alone(struct op *op, struct python_tracing *tracing, int has_inductor)
{
	const struct process process = {
		.ops = {.items = op, .count = op != NULL},
		.python = {.tracings = tracing, .tracing_count = tracing != NULL, .has_inductor = has_inductor},
	};

	return compile_only_traces(&process);
}

static void no_cache_keeps_what_is_traced(void **state)
{
	struct op function = {.name = "tf.function traced: learn"}, plain = {.name = "aten::mm"};
	struct python_tracing torch = {.tracer = TRACER_TORCH}, script = {.tracer = TRACER_TORCH_SCRIPT};

	(void)state;
	assert_true(traces_alone(&function, NULL, 0));
	assert_true(traces_alone(&plain, &torch, 0));
	assert_true(traces_alone(NULL, &script, 0));
	assert_false(traces_alone(&plain, NULL, 0));
}

static void compilers_that_make_code_may_have_one(void **state)
{
	struct op xla = {.name = "XlaCompile:#id=1#"}, call = {.name = "XLA call: main (train.py, line 25) in backend_compile +0x39"};
	struct python_tracing torch = {.tracer = TRACER_TORCH}, jax = {.tracer = TRACER_JAX, .to_ns = 100};
	struct op function = {.name = "tf.function traced: learn", .total_ns = 100};

	(void)state;
	assert_false(traces_alone(NULL, &torch, 1));
	assert_false(traces_alone(NULL, &jax, 0));
	assert_false(traces_alone(&function, &jax, 0));
	function.total_ns = 1000;
	assert_true(traces_alone(&function, &jax, 0)); /* Keras has a seed made by it */
	assert_false(traces_alone(&xla, &torch, 0));
	assert_false(traces_alone(&call, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cache_keeps_what_is_traced),
		cmocka_unit_test(compilers_that_make_code_may_have_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
