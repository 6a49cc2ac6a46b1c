/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that goes on after a kernel's fault: faults WAY LAUNCHES [BLOCKS]
 *
 * The first kernel is the one that the scenario breaks its context with (fault_kernel 1 CODE). Then LAUNCHES kernels of BLOCKS, and the end
 * of main without a wait: on another device (WAY other; before that and behind it the first device says its error), on the same
 * one after cudaDeviceReset (reset), or on the other one before the fault (before). Rule: output depends on the arguments alone.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

__global__ void work(float *to) { to[threadIdx.x] += 1; }

static void launch(float *to, int launches, int blocks)
{
	for (int i = 0; i < launches; i++)
		work<<<blocks, 32>>>(to);
	printf("launched: %d\n", (int)cudaGetLastError());
}

static float *begin(int device)
{
	float *block = NULL;

	cudaSetDevice(device);
	printf("device %d: %d\n", device, (int)cudaMalloc((void **)&block, 4096));
	return block;
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "other";
	int launches = count > 2 ? atoi(words[2]) : 1, blocks = count > 3 ? atoi(words[3]) : 1;
	float *block = begin(0), *other = NULL;

	work<<<1, 32>>>(block);
	if (!strcmp(way, "before")) {
		other = begin(1);
		launch(other, launches, blocks);
		cudaSetDevice(0);
	}
	printf("fault: %d\n", (int)cudaDeviceSynchronize());
	cudaGetLastError();
	if (!strcmp(way, "reset")) {
		printf("reset: %d\n", (int)cudaDeviceReset());
		launch(begin(0), launches, blocks);
	} else if (!other) {
		launch(begin(1), launches, blocks);
		cudaSetDevice(0);
		printf("again: %d\n", (int)cudaFree(block));
	}
	return 0;
}
