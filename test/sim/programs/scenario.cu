/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop with one bottleneck, or none: scenario KEY=NUMBER...
 *
 *	steps, kernels	how many, and kernels of each step; blocks: of a kernel
 *	single		1: the kernels are 32-bit products, else 16-bit and no products
 *	tiny		further kernels of each step, short ones
 *	input_us	what the next batch takes to come, asked for when the one before was taken; 0: it is always there
 *	batch_kib	copied to the device beside the step before; pageable 1: from pageable memory
 *	result_kib	copied back, before the next step's work may begin (result_beside 1: beside it)
 *	collectives	kernels of each step that communicate
 *	compile		1: each step loads PTX
 *	leak_kib	allocated in each step and never given back
 *	pool_mib	allocated from the stream-ordered pool at the beginning
 *	hold_mib	allocated at the beginning and kept
 *	layout, norm, image, plain	further kernels of each step: those that change the order of dimensions, of a batch
 *			normalisation in parts, that work on images, and 16-bit products without tensor cores
 *	reads		times a step that the host reads 4 bytes from the device and waits for them
 *	copies, copy_kib	further copies to the device of each step, before its work
 *	inside_kib	copied on the device in each step
 *	idle_us		the host waits for the device, then sleeps so long, in each step
 *	calls		cudaMalloc and cudaFree, so many times a step, once the device has nothing to do
 *	odd		products of 16-bit numbers by cuBLAS in each step, of that size in each direction
 *	reduce, reduce_few	reductions by NCCL in each step, of reduce_count numbers of NCCL's type reduce_type; and of 16 Mi of them
 *	devices		all of that on each of so many devices; turns 1: one after the other; uneven 1: the first does twice the work
 *
 * How long things take is the simulator's scenario. All waiting is sleep, so that a loaded machine changes little; the last line
 * tells how long the threads were ready without a processor: then the result is not to be judged.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <ctime>
#include <unistd.h>
#include <cuda_runtime.h>

#include "preload/tfprof.h"

#define CHECK(call) check((call), #call)
#define DEVICES 8

static struct {
	const char *name;
	long value;
} keys[] = {{"steps", 20}, {"kernels", 4}, {"blocks", 4096}, {"single", 0}, {"tiny", 0}, {"input_us", 0}, {"batch_kib", 64},
	    {"pageable", 0}, {"result_kib", 16}, {"result_beside", 1}, {"collectives", 0}, {"compile", 0}, {"leak_kib", 0},
	    {"pool_mib", 0}, {"devices", 1}, {"turns", 0}, {"uneven", 0}, {"hold_mib", 0}, {"layout", 0}, {"norm", 0}, {"image", 0},
	    {"plain", 0}, {"reads", 0}, {"copies", 0}, {"copy_kib", 16}, {"inside_kib", 0}, {"idle_us", 0}, {"calls", 0}, {"odd", 0},
	    {"reduce", 0}, {"reduce_few", 0}, {"reduce_count", 1000}, {"reduce_type", 6}};

struct device {
	cudaStream_t compute, in, out;
	cudaEvent_t arrived, computed, fetched, ended[2];
	float *batch, *result, *work, *other;
	void *blas, *communicator;
};

static struct device devices[DEVICES];
static int request[2], answer[2];

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry compiled()\n{\n\tret;\n}\n";

extern "C" __global__ void layers_half(float *to) { to[blockIdx.x % 1024] += 1; }
extern "C" __global__ void sgemm_layers(float *to) { to[blockIdx.x % 1024] += 2; }
extern "C" __global__ void tiny_half(float *to) { to[blockIdx.x % 1024] += 3; }
extern "C" __global__ void nchwToNhwcKernel_half(float *to) { to[blockIdx.x % 1024] += 5; }
extern "C" __global__ void normalise_half(float *to) { to[blockIdx.x % 1024] += 6; }
extern "C" __global__ void resizeBilinear_half(float *to) { to[blockIdx.x % 1024] += 7; }
extern "C" __global__ void hgemm_layers(float *to) { to[blockIdx.x % 1024] += 8; }
extern "C" __global__ void ncclDevKernel_AllReduce_Sum_f16_RING(float *to) { to[blockIdx.x % 1024] += 4; }

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	printf("%s: %d\n", what, (int)result);
	exit(3);
}

static long of(const char *name)
{
	for (auto &key : keys)
		if (!strcmp(key.name, name))
			return key.value;
	abort();
}

static void set(const char *word)
{
	size_t length = strcspn(word, "=");

	for (auto &key : keys)
		if (strlen(key.name) == length && !memcmp(key.name, word, length) && word[length]) {
			key.value = atol(word + length + 1);
			return;
		}
	printf("scenario: what is %s?\n", word);
	exit(64);
}

