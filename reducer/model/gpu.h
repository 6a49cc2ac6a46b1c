/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process did with GPUs, added up in the one pass over its records: launches paired with what the device did.
 *
 * Rule: a sum keeps the thread, the queue (device, context, stream) and the operation that it belongs to, so that tables can
 * filter and join them. Device durations are the device's own ns; a record whose times are impossible is counted with its
 * reason and left out of sums of time. Times are ns since the start of the run. Numbers of names are places in the arrays
 * below; GPU_NONE = unknown.
 */
#ifndef REDUCER_MODEL_GPU_H
#define REDUCER_MODEL_GPU_H

#include "reducer/model/gpu_fault.h"
#include "reducer/model/gpu_lanes.h"
#include "reducer/model/number_map.h"
#include "reducer/model/spread.h"

#include <stddef.h>
#include <stdint.h>

#define GPU_NONE UINT32_MAX
#define GPU_PLACELESS "device:?" /* account of memory of a device, nobody told of which */

/* What a call asks for, or a device record is. */
enum gpu_kind {
	GPU_OTHER, GPU_LAUNCH, GPU_COPY, GPU_SET, GPU_GRAPH, GPU_ALLOC, GPU_FREE, GPU_SYNC, GPU_EVENT, GPU_STREAM, GPU_MODULE,
	GPU_CONTEXT, GPU_LIBRARY, GPU_GRAPH_WORK, GPU_KINDS
};
const char *gpu_kind_name(enum gpu_kind kind);

/*
 * CUpti_ActivityMemcpyKind of a copy from host to host. The processor makes it, when all work before it in its stream is over, and the
 * calling thread waits ("API synchronization behavior" of CUDA's manual). CUPTI's record begins with the call: it covers the waiting,
 * overlaps the work that it waits for, and says of no device that it worked.
 */
#define GPU_COPY_ON_HOST 9

/* Every launch (kernel, copy, set, graph) is in exactly one class. Calls that started nothing are no launches. */
enum gpu_pairing { GPU_PAIRED, GPU_DEVICE_ONLY, GPU_HOST_ONLY, GPU_NOT_LAUNCHED, GPU_PAIRINGS };
const char *gpu_pairing_name(enum gpu_pairing pairing);

/* Why a call has no device record, or a device record no call. gpu_reasons.def says each in words. */
enum gpu_reason {
#define GPU_REASON(name, text) GPU_REASON_##name,
#include "reducer/model/gpu_reasons.def"
#undef GPU_REASON
	GPU_REASONS
};
const char *gpu_reason_text(enum gpu_reason reason);

/* What is impossible about the times of a device record; more than one bit may be set. */
enum gpu_impossible {
	GPU_NO_TIME = 1,      /* start and end are 0 */
	GPU_BACKWARDS = 2,    /* the end lies before the start */
	GPU_BEFORE_CALL = 4,  /* started before its call began, by more than the clock's error and GPU_SKEW_NS */
	GPU_IN_FUTURE = 8,    /* ended after it was read from CUPTI, by more than that */
};
#define GPU_IMPOSSIBLE_KINDS 4
#define GPU_SKEW_NS 20000 /* ns that the clocks of host and device may differ on real hardware, see docs/glossary.md */

/* What a function takes with it: a device's primary context, if that was its last holder, or the context named; or makes one. */
enum gpu_ending { GPU_ENDS_NOTHING, GPU_ENDS_DEVICE, GPU_ENDS_LAST_HOLDER, GPU_ENDS_CONTEXT, GPU_MAKES_CONTEXT };

struct gpu_function {
	uint32_t number;   /* as in gpu_call.function */
	enum gpu_kind kind;
	const char *name, *library, *arguments;
	enum gpu_ending ending;
};

struct process;

struct gpu_device {
	uint32_t id;       /* CUDA ordinal */
	const char *name;
	uint8_t uuid[16];
	uint32_t has_uuid, is_mig;
	uint64_t major, minor, multiprocessors, memory_bytes, bandwidth, clock, l2_bytes, warp, warps, blocks, shared_bytes, registers,
		block_shared_bytes;
	uint64_t least_free, total; /* the driver's own answers (device_room); total 0 = never asked */
	uint64_t answers;
};

struct gpu_context {
	uint32_t id, device, null_stream;
};

struct gpu_stream {
	uint32_t context, id, flag;
	int64_t priority;
	uint64_t handle;
	const char *name; /* "" = none was given */
};

/* A kernel with one launch configuration. */
struct gpu_shape {
	uint32_t id;
	uint32_t kernel;        /* place in `names` */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t registers, static_shared, dynamic_shared, executed_shared, local_bytes, max_clusters, kind;
	uint32_t occupancy;     /* percent times 1000, as another profiler computed it; 0 = not said */
};

/* Where device work ran. */
struct gpu_queue {
	uint32_t id, device, context, stream, channel, channel_kind;
	struct gpu_lane lane; /* of the first queue of its stream that did anything: when that stream was busy */
	uint64_t covered;     /* of that queue: up to where the lane is filled */
	uint32_t first;	      /* place of that queue */
	uint32_t sweep;	      /* place of its device in gpu.sweeps, + 1; 0 = not looked for yet */
};

