/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, one thing after the other: for formats that draw a time line and for the analyses (reducer/analysis).
 *
 * Rule: a pass of its own after run_scan; memory follows what is open at one moment and the distinct names, not the log's
 * length. A span is told when it ends, so a range comes after what happened inside it. What a device did is told when its
 * record was read, some seconds after it happened at most. Times are ns since the run's start. What began and never ended
 * is told at the end, marked is_open. Every field is typed; nobody parses a text to know what a span is.
 */
#ifndef REDUCER_MODEL_SPANS_H
#define REDUCER_MODEL_SPANS_H

#include "reducer/model/flops.h"
#include "reducer/model/gpu.h"
#include "reducer/model/run.h"

enum span_kind { SPAN_WHOLE, SPAN_INSTANT, SPAN_COUNTER };

/* What it is; each has a word, span_what_name. */
enum span_what {
	SPAN_RANGE, /* a named range of a thread or, with `on` SPAN_PROCESS, of the process */
	SPAN_OP,    /* an op of a framework, begin and end recorded */
	SPAN_TRACE, /* what a framework tells when it is over (TraceMe); depth unknown, self_ns known */
	SPAN_MARK,
	SPAN_CALL, /* of a GPU function on a host thread */
	SPAN_KERNEL,
	SPAN_COPY,
	SPAN_HOST_COPY, /* between places of the host: on a stream, but no device works (GPU_COPY_ON_HOST) */
	SPAN_SET,
	SPAN_GRAPH,    /* a graph ran, recorded as a whole */
	SPAN_COMPILE,  /* the driver compiled or loaded code */
	SPAN_OVERHEAD, /* CUPTI's or the driver's own time */
	SPAN_STEP,
	SPAN_WINDOW, /* a window opened (number 1) or closed (0) */
	SPAN_READ,   /* calls on one file or socket that followed each other; self_ns: time inside them */
	SPAN_MEMORY, /* counter: live bytes of an allocator */
	SPAN_BLOCK,  /* a framework's allocator handed out a block or got one back; only who asks for it is told */
	SPAN_USE,    /* counter: a figure of the process, its control group, its machine or a device */
	SPAN_FLOPS,  /* the arithmetic of an op, trace or library call that is over, with its name and times; only who asks is told */
	SPAN_WHATS
};
#define SPAN_BIT(what) (1u << (what))
#define SPAN_ALL ((SPAN_BIT(SPAN_WHATS) - 1) & ~(SPAN_BIT(SPAN_BLOCK) | SPAN_BIT(SPAN_FLOPS)))
const char *span_what_name(enum span_what what);

/* Where it is drawn. */
enum span_track {
	SPAN_THREAD,  /* `track`: serial of the thread */
	SPAN_QUEUE,   /* place in process->gpu of the first queue of a stream */
	SPAN_PROCESS, /* of the process as a whole: steps, windows, counters */
};

struct span_argument {
	const char *name;
	const char *text; /* NULL: the number counts */
	uint64_t number;
};
/* Of a SPAN_BLOCK. Numbers are 0, texts NULL, where the framework does not say them. */
struct span_block {
	const char *op, *region, *shape;
	uint64_t address, requested, total, reserved, step;
	uint64_t free, stack, peak; /* of the allocator, as the file of another profiler says; see has_room */
	double fragmentation;
	uint32_t type; /* TensorFlow's DataType */
	int is_release, has_room;
};
/* Of a SPAN_FLOPS. An op that holds others has theirs where its own inputs tell nothing. */
struct span_flops {
	struct flops flops; /* the type of what is counted */
	enum flops_origin origin;
	int is_counted;	  /* its own, and nothing around it has counted it: these add up, and nothing is in two of them */
	int is_innermost; /* its own, and no op inside it has one; of a call: the op that it was made in has none */
	int is_inner;	  /* it lies in one of the same name, which has it, too */
	int is_replay;	  /* a CUDA graph is launched: what is in it was told when it was captured, and is not again; no figure */
};
/* In which ranges of its thread something happened: one that lies in others. Until the pass is over. */
struct span_nest {
	const struct span_nest *outer; /* NULL: in none; that one has no range itself */
	const char *name, *domain;
	uint32_t number; /* below the number of nestings; what is inside has a higher one */
	uint16_t depth;
	uint8_t source;	   /* row of range_sources.def */
	uint8_t is_inner;  /* lies in one of the same name, domain and source */
	uint8_t is_beyond; /* stands for all that nest too deep, or are too many, to be followed */
};
#define SPAN_ARGUMENTS 16
#define SPAN_LANES 16
#define SPAN_NO_DEPTH UINT32_MAX
#define SPAN_NO_SOURCE 255

