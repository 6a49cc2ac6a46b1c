/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS, cuBLASLt, cuDNN, cuFFT and NCCL as the host calls them; see preload/cuda_hooks.h. Rule: made from the tables alone. */
#include "preload/cuda_hooks.h"
#include "preload/cuda_meaning.h"

/* By a function's name: which library, and what that library says where it cannot start. Constants to the compiler. */
#define BEGINS(name, with) (__builtin_strncmp(#name, with, sizeof with - 1) == 0)
#define LIBRARY_OF(name) \
	(BEGINS(name, "cublasLt") ? TFP_GPU_IN_cublaslt \
	 : BEGINS(name, "cublas") ? TFP_GPU_IN_cublas \
	 : BEGINS(name, "cudnn")  ? TFP_GPU_IN_cudnn \
	 : BEGINS(name, "cufft")  ? TFP_GPU_IN_cufft \
				  : TFP_GPU_IN_nccl)
/* CUBLAS_ and CUDNN_STATUS_NOT_INITIALIZED, CUFFT_SETUP_FAILED, ncclSystemError */
#define MISSING(name) (BEGINS(name, "cufft") ? 7 : BEGINS(name, "nccl") ? 2 : 1)

#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) \
	TFP_CUDA_WRAPPER(number, type, name, parameters, arguments, kind, LIBRARY_OF(name), MISSING(name), NAMES_##meaning, \
			 BEFORE_##meaning, AFTER_##meaning)
#include "collectors/tables/cuda_blas.def"
#include "collectors/tables/cuda_blas_more.def"
#include "collectors/tables/cuda_blas_vectors.def"
#include "collectors/tables/cuda_blas_matrices.def"
#include "collectors/tables/cuda_library.def"
