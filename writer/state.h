/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the recorder: of the process (struct tfp_state) and of each thread (struct tfp_thread).
 *
 * Rule: both lie in pages that a fork child finds empty (MADV_WIPEONFORK), and every pointer into the log's mapping is
 * held there and nowhere else, so that a child (fork, _Fork, raw clone) can never write into its parent's log: its
 * emptied page fails every room test and starts a log of its own. What must survive a fork is struct tfp_origin. One
 * exception: a child that can make no log maps its parent's live words anew, to count itself there (tfp_file_inherited).
 *
 *   tfp_self (TLS, 8 bytes) --> struct tfp_thread --> lanes[0] normal, lanes[1] inside signal handlers --> chunk
 *                                              `----> slot (exact counters, in the log)
 */
#ifndef TFP_WRITER_STATE_H
#define TFP_WRITER_STATE_H

#include "writer/clock.h"
#include "writer/format.h"
#include "writer/loss.h"
#include "writer/segments.h"
#include "writer/sys.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct tfp_stacks;
struct tfp_stack_cache;
struct tfp_scratch;
struct tfp_log;
struct tfp_gpu_blocks;
struct tfp_names;
struct tfp_op_names;
struct tfp_op_seen;
struct tfp_iterators;
struct tfp_name_cache;
struct tfp_io;
struct tfp_system;
struct tfp_io_lane;
struct tfp_python_names;
struct tfp_python_lane;
struct tfp_python_watch;
struct tfp_native_watch;

#define TFP_GPU_FRAMES 8 /* GPU calls inside one another that are followed: library, runtime, driver, and a handler's */

/* A GPU call that a thread is inside of; collectors/gpu_calls.c. */
struct tfp_gpu_frame {
	uintptr_t frame;      /* of the hook or callback that noted it: tells calls that were left by longjmp */
	uint32_t function;    /* of the function fact */
	uint32_t correlation; /* as CUPTI's callback said, 0 = not yet */
	uint32_t context;
	uint32_t flags; /* of gpu_call */
};

struct tfp_gpu_thread {
	uint32_t depth;
	uint32_t device; /* the runtime's current device + 1 as far as its own calls told, 0 = unknown */
	_Atomic uint64_t last_launch; /* largest correlation id of a kernel launched inside a window; written by its thread alone */
	_Atomic uint64_t waited;      /* last_launch when the thread last came back from waiting for a device; likewise */
	struct tfp_gpu_frame frames[TFP_GPU_FRAMES];
};

/* One stream of records of one thread. */
struct tfp_lane {
	uint8_t *cursor; /* next free byte of the chunk */
	uint8_t *end;    /* one past its last; both NULL while there is no chunk */
	struct tfp_chunk *chunk;
	struct tfp_stack_cache *stacks;
	struct tfp_name_cache *names; /* collectors/names.c; made on first use */
	struct tfp_io_lane *io; /* collectors/io.c; made on first use */
	struct tfp_python_lane *python; /* collectors/python.c; made on first use */
	struct tfp_scratch *scratch; /* for draining; made on first use */
	uint64_t scratch_bytes;
	int64_t pending;     /* heap allocated - freed since it was last added to the process's live bytes */
	uint64_t sequence;   /* of the chunk being filled */
	uint64_t retry_time; /* no room: do not ask again before this tick */
	uint64_t started;    /* when the chunk began to fill, ticks since origin */
	uint32_t chunks;     /* made for this lane while the draining thread was behind */
	uint32_t losing;     /* enum tfp_loss while there is no room, else 0 */
};

/* What a call of the malloc family that only counts has to know. The block's size: of glibc's header, or asked of the allocator. */
enum tfp_heap_road {
	TFP_ROAD_NONE = 0,
	TFP_ROAD_HEADER_TOTALS = 1,
	TFP_ROAD_HEADER_SAMPLE = 2,
	TFP_ROAD_ASK_TOTALS = 3,
	TFP_ROAD_ASK_SAMPLE = 4,
	TFP_ROAD_CLOSED = 5, /* no thread is ever on it */
};

static inline int tfp_heap_road_samples(uint32_t road)
{
	return road == TFP_ROAD_HEADER_SAMPLE || road == TFP_ROAD_ASK_SAMPLE;
}

/*
 * What calls of the malloc family may spend by only counting, before something else is due: collectors/heap_usual.h. While
 * `road` is not 0 the counters of slot->heap[0] run ahead of pending, sample_left and calls_left: by what they have grown
 * since `allocated`, `freed` and `calls` were taken. tfp_thread_settle brings these up to date.
 */
struct tfp_heap_budget {
	uint32_t road; /* enum tfp_heap_road; 0 = nothing may be spent, as in an emptied page */
	uint32_t calls; /* low bits of allocations + frees */
	int64_t allocations, releases; /* left to spend: bytes, and TFP_SPENT_CALL a call; below 0: used up */
	struct tfp_heap_totals *totals; /* slot->heap[0] */
	uint64_t allocated, freed;
};

struct tfp_thread {
	uint32_t is_ready; /* 0 in an emptied page */
	uint32_t depth;    /* hooks of ours now on this thread's stack; 1 inside a hook, 2 in a handler that interrupted one */
	uintptr_t entered; /* frame of the outermost of them; see tfp_thread_enter */
	struct tfp_heap_budget budget;
	int32_t calls_left; /* hooked calls until the next slow look (windows, clock) */
	uint32_t serial;
	int64_t sample_left; /* bytes until the next sample; below TFP_SAMPLE_UNDRAWN: none drawn yet */
	int64_t block_left;  /* bytes of frameworks' blocks until the next one with a stack */
	uint64_t sample_released; /* address in the sample_free record written last, for a realloc that fails */
	struct tfp_thread_slot *slot;
	struct tfp_lane lanes[2];
	uint64_t random; /* state of the sampler's generator, never 0 */
	uint32_t tid;
	uintptr_t handle; /* pthread_self() of the thread */
	uint64_t system_next; /* when this thread's use is due to be recorded; collectors/system.c */
	uint32_t is_own; /* >0: the library itself is calling out (thread creation); its allocations are not the host's */
	void *lent; /* pages for the environment of this thread's vfork children; preload/environment.c */
	uint64_t lent_bytes;
	uint64_t op_step; /* PyTorch op of this thread whose end ends a step, 0 = none */
	uint64_t op_stepper, op_other; /* hashes of names: PyTorch's optimizer whose steps count here, the one of another name that */
	uint32_t op_others;	       /* stepped last, and how often in a row; collectors/pytorch.c. 0 = none */
	uint32_t op_serial; /* `serial` when the framework_thread record was written */
	uint32_t op_allocator; /* op name of the framework allocator used last, 0 = none, */
	uint16_t op_device; /* and the device it is for */
	uint16_t op_nested; /* an allocator of TensorFlow is calling another one: that one's blocks are part of its own */
	uint16_t op_eager; /* eager calls of TensorFlow's ops, open here */
	uint8_t op_pushed; /* an annotation of TensorFlow's was pushed last; collectors/tensorflow.c */
	uint8_t op_asker; /* of jaxlib: where it asked for the lock in the middle of a call, for what is not known yet; 0 = nowhere */
	uint32_t op_site; /* of jaxlib: where it gave up Python's lock, */
	uint64_t op_since; /* and when; 0 = it has not; collectors/jax.c */
	struct tfp_op_seen *op_seen; /* names of ops met last; collectors/opnames.c */
	const char *op_own_allocator; /* TensorFlow's allocator whose name stood last in our own words, */
	uint32_t op_own_name;         /* and its op name */
	char *op_text; /* a page for putting texts together; collectors/tensorflow_trace.c */
	struct tfp_gpu_thread gpu;
	struct tfp_thread *next; /* list of all, head in struct tfp_state; never unlinked */
};

#define TFP_SAMPLE_UNDRAWN (INT64_MIN / 2) /* a thread begins at INT64_MIN / 4 * 3 and cannot allocate its way up to here */

enum tfp_state_phase { TFP_STATE_COLD = 0, TFP_STATE_STARTING = 1, TFP_STATE_READY = 2, TFP_STATE_FAILED = 3 };

/* The facts block being filled. The bytes used are counted in the block's last word. */
struct tfp_facts {
	uint8_t *base;
	size_t room;
};

/* Work of our thread beside draining; writer/drain.h. Milliseconds until it is due again. */
typedef uint32_t tfp_drain_task(struct tfp_thread *self);
enum tfp_drain_tasks { TFP_TASK_CUPTI = 0, TFP_TASK_PYTHON = 1, TFP_TASK_NATIVE = 2, TFP_TASKS = 3 };

/* The draining thread; writer/drain.c. */
struct tfp_drainer {
	uint32_t phase;
	tfp_drain_task *tasks[TFP_TASKS];
	uint32_t asked; /* futex: raised when a chunk is full, and to stop */
	uint32_t is_over; /* the process's first thread is gone: none is started any more */
	uint32_t tid;
	pthread_t thread;
};

/* How far full blocks of nodes were packed; writer/pack.c. */
struct tfp_packer {
	uint32_t segment; /* the next one; TFP_SEGMENTS: no more */
	uint32_t is_busy;
};

#define TFP_KNOWN_CHUNKS 2048 /* chunks that can change hands or be drained by another thread */

/* Of the process, in pages of its own; a fork child finds zeros. Written by start-up, then only where said. */
struct tfp_state {
	_Atomic uint32_t phase; /* enum tfp_state_phase */
	uint32_t pid;
	struct tfp_log *log; /* writer/file.c */
	struct tfp_file_live *live;
	struct tfp_stacks *stacks;
	struct tfp_segments pcs, nodes, slots;
	struct tfp_packer packer;
	struct tfp_drainer drainer;
	struct tfp_facts facts;
	struct tfp_names *names; /* string facts already written; collectors/names.c */
	struct tfp_io *io; /* descriptors and their files; collectors/io.c */
	struct tfp_system *system; /* collectors/system.c */
	struct tfp_op_names *op_names; /* collectors/opnames.c */
	struct tfp_python_names *python; /* Python functions and lines already told; collectors/python_names.c */
	struct tfp_python_watch *python_watch; /* collectors/python_time.c */
	struct tfp_native_watch *native_watch; /* collectors/native_time.c */
	struct tfp_iterators *iterators; /* of tf.data; collectors/iterators.c */
	_Atomic(struct tfp_thread *) threads; /* newest first; pushed by compare-and-swap */
	_Atomic uint64_t clock_next;          /* when the next clock record is due, */
	uint64_t clock_step;                  /* and how long after the one before */
	_Atomic uint64_t system_next;         /* when the process's use is due to be recorded */
	uint64_t title, title_next; /* hash of the title told last, 0 = none; no other is told before; collectors/title.c */
	_Atomic uint64_t heap_next;           /* when the next timeline point may be written */
	_Atomic uint64_t heap_last;           /* live bytes in the last timeline point */
	_Atomic uint64_t slot_count;
	_Atomic uint32_t chunk_count;
	_Atomic uint32_t masked; /* threads with their signals blocked by us; writer/signals.c */
	_Atomic uint32_t early_losses[TFP_LOSS_SLOTS]; /* by kind, of who had no state; the next thread that begins counts them */
	_Atomic(struct tfp_thread *) look_next; /* the next that is asked whether it is gone; NULL = the newest */
	_Atomic uint64_t gpu_launches;        /* made so far, while launch windows are to come */
	_Atomic uint64_t gpu_functions[128];  /* bit set: the function's fact is in this log; collectors/gpu_calls.c */
	_Atomic uint64_t *gpu_names;          /* bit set: the kernel name's fact is in this log; collectors/gpu_names.c */
	struct tfp_gpu_blocks *gpu_blocks;    /* collectors/gpu_blocks.c */
	uint64_t clock_hz;    /* 0 = unknown */
	uint64_t second_ticks; /* a second, as far as known: between two clock records */
	uint64_t point_ticks; /* between two points of the live-heap timeline */
	uint32_t time_shift; /* of blocks that hold heap records alone: the largest with 2^shift ticks <= 1 us */
	_Atomic(struct tfp_chunk *) chunks[TFP_KNOWN_CHUNKS];
};

/* What a process hands to its fork children: written at start-up (and in the child's own start-up), read by all. */
struct tfp_origin {
	uint64_t ticks; /* time 0 of the records */
	uint64_t job_ticks; /* time 0 of the first process of this fork tree: time windows count from there */
	uint64_t log_id, parent_log_id;
	uint8_t job_id[16];
	uint32_t exec_count;
	uint32_t is_fork_child;
	struct tfp_clock_set start; /* the clocks at time 0 */
	uint64_t clock_hz;        /* over the longest time known, 0 = not yet: what a fork child begins with */
	uint64_t inherited_bytes; /* live heap when this process last forked: what the child begins with */
	int descriptor; /* of the log, -1 = none; a child finds its parent's here and closes it */
	uint64_t device, inode; /* of the log */
	uint32_t is_mapped;     /* the log is mapped itself: a child may map it, too */
};

#define TFP_HIDDEN __attribute__((visibility("hidden")))

/* NULL until the library has started once in this process or an ancestor that it was forked from. */
extern struct tfp_state *tfp_state TFP_HIDDEN;
extern struct tfp_origin tfp_origin TFP_HIDDEN;
extern __thread struct tfp_thread *tfp_self TFP_HIDDEN;

/* The calling thread's state; NULL: it has none, as in a fork child that has not started. */
static inline struct tfp_thread *tfp_thread_ready(void)
{
	return tfp_self && tfp_self->is_ready == 1 ? tfp_self : NULL;
}

/*
 * 1 before, -1 after questions of ours to the loader or CUDA, which may allocate: not the host's allocations. Where the thread has no
 * state yet they are its first ones, and nothing was counted that could be taken back.
 */
static inline void tfp_count_own(int more)
{
	struct tfp_thread *thread = tfp_thread_ready();

	if (thread && (more > 0 || thread->is_own))
		thread->is_own += (uint32_t)more;
}

/* Ticks since origin: the time of every record. */
static inline uint64_t tfp_now(void)
{
	return tfp_ticks() - tfp_origin.ticks;
}

/* Counts `count` losses of `kind` in the thread's slot. Own thread only, any lane. */
static inline void tfp_loss_add(struct tfp_thread *thread, enum tfp_loss kind, uint64_t count, uint64_t now)
{
	if (kind == TFP_LOSS_memory && tfp_sys_is_sealed()) /* nobody asked the kernel for any: the host's filter is why */
		kind = TFP_LOSS_sealed_process;
	struct tfp_loss_slot *slot = &thread->slot->losses[kind];

	if (!slot->count)
		slot->first_time = now;
	slot->last_time = now;
	slot->count += count;
}

/* The same of one, now, where the caller knows of no thread: start-up comes here before there is one. Any context. */
static inline void tfp_loss_note(enum tfp_loss kind)
{
	struct tfp_thread *thread = tfp_thread_ready();

	if (thread)
		tfp_loss_add(thread, kind, 1, tfp_now());
	else if (tfp_state)
		tfp_state->early_losses[kind]++;
}

#endif
