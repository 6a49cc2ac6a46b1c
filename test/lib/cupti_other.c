/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a profiler of its own: work, then work while it is subscribed to CUPTI, then more work without.
 *
 * Prints what CUPTI answered and how many memsets it was told of. Built by test/cases/gpu-cupti-coexistence, linked with the
 * simulated runtime and CUPTI; with -DBY_DLSYM it opens CUPTI when its profiler begins and looks each function up when it first
 * calls it, as TensorFlow and JAX do; with -DCUPTI that is a copy of its own, as Triton's Proton has;
 * with -DBY_BUFFERS it subscribes to nothing and takes the buffers, with a clock of its own that counts halves of microseconds, as
 * PyTorch 2.15 does; with -DLEAVES_FIRST it unsubscribes before it asks for its records, and takes CUPTI down, as JAX 0.11 does; with
 * -DFINALIZES_EARLY it takes CUPTI down before CUDA begins; with -DASKS_TWICE it subscribes a second time, which CUPTI refuses, and asks
 * for records later; with -DKEEPS_KINDS it unsubscribes and never gives up its kind; with -DANOTHER_TAKES somebody else, who subscribes
 * to nothing, asks for records after it. Twice, where a fourth argument says so. Arguments: memsets before (-1: its profiler begins
 * before CUDA does), during, after. Its buffers are full of rubbish when it hands them out, as malloc's are.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int cudaMalloc(void **, size_t);
int cudaMemset(void *, int, size_t);
int cudaDeviceSynchronize(void);
int cuptiSubscribe(void **, void (*)(void *, uint32_t, uint32_t, const void *), void *);
int cuptiUnsubscribe(void *);
int cuptiFinalize(void);
int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityRegisterTimestampCallback(uint64_t (*)(void));
int cuptiActivityEnable(uint32_t);
int cuptiActivityDisable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
int cuptiActivityGetNextRecord(uint8_t *, size_t, void **);

#ifdef BY_DLSYM
#ifndef CUPTI
#define CUPTI "libcupti.so.13"
#endif
static void *function(const char *name)
{
	void *found = dlsym(dlopen(CUPTI, RTLD_LAZY | RTLD_LOCAL), name);

	if (!found) {
		puts(dlerror());
		exit(65);
	}
	return found;
}
#define cuptiSubscribe ((__typeof__(&cuptiSubscribe))function("cuptiSubscribe"))
#define cuptiUnsubscribe ((__typeof__(&cuptiUnsubscribe))function("cuptiUnsubscribe"))
#define cuptiFinalize ((__typeof__(&cuptiFinalize))function("cuptiFinalize"))
#define cuptiActivityRegisterCallbacks ((__typeof__(&cuptiActivityRegisterCallbacks))function("cuptiActivityRegisterCallbacks"))
#define cuptiActivityEnable ((__typeof__(&cuptiActivityEnable))function("cuptiActivityEnable"))
#define cuptiActivityDisable ((__typeof__(&cuptiActivityDisable))function("cuptiActivityDisable"))
#define cuptiActivityFlushAll ((__typeof__(&cuptiActivityFlushAll))function("cuptiActivityFlushAll"))
#define cuptiActivityGetNextRecord ((__typeof__(&cuptiActivityGetNextRecord))function("cuptiActivityGetNextRecord"))
#endif

struct set {
	uint32_t kind, value;
	uint64_t bytes, start, end;
};

#define BUFFER_BYTES 65536
#define MEMSET 2
#define SLACK 2000000 /* halves of us: whose clock it is is told, not how well two clocks are tied where the machine stood still */

static int memsets, in_time;
static uint64_t since;

static uint64_t halves(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 2000000 + (uint64_t)now.tv_nsec / 500;
}

static void request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = memset(malloc(BUFFER_BYTES), 0xa5, BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	void *record = NULL;

	(void)context, (void)stream, (void)bytes;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
		const struct set *set = record;
		if (set->kind != MEMSET)
			continue;
		memsets++;
		in_time += set->start + SLACK >= since && set->end <= halves() + SLACK;
	}
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

static void *subscriber;

/* Long enough for us to come back too early. */
static inline void wait_a_while(void)
{
	for (uint64_t from = halves(); halves() - from < 400000; usleep(1000))
		;
}

static void begin(void)
{
#ifdef BY_BUFFERS
	static int has_clock;

	if (!has_clock++)
		printf("clock %d\n", cuptiActivityRegisterTimestampCallback(halves));
#else
	printf("subscribe %d\n", cuptiSubscribe(&subscriber, called, NULL));
#endif
#ifdef ASKS_TWICE
	void *other;

	printf("subscribe %d\n", cuptiSubscribe(&other, called, NULL));
	wait_a_while();
#endif
	since = halves();
	printf("register %d\n", cuptiActivityRegisterCallbacks(request, complete));
	printf("enable %d\n", cuptiActivityEnable(MEMSET));
}

static void end(void)
{
#ifdef BY_BUFFERS
	printf("disable %d\n", cuptiActivityDisable(MEMSET));
	printf("flush %d\n", cuptiActivityFlushAll(1));
	printf("memsets %d, %d of them in its own time\n", memsets, in_time);
#elif defined(LEAVES_FIRST)
	printf("unsubscribe %d\n", cuptiUnsubscribe(subscriber));
	wait_a_while();
	printf("disable %d\n", cuptiActivityDisable(MEMSET));
	printf("flush %d\n", cuptiActivityFlushAll(1));
	printf("finalize %d\n", cuptiFinalize());
	printf("memsets %d\n", memsets);
#else
	printf("flush %d\n", cuptiActivityFlushAll(1));
#ifndef KEEPS_KINDS
	printf("disable %d\n", cuptiActivityDisable(MEMSET));
#endif
	printf("unsubscribe %d\n", cuptiUnsubscribe(subscriber));
	printf("memsets %d\n", memsets);
#endif
}

int main(int argc, char **argv)
{
	void *block;

	if (argc < 4)
		return 64;
	int is_first = atoi(argv[1]) < 0;
#ifdef FINALIZES_EARLY
	printf("finalize %d\n", cuptiFinalize());
#endif
	if (is_first)
		begin();
	printf("malloc %d\n", cudaMalloc(&block, 4096));
	if (!is_first) {
		work(block, atoi(argv[1]));
		begin();
	}
	work(block, atoi(argv[2]));
	end();
	work(block, atoi(argv[3]));
#ifdef ANOTHER_TAKES
	printf("enable %d\n", cuptiActivityEnable(MEMSET));
	work(block, atoi(argv[2]));
#endif
	if (argc > 4) {
		begin();
		work(block, atoi(argv[2]));
		end();
	}
	return 0;
}
