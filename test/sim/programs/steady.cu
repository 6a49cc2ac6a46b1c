/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steady GPU work, the same in every run: steady LAUNCHES [THREADS [END]]
 *
 * Each thread launches LAUNCHES kernels on two streams of its own; with every fourth one a copy to the device, with every
 * eighth a set, with every sixteenth it waits for a stream. END: wait (default) synchronises and checks the bytes; nosync
 * returns from main with work in flight; thread returns while a thread goes on launching; reset resets the device with work in
 * flight; exit, exec (of true), kill and abort end like that, in the middle. Rule: every call's result is printed when it is not 0; output depends on the arguments alone.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>
#include <cuda_runtime.h>

#define BYTES 4096
#define CHECK(call) do { \
		cudaError_t result = (call); \
		if (result != cudaSuccess) { \
			printf("%s: %d\n", #call, (int)result); \
			failures++; \
		} \
	} while (0)

static int launches;
static int failures; /* of the first thread to see one; printed at the end */

__global__ void work(float *to, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] += 1;
}

static void *run(void *)
{
	cudaStream_t streams[2];
	char *device, host[BYTES], back[BYTES];

	memset(host, 7, sizeof(host));
	CHECK(cudaMalloc((void **)&device, BYTES));
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreate(&streams[i]));
	for (int i = 1; i <= launches; i++) {
		cudaStream_t stream = streams[i % 2];

		work<<<1 + i % 3, 64, 0, stream>>>((float *)device, BYTES / 4);
		CHECK(cudaGetLastError());
		if (i % 4 == 0)
			CHECK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, stream));
		if (i % 8 == 0)
			CHECK(cudaMemsetAsync(device, 3, BYTES, stream));
		if (i % 16 == 0)
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(back, device, BYTES, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));
	return NULL;
}

/* Until the process is gone; what CUDA says as it takes itself down is nobody's business. */
static void *go_on(void *device)
{
	for (;; usleep(200))
		work<<<1, 64>>>((float *)device, 16);
	return NULL;
}

static void leave_in_flight(const char *end)
{
	float *device;
	pthread_t thread;

	CHECK(cudaMalloc((void **)&device, BYTES));
	if (!strcmp(end, "thread")) {
		pthread_create(&thread, NULL, go_on, device);
		usleep(20000);
		return;
	}
	for (int i = 0; i < 4; i++)
		work<<<1000000, 64>>>(device, BYTES / 4);
	if (!strcmp(end, "reset"))
		CHECK(cudaDeviceReset());
	else if (!strcmp(end, "exit"))
		_exit(9);
	else if (!strcmp(end, "exec"))
		execlp("true", "true", (char *)NULL);
	else if (!strcmp(end, "kill"))
		raise(SIGKILL);
	else if (!strcmp(end, "abort"))
		abort();
}

int main(int count, char **words)
{
	int threads = count > 2 ? atoi(words[2]) : 1;
	const char *end = count > 3 ? words[3] : "wait";
	pthread_t started[256];

	launches = atoi(words[1]);
	if (threads == 1)
		run(NULL);
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_create(&started[i], NULL, run, NULL);
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_join(started[i], NULL);
	printf("%d threads of %d launches, %d failures\n", threads, launches, failures);
	fflush(stdout);
	if (strcmp(end, "wait"))
		leave_in_flight(end);
	return failures ? 3 : 0;
}
