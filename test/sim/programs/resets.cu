/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that is reset again and again while a program works: resets ROUNDS
 *
 * Each round makes a stream and two blocks, launches 50 kernels, sets memory; every second round waits, every third gives a block
 * back; then cudaDeviceReset takes all of it. Rule: prints `resets: done`; ends with 1 where a call failed.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call) check((call), #call)

__global__ void work(float *to) { to[threadIdx.x] += 1; }

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	printf("%s: %s\n", what, cudaGetErrorString(result));
	exit(1);
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 4;
	float *one, *other;
	cudaStream_t stream;

	for (int round = 0; round < rounds; round++) {
		CHECK(cudaStreamCreate(&stream));
		CHECK(cudaMalloc(&one, 4 << 20));
		CHECK(cudaMalloc(&other, 8 << 20));
		for (int i = 0; i < 50; i++)
			work<<<10, 32, 0, stream>>>(one);
		CHECK(cudaMemsetAsync(other, 0, 8 << 20, stream));
		if (round % 2 == 0)
			CHECK(cudaStreamSynchronize(stream));
		if (round % 3 == 0)
			CHECK(cudaFree(other));
		CHECK(cudaDeviceReset());
	}
	CHECK(cudaMalloc(&one, 1 << 20));
	work<<<1, 32>>>(one);
	CHECK(cudaDeviceSynchronize());
	puts("resets: done");
	return 0;
}
