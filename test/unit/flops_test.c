/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic by the shapes of inputs and arguments: each expectation is a product written out; -1 = not known. */
#include "reducer/model/flops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define UNKNOWN (-1)

static void check(struct flops flops, const char *what, int64_t count, enum flops_type type)
{
	if (flops.is_known != (count != UNKNOWN) || (flops.is_known && (int64_t)flops.count != count) ||
	    (flops.is_known && flops.type != type))
		fail_msg("%s: %d, %lld %s", what, flops.is_known, (long long)flops.count, flops_type_name(flops.type));
}

static const struct {
	const char *name, *inputs;
	int64_t count;
	enum flops_type type;
} ops[] = {
	{"aten::mm", "float[8,16];float[16,4]", 2 * 8 * 16 * 4, FLOPS_FP32},
	{"aten::mm", "bfloat16[8,16];bfloat16[16,4]", 2 * 8 * 16 * 4, FLOPS_BF16},
	{"aten::mm", "cfloat[8,16];cfloat[16,4]", 8 * 8 * 16 * 4, FLOPS_FP32},
	{"aten::mm", "int64[8,16];int64[16,4]", 2 * 8 * 16 * 4, FLOPS_NO_TYPE},
	{"aten::mm", "float[0,16];float[16,4]", 0, FLOPS_FP32},
	{"aten::mm", "float[8,16];float[8,4]", UNKNOWN, 0},
	{"aten::mm", "float[8,16]", UNKNOWN, 0},
	{"aten::mm", "meta:float[8,16];meta:float[16,4]", UNKNOWN, 0},
	{"aten::addmm", "float[4];meta:half[8,16];meta:half[16,4]", UNKNOWN, 0},
	{"aten::mm", "float[8,16];", UNKNOWN, 0},
	{"aten::mm", ";float[16,4]", UNKNOWN, 0},
	{"aten::mm", "", UNKNOWN, 0},
	{"aten::mm", "float[8,16];float[16,4", UNKNOWN, 0},
	{"aten::mm", "float[8,16]float[16,4]", UNKNOWN, 0},
	{"aten::mm", "float[8,-1];float[16,4]", UNKNOWN, 0},
	{"aten::mm", "float[4294967296,4294967296];float[4294967296,4]", UNKNOWN, 0},
	{"aten::mm", "float[2147483648,1];float[1,1073741824]", INT64_C(1) << 62, FLOPS_FP32},
	{"aten::mm", "float[1,99999999999999999999];float[99999999999999999999,1]", UNKNOWN, 0},
	{"aten::mm", "float[s0,16];float[16,4]", UNKNOWN, 0},
	{"aten::mm", "[float[2,3],float[3,4]];float[3,4]", UNKNOWN, 0},
	{"aten::relu", "float[8,16]", UNKNOWN, 0},
	{"aten::addmm", "float[4];half[8,16];half[16,4]", 2 * 8 * 16 * 4, FLOPS_FP16},
	{"aten::baddbmm", "float[1];double[3,8,16];double[3,16,4]", 2 * 3 * 8 * 16 * 4, FLOPS_FP64},
	{"aten::mv", "float[8,16];float[16]", 2 * 8 * 16, FLOPS_FP32},
	{"aten::dot", "float[16];float[16]", 2 * 16, FLOPS_FP32},
	{"aten::matmul", "float[2,1,5,6];float[3,6,7]", 2 * 2 * 3 * 5 * 6 * 7, FLOPS_FP32},
	{"aten::matmul", "float[2,5,6];float[3,6,7]", UNKNOWN, 0},
	{"aten::matmul", "float[];float[3,6,7]", UNKNOWN, 0},
	{"aten::linear", "float[5,7,33];float[17,33];float[17]", 2 * 5 * 7 * 33 * 17, FLOPS_FP32},
	{"aten::linear", "float[5,33];;float[33]", UNKNOWN, 0},
	{"aten::scaled_dot_product_attention", "half[2,4,16,8];half[2,4,24,8];half[2,4,24,6]",
	 2 * 2 * 4 * 16 * 24 * (8 + 6), FLOPS_FP16},
	{"aten::scaled_dot_product_attention", "half[2,8,16,8];half[2,4,24,8];half[2,4,24,8]",
	 2 * 2 * 8 * 16 * 24 * (8 + 8), FLOPS_FP16},
	/* one query of all batches, one head of all; heads that are not shared evenly */
	{"aten::scaled_dot_product_attention", "half[1,4,16,8];half[3,4,24,8];half[3,4,24,8]", 2 * 3 * 4 * 16 * 24 * (8 + 8), FLOPS_FP16},
	{"aten::scaled_dot_product_attention", "half[2,1,16,8];half[2,4,24,8];half[1,4,24,8]", 2 * 2 * 4 * 16 * 24 * (8 + 8), FLOPS_FP16},
	{"aten::scaled_dot_product_attention", "half[0,4,16,8];half[0,4,24,8];half[0,4,24,8]", 0, FLOPS_FP16},
	{"aten::scaled_dot_product_attention", "half[2,8,16,8];half[2,3,24,8];half[2,3,24,8]", UNKNOWN, 0},
	{"aten::scaled_dot_product_attention", "half[2,4,16,8];half[2,8,24,8];half[2,8,24,8]", UNKNOWN, 0},
	{"aten::_scaled_dot_product_flash_attention_backward",
	 "half[2,4,16,6];half[2,4,16,8];half[2,4,24,8];half[2,4,24,6];half[2,4,16,6]",
	 2 * 2 * 4 * 16 * 24 * (3 * 8 + 2 * 6), FLOPS_FP16},
	/* 2 of 3 channels by 20 by 18, to 8 of 20 by 18 */
	{"aten::conv2d", "float[2,3,20,18];float[8,3,3,3];float[8];(1,1);(1,1);(1,1)", 2 * 2 * 8 * 20 * 18 * 3 * 9, FLOPS_FP32},
	{"aten::conv2d", "float[3,20,18];float[8,3,3,3];float[8];(1,1);(1,1);(1,1)", 2 * 8 * 20 * 18 * 3 * 9, FLOPS_FP32},
	{"aten::conv2d", "float[2,8,20,18];float[8,4,3,3];(2,2);(0,0);(2,2)", 2 * 2 * 8 * 8 * 7 * 4 * 9, FLOPS_FP32},
	{"aten::conv2d", "float[2,3,20,18];float[8,3,3,3];float[8]", UNKNOWN, 0},
	{"aten::conv2d", "float[2,3,20,18];float[8,3,3,3];float[8];(0,0);(1,1);(1,1)", UNKNOWN, 0},
	{"aten::conv2d", "float[2,3,2,18];float[8,3,3,3];float[8];(1,1);(0,0);(1,1)", UNKNOWN, 0},
	{"aten::mkldnn_convolution", "float[2,8,20,18];float[8,8,3,3];(1,1);(2,2);(1,1)", 2 * 2 * 8 * 10 * 9 * 8 * 9,
	 FLOPS_FP32},
	{"aten::_slow_conv2d_forward", "float[1,4,9,9];float[4,4,3,3];(3,3);(1,1);(1,1)", 2 * 4 * 9 * 9 * 4 * 9, FLOPS_FP32},
	{"aten::conv_transpose2d", "float[2,16,6,5];float[16,6,2,2];float[6];(1,1);(0,0);(0,0);(1,1)",
	 2 * 2 * 16 * 6 * 5 * 6 * 4, FLOPS_FP32},
	{"aten::convolution", "float[2,3,20,18];float[8,3,3,3];float[8];(1,1);(1,1);(1,1);(0,0)",
	 2 * 2 * 8 * 20 * 18 * 3 * 9, FLOPS_FP32},
	{"aten::convolution", "float[2,16,6,5];float[16,6,2,2];(1,1);(0,0);(1,1);(0,0)", 2 * 2 * 16 * 6 * 5 * 6 * 4, FLOPS_FP32},
	{"aten::convolution", "float[2,8,6,5];float[8,8,2,2];(1,1);(0,0);(1,1);(0,0)", UNKNOWN, 0},
	{"aten::convolution_backward",
	 "float[2,8,20,18];float[2,3,20,18];float[8,3,3,3];(8);(1,1);(1,1);(1,1);(0,0);(1,1,1)", 2 * 2 * 2 * 8 * 20 * 18 * 3 * 9,
	 FLOPS_FP32},
	{"aten::convolution_backward",
	 "float[2,8,20,18];float[2,3,20,18];float[8,3,3,3];(8);(1,1);(1,1);(1,1);(0,0);(0,1,1)", 2 * 2 * 8 * 20 * 18 * 3 * 9,
	 FLOPS_FP32},
	{"aten::convolution_backward",
	 "float[2,6,12,10];float[2,16,6,5];float[16,6,2,2];(2,2);(0,0);(1,1);(0,0);(1,1,0)", 2 * 2 * 2 * 16 * 6 * 5 * 6 * 4,
	 FLOPS_FP32},
	{"aten::convolution_backward", "float[2,8,20,18];float[2,3,20,18];float[8,3,3,3]", UNKNOWN, 0},
};

