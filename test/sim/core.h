/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated GPU's core (libsimgpu.so): what the fronts libcuda, libcudart and libcupti share.
 *
 * Rule: no header of the product is included here or in any file of this folder, and none of these by the product, so
 * that the two cannot share a misreading. Numbers of CUDA and CUPTI stand here as the vendor's documents give them.
 *
 * Time. True time is CLOCK_REALTIME in ns (or a virtual clock, see scenario.h): submissions, waits and the schedule live
 * in it. What a device says of its own work is sim_clock_device() of the true time: drift, steps and granularity of the
 * scenario applied. Structs below carry device time in start and end, and true time in true_start and true_end.
 *
 * Schedule. Start and end of work are settled when it is submitted, from the tails of its stream and its engine; nothing
 * later moves them. When true time has passed an end, somebody retires the work: a thread that waits, or the core's own
 * thread. Work retires in order of (true_end, number) over all devices; bytes move and subscribers hear of it then.
 */
#ifndef TFPROF_TEST_SIM_CORE_H
#define TFPROF_TEST_SIM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NONE 0xffffffffu

/* ---- results: CUresult and cudaError_t share these ---- */
enum sim_result {
	SIM_OK = 0,
	SIM_INVALID_VALUE = 1,
	SIM_OUT_OF_MEMORY = 2,
	SIM_NOT_INITIALIZED = 3,
	SIM_DEINITIALIZED = 4,
	SIM_INVALID_CONFIGURATION = 9,
	SIM_INSUFFICIENT_DRIVER = 35,
	SIM_INVALID_FUNCTION = 98,
	SIM_NO_DEVICE = 100,
	SIM_INVALID_DEVICE = 101,
	SIM_INVALID_IMAGE = 200,
	SIM_INVALID_CONTEXT = 201,
	SIM_NO_BINARY = 209,
	SIM_PEER_UNSUPPORTED = 217,
	SIM_FILE_NOT_FOUND = 301,
	SIM_INVALID_HANDLE = 400,
	SIM_ILLEGAL_STATE = 401,
	SIM_NOT_FOUND = 500,
	SIM_NOT_READY = 600,
	SIM_ILLEGAL_ADDRESS = 700,
	SIM_PEER_ENABLED = 704,
	SIM_PEER_NOT_ENABLED = 705,
	SIM_CONTEXT_DESTROYED = 709,
	SIM_HOST_REGISTERED = 712,
	SIM_HOST_NOT_REGISTERED = 713,
	SIM_LAUNCH_FAILED = 719,
	SIM_NOT_PERMITTED = 800,
	SIM_NOT_SUPPORTED = 801,
	SIM_CAPTURE_UNSUPPORTED = 900,
	SIM_CAPTURE_INVALIDATED = 901,
	SIM_CAPTURE_UNMATCHED = 903,
	SIM_CAPTURE_UNJOINED = 904,
	SIM_CAPTURE_IMPLICIT = 906,
	SIM_CAPTURE_WRONG_THREAD = 908,
	SIM_GRAPH_UPDATE_FAILED = 910,
	SIM_DEVICE_LOST = 46, /* cudaErrorDevicesUnavailable */
	SIM_UNKNOWN = 999,
};

/* ---- objects ---- the handles that programs hold (CUcontext, CUstream, ...) are pointers to these */

struct sim_device {
	int ordinal;
	char name[64];
	uint8_t uuid[16];
	int major, minor;	/* compute capability */
	int sm_count;
	int clock_khz, memory_clock_khz, memory_bus_bits;
	int pci_domain, pci_bus, pci_device;
	size_t capacity, reserved_by_system;	/* bytes; free at start = capacity - reserved_by_system */
	size_t l2_bytes, constant_bytes;
	int max_threads_per_block, max_threads_per_sm, max_blocks_per_sm, warp_size;
	int max_grid[3], max_block[3];
	int registers_per_block, registers_per_sm;
	size_t shared_per_block, shared_per_block_optin, shared_per_sm;
	int copy_engines;
};

struct sim_context;	/* CUcontext */
struct sim_stream;	/* CUstream */
struct sim_event;	/* CUevent */
struct sim_graph;	/* CUgraph */
struct sim_node;	/* CUgraphNode */
struct sim_graph_exec;	/* CUgraphExec */
struct sim_module;	/* CUmodule, CUlibrary */
struct sim_function;	/* CUfunction, CUkernel */
struct sim_pool;	/* CUmemoryPool */

