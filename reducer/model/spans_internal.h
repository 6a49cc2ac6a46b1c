/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind spans.h share. Private to them. See spans.h. */
#ifndef REDUCER_MODEL_SPANS_INTERNAL_H
#define REDUCER_MODEL_SPANS_INTERNAL_H

#include "reducer/model/clock.h"
#include "reducer/model/gpu_clock.h"
#include "reducer/model/nests.h"
#include "reducer/model/number_map.h"
#include "reducer/model/open_keys.h"
#include "reducer/model/places.h"
#include "reducer/model/scan.h"
#include "reducer/model/spans.h"
#include "reducer/model/spans_alike.h"
#include "reducer/model/spans_awaited.h"
#include "reducer/model/spans_collectives.h"

#define SPANS_NO_TEXT UINT32_MAX

/* A range that has begun. `family` keeps pops of one kind of range from ending another. */
struct span_open {
	uint64_t key;
	int64_t start_ns;
	uint64_t inside_ns;    /* of ranges directly inside it */
	uint32_t family, name; /* name: place in texts */
	uint32_t domain;
	uint32_t inputs;       /* of an op: place in texts */
	uint32_t nest;	       /* of what begins in it; of an op that of what it lies in */
	uint32_t began;	       /* of a range of the process: the serial of the thread; 0 = another one ended it */
	uint32_t op, range;    /* innermost with a name among those up to it: places on the stack + 1, 0 = none */
	uint8_t source, scope, phase, is_op;
	struct flops flops;    /* what its inputs tell */
	uint64_t inside_flops; /* of what it held */
	uint8_t is_covered;    /* its inputs, or those of what it lies in, tell */
	uint8_t holds_flops, holds_own; /* something in it has a figure; of its own inputs */
	uint8_t is_stepping, is_within; /* PyTorch's Optimizer.step; lies in one. spans_closures.c */
	uint8_t is_closure, is_pending; /* part of what that step calls back for; of a step: what is known of it ended last */
	int64_t closure_ns;		/* of a step: when that ended; 0 = it called nothing back */
};
enum {
	FAMILY_PROCESS = 1u << 16,
	FAMILY_OP = 2u << 16,
	FAMILY_STACK = 3u << 16,
	FAMILY_TRACE = 4u << 16
}; /* source, domain added */

/* Of a thread: what is open, and what ended without being known to lie in something. */
struct span_thread {
	uint32_t serial;
	struct span_open *open;
	size_t count, room;
	uint64_t too_deep; /* pushed and not popped beyond the last that is on `open` */
	struct span_ended {
		int64_t start_ns;
		uint64_t duration_ns;
	} * ended;
	size_t ended_count, ended_room;
};

/* A trace whose numbers may still follow it in its stream. */
struct span_pending {
	struct {
		uint32_t op, shapes; /* ids of op_name facts, 0 = not said */
		uint64_t step;	     /* + 1 */
	} given;		     /* for the device record that comes next in the stream */
	struct span_block block; /* what was said of the block that comes next in the stream */
	struct span span;
	struct span_argument arguments[SPAN_ARGUMENTS];
	int is_there;
};

/* When a device record says that it was. */
struct span_moment {
	uint64_t start, duration; /* device time */
	uint64_t read, called;	  /* ticks when it was read from CUPTI, when its call began; called: UINT64_MAX = not known */
};

#define SPANS_WAITING 64u /* 3 KiB: they stay in the first-level cache */

struct spans {
	struct scan *scan;
	const struct span_options *options;
	size_t process;
	int result;				   /* of the visit */
	struct number_map strings, words, domains; /* hash of a string fact, id of an op_name or range_domain -> place in texts */
	struct number_map functions, shapes, queues; /* number or id -> place in process->gpu */
	const char **texts;
	size_t text_count, text_room;
	struct number_map phases; /* place in texts, source and scope -> phase */
	struct span_phase {
		uint16_t of; /* source, scope */
		uint8_t phase, is_known;
	} * phase_of_text; /* the one that was asked for last, by place in texts; NULL = none was, or no memory */
	struct pool pool;
	struct nests nests;
	struct places places;
	int64_t (*lane_ends)[SPAN_LANES];  /* by place of the queue: when the last work of each lane ends */
	uint64_t passed;		   /* device time at which a device record is known to have been read */
	int is_foreign;			   /* the log is made of another profiler's file */
	struct span_thread *threads, wide; /* wide: ranges of the whole process */
	size_t thread_count;
	size_t *thread_of;	     /* by stream */
	struct open_keys open_ops;   /* of all threads */
	struct span_awaited awaited;
	struct alikes alikes;
	struct spans_flops *flops;   /* NULL = nobody asks */
	struct number_map nodes;     /* graph node -> place in node_places */
	struct span_place *node_places;
	size_t node_count, node_room;
	struct span_pending *pending; /* by stream */
	struct spans_collectives collectives;
	int64_t realtime_offset;      /* run ns - CLOCK_REALTIME */
	struct {
		int64_t start_ns;
		uint64_t number;
		int is_known;
	} step;
	uint64_t last; /* ticks */
	struct clock_near near;
	struct gpu_clock_near near_device;
	struct gpu_clock_stretch near_called; /* device times of calls */
	int64_t closed_ns; /* when the last window closed; TIME_UNKNOWN = none has */
	struct span_again waiting[SPANS_WAITING]; /* for visit_again, told before anything else is */
	size_t waiting_count;
};

