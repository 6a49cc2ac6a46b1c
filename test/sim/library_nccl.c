/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libnccl.so.2 */
/*
 * A fake NCCL: communicators of any size of which this process is one rank, groups, collectives, and the NVTX ranges that
 * the real one makes of its public calls.
 * Rule: as in the real one each function is a global pncclX and a weak ncclX at the same address, and the ranges go to
 * whatever NVTX_INJECTION64_PATH names, registered strings and extended payloads included.
 * No bytes move between processes: what a collective returns is what the buffer held.
 * Results: 0 success, 1 unhandled CUDA error, 4 invalid argument, 5 invalid usage.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

enum { BY_INJECTION = 5, SLOTS = 16, PUSH = 4, POP = 5, REGISTER = 10, CREATE = 12, NAMES = 32, QUEUED = 256 };

struct communicator {
	uint64_t hash;
	int ranks, rank, device;
};

/* ---- NVTX ---- */

struct payload {
	uint64_t schema;
	size_t bytes;
	const void *data;
};

struct attributes { /* nvtxEventAttributes_t */
	uint16_t version, bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, payload_count;
	const void *payload;
	int32_t message_type;
	int32_t pad;
	const void *message;
};

struct table { /* NvtxExportTableCallbacks */
	size_t bytes;
	int (*get_module)(int module, void ****slots, unsigned *count);
};

static void *slots[SLOTS]; /* the injection writes its functions here; core 2 */
static void **slot_places[SLOTS];
static void *other[SLOTS], **other_places[SLOTS];
static void *domain;
static struct {
	const char *text;
	void *handle;
} strings[NAMES];
static pthread_mutex_t strings_lock = PTHREAD_MUTEX_INITIALIZER; /* guards strings */

static int get_module(int module, void ****places, unsigned *count)
{
	*places = module == BY_INJECTION ? slot_places : other_places;
	*count = SLOTS;
	return 1;
}

static const void *get_export(uint32_t id)
{
	static const struct table table = {sizeof(table), get_module};

	return id == 1 ? &table : NULL;
}

static void load_injection(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path && *path && !getenv("NCCL_NVTX_DISABLE") ? dlopen(path, RTLD_LAZY) : NULL;
	int (*start)(const void *(*)(uint32_t)) = NULL;
	void *(*create)(const char *);

	for (int i = 0; i < SLOTS; i++) {
		slot_places[i] = &slots[i];
		other_places[i] = &other[i];
	}
	if (library)
		*(void **)&start = dlsym(library, "InitializeInjectionNvtx2");
	if (!start || !start(get_export))
		return;
	*(void **)&create = slots[CREATE];
	domain = create ? create("NCCL") : NULL;
}

static void *registered(const char *text)
{
	void *(*of_text)(void *, const char *);
	void *handle = NULL;

	*(void **)&of_text = slots[REGISTER];
	pthread_mutex_lock(&strings_lock);
	for (int i = 0; i < NAMES && of_text; i++) {
		if (!strings[i].text) {
			strings[i].text = text;
			strings[i].handle = of_text(domain, text);
		}
		if (strings[i].text == text) {
			handle = strings[i].handle;
			break;
		}
	}
	pthread_mutex_unlock(&strings_lock);
	return handle;
}

static void push(const char *name, const void *data, size_t bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct payload payload = {0x1000004, bytes, data};
	struct attributes attributes = {.version = 3, .bytes = sizeof(attributes), .payload_type = (int32_t)0xDFBD0009,
		.payload_count = data ? 1 : 0, .payload = data ? &payload : NULL, .message_type = 3};
	int (*begin)(void *, const struct attributes *);

	pthread_once(&once, load_injection);
	*(void **)&begin = slots[PUSH];
	if (!begin)
		return;
	attributes.message = registered(name);
	begin(domain, &attributes);
}

static void pop(void)
{
	int (*end)(void *);

	*(void **)&end = slots[POP];
	if (end)
		end(domain);
}

/* ---- collectives ---- */

struct operation {
	const char *name; /* ncclAllReduce */
	const char *kernel;
	uint64_t bytes;
	int type;
	struct communicator *communicator;
	void *stream;
};

static __thread struct {
	int depth, count;
	struct operation queued[QUEUED];
} group;