/* Brings a batch each time one is asked for. */
static void *bring(void *)
{
	struct timespec pause = {of("input_us") / 1000000, of("input_us") % 1000000 * 1000};
	char one;

	while (read(request[0], &one, 1) == 1) {
		if (pause.tv_sec || pause.tv_nsec)
			nanosleep(&pause, NULL);
		if (write(answer[1], &one, 1) != 1)
			break;
	}
	return NULL;
}

static void take_batch(void)
{
	char one = 0;

	if (read(answer[0], &one, 1) != 1 || write(request[1], &one, 1) != 1)
		exit(4);
}

/* As a program that is linked with the library would find it: hooks stand in front. */
template <typename function> static function *find(const char *library, const char *name)
{
	if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL)) {
		puts(dlerror());
		exit(7);
	}
	return (function *)dlsym(RTLD_DEFAULT, name);
}

struct unique_id {
	char bytes[128];
};

static void begin_libraries(struct device *device, int i)
{
	static struct unique_id id;
	const char *nccl = "libnccl.so.2", *blas = "libcublas.so.13";

	if (of("odd") && (find<int(void **)>(blas, "cublasCreate_v2")(&device->blas) ||
			  find<int(void *, void *)>(blas, "cublasSetStream_v2")(device->blas, device->compute)))
		exit(7);
	if (!of("reduce") && !of("reduce_few"))
		return;
	if (i == 0)
		find<int(struct unique_id *)>(nccl, "ncclGetUniqueId")(&id);
	if (find<int(void **, int, struct unique_id, int)>(nccl, "ncclCommInitRank")(&device->communicator, of("devices"), id, i))
		exit(7);
}

static void begin_device(int i)
{
	struct device *device = &devices[i];

	CHECK(cudaSetDevice(i));
	CHECK(cudaStreamCreateWithFlags(&device->compute, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&device->in, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&device->out, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&device->arrived, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&device->computed, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&device->fetched, cudaEventDisableTiming));
	for (int k = 0; k < 2; k++)
		CHECK(cudaEventCreateWithFlags(&device->ended[k], cudaEventDisableTiming));
	CHECK(cudaMalloc(&device->batch, (size_t)of("batch_kib") << 10));
	CHECK(cudaMalloc(&device->result, (size_t)of("result_kib") << 10));
	CHECK(cudaMalloc(&device->work, 4096));
	if (of("hold_mib"))
		CHECK(cudaMalloc(&device->other, (size_t)of("hold_mib") << 20));
	else if (of("inside_kib"))
		CHECK(cudaMalloc(&device->other, (size_t)of("inside_kib") << 10));
	begin_libraries(device, i);
}

static void compile(void)
{
	static int (*load)(void **, const void *);
	static int (*unload)(void *);
	void *module;

	if (!load) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW);
		*(void **)&load = dlsym(driver, "cuModuleLoadData");
		*(void **)&unload = dlsym(driver, "cuModuleUnload");
	}
	if (load(&module, ptx) || unload(module))
		exit(5);
}

static void compute(struct device *device, long times)
{
	unsigned blocks = (unsigned)of("blocks");

	for (long k = 0; k < of("kernels") * times; k++) {
		if (of("single"))
			sgemm_layers<<<blocks, 256, 0, device->compute>>>(device->work);
		else
			layers_half<<<blocks, 256, 0, device->compute>>>(device->work);
	}
	for (long k = 0; k < of("tiny"); k++)
		tiny_half<<<blocks, 256, 0, device->compute>>>(device->work);
	for (long k = 0; k < of("layout"); k++)
		nchwToNhwcKernel_half<<<blocks, 256, 0, device->compute>>>(device->work);
	for (long k = 0; k < of("image"); k++)
		resizeBilinear_half<<<blocks, 256, 0, device->compute>>>(device->work);
	for (long k = 0; k < of("plain"); k++)
		hgemm_layers<<<blocks, 256, 0, device->compute>>>(device->work);
	tfprof_push("model/batch_normalization/mul");
	for (long k = 0; k < of("norm"); k++)
		normalise_half<<<blocks, 256, 0, device->compute>>>(device->work);
	tfprof_pop();
	for (long k = 0; k < of("collectives"); k++)
		ncclDevKernel_AllReduce_Sum_f16_RING<<<blocks, 256, 0, device->compute>>>(device->work);
	CHECK(cudaGetLastError());
}

static void call_libraries(struct device *device)
{
	typedef int gemm(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *,
			 void *, int, int, int, int);
	typedef int reduction(const void *, void *, size_t, int, int, void *, void *);
	float one = 1, zero = 0;
	int size = (int)of("odd");

	if (size && find<gemm>("libcublas.so.13", "cublasGemmEx")(device->blas, 0, 0, size, size, size, &one, device->work, 2, size,
								   device->work, 2, size, &zero, device->work, 2, size, 68, -1))
		exit(7);
	for (long k = 0; k < of("reduce"); k++)
		if (find<reduction>("libnccl.so.2", "ncclAllReduce")(device->work, device->work, of("reduce_count"),
								     (int)of("reduce_type"), 0, device->communicator, device->compute))
			exit(7);
	for (long k = 0; k < of("reduce_few"); k++)
		if (find<reduction>("libnccl.so.2", "ncclAllReduce")(device->work, device->work, 16 << 20, (int)of("reduce_type"), 0,
								     device->communicator, device->compute))
			exit(7);
}

