/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's part of a pass, shared by the gpu_*.c files. Private to the model.
 *
 * Rule: gpu_scan.c unpacks, gpu_pair.c decides what belongs together, gpu_sums.c and gpu_memory.c add up.
 */
#ifndef REDUCER_MODEL_GPU_SCAN_H
#define REDUCER_MODEL_GPU_SCAN_H

#include "reducer/model/gpu.h"
#include "reducer/model/gpu_clock.h"
#include "reducer/model/gpu_flights.h"
#include "reducer/model/gpu_usual.h"
#include "reducer/model/pairs.h"
#include "reducer/model/scan.h"

#define GPU_PENDING_MAX 65536u /* device records that came before their call, kept at one moment */
#define GPU_FACT_KINDS 9
#define GPU_LANES_MAX 4096u    /* streams with a busy curve: 8 KiB each; of further ones it is known how long, of their device when */
#define GPU_DEVICES_MAX 256u
#define GPU_RECENT 256u        /* a power of two */
#define GPU_SUMS_MAX (1u << 20) /* distinct rows of one sum */

/* The argument record in front of a call, by stream. */
struct gpu_arguments {
	enum gpu_kind kind;     /* GPU_OTHER: none */
	uint64_t values[GPU_LIBRARY_ARGUMENTS];
	int is_library, is_object;
	struct gpu_opened {
		uint32_t instance; /* place in `instances` + 1 */
		uint32_t function; /* its number */
	} open[8];              /* library calls that began and did not end */
	uint32_t open_count;
	uint32_t last_api, last_function, last_result; /* of the call before: its row in apis + 1 */
	uint64_t seen;          /* changes of the open ranges and ops of threads, + 1, when `op` was asked for; 0 = not yet */
	uint32_t op;
	uint32_t given_op;      /* number of the op that the file says the next device record was for, 0 = does not say */
};

/* A gpu_call record. */
struct gpu_call {
	uint64_t begin, end, duration, correlation;
	uint32_t function, stack, context, result, flags, thread, op;
	enum gpu_kind kind;
	size_t stream;
};

/* A kernel, device_copy, device_set or graph_run record. */
struct gpu_record {
	enum gpu_kind kind;
	uint64_t start, duration, correlation, bytes, node, time;
	uint32_t shape, queue, graph;   /* shape, queue: places, GPU_NONE = unknown */
	uint32_t copy_kind, source, destination, flags, source_device, destination_device;
	uint32_t given_op;              /* see gpu_arguments */
	uint32_t next;                  /* pending: of the same flight, + 1 */
};

/* Kernels whose records follow each other, by column. */
struct gpu_kernels {
	const uint64_t *time, *start, *duration, *correlation, *graph, *node, *shape, *queue;
	size_t count;
};

/* A library call while it is open, or while launches of it are in flight. */
struct gpu_instance {
	uint32_t row;                   /* in library_calls, GPU_NONE while open */
	uint32_t flights, is_open;
	uint64_t launches, device_ns, kernel_count;
	uint32_t kernels[4], is_more;
	uint32_t next_free;
};

/* Blocks of one allocator, from one source. */
struct gpu_blocks {
	uint32_t flavour, device;       /* of calls: device 0xffffffff = not of a device */
	const char *name;               /* "device:0", "pinned", "registered", "managed", "imported" */
	struct pairs calls, cupti;
	struct live_table mapped;       /* addresses of live blocks that are mapped: CUPTI has no records of them */
	uint64_t mappings, variables;   /* of `cupti`: allocations that calls told of; modules' variables, which no call allocates */
	struct live_table owners;       /* of live blocks of calls: place in gpu_scan.owners as their bytes; where known */
	uint64_t reserved, plain;       /* bytes: in pools as CUPTI last said, and outside of them */
	struct curve held;              /* their sum over time */
};

/* A call that mapped memory, or unmapped it. */
struct gpu_mapped {
	uint32_t blocks; /* place in gpu_scan.blocks */
	int is_release;
	struct live_block block;
};

/* What a block ends with. */
struct gpu_owner {
	uint64_t context;               /* handle */
	uint32_t device;                /* GPU_NONE = unknown */
	uint8_t is_made;                /* by cuCtxCreate: no reset of the device ends it */
	uint8_t is_lost;                /* no memory for `own`: its end looks through the blocks of all */
	uint32_t count, room;           /* of `own` */
	uint64_t *own;                  /* addresses of its blocks, and of some that are gone */
};

