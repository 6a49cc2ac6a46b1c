/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on a GPU whose amounts are known: work MODE [COUNT]
 *
 *   known     launches, copies, sets, a graph; prints how many, the time between CUDA events around the kernels in one
 *             stream, and what cudaMemGetInfo says before, with and after an allocation
 *   few       each kind of work that CUPTI has records for, once or twice: what raw buffers are kept of
 *   endless   prints a line, then launches until it is killed
 *   fault     launches, then a kernel that writes where nothing is, and more behind it; prints the error
 *   launches  COUNT empty kernels; prints ns a launch, the device waited for at the end
 *   steps     COUNT steps of a training's shape: 20 kernels of some 20 us, one copy, one wait; prints ns a step
 * Rule: prints "name value" lines; ends with 1 where a call failed.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>

#define CHECK(call) do { \
		cudaError_t result = (call); \
		if (result != cudaSuccess) { \
			printf("%s: %s\n", #call, cudaGetErrorString(result)); \
			exit(1); \
		} \
	} while (0)

#define BYTES (64u << 20)
#define KERNELS 200
#define COPIES 20
#define SETS 10
#define REPLAYS 5
#define NODES 8

__global__ void nothing() {}

__global__ void spin(float *to, int rounds)
{
	float value = to[threadIdx.x];

	for (int i = 0; i < rounds; i++)
		value = value * 1.0000001f + 0.5f;
	to[threadIdx.x] = value;
}

static double now_ns()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static size_t free_bytes()
{
	size_t free_now, total;

	CHECK(cudaMemGetInfo(&free_now, &total));
	return free_now;
}

static void replay(cudaStream_t stream, float *block)
{
	cudaGraph_t graph;
	cudaGraphExec_t executable;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < NODES; i++)
		spin<<<1, 64, 0, stream>>>(block, 100);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
}

static void known()
{
	size_t before = free_bytes();
	cudaEvent_t from, to;
	cudaStream_t stream;
	float *block, ms;
	char *host;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocHost((void **)&host, BYTES));
	CHECK(cudaMalloc((void **)&block, BYTES));
	printf("allocated %u\ntaken %zu\n", BYTES, before - free_bytes());
	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	spin<<<1, 64, 0, stream>>>(block, 1);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventRecord(from, stream));
	for (int i = 0; i < KERNELS; i++)
		spin<<<1, 64, 0, stream>>>(block, 20000);
	CHECK(cudaEventRecord(to, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventElapsedTime(&ms, from, to));
	for (int i = 0; i < COPIES; i++)
		CHECK(cudaMemcpyAsync(block, host, BYTES / 16, cudaMemcpyHostToDevice, stream));
	for (int i = 0; i < SETS; i++)
		CHECK(cudaMemsetAsync(block, i, BYTES / 16, stream));
	replay(stream, block);
	CHECK(cudaFree(block));
	CHECK(cudaDeviceSynchronize());
	printf("event_ns %.0f\nkernels %d\ncopies %d\nsets %d\ngraph_kernels %d\n", ms * 1e6, KERNELS + 1, COPIES, SETS, REPLAYS * NODES);
}

static void few()
{
	cudaStream_t stream;
	float *block, *moved, *pooled, *host;
	cudaMemPool_t pool;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&block, 1 << 20));
	CHECK(cudaMalloc((void **)&moved, 1 << 20));
	CHECK(cudaMallocHost((void **)&host, 1 << 20));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMallocAsync((void **)&pooled, 1 << 20, stream));
	for (int i = 0; i < 3; i++)
		spin<<<2 + i, 64, 0, stream>>>(block, 100);
	nothing<<<1, 32, 1024, stream>>>();
	CHECK(cudaMemsetAsync(block, 1, 1 << 20, stream));
	CHECK(cudaMemcpyAsync(block, host, 1 << 20, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(moved, block, 1 << 20, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemcpyAsync(host, moved, 4096, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaMemcpy2DAsync(block, 512, host, 256, 256, 64, cudaMemcpyHostToDevice, stream));
	CHECK(cudaFreeAsync(pooled, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(host, block, 64, cudaMemcpyDeviceToHost));
	replay(stream, block);
	CHECK(cudaMemPoolTrimTo(pool, 0));
	CHECK(cudaFree(moved));
	CHECK(cudaFree(block));
	CHECK(cudaDeviceSynchronize());
}

static void endless()
{
	float *block;

	CHECK(cudaMalloc((void **)&block, 4096));
	puts("running 1");
	fflush(stdout);
	for (int i = 1;; i++) {
		spin<<<1, 64>>>(block, 1000);
		if (i % 20 == 0)
			CHECK(cudaDeviceSynchronize());
	}
}

/* The context is broken then: what is behind the fault never runs. */
static void fault()
{
	float *block;

	CHECK(cudaMalloc((void **)&block, 4096));
	spin<<<1, 64>>>(block, 1000);
	CHECK(cudaDeviceSynchronize());
	spin<<<1, 64>>>((float *)256, 1000);
	for (int i = 0; i < 50; i++)
		spin<<<1, 64>>>(block, 1000);
	printf("error %d\n", (int)cudaDeviceSynchronize());
}

static void launches(int count)
{
	nothing<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	double from = now_ns();
	for (int i = 0; i < count; i++)
		nothing<<<1, 1>>>();
	double launched = now_ns();
	CHECK(cudaDeviceSynchronize());
	printf("launch_ns %.1f\nwith_device_ns %.1f\n", (launched - from) / count, (now_ns() - from) / count);
}

static void steps(int count)
{
	static char host[4096];
	float *block;

	CHECK(cudaMalloc((void **)&block, sizeof host));
	double from = 0;
	for (int step = -5; step < count; step++) {
		if (step == 0)
			from = now_ns();
		for (int i = 0; i < 20; i++)
			spin<<<80, 64>>>(block, 5000);
		CHECK(cudaMemcpy(host, block, sizeof host, cudaMemcpyDeviceToHost));
	}
	printf("step_ns %.1f\n", (now_ns() - from) / count);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "known";
	int count = argc > 2 ? atoi(argv[2]) : 1000;

	if (!strcmp(mode, "launches"))
		launches(count);
	else if (!strcmp(mode, "steps"))
		steps(count);
	else if (!strcmp(mode, "few"))
		few();
	else if (!strcmp(mode, "fault"))
		fault();
	else if (!strcmp(mode, "endless"))
		endless();
	else
		known();
	return 0;
}
