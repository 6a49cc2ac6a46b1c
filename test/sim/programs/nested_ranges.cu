/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work inside of ranges that nest, recur and cross, on several threads: nested_ranges LIBRARY THREADS ACTIONS SEED. Ranges of
 * tfprof.h that closed windows cut: nested_ranges cut; 300 that lie in each other: nested_ranges deep
 *
 * LIBRARY (test/nvtx/nested.c) announces the ranges. Each thread draws what it does: begins a range in one of two domains or ends
 * the last one of a domain, launches, copies, sets, launches a graph that was captured in a range of its own. A range of the whole
 * process is open meanwhile. Rule: for each piece of work a line `KIND ID RANGE/RANGE/...`, the outermost first, each `domain:name`;
 * ID is the kernel's grid, or bytes, and no other piece has it but those of the thread's graph, which come in this order.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <cuda_runtime.h>

#include "preload/tfprof.h"

#define OK(call) check((call), #call, __LINE__)
#define FIND(name) ((decltype(name))find(library, #name))
enum { NODES = 4, OWN = 1 << 20, NAMES = 5, DEEPEST = 7 };

static void (*nested_push)(int, const char *);
static void (*nested_pop)(int);
static unsigned long long (*nested_start)(const char *);
static void (*nested_end)(unsigned long long);
static std::mutex printing;

__global__ void work(char *x)
{
	x[0] = 1;
}

static void check(cudaError_t result, const char *what, int line)
{
	if (result == cudaSuccess)
		return;
	printf("line %d: %s: %d\n", line, what, (int)result);
	exit(1);
}

static void *find(void *library, const char *name)
{
	void *function = library == NULL ? NULL : dlsym(library, name);

	if (function != NULL)
		return function;
	printf("%s\n", dlerror());
	exit(1);
}

class Worker {
	unsigned number;
	unsigned long long seed;
	unsigned made = 0;
	std::vector<std::pair<int, std::string>> open;
	cudaStream_t stream;
	cudaGraphExec_t graph;
	char *device, *host;

	unsigned draw(unsigned below)
	{
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		return (unsigned)(seed >> 33) % below;
	}

	void tell(const char *kind, unsigned id)
	{
		std::string nesting;

		for (auto &range : open)
			nesting += (nesting.empty() ? "" : "/") + std::to_string(range.first) + ":" + range.second;
		std::lock_guard<std::mutex> hold(printing);
		printf("%s %u %s\n", kind, id, nesting.c_str());
	}

	void push()
	{
		int domain = (int)draw(2);
		std::string name = "range " + std::to_string(draw(NAMES));

		if (open.size() == DEEPEST)
			return;
		nested_push(domain, name.c_str());
		open.push_back({domain, name});
	}

	/* The last one of its domain, though one of the other was begun later. */
	void pop()
	{
		int domain = (int)draw(2);

		for (size_t at = open.size(); at-- > 0;)
			if (open[at].first == domain) {
				nested_pop(domain);
				open.erase(open.begin() + (long)at);
				return;
			}
	}

	void capture()
	{
		cudaGraph_t captured;

		nested_push(0, "capture");
		OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
		for (unsigned i = 0; i < NODES; i++)
			work<<<(number + 1) * OWN + i, 1, 0, stream>>>(device);
		OK(cudaStreamEndCapture(stream, &captured));
		OK(cudaGraphInstantiate(&graph, captured, 0));
		nested_pop(0);
	}

	void launch_graph()
	{
		for (unsigned i = 0; i < NODES; i++)
			tell("kernel", (number + 1) * OWN + i);
		OK(cudaGraphLaunch(graph, stream));
	}

	void act()
	{
		unsigned id = (number + 1) * OWN + NODES + made++;

		switch (draw(9)) {
		case 0: case 1: case 2:
			return push();
		case 3: case 4:
			return pop();
		case 5: case 6:
			tell("kernel", id);
			work<<<id, 1, 0, stream>>>(device);
			return;
		case 7:
			tell(made % 2 ? "set" : "copy", id);
			if (made % 2)
				OK(cudaMemsetAsync(device, 1, id, stream));
			else
				OK(cudaMemcpyAsync(host, device, id, cudaMemcpyDeviceToHost, stream));
			return;
		default:
			return launch_graph();
		}
	}

public:
	Worker(unsigned number, unsigned long long seed) : number(number), seed(seed + number * 977)
	{
		OK(cudaStreamCreate(&stream));
		OK(cudaMalloc(&device, (size_t)(number + 2) * OWN));
		OK(cudaMallocHost(&host, (size_t)(number + 2) * OWN));
	}

	void run(unsigned actions)
	{
		capture();
		for (unsigned i = 0; i < actions; i++)
			act();
		while (!open.empty()) {
			nested_pop(open.back().first);
			open.pop_back();
		}
		OK(cudaStreamSynchronize(stream));
	}
};

/* Kernels of 1 to 5 blocks; of the ranges "between" only the end of one is recorded. */
static int be_cut()
{
	tfprof_push("first");
	work<<<1, 1>>>(NULL);
	tfprof_stop();
	tfprof_pop();
	tfprof_push("between");
	work<<<2, 1>>>(NULL);
	tfprof_start();
	work<<<3, 1>>>(NULL);
	tfprof_push("second");
	work<<<4, 1>>>(NULL);
	tfprof_pop();
	tfprof_pop();
	work<<<5, 1>>>(NULL);
	OK(cudaDeviceSynchronize());
	return 0;
}

/* Ranges "1" to "300", a kernel at 256 and one in the last. */
static int be_deep()
{
	for (int depth = 1; depth <= 300; depth++) {
		tfprof_push(std::to_string(depth).c_str());
		if (depth == 256 || depth == 300)
			work<<<depth, 1>>>(NULL);
	}
	OK(cudaDeviceSynchronize());
	for (int depth = 1; depth <= 300; depth++)
		tfprof_pop();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return strcmp(argv[1], "cut") == 0 ? be_cut() : be_deep();
	void *library = argc == 5 ? dlopen(argv[1], RTLD_NOW) : NULL;
	unsigned threads = argc == 5 ? (unsigned)atoi(argv[2]) : 0;
	std::vector<std::thread> all;
	unsigned long long whole;

	nested_push = FIND(nested_push);
	nested_pop = FIND(nested_pop);
	nested_start = FIND(nested_start);
	nested_end = FIND(nested_end);
	whole = nested_start("whole");
	for (unsigned i = 0; i < threads; i++)
		all.emplace_back([=] { Worker(i, strtoull(argv[4], NULL, 10)).run((unsigned)atoi(argv[3])); });
	for (auto &thread : all)
		thread.join();
	nested_end(whole);
	return 0;
}
