/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI as we use it: the numbers, the front part of its records, and the table of its functions.
 *
 * Rule: no header of NVIDIA is needed to build. Records only ever grew at their ends (11.7 to 13.5), so a struct here is
 * the front of every version's, with natural alignment; a field behind the oldest size is read only where the stride of
 * the loaded library (tfp_cupti_strides) reaches past it. test/sim compares these layouts with NVIDIA's headers.
 */
#ifndef TFP_COLLECTORS_CUPTI_API_H
#define TFP_COLLECTORS_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

enum tfp_cupti_kind {
	TFP_CUPTI_MEMCPY = 1,
	TFP_CUPTI_MEMSET = 2,
	TFP_CUPTI_KERNEL = 3,
	TFP_CUPTI_DRIVER = 4,
	TFP_CUPTI_RUNTIME = 5,
	TFP_CUPTI_DEVICE = 8,
	TFP_CUPTI_CONTEXT = 9,
	TFP_CUPTI_CONCURRENT_KERNEL = 10,
	TFP_CUPTI_NAME = 11,
	TFP_CUPTI_OVERHEAD = 17,
	TFP_CUPTI_MEMCPY2 = 22,
	TFP_CUPTI_UNIFIED_MEMORY = 25,
	TFP_CUPTI_STREAM = 37,
	TFP_CUPTI_SYNCHRONIZATION = 38,
	TFP_CUPTI_MEMORY2 = 49,
	TFP_CUPTI_MEMORY_POOL = 50,
	TFP_CUPTI_GRAPH_TRACE = 51,
	TFP_CUPTI_JIT = 52,
	TFP_CUPTI_KINDS = 64, /* more than any version numbers */
};

enum tfp_cupti_result {
	TFP_CUPTI_SUCCESS = 0,
	TFP_CUPTI_INVALID_DEVICE = 2,
	TFP_CUPTI_MAX_LIMIT_REACHED = 12, /* the end of a buffer */
	TFP_CUPTI_NOT_INITIALIZED = 15,
	TFP_CUPTI_INVALID_KIND = 21,
	TFP_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	TFP_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	TFP_CUPTI_UNKNOWN = 999,
};

enum tfp_cupti_domain {
	TFP_CUPTI_DOMAIN_DRIVER = 1,
	TFP_CUPTI_DOMAIN_RUNTIME = 2,
	TFP_CUPTI_DOMAIN_RESOURCE = 3,
	TFP_CUPTI_DOMAIN_STATE = 6,
};

enum tfp_cupti_resource {
	TFP_CUPTI_CONTEXT_CREATED = 1,
	TFP_CUPTI_CONTEXT_DESTROYED = 2,
	TFP_CUPTI_STREAM_CREATED = 3,
	TFP_CUPTI_MODULE_LOADED = 6,
	TFP_CUPTI_MODULE_UNLOADED = 7,
	TFP_CUPTI_NODE_CREATED = 13,
	TFP_CUPTI_NODE_CLONED = 20,
};

#define TFP_CUPTI_STATE_FATAL 1 /* of the state domain: CUPTI has taken itself down */

/* CUpti_ActivityAttribute, set before the first context */
enum tfp_cupti_attribute {
	TFP_CUPTI_DEVICE_BUFFER_SIZE = 0,       /* size_t */
	TFP_CUPTI_DEVICE_BUFFER_POOL_LIMIT = 2, /* size_t */
	TFP_CUPTI_ZEROED_BUFFERS = 5,           /* uint8_t */
	TFP_CUPTI_PER_THREAD_BUFFERS = 9,       /* uint8_t */
};

/* Kinds 3 and 10. 176 bytes in 11.7, 200 in 11.8, 208 in 12.0, 216 in 13.0 and longer since. */
struct tfp_cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t unused1[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_bytes, local_total, correlation;
	int64_t grid_id;
	const char *name;
	void *unused2;
	uint64_t queued, submitted;
	uint8_t launch_type, unused3[3];
	uint32_t executed_shared;
	uint64_t node;
	uint32_t unused4, graph;
	void *unused5;
	uint32_t channel, channel_kind;
	uint32_t cluster[3], cluster_policy; /* from 200 bytes */
	uint64_t local_total64;
	uint32_t potential_clusters, max_clusters; /* from 208 */
};

/* Kind 1. 88 bytes in 11.7, 96 in 12.8. */
struct tfp_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, source, destination, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, unused1;
	void *unused2;
	uint64_t node;
	uint32_t graph, channel, channel_kind, unused3;
	uint64_t count; /* from 96 */
};

/* Kind 22. 96 bytes. */
struct tfp_cupti_memcpy2 {
	uint32_t kind;
	uint8_t copy, source, destination, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, source_device, source_context, destination_device, destination_context, correlation;
	void *unused1;
	uint64_t node;
	uint32_t graph, channel, channel_kind, unused2;
};