#define SPANS_VALUE(f) batch_value(batch, i, fields[f])

/* Fills in what all spans have. */
void spans_tell(struct spans *spans, struct span *span);
/* Tells all that waits for others like it. */
void spans_tell_waiting(struct spans *spans);
/* What `alike` says, whose span was told before, but for these. */
static inline void spans_tell_again(struct spans *spans, struct alike *alike, const struct span_again *again)
{
	if (spans->options->visit_again != NULL) {
		if (spans->waiting_count == SPANS_WAITING)
			spans_tell_waiting(spans);
		spans->waiting[spans->waiting_count++] = *again;
		return;
	}
	alike_set(alike, again);
	if (spans->result == 0)
		spans->result = spans->options->visit(spans->options->context, &alike->span);
}
static inline int64_t spans_ns(struct spans *spans, uint64_t ticks)
{
	const struct process *process = spans->scan->process;

	return clock_ns_near(process->clock, &spans->near, process->log->header.origin.ticks + ticks);
}
/* Of a device's time; the log says something about GPUs. */
int64_t spans_device_ns(struct spans *spans, uint64_t device_time);
uint32_t spans_serial(const struct spans *spans, size_t stream);
/* NULL for SPANS_NO_TEXT. */
const char *spans_text(const struct spans *spans, uint32_t place);

/* The phase that such a name begins, as span_options.phase_of says, asked once; 0 = none. There is such a text and who says it. */
uint8_t spans_phase(struct spans *spans, uint32_t text, uint8_t source, uint8_t scope);
/* Where the thread of a stream is now. */
struct span_place spans_where(const struct spans *spans, size_t stream);
/* spans_ranges.c: what is open ends here, still open. */
void spans_ranges_finish(struct spans *spans, int64_t end_ns);
/* spans_traces.c */
void spans_traces_flush(struct spans *spans);
/* spans_gpu.c */
int spans_gpu_begin(struct spans *spans);
void spans_gpu_finish(struct spans *spans);
/* Puts in which call started it, and where its thread was then. */
void spans_set_call(const struct spans *spans, struct span *span, const struct span_call *call);

/* spans_possible.c */
/*
 * Whether a device record may be what it says, as the first pass has it (gpu_impossible): it did not begin before its call (TIME_UNKNOWN =
 * none is known) nor end after it was read, at `read` ticks, by more than the clock's error there.
 */
int spans_is_possible_near(struct spans *spans, const struct span_moment *moment);

/* spans_flops.c */
int spans_flops_begin(struct spans *spans);
void spans_flops_free(struct spans *spans);
/* What was open has ended, and is about to be told. `below`: what it lay in directly, NULL = nothing. */
void spans_flops_close(struct spans *spans, const struct span_thread *thread, const struct span_open *open, struct span_open *below,
		       const struct span *span);
/* A library call ended, whose arguments came just before it, if any did. function NULL: it failed. */
/* A call of a library, or the launch of a graph. */
void spans_flops_call(struct spans *spans, size_t stream, const struct gpu_function *function, uint32_t result,
		      const struct span_call *call, int64_t end_ns);
void spans_flops_trace(struct spans *spans, const struct span *span);

/*
 * spans_closures.c: what PyTorch's Optimizer.step calls back for. closures_begin: `open` is about to lie on the thread, its phase is known;
 * closures_close: it has ended, and lies there no more.
 */
void closures_begin(const struct spans *spans, const struct span_thread *thread, struct span_open *open);
void closures_close(struct span_open *parent, const struct span_open *open, int64_t end_ns);

/* spans_use.c: the counters, all at the end. */
void spans_use(struct spans *spans);

/* Ranges: push and pop, start and end, ops. */
struct span_open *spans_push(struct spans *spans, struct span_thread *thread, struct span_open open);
/* The youngest open range that fits ends; SIZE_MAX = none does. */
size_t spans_find(const struct span_thread *thread, uint32_t family, uint64_t key);
void spans_close(struct spans *spans, struct span_thread *thread, size_t at, int64_t end_ns, int is_open);
uint32_t spans_place_of(const struct number_map *map, uint64_t key);

scan_take spans_take_push, spans_take_pop, spans_take_start, spans_take_end, spans_take_op_begin, spans_take_op_end,
	spans_take_mark, spans_take_read, spans_take_trace, spans_take_trace_number, spans_take_clock, spans_take_call,
	spans_take_kernel, spans_take_copy, spans_take_set, spans_take_graph, spans_take_node, spans_take_jit,
	spans_take_overhead, spans_take_device_op, spans_take_device_step, spans_take_block, spans_take_block_detail, spans_take_block_room,
	spans_take_inputs, spans_take_library, spans_take_link;
scan_take_alike spans_take_calls, spans_take_kernels;

#endif
