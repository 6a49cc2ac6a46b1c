/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA without a device and without a cost of its own, for what a launch costs more with the profiler: three libraries
 * from this file, by -DPART: 1 libcuda.so.1, 2 libcudart.so.13, 3 libcupti.so.13. A launch counts, calls the subscriber's
 * callbacks where they are on, writes a kernel record where the kind is on and GPU_NONE_RECORDS is set, and returns.
 *
 * Rule: one thread launches; nothing is checked, nothing waits. Layouts are those of CUPTI 13.0.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNTIME = 2, LAUNCH = 211, KERNEL = 10, KERNEL_BYTES = 216 };

typedef void callback_function(void *user, int domain, uint32_t id, const void *data);

struct state {
	callback_function *callback;
	void *user;
	uint8_t is_asked, is_kernel_on, has_records;
	uint32_t correlation;
	void (*request)(uint8_t **buffer, size_t *bytes, size_t *most);
	void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t used);
	uint8_t *buffer;
	size_t bytes, used, dropped;
};

static inline uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if PART == 1

struct state gpu_none;

int cuInit(unsigned flags)
{
	static int is_done;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = !is_done && path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*inject)(void) = NULL;

	(void)flags;
	is_done = 1;
	gpu_none.has_records = getenv("GPU_NONE_RECORDS") != NULL;
	if (library)
		*(void **)&inject = dlsym(library, "InitializeInjection");
	if (inject)
		inject();
	return 0;
}

int cuDeviceGetCount(int *count)
{
	*count = 1;
	return 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

#else
extern struct state gpu_none;
#endif

#if PART == 2

struct dim3 {
	unsigned x, y, z;
};

struct call_data { /* CUpti_CallbackData */
	uint32_t site;
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *scratch;
	uint32_t correlation;
};

int cuInit(unsigned flags);

static const char symbol[] = "_Z4workPfi";

static void flush(void)
{
	if (gpu_none.buffer)
		gpu_none.complete(NULL, 0, gpu_none.buffer, gpu_none.bytes, gpu_none.used);
	gpu_none.buffer = NULL;
}

static void write_record(struct dim3 grid, struct dim3 block)
{
	uint64_t start = real_ns(); /* costs as much as all else here: records are not measured by time */
	uint64_t words[KERNEL_BYTES / 8] = {KERNEL};
	uint32_t numbers[8] = {0, 1, 7, grid.x, grid.y, grid.z, block.x, block.y};
	size_t most;

	if (gpu_none.buffer && gpu_none.used + KERNEL_BYTES > gpu_none.bytes)
		flush();
	if (!gpu_none.buffer) {
		gpu_none.request(&gpu_none.buffer, &gpu_none.bytes, &most);
		gpu_none.used = 0;
	}
	if (!gpu_none.buffer || gpu_none.bytes < KERNEL_BYTES) {
		gpu_none.buffer = NULL;
		gpu_none.dropped++;
		return;
	}
	words[2] = start;
	words[3] = words[4] = start + 20;
	memcpy(&words[5], numbers, sizeof(numbers)); /* device 40 to blockY 68 */
	memcpy((char *)words + 72, &block.z, 4);
	memcpy((char *)words + 92, &gpu_none.correlation, 4);
	words[13] = (uintptr_t)symbol;
	memcpy(gpu_none.buffer + gpu_none.used, words, KERNEL_BYTES);
	gpu_none.used += KERNEL_BYTES;
}

static void call_back(uint32_t site, uint64_t *scratch, int *result)
{
	struct call_data data = {.site = site, .function = "cudaLaunchKernel", .result = result, .symbol = symbol, .context = &gpu_none,
		.context_id = 1, .scratch = scratch, .correlation = gpu_none.correlation};

	gpu_none.callback(gpu_none.user, RUNTIME, LAUNCH, &data);
}

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream)
{
	static int is_initialised;
	uint64_t scratch = 0;
	int result = 0;

	(void)function, (void)arguments, (void)shared, (void)stream;
	if (!is_initialised)
		is_initialised = cuInit(0) == 0;
	gpu_none.correlation++;
	if (gpu_none.is_asked)
		call_back(0, &scratch, &result);
	if (gpu_none.is_kernel_on && gpu_none.has_records)
		write_record(grid, block);
	if (gpu_none.is_asked)
		call_back(1, &scratch, &result);
	return result;
}

int cudaDeviceSynchronize(void)
{
	return 0;
}

#elif PART == 3

int cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return 0;
}

int cuptiSubscribe(void **handle, callback_function *callback, void *user)
{
	gpu_none.callback = callback;
	gpu_none.user = user;
	*handle = &gpu_none;
	return 0;
}

int cuptiUnsubscribe(void *handle)
{
	(void)handle;
	gpu_none.is_asked = 0;
	return 0;
}

int cuptiEnableCallback(uint32_t is_on, void *handle, uint32_t domain, uint32_t id)
{
	(void)handle;
	if (domain == RUNTIME && id == LAUNCH)
		gpu_none.is_asked = is_on != 0;
	return 0;
}

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
	void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	gpu_none.request = request;
	gpu_none.complete = complete;
	return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
	if (kind == KERNEL)
		gpu_none.is_kernel_on = 1;
	return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
	if (kind == KERNEL)
		gpu_none.is_kernel_on = 0;
	return 0;
}

/* Gives back what the last flush point left: only a thread that does not launch at that moment may call, as at exit. */
int cuptiActivityFlushAll(uint32_t flag)
{
	if (!(flag & 1) || !gpu_none.buffer)
		return 0;
	gpu_none.complete(NULL, 0, gpu_none.buffer, gpu_none.bytes, gpu_none.used);
	gpu_none.buffer = NULL;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context, (void)stream;
	*count = gpu_none.dropped;
	gpu_none.dropped = 0;
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, uint8_t **record)
{
	uint8_t *next = *record ? *record + KERNEL_BYTES : buffer;
	uint32_t kind;

	if (next + KERNEL_BYTES > buffer + used)
		return 12;
	memcpy(&kind, next, sizeof(kind));
	if (kind != KERNEL)
		return 21;
	*record = next;
	return 0;
}

int cuptiGetTimestamp(uint64_t *timestamp)
{
	*timestamp = real_ns();
	return 0;
}

int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
	(void)attribute, (void)bytes, (void)value;
	return 0;
}

#endif