int sim_device_count(void);
struct sim_device *sim_device_at(int ordinal);	/* NULL when out of range */
void sim_describe_device(int number, struct sim_device *facts);	/* of the machine, also where CUDA_VISIBLE_DEVICES hides it */

/* Ids as CUPTI numbers them. A handle that is no live object gives SIM_NONE. */
uint32_t sim_context_id(struct sim_context *context);
int sim_context_device(struct sim_context *context);
struct sim_context *sim_context_current(void);	/* of this thread, NULL = none */
struct sim_context *sim_context_by_id(uint32_t id);
/* handle: as programs pass it, 0, 1 (legacy) and 2 (per thread) included; is_per_thread says what 0 means. */
uint32_t sim_stream_id(struct sim_context *context, void *handle, bool is_per_thread);
uint32_t sim_event_id(struct sim_event *event);
uint32_t sim_graph_id(struct sim_graph *graph);
uint32_t sim_graph_exec_id(struct sim_graph_exec *exec);
uint64_t sim_node_id(struct sim_node *node);

struct sim_context_info {
	uint32_t id;
	int device;
	uint32_t null_stream_id;
	struct sim_context *context;
};
struct sim_stream_info {
	uint32_t id, context_id;
	int priority;
	uint32_t flags;		/* 1 = non-blocking */
	int kind;		/* 0 made by the program, 1 legacy default, 2 per-thread default */
	struct sim_context *context;
	struct sim_stream *stream;
};

/* ---- API calls ---- */

enum sim_domain { SIM_DRIVER = 1, SIM_RUNTIME = 2 };	/* CUpti_CallbackDomain */

/* One call in progress, on the stack of the thread that makes it. Nested calls share the correlation id. */
struct sim_call {
	uint32_t domain;
	uint32_t cbid;		/* CUpti_runtime_api_trace_cbid or CUpti_driver_api_trace_cbid */
	const char *name;	/* as CUPTI gives it: "cudaLaunchKernel", twins with _ptsz */
	const void *params;	/* struct of the arguments, in order, natural alignment */
	const char *symbol;	/* mangled kernel name for launches, set before enter; else NULL */
	const int *result;	/* valid at exit */
	struct sim_context *context;
	uint32_t context_id;
	uint32_t correlation;
	uint64_t correlation_data;	/* the subscriber's word, lives from enter to exit */
	uint64_t start, end;	/* true time; end is valid at exit */
	uint32_t thread;	/* gettid() */
	bool is_per_thread;	/* a _ptsz or _ptds twin: stream 0 is the thread's own */
	struct sim_call *outer;	/* the call of this thread inside which this one is made, or NULL */
};

/* ---- work of the device ---- */

enum sim_work_kind {
	SIM_KERNEL = 1,
	SIM_COPY,
	SIM_SET,
	SIM_HOST_FUNCTION,
	SIM_EVENT_RECORD,	/* an event's place in a stream; start = end */
	SIM_GRAPH,		/* a whole graph launch: from its first node's start to its last node's end */
	SIM_ACTION,		/* inner: free in stream order and the like; subscribers do not see it */
};

struct sim_kernel_work {
	const char *name;	/* mangled; lives as long as its module */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t static_shared, dynamic_shared, local_per_thread, registers;
	uint64_t local_total;
	uint64_t grid_id;	/* unique in the process */
	uint64_t queued, submitted;	/* device time */
	uint32_t module_id, function_index;
	uint8_t launch_type;	/* 0 regular, 1 cooperative, 2 cooperative on many devices */
	int priority;
	const void *module_memory;	/* the module object; poisoned by the fault that frees names */
};

/* Memory kinds as CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, 6 device static. */
struct sim_copy_work {
	uint64_t bytes;
	uint8_t kind;		/* CUpti_ActivityMemcpyKind: 1 HtoD 2 DtoH 3 HtoA 4 AtoH 5 AtoA 6 AtoD 7 DtoA 8 DtoD 9 HtoH 10 PtoP */
	uint8_t source_kind, destination_kind;
	bool is_async;
	int source_device, destination_device;		/* -1 = host */
	uint32_t source_context, destination_context;	/* 0 = none */
	uint64_t source, destination;			/* addresses, for the oracle */
	uint32_t runtime_correlation;
};

struct sim_set_work {
	uint64_t bytes;
	uint64_t destination;
	uint32_t value;
	uint8_t memory_kind;
	bool is_async;
};

