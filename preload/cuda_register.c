/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How nvcc's code announces its kernels to the runtime, before main and at each dlopen: the one place where a host stub and
 * a kernel's name stand together. Rule: the real function is always called; what cannot be noted is counted there.
 */
#include "collectors/gpu_names.h"
#include "preload/cuda_hooks.h"

TFP_CUDA_SLOT(__cudaRegisterFunction)
TFP_CUDA_SLOT(__cudaUnregisterFatBinary)

TFP_EXPORT void __cudaRegisterFunction(void **module, const char *stub, char *device_stub, const char *name, int thread_limit,
				       void *tid, void *bid, void *b_dim, void *g_dim, int *w_size);
TFP_EXPORT void __cudaUnregisterFatBinary(void **module);

typedef void register_function(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

void __cudaRegisterFunction(void **module, const char *stub, char *device_stub, const char *name, int thread_limit, void *tid,
			    void *bid, void *b_dim, void *g_dim, int *w_size)
{
	register_function *real = (register_function *)TFP_CUDA_REAL(__cudaRegisterFunction);

	if (tfp_gpu_is_asked(TFP_GPU_KIND_names))
		tfp_gpu_name_add((uint64_t)stub, name, (uint64_t)module, 0);
	if (real)
		real(module, stub, device_stub, name, thread_limit, tid, bid, b_dim, g_dim, w_size);
}

void __cudaUnregisterFatBinary(void **module)
{
	void (*real)(void **) = (void (*)(void **))TFP_CUDA_REAL(__cudaUnregisterFatBinary);

	tfp_gpu_names_drop((uint64_t)module);
	if (real)
		real(module);
}
