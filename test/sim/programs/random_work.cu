/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random GPU work from a seed: random_work SEED OPERATIONS THREADS [DEVICES]
 *
 * Each thread makes streams, events, graphs and memory of its own and does OPERATIONS random things with them: launches of
 * kernels of several names and shapes, copies of every direction and kind of host memory, sets, allocations and releases of
 * every flavour, events, waits, graph captures and replays, peer copies, queries. Threads share devices, and nothing else.
 * Bytes are checked: what goes up and comes back down must be the same.
 * Rule: no error is expected; the first one is printed with the seed, and the exit status is 1. Ends with all released.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <cuda_runtime.h>

#define STREAMS 6
#define EVENTS 8
#define BLOCKS 24
#define CHECK(call) check((call), #call, __LINE__)

static unsigned long long seed;
static int operations, devices;

__global__ void axpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

template <typename T, int WIDTH> __global__ void tile(T *to, const T *from, int n)
{
	__shared__ T part[WIDTH];
	int i = blockIdx.x * WIDTH + threadIdx.x;

	part[threadIdx.x % WIDTH] = i < n ? from[i] : T(0);
	__syncthreads();
	if (i < n)
		to[i] = part[(threadIdx.x + 1) % WIDTH];
}

__device__ int places[256];

extern "C" __global__ void plain_c(int *at)
{
	atomicAdd(at, 1);
}

static void check(cudaError_t result, const char *what, int line)
{
	if (result == cudaSuccess)
		return;
	printf("seed %llu: line %d: %s: %s\n", seed, line, what, cudaGetErrorName(result));
	exit(1);
}

enum flavour { DEVICE, MANAGED, PINNED, POOLED, PITCHED, MAPPED, OWN_POOL, FLAVOURS };

struct block {
	void *address;
	size_t bytes;
	enum flavour flavour;
	int device;
};

struct worker {
	pthread_t thread;
	unsigned long long state;
	int number, device;
	cudaStream_t streams[STREAMS];
	cudaEvent_t events[EVENTS];
	struct block blocks[BLOCKS];
	float *x, *y;		/* 1 MiB each, for kernels */
	float *far;		/* as much on the next device */
	cudaArray_t array;	/* 64 rows of 64 floats */
	cudaMemPool_t pool;
	int host_calls;		/* made by host functions in this worker's streams */
	char *pinned, *pageable, *up;
	cudaGraphExec_t graph;
};

#define SCRATCH ((size_t)1 << 20)

static uint32_t draw(struct worker *worker, uint32_t below)
{
	worker->state = worker->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((worker->state >> 33) % below);
}

static void launch(struct worker *worker, cudaStream_t stream)
{
	unsigned blocks = 1 + draw(worker, 300), threads = 32u << draw(worker, 4);
	float *x = worker->x, *y = worker->y;

	switch (draw(worker, 7)) {
	case 5: {
		int *at = (int *)y;
		void *arguments[] = {&at};

		CHECK(cudaLaunchCooperativeKernel((const void *)plain_c, dim3(1 + blocks % 8), dim3(32), arguments, 0, stream));
		break;
	}
	case 6: {
		cudaLaunchConfig_t config = {};

		config.gridDim = dim3(blocks);
		config.blockDim = dim3(threads);
		config.stream = stream;
		CHECK(cudaLaunchKernelEx(&config, axpy, y, (const float *)x, 3.0f, 1));
		break;
	}
	case 0:
		axpy<<<blocks, threads, 0, stream>>>(y, x, 2.0f, 1);
		break;
	case 1:
		tile<float, 64><<<dim3(blocks, 1 + draw(worker, 4)), 64, 0, stream>>>(y, x, 1);
		break;
	case 2:
		tile<double, 128><<<blocks, dim3(16, 8), 0, stream>>>((double *)y, (double *)x, 1);
		break;
	case 3:
		plain_c<<<1, 1, draw(worker, 4096), stream>>>((int *)y);
		break;
	default: {
		int n = 1;
		float a = 1.0f;
		void *arguments[] = {&y, &x, &a, &n};

		CHECK(cudaLaunchKernel((const void *)axpy, dim3(blocks), dim3(threads), arguments, 0, stream));
	}
	}
	CHECK(cudaGetLastError());
}

