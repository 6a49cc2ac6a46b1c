/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with names that no compiler makes: odd_names
 *
 * Registers functions as nvcc's start-up code does, with names of 64 KiB, commas, quotes, newlines, tabs and bytes that are
 * no UTF-8, and launches each twice; grids of 2^31 - 1 blocks; from a signal handler, from a constructor and a destructor.
 * Rule: prints `odd_names: N launches, M failed` and exits 0.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dim3 {
	unsigned x, y, z;
};

static void *runtime;
static int (*launch)(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream);
static void (*register_function)(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
				 void *block, void *grid, int *size);
static int launches, failures;
static char hosts[16];		/* their addresses stand for functions */
static char long_name[65536];

/* A fat binary with no code in it: the simulator then takes any name. */
static struct {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
} empty = {0xba55ed50u, 1, 16, 0};
static struct {
	uint32_t magic, version;
	const void *data, *file;
} wrapper = {0x466243b1u, 1, &empty, NULL};

static void start(int index, unsigned grid)
{
	failures += launch(&hosts[index], (struct dim3){grid, 1, 1}, (struct dim3){32, 1, 1}, NULL, 0, NULL) != 0;
	launches++;
}

static void on_signal(int number)
{
	(void)number;
	start(1, 7);
}

__attribute__((constructor)) static void early(void)
{
	static const char *const names[] = {"plain", "comma,quote\"name'", "line\nbreak\ttab", "not \xff\xfe utf-8 \xc3",
					    "back\\slash %s %n", "", " spaces ", "\x01\x02\x1b[31m", "_Z3fooILi3EEvPfS0_"};
	void **handle;

	runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
	if (!runtime) {
		printf("odd_names: %s\n", dlerror());
		_Exit(1);
	}
	*(void **)&register_function = dlsym(runtime, "__cudaRegisterFunction");
	*(void **)&launch = dlsym(RTLD_DEFAULT, "cudaLaunchKernel");
	handle = ((void **(*)(void *))dlsym(runtime, "__cudaRegisterFatBinary"))(&wrapper);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		register_function(handle, &hosts[i], NULL, names[i], -1, NULL, NULL, NULL, NULL, NULL);
	memset(long_name, 'x', sizeof long_name - 1);
	register_function(handle, &hosts[9], NULL, long_name, -1, NULL, NULL, NULL, NULL, NULL);
	start(0, 1);
}

__attribute__((destructor)) static void late(void)
{
	start(0, 3);
	printf("odd_names: %d launches, %d failed\n", launches, failures);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		start(i, 1);
		start(i, 2147483647u);
	}
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	return 0;
}
