/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Occupancy over a sweep of kernels and every compute capability, against the toolkit's own calculator (cuda_occupancy.h)
 * where that header is at hand, and always against the sums that it gave (CUDA 13.0).
 *
 * Rule: the header is compiled as it is; nothing of it stands here.
 */
#include "reducer/tables/occupancy.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAS_HEADER 1
#elif __has_include("/usr/local/cuda/include/cuda_occupancy.h")
#include "/usr/local/cuda/include/cuda_occupancy.h"
#define HAS_HEADER 1
#endif
#endif

/* From NVIDIA's programming guide; the checksum is that of the whole sweep's answers. */
static const struct {
	unsigned major, minor, threads, shared_kib, block_shared_kib;
	uint64_t checksum;
} devices[] = {
	{7, 0, 2048, 96, 96, UINT64_C(0xd676e74f06966f41)},
	{7, 5, 1024, 64, 64, UINT64_C(0x86b2bb7347b2ec08)},
	{8, 0, 2048, 164, 163, UINT64_C(0x5055f7d64f3ea13e)},
	{8, 6, 1536, 100, 99, UINT64_C(0xc53e5fd44da7cb83)},
	{8, 7, 1536, 164, 163, UINT64_C(0x821bbdfd72c13887)},
	{8, 9, 1536, 100, 99, UINT64_C(0x2430d14931d826f1)},
	{9, 0, 2048, 228, 227, UINT64_C(0x18d3e8d13cbc9190)},
	{10, 0, 2048, 228, 227, UINT64_C(0x18d3e8d13cbc9190)},
	{10, 3, 2048, 228, 227, UINT64_C(0x18d3e8d13cbc9190)},
	{11, 0, 1536, 228, 227, UINT64_C(0x79e6a3bf8f202bc7)},
	{12, 0, 1536, 100, 99, UINT64_C(0x2430d14931d826f1)},
	{12, 1, 1536, 100, 99, UINT64_C(0x2430d14931d826f1)},
};
#define DEVICES (sizeof devices / sizeof *devices)

static const uint64_t threads[] = {1, 31, 32, 33, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 896, 1000, 1024};
static const uint64_t shared[] = {0, 1, 127, 128, 1024, 4096, 8000, 16384, 32768, 49152, 50000, 65536, 98304, 101376, 166912, 232448};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void visit_kernel(size_t device, const struct occupancy_kernel *kernel, void *context);

static void sweep(size_t device, visit_kernel *visit, void *context)
{
	for (size_t t = 0; t < COUNT(threads); t++)
		for (uint64_t registers = 1; registers <= 255; registers += registers < 16 ? 5 : 3)
			for (size_t s = 0; s < COUNT(shared); s++)
				if (shared[s] <= (uint64_t)devices[device].block_shared_kib << 10)
					visit(device, &(struct occupancy_kernel){threads[t], registers, shared[s]}, context);
}

static struct occupancy ours(size_t device, const struct occupancy_kernel *kernel)
{
	const struct occupancy_device by_table = {.major = devices[device].major, .minor = devices[device].minor};
	struct occupancy result;

	assert_true(occupancy_of(&by_table, kernel, &result));
	assert_int_equal(result.most_warps, devices[device].threads / 32);
	return result;
}

static void add_answer(size_t device, const struct occupancy_kernel *kernel, void *context)
{
	struct occupancy result = ours(device, kernel);
	uint64_t *sum = context;

	*sum = (*sum ^ (result.blocks << 8 | result.limits)) * UINT64_C(0x100000001b3);
}

static void test_the_answers_are_those_of_the_toolkit(void **state)
{
	(void)state;
	for (size_t i = 0; i < DEVICES; i++) {
		uint64_t sum = UINT64_C(0xcbf29ce484222325);

		sweep(i, add_answer, &sum);
		if (sum != devices[i].checksum)
			fprintf(stderr, "%u.%u: 0x%llx\n", devices[i].major, devices[i].minor, (unsigned long long)sum);
		assert_int_equal(sum, devices[i].checksum);
	}
}

#ifdef HAS_HEADER
static void compare(size_t device, const struct occupancy_kernel *kernel, void *context)
{
	const struct occupancy mine = ours(device, kernel);
	const struct cudaOccDeviceProp properties = {
		.computeMajor = (int)devices[device].major, .computeMinor = (int)devices[device].minor, .maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = (int)devices[device].threads, .regsPerBlock = 65536, .regsPerMultiprocessor = 65536,
		.warpSize = 32, .sharedMemPerBlock = 49152, .numSms = 1,
		.sharedMemPerMultiprocessor = (size_t)devices[device].shared_kib << 10,
		.sharedMemPerBlockOptin = (size_t)devices[device].block_shared_kib << 10,
		.reservedSharedMemPerBlock = devices[device].major >= 8 ? 1024 : 0};
	const struct cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = INT_MAX, .numRegs = (int)kernel->registers, .sharedSizeBytes = 0,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, .maxDynamicSharedSizeBytes = kernel->shared_bytes, .numBlockBarriers = 1};
	const struct cudaOccDeviceState plain = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
	struct cudaOccResult theirs = {0};
	int is_known = cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &properties, &attributes, &plain, (int)kernel->threads,
							       kernel->shared_bytes) == CUDA_OCC_SUCCESS;

	assert_true(is_known);
	++*(size_t *)context;
	if (mine.blocks != (uint64_t)theirs.activeBlocksPerMultiprocessor || (mine.limits & 15) != (theirs.limitingFactors & 15))
		fprintf(stderr, "%u.%u, %u threads, %u registers, %u bytes: ours %u (%x), theirs %d (%x)\n", devices[device].major,
			devices[device].minor, (unsigned)kernel->threads, (unsigned)kernel->registers, (unsigned)kernel->shared_bytes,
			(unsigned)mine.blocks, mine.limits, theirs.activeBlocksPerMultiprocessor, theirs.limitingFactors);
	assert_int_equal(mine.blocks, theirs.activeBlocksPerMultiprocessor);
	assert_int_equal(mine.limits & 15, theirs.limitingFactors & 15);
}

static void test_the_toolkit_beside_us_agrees(void **state)
{
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < DEVICES; i++)
		sweep(i, compare, &count);
	assert_true(count > 100000);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_answers_are_those_of_the_toolkit),
#ifdef HAS_HEADER
		cmocka_unit_test(test_the_toolkit_beside_us_agrees),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