static void copy(struct worker *worker, cudaStream_t stream)
{
	size_t bytes = 1 + draw(worker, 200000);
	char *host = draw(worker, 2) ? worker->pinned : worker->pageable;

	switch (draw(worker, 12)) {
	case 8:
		CHECK(cudaMemcpyToSymbolAsync(places, worker->pinned, 1 + bytes % 512, bytes % 256, cudaMemcpyHostToDevice, stream));
		break;
	case 9:
		CHECK(cudaMemcpy2DToArrayAsync(worker->array, 0, 0, worker->pinned, 512, 256, 1 + bytes % 64, cudaMemcpyHostToDevice, stream));
		break;
	case 10:
		CHECK(cudaMemcpy2DFromArray(host, 512, worker->array, 0, 0, 256, 1 + bytes % 64, cudaMemcpyDeviceToHost));
		break;
	case 11:
		CHECK(cudaMemcpyPeerAsync(worker->far, (worker->device + 1) % devices, worker->x, worker->device, bytes, stream));
		break;
	case 0:
		CHECK(cudaMemcpy(worker->x, host, bytes, cudaMemcpyHostToDevice));
		break;
	case 1:
		CHECK(cudaMemcpyAsync(worker->x, host, bytes, cudaMemcpyHostToDevice, stream));
		break;
	case 2:
		CHECK(cudaMemcpyAsync(host, worker->x, bytes, cudaMemcpyDeviceToHost, stream));
		break;
	case 3:
		CHECK(cudaMemcpy(host, worker->y, bytes, cudaMemcpyDeviceToHost));
		break;
	case 4:
		CHECK(cudaMemcpyAsync(worker->y, worker->x, bytes, cudaMemcpyDeviceToDevice, stream));
		break;
	case 5:
		CHECK(cudaMemcpyAsync(worker->y, host, bytes, cudaMemcpyDefault, stream));
		break;
	case 6:
		CHECK(cudaMemcpy2DAsync(worker->y, 1024, host, 512, 300, 1 + draw(worker, 200), cudaMemcpyHostToDevice, stream));
		break;
	default:
		CHECK(cudaMemcpy2D(host, 512, worker->y, 1024, 300, 1 + draw(worker, 200), cudaMemcpyDeviceToHost));
	}
}

static void set(struct worker *worker, cudaStream_t stream)
{
	size_t bytes = 1 + draw(worker, 500000);

	switch (draw(worker, 3)) {
	case 0:
		CHECK(cudaMemset(worker->x, 3, bytes));
		break;
	case 1:
		CHECK(cudaMemsetAsync(worker->y, 7, bytes, stream));
		break;
	default:
		CHECK(cudaMemset2DAsync(worker->y, 2048, 1, 100, 1 + draw(worker, 100), stream));
	}
}

/* Whoever waits for a device in which a stream is captured ends that capture. */
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_device()
{
	pthread_mutex_lock(&capturing);
	CHECK(cudaDeviceSynchronize());
	pthread_mutex_unlock(&capturing);
}

