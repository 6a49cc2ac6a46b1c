/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of TensorFlow's allocators, and for which op they are; see collectors/tensorflow.h.
 *
 *   ScopedMemoryDebugAnnotation, of the thread that allocates:
 *     to 2.19    char *op | step | char *region | type | std::function<std::string()> shape
 *     from 2.20  length, char *op | step | length, char *region | type | shape
 *
 * Rule: which of the two it is says the first word (an address, or a length), once; while that is being proved, and where
 * it is neither, blocks are recorded without what they are for.
 */
#include "collectors/heap.h"
#include "collectors/opnames.h"
#include "collectors/python.h"
#include "collectors/tensorflow_prove.h"
#include "collectors/tensorflow_trace.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define LEAST_ADDRESS 4096 /* the first page is never mapped: smaller words are lengths */
#define TYPES_MOST 256     /* TensorFlow's DataType, 100 + type for references */

/* What an annotation says; no op: nothing. */
struct purpose {
	const char *op, *region;
	size_t op_length, region_length;
	uint64_t step;
	uint32_t type;
};

static struct tfp_tensorflow_api api; /* written once, by tfp_tensorflow_begin_trace */
static struct tfp_proof purposes;

void tfp_tensorflow_begin_trace(const struct tfp_tensorflow_api *found)
{
	api = *found;
}

static void decode(const uint64_t *words, struct purpose *purpose, int is_careful)
{
	*purpose = (struct purpose){0};
	if (!words[0])
		return;
	if (words[0] >= LEAST_ADDRESS) {
		purpose->op = (const char *)(uintptr_t)words[0];
		purpose->op_length = is_careful ? 1 : tfp_op_length(purpose->op, TFP_PROVE_TEXT);
		purpose->step = words[1];
		purpose->region = (const char *)(uintptr_t)words[2];
		purpose->region_length = !words[2] ? 0 : is_careful ? 1 : tfp_op_length(purpose->region, 64);
		purpose->type = (uint32_t)words[3];
	} else {
		purpose->op = (const char *)(uintptr_t)words[1];
		purpose->op_length = (size_t)words[0];
		purpose->step = words[2];
		purpose->region = (const char *)(uintptr_t)words[4];
		purpose->region_length = (size_t)words[3];
		purpose->type = (uint32_t)words[5];
	}
}

static int is_expected(const uint64_t *words)
{
	struct purpose purpose;

	decode(words, &purpose, 1);
	return tfp_prove_text(purpose.op, purpose.op_length) && purpose.region_length < 64 && purpose.type < TYPES_MOST &&
	       (!purpose.region_length || tfp_prove_text(purpose.region, purpose.region_length));
}

static void find_purpose(struct purpose *purpose)
{
	const uint64_t *words = api.memory_annotation ? api.memory_annotation() : NULL;
	int was_refuted = purposes.is_refuted != 0;

	*purpose = (struct purpose){0};
	if (!words || !words[0])
		return;
	if (TFP_PROVE(&purposes, is_expected(words)))
		decode(words, purpose, 0);
	else if (!was_refuted)
		tfp_tensorflow_refuted("Memory annotations are not laid out as expected: allocations are recorded without their op.");
}

int tfp_tensorflow_enter_allocator(void)
{
	struct tfp_thread *thread = tfp_self;

	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	return thread && thread->op_nested++ == 0;
}

void tfp_tensorflow_leave_allocator(void)
{
	struct tfp_thread *thread = tfp_self;

	if (thread && thread->is_ready == 1 && thread->op_nested)
		thread->op_nested--;
}

static uint32_t name_of(struct tfp_thread *thread, const char *allocator, const void *self)
{
	char text[64];
	size_t length;

	if (allocator && thread->op_own_allocator != allocator) { /* a literal of ours: its address is as good as its text */
		thread->op_own_name = tfp_op_name(thread, allocator, tfp_length(allocator));
		thread->op_own_allocator = thread->op_own_name ? allocator : NULL;
	}
	if (allocator)
		return thread->op_own_name;
	length = api.allocator_name ? api.allocator_name(self, text, sizeof text) : 0;
	return length ? tfp_op_name(thread, text, length) : tfp_op_name(thread, "bfc", 3);
}

static uint32_t optional(struct tfp_thread *thread, const char *text, size_t length)
{
	return length ? tfp_op_name(thread, text, length) : 0;
}

/* What the block of the next record is for. */
static void put_detail(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, size_t requested, const struct purpose *purpose)
{
	TFP_PUT(thread, lane, now, block_detail, .requested = requested, .step = purpose->step,
		.op = optional(thread, purpose->op, purpose->op_length),
		.region = optional(thread, purpose->region, purpose->region_length), .type = purpose->type);
}

void tfp_tensorflow_allocated(const char *allocator, const void *self, const void *block, size_t bytes,
			      const struct tfp_caller *caller)
{
	struct tfp_lane *lane;
	struct purpose purpose;
	size_t whole = !allocator && api.block_bytes ? api.block_bytes(self, block) : bytes;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);

	if (!thread)
		return;
	uint64_t now = tfp_now();
	uint32_t name = name_of(thread, allocator, self);
	find_purpose(&purpose);
	uint32_t stack = allocator ? 0 : tfp_heap_block_stack(thread, lane, now, whole, caller); /* ours are the CPU's: the heap has it */
	if (purpose.op_length || whole != bytes)
		put_detail(thread, lane, now, bytes, &purpose);
	TFP_PUT(thread, lane, now, block, .address = (uint64_t)(uintptr_t)block, .bytes = whole, .allocator = name, .operation = 1,
		.stack = stack);
	tfp_thread_leave(thread);
}

void tfp_tensorflow_refused(const char *allocator, const void *self, size_t bytes)
{
	struct tfp_lane *lane;
	struct purpose purpose;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);

	if (!thread)
		return;
	uint64_t now = tfp_now();
	uint32_t name = name_of(thread, allocator, self);
	find_purpose(&purpose);
	if (purpose.op_length)
		put_detail(thread, lane, now, bytes, &purpose);
	tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES); /* which line asked, where it is one of Python's threads */
	TFP_PUT(thread, lane, now, block, .bytes = bytes, .allocator = name, .operation = 3);
	tfp_thread_leave(thread);
}

void tfp_tensorflow_freed(const char *allocator, const void *self, const void *block)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), block, .address = (uint64_t)(uintptr_t)block, .allocator = name_of(thread, allocator, self),
		.operation = 2);
	tfp_thread_leave(thread);
}
