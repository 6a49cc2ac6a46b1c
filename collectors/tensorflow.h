/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow: ops, function calls, steps, TraceMe ranges, and what its allocators hand out.
 *
 * Rule: what arrives is looked at with care until PROVE_MOST pieces of its kind were as expected (memory is read through
 * the kernel, which says no instead of crashing); one that is not turns its kind off for good, with a reason in the log.
 * TensorFlow's own profiler keeps what it asks for, and we see its session too. TensorFlow 2.15 and newer.
 */
#ifndef TFP_COLLECTORS_TENSORFLOW_H
#define TFP_COLLECTORS_TENSORFLOW_H

#include <stddef.h>
#include <stdint.h>

struct tfp_caller;

/* libstdc++'s std::string. */
struct tfp_cxx_string {
	const char *text;
	size_t length;
	char within[16];
};

/* TF_Output of its C API. */
struct tfp_tensorflow_output {
	const void *node;
	int index;
};

/* What of TensorFlow we call or set; NULL = this one has it not. */
struct tfp_tensorflow_api {
	_Atomic int *trace_level;                 /* -1 = nothing is traced */
	void (*enable_annotations)(uint8_t is_on); /* 2.17 and newer */
	const void *(*memory_annotation)(void);
	const char *(*op_name)(const void *op, void *status);
	const char *(*node_name)(const void *node); /* of a graph */
	int (*status_code)(const void *status);
	size_t (*block_bytes)(const void *allocator, const void *block); /* of a BFC allocator */
	size_t (*allocator_name)(const void *allocator, char *text, size_t room); /* of a BFC allocator: its length */
	int has_pop; /* the end of an annotation can be seen */
	/* Of devices: what an annotation would say of a kernel, its length; tables of virtual functions, and what may stand in them. */
	size_t (*op_text)(const void *op, const void *context, char *text, size_t room);
	const void *const *device_table, *const *local_table, *const *pool_table;
	const void *device_compute, *pool_compute, *xla_compute, *renamed_compute;
};

/*
 * TensorFlow loads: sets its switches. Setting OPS: steps and calls of functions alone (neither), ops, shapes and input too. Once a
 * program.
 */
void tfp_tensorflow_attach(const struct tfp_tensorflow_api *api, int wants_ops, int wants_all);
void tfp_tensorflow_absent(const char *why);
int tfp_tensorflow_is_settled(void);

/* An eager call began and ended. status: a TF_Status, or NULL. What the first returns is handed to the second. */
int tfp_tensorflow_execute(const void *op);
void tfp_tensorflow_executed(const void *op, const void *status, int is_op);

/* A graph was made, and became a function of that name: tf.function traced it in between. */
void tfp_tensorflow_graph_made(const void *graph);
void tfp_tensorflow_graph_traced(const void *graph, const char *name);

/* A session began and ended a run, for the sake of that node (NULL = none is known). `call`: one that no other open call has. */
void tfp_tensorflow_run(const void *node, const void *call);
void tfp_tensorflow_ran(const void *call);

/*
 * A device was made (by the constructor of the class that all have), and is gone. A device is about to compute an op: whether that
 * is recorded; then, and only then, its end is told.
 */
void tfp_tensorflow_device_made(const void *device);
void tfp_tensorflow_device_gone(const void *device);
int tfp_tensorflow_compute(const void *op, const void *context);
void tfp_tensorflow_computed(void);

/* XLA is at work, or ops are computed where we do not see them: annotations are asked for from now on. */
void tfp_tensorflow_annotate(void);

/* An annotation was pushed and popped. */
void tfp_tensorflow_push(const char *name, size_t length);
void tfp_tensorflow_pop(void);

/* TraceMeRecorder::Event: 48 bytes; read only. */
void tfp_tensorflow_record(const void *event);
/* Whether the host's own profiler wants events. */
int tfp_tensorflow_is_watched(void);

/* Around Start and Stop of the host's own profiler: ours steps aside and comes back. */
void tfp_tensorflow_session_begin(int level);
void tfp_tensorflow_session_began(int is_open);
void tfp_tensorflow_session_ended(void);

/*
 * Around a call of an allocator that may call another one: `enter` says whether this is the outer one. Then the block that
 * came (NULL = none); before a release, freed.
 */
int tfp_tensorflow_enter_allocator(void);
void tfp_tensorflow_leave_allocator(void);
void tfp_tensorflow_allocated(const char *allocator, const void *self, const void *block, size_t bytes,
			      const struct tfp_caller *caller);
/* It had no memory for that. */
void tfp_tensorflow_refused(const char *allocator, const void *self, size_t bytes);
void tfp_tensorflow_freed(const char *allocator, const void *self, const void *block);
/* allocator NULL: a BFC one, which has a name of its own. */

#endif