/* Kind 2. 88 bytes. */
struct tfp_cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t unused1;
	void *unused2;
	uint64_t node;
	uint32_t graph, channel, channel_kind, unused3;
};

/* Kind 38. 40 bytes. */
struct tfp_cupti_wait {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};

/* Kind 49. 120 bytes. */
struct tfp_cupti_memory {
	uint32_t kind, operation, memory, correlation;
	uint64_t address, bytes, timestamp, pc;
	uint32_t process, device, context, stream;
	const char *name;
	uint32_t is_async, unused1;
	uint32_t pool_kind, unused2; /* 0 none, 1 local, 2 imported */
	uint64_t pool, threshold, pool_bytes, pool_used;
};

/* Kind 50. 72 bytes. */
struct tfp_cupti_pool {
	uint32_t kind, operation, pool_kind, correlation, process, device;
	uint64_t keep, address, bytes, threshold, timestamp, used;
};

/* Kind 17. 40 bytes, 48 in 12.3, 56 in 12.4. */
struct tfp_cupti_overhead {
	uint32_t kind, overhead, object;
	uint32_t object_id[3]; /* process, thread */
	uint64_t start, end;
	uint32_t correlation, unused1; /* from 48 */
	void *data; /* from 56; made by malloc for whoever reads the record */
};

/* Kind 51. 48 bytes. */
struct tfp_cupti_graph {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
	void *unused1;
};

/* Kind 52. 64 bytes. */
struct tfp_cupti_jit {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, unused1;
	uint64_t jit_correlation, cache_bytes;
	const char *cache_path;
};

/* Kind 8. 176 bytes. */
struct tfp_cupti_device {
	uint32_t kind, flags;
	uint64_t bandwidth, memory; /* kB a second, bytes */
	uint32_t constant_memory, l2_bytes, warp, clock_khz, copy_engines, multiprocessors, max_ipc, warps, blocks,
		shared_bytes, registers, block_registers, block_shared_bytes, block_threads, block_dim[3], grid_dim[3], major,
		minor, id, ecc;
	uint8_t uuid[16];
	const char *name;
	uint8_t is_visible, is_mig, unused1[6];
	uint32_t gpu_instance, compute_instance;
	uint8_t mig_uuid[16];
};

/* Kind 9. 16 bytes, 24 in 12.4. */
struct tfp_cupti_context {
	uint32_t kind, context, device;
	uint16_t api, null_stream;
	uint32_t parent; /* from 24 */
	uint8_t is_green, unused1;
	uint16_t multiprocessors;
};

/* Kind 37. 24 bytes. */
struct tfp_cupti_stream {
	uint32_t kind, context, stream, priority, flag, correlation;
};

/* Kind 11. 32 bytes. */
struct tfp_cupti_name {
	uint32_t kind, object;
	uint32_t object_id[3]; /* process, thread; or device, context, stream */
	uint32_t unused1;
	const char *name;
};

/* Kind 25. 64 bytes. */
struct tfp_cupti_managed {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t source, destination, stream, process, flags, unused1;
};

/* What a callback of the driver and runtime domains gets. */
struct tfp_cupti_call {
	uint32_t site; /* 0 enter, 1 exit */
	const char *function;
	const void *parameters;
	const void *result; /* of the function: a uint32_t, at exit */
	const char *symbol; /* launches: the kernel's mangled name */
	void *context;
	uint32_t context_id;
	uint64_t *scratch;  /* kept from enter to exit of one call */
	uint32_t correlation;
};

struct tfp_cupti_resource_data {
	void *context, *handle, *descriptor;
};

struct tfp_cupti_module_data {
	uint32_t module;
	size_t bytes;
	const char *cubin;
};

struct tfp_cupti_graph_data {
	void *graph, *original_graph, *node, *original_node;
	uint32_t node_type;
};

struct tfp_cupti_managed_config {
	uint32_t scope, counter, device, is_enabled;
};

