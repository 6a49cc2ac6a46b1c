/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch: ops, ranges of record_function, steps, and what its allocators hand out.
 *
 * Rule: built upon functions that PyTorch exports and upon a layout that is found by building an object with them, never
 * upon its version; what cannot be proved is left out, with a reason in the log (fact framework). PyTorch 1.13 to 2.x.
 *
 *   preload/pytorch.c  looks up, is called in PyTorch's place   ->   here: what the calls mean
 */
#ifndef TFP_COLLECTORS_PYTORCH_H
#define TFP_COLLECTORS_PYTORCH_H

#include <stddef.h>
#include <stdint.h>

struct tfp_caller;

#define TFP_PYTORCH_HIDDEN __attribute__((visibility("hidden")))

/* at::RecordFunctionCallback: trivially copyable, so passed by value on the stack. Unchanged from 1.13 to 2.15. */
struct tfp_pytorch_callback {
	void *(*start)(void **context, const void *function); /* unique_ptr<ObserverContext> (*)(const RecordFunction &) */
	void (*end)(const void *function, void *context);
	double probability;
	uint8_t scopes[10]; /* by RecordScope */
	uint8_t needs_inputs, needs_outputs, needs_ids;
};

/* Functions of PyTorch, by what they are here. NULL = this PyTorch has none. */
struct tfp_pytorch_api {
	uint64_t (*add_callback)(struct tfp_pytorch_callback); /* returns its handle, */
	void (*disable)(uint64_t handle);                      /* for these */
	void (*enable)(uint64_t handle);
	/* What guards its list of callbacks: the one mutex that the call takes (NULL: none, or several), and to take and leave it. */
	void *(*mutex_of)(void (*call)(void));
	int (*try_mutex)(void *mutex); /* 0 = taken */
	int (*leave_mutex)(void *mutex);
	const char *(*name)(const void *function);
	size_t (*input_count)(const void *function);
	uint64_t (*thread_id)(void);
	void (*construct)(void *function, uint8_t scope);
	void (*destroy)(void *function);
	void (*set_async)(void *function);
	/* The C shim, 2.3 and newer: 0 = done. What asks whether there are sizes to tell came with 2.8 or so. */
	int (*is_defined)(const void *tensor, uint8_t *is_defined);
	int (*dimensions)(const void *tensor, int64_t *count);
	int (*sizes)(const void *tensor, int64_t **sizes);
	int (*type)(const void *tensor, int32_t *type);
	int (*layout)(const void *tensor, int32_t *layout);
	int (*device)(const void *tensor, int32_t *device); /* with the number of the one that holds no data and computes nothing */
	int32_t (*meta)(void);
	const void *plain; /* what objects of the class of plain dense tensors begin with, c10::TensorImpl: those have sizes */
	/* Lists of numbers among the inputs; all three or none. make_list builds one of a vector and a type, three words and two. */
	uint8_t (*is_int_list)(const void *value); /* bool: the rest of the register is not told */
	uint8_t (*is_bool_list)(const void *value);
	void (*make_list)(void *list, uint64_t *vector, uint64_t *type);
	int64_t (*modes)(void); /* Python dispatch modes of this thread: tensors may have no shape of their own */
};

/*
 * PyTorch is there: proves the layout, registers. Setting OPS: ranges and steps alone (neither), ops, their shapes too. Once a
 * program, any thread, may allocate.
 */
void tfp_pytorch_attach(const struct tfp_pytorch_api *api, int wants_ops, int wants_shapes);

/* It is there and cannot be used: says so in the log. */
void tfp_pytorch_absent(const char *why);

/* Whether a callback is registered or given up. */
int tfp_pytorch_is_settled(void);

/*
 * The last handler before a fork, and the first behind it in parent and child: the mutex under which PyTorch's threads look at
 * its list of callbacks is held meanwhile. Blocks while another thread has it, for 100 ms at most. Any thread, any context.
 */
void tfp_pytorch_forking(void);
void tfp_pytorch_forked(void);
void tfp_pytorch_in_child(void);

/* exit has begun, PyTorch's list of callbacks is still there: it is not changed any more. */
void tfp_pytorch_ending(void);

/* A CPU block was handed out (not NULL), or is about to be given back. */
void tfp_pytorch_allocated(const void *block, size_t bytes);
void tfp_pytorch_freed(const void *block);

/* PyTorch's own report: bytes is negative for a release; device is {int8 kind, int8 index}, kind 0 the CPU. */
void tfp_pytorch_report(const void *block, int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device,
			const struct tfp_caller *caller);
void tfp_pytorch_refused(int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device);

#endif
