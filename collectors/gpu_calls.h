/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of GPU functions as the host makes them: one gpu_call record each, with its arguments before it.
 *
 * A call is seen by a hook (preload/cuda_*.c), by CUPTI's callback, or by both; then they share one record. The hook notes
 * itself in its thread's state and calls the real function; the callback that comes on that thread meanwhile leaves
 * correlation id and context there. A callback that finds no hook notes and writes the call itself.
 *
 *   hook:      tfp_gpu_enter ---------- real function ----------- tfp_gpu_leave -> [arguments][gpu_call]
 *   callback:                  tfp_gpu_seen_enter ... seen_exit
 *
 * Rule: nothing here changes what the host sees; a call that cannot be recorded is counted. Off-window a hook costs one
 * load and one branch.
 */
#ifndef TFP_COLLECTORS_GPU_CALLS_H
#define TFP_COLLECTORS_GPU_CALLS_H

#include "collectors/heap.h"

/* The word of a function fact, whether its calls have a stack, whether it is recorded only with CUDA_API=1. */
#define TFP_GPU_KINDS(kind) \
	kind(launch, "launch", 1, 0) kind(copy, "copy", 1, 0) kind(set, "set", 1, 0) kind(alloc, "alloc", 1, 0) \
	kind(free, "free", 0, 0) kind(sync, "sync", 1, 0) kind(event, "event", 0, 0) kind(stream, "stream", 0, 0) \
	kind(graph, "graph", 1, 0) kind(graph_launch, "graph", 1, 0) kind(module, "module", 1, 0) \
	kind(context, "context", 1, 0) kind(library, "library", 1, 0) kind(room, "other", 0, 0) \
	kind(device, "other", 0, 1) kind(other, "other", 0, 1) kind(names, "other", 0, 1)

enum tfp_gpu_kind {
#define TFP_GPU_KIND(name, word, has_stack, is_rare) TFP_GPU_KIND_##name,
	TFP_GPU_KINDS(TFP_GPU_KIND)
#undef TFP_GPU_KIND
};

/* The record before the call's, and the order of its values in tfp_gpu_call.values: that of its fields. */
enum tfp_gpu_argument {
	TFP_GPU_NONE = 0,
	TFP_GPU_LAUNCH = 1,
	TFP_GPU_COPY = 2,
	TFP_GPU_SET = 3,
	TFP_GPU_ALLOC = 4,
	TFP_GPU_FREE = 5,
	TFP_GPU_OBJECT = 6,
	TFP_GPU_LIBRARY = 7,
	TFP_GPU_ROOM = 8,
	TFP_GPU_DEVICE = 9, /* no record: the thread's device is value 0, all ones = unknown */
	TFP_GPU_RESET = 10, /* gpu_object: the device of value 0 was reset, all ones = unknown; value 1 is 0 */
	TFP_GPU_ENDED = 11, /* gpu_object: the context of value 0 was destroyed; value 1 is 0 */
	TFP_GPU_RELEASED = 12, /* gpu_object: value 0 = 1: the primary context of the device of value 1 ended with it; 0 = it lives on */
};

/* gpu_alloc.flavour */
enum tfp_gpu_flavour {
	TFP_GPU_FLAVOUR_DEVICE = 1,
	TFP_GPU_FLAVOUR_MANAGED = 2,
	TFP_GPU_FLAVOUR_PINNED = 3,
	TFP_GPU_FLAVOUR_REGISTERED = 4,
	TFP_GPU_FLAVOUR_ORDERED = 5,
	TFP_GPU_FLAVOUR_MAPPED = 6,
	TFP_GPU_FLAVOUR_ARRAY = 7,
	TFP_GPU_FLAVOUR_IMPORTED = 8,
	TFP_GPU_FLAVOUR_HOST_MAPPED = 9,
	TFP_GPU_FLAVOURS = 10,
};

/* gpu_call.flags */
enum { TFP_GPU_HOOKED = 1, TFP_GPU_CALLED_BACK = 2, TFP_GPU_CAPTURED = 4, TFP_GPU_NESTED = 8 };

#define TFP_GPU_LIBRARIES(library) \
	library(driver, "cuda driver") library(runtime, "cuda runtime") library(cublas, "cublas") \
	library(cublaslt, "cublaslt") library(cudnn, "cudnn") library(cufft, "cufft") library(nccl, "nccl")