/* Bytes of an element by ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 f16 f32 f64 bf16 f8 f8. */
static uint64_t element_bytes(int type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

/* One kernel a group, named for its first operation; as many blocks as there are channels: one a 512 KiB, at most 24. */
static int launch(const struct operation *first, int count)
{
	uint64_t bytes = 0;
	uint32_t channels;

	for (int i = 0; i < count; i++)
		bytes += first[i].bytes;
	channels = sim_tiles(bytes, 512 << 10);
	return sim_library_launch(first->kernel, channels > 24 ? 24 : channels, 1, 1, 544, 82240, first->stream) ? 1 : 0;
}

static int submit(struct operation operation)
{
	if (!operation.communicator || !element_bytes(operation.type))
		return 4;
	if (!group.depth)
		return launch(&operation, 1);
	if (group.count == QUEUED)
		return 5;
	group.queued[group.count++] = operation;
	return 0;
}

#define NCCL(type, name, parameters) \
	type name parameters __attribute__((weak, visibility("default"), alias("p" #name))); \
	SIM_LIBRARY_API type p##name parameters

/* The payload of those with an operation, a root or a peer; the upper half of the last word is padding. */
struct words {
	uint64_t communicator, bytes;
	uint32_t last, pad;
};

#define RANGE(name, communicator_pointer, byte_count, last_word, payload_bytes) \
	struct words words = {(communicator_pointer) ? (communicator_pointer)->hash : 0, byte_count, (uint32_t)(last_word), 0x1a1a1a1a}; \
	push(name, &words, payload_bytes)

NCCL(int, ncclAllReduce, (const void *from, void *to, size_t count, int type, int op, struct communicator *communicator, void *stream))
{
	int result;
	RANGE("ncclAllReduce", communicator, count * element_bytes(type), op, 24);

	(void)from, (void)to;
	result = submit((struct operation){"ncclAllReduce",
		"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclReduceScatter, (const void *from, void *to, size_t count, int type, int op, struct communicator *communicator,
	void *stream))
{
	int result;
	RANGE("ncclReduceScatter", communicator, count * element_bytes(type), op, 24);

	(void)from, (void)to;
	result = submit((struct operation){"ncclReduceScatter",
		"_Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclAllGather, (const void *from, void *to, size_t count, int type, struct communicator *communicator, void *stream))
{
	int result;
	RANGE("ncclAllGather", communicator, count * element_bytes(type), 0, 16);

	(void)from, (void)to;
	result = submit((struct operation){"ncclAllGather", "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclBroadcast, (const void *from, void *to, size_t count, int type, int root, struct communicator *communicator,
	void *stream))
{
	int result;
	RANGE("ncclBroadcast", communicator, count * element_bytes(type), root, 24);

	(void)from, (void)to;
	result = submit((struct operation){"ncclBroadcast", "_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

/* Calls the public name, as the real one does: through the PLT, where a hook sits. */
NCCL(int, ncclBcast, (void *buffer, size_t count, int type, int root, struct communicator *communicator, void *stream))
{
	return ncclBroadcast(buffer, buffer, count, type, root, communicator, stream);
}

NCCL(int, ncclReduce, (const void *from, void *to, size_t count, int type, int op, int root, struct communicator *communicator,
	void *stream))
{
	int result;
	RANGE("ncclReduce", communicator, count * element_bytes(type), root, 24);

	(void)from, (void)to, (void)op;
	result = submit((struct operation){"ncclReduce", "_Z36ncclDevKernel_Reduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclSend, (const void *from, size_t count, int type, int peer, struct communicator *communicator, void *stream))
{
	int result;
	RANGE("ncclSend", communicator, count * element_bytes(type), peer, 24);

	(void)from;
	result = submit((struct operation){"ncclSend", "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclRecv, (void *to, size_t count, int type, int peer, struct communicator *communicator, void *stream))
{
	int result;
	RANGE("ncclRecv", communicator, count * element_bytes(type), peer, 24);

	(void)to;
	result = submit((struct operation){"ncclRecv", "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
		count * element_bytes(type), type, communicator, stream});
	pop();
	return result;
}

NCCL(int, ncclGroupStart, (void))
{
	push("ncclGroupStart", NULL, 0);
	group.depth++;
	pop();
	return 0;
}

NCCL(int, ncclGroupEnd, (void))
{
	int result = group.depth ? 0 : 5;

	push("ncclGroupEnd", NULL, 0);
	if (group.depth && !--group.depth && group.count) {
		result = launch(group.queued, group.count);
		group.count = 0;
	}
	pop();
	return result;
}

/* ---- communicators ---- */

struct unique_id {
	char bytes[128];
};

NCCL(int, ncclGetVersion, (int *version))
{
	if (!version)
		return 4;
	*version = 22809;
	return 0;
}

NCCL(int, ncclGetUniqueId, (struct unique_id *id))
{
	if (!id)
		return 4;
	memset(id, 0, sizeof(*id));
	snprintf(id->bytes, sizeof(id->bytes), "simulated %d", getpid());
	return 0;
}

static uint64_t hash_of(const struct unique_id *id)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(id->bytes); i++)
		hash = (hash ^ (uint8_t)id->bytes[i]) * 0x100000001b3;
	return hash;
}

static struct communicator *new_communicator(uint64_t hash, int ranks, int rank, int device)
{
	struct communicator *communicator = calloc(1, sizeof(*communicator));

	*communicator = (struct communicator){hash, ranks, rank, device};
	return communicator;
}

NCCL(int, ncclCommInitRank, (struct communicator **communicator, int ranks, struct unique_id id, int rank))
{
	struct {
		uint64_t communicator;
		int ranks, rank, device;
	} words = {hash_of(&id), ranks, rank, 0};

	if (!communicator || ranks < 1 || rank < 0 || rank >= ranks)
		return 4;
	if (!sim_device_count())
		return 1;
	words.device = sim_context_current() ? sim_context_device(sim_context_current()) : 0;
	push("ncclCommInitRank", &words, 24);
	*communicator = new_communicator(words.communicator, ranks, rank, words.device);
	pop();
	return 0;
}

NCCL(int, ncclCommInitRankConfig, (struct communicator **communicator, int ranks, struct unique_id id, int rank, void *config))
{
	(void)config;
	return pncclCommInitRank(communicator, ranks, id, rank);
}

NCCL(int, ncclCommInitAll, (struct communicator **communicators, int count, const int *devices))
{
	struct unique_id id;

	if (!communicators || count < 1)
		return 4;
	pncclGetUniqueId(&id);
	push("ncclCommInitAll", NULL, 0);
	for (int i = 0; i < count; i++)
		communicators[i] = new_communicator(hash_of(&id), count, i, devices ? devices[i] : i);
	pop();
	return 0;
}

NCCL(int, ncclCommCount, (struct communicator *communicator, int *count))
{
	if (!communicator || !count)
		return 4;
	*count = communicator->ranks;
	return 0;
}

NCCL(int, ncclCommUserRank, (struct communicator *communicator, int *rank))
{
	if (!communicator || !rank)
		return 4;
	*rank = communicator->rank;
	return 0;
}

NCCL(int, ncclCommDestroy, (struct communicator *communicator))
{
	if (!communicator)
		return 0;
	push("ncclCommDestroy", NULL, 0);
	free(communicator);
	pop();
	return 0;
}

NCCL(int, ncclCommGetAsyncError, (struct communicator *communicator, int *error))
{
	if (!communicator || !error)
		return 4;
	*error = 0;
	return 0;
}

NCCL(int, ncclCommCuDevice, (struct communicator *communicator, int *device))
{
	if (!communicator || !device)
		return 4;
	*device = communicator->device;
	return 0;
}

NCCL(int, ncclCommFinalize, (struct communicator *communicator))
{
	return communicator ? 0 : 4;
}

NCCL(int, ncclCommAbort, (struct communicator *communicator))
{
	return pncclCommDestroy(communicator);
}

NCCL(int, ncclCommRegister, (struct communicator *communicator, void *buffer, size_t bytes, void **handle))
{
	(void)bytes;
	if (!communicator || !handle)
		return 4;
	*handle = buffer;
	return 0;
}

NCCL(int, ncclCommDeregister, (struct communicator *communicator, void *handle))
{
	(void)handle;
	return communicator ? 0 : 4;
}

NCCL(int, ncclRedOpDestroy, (int op, struct communicator *communicator))
{
	(void)op;
	return communicator ? 0 : 4;
}

NCCL(const char *, ncclGetErrorString, (int result))
{
	return result ? "simulated error" : "no error";
}

NCCL(const char *, ncclGetLastError, (struct communicator *communicator))
{
	(void)communicator;
	return "";
}

#define SIM_LIBRARY_NOT(name) NCCL(int, name, (void)) { return 5; }
#include "library_nccl_not.def"
