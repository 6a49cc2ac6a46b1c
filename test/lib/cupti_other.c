/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a profiler of its own: work, then work while it is subscribed to CUPTI, then more work without.
 *
 * Prints what CUPTI answered and how many memsets it was told of. Built by test/cases/gpu-cupti-coexistence, linked with the
 * simulated runtime and CUPTI; with -DBY_DLSYM it opens CUPTI when its profiler begins and looks each function up when it first
 * calls it, as TensorFlow and JAX do. Arguments: memsets before, during, after.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void **, size_t);
int cudaMemset(void *, int, size_t);
int cudaDeviceSynchronize(void);
int cuptiSubscribe(void **, void (*)(void *, uint32_t, uint32_t, const void *), void *);
int cuptiUnsubscribe(void *);
int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t);
int cuptiActivityDisable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
int cuptiActivityGetNextRecord(uint8_t *, size_t, void **);

#ifdef BY_DLSYM
static void *function(const char *name)
{
	void *found = dlsym(dlopen("libcupti.so.13", RTLD_LAZY | RTLD_LOCAL), name);

	if (!found) {
		puts(dlerror());
		exit(65);
	}
	return found;
}
#define cuptiSubscribe ((__typeof__(&cuptiSubscribe))function("cuptiSubscribe"))
#define cuptiUnsubscribe ((__typeof__(&cuptiUnsubscribe))function("cuptiUnsubscribe"))
#define cuptiActivityRegisterCallbacks ((__typeof__(&cuptiActivityRegisterCallbacks))function("cuptiActivityRegisterCallbacks"))
#define cuptiActivityEnable ((__typeof__(&cuptiActivityEnable))function("cuptiActivityEnable"))
#define cuptiActivityDisable ((__typeof__(&cuptiActivityDisable))function("cuptiActivityDisable"))
#define cuptiActivityFlushAll ((__typeof__(&cuptiActivityFlushAll))function("cuptiActivityFlushAll"))
#define cuptiActivityGetNextRecord ((__typeof__(&cuptiActivityGetNextRecord))function("cuptiActivityGetNextRecord"))
#endif

#define BUFFER_BYTES 65536
#define MEMSET 2

static int memsets;

static void request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = calloc(1, BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	void *record = NULL;

	(void)context, (void)stream, (void)bytes;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0)
		memsets += *(uint32_t *)record == MEMSET;
	free(buffer);
}

static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

static void work(void *block, int count)
{
	for (int i = 0; i < count; i++)
		cudaMemset(block, i, 4096);
	cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	void *block, *subscriber = NULL;

	if (argc < 4)
		return 64;
	printf("malloc %d\n", cudaMalloc(&block, 4096));
	work(block, atoi(argv[1]));
	printf("subscribe %d\n", cuptiSubscribe(&subscriber, called, NULL));
	printf("register %d\n", cuptiActivityRegisterCallbacks(request, complete));
	printf("enable %d\n", cuptiActivityEnable(MEMSET));
	work(block, atoi(argv[2]));
	printf("flush %d\n", cuptiActivityFlushAll(1));
	printf("disable %d\n", cuptiActivityDisable(MEMSET));
	printf("unsubscribe %d\n", cuptiUnsubscribe(subscriber));
	printf("memsets %d\n", memsets);
	work(block, atoi(argv[3]));
	return 0;
}