static void test_ops(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		check(flops_of_op(ops[i].name, ops[i].inputs), ops[i].inputs, ops[i].count, ops[i].type);
}

static void test_traces(void **state)
{
	static const struct {
		const char *name, *arguments;
		int64_t count;
	} traces[] = {
		{"dense/MatMul:MatMul", "shape=(float[32,64];float[64,10])", 2 * 32 * 64 * 10},
		{"dense/MatMul:_MklMatMul", "shape=(float[32,64];float[32,10])", 2 * 32 * 64 * 10}, /* the first is transposed */
		{"dense/MatMul:MatMul", "shape=(float[10,20];float[10,20])", UNKNOWN},		    /* either could be */
		{"dense/MatMul:MatMul", "shape=(float[10,20];float[30,40])", UNKNOWN},
		{"dense/MatMul:MatMul", "id=3", UNKNOWN},
		{"dense/MatMul:MatMul", NULL, UNKNOWN},
		{"dense/Relu:Relu", "shape=(float[32,64])", UNKNOWN},
		{"a:BatchMatMulV2", "step=1,shape=(float[3,4,5];float[3,5,6])", 2 * 3 * 4 * 5 * 6},
		{"a:Conv2DBackpropInput", "shape=(int32[4];float[3,3,3,16];float[2,8,8,16])", 2 * 2 * 8 * 8 * 16 * 3 * 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
		check(flops_of_trace(traces[i].name, traces[i].arguments), traces[i].name, traces[i].count, FLOPS_FP32);
}

static void test_calls(void **state)
{
#define SIMPLE "m, n, k, transa, transb, lda, ldb, ldc, batch_count"
#define TYPED "m, n, k, transa, transb, atype, btype, ctype, compute_type, batch_count"
	static const struct {
		const char *function, *names;
		uint64_t values[10];
		int64_t count;
		enum flops_type type;
	} calls[] = {
		{"cublasSgemm_v2", SIMPLE, {8, 4, 16}, 2 * 8 * 4 * 16, FLOPS_FP32},
		{"cublasDgemm_v2_64", SIMPLE, {8, 4, 16}, 2 * 8 * 4 * 16, FLOPS_FP64},
		{"cublasHgemm", SIMPLE, {8, 4, 16}, 2 * 8 * 4 * 16, FLOPS_FP16},
		{"cublasCgemm_v2", SIMPLE, {8, 4, 16}, 8 * 8 * 4 * 16, FLOPS_FP32},
		{"cublasZgemm3m", SIMPLE, {8, 4, 16}, 8 * 8 * 4 * 16, FLOPS_FP64},
		{"cublasSgemmStridedBatched", SIMPLE, {8, 4, 16, 0, 0, 8, 16, 8, 5}, 2 * 5 * 8 * 4 * 16, FLOPS_FP32},
		{"cublasGemmEx", TYPED, {8, 4, 16, 0, 0, 2, 2, 2, 68}, 2 * 8 * 4 * 16, FLOPS_FP16},
		{"cublasGemmEx", TYPED, {8, 4, 16, 0, 0, 0, 0, 0, 77}, 2 * 8 * 4 * 16, FLOPS_TF32},
		{"cublasGemmEx", TYPED, {8, 4, 16, 0, 0, 5, 5, 5, 70}, 8 * 8 * 4 * 16, FLOPS_FP64},
		{"cublasGemmBatchedEx", TYPED, {8, 4, 16, 0, 0, 14, 14, 14, 68, 5}, 2 * 5 * 8 * 4 * 16, FLOPS_BF16},
		{"cublasLtMatmul", TYPED, {8, 4, 16, 0, 0, 28, 28, 2, 68, 1}, 2 * 8 * 4 * 16, FLOPS_FP8},
		{"cublasLtMatmul", TYPED, {0}, UNKNOWN, 0},
		{"cublasSgemv_v2", "m, n, trans, lda", {8, 4}, 2 * 8 * 4, FLOPS_FP32},
		{"cublasTSTgemvBatched", "m, n, trans, lda, batch_count", {8, 4, 0, 8, 3}, 2 * 3 * 8 * 4, FLOPS_BF16},
		{"cublasSgemmGroupedBatched", "group_count", {3}, UNKNOWN, 0},
		{"cublasSgetrfBatched", "n, lda, batch_size", {8, 8, 3}, UNKNOWN, 0},
		{"cublasSgeam", "m, n, transa, transb", {8, 4}, UNKNOWN, 0},
		{"cublasSsymm_v2", "m, n, side, uplo", {8, 4, 1}, 2 * 8 * 4 * 4, FLOPS_FP32},
		{"cublasSgemm_v2", SIMPLE, {UINT64_MAX - 1, 1, 1}, UNKNOWN, 0},
		{"cublasSgemm_v2", SIMPLE, {8, 4, 0}, UNKNOWN, 0},
		{"cudnnConvolutionForward", "n, c, d1, d2, d3, k, r1, r2, r3, type", {32, 16, 28, 28, 0, 64, 3, 3}, UNKNOWN, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		check(flops_of_call(calls[i].function, calls[i].names, calls[i].values, 10), calls[i].function,
		      calls[i].count, calls[i].type);
	check(flops_of_call("cublasSgemm_v2", "m, n, k", (const uint64_t[]){8, 4, 16}, 2), "more names than values", UNKNOWN, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_traces), cmocka_unit_test(test_calls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
