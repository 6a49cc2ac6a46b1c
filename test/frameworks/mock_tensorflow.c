/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for TensorFlow's two libraries, by the names that the real ones export; built twice from this file:
 * -DFRAMEWORK the lower one, else the upper one, which calls it. -DSHIFTED plants another layout of events and annotations.
 * Where libcudart.so.13 is loaded, an op also works on a device.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, which glibc before 2.36 keeps for those who ask */
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMED(name) __asm__(name)

struct string {
	const char *text;
	uint64_t length;
	char within[16];
};

struct event {
#ifdef SHIFTED
	uint64_t added;
#endif
	struct string name;
	int64_t start, end;
};

extern int trace_level NAMED("_ZN3tsl8profiler8internal13g_trace_levelE");
void record(struct event *) NAMED("_ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE");
void push(size_t, const char *)
	NAMED("_ZN3tsl8profiler15AnnotationStack14PushAnnotationESt17basic_string_viewIcSt11char_traitsIcEE");
void pop(void) NAMED("_ZN3tsl8profiler15AnnotationStack13PopAnnotationEv");
void enable(uint8_t) NAMED("_ZN3tsl8profiler15AnnotationStack6EnableEb");
void register_factory(void *)
	NAMED("_ZN3tsl8profiler23RegisterProfilerFactoryESt8functionIFSt10unique_ptrINS0_17ProfilerInterfaceESt14default_delete"
	      "IS3_EERKN10tensorflow14ProfileOptionsEEE");
void *memory_annotation(void) NAMED("_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv");
void *allocate(void *, size_t, size_t) NAMED("_ZN10tensorflow15MklCPUAllocator11AllocateRawEmm");
void release(void *, void *) NAMED("_ZN10tensorflow15MklCPUAllocator13DeallocateRawEPv");
int mock_counts(int which);
void mock_op_inside(int number);
int mock_run(int ops);
void mock_refuse(void);
void mock_trace(int graphs);
void *TF_NewGraph(void);
void *TF_GraphToFunctionWithControlOutputs(void *graph, const char *name);

static __attribute__((unused)) int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* A memset of 256 bytes on a device, where the host has loaded a CUDA runtime. */
static __attribute__((unused)) void work_on_device(void)
{
	static __thread void *memory;
	void *runtime = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);

	if (!runtime)
		return;
	int (*get)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
	int (*set)(void *, int, size_t) = (int (*)(void *, int, size_t))dlsym(RTLD_DEFAULT, "cudaMemset");
	if (!memory && get)
		get(&memory, 256);
	if (memory && set)
		set(memory, 1, 256);
}

/* One op: begins, allocates, gives back, ends, and is told of by an event, whose readings of the clock lie before the op's own. */
static __attribute__((unused)) void op(const char *name)
{
	int64_t start = now(), end;

	push(strlen(name), name);
	void *block = allocate(NULL, 64, 1000);
	work_on_device();
	release(NULL, block);
	end = now();
	pop();
	if (trace_level >= 1) {
		struct event event = {.name = {.text = name, .length = strlen(name)}, .start = start, .end = end};
		record(&event);
	}
}

#ifdef FRAMEWORK
int trace_level = -1;
static int counts[4];
/* As in 2.20 and newer: length, text, step, length, text, type, shape. */
static uint64_t annotation[10] = {8, 0, 77, 6, 0, 1};

void record(struct event *event)
{
	counts[0] += event != NULL;
}
void push(size_t length, const char *name)
{
	counts[1] += length > 0 && name;
}
void pop(void)
{
	counts[2]++;
}
void enable(uint8_t is_on)
{
	counts[3] = is_on;
}
void register_factory(void *factory)
{
	(void)factory;
}
void *memory_annotation(void)
{
#ifdef SHIFTED
	annotation[1] = 16; /* no address of a text */
#else
	annotation[1] = (uint64_t)(uintptr_t)"mock_mul";
#endif
	annotation[4] = (uint64_t)(uintptr_t)"output";
	return annotation;
}
void *allocate(void *self, size_t alignment, size_t bytes)
{
	(void)self, (void)alignment;
	return bytes >> 48 ? NULL : malloc(bytes);
}
void release(void *self, void *block)
{
	(void)self;
	free(block);
}
void *TF_NewGraph(void)
{
	static char graphs[64][4096]; /* at equal distances, as the real ones may lie */
	static int made;

	return graphs[made++ % 64];
}
void *TF_GraphToFunctionWithControlOutputs(void *graph, const char *name)
{
	return name ? graph : NULL;
}
int mock_counts(int which)
{
	return counts[which];
}
void mock_op_inside(int number)
{
	op(number % 2 ? "inside:Odd" : "inside:Even");
}
#else
__attribute__((constructor)) static void load(void)
{
	register_factory(NULL);
}
void mock_refuse(void)
{
	push(12, "mock_mul:Mul");
	allocate(NULL, 64, (size_t)1 << 50);
	pop();
}
/* Functions within functions: the one begun first is made last. The last graph is made two functions of: the second was not traced. */
void mock_trace(int count)
{
	void *graphs[64];
	char name[64];

	for (int i = 0; i < count; i++)
		graphs[i] = TF_NewGraph();
	for (int i = count; i-- > 0;) {
		snprintf(name, sizeof name, "__inference_traced%c_%d", 'a' + i, 100 + i);
		TF_GraphToFunctionWithControlOutputs(graphs[i], name);
	}
	TF_GraphToFunctionWithControlOutputs(graphs[0], "__inference_again_200");
}
int mock_run(int ops)
{
	for (int i = 0; i < ops; i++) {
		op(i % 2 ? "mock_mul:Mul" : "mock_add:AddV2");
		mock_op_inside(i);
	}
	return mock_counts(1);
}
#endif