struct span {
	enum span_kind kind;
	enum span_what what;
	enum span_track on;
	uint32_t track;
	uint32_t lane;	/* of a queue: 0, or a further one where the work of one queue overlaps; below SPAN_LANES */
	size_t process; /* index in run->processes */
	int64_t start_ns;
	uint64_t duration_ns; /* of SPAN_WHOLE */
	const char *category; /* the word of `what` */
	const char *name;
	int is_open;			       /* had not ended when the log did */
	uint64_t alike; /* what has the same number in a pass differs in times, lane, flow and the first argument alone; 0 = says nothing */
	uint64_t flow;			       /* equal for a call and the device work it started: its correlation id; 0 = none */
	int is_flow_start;		       /* the call */
	double value;			       /* of SPAN_COUNTER */
	uint64_t number;		       /* of a step: its number; of a window: 1 opened; of a read: row of io.def */
	const struct span_argument *arguments; /* for people; of SPAN_TRACE what stands behind its name, by key */
	size_t argument_count;

	/* Of what a thread did, and of device work: the thread that started it. */
	uint32_t thread;    /* serial; 0 = unknown, or of no thread */
	uint32_t began;	    /* of a range of the process: that began it, and ended it; 0 = two did */
	uint32_t depth;	    /* how many ranges and ops were open on its thread when it began; SPAN_NO_DEPTH = unknown */
	uint64_t self_ns;   /* of ranges, ops, traces: without those inside it on its thread */
	uint8_t source;	    /* of ranges, ops, traces: row of range_sources.def; else SPAN_NO_SOURCE */
	uint64_t key;	    /* of ops and ranges: as in op_begin.key, range_start.id; else 0 */
	uint8_t scope;	    /* of record functions: PyTorch's RecordScope */
	uint8_t phase;	    /* of ranges, ops, calls, device work: span_options.phase_of; 0 = none */
	uint64_t closure_ns; /* of PyTorch's Optimizer.step: that went first to what it called back for, which has its own phases */
	uint8_t op_source;  /* of `op` */
	const char *domain; /* of ranges: "" = the default one of its source */
	const char *op;	    /* of calls and device work: the innermost op of the thread when it was called; NULL = none */
	const char *range;  /* likewise the innermost range that is no op */
	const struct span_nest *nest; /* of calls and device work: the ranges of the call; NULL = of no call that is known */

	const struct span_block *block; /* of SPAN_BLOCK, whose name is the allocator's and `bytes` the block's */
	const struct span_flops *flops; /* of SPAN_FLOPS */

	/* Of calls. */
	enum gpu_kind call;
	uint32_t function; /* place in gpu->functions; GPU_NONE = not recorded */
	uint32_t result;

	/* Of device work. GPU_NONE = unknown. */
	uint32_t device, context, stream;
	const struct gpu_shape *shape; /* of a kernel; NULL = not recorded */
	uint64_t bytes;		       /* of copies, sets, reads */
	uint32_t copy_kind; /* CUpti_ActivityMemcpyKind: 1 to device, 2 to host, 8 on device, 10 between devices, ... */
	uint8_t from_memory, to_memory; /* CUpti_ActivityMemoryKind of copies (sets: to): 1 pageable, 2 pinned, 3 device; 0 = not said */
	uint8_t manner;	    /* of copies and sets: 0 synchronous, 1 asynchronous, 2 not said */
	uint32_t graph;	    /* executable graph, 0 = none */
	uint64_t node;	    /* of the graph, 0 = none */
	const char *inputs; /* of ops, calls, device work: what the (innermost) op was given, type[size,...];...; NULL = not recorded */
	const char *shapes; /* of tensors, as the file of another profiler says; NULL = not said */
	uint64_t given_step; /* number + 1 of the step it belongs to, as that file says; 0 = not said */
	int64_t called_ns;  /* when the call that started it began; TIME_UNKNOWN = no such call */
};

/* A call or kernel that differs from one told before in this alone; of a call the last two say nothing. */
struct span_again {
	const struct span *like; /* until the visit comes back */
	int64_t start_ns;
	uint64_t duration_ns, flow;
	int64_t called_ns;
	uint32_t lane;
};

/* Non-zero ends the pass. Texts live, unchanged, until the pass is over, but names of counters and texts of arguments: during the call. */
typedef int span_visit(void *context, const struct span *span);
/* Spans that follow each other, likewise. */
typedef int span_visit_again(void *context, const struct span_again *spans, size_t count);
/* The whole of one, but for its arguments. */
void span_again_fill(const struct span_again *again, struct span *span);

struct span_options {
	unsigned wants; /* SPAN_BITs: what is told */
	/*
	 * The phase that a range or op of this name begins, 0 = that of what it lies in. Asked once for each name, source
	 * and scope; NULL = there are none. Phases are of the caller's making, below 255.
	 */
	uint8_t (*phase_of)(void *context, const char *name, unsigned source, unsigned scope);
	int is_without_arguments; /* calls and device work are told without theirs: nobody shows them */
	span_visit *visit;
	span_visit_again *visit_again; /* gets what is like one that `visit` got; NULL = `visit` does. With is_without_arguments */
	void *context;
};

/* Tells the wanted spans of one process. Returns 0, what `visit` returned, or -1 without memory. After run_scan. */
int spans_stream(struct run *run, size_t process, const struct span_options *options);

#endif
