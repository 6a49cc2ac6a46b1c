/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU work without a CUDA runtime of its own: linked_driver LAUNCHES. Memory by the driver's interface, kernels by cuBLAS,
 * whose runtime is inside it: no cuda function is called that a preloaded library could stand in front of.
 * Rule: output depends on the arguments alone; a result that is not 0 is printed.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);

static int failures;

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %d\n", what, result);
	failures++;
}
#define CHECK(call) check((call), #call)

int main(int count, char **words)
{
	int launches = count > 1 ? atoi(words[1]) : 10;
	void *library = dlopen("libcublas.so.12", RTLD_NOW), *handle = NULL, *context = NULL;
	int (*create)(void **);
	int (*scale)(void *, int, const float *, float *, int);
	char host[4096], back[4096];
	uint64_t device = 0;
	float two = 2;

	if (!library) {
		printf("no cuBLAS: %s\n", dlerror());
		return 1;
	}
	*(void **)&create = dlsym(library, "cublasCreate_v2");
	*(void **)&scale = dlsym(library, "cublasSscal_v2");
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(create(&handle));
	CHECK(cuMemAlloc_v2(&device, sizeof(host)));
	memset(host, 5, sizeof(host));
	CHECK(cuMemcpyHtoD_v2(device, host, sizeof(host)));
	for (int i = 0; i < launches; i++)
		CHECK(scale(handle, 1000 + i % 3, &two, (float *)(uintptr_t)device, 1));
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(back, device, sizeof(back)));
	CHECK(cuMemFree_v2(device));
	printf("%d launches, %d failures, bytes %s\n", launches, failures, memcmp(host, back, sizeof(host)) ? "differ" : "same");
	return failures ? 3 : 0;
}
