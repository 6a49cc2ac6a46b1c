/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated GPU's own edges, each with the answer that CUDA's documentation gives: edges TEST (main lists them)
 *
 * Rule: the first wrong answer is printed with its line, and the exit status is 1.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <sys/wait.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define EXPECT(call, wanted) expect((long long)(call), (long long)(wanted), #call, __LINE__)
#define OK(call) EXPECT(call, cudaSuccess)
#define MIB ((size_t)1 << 20)

__global__ void nothing(int)
{
}
__global__ void __launch_bounds__(256) slow(float *x)
{
	__shared__ float part[512];

	part[threadIdx.x] = x[0];
	x[0] = part[0];
}
__device__ float table_of_device[1024];
__constant__ int numbers[16];
__managed__ int counter = 0;

static void expect(long long found, long long wanted, const char *what, int line)
{
	if (found == wanted)
		return;
	printf("line %d: %s: found %lld, wanted %lld\n", line, what, found, wanted);
	exit(1);
}

/* Memory to the last byte; the error does not stick. */
static void capacity()
{
	size_t before, after, total;
	void *big, *more, *small[100];

	OK(cudaMemGetInfo(&before, &total));
	OK(cudaMalloc(&big, before - 64 * MIB));
	EXPECT(cudaMalloc(&more, 65 * MIB), cudaErrorMemoryAllocation);
	EXPECT(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
	OK(cudaGetLastError());
	OK(cudaMalloc(&more, 64 * MIB));
	OK(cudaMemGetInfo(&after, &total));
	EXPECT(after, 0);
	OK(cudaFree(more));
	OK(cudaFree(big));
	OK(cudaMemGetInfo(&after, &total));
	EXPECT(after, before);
	for (int i = 0; i < 100; i++)
		OK(cudaMalloc(&small[i], 1000));
	OK(cudaMemGetInfo(&after, &total));
	EXPECT(before - after, 2 * MIB);	/* small blocks share a segment */
	for (int i = 0; i < 100; i++)
		OK(cudaFree(small[i]));
	EXPECT(cudaFree(small[0]), cudaErrorInvalidValue);
	OK(cudaFree(NULL));
}

static void pools()
{
	cudaMemPool_t pool;
	uint64_t reserved, used, keep = 64 * MIB;
	void *one, *two;
	cudaStream_t stream;

	OK(cudaStreamCreate(&stream));
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMallocAsync(&one, 10 * MIB, stream));
	OK(cudaMallocAsync(&two, 50 * MIB, stream));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	EXPECT(used, 60 * MIB);
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	EXPECT(reserved, 64 * MIB);
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	OK(cudaFreeAsync(one, stream));
	OK(cudaFreeAsync(two, stream));
	EXPECT(cudaFreeAsync(two, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	EXPECT(reserved, 64 * MIB);		/* below the threshold it keeps */
	OK(cudaMemPoolTrimTo(pool, 0));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	EXPECT(reserved, 0);
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
	EXPECT(used, 60 * MIB);
}

/* Wrong handles, dimensions and kinds get their codes; nothing of it sticks to the context. */
static void errors()
{
	cudaStream_t stream;
	cudaEvent_t never, gone;
	char host[64];
	float ms;
	void *device;

	OK(cudaStreamCreate(&stream));
	OK(cudaStreamDestroy(stream));
	EXPECT(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
	nothing<<<1, 2048>>>(1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	nothing<<<dim3(1, 70000), 1>>>(1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	nothing<<<2147483647, 1>>>(1);
	OK(cudaGetLastError());
	nothing<<<1, 1, 60000>>>(1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	OK(cudaFuncSetAttribute((const void *)nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
	nothing<<<1, 1, 60000>>>(1);
	OK(cudaGetLastError());
	OK(cudaMalloc(&device, 64));
	EXPECT(cudaMemcpy(device, host, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(device, host, 64, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(device, host, 64, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	EXPECT(cudaSetDevice(99), cudaErrorInvalidDevice);
	OK(cudaEventCreate(&never));
	OK(cudaEventQuery(never));
	OK(cudaEventCreate(&gone));
	OK(cudaEventDestroy(gone));
	EXPECT(cudaEventRecord(gone, 0), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventElapsedTime(&ms, never, never), cudaErrorInvalidResourceHandle);
	EXPECT(cudaLaunchKernel((const void *)errors, dim3(1), dim3(1), NULL, 0, 0), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
	OK(cudaDeviceSynchronize());
}

/* Needs the scenario line `fault_kernel 3 700`. */
static void sticky()
{
	void *memory;

	nothing<<<1, 1>>>(1);
	nothing<<<1, 1>>>(1);
	OK(cudaDeviceSynchronize());
	nothing<<<1, 1>>>(1);
	OK(cudaGetLastError());
	EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaMalloc(&memory, 64), cudaErrorIllegalAddress);
	nothing<<<1, 1>>>(1);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	OK(cudaDeviceReset());
	OK(cudaMalloc(&memory, 64));
	nothing<<<1, 1>>>(1);
	OK(cudaDeviceSynchronize());
}

/* Bytes move in rows, planes, arrays and variables. */
static void bytes()
{
	static float host[64][32], back[64][32];
	cudaChannelFormatDesc one_float = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	cudaMemcpy3DParms deep = {};
	cudaPitchedPtr volume;
	cudaArray_t array;
	size_t pitch;
	float *flat;
	int few[16], again[16];

	for (int i = 0; i < 64 * 32; i++)
		host[i / 32][i % 32] = (float)i;
	OK(cudaMallocPitch(&flat, &pitch, sizeof host[0], 64));
	EXPECT(pitch, 512);
	OK(cudaMemcpy2D(flat, pitch, host, sizeof host[0], sizeof host[0], 64, cudaMemcpyHostToDevice));
	OK(cudaMallocArray(&array, &one_float, 32, 64));
	OK(cudaMemcpy2DToArray(array, 0, 0, flat, pitch, sizeof host[0], 64, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], 64, cudaMemcpyDeviceToHost));
	EXPECT(memcmp(host, back, sizeof host), 0);
	OK(cudaMalloc3D(&volume, make_cudaExtent(sizeof host[0], 8, 8)));
	deep.srcPtr = make_cudaPitchedPtr(host, sizeof host[0], 32, 8);
	deep.dstPtr = volume;
	deep.extent = make_cudaExtent(sizeof host[0], 8, 8);
	deep.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&deep));
	memset(back, 0, sizeof back);
	deep.srcPtr = volume;
	deep.dstPtr = make_cudaPitchedPtr(back, sizeof back[0], 32, 8);
	deep.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&deep));
	EXPECT(memcmp(host, back, sizeof host), 0);
	for (int i = 0; i < 16; i++)
		few[i] = i * i;
	OK(cudaMemcpyToSymbol(numbers, few, sizeof few));
	OK(cudaMemcpyFromSymbol(again, numbers, sizeof again));
	EXPECT(memcmp(few, again, sizeof few), 0);
	OK(cudaMemcpyToSymbol(table_of_device, host, sizeof table_of_device));
	OK(cudaMemset(flat, 0xab, 512));
	OK(cudaMemcpy(back, flat, 4, cudaMemcpyDefault));
	EXPECT(((unsigned char *)back)[3], 0xab);
	counter = 7;
	EXPECT(counter, 7);
}

static double now_ms()
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);	/* the simulated device's own */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A stream waits for events of others; times tell the order. Work that is said to be done has had its time. */
static void order()
{
	cudaStream_t one, two;
	cudaEvent_t first, second, third;
	float ms, passed;
	cudaError_t early;
	double begin;

	OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
	OK(cudaEventCreate(&first));
	OK(cudaEventCreate(&second));
	OK(cudaEventCreate(&third));
	begin = now_ms();
	OK(cudaEventRecord(first, one));
	for (int i = 0; i < 20; i++)
		nothing<<<1000, 256, 0, one>>>(i);
	OK(cudaEventRecord(second, one));
	OK(cudaStreamWaitEvent(two, second, 0));
	nothing<<<1, 1, 0, two>>>(0);
	OK(cudaEventRecord(third, two));
	early = cudaEventQuery(third);
	passed = (float)(now_ms() - begin);
	cudaGetLastError();
	OK(cudaEventSynchronize(third));
	OK(cudaEventElapsedTime(&ms, first, third));
	EXPECT(early, early == cudaSuccess && passed >= 0.9f * ms ? cudaSuccess : cudaErrorNotReady);
	OK(cudaEventQuery(second));
	OK(cudaEventElapsedTime(&ms, first, second));
	EXPECT(ms > 0.02f, 1);	/* 20 kernels of 2 us and more, one after the other */
	OK(cudaEventElapsedTime(&ms, second, third));
	EXPECT(ms > 0.001f, 1);
	OK(cudaStreamQuery(two));
}

static void add_one(void *at)
{
	++*(int *)at;
}

/* The least time, ns, from the call to the function on an idle device that nobody waits for: each begins as the one before has run. */
static long long least_wait(cudaStream_t stream)
{
	long long least = -1;

	for (int i = 0; i < 10; i++) {
		volatile int done = 0;
		struct timespec from, to;
		long long took;

		clock_gettime(CLOCK_MONOTONIC, &from);
		OK(cudaLaunchHostFunc(stream, add_one, (void *)&done));
		while (!done)
			usleep(100);
		clock_gettime(CLOCK_MONOTONIC, &to);
		took = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
		least = i > 1 && (least < 0 || took < least) ? took : least; /* the first two may find the worker awake */
	}
	return least;
}

static void host_functions()
{
	cudaStream_t stream;
	int count = 0;

	OK(cudaStreamCreate(&stream));
	for (int i = 0; i < 10; i++) {
		nothing<<<10, 10, 0, stream>>>(i);
		OK(cudaLaunchHostFunc(stream, add_one, &count));
	}
	OK(cudaStreamSynchronize(stream));
	EXPECT(count, 10);
	EXPECT(least_wait(stream) < 15000000, true);
}

/* A graph built by hand, cloned, updated, with a branch switched off; and what a capture forbids. */
static void graphs()
{
	cudaGraph_t graph, clone, captured;
	cudaGraphExec_t exec;
	cudaGraphNode_t kernel, set, copy;
	cudaKernelNodeParams parameters = {};
	cudaMemsetParams fill = {};
	cudaGraphNodeParams general = {};
	cudaGraphExecUpdateResultInfo info;
	cudaStream_t stream, apart;
	cudaStreamCaptureStatus status;
	unsigned char *device, back[8] = {};
	int argument = 0;
	void *arguments[] = {&argument};
	size_t count = 0;

	OK(cudaMalloc(&device, 4096));
	OK(cudaStreamCreate(&stream));
	OK(cudaGraphCreate(&graph, 0));
	parameters.func = (void *)nothing;
	parameters.gridDim = dim3(8);
	parameters.blockDim = dim3(64);
	parameters.kernelParams = arguments;
	OK(cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &parameters));
	fill.dst = device;
	fill.value = 0x5a;
	fill.elementSize = 1;
	fill.width = 64;
	fill.height = 1;
	OK(cudaGraphAddMemsetNode(&set, graph, &kernel, 1, &fill));
	OK(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, back, device, sizeof back, cudaMemcpyDeviceToHost));
	OK(cudaGraphGetNodes(graph, NULL, &count));
	EXPECT(count, 3);
	OK(cudaGraphClone(&clone, graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	EXPECT(back[7], 0x5a);
	OK(cudaGraphNodeSetEnabled(exec, set, 0));
	OK(cudaMemset(device, 1, 64));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	EXPECT(back[7], 1);
	OK(cudaGraphNodeSetEnabled(exec, set, 1));
	general.type = cudaGraphNodeTypeMemset;
	general.memset.dst = device;
	general.memset.value = 0x33;
	general.memset.elementSize = general.memset.height = 1;
	general.memset.width = 64;
	OK(cudaGraphExecNodeSetParams(exec, set, &general));
	EXPECT(cudaGraphExecNodeSetParams(exec, kernel, &general), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	EXPECT(back[7], 0x33);
	general.memset.value = 0x44;
	OK(cudaGraphNodeSetParams(set, &general));
	general.type = cudaGraphNodeTypeKernel;
	general.kernel = {};
	general.kernel.func = (void *)nothing;
	general.kernel.gridDim = general.kernel.blockDim = dim3(16);
	general.kernel.kernelParams = arguments;
	OK(cudaGraphExecNodeSetParams(exec, kernel, &general));
	OK(cudaGraphExecUpdate(exec, clone, &info));
	OK(cudaGraphDestroyNode(copy));
	EXPECT(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
	cudaGetLastError();
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	nothing<<<1, 1, 0, stream>>>(1);
	EXPECT(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	OK(cudaStreamIsCapturing(stream, &status));
	EXPECT(status, cudaStreamCaptureStatusInvalidated);
	EXPECT(cudaStreamEndCapture(stream, &captured), cudaErrorStreamCaptureInvalidated);
	/* The legacy stream waits for blocking streams, and for those alone. */
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	EXPECT(cudaMemsetAsync(device, 1, 64, 0), cudaErrorStreamCaptureImplicit);
	EXPECT(cudaStreamEndCapture(stream, &captured), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
	OK(cudaStreamBeginCapture(apart, cudaStreamCaptureModeThreadLocal));
	OK(cudaMemsetAsync(device, 1, 64, 0));
	OK(cudaStreamEndCapture(apart, &captured));
	/* Nor can a device be waited for. */
	OK(cudaStreamBeginCapture(apart, cudaStreamCaptureModeThreadLocal));
	EXPECT(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
	EXPECT(cudaStreamEndCapture(apart, &captured), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamDestroy(apart));
	cudaGetLastError();
	OK(cudaStreamSynchronize(stream));
}

/* Facts of code come from the cubin that nvcc made. */
static void code()
{
	cudaFuncAttributes facts;
	int blocks;

	OK(cudaFuncGetAttributes(&facts, (const void *)slow));
	EXPECT(facts.sharedSizeBytes >= 2048, 1);
	EXPECT(facts.numRegs > 0 && facts.numRegs < 256, 1);
	EXPECT(facts.maxThreadsPerBlock, 256);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, slow, 256, 0));
	EXPECT(blocks, 8);
}

/* What a fork child may do: nothing, and it is told so. */
static void forked()
{
	void *memory;
	int status;
	pid_t child;

	OK(cudaMalloc(&memory, 100));
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(cudaMalloc(&memory, 100) == cudaErrorInitializationError ? 0 : 1);
	waitpid(child, &status, 0);
	EXPECT(status, 0);
	OK(cudaFree(memory));
}

/* Needs the scenario line `devices 2`. */
static void peers()
{
	char up[256], back[256] = {};
	void *one, *two;
	int can;

	for (int i = 0; i < 256; i++)
		up[i] = (char)i;
	OK(cudaDeviceCanAccessPeer(&can, 0, 1));
	EXPECT(can, 1);
	OK(cudaSetDevice(0));
	OK(cudaMalloc(&one, 256));
	OK(cudaDeviceEnablePeerAccess(1, 0));
	EXPECT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
	cudaGetLastError();
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&two, 256));
	OK(cudaMemcpy(one, up, 256, cudaMemcpyHostToDevice));
	OK(cudaMemcpyPeer(two, 1, one, 0, 256));
	OK(cudaMemcpy(back, two, 256, cudaMemcpyDeviceToHost));
	EXPECT(memcmp(up, back, 256), 0);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)();
	} tests[] = {{"capacity", capacity}, {"pools", pools}, {"errors", errors}, {"sticky", sticky}, {"bytes", bytes}, {"order", order},
		     {"host_functions", host_functions}, {"graphs", graphs}, {"code", code}, {"forked", forked}, {"peers", peers}};

	for (const auto &test : tests)
		if (count > 1 && !strcmp(arguments[1], test.name)) {
			test.run();
			puts("fine");
			return 0;
		}
	fprintf(stderr, "edges: no such test\n");
	return 64;
}
