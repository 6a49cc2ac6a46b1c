/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the GPU tables, with one body: it does what the program asks for (gpufake_inside), sets errno and returns
 * the number that the program chose. No GPU is simulated: that is test/sim. What a hook must hand through untouched is
 * easiest seen where it can be anything.
 */
#include "collectors/gpu_types.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Written by the program, by one thread. GPUFAKE: which copy of this library answers. */
#ifndef GPUFAKE
#define GPUFAKE 0
#endif
int gpufake_answer, gpufake_errno;
void (*gpufake_inside)(int number);

static int gpufake_call(int number)
{
	if (gpufake_inside)
		gpufake_inside(number);
	errno = gpufake_errno;
	return gpufake_answer + GPUFAKE;
}

#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) \
	type name parameters \
	{ \
		return gpufake_call(number); \
	}
#define TFP_GPU_HOOK_BY_HAND(number, type, name, parameters, arguments, kind, meaning)
#include "collectors/tables/cuda_blas.def"
#include "collectors/tables/cuda_blas_more.def"
#include "collectors/tables/cuda_blas_vectors.def"
#include "collectors/tables/cuda_blas_matrices.def"
#include "collectors/tables/cuda_driver.def"
#include "collectors/tables/cuda_library.def"
#include "collectors/tables/cuda_runtime.def"

int cuInit(unsigned flags)
{
	return gpufake_call(600);
}

void __cudaRegisterFunction(void **module, const char *stub, char *device_stub, const char *name, int thread_limit, void *tid,
			    void *bid, void *b_dim, void *g_dim, int *w_size)
{
	gpufake_call(0);
}

void __cudaUnregisterFatBinary(void **module)
{
	gpufake_call(0);
}
