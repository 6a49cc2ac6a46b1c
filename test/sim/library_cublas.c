/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libcublas.so.13 libcublas.so.12 */
/*
 * A fake cuBLAS: handles, and some matrix and vector functions.
 * Rule: see library.h. Statuses: 0 success, 1 not initialized, 7 invalid value, 13 execution failed.
 */
#include <stdlib.h>

#include "library.h"

struct handle {
	void *stream;
	int math_mode, pointer_mode;
};


/* Needs a device: the real one makes its workspace here. */
SIM_LIBRARY_API int cublasCreate_v2(struct handle **handle)
{
	if (!handle)
		return 7;
	if (!sim_device_count())
		return 1;
	*handle = calloc(1, sizeof(**handle));
	return 0;
}

SIM_LIBRARY_API int cublasDestroy_v2(struct handle *handle)
{
	free(handle);
	return handle ? 0 : 1;
}

SIM_LIBRARY_API int cublasSetStream_v2(struct handle *handle, void *stream)
{
	if (!handle)
		return 1;
	handle->stream = stream;
	return 0;
}

SIM_LIBRARY_API int cublasGetStream_v2(struct handle *handle, void **stream)
{
	if (!handle)
		return 1;
	*stream = handle->stream;
	return 0;
}

SIM_LIBRARY_API int cublasSetMathMode(struct handle *handle, int mode)
{
	if (!handle)
		return 1;
	handle->math_mode = mode;
	return 0;
}

SIM_LIBRARY_API int cublasSetPointerMode_v2(struct handle *handle, int mode)
{
	if (!handle)
		return 1;
	handle->pointer_mode = mode;
	return 0;
}

SIM_LIBRARY_API int cublasGetMathMode(struct handle *handle, int *mode)
{
	if (!handle || !mode)
		return handle ? 7 : 1;
	*mode = handle->math_mode;
	return 0;
}

SIM_LIBRARY_API int cublasGetPointerMode_v2(struct handle *handle, int *mode)
{
	if (!handle || !mode)
		return handle ? 7 : 1;
	*mode = handle->pointer_mode;
	return 0;
}

SIM_LIBRARY_API int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes)
{
	(void)workspace;
	(void)bytes;
	return handle ? 0 : 1;
}

SIM_LIBRARY_API int cublasGetVersion_v2(struct handle *handle, int *version)
{
	(void)handle;
	*version = 130000;
	return 0;
}

struct gemm {
	int64_t m, n, k, batches;
	int transposes_a, transposes_b;
	int type; /* cudaDataType: 0 f32, 1 f64, 2 f16, 14 bf16, 4 complex f32 */
};

static const char *gemm_kernel(const struct handle *handle, const struct gemm *gemm)
{
	switch (gemm->type) {
	case 1:
		return "ampere_dgemm_64x64_nn";
	case 2:
		return "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn";
	case 14:
		return "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn";
	default:
		if (handle->math_mode == 3) /* tensor cores for f32 */
			return "ampere_tf32_s1688gemm_tf32_128x64_sliced1x2_nn";
		return gemm->transposes_a ? "ampere_sgemm_128x64_tn" : "ampere_sgemm_128x64_nn";
	}
}

/* A deep and narrow product is split along k, and its parts are added up by a second kernel. */
static int run_gemm(struct handle *handle, const struct gemm *gemm)
{
	uint32_t across = sim_tiles((uint64_t)gemm->m, 128), down = sim_tiles((uint64_t)gemm->n, 64), deep = 1;
	int failed;

	if (!handle)
		return 1;
	if (gemm->m < 0 || gemm->n < 0 || gemm->k < 0 || gemm->batches < 0)
		return 7;
	if (!gemm->m || !gemm->n || !gemm->batches)
		return 0;
	if (gemm->k >= 4096 && across * down < 16)
		deep = 4;
	failed = sim_library_launch(gemm_kernel(handle, gemm), across, down, (uint32_t)gemm->batches * deep, 256, 49152, handle->stream);
	if (!failed && deep > 1)
		failed = sim_library_launch("_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifffEEvv", sim_tiles((uint64_t)gemm->m, 32),
			sim_tiles((uint64_t)gemm->n, 16), 1, 512, 0, handle->stream);
	return failed ? 13 : 0;
}