enum tfp_gpu_library {
#define TFP_GPU_LIBRARY_ROW(name, word) TFP_GPU_IN_##name,
	TFP_GPU_LIBRARIES(TFP_GPU_LIBRARY_ROW)
#undef TFP_GPU_LIBRARY_ROW
};

/* A hooked function; static. Without a pointer, so that the loader has nothing to write there in each process. */
struct tfp_gpu_function {
	uint16_t number;
	uint8_t kind;    /* enum tfp_gpu_kind */
	uint8_t library; /* enum tfp_gpu_library */
	char texts[];    /* its name, then the names of the values of its library_call, with commas; each ends with a zero */
};

#define TFP_GPU_VALUES 10

/* One hooked call, on its stack. */
struct tfp_gpu_call {
	const struct tfp_gpu_function *function;
	struct tfp_thread *thread; /* NULL: it is not noted, leave nothing */
	struct tfp_caller caller;
	uint64_t begin;
	uint32_t index;       /* of its frame; TFP_GPU_FRAMES and more: it has none */
	uint32_t is_recorded; /* a window was open when it began */
	uint32_t argument;    /* enum tfp_gpu_argument */
	uint32_t flavour;     /* of the block that it releases, 0 = not known */
	uint64_t launch;      /* its number, 0 = not counted */
	uint64_t values[TFP_GPU_VALUES];
};

/* What is wanted now: the setting CUDA and the windows. Written by tfp_gpu_begin and tfp_gpu_window alone. */
enum tfp_gpu_mode { TFP_GPU_OFF = 0, TFP_GPU_HOOKS = 1, TFP_GPU_FULL = 2 };
extern _Atomic uint32_t tfp_gpu_mode TFP_HIDDEN;

/* Bit of an enum tfp_gpu_kind: its hooks have something to do. All ones until the library has started. */
extern _Atomic uint32_t tfp_gpu_mask TFP_HIDDEN;

static inline int tfp_gpu_is_asked(enum tfp_gpu_kind kind)
{
	return (tfp_gpu_mask >> kind & 1) != 0;
}

/* Around the real call. function and caller are set; values and argument between the two. Any thread, any context. */
void tfp_gpu_enter(struct tfp_gpu_call *call);

/* Its two halves, so that the stack of one is not that of the other: the usual call's, 0 or when the other is to end it; all else. */
uint64_t tfp_gpu_leave_usual(struct tfp_gpu_call *call, uint32_t result);
void tfp_gpu_leave_any(struct tfp_gpu_call *call, uint32_t result, uint64_t now);
static inline void tfp_gpu_leave(struct tfp_gpu_call *call, uint32_t result)
{
	uint64_t now = tfp_gpu_leave_usual(call, result);

	if (now)
		tfp_gpu_leave_any(call, result, now);
}

/* The call made a graph node instead of what it says, as the driver told. After the real call, before tfp_gpu_leave. */
void tfp_gpu_captured(struct tfp_gpu_call *call);

/* The call is about to release the block: its size into value 3, its flavour. After tfp_gpu_enter, before the real call. */
void tfp_gpu_releasing(struct tfp_gpu_call *call, uint64_t address);
/* The same of the mappings in a range: the first now, those behind it once the call has succeeded. */
void tfp_gpu_unmapping(struct tfp_gpu_call *call, uint64_t address, uint64_t bytes);

#define TFP_GPU_LIBRARY_FIRST 1000u /* numbers of hooks from here on are of libraries above CUDA; collectors/tables */
#define TFP_GPU_CALLBACK (UINT32_C(1) << 31) /* bit of a function's number: noted by a callback, no hook is on the path */
#define TFP_GPU_SEEN_FUNCTION(domain, id) (TFP_GPU_CALLBACK | (domain) << 16 | (id)) /* domain 1 is the driver's, 2 the runtime's */

#define TFP_GPU_OUT_OF_MEMORY 2u /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

