/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of work.cu by the driver's interface alone: work-driver MODE [COUNT], with the same modes, amounts and words.
 *
 * No nvcc builds it, no runtime is in it, and its code is text that any driver translates for any device since Maxwell: it runs
 * where the toolkit is missing, or newer than the driver. libcuda's functions are found by dlsym, so no hook sees a call.
 * Rule: prints "name value" lines; ends with 1 where a call failed.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALL(name, ...) check(((int (*)())find(#name))(__VA_ARGS__), #name)
#define BYTES ((size_t)64 << 20)
#define MIB ((size_t)1 << 20)
#define KERNELS 200
#define COPIES 20
#define SETS 10
#define REPLAYS 5
#define NODES 8
#define SPIN_BLOCK 64u

static const char code[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry nothing() { ret; }\n"
	".visible .entry spin(.param .u64 to, .param .u32 rounds)\n"
	"{\n"
	"	.reg .pred %more;\n"
	"	.reg .f32 %value;\n"
	"	.reg .u32 %i, %count, %thread;\n"
	"	.reg .u64 %at, %offset;\n"
	"	ld.param.u64 %at, [to];\n"
	"	cvta.to.global.u64 %at, %at;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mul.wide.u32 %offset, %thread, 4;\n"
	"	add.u64 %at, %at, %offset;\n"
	"	ld.global.f32 %value, [%at];\n"
	"	ld.param.u32 %count, [rounds];\n"
	"	mov.u32 %i, 0;\n"
	"again:\n"
	"	fma.rn.f32 %value, %value, 0f3F800001, 0f3F000000;\n"
	"	add.u32 %i, %i, 1;\n"
	"	setp.lt.u32 %more, %i, %count;\n"
	"	@%more bra again;\n"
	"	st.global.f32 [%at], %value;\n"
	"	ret;\n"
	"}\n";

static void *driver, *nothing, *spin;

static void *find(const char *name)
{
	void *function = dlsym(driver, name);

	if (function)
		return function;
	printf("libcuda.so.1 has no %s\n", name);
	exit(1);
}

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: error %d\n", what, result);
	exit(1);
}

static void begin(void)
{
	void *context, *module;
	int device;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) {
		printf("%s\n", dlerror());
		exit(1);
	}
	CALL(cuInit, 0u);
	CALL(cuDeviceGet, &device, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, device);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, code);
	CALL(cuModuleGetFunction, &nothing, module, "nothing");
	CALL(cuModuleGetFunction, &spin, module, "spin");
}

static void launch(void *function, unsigned blocks, unsigned threads, unsigned shared, void *stream, void **values)
{
	static int (*call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

	if (!call)
		*(void **)&call = find("cuLaunchKernel");
	check(call(function, blocks, 1, 1, threads, 1, 1, shared, stream, values, NULL), "cuLaunchKernel");
}

static void turn(unsigned blocks, uint64_t block, int rounds, void *stream)
{
	void *values[] = {&block, &rounds};

	launch(spin, blocks, SPIN_BLOCK, 0, stream, values);
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static size_t free_bytes(void)
{
	size_t free_now, total;

	CALL(cuMemGetInfo_v2, &free_now, &total);
	return free_now;
}

static void replay(void *stream, uint64_t block)
{
	void *graph, *executable;

	CALL(cuStreamBeginCapture_v2, stream, 0);
	for (int i = 0; i < NODES; i++)
		turn(1, block, 100, stream);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &executable, graph, (uint64_t)0);
	for (int i = 0; i < REPLAYS; i++)
		CALL(cuGraphLaunch, executable, stream);
	CALL(cuStreamSynchronize, stream);
}

static void known(void)
{
	size_t before = free_bytes();
	void *stream, *host, *from, *to;
	uint64_t block;
	float ms;

	CALL(cuStreamCreate, &stream, 0u);
	CALL(cuMemAllocHost_v2, &host, BYTES);
	CALL(cuMemAlloc_v2, &block, BYTES);
	printf("allocated %zu\ntaken %zu\n", BYTES, before - free_bytes());
	CALL(cuEventCreate, &from, 0u);
	CALL(cuEventCreate, &to, 0u);
	turn(1, block, 1, stream);
	CALL(cuStreamSynchronize, stream);
	CALL(cuEventRecord, from, stream);
	for (int i = 0; i < KERNELS; i++)
		turn(1, block, 20000, stream);
	CALL(cuEventRecord, to, stream);
	CALL(cuStreamSynchronize, stream);
	CALL(cuEventElapsedTime, &ms, from, to);
	for (int i = 0; i < COPIES; i++)
		CALL(cuMemcpyHtoDAsync_v2, block, host, BYTES / 16, stream);
	for (unsigned i = 0; i < SETS; i++)
		CALL(cuMemsetD8Async, block, i, BYTES / 16, stream);
	replay(stream, block);
	CALL(cuMemFree_v2, block);
	CALL(cuCtxSynchronize);
	printf("event_ns %.0f\nkernels %d\ncopies %d\nsets %d\ngraph_kernels %d\n", (double)ms * 1e6, KERNELS + 1, COPIES, SETS,
	       REPLAYS * NODES);
}

static void few(void)
{
	void *stream, *host, *pool;
	uint64_t block, moved, pooled;

	CALL(cuStreamCreate, &stream, 1u);
	CALL(cuMemAlloc_v2, &block, MIB);
	CALL(cuMemAlloc_v2, &moved, MIB);
	CALL(cuMemAllocHost_v2, &host, MIB);
	CALL(cuDeviceGetDefaultMemPool, &pool, 0);
	CALL(cuMemAllocAsync, &pooled, MIB, stream);
	for (unsigned i = 0; i < 3; i++)
		turn(2 + i, block, 100, stream);
	launch(nothing, 1, 32, 1024, stream, NULL);
	CALL(cuMemsetD8Async, block, 1u, MIB, stream);
	CALL(cuMemcpyHtoDAsync_v2, block, host, MIB, stream);
	CALL(cuMemcpyDtoDAsync_v2, moved, block, MIB, stream);
	CALL(cuMemcpyDtoHAsync_v2, host, moved, (size_t)4096, stream);
	CALL(cuMemFreeAsync, pooled, stream);
	CALL(cuStreamSynchronize, stream);
	CALL(cuMemcpyDtoH_v2, host, block, (size_t)64);
	replay(stream, block);
	CALL(cuMemPoolTrimTo, pool, (size_t)0);
	CALL(cuMemFree_v2, moved);
	CALL(cuMemFree_v2, block);
	CALL(cuCtxSynchronize);
}

static void endless(void)
{
	uint64_t block;

	CALL(cuMemAlloc_v2, &block, (size_t)4096);
	puts("running 1");
	fflush(stdout);
	for (int i = 1;; i++) {
		turn(1, block, 1000, NULL);
		if (i % 20 == 0)
			CALL(cuCtxSynchronize);
	}
}

static void launches(int count)
{
	launch(nothing, 1, 1, 0, NULL, NULL);
	CALL(cuCtxSynchronize);
	double from = now_ns();
	for (int i = 0; i < count; i++)
		launch(nothing, 1, 1, 0, NULL, NULL);
	double launched = now_ns();
	CALL(cuCtxSynchronize);
	printf("launch_ns %.1f\nwith_device_ns %.1f\n", (launched - from) / count, (now_ns() - from) / count);
}

static void steps(int count)
{
	static char host[4096];
	uint64_t block;
	double from = 0;

	CALL(cuMemAlloc_v2, &block, sizeof host);
	for (int step = -5; step < count; step++) {
		if (step == 0)
			from = now_ns();
		for (int i = 0; i < 20; i++)
			turn(80, block, 5000, NULL);
		CALL(cuMemcpyDtoH_v2, host, block, sizeof host);
	}
	printf("step_ns %.1f\n", (now_ns() - from) / count);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "known";
	int count = argc > 2 ? atoi(argv[2]) : 1000;

	begin();
	if (!strcmp(mode, "launches"))
		launches(count);
	else if (!strcmp(mode, "steps"))
		steps(count);
	else if (!strcmp(mode, "few"))
		few();
	else if (!strcmp(mode, "endless"))
		endless();
	else
		known();
	return 0;
}