struct sim_event_work {
	uint32_t event_id;
	uint64_t sync_id;
	bool has_timing;
};

struct sim_work {
	enum sim_work_kind kind;
	uint64_t number;	/* 1, 2, ... in order of submission; the oracle's key */
	uint32_t correlation;
	int device;
	uint32_t context_id, stream_id;
	uint32_t graph_id;	/* of the executable graph, 0 = none */
	uint64_t node_id;	/* of the executable graph's node, 0 = none */
	uint32_t source_graph_id;	/* of the graph that was instantiated, 0 = none */
	uint64_t source_node_id;
	uint64_t start, end;	/* device time */
	uint64_t true_start, true_end;
	uint32_t thread;	/* that submitted it */
	union {
		struct sim_kernel_work kernel;
		struct sim_copy_work copy;
		struct sim_set_work set;
		struct sim_event_work event;
	};
};

/* The host waited (CUpti_ActivitySynchronization): kind 1 event, 2 stream waits for event, 3 stream, 4 context. */
struct sim_wait {
	uint8_t kind;
	uint32_t correlation, context_id, stream_id, event_id;	/* SIM_NONE where it does not apply */
	uint64_t event_sync_id;
	uint64_t start, end;	/* true time: the host's clock */
	int result;
};

struct sim_memory {
	uint8_t operation;	/* 1 allocated, 2 released */
	uint8_t kind;		/* memory kind as above */
	bool is_async, is_pooled;
	uint32_t correlation, context_id, stream_id;	/* stream: SIM_NONE when not asynchronous */
	int device;
	uint64_t address, bytes, timestamp;	/* timestamp: true time */
	struct sim_pool *pool;
	uint64_t pool_bytes, pool_used, pool_threshold;	/* after it: reserved, handed out, release threshold */
	uint8_t pool_type;	/* 1 local, 2 imported */
	const char *name;	/* variable name of static device memory, or NULL */
	const void *pc;		/* of the caller, or NULL */
};

struct sim_pool_event {
	uint8_t operation;	/* 1 created, 2 destroyed, 3 trimmed */
	uint32_t correlation;
	int device;
	struct sim_pool *pool;
	uint64_t bytes, threshold, kept_bytes, used, timestamp;
};

struct sim_jit {
	uint8_t entry;		/* 1 PTX to cubin, 2 NVVM to PTX */
	uint8_t operation;	/* 1 cache load, 2 cache store, 3 compile */
	int device;
	uint32_t correlation, thread;
	uint64_t number;	/* of the operation */
	uint64_t cache_bytes;
	const char *cache_path;
	uint64_t start, end;	/* true time */
};

struct sim_overhead {
	/* CUpti_ActivityOverheadKind: 1; 65536 * {1 flush 2 instrumentation 3 resource 4 module load 5 lazy function
	 * 6 command buffer full 7 buffer request 8 UVM init} */
	uint32_t kind;
	uint32_t correlation, thread;
	uint64_t start, end;	/* true time */
};

/* A move of managed memory: kind 1 bytes to device, 2 bytes to host, 3 CPU page faults, 4 GPU page fault. */
struct sim_unified {
	uint8_t kind;
	uint64_t value;		/* bytes, or number of faults */
	uint64_t start, end;	/* device time; CPU faults: end = 0 */
	uint64_t address;
	uint32_t source, destination;	/* device ordinals; SIM_NONE = host */
	uint32_t stream_id, context_id, flags;
};

/* CUpti_CallbackIdResource */
enum sim_resource_kind {
	SIM_CONTEXT_CREATED = 1,
	SIM_CONTEXT_DESTROY_STARTING = 2,
	SIM_STREAM_CREATED = 3,
	SIM_STREAM_DESTROY_STARTING = 4,
	SIM_INIT_FINISHED = 5,
	SIM_MODULE_LOADED = 6,
	SIM_MODULE_UNLOAD_STARTING = 7,
	SIM_GRAPH_CREATED = 9,
	SIM_GRAPH_DESTROY_STARTING = 10,
	SIM_GRAPH_CLONED = 11,
	SIM_NODE_CREATE_STARTING = 12,
	SIM_NODE_CREATED = 13,
	SIM_NODE_DESTROY_STARTING = 14,
	SIM_NODE_DEPENDENCY_CREATED = 15,
	SIM_NODE_DEPENDENCY_DESTROY_STARTING = 16,
	SIM_EXEC_CREATE_STARTING = 17,
	SIM_EXEC_CREATED = 18,
	SIM_EXEC_DESTROY_STARTING = 19,
	SIM_NODE_CLONED = 20,
};

