/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that announces what it does through NVIDIA's own header: announce WHAT [COUNT]
 *
 * everything: each function of the interface once or twice, on two threads, with ends that have no beginning; steps: COUNT
 * steps named "step N", each with ranges inside; bench: COUNT pairs, ns a pair on stdout; many: COUNT distinct names;
 * job: a training job of COUNT steps with warm-up, evaluation and checkpoints, whose steps nobody marks; marked: the same,
 * each step in a range "train step"; chance: COUNT ranges in no order; fork: ranges and registered strings in a child that
 * goes on with its parent's handles; pairs: COUNT pairs in silence.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;
static nvtxRangeId_t across;

static nvtxEventAttributes_t event(const char *text)
{
	nvtxEventAttributes_t made = {0};

	made.version = NVTX_VERSION;
	made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	made.messageType = NVTX_MESSAGE_TYPE_ASCII;
	made.message.ascii = text;
	return made;
}

static void *other_thread(void *unused)
{
	(void)unused;
	nvtxRangePop(); /* nothing is open here */
	nvtxRangePushA("worker");
	nvtxRangeEnd(across);
	nvtxRangePop();
	return NULL;
}

static void with_payloads(void)
{
	nvtxEventAttributes_t made = event("payload");

	made.category = 7;
	made.colorType = NVTX_COLOR_ARGB;
	made.color = 0xff102030;
	made.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	made.payload.llValue = -5;
	nvtxRangePushEx(&made);
	nvtxRangePop();
	made.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	made.payload.dValue = 0.5;
	nvtxDomainRangePushEx(domain, &made);
	nvtxDomainRangePop(domain);
	made = event(NULL);
	made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	made.message.registered = registered;
	nvtxDomainRangePushEx(domain, &made);
	nvtxDomainMarkEx(domain, &made);
	nvtxDomainRangePop(domain);
}

/* As NCCL does it: an extended payload {schema, size, data}; the layout is {communicator, bytes, operator}. */
static void as_collective(void)
{
	struct {
		uint64_t schema, size;
		const void *data;
	} payload;
	struct {
		uint64_t communicator, bytes;
		uint32_t operation, padding;
	} data = {0xc0ffee, 2000, 2, 0x1a1a1a1a};
	nvtxEventAttributes_t made = event("ncclAllReduce");
	nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");

	payload.schema = 16777220;
	payload.size = sizeof data;
	payload.data = &data;
	made.payloadType = (int32_t)0xDFBD0009;
	made.reserved0 = 1;
	made.payload.ullValue = (uint64_t)(uintptr_t)&payload;
	nvtxDomainRangePushEx(nccl, &made);
	nvtxDomainRangePop(nccl);
	nccl = nvtxDomainCreateA("NCCL"); /* once more, as each communicator does */
	nvtxDomainRangePushEx(nccl, &made);
	nvtxDomainRangePop(nccl);
}

/* As NCCL 2.25 makes a communicator: the end tells its payload. Then events that payloads alone describe. */
static void by_payloads(void)
{
	uint64_t data[2] = {0xc0ffee, 4};
	const nvtxPayloadData_t payload = {16777221, sizeof data, data};
	nvtxEventAttributes_t made = event("ncclCommInitRank");
	nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");

	nvtxDomainRangePushEx(nccl, &made);
	int ended = nvtxRangePopPayload(nccl, &payload, 1), begun = nvtxRangePushPayload(nccl, &payload, 1);
	printf("%d %d %d\n", ended, begun, nvtxRangePopPayload(nccl, NULL, 0));
	nvtxMarkPayload(nccl, &payload, 1);
	nvtxRangeId_t id = nvtxRangeStartPayload(nccl, &payload, 1);
	nvtxRangeEndPayload(nccl, id, &payload, 1);
	printf("%llx\n", (unsigned long long)nvtxPayloadSchemaRegister(nccl, NULL));
}

/* Payloads of SIZE_MAX instead of a length, at the end of a page behind which nothing is: a text, and what nobody knows the end of. */
static void without_lengths(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *text = pages + 4096 - 6;
	nvtxDomainHandle_t loose = nvtxDomainCreateA("loose");

	mprotect(pages + 4096, 4096, PROT_NONE);
	memcpy(text, "short", 6);
	nvtxMarkPayload(loose, &(nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, SIZE_MAX, text}, 1);
	nvtxMarkPayload(loose, &(nvtxPayloadData_t){16777222, SIZE_MAX, text}, 1);
	munmap(pages, 8192);
}

