/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linked_gpufake WAY: calls GPU functions of libgpufake.so and checks that results and errno come back as the fake gave them.
 * Exit status 0 = they did. The case that runs it (test/cases/gpu-hooks-*) says what the log must hold.
 */
#include "collectors/gpu_types.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int gpufake_answer, gpufake_errno;
extern void (*gpufake_inside)(int number);

#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) type name parameters;
#define TFP_GPU_HOOK_BY_HAND(number, type, name, parameters, arguments, kind, meaning) type name parameters;
#include "collectors/tables/cuda_blas.def"
#include "collectors/tables/cuda_blas_more.def"
#include "collectors/tables/cuda_blas_vectors.def"
#include "collectors/tables/cuda_blas_matrices.def"
#include "collectors/tables/cuda_driver.def"
#include "collectors/tables/cuda_library.def"
#include "collectors/tables/cuda_runtime.def"
#undef TFP_GPU_HOOK
#undef TFP_GPU_HOOK_BY_HAND

/* All of them as what takes sixteen words: unused ones are not looked at. */
typedef int any(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
static const struct {
	const char *name;
	any *call;
} rows[] = {
#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) {#name, (any *)(void *)name},
#define TFP_GPU_HOOK_BY_HAND(number, type, name, parameters, arguments, kind, meaning)
#include "collectors/tables/cuda_blas.def"
#include "collectors/tables/cuda_blas_more.def"
#include "collectors/tables/cuda_blas_vectors.def"
#include "collectors/tables/cuda_blas_matrices.def"
#include "collectors/tables/cuda_driver.def"
#include "collectors/tables/cuda_library.def"
#include "collectors/tables/cuda_runtime.def"
};

#define CHECK(fact) \
	do { \
		if (!(fact)) { \
			printf("line %d: %s\n", __LINE__, #fact); \
			fflush(stdout); \
			_exit(1); \
		} \
	} while (0)

/* Every function with null arguments and each of these codes; one function with every code there may ever be. */
static void errors(void)
{
	static const int codes[] = {0, 1, 2, 3, 35, 100, 700, 719, 999, 1001, INT32_MAX, INT32_MIN, -1};

	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
		for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
			gpufake_answer = codes[i];
			gpufake_errno = codes[i] ^ 5;
			errno = 0;
			int result = rows[row].call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), error = errno;
			if (result != codes[i] || error != (codes[i] ^ 5)) {
				printf("%s: %d, errno %d instead of %d\n", rows[row].name, result, error, codes[i]);
				exit(1);
			}
		}
	for (int code = 0; code < 2000; code++) {
		gpufake_answer = code;
		CHECK(cudaDeviceSynchronize() == code);
	}
}

static char stub[4];
static void *handle = (void *)0x1234500;
static void *block;
static uint64_t driver_block;
static char big_name[65536 + 100];

static void give(int number)
{
	if (number == 202 || number == 0)
		return;
	block = (void *)0x7f0000001000;
	driver_block = 0x7f0000002000;
}

/* Each kind of argument once, with values that the case knows. */
static void arguments(void)
{
	struct tfp_gpu_dim3 grid = {1u << 31, 65535, 3}, block_shape = {1024, 2, 1};
	void *got = NULL;
	size_t pitch = 512, room = 1000, total = 5000;

	memset(big_name, 'x', 65536);
	memcpy(big_name, "_Z4,\n\t\"\xff\xfe'", 10);
	__cudaRegisterFunction((void **)stub, stub, NULL, "_Z4vaddPKfS0_Pfi", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction((void **)stub, stub + 1, NULL, big_name, -1, NULL, NULL, NULL, NULL, NULL);
	gpufake_inside = give;
	CHECK(cudaSetDevice(3) == 0);
	CHECK(cudaLaunchKernel(stub, grid, block_shape, NULL, 48, (void *)0x99) == 0);
	CHECK(cudaLaunchKernel_ptsz(stub + 1, grid, block_shape, NULL, 0, NULL) == 0);
	got = handle;
	CHECK(__cudaGetKernel(&got, stub) == 0);
	CHECK(__cudaLaunchKernel(got, grid, block_shape, NULL, 7, NULL) == 0);
	CHECK(cuModuleGetFunction(&got, NULL, "driver_kernel") == 0);
	CHECK(cuLaunchKernel(got, 4, 5, 6, 7, 8, 9, 10, (void *)0x11, NULL, NULL) == 0);
	struct tfp_gpu_launch_config config = {.grid = {2, 3, 4}, .block = {5, 6, 7}, .shared = 8, .stream = NULL};
	CHECK(cudaLaunchKernelExC_ptsz(&config, stub, NULL) == 0);
	CHECK(cudaMalloc(&block, 1000) == 0);
	CHECK(cuMemAlloc_v2(&driver_block, 3000) == 0);
	CHECK(cudaMallocPitch(&block, &pitch, 100, 20) == 0);
	CHECK(cudaMallocAsync(&block, 4096, (void *)0x77) == 0);
	CHECK(cudaHostRegister((void *)0x5000, 8192, 0) == 0);
	CHECK(cudaMemcpy2DAsync((void *)0x10, 64, (void *)0x20, 64, 32, 5, 1, (void *)0x33) == 0);
	CHECK(cudaMemsetAsync((void *)0x40, 7, 99, (void *)0x44) == 0);
	struct tfp_gpu_pitched where = {(void *)0x50, 128, 100, 10};
	struct tfp_gpu_extent extent = {100, 10, 3};
	CHECK(cudaMemset3D(where, 9, extent) == 0);
	CHECK(cudaMemGetInfo(&room, &total) == 0);
	CHECK(cudaEventRecord((void *)0x61, (void *)0x62) == 0);
	CHECK(cublasSgemm_v2(NULL, 1, 0, 128, 256, 64, NULL, NULL, 11, NULL, 12, NULL, NULL, 13) == 0);
	CHECK(ncclAllReduce(NULL, NULL, 4096, 7, 2, (void *)0x71, (void *)0x72) == 0);
	gpufake_answer = 2;
	CHECK(cudaMalloc(&block, 1ull << 60) == 2);
	CHECK(cudaFree((void *)0x7f0000001000) == 2);
	gpufake_answer = 0;
	CHECK(cudaFreeAsync((void *)0x7f0000001000, (void *)0x77) == 0);
	CHECK(cuMemFree_v2(0x7f0000002000) == 0);
}

static void launch(void)
{
	struct tfp_gpu_dim3 one = {1, 1, 1};

	CHECK(cudaLaunchKernel(stub, one, one, NULL, 0, NULL) == gpufake_answer);
}

/* A runtime that calls its own functions by name. */
static void calls_on(int number)
{
	if (number == 211) /* cudaMemcpy */
		CHECK(cudaMemcpyAsync((void *)1, (void *)2, 3, 4, NULL) == 0);
	if (number == 1000) /* cublasSgemm_v2 */
		launch();
}

static void nested(void)
{
	gpufake_inside = calls_on;
	CHECK(cudaMemcpy((void *)1, (void *)2, 3, 4) == 0);
	CHECK(cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, NULL, NULL, 1, NULL, 1, NULL, NULL, 1) == 0);
	launch();
}

