/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that a program launches, changes and throws away, and counts itself: captured on two streams, with one inside another,
 * updated to other kernels and sizes, instantiated again.
 *
 * Rule: what ran is printed as `word count`, one a line: kernels by name and grid, copies and sets by bytes, launches of each graph.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define OK(call) check((call), #call, __LINE__)
enum { ROOM = 1 << 16, FIRST = 10, SECOND = 6, OUTER = 4 };

__global__ void one(float *x)
{
	x[0] = 1;
}
__global__ void two(float *x)
{
	x[0] = 2;
}
__global__ void three(float *x)
{
	x[0] = 3;
}

static float *device, *host;
static cudaStream_t stream, other;
static cudaEvent_t fork_point, join_point;

static void check(cudaError_t result, const char *what, int line)
{
	if (result == cudaSuccess)
		return;
	printf("line %d: %s: %d\n", line, what, (int)result);
	exit(1);
}

static void nothing(void *)
{
}

/* Three kernels of `grid` blocks, and beside them two others of grid + 1 and a copy; then a set and a host function. */
static cudaGraph_t capture(int grid, void (*last)(float *), size_t bytes)
{
	cudaGraph_t graph;

	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 3; i++)
		one<<<grid, 32, 0, stream>>>(device);
	OK(cudaEventRecord(fork_point, stream));
	OK(cudaStreamWaitEvent(other, fork_point, 0));
	two<<<grid + 1, 32, 0, other>>>(device);
	last<<<grid + 1, 32, 0, other>>>(device);
	OK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, other));
	OK(cudaEventRecord(join_point, other));
	OK(cudaStreamWaitEvent(stream, join_point, 0));
	OK(cudaMemsetAsync(device, 1, bytes / 2, stream));
	OK(cudaLaunchHostFunc(stream, nothing, NULL));
	OK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

/* A graph of two others, one after the other. */
static cudaGraphExec_t nest(cudaGraph_t inner)
{
	cudaGraph_t outer, small;
	cudaGraphNode_t before, behind;
	cudaGraphExec_t exec;

	OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
	three<<<1, 1, 0, other>>>(device);
	OK(cudaStreamEndCapture(other, &small));
	OK(cudaGraphCreate(&outer, 0));
	OK(cudaGraphAddChildGraphNode(&before, outer, NULL, 0, small));
	OK(cudaGraphAddChildGraphNode(&behind, outer, &before, 1, inner));
	OK(cudaGraphInstantiate(&exec, outer, 0));
	return exec;
}

int main()
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec, outer, again;
	cudaGraph_t graph;

	OK(cudaMalloc(&device, ROOM));
	OK(cudaMallocHost(&host, ROOM));
	OK(cudaStreamCreate(&stream));
	OK(cudaStreamCreate(&other));
	OK(cudaEventCreate(&fork_point));
	OK(cudaEventCreate(&join_point));
	graph = capture(1, two, 4000);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < FIRST; i++)
		OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	outer = nest(graph);
	for (int i = 0; i < OUTER; i++)
		OK(cudaGraphLaunch(outer, other));
	OK(cudaStreamSynchronize(other));
	OK(cudaGraphExecUpdate(exec, capture(4, three, 2000), &info));
	for (int i = 0; i < SECOND; i++)
		OK(cudaGraphLaunch(exec, i % 2 ? stream : other));
	three<<<1, 1, 0, stream>>>(device);
	OK(cudaGraphInstantiate(&again, graph, 0));
	OK(cudaGraphUpload(again, stream));
	OK(cudaGraphLaunch(again, stream));
	OK(cudaGraphExecDestroy(again));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaDeviceSynchronize());
	printf("one:1 %d\ntwo:2 %d\n", 3 * (FIRST + OUTER + 1), 2 * (FIRST + OUTER + 1));
	printf("one:4 %d\ntwo:5 %d\nthree:5 %d\nthree:1 %d\n", 3 * SECOND, SECOND, SECOND, OUTER + 1);
	printf("copy:4000 %d\nset:2000 %d\n", FIRST + OUTER + 1, FIRST + OUTER + 1);
	printf("copy:2000 %d\nset:1000 %d\n", SECOND, SECOND);
	printf("launches:8 %d\nlaunches:2 %d\nagain:8 1\n", FIRST + SECOND, OUTER);
	return 0;
}
