/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what a compiled kernel was fused of, by its name.
 *
 * Rule: names are such as PyTorch's compiler writes; what they say stands beside them.
 */
#include "reducer/tables/fused_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_names_are_parted(void **state)
{
	static const struct {
		const char *kernel, *ops;
	} cases[] = {
		{"triton_poi_fused_add_relu_3", "add, relu"},
		{"triton_per_fused_add_native_layer_norm_native_layer_norm_backward_12",
		 "add, native_layer_norm, native_layer_norm_backward"},
		{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "_to_copy, add, mean, mul, pow, rsqrt"},
		{"triton_poi_fused__unsafe_view__to_copy_1", "_unsafe_view, _to_copy"},
		{"triton_poi_fused_convolution_max_pool2d_with_indices_relu_4_0d1d2d3de", "convolution, max_pool2d_with_indices, relu"},
		{"triton_tem_fused_mm_7", "mm"},
		{"triton_poi_fused_add_my_own_op_relu_2", "add, my_own_op, relu"},
		{"triton_poi_fused_my_own_2", "my_own"},
		{"triton_poi_fused_add", "add"},
		{"triton_poi_fused_5", ""},
		{"triton_poi_fused_", ""},
		{"triton__0d1d2de", ""},
		{"my_fused_add_relu_3", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text = {0};
		fused_ops_put(&text, cases[i].kernel);
		assert_string_equal(text.length ? text.bytes : "", cases[i].ops);
		text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_parted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
