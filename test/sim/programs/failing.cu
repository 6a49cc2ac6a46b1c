/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that fails: failing WAY. Its steps are marked.
 *
 * grow: each step from the tenth on keeps 64 MiB, until the device is full; peak: step 12 wants much more than those before; behind: steps
 * are ranges (TFPROF_STEP_RANGE=^step), and what comes behind the last one does not fit; refused: a grid that no device has is launched in step 5, and that is the end; unasked: likewise, and nobody asks; caught: errors are printed,
 * and the steps go on (fault_kernel); reset: likewise, on a device that was reset. Rule: output depends on WAY alone.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "preload/tfprof.h"

#define MIB (size_t{1} << 20)
#define STEPS 200

__global__ void work(float *to) { to[threadIdx.x] += 1; }

static float *block;

static void give_up(cudaError_t result)
{
	if (result == cudaSuccess)
		return;
	fprintf(stderr, "failing: %d\n", (int)result);
	exit(3);
}

__attribute__((noinline)) static void *get(size_t bytes)
{
	void *memory = NULL;

	give_up(cudaMalloc(&memory, bytes));
	return memory;
}

__attribute__((noinline)) static void keep_losses(void) { get(64 * MIB); }
__attribute__((noinline)) static void load_model(void) { block = (float *)get(1024 * MIB); }

__attribute__((noinline)) static void use_memory(int step, bool is_peak)
{
	void *parts[4];

	for (int i = 0; i < 4; i++)
		parts[i] = get(is_peak && step == 12 ? 2048 * MIB : 16 * MIB);
	for (int i = 0; i < 4; i++)
		cudaFree(parts[i]);
}

static void launch(int step, const char *way)
{
	bool is_refused = step == 5 && (!strcmp(way, "refused") || !strcmp(way, "unasked"));

	work<<<1, is_refused ? 4096 : 32>>>(block);
	if (!strcmp(way, "refused"))
		give_up(cudaGetLastError());
}

/* Steps that end, and an evaluation behind them that no step is to blame for. */
static int steps_end(void)
{
	for (int step = 0; step < 20; step++) {
		char name[16];

		snprintf(name, sizeof(name), "step %d", step);
		nvtxRangePushA(name);
		use_memory(step, false);
		launch(step, "behind");
		give_up(cudaDeviceSynchronize());
		nvtxRangePop();
	}
	for (;;)
		get(2048 * MIB);
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "grow";
	bool is_caught = !strcmp(way, "caught") || !strcmp(way, "reset");

	load_model();
	if (!strcmp(way, "behind"))
		return steps_end();
	for (int step = 0; step < (is_caught ? 30 : STEPS); step++) {
		tfprof_step((uint64_t)step);
		if (!strcmp(way, "grow") || !strcmp(way, "peak"))
			use_memory(step, !strcmp(way, "peak"));
		if (!strcmp(way, "grow") && step >= 10)
			keep_losses();
		launch(step, way);
		cudaError_t result = cudaDeviceSynchronize();
		if (!is_caught) {
			give_up(result);
		} else if (result != cudaSuccess && !strcmp(way, "reset")) {
			cudaDeviceReset();
			load_model();
		}
	}
	return 0;
}