static jmp_buf back;

static void leaves(int number)
{
	(void)number;
	longjmp(back, 1);
}

/* A call that never returns: later ones are not inside it. */
static void left(void)
{
	for (int i = 0; i < 20; i++) {
		gpufake_inside = leaves;
		if (!setjmp(back))
			launch();
		gpufake_inside = NULL;
		launch();
	}
}

static void handler(int number)
{
	(void)number;
	launch();
}

static void *launches(void *count)
{
	for (intptr_t i = 0; i < (intptr_t)count; i++)
		launch();
	return NULL;
}

/* Launches of four threads, with a handler that launches too. */
static void handlers(void)
{
	struct sigaction action = {.sa_handler = handler};
	pthread_t threads[4];

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, launches, (void *)5000));
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void forks(int number)
{
	static int is_done;

	(void)number;
	if (is_done++)
		return;
	pid_t child = fork();
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* A fork inside a call: the child returns from the call too. */
static void forking(void)
{
	gpufake_inside = forks;
	launch();
	gpufake_inside = NULL;
	launch();
}

static void killed(void)
{
	for (int i = 0; i < 777; i++)
		launch();
	kill(getpid(), SIGKILL);
}

/* Twenty launches; blocks of before, and one released, for a window by launch. */
static void window(void)
{
	gpufake_inside = give;
	CHECK(cudaMalloc(&block, 1000) == 0);
	CHECK(cuMemAlloc_v2(&driver_block, 500) == 0);
	for (int i = 1; i <= 20; i++) {
		struct tfp_gpu_dim3 grid = {(unsigned)i, 1, 1};
		CHECK(cudaLaunchKernel(stub, grid, grid, NULL, 0, NULL) == 0);
		if (i == 5)
			CHECK(cudaFree(block) == 0);
	}
}

/* Blocks of two devices, one of which is reset before the window opens at the second launch. */
static void reset(void)
{
	gpufake_inside = give;
	CHECK(cudaSetDevice(0) == 0);
	CHECK(cudaMalloc(&block, 100) == 0);
	CHECK(cudaSetDevice(1) == 0);
	CHECK(cuMemAlloc_v2(&driver_block, 3000) == 0);
	gpufake_answer = 46;
	CHECK(cudaDeviceReset() == 46);
	gpufake_answer = 0;
	launch();
	launch();
	CHECK(cudaDeviceReset() == 0);
	launch();
	launch();
}

/* After main, and in destructors of the loader. */
static void last(void)
{
	launch();
}

static int is_late;
__attribute__((destructor)) static void later(void)
{
	if (is_late)
		launch();
}

static void late(void)
{
	is_late = 1;
	atexit(last);
	launch();
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"errors", errors},	    {"arguments", arguments}, {"nested", nested}, {"left", left},     {"handlers", handlers},
		    {"forking", forking}, {"killed", killed},	{"window", window}, {"reset", reset},{"late", late}};

	for (size_t i = 0; count > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, words[1])) {
			ways[i].run();
			return 0;
		}
	return 2;
}
