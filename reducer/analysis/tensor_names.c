/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels and operations. See tensor_names.h. */
#include "reducer/analysis/tensor_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Parts of names, in lower case. Digits are shapes of matrix instructions (m, n, k). */
static const char *const uses[] = {
	"884gemm", "h884", "s884", "d884", "i884", "c884", "1688", "16816", "16832", "16864", "i8816", "hmma", "imma", "dmma", "wmma",
	"gmma", "umma", "tcgen05", "warpgroup", "tensorop", "xmma_", "nvjet_", "cutlass3x_sm90", "cutlass3x_sm100", "cutlass3x_sm120",
	"cutlass_80_tensorop", "flash_fwd", "flash_bwd", "fmha", "deep_gemm", "marlin", "machete",
};
static const char *const uses_not[] = {"sgemm_128x", "sgemm_64x", "sgemm_32x", "gemv", "splitkreduce", "dot_kernel", "reduce_kernel"};
static const char *const kernels[] = {"gemm", "conv", "fprop", "dgrad", "wgrad", "matmul", "bmm", "attention", "flash_", "fmha", "nvjet_"};
static const char *const kernels_not[] = {"convert", "im2col", "col2im", "gemv"};
static const char *const ops[] = {"MatMul",    "Conv1D",     "Conv2D",  "Conv3D", "conv1d",  "conv2d", "conv3d",    "convolution",
				  "Einsum",    "einsum",     "addmm",   "aten::mm", "bmm",   "baddbmm", "aten::linear", "matmul",
				  "dot_general", "attention", "CudnnRNN", "FusedConv", "dot"};

static bool holds_any(const char *name, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}
#define HOLDS(name, parts) holds_any(name, parts, sizeof(parts) / sizeof((parts)[0]))

/* The beginning of a name in lower case: what identifies a kernel stands there. */
static void lower(const char *name, char out[512])
{
	size_t i = 0;

	for (; i < 511 && name[i]; i++)
		out[i] = (char)tolower((unsigned char)name[i]);
	out[i] = 0;
}

bool tensor_name_uses(const char *kernel)
{
	char name[512];

	lower(kernel, name);
	return HOLDS(name, uses) && !HOLDS(name, uses_not);
}

bool tensor_name_could(const char *kernel, const char *op)
{
	char name[512];

	if (op && HOLDS(op, ops))
		return true;
	if (!kernel)
		return false;
	lower(kernel, name);
	return HOLDS(name, kernels) && !HOLDS(name, kernels_not);
}
