/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random GPU work of the newer and rarer kind, from a seed: linked_random_newer SEED OPERATIONS
 *
 * One thread: graphs with conditional nodes, filled by capture into their bodies; graphs with user objects, updated and launched again;
 * kernels in the streams of green contexts; textures, surfaces and copies between arrays; cooperative launches and launches of clusters;
 * memory of pools that are trimmed; host functions.
 * Rule: no error is expected; the first one is printed with the seed, and the exit status is 1. Ends with all released.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define FLOATS 65536
#define CHECK(call) check((int)(call), #call, __LINE__)

static unsigned long long seed, state;
static int gone, asked;
static float *memory[2];
static cudaStream_t streams[2];

static void check(int result, const char *what, int line)
{
	if (result == 0)
		return;
	printf("seed %llu: line %d: %s: %d\n", seed, line, what, result);
	exit(1);
}

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % below;
}

__global__ void fill(float *to, float value, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = value;
}

__global__ void together(float *to, int n)
{
	cooperative_groups::this_grid().sync();
	if (threadIdx.x < n)
		to[threadIdx.x] = 1;
}

__global__ void look(cudaTextureObject_t texture, float *to)
{
	to[blockIdx.x * blockDim.x + threadIdx.x] = tex2D<float>(texture, threadIdx.x, blockIdx.x);
}

__global__ void paint(cudaSurfaceObject_t surface)
{
	surf2Dwrite(1.0f, surface, threadIdx.x * 4, blockIdx.x);
}

static void some_work(cudaStream_t stream)
{
	fill<<<1 + draw(9), 32 << draw(4), 0, stream>>>(memory[0], 1, FLOATS);
	if (draw(2))
		CHECK(cudaMemsetAsync(memory[0], (int)draw(256), 1 + draw(9000), stream));
	if (draw(2))
		CHECK(cudaMemcpyAsync(memory[1], memory[0], 4 + 4 * draw(9000), cudaMemcpyDeviceToDevice, stream));
}

static cudaGraphNode_t conditional(cudaGraph_t graph, const cudaGraphNode_t *behind)
{
	static const struct {
		cudaGraphConditionalNodeType type;
		unsigned size;
	} kinds[] = {{cudaGraphCondTypeIf, 1}, {cudaGraphCondTypeIf, 2}, {cudaGraphCondTypeWhile, 1}, {cudaGraphCondTypeSwitch, 3}};
	unsigned kind = draw(4);
	cudaGraphNodeParams how = {};
	cudaGraphNode_t node;

	how.type = cudaGraphNodeTypeConditional;
	CHECK(cudaGraphConditionalHandleCreate(&how.conditional.handle, graph, draw(4), draw(2)));
	how.conditional.type = kinds[kind].type;
	how.conditional.size = kinds[kind].size;
	CHECK(cudaGraphAddNode(&node, graph, behind, nullptr, behind ? 1 : 0, &how));
	for (unsigned i = 0; i < how.conditional.size; i++) {
		CHECK(cudaStreamBeginCaptureToGraph(streams[0], how.conditional.phGraph_out[i], nullptr, nullptr, 0,
						    cudaStreamCaptureModeThreadLocal));
		some_work(streams[0]);
		CHECK(cudaStreamEndCapture(streams[0], nullptr));
	}
	return node;
}

static void conditions()
{
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	cudaGraphNode_t last;
	cudaGraphNodeParams how = {};
	float *to = memory[0], value = 1;
	int n = 100;
	void *arguments[] = {&to, &value, &n};

	CHECK(cudaGraphCreate(&graph, 0));
	last = conditional(graph, nullptr);
	for (unsigned i = draw(3); i; i--)
		last = conditional(graph, &last);
	how.type = cudaGraphNodeTypeKernel; /* of a graph none of whose bodies runs no record would come */
	how.kernel.func = (void *)fill;
	how.kernel.gridDim = dim3(3);
	how.kernel.blockDim = dim3(64);
	how.kernel.kernelParams = arguments;
	CHECK(cudaGraphAddNode(&last, graph, &last, nullptr, 1, &how));
	CHECK(cudaGraphInstantiate(&ready, graph, 0));
	for (unsigned i = 1 + draw(4); i; i--)
		CHECK(cudaGraphLaunch(ready, streams[draw(2)]));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(ready));
	CHECK(cudaGraphDestroy(graph));
}

static void count_gone(void *number)
{
	++*(int *)number;
}