struct sim_resource {
	enum sim_resource_kind kind;
	struct sim_context *context;
	struct sim_stream *stream;
	/* module */
	uint32_t module_id;
	size_t cubin_size;
	const char *cubin;
	/* graph: fields of CUpti_GraphData */
	struct sim_graph *graph, *original_graph;
	struct sim_node *node, *original_node, *dependency;
	uint32_t node_type;	/* CUgraphNodeType: 0 kernel 1 memcpy 2 memset 3 host 4 graph 5 empty 6 wait 7 record 10 alloc 11 free */
	struct sim_graph_exec *exec;
};

/* A kernel launched by a library with a runtime of its own: cbid 211 around 307, no exported function called. Needs a current
 * context (the program has made one). Returns a cudaError_t. */
int sim_private_launch(const char *name, const uint32_t grid[3], const uint32_t block[3], uint64_t shared, void *stream);

/* ---- subscribing: the CUPTI front ---- */

/*
 * Any entry may be NULL. call, submitted, wait, memory, pool, jit, overhead, resource and error run on the thread that made
 * the API call, with no lock of the core held. work runs on whichever thread retires, one at a time, in order of end; it
 * must not wait for the device nor make API calls, may call sim_clock_* and the id functions. finishing runs once, from the
 * core's exit handler, before the core goes down.
 */
struct sim_subscriber {
	void (*call)(struct sim_call *call, bool is_exit);
	void (*submitted)(const struct sim_work *work);	/* after the schedule is settled, before the API call returns */
	void (*work)(const struct sim_work *work);
	void (*wait)(const struct sim_wait *wait);
	void (*memory)(const struct sim_memory *memory);
	void (*pool)(const struct sim_pool_event *event);
	void (*jit)(const struct sim_jit *jit);
	void (*overhead)(const struct sim_overhead *overhead);
	void (*unified)(const struct sim_unified *unified);
	void (*resource)(const struct sim_resource *resource);
	/* SYNCHRONIZE domain: just after a wait succeeded */
	void (*waiting)(struct sim_context *context, struct sim_stream *stream, bool is_stream);
	void (*error)(int result, const char *message);	/* a context became unusable */
	void (*finishing)(void);
};
/* One subscriber at a time, the newest; NULL takes it away. Returns false where another one has a claim. The struct must stay. */
bool sim_subscribe(const struct sim_subscriber *subscriber);
/* The first copy of libcupti that somebody subscribes to is the process's one, for good. False: it is another. */
bool sim_claim(const struct sim_subscriber *subscriber);
/* Calls back for each live context and stream; for activity kinds enabled late. */
void sim_each_context(void (*each)(const struct sim_context_info *info, void *user), void *user);
void sim_each_stream(void (*each)(const struct sim_stream_info *info, void *user), void *user);
/* Retires all work whose end has passed; with is_all waits for the last piece of all devices first. Any thread, not from a subscriber. */
void sim_retire(bool is_all);
/* True when cuInit has succeeded in this process (and it is not a fork child of one where it had). */
bool sim_is_initialized(void);
bool sim_is_fork_child(void);

/* ---- clocks ---- */
uint64_t sim_clock_now(void);			/* true time, ns */
uint64_t sim_clock_device(int device, uint64_t true_ns);	/* what that device's clock says at that true time */
uint32_t sim_thread_id(void);			/* gettid(), cached */
/* The correlation id of the call in progress on this thread; 0 = none. */
uint32_t sim_correlation(void);

/* ---- scenario (documented in scenario.h) ---- */
/* The value of a line `key value` of the scenario file; the fallback where there is none. Any thread. */
uint64_t sim_setting(const char *key, uint64_t fallback);
double sim_setting_real(const char *key, double fallback);
const char *sim_setting_text(const char *key, const char *fallback);
/* A random number of this process's seeded generator; stream separates users, so that they do not disturb each other. */
uint64_t sim_random(uint32_t stream);

/* ---- oracle ---- */
/* Appends one line (without newline) to the oracle log, if there is one; see oracle.h. Any thread, crash-safe. */
void sim_oracle(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool sim_has_oracle(void);

#endif