/* What a host does in a step besides: all of it waits for the device first. */
static void dawdle(struct device *device)
{
	struct timespec pause = {of("idle_us") / 1000000, of("idle_us") % 1000000 * 1000};
	float value;
	void *block;

	if (of("idle_us") || of("calls"))
		CHECK(cudaStreamSynchronize(device->compute));
	if (of("idle_us"))
		nanosleep(&pause, NULL);
	for (long k = 0; k < of("calls"); k++) {
		CHECK(cudaMalloc(&block, 4096));
		CHECK(cudaFree(block));
	}
	for (long k = 0; k < of("reads"); k++) {
		CHECK(cudaMemcpyAsync(&value, device->work, sizeof(value), cudaMemcpyDeviceToHost, device->compute));
		CHECK(cudaStreamSynchronize(device->compute));
	}
}

static void step(struct device *device, long number, long times, void *batch, void *result)
{
	cudaStream_t out = of("result_beside") ? device->out : device->compute;
	float *kept;

	if (number >= 2)
		CHECK(cudaEventSynchronize(device->ended[number % 2]));
	CHECK(cudaMemcpyAsync(device->batch, batch, (size_t)of("batch_kib") << 10, cudaMemcpyHostToDevice, device->in));
	CHECK(cudaEventRecord(device->arrived, device->in));
	CHECK(cudaStreamWaitEvent(device->compute, device->arrived, 0));
	if (of("leak_kib"))
		CHECK(cudaMalloc(&kept, (size_t)of("leak_kib") << 10));
	for (long k = 0; k < of("copies"); k++)
		CHECK(cudaMemcpyAsync(device->batch, batch, (size_t)of("copy_kib") << 10, cudaMemcpyHostToDevice, device->compute));
	compute(device, times);
	call_libraries(device);
	if (of("inside_kib"))
		CHECK(cudaMemcpyAsync(device->other, device->other, (size_t)of("inside_kib") << 10, cudaMemcpyDeviceToDevice, device->compute));
	dawdle(device);
	CHECK(cudaEventRecord(device->computed, device->compute));
	CHECK(cudaStreamWaitEvent(out, device->computed, 0));
	CHECK(cudaMemcpyAsync(result, device->result, (size_t)of("result_kib") << 10, cudaMemcpyDeviceToHost, out));
	CHECK(cudaEventRecord(device->ended[number % 2], out));
}

/* Sum over the threads of the time that they were ready and had no processor, in us. */
static long delayed_us(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned long long sum = 0, ran, waited;

	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		char path[300];
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		FILE *file = fopen(path, "r");
		if (file && fscanf(file, "%llu %llu", &ran, &waited) == 2)
			sum += waited;
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return (long)(sum / 1000);
}

int main(int count, char **words)
{
	struct timespec begin, end;
	void *batch, *result;
	pthread_t bringer;
	long before;

	for (int i = 1; i < count; i++)
		set(words[i]);
	if (pipe(request) || pipe(answer) || pthread_create(&bringer, NULL, bring, NULL))
		return 6;
	for (int i = 0; i < of("devices"); i++)
		begin_device(i);
	for (int i = 0; i < (of("input_us") ? 1 : 4); i++)
		if (write(request[1], "", 1) != 1)
			return 6;
	if (of("pageable"))
		batch = malloc((size_t)of("batch_kib") << 10);
	else
		CHECK(cudaMallocHost(&batch, (size_t)of("batch_kib") << 10));
	memset(batch, 1, (size_t)of("batch_kib") << 10);
	CHECK(cudaMallocHost(&result, (size_t)of("result_kib") << 10));
	if (of("pool_mib"))
		CHECK(cudaMallocAsync(&devices[0].work, (size_t)of("pool_mib") << 20, devices[0].compute));
	before = delayed_us();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long number = 0; number < of("steps"); number++) {
		tfprof_step((uint64_t)number);
		take_batch();
		if (of("compile"))
			compile();
		for (int i = 0; i < of("devices"); i++) {
			CHECK(cudaSetDevice(i));
			step(&devices[i], number, of("uneven") && i == 0 ? 2 : 1, batch, result);
			if (of("turns"))
				CHECK(cudaDeviceSynchronize());
		}
	}
	tfprof_step((uint64_t)of("steps"));
	for (int i = 0; i < of("devices"); i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaDeviceSynchronize());
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%ld us delayed of %ld us\n", delayed_us() - before,
	       (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
	return 0;
}