typedef uint64_t tfp_cupti_clock(void); /* ns */
typedef void tfp_cupti_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void tfp_cupti_requested(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void tfp_cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

/*
 * TFP_CUPTI_FUNCTION(is_needed, field, name, parameters): what we take from the library. Where a needed one is missing
 * CUPTI is not used; another may stay NULL.
 */
#define TFP_CUPTI_FUNCTIONS(TFP_CUPTI_FUNCTION) \
	TFP_CUPTI_FUNCTION(1, get_version, "cuptiGetVersion", (uint32_t *)) \
	TFP_CUPTI_FUNCTION(1, subscribe, "cuptiSubscribe", (void **, tfp_cupti_callback *, void *)) \
	TFP_CUPTI_FUNCTION(1, unsubscribe, "cuptiUnsubscribe", (void *)) \
	TFP_CUPTI_FUNCTION(1, enable_callback, "cuptiEnableCallback", (uint32_t, void *, uint32_t, uint32_t)) \
	TFP_CUPTI_FUNCTION(1, register_callbacks, "cuptiActivityRegisterCallbacks", (tfp_cupti_requested *, tfp_cupti_completed *)) \
	TFP_CUPTI_FUNCTION(1, enable, "cuptiActivityEnable", (uint32_t)) \
	TFP_CUPTI_FUNCTION(1, disable, "cuptiActivityDisable", (uint32_t)) \
	TFP_CUPTI_FUNCTION(1, next_record, "cuptiActivityGetNextRecord", (uint8_t *, size_t, const void **)) \
	TFP_CUPTI_FUNCTION(1, flush_all, "cuptiActivityFlushAll", (uint32_t)) \
	TFP_CUPTI_FUNCTION(1, dropped, "cuptiActivityGetNumDroppedRecords", (void *, uint32_t, size_t *)) \
	TFP_CUPTI_FUNCTION(1, timestamp, "cuptiGetTimestamp", (uint64_t *)) \
	TFP_CUPTI_FUNCTION(0, enable_domain, "cuptiEnableDomain", (uint32_t, void *, uint32_t)) \
	TFP_CUPTI_FUNCTION(0, set_attribute, "cuptiActivitySetAttribute", (uint32_t, size_t *, void *)) \
	TFP_CUPTI_FUNCTION(0, get_attribute, "cuptiActivityGetAttribute", (uint32_t, size_t *, void *)) \
	TFP_CUPTI_FUNCTION(0, set_clock, "cuptiActivityRegisterTimestampCallback", (tfp_cupti_clock *)) \
	TFP_CUPTI_FUNCTION(0, get_thread_id_type, "cuptiGetThreadIdType", (uint32_t *)) \
	TFP_CUPTI_FUNCTION(0, thread_id_type, "cuptiSetThreadIdType", (uint32_t)) \
	TFP_CUPTI_FUNCTION(0, context_id, "cuptiGetContextId", (void *, uint32_t *)) \
	TFP_CUPTI_FUNCTION(0, stream_id, "cuptiGetStreamIdEx", (void *, void *, uint8_t, uint32_t *)) \
	TFP_CUPTI_FUNCTION(0, graph_id, "cuptiGetGraphId", (void *, uint32_t *)) \
	TFP_CUPTI_FUNCTION(0, node_id, "cuptiGetGraphNodeId", (void *, uint64_t *)) \
	TFP_CUPTI_FUNCTION(0, managed_counters, "cuptiActivityConfigureUnifiedMemoryCounter", \
			   (struct tfp_cupti_managed_config *, uint32_t)) \
	TFP_CUPTI_FUNCTION(0, struct_size, "cuptiActivityGetStructSize", (void))

struct tfp_cupti_api {
#define TFP_CUPTI_FUNCTION(is_needed, field, name, parameters) int(*field) parameters;
	TFP_CUPTI_FUNCTIONS(TFP_CUPTI_FUNCTION)
#undef TFP_CUPTI_FUNCTION
	int has_session_question; /* cuptiIsTracingSessionRunning is there: from 13.3 on */
	uint32_t version; /* as cuptiGetVersion has it: 18 = 11.8 to 12.1, 130001 = 13.0.1 */
	uint32_t driver;  /* as cuDriverGetVersion has it: 12040 = CUDA 12.4; 0 = it gave no answer */
	char path[512];   /* of the library */
};

/* Bytes from one record of a kind to the next, as the loaded library writes them; 0 = not known. */
struct tfp_cupti_strides {
	uint16_t of[TFP_CUPTI_KINDS];
};

/* What the environment says of where it may lie; "" = nothing. */
struct tfp_cupti_places {
	const char *toolkit; /* CUDA_HOME, CUDA_PATH */
	const char *search;  /* PATH */
};

/*
 * Finds and opens libcupti and its functions; calls none of them. 0, or -1: `api->path` then says what was missing, in
 * words. Only once the driver is known to work. May block in the loader.
 */
int tfp_cupti_open(struct tfp_cupti_api *api, const struct tfp_cupti_places *places);

/* The library alone, opened, and its name in `api->path`; NULL = there is none that the driver, `api->driver`, serves. */
void *tfp_cupti_find(struct tfp_cupti_api *api, const struct tfp_cupti_places *places);

/* Whether that library is one of those that recurse to death where the driver does not work (13.2), told by its names. */
int tfp_cupti_is_fragile(const struct tfp_cupti_api *api);

/* Asks the library how long its records are. Kinds that it does not know stay 0. Only while it is subscribed to. */
void tfp_cupti_measure(const struct tfp_cupti_api *api, struct tfp_cupti_strides *strides);

#endif