#define GEMM(name, integer, scalar, number, data_type) \
	SIM_LIBRARY_API int name(struct handle *handle, int transa, int transb, integer m, integer n, integer k, const scalar *alpha, \
		const number *a, integer lda, const number *b, integer ldb, const scalar *beta, number *c, integer ldc) \
	{ \
		(void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc; \
		return run_gemm(handle, &(struct gemm){m, n, k, 1, transa, transb, data_type}); \
	}
GEMM(cublasSgemm_v2, int, float, float, 0)
GEMM(cublasSgemm_v2_64, int64_t, float, float, 0)
GEMM(cublasDgemm_v2, int, double, double, 1)
GEMM(cublasHgemm, int, void, void, 2)

SIM_LIBRARY_API int cublasSgemmStridedBatched(struct handle *handle, int transa, int transb, int m, int n, int k, const float *alpha,
	const float *a, int lda, int64_t stride_a, const float *b, int ldb, int64_t stride_b, const float *beta, float *c, int ldc,
	int64_t stride_c, int batches)
{
	(void)alpha, (void)a, (void)lda, (void)stride_a, (void)b, (void)ldb, (void)stride_b, (void)beta, (void)c;
	(void)ldc, (void)stride_c;
	return run_gemm(handle, &(struct gemm){m, n, k, batches, transa, transb, 0});
}

SIM_LIBRARY_API int cublasGemmEx(struct handle *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
	int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc, int compute, int algo)
{
	(void)alpha, (void)a, (void)lda, (void)b, (void)b_type, (void)ldb, (void)beta, (void)c, (void)c_type, (void)ldc;
	(void)compute, (void)algo;
	return run_gemm(handle, &(struct gemm){m, n, k, 1, transa, transb, a_type});
}

SIM_LIBRARY_API int cublasGemmStridedBatchedEx(struct handle *handle, int transa, int transb, int m, int n, int k, const void *alpha,
	const void *a, int a_type, int lda, int64_t stride_a, const void *b, int b_type, int ldb, int64_t stride_b, const void *beta,
	void *c, int c_type, int ldc, int64_t stride_c, int batches, int compute, int algo)
{
	(void)alpha, (void)a, (void)lda, (void)stride_a, (void)b, (void)b_type, (void)ldb, (void)stride_b, (void)beta, (void)c;
	(void)c_type, (void)ldc, (void)stride_c, (void)compute, (void)algo;
	return run_gemm(handle, &(struct gemm){m, n, k, batches, transa, transb, a_type});
}

SIM_LIBRARY_API int cublasSgemv_v2(struct handle *handle, int trans, int m, int n, const float *alpha, const float *a, int lda,
	const float *x, int incx, const float *beta, float *y, int incy)
{
	(void)trans, (void)alpha, (void)a, (void)lda, (void)x, (void)beta, (void)y;
	if (!handle)
		return 1;
	if (m < 0 || n < 0 || !incx || !incy)
		return 7;
	return sim_library_launch("_Z17gemv2N_kernel_valIiiffffLi128ELi4ELi4ELi4ELi1ELb0EEvv", sim_tiles((uint64_t)m, 128), 1, 1, 128, 0,
		handle->stream) ? 13 : 0;
}

static int vector(struct handle *handle, const char *name, int n)
{
	if (!handle)
		return 1;
	if (n <= 0)
		return 0;
	return sim_library_launch(name, sim_tiles((uint64_t)n, 256), 1, 1, 128, 0, handle->stream) ? 13 : 0;
}

SIM_LIBRARY_API int cublasSaxpy_v2(struct handle *handle, int n, const float *alpha, const float *x, int incx, float *y, int incy)
{
	(void)alpha, (void)x, (void)incx, (void)y, (void)incy;
	return vector(handle, "_Z15axpy_kernel_valIffEvv", n);
}

SIM_LIBRARY_API int cublasSscal_v2(struct handle *handle, int n, const float *alpha, float *x, int incx)
{
	(void)alpha, (void)x, (void)incx;
	return vector(handle, "_Z15scal_kernel_valIffEvv", n);
}

#define SIM_LIBRARY_NOT(name) SIM_LIBRARY_API int name(void) { return 15; }
#include "library_cublas_not.def"