/* Up with a pattern and down again, through a stream or not; the bytes must come back. */
static void round_trip(struct worker *worker, cudaStream_t stream)
{
	size_t bytes = 1 + draw(worker, 100000);
	char *back = worker->pageable;

	wait_for_device(); /* the other streams use the same memory */
	for (size_t i = 0; i < bytes; i++)
		worker->up[i] = (char)(worker->state >> (i % 40));
	CHECK(cudaMemcpyAsync(worker->x, worker->up, bytes, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(worker->y, worker->x, bytes, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemcpyAsync(back, worker->y, bytes, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	if (memcmp(back, worker->up, bytes)) {
		printf("seed %llu: %zu bytes did not come back\n", seed, bytes);
		exit(1);
	}
}

static void release(struct block *block, cudaStream_t stream)
{
	switch (block->flavour) {
	case PINNED:
	case MAPPED:
		CHECK(cudaFreeHost(block->address));
		break;
	case POOLED:
	case OWN_POOL:
		CHECK(cudaFreeAsync(block->address, stream));
		break;
	default:
		CHECK(cudaFree(block->address));
	}
	block->address = NULL;
}

static void allocate(struct worker *worker, struct block *block, cudaStream_t stream)
{
	size_t pitch, height = 1 + draw(worker, 64);

	block->bytes = 1 + draw(worker, 1u << (4 + draw(worker, 20)));
	block->flavour = (enum flavour)draw(worker, FLAVOURS);
	block->device = worker->device;
	switch (block->flavour) {
	case DEVICE:
		CHECK(cudaMalloc(&block->address, block->bytes));
		break;
	case MANAGED:
		CHECK(cudaMallocManaged(&block->address, block->bytes));
		break;
	case PINNED:
		CHECK(cudaMallocHost(&block->address, block->bytes));
		break;
	case MAPPED:
		CHECK(cudaHostAlloc(&block->address, block->bytes, cudaHostAllocMapped));
		break;
	case PITCHED:
		CHECK(cudaMallocPitch(&block->address, &pitch, block->bytes % 4096 + 1, height));
		break;
	case OWN_POOL:
		CHECK(cudaMallocFromPoolAsync(&block->address, block->bytes, worker->pool, stream));
		break;
	default:
		CHECK(cudaMallocAsync(&block->address, block->bytes, stream));
	}
}

/* A device, or the host for -1. */
static cudaMemLocation where(int device)
{
	cudaMemLocation location = {};

	location.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
	location.id = device < 0 ? 0 : device;
	return location;
}

static void memory(struct worker *worker, cudaStream_t stream)
{
	struct block *block = &worker->blocks[draw(worker, BLOCKS)];
	size_t free_bytes, total;

	if (!draw(worker, 20))
		CHECK(cudaMemGetInfo(&free_bytes, &total));
	if (block->address && block->flavour == MANAGED && draw(worker, 3))
		CHECK(cudaMemPrefetchAsync(block->address, block->bytes, where(draw(worker, 2) ? worker->device : -1), 0, stream));
	else if (block->address)
		release(block, stream);
	else
		allocate(worker, block, stream);
}

static void order(struct worker *worker, cudaStream_t stream)
{
	cudaEvent_t event = worker->events[draw(worker, EVENTS)];

	switch (draw(worker, 5)) {
	case 0:
	case 1:
		CHECK(cudaEventRecord(event, stream));
		break;
	case 2:
		CHECK(cudaStreamWaitEvent(stream, event, 0));
		break;
	case 3:
		CHECK(cudaEventSynchronize(event));
		break;
	default:
		if (cudaEventQuery(event) != cudaSuccess)
			cudaGetLastError();
	}
}

/*
 * A graph of a fork and a join, captured; the one before it goes. Both streams are non-blocking: what other threads do in the legacy stream
 * meanwhile would wait for one that is not, and end its capture.
 */
static void capture(struct worker *worker)
{
	cudaStream_t main = worker->streams[3], side = worker->streams[2];
	cudaEvent_t fork = worker->events[0], join = worker->events[1];
	cudaGraph_t graph;
	int nodes = 1 + (int)draw(worker, 6);

	pthread_mutex_lock(&capturing);
	CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
	launch(worker, main);
	CHECK(cudaEventRecord(fork, main));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	for (int i = 0; i < nodes; i++)
		launch(worker, i % 2 ? side : main);
	CHECK(cudaMemsetAsync(worker->y, 5, 4096, side));
	CHECK(cudaMemcpyAsync(worker->x, worker->pinned, 8192, cudaMemcpyHostToDevice, main));
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(main, join, 0));
	launch(worker, main);
	CHECK(cudaStreamEndCapture(main, &graph));
	pthread_mutex_unlock(&capturing);
	if (worker->graph)
		CHECK(cudaGraphExecDestroy(worker->graph));
	CHECK(cudaGraphInstantiate(&worker->graph, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	/* Events that stood in a capture are used no further. */
	CHECK(cudaEventDestroy(fork));
	CHECK(cudaEventDestroy(join));
	CHECK(cudaEventCreate(&worker->events[0]));
	CHECK(cudaEventCreate(&worker->events[1]));
}

static void count_call(void *argument)
{
	__atomic_fetch_add(&((struct worker *)argument)->host_calls, 1, __ATOMIC_RELAXED);
}

static void one_thing(struct worker *worker)
{
	cudaStream_t stream = worker->streams[draw(worker, STREAMS)];
	uint32_t what = draw(worker, 100);

	if (what < 45)
		launch(worker, stream);
	else if (what < 58)
		copy(worker, stream);
	else if (what < 64)
		set(worker, stream);
	else if (what < 78)
		memory(worker, stream);
	else if (what < 88)
		order(worker, stream);
	else if (what < 90)
		round_trip(worker, stream);
	else if (what < 91)
		capture(worker);
	else if (what < 95 && worker->graph)
		CHECK(cudaGraphLaunch(worker->graph, stream));
	else if (what < 97)
		CHECK(cudaLaunchHostFunc(stream, count_call, worker));
	else if (what < 98)
		CHECK(cudaStreamSynchronize(stream));
	else if (what < 99)
		wait_for_device();
	else if (cudaStreamQuery(stream) != cudaSuccess)
		cudaGetLastError();
}

/* A kernel that is loaded at its first launch may want what a capture forbids. */
static void load_kernels(void)
{
	const void *const kernels[] = {(const void *)axpy, (const void *)tile<float, 64>, (const void *)tile<double, 128>,
				       (const void *)plain_c};
	cudaFuncAttributes attributes;

	for (const void *kernel : kernels)
		CHECK(cudaFuncGetAttributes(&attributes, kernel));
}

static void begin(struct worker *worker)
{
	cudaChannelFormatDesc one_float = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	cudaMemPoolProps properties = {};

	CHECK(cudaSetDevice((worker->device + 1) % devices));
	CHECK(cudaMalloc(&worker->far, SCRATCH));
	CHECK(cudaSetDevice(worker->device));
	load_kernels();
	properties.allocType = cudaMemAllocationTypePinned;
	properties.location = where(worker->device);
	CHECK(cudaMemPoolCreate(&worker->pool, &properties));
	CHECK(cudaMallocArray(&worker->array, &one_float, 64, 64));
	worker->streams[0] = 0;
	CHECK(cudaStreamCreate(&worker->streams[1]));
	for (int i = 2; i < STREAMS; i++)
		CHECK(cudaStreamCreateWithPriority(&worker->streams[i], cudaStreamNonBlocking, -(i % 3)));
	for (int i = 0; i < EVENTS; i++)
		CHECK(cudaEventCreate(&worker->events[i]));
	CHECK(cudaMalloc(&worker->x, SCRATCH));
	CHECK(cudaMalloc(&worker->y, SCRATCH));
	CHECK(cudaMallocHost(&worker->pinned, SCRATCH));
	worker->pageable = (char *)malloc(SCRATCH);
	worker->up = (char *)malloc(SCRATCH);
	memset(worker->pageable, 0, SCRATCH);
}

static void end(struct worker *worker)
{
	wait_for_device();
	for (int i = 0; i < BLOCKS; i++)
		if (worker->blocks[i].address)
			release(&worker->blocks[i], worker->streams[1]);
	if (worker->graph)
		CHECK(cudaGraphExecDestroy(worker->graph));
	CHECK(cudaStreamSynchronize(worker->streams[1]));
	for (int i = 0; i < EVENTS; i++)
		CHECK(cudaEventDestroy(worker->events[i]));
	for (int i = 1; i < STREAMS; i++)
		CHECK(cudaStreamDestroy(worker->streams[i]));
	CHECK(cudaFreeArray(worker->array));
	CHECK(cudaMemPoolDestroy(worker->pool));
	CHECK(cudaFree(worker->far));
	CHECK(cudaFree(worker->x));
	CHECK(cudaFree(worker->y));
	CHECK(cudaFreeHost(worker->pinned));
	free(worker->pageable);
	free(worker->up);
}

static void *work(void *argument)
{
	struct worker *worker = (struct worker *)argument;

	begin(worker);
	for (int i = 0; i < operations; i++)
		one_thing(worker);
	end(worker);
	return NULL;
}

int main(int count, char **arguments)
{
	static struct worker workers[64];
	int threads;

	if (count < 4) {
		fprintf(stderr, "usage: random_work SEED OPERATIONS THREADS [DEVICES]\n");
		return 64;
	}
	seed = strtoull(arguments[1], NULL, 0);
	operations = atoi(arguments[2]);
	threads = atoi(arguments[3]) < 64 ? atoi(arguments[3]) : 64;
	CHECK(cudaGetDeviceCount(&devices));
	if (count > 4 && atoi(arguments[4]) < devices)
		devices = atoi(arguments[4]);
	for (int i = 0; i < threads; i++) {
		workers[i].number = i;
		workers[i].state = seed * 1000003u + (unsigned long long)i * 7919u + 1;
		workers[i].device = i % devices;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	CHECK(cudaDeviceSynchronize());
	printf("seed %llu: done\n", seed);
	return 0;
}