static void objects()
{
	cudaGraph_t graph, newer;
	cudaGraphExec_t ready;
	cudaUserObject_t object;
	cudaGraphExecUpdateResultInfo info;
	cudaKernelNodeParams how = {};
	cudaGraphNode_t node;
	float *to = memory[0], value = 1;
	int n = 100;
	void *arguments[] = {&to, &value, &n};

	how.func = (void *)fill;
	how.gridDim = dim3(1 + draw(5));
	how.blockDim = dim3(64);
	how.kernelParams = arguments;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &how));
	CHECK(cudaUserObjectCreate(&object, &gone, count_gone, 1, cudaUserObjectNoDestructorSync));
	CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
	CHECK(cudaGraphInstantiate(&ready, graph, 0));
	CHECK(cudaGraphLaunch(ready, streams[0]));
	how.gridDim = dim3(7);
	CHECK(cudaGraphCreate(&newer, 0));
	CHECK(cudaGraphAddKernelNode(&node, newer, nullptr, 0, &how));
	CHECK(cudaGraphExecUpdate(ready, newer, &info));
	for (unsigned i = 1 + draw(4); i; i--)
		CHECK(cudaGraphLaunch(ready, streams[1]));
	CHECK(cudaStreamSynchronize(streams[1]));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphDestroy(newer));
	CHECK(cudaGraphExecDestroy(ready));
	asked++;
}

static void green()
{
	CUdevResource all, part, rest;
	CUdevResourceDesc resources;
	CUgreenCtx context;
	CUstream stream;
	CUevent event;
	unsigned parts = 1;

	CHECK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	CHECK(cuDevSmResourceSplitByCount(&part, &parts, &all, &rest, 0, 8 + 8 * draw(4)));
	CHECK(cuDevResourceGenerateDesc(&resources, &part, 1));
	CHECK(cuGreenCtxCreate(&context, resources, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CHECK(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, 0));
	for (unsigned i = 1 + draw(5); i; i--)
		some_work(stream);
	CHECK(cuEventCreate(&event, 0));
	CHECK(cuGreenCtxRecordEvent(context, event));
	CHECK(cuStreamWaitEvent(streams[0], event, 0));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuEventDestroy(event));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuGreenCtxDestroy(context));
}

static void pictures()
{
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
	cudaResourceDesc what = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;
	cudaArray_t array[2];
	static float from[64 * 32];

	for (int i = 0; i < 2; i++)
		CHECK(cudaMallocArray(&array[i], &channels, 64, 32, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(array[0], 0, 0, from, 256, 256, 1 + draw(32), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2DArrayToArray(array[1], 0, 0, array[0], 0, 0, 128, 1 + draw(16), cudaMemcpyDeviceToDevice));
	what.resType = cudaResourceTypeArray;
	what.res.array.array = array[1];
	how.readMode = cudaReadModeElementType;
	CHECK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
	CHECK(cudaCreateSurfaceObject(&surface, &what));
	look<<<32, 64, 0, streams[0]>>>(texture, memory[0]);
	paint<<<32, 64, 0, streams[0]>>>(surface);
	CHECK(cudaStreamSynchronize(streams[0]));
	CHECK(cudaDestroyTextureObject(texture));
	CHECK(cudaDestroySurfaceObject(surface));
	for (int i = 0; i < 2; i++)
		CHECK(cudaFreeArray(array[i]));
}

static void shapes()
{
	int n = 32, clusters;
	unsigned size = draw(3);
	void *arguments[] = {&memory[0], &n};
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	CHECK(cudaLaunchCooperativeKernel((void *)together, dim3(1 + draw(100)), dim3(64), arguments, 0, streams[draw(2)]));
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 1 << size;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.gridDim = dim3(16 << size); /* of each size of cluster another one */
	config.blockDim = dim3(128);
	config.stream = streams[draw(2)];
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaOccupancyMaxActiveClusters(&clusters, fill, &config));
	CHECK(cudaLaunchKernelEx(&config, fill, memory[1], 2.0f, 1000));
}

static void pools()
{
	cudaMemPool_t pool;
	void *block[3];

	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(cudaMallocAsync(&block[i], 1000 + draw(1 << 20), streams[i & 1]));
		fill<<<2, 64, 0, streams[i & 1]>>>((float *)block[i], 1, 100);
	}
	CHECK(cudaLaunchHostFunc(streams[0], count_gone, &asked));
	for (int i = 0; i < 3; i++)
		CHECK(cudaFreeAsync(block[i], streams[i & 1]));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemPoolTrimTo(pool, draw(2) << 20));
	gone++; /* as the host function counted */
}

int main(int count, char **words)
{
	static void (*const kinds[])() = {conditions, objects, green, pictures, shapes, pools};
	int operations = count > 2 ? atoi(words[2]) : 100;

	seed = count > 1 ? strtoull(words[1], nullptr, 0) : 1;
	state = seed;
	for (int i = 0; i < 2; i++) {
		CHECK(cudaMalloc(&memory[i], FLOATS * sizeof(float)));
		CHECK(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, -i));
	}
	CHECK(cuInit(0));
	for (int i = 0; i < operations; i++)
		kinds[draw(6)]();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamDestroy(streams[i]));
		CHECK(cudaFree(memory[i]));
	}
	if (gone != asked)
		printf("seed %llu: %d user objects and host functions were called, not %d\n", seed, gone, asked);
	else
		printf("seed %llu: done\n", seed);
	return gone != asked;
}
