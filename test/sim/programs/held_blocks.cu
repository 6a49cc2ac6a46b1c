/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of many sizes, of which each block is held for 20 launches: prints the most bytes that were held at once. */
#include <cstdio>
#include <cstdlib>
#include <deque>

#include <cuda_runtime.h>

__global__ void touch(int *)
{
}

int main()
{
	std::deque<void *> blocks;
	std::deque<size_t> sizes;
	size_t held = 0, most = 0;

	srand(4);
	for (int i = 0; i < 600; i++) {
		size_t bytes = (size_t)(rand() % 1000 + 100) * 4096;
		void *block;
		if (cudaMalloc(&block, bytes) != cudaSuccess)
			return 1;
		blocks.push_back(block);
		sizes.push_back(bytes);
		held += bytes;
		most = held > most ? held : most;
		if (blocks.size() > 20) {
			cudaFree(blocks.front());
			held -= sizes.front();
			blocks.pop_front();
			sizes.pop_front();
		}
		touch<<<1, 1>>>((int *)block);
	}
	cudaDeviceSynchronize();
	printf("%zu\n", most);
	return 0;
}