/* Code of a loaded module. */
struct gpu_code {
	const char *name;  /* mangled */
	uint32_t module, architecture;
	uint64_t instructions, matrix;
};

struct gpu_kernel {
	uint32_t shape, op, queue, thread; /* thread: serial of the caller, 0 = unknown */
	uint64_t occurrences, untimed;     /* untimed: with impossible times, not in `times` */
	struct spread times;               /* ns on the device */
};

struct gpu_copy {
	uint32_t kind, source, destination, flags, source_device, destination_device; /* as in device_copy; kind 0: a set */
	uint32_t op, queue, thread;
	uint64_t occurrences, untimed, bytes, timed_bytes, least_bytes, most_bytes;
	double best_bandwidth; /* bytes a second, of one record */
	struct spread times;
};

struct gpu_api {
	uint32_t function, result, thread;
	uint64_t captured, nested; /* of the calls */
	struct spread times;   /* ns on the host */
};

/* Waiting: a call that waits, and what it waited for. */
struct gpu_wait {
	uint32_t function;     /* GPU_NONE: the device's record names no call that was seen */
	uint32_t kind;         /* as device_wait.kind; 0 = only the call is known */
	uint32_t context, stream, event, thread;
	uint64_t occurrences, untimed;
	uint64_t host_ns;      /* of the calls */
	struct spread times;   /* ns by the device's record; of the call where there is none */
};

#define GPU_LIBRARY_ARGUMENTS 10
struct gpu_library_call {
	uint32_t function, thread, op;
	uint64_t arguments[GPU_LIBRARY_ARGUMENTS];
	uint64_t calls, failed, launches, device_ns, kernel_count; /* kernel_count: kernels that ran for it */
	uint32_t kernels[4];   /* places in `names` of the first distinct ones; GPU_NONE = no more */
	uint32_t is_more;      /* there were more */
	struct spread times;   /* ns on the host */
};

struct gpu_graph {
	uint32_t id;           /* of the executable graph */
	uint64_t launches, failed, kernels, copies, sets, nodes, device_ns, span_ns, host_ns, spans;
	uint64_t longest_ns, shortest_ns; /* of the spans */
	uint32_t is_whole;     /* recorded as a whole: node counts come from graph_node records alone */
};

/* Compiling and loading. */
struct gpu_compile {
	const char *what;      /* a constant text */
	uint32_t device, function; /* GPU_NONE = not said */
	uint64_t occurrences, bytes, untimed;
	int is_host;           /* times are those of calls */
	struct spread times;
};

/* What was asked for from one call stack with Python frames in it. */
struct gpu_stack {
	uint32_t stack;        /* a pair, see python_rows.h */
	uint64_t calls, launches, host_ns, device_ns, untimed; /* host_ns: inside the calls; untimed: device records without sane times */
};

/* One launch, kept only when run_options.wants_launches is set, in gpu_launches.h. */
struct gpu_launch {
	int64_t host_ns;          /* the call's begin; TIME_UNKNOWN without a call */
	int64_t device_ns;        /* first start on the device; TIME_UNKNOWN without a record or a time */
	uint64_t host_duration_ns, device_span_ns, correlation, bytes;
	uint32_t function, shape, queue, thread, op, stack, records, graph;
	uint32_t kernel;          /* place in `names` where hooks alone know it */
	uint8_t kind, pairing, reason, impossible, copy_kind;
};

/* Memory of one device as calls and as CUPTI tell it. */
struct gpu_memory_check {
	const char *allocator;
	uint64_t call_allocations, call_frees, call_bytes, call_peak, call_live, call_unknown_frees;
	uint64_t mappings; /* of CUPTI's allocations, those that calls told of: it has no records of them */
	uint64_t cupti_allocations, cupti_frees, cupti_bytes, cupti_peak, cupti_live, cupti_unknown_frees;
	int is_from_cupti; /* the account was made from CUPTI's records: the calls, or some, were not seen by hooks */
};

struct gpu_pool {
	uint64_t address, bytes, used, most_bytes, most_used, threshold, trims;
	uint32_t device, is_destroyed;
};

struct gpu_counts {
	uint64_t launches[GPU_PAIRINGS];               /* by class */
	uint64_t reasons[GPU_PAIRINGS][GPU_REASONS];
	uint64_t kinds[GPU_PAIRINGS][GPU_KINDS];
	uint64_t impossible[GPU_IMPOSSIBLE_KINDS];     /* device records, by bit */
	uint64_t impossible_records;
	uint64_t duplicates;          /* device records that came twice: counted once */
	uint64_t repeated_calls;      /* calls with a correlation id that another call has */
	uint64_t late_lanes;          /* intervals too far out of order for busy and overlap */
	uint64_t unknown_shapes, unknown_queues; /* records that name a shape or queue that the log does not hold */
	uint64_t left_out;            /* records that found no room in the sums (hostile counts) */
	uint64_t device_records, calls;
	uint64_t graph_allocations, graph_bytes; /* calls that were captured, or made such a node: memory of the graph, when it runs */
	uint64_t graph_nodes;                    /* nodes that allocate, as CUPTI's callback told of them */
	uint64_t managed_bytes[2], managed_faults[2]; /* to device, to host; faults of the CPU, of the GPU */
	uint64_t overhead_ns, overheads;              /* that CUPTI says it took */
};