struct gpu_scan {
	struct scan *scan;
	struct gpu *gpu;
	struct gpu_clock *clock;
	struct gpu_flights flights;
	struct gpu_usual usual;
	struct gpu_arguments *arguments; /* by stream */
	struct gpu_record *pending;
	uint32_t pending_count, pending_free;
	struct gpu_instance *instances;
	uint32_t instance_count, instance_free;
	struct gpu_blocks *blocks;
	size_t block_count;
	struct gpu_mapped *mapped;      /* that no later record of CUPTI's came after yet: from mapped_fed on */
	size_t mapped_count, mapped_fed;
	struct live_table graph_memory; /* addresses that allocations captured into graphs were given */
	struct gpu_owner *owners;
	size_t owner_count;
	struct number_map owner_places; /* (0, context) -> place in `owners` */
	struct number_map pool_devices; /* (0, handle) -> the device of what that pool handed out */
	struct gpu_device unnamed;      /* what the driver answered about the current device, where the hook did not know which that is */
	struct number_map function_of, device_of, context_of, stream_of, shape_of, queue_of, name_of, text_of, kernel_rows, copy_rows,
		stream_rows, api_rows, wait_rows, library_rows, graph_rows, compile_rows, pool_rows, node_rows, span_rows, address_blocks,
		stack_rows;
	struct gpu_recent {
		uint64_t high, low;
		uint32_t place;         /* + 1 */
	} recent[GPU_RECENT];           /* rows of kernels found lately: most come again and again */
	struct gpu_given {
		uint64_t next;          /* id of the name + 1; 0 = none yet */
		uint32_t op;            /* its number */
	} given[GPU_RECENT];            /* ops that device_op records named lately */
	struct {
		uint32_t number, row;   /* row + 1; 0 = no call came yet, or its function finds no room */
	} last_function;                /* of the call before */
	const char **texts;             /* of string facts */
	size_t text_count;
	uint32_t *node_ops;             /* op of a graph node, by place of node_rows */
	uint32_t node_count, node_room;
	uint32_t lanes;                 /* streams with cells */
	uint64_t last_decoded;          /* ticks of the last device record */
	uint64_t passed_ns;             /* device time that had passed when a record came, since the last reading of a clock */
	uint64_t first_on, last_on;     /* ticks when CUPTI began to record first, last; 0 = never */
	uint64_t last_off;              /* ticks when a window's end stopped it last; 0 = never */
	int state;                      /* enum of gpu_state, -1 = none came yet */
	uint64_t ends;                  /* ticks; device records of calls that ended later were not fetched; 0 = of all they were */
	int any;                        /* something about GPUs was seen */
	int64_t from_ns, to_ns;         /* --window, ns of the run */
	int has_window;
	int keeps_launches;             /* run_options.wants_launches */
	unsigned without;               /* see struct run_options */
	struct gpu_fault_scan fault;
};

/* What tells a device record from another of the same call; never 0. */
static inline uint64_t gpu_double_key(const struct gpu_record *record)
{
	uint64_t key = record->start * UINT64_C(0x9e3779b97f4a7c15) + record->duration;

	key = (key ^ record->queue) * UINT64_C(0xff51afd7ed558ccd) + record->node;
	key = (key ^ record->bytes) * UINT64_C(0x9e3779b97f4a7c15) + record->shape + ((uint64_t)record->kind << 32);
	return key | 1;
}

/* An array of the gpu, with room for one more; counts what is left out. NULL without room. */
#define GPU_ROOM(scan, array, count) gpu_room(scan, (void **)&(scan)->gpu->array, &(scan)->gpu->count, sizeof *(scan)->gpu->array)
void *gpu_room(struct gpu_scan *scan, void **array, size_t *count, size_t bytes);

/* gpu_facts.c: facts, and places of what they name; GPU_NONE = unknown. */
extern const struct scan_fact gpu_facts[GPU_FACT_KINDS];
uint32_t gpu_function_at(struct gpu_scan *scan, uint32_t number);
uint32_t gpu_shape_at(struct gpu_scan *scan, uint64_t id);
uint32_t gpu_queue_at(struct gpu_scan *scan, uint64_t id);
uint32_t gpu_kernel_by_hash(struct gpu_scan *scan, uint64_t hash);
struct gpu_device *gpu_device_at(struct gpu_scan *scan, uint32_t id);

/* gpu_pair.c */
/* The flight of that correlation id, or NULL (always for 0). */
struct gpu_flight *gpu_pair_find(struct gpu_scan *scan, uint64_t correlation);
void gpu_pair_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
void gpu_pair_record(struct gpu_scan *scan, const struct gpu_record *record);
/* A device_wait record: kind GPU_SYNC, copy_kind = its kind, source = context, destination = stream, flags = event. */
void gpu_pair_wait(struct gpu_scan *scan, const struct gpu_record *record);
/*
 * Which of the times of a record are impossible: enum gpu_impossible. `call`: begin of its call in ticks, UINT64_MAX = none. *begin
 * receives its device time, 0 = no call.
 */