/* A call as CUPTI's callback sees it, on the thread that makes it. Static texts, but symbol. */
struct tfp_gpu_seen {
	uint32_t function; /* TFP_GPU_SEEN_FUNCTION */
	const char *name;  /* ABI name */
	const char *kind;  /* word of the function fact */
	const char *symbol; /* launches: the mangled kernel name; NULL = none */
	uint32_t correlation, context;
	uint32_t result; /* exit only */
	uint32_t is_launch; /* a kernel or graph launch: counts for launch windows */
	uint32_t flavour;   /* as gpu_alloc's */
	/*
	 * Exit of what no record of CUPTI's tells: a map or unmap, memory of others opened or closed, memory of a graph, that succeeded.
	 * mapping: TFP_GPU_ALLOC or TFP_GPU_FREE, else 0. requested: its bytes, 0 = the driver is to be asked; also those of an
	 * allocation that found no memory. handle: of the memory that was mapped; of the pool that had none left; else 0.
	 */
	uint64_t requested, address, handle;
	uint32_t mapping;
	uint32_t empty;     /* exit of a copy or set of 0 bytes: TFP_GPU_COPY or TFP_GPU_SET; else, and where not known, 0 */
	uint64_t *scratch; /* kept by CUPTI from entry to exit of this call */
	const struct tfp_caller *caller; /* the callback's own frame; NULL = record no stack */
};

/*
 * The usual one of both, of a function of cupti_callbacks.def. 1: a hook on this thread is inside the call and has taken the ids;
 * nothing else is to be done, at its exit neither. 0: seen_enter. Exit: whether seen_exit has something to do.
 */
int tfp_gpu_seen_in_hook(uint32_t function, uint32_t correlation, uint32_t context, uint64_t *scratch);
static inline int tfp_gpu_seen_is_own(const uint64_t *scratch)
{
	return *scratch > 2; /* neither nothing, nor ignored, nor taken by a hook */
}
void tfp_gpu_seen_enter(const struct tfp_gpu_seen *seen);
void tfp_gpu_seen_exit(const struct tfp_gpu_seen *seen);

/* The call in progress on this thread made a graph node instead of work. */
void tfp_gpu_seen_captured(void);

/* What CUPTI's collector answers to. may_call: the caller stands where CUPTI may be entered. */
struct tfp_gpu_engine {
	int (*enter)(void);                          /* the driver is up: begin; latches */
	void (*window)(int may_call); /* a window's edge: tfp_is_open has changed */
	uint64_t (*widen)(uint32_t correlation);     /* any thread */
	int (*is_recording)(void);                   /* as tfp_cupti_is_recording */
};
/* Set at start, by CUPTI's collector; `engine` lives as long as the process. NULL = none was set. Any thread asks. */
void tfp_gpu_engine_set(const struct tfp_gpu_engine *engine);
const struct tfp_gpu_engine *tfp_gpu_engine(void);

struct tfp_gpu_block; /* collectors/gpu_blocks.h */

/* Of the settings, and what preload does: attend, when a call may be the one that starts CUDA (tfp_gpu_attend). */
struct tfp_gpu_plan {
	int is_on, wants_cupti, records_all;
	int follows_closed; /* live blocks are kept while no window is open: not with WINDOW=off */
	void (*attend)(void);
	void (*place)(struct tfp_gpu_block *block, uint64_t handle); /* as tfp_gpu_place, asked of the driver */
	void (*work_began)(void); /* once: the device was given work, so that the driver's own threads are there */
};

/* Once per program, at start-up, after tfp_window_begin. A fork child keeps it. */
void tfp_gpu_begin(const struct tfp_gpu_plan *plan);

/* Whether a call that needs the driver has come back without an error: it was opened, and has its addresses and constructors behind it. */
int tfp_gpu_has_served(void);

/* Whether `attend` is called before the next call that may start CUDA. Any thread. */
void tfp_gpu_attend(int is_wanted);

/*
 * A window opened or closed; lane may be NULL (nothing can be written). by_launch: the launch that it is for is about to tell
 * the engine itself. From collectors/window.c alone.
 */
void tfp_gpu_window(struct tfp_thread *thread, struct tfp_lane *lane, int is_open, int by_launch);

/* Whether launches are counted: windows by launch are still to come, so that somebody must see launches. */
int tfp_gpu_counts_launches(void);

/* CUPTI's number of the call in progress on this thread, 0 = none: for records that callbacks write inside it. */
uint32_t tfp_gpu_correlation_now(void);

#endif