/* Work that was started and whose end no record tells, as the process ended or the log was read first. */
struct gpu_unfinished {
	uint64_t count;
	int64_t first_ns; /* when the first of it was called */
	uint32_t function, kernel, thread; /* of that call: place in functions, in names, serial; kernel GPU_NONE = no launch, or unknown */
};

#define GPU_UNSEEN_FROM 0.05 /* of the launches: with more unseen, nobody can say when a device rested */
/* Launches of which nothing tells what the device did; *all: those that give it something to do. */
uint64_t gpu_unseen_launches(const struct gpu_counts *counts, uint64_t *all);

/* Everything about GPUs of one process; NULL in the process where the log holds nothing of the kind. */
struct gpu {
	struct gpu_function *functions;
	struct gpu_device *devices;
	struct gpu_context *contexts;
	struct gpu_stream *streams;
	struct gpu_shape *shapes;
	struct gpu_queue *queues;
	struct gpu_code *codes;
	const char **names;         /* of kernels, mangled, each once */
	struct gpu_kernel *kernels;
	struct gpu_copy *copies;
	struct gpu_api *apis;
	struct gpu_wait *waits;
	struct gpu_library_call *library_calls;
	struct gpu_graph *graphs;
	struct gpu_compile *compiles;
	struct gpu_stack *stacks;
	struct gpu_launches *launches; /* every launch, NULL where nobody wants them */
	struct gpu_pool *pools;
	struct gpu_memory_check *memory_checks;
	struct gpu_sweep *sweeps;   /* of each device: busy and overlap of its queues */
	size_t function_count, device_count, context_count, stream_count, shape_count, queue_count, code_count, name_count,
		kernel_count, copy_count, api_count, wait_count, library_call_count, graph_count, compile_count, pool_count,
		memory_check_count, sweep_count, stack_count;
	struct number_map code_of;  /* place in `names` -> first place in `codes` */
	struct gpu_counts counts;
	struct gpu_unfinished unfinished;
	struct gpu_fault fault;
	struct spread queue_delays; /* ns from a launch's begin to its start on the device, where both are known */
	uint64_t clock_error_ns;    /* most that a device time may be off against the host's, where the clock was read */
	int has_clock;              /* CUPTI's clock was compared with ours; else device times are taken for CLOCK_REALTIME */
	int state;                  /* last gpu_state */
	struct gpu_clock *clock;    /* device ns -> ns of the run; private to the model */
};

/* Device records without a time that are explained: the work failed before it ended, or before CUPTI fetched its times. */
uint64_t gpu_endless_records(const struct gpu *gpu);

/* ns since the run's start of a device time. */
int64_t gpu_run_ns(const struct gpu *gpu, uint64_t device_time);

struct number_map;
/* The id of each queue -> place of the first queue on its stream: hardware channels of a stream are one. Returns not 0 without memory. */
int gpu_first_queues(const struct gpu *gpu, struct number_map *places);

/* The device of a queue, the operation's name: for filters and columns. GPU_NONE, "" = unknown. */
uint32_t gpu_queue_device(const struct gpu *gpu, uint32_t queue);

/* The code of a kernel, that of another architecture where there is none of this one; NULL = no code of that name was seen. */
const struct gpu_code *gpu_code_of(const struct gpu *gpu, uint32_t name, uint32_t architecture);

/* What the code of a kernel says: matrix instructions in it, -1 = no code of that name was seen. */
int64_t gpu_matrix_instructions(const struct gpu *gpu, uint32_t name, uint32_t architecture);

struct run;
/* Names the memory of devices by device where a number means several in the run. After the scan of all processes. */
void gpu_name_devices(struct run *run);

/* Whether the allocator of an account is a device's memory ("device:0", or that and the device's UUID); *id: its number. */
/* What the process says of its device; NULL = nothing. */
const struct gpu_device *gpu_find_device(const struct gpu *gpu, uint32_t id);

/* Has the process to do with that device? A log of ours names no other one; the file of another profiler may name all that the machine
 * has: of those count what the process used, if it used any. */
int gpu_has_to_do(const struct process *process, uint32_t id);

/* Is what one process calls device `id` what the other calls `other_id`? By UUID where both are known, else by number and machine;
 * two ranks of a job have one each. */
int gpu_is_one_device(const struct process *one, uint32_t id, const struct process *other, uint32_t other_id);
int gpu_has_uuid(const struct process *process, uint32_t id);

int gpu_is_device_allocator(const char *allocator, uint32_t *id);

#endif