unsigned gpu_impossible(struct gpu_scan *scan, const struct gpu_record *record, uint64_t call, uint64_t *begin);
/* Whether none is, of a record that has a time and whose call is known. */
static inline int gpu_is_sane(struct gpu_scan *scan, const struct gpu_record *record, uint64_t call, uint64_t *begin)
{
	uint64_t error, end = record->start + record->duration;

	if (record->duration > INT64_MAX || end < record->start || end > scan->passed_ns)
		return gpu_impossible(scan, record, call, begin) == 0;
	*begin = gpu_clock_ns(scan->clock, call, &error);
	if (record->start < *begin && *begin - record->start > error + GPU_SKEW_NS)
		return 0;
	if (error > scan->gpu->clock_error_ns && scan->gpu->has_clock)
		scan->gpu->clock_error_ns = error;
	return 1;
}
void gpu_pair_settle(void *context, struct gpu_flight *flight, int is_crowded);
/* A launch is over, and single launches are asked for. */
void gpu_pair_keep(struct gpu_scan *scan, const struct gpu_launch *launch);
/* Is this time of the run (ticks), or device time, inside --window? */
int gpu_has_ticks(const struct gpu_scan *scan, uint64_t ticks); /* of which there is one */
static inline int gpu_wants_ticks(const struct gpu_scan *scan, uint64_t ticks)
{
	return !scan->has_window || gpu_has_ticks(scan, ticks);
}
int gpu_wants_device(const struct gpu_scan *scan, uint64_t ns);

/* gpu_sums.c. `flight` may be NULL: no call is known. */
void gpu_sum_record(struct gpu_scan *scan, const struct gpu_record *record, struct gpu_flight *flight, unsigned impossible);
/* The same of a kernel, copy or set of no graph whose times are sane, where nobody asks for Python's stacks or a window. */
void gpu_sum_usual(struct gpu_scan *scan, const struct gpu_record *record, uint32_t op, uint32_t thread);
void gpu_sum_call(struct gpu_scan *scan, const struct gpu_call *call);
void gpu_sum_wait(struct gpu_scan *scan, const struct gpu_wait *key, uint64_t duration, int is_timed, uint64_t host_ns);
/* `key`: what, device, function, is_host. */
void gpu_sum_compile(struct gpu_scan *scan, const struct gpu_compile *key, uint64_t duration, int is_timed, uint64_t bytes);
struct gpu_graph *gpu_graph_at(struct gpu_scan *scan, uint32_t id);
/* Remembers the op of a graph node: that of `original` where it is a copy of one (0 = none), else `op`. */
void gpu_node_made(struct gpu_scan *scan, uint64_t node, uint64_t original, uint32_t op);

/* gpu_python.c: what Python lines asked for. `flight` may be NULL. */
void gpu_python_call(struct gpu_scan *scan, const struct gpu_call *call);
void gpu_python_record(struct gpu_scan *scan, const struct gpu_record *record, const struct gpu_flight *flight, unsigned impossible);

/* gpu_library.c: library calls and what runs for them. */
void gpu_library_begin(struct gpu_scan *scan, size_t stream, uint32_t function);
void gpu_library_end(struct gpu_scan *scan, const struct gpu_call *call, struct gpu_arguments *arguments);
uint32_t gpu_library_enter(struct gpu_scan *scan, size_t stream);
void gpu_library_leave(struct gpu_scan *scan, uint32_t instance);
void gpu_library_ran(struct gpu_scan *scan, uint32_t instance, uint32_t kernel, uint64_t ns);

/* gpu_memory.c */
/* The device that a call allocated on: as the hook knew it, else by the call's context, else the only one there is. */
uint32_t gpu_device_of_call(struct gpu_scan *scan, const struct gpu_call *call, uint32_t device);
void gpu_memory_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
void gpu_memory_refused(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
void gpu_take_device_memory(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);
void gpu_take_device_pool(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);
void gpu_take_device_room(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);
void gpu_take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);
void gpu_take_live(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);
int gpu_memory_finish(struct gpu_scan *scan);
void gpu_memory_free(struct gpu_scan *scan);

/* gpu_contexts.c: memory that ends with its context. */
/* The block that a call allocated, as it was put into blocks->calls; context 0 = not known, or it ends with none. */
void gpu_owner_note(struct gpu_scan *scan, struct gpu_blocks *blocks, uint64_t address, uint64_t context, uint32_t device);
void gpu_owner_forget(struct gpu_blocks *blocks, uint64_t address);
/* cudaDeviceReset, cuCtxDestroy and their kin take what was allocated on a device or in a context. A call that succeeded. */
enum gpu_ending gpu_ending_of(const char *function);
void gpu_memory_context(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
void gpu_take_context_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields);

/* gpu_mapped.c: a mapping is noted; those until a time are put among CUPTI's records; whether a live block is mapped. */
void gpu_mapped_note(struct gpu_scan *scan, struct gpu_blocks *blocks, const struct live_block *block, int is_release);
void gpu_mapped_feed(struct gpu_scan *scan, uint64_t until);
int gpu_mapped_is(const struct gpu_blocks *blocks, uint64_t address);

/* gpu.c */
void gpu_free(struct gpu *gpu);
void gpu_times(struct process *process);
void gpu_close(struct process *process);

#endif