static void everything(void)
{
	static char long_name[70000];
	pthread_t thread;

	domain = nvtxDomainCreateA("house");
	registered = nvtxDomainRegisterStringA(domain, "kitchen");
	nvtxNameOsThreadA((uint32_t)getpid(), "the first");
	nvtxNameCategoryA(7, "seven");
	nvtxDomainNameCategoryA(domain, 7, "seven of the house");
	int levels[4] = {nvtxRangePushA("outer"), nvtxRangePushW(L"\u00fcber"), 0, 0};
	levels[2] = nvtxRangePop();
	levels[3] = nvtxRangePop();
	printf("%d %d %d %d\n", levels[0], levels[1], levels[2], levels[3]);
	with_payloads();
	as_collective();
	by_payloads();
	without_lengths();
	/* Two domains that do not nest in each other. */
	nvtxEventAttributes_t crossed = event("crossed");
	nvtxDomainRangePushEx(domain, &crossed);
	nvtxRangePushA("inside");
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	across = nvtxRangeStartA("across");
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
	nvtxRangeEnd(987654321); /* never began */
	nvtxMarkA("mark");
	nvtxRangePushA(NULL);
	nvtxRangePop();
	memset(long_name, 'x', sizeof long_name - 1);
	nvtxRangePushA(long_name);
	nvtxRangePop();
	char reused[16] = "first";
	nvtxRangePushA(reused);
	nvtxRangePop();
	strcpy(reused, "second");
	nvtxRangePushA(reused);
	nvtxRangePop();
	nvtxRangePushA("never ended");
	nvtxDomainDestroy(domain);
}

static void steps(long count)
{
	for (long i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, "step %ld", i + 100);
		nvtxRangePushA(name);
		nvtxRangePushA("forward");
		free(malloc(1111));
		nvtxRangePop();
		nvtxRangePushA("backward");
		nvtxRangePop();
		nvtxRangePop();
	}
}

static void in_range(const char *name)
{
	nvtxRangePushA(name);
	free(malloc(100));
	nvtxRangePop();
}

static void forward(void)
{
	static const char *const layers[] = {"embed", "attend", "mix", "norm", "project"};

	in_range("load batch");
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		in_range(layers[i]);
}

static void train(int is_marked)
{
	if (is_marked)
		nvtxRangePushA("train step");
	forward();
	in_range("loss");
	for (int i = 0; i < 4; i++)
		in_range("gradient");
	in_range("reduce");
	in_range("update");
	if (is_marked)
		nvtxRangePop();
}

static void job(long count, int is_marked)
{
	for (int i = 0; i < 30; i++)
		in_range("set up");
	for (long i = 0; i < count; i++) {
		train(is_marked);
		if (i < 3) /* warm-up: something is tried and thrown away */
			for (int n = 0; n < 8; n++)
				in_range("try a kernel");
		for (int n = 0; i % 40 == 39 && n < 10; n++)
			forward(); /* evaluation */
		for (int n = 0; i % 50 == 49 && n < 20; n++)
			in_range("save");
	}
}

static void chance(long count)
{
	static const char *const names[] = {"open", "parse", "look up", "render", "send", "log", "wait", "close"};
	uint32_t seed = 12345;

	for (long i = 0; i < count; i++) {
		seed = seed * 1103515245u + 12345u;
		in_range(names[seed >> 16 & 7]);
	}
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static void pairs(long count)
{
	for (long i = 0; i < count; i++) {
		nvtxRangePushA("a range of the bench");
		nvtxRangePop();
	}
}

static void many(long count)
{
	for (int round = 0; round < 2; round++)
		for (long i = 0; i < count; i++) {
			char name[40];
			snprintf(name, sizeof name, "name number %ld", i);
			nvtxRangePushA(name);
			nvtxRangePop();
		}
}

static void forked(void)
{
	domain = nvtxDomainCreateA("house");
	registered = nvtxDomainRegisterStringA(domain, "kitchen");
	nvtxEventAttributes_t made = event(NULL);
	made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	made.message.registered = registered;
	nvtxDomainRangePushEx(domain, &made);
	nvtxRangePushA("plain");
	pid_t child = fork();
	if (child == 0) {
		nvtxDomainRangePushEx(domain, &made);
		nvtxRangePushA("plain");
		nvtxRangePop();
		nvtxDomainRangePop(domain);
		exit(0);
	}
	waitpid(child, NULL, 0);
	nvtxRangePop();
	nvtxDomainRangePop(domain);
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "everything";
	long number = count > 2 ? atol(words[2]) : 1000;

	if (!strcmp(what, "everything"))
		everything();
	else if (!strcmp(what, "steps"))
		steps(number);
	else if (!strcmp(what, "job") || !strcmp(what, "marked"))
		job(number, *what == 'm');
	else if (!strcmp(what, "chance"))
		chance(number);
	else if (!strcmp(what, "many"))
		many(number);
	else if (!strcmp(what, "fork"))
		forked();
	else if (!strcmp(what, "pairs"))
		pairs(number);
	else if (!strcmp(what, "bench")) {
		pairs(number / 10);
		double from = now();
		pairs(number);
		printf("%.2f\n", (now() - from) / (double)number);
	} else
		return 2;
	return 0;
}
