/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that nobody gives back: it ends with its context. linked_contexts [DEVICES]
 *
 * Contexts made, destroyed, retained, released and reset, by the driver and by the runtime, with device, managed, pinned,
 * registered and stream-ordered memory in them; a handle that comes again; memory of one thread that another one's context ends;
 * no cudaSetDevice before the first allocation. Rule: prints `contexts: done`; ends with 1 where a call failed.
 */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(call) check((int)(call), #call)
#define MIB ((size_t)1 << 20)

static char registered[4 << 20];

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	printf("%s: %d\n", what, result);
	exit(1);
}

static CUcontext make(int number)
{
	CUcontext context;
	CUdevice device;

	CHECK(cuDeviceGet(&device, number));
#if CUDA_VERSION >= 13000
	CHECK(cuCtxCreate(&context, nullptr, 0, device));
#else
	CHECK(cuCtxCreate(&context, 0, device));
#endif
	return context;
}

/* Of the driver, in a context of its own: kept, given back, and of every kind. */
static void by_driver(int number)
{
	for (int round = 0; round < 3; round++) {
		CUcontext first = make(number), second = make(number);
		CUdeviceptr one, two, three, managed;
		void *host;

		CHECK(cuMemAlloc(&one, 3 * MIB)); /* in the second */
		CHECK(cuMemAllocManaged(&managed, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
		CHECK(cuMemAllocHost(&host, MIB));
		CHECK(cuCtxSetCurrent(first));
		CHECK(cuMemAlloc(&two, 5 * MIB));
		CHECK(cuMemAlloc(&three, 7 * MIB));
		CHECK(cuMemFree(two));
		CHECK(cuCtxDestroy(second)); /* one, managed and host are gone; three is not */
		CHECK(cuMemAlloc(&two, MIB));
		if (round < 2)
			CHECK(cuCtxDestroy(first));
	}
}

/* The primary context, held twice: memory lives until the second release. */
static void by_retaining(int number)
{
	CUcontext primary;
	CUdeviceptr block;

	CHECK(cuDevicePrimaryCtxRetain(&primary, number));
	CHECK(cuDevicePrimaryCtxRetain(&primary, number));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuMemAlloc(&block, 9 * MIB));
	CHECK(cuDevicePrimaryCtxRelease(number));
	CHECK(cuMemAlloc(&block, 2 * MIB));
	CHECK(cuDevicePrimaryCtxRelease(number));
	CHECK(cuCtxSetCurrent(nullptr));
}

/* Of the runtime: a reset takes the device's, managed and pinned memory, and nothing of another device. */
static void by_runtime(int devices)
{
	void *block, *other, *managed, *pinned, *ordered;
	int last = devices - 1;

	CHECK(cudaMalloc(&block, 11 * MIB)); /* device 0: none was set */
	CHECK(cudaSetDevice(last));
	CHECK(cudaMalloc(&other, 13 * MIB));
	CHECK(cudaMallocManaged(&managed, 4 * MIB));
	CHECK(cudaHostAlloc(&pinned, 3 * MIB, cudaHostAllocPortable));
	CHECK(cudaHostRegister(registered, sizeof registered, cudaHostRegisterPortable));
	CHECK(cudaMallocAsync(&ordered, 6 * MIB, 0));
	CHECK(cudaDeviceSynchronize());
	std::thread([=] { CHECK(cudaSetDevice(last)); CHECK(cudaDeviceReset()); }).join();
	CHECK(cudaSetDevice(last));
	CHECK(cudaMallocManaged(&managed, 8 * MIB));
	CHECK(cudaMallocHost(&pinned, 2 * MIB));
	CHECK(cudaMalloc(&other, MIB));
	CHECK(cudaFree(other));
	std::thread([] { void *mine; CHECK(cudaMalloc(&mine, 2 * MIB)); }).join(); /* a thread begins with device 0 */
}

int main(int count, char **words)
{
	int devices = count > 1 ? atoi(words[1]) : 1;

	CHECK(cuInit(0));
	by_driver(devices - 1);
	by_retaining(0);
	CHECK(cuCtxSetCurrent(nullptr));
	by_runtime(devices);
	puts("contexts: done");
	return 0;
}
