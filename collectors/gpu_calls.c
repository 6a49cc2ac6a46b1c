/* SPDX-License-Identifier: Apache-2.0 */
/* GPU calls: hooks, callbacks, and how they find each other; see collectors/gpu_calls.h. */
#include "collectors/gpu_calls.h"

#include "collectors/gpu_blocks.h"
#include "collectors/gpu_names.h"
#include "collectors/gpu_records.h"
#include "collectors/gpu_state.h"
#include "collectors/names.h"
#include "collectors/window.h"
#include "writer/sys.h"

#include <signal.h>
#include <sys/syscall.h>

#define NEAR 262144u /* bytes: frames further apart may be on two stacks, where their order says nothing */

/* tfp_gpu_seen.scratch between entry and exit; otherwise the begin in ticks, shifted, and whether it is nested. */
enum { UNSEEN = 0, IGNORED = 1, TAKEN = 2, BEGIN_SHIFT = 2 }; /* up to TAKEN: tfp_gpu_seen_is_own */

/* Places in the values of a release that its record leaves free: what the block was, should the release fail. */
enum { RANGE_KEPT = TFP_GPU_VALUES - 3, DEVICE_KEPT = TFP_GPU_VALUES - 2, CONTEXT_KEPT = TFP_GPU_VALUES - 1 };

static const char *const words[] = {
#define TFP_GPU_KIND(name, word, has_stack, is_rare) word,
	TFP_GPU_KINDS(TFP_GPU_KIND)
#undef TFP_GPU_KIND
};

static const char *const libraries[] = {
#define TFP_GPU_LIBRARY_ROW(name, word) word,
	TFP_GPU_LIBRARIES(TFP_GPU_LIBRARY_ROW)
#undef TFP_GPU_LIBRARY_ROW
};

static const uint8_t has_stack_of[] = {
#define TFP_GPU_KIND(name, word, has_stack, is_rare) has_stack,
	TFP_GPU_KINDS(TFP_GPU_KIND)
#undef TFP_GPU_KIND
};

/*
 * Whether the call noted at `noted` was left by longjmp: the stack grows down, and a live one encloses whoever asks at
 * `here`. Only where both are on one stack: a handler on an alternate stack may lie above what it interrupted.
 */
static __attribute__((noinline, cold)) int is_left(uintptr_t noted, uintptr_t here)
{
	stack_t alternate = {.ss_flags = SS_DISABLE};

	if (noted > here || here - noted > NEAR)
		return 0;
	return tfp_sys(SYS_sigaltstack, 0, (long)&alternate, 0, 0, 0, 0) == 0 && !(alternate.ss_flags & SS_ONSTACK);
}

/* The innermost call that this thread is in at `here`, NULL = none. */
static inline struct tfp_gpu_frame *innermost(struct tfp_gpu_thread *gpu, uintptr_t here)
{
	while (gpu->depth) {
		struct tfp_gpu_frame *frame = &gpu->frames[gpu->depth - 1];
		if (__builtin_expect(frame->frame > here, 1) || !is_left(frame->frame, here))
			return frame;
		gpu->depth--;
	}
	return NULL;
}

/* Notes a call; its index, TFP_GPU_FRAMES where there is no room. A handler between any two lines leaves depth as it was. */
static inline uint32_t push(struct tfp_gpu_thread *gpu, uintptr_t here, uint32_t function, uint32_t flags)
{
	uint32_t index = gpu->depth;

	if (TFP_UNLIKELY(index >= TFP_GPU_FRAMES))
		return TFP_GPU_FRAMES;
	gpu->depth = index + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	gpu->frames[index] = (struct tfp_gpu_frame){.frame = here, .function = function, .flags = flags};
	return index;
}

/* NULL: counted, write nothing. */
static inline __attribute__((always_inline)) struct tfp_lane *take_lane(struct tfp_thread *thread)
{
	struct tfp_lane *lane;

	return __builtin_expect(tfp_thread_enter_lane(thread, &lane) != NULL, 1) ? lane : NULL;
}

static inline void note_function(const struct tfp_gpu_function *function)
{
	if (TFP_UNLIKELY(!tfp_gpu_function_is_noted(function->number)))
		tfp_gpu_function_note(function->number, function->texts, libraries[function->library], words[function->kind],
				      function->texts + tfp_length(function->texts) + 1);
}

/* A library's kernels are launched inside its call: the record that its call began lets them find it. */
static __attribute__((noinline)) void write_begin(struct tfp_thread *thread, const struct tfp_gpu_function *function)
{
	struct tfp_lane *lane = take_lane(thread);

	if (!lane)
		return;
	note_function(function);
	TFP_PUT(thread, lane, tfp_now(), call_begin, .function = function->number);
	tfp_thread_leave(thread);
}

/* The thread's state for a call that takes the slow road; NULL: it cannot be noted. */
static __attribute__((noinline, cold)) struct tfp_thread *thread_of_call(struct tfp_gpu_call *call)
{
	struct tfp_thread *thread = tfp_thread_have();

	if (!thread || thread->is_own)
		return NULL;
	return tfp_gpu_is_asked(call->function->kind) ? thread : NULL; /* the start has just set the mask */
}

/* What the usual call is spared: no state yet, a call inside another one, launches that are counted, a library's begin. */
static __attribute__((noinline)) void enter_any(struct tfp_gpu_call *call)
{
	struct tfp_thread *thread = tfp_self;
	uintptr_t here = (uintptr_t)call;

	if (TFP_UNLIKELY(!thread || thread->is_ready != 1 || thread->is_own)) {
		thread = thread_of_call(call);
		if (!thread)
			return;
	}
	if (TFP_UNLIKELY(tfp_gpu_attention))
		tfp_gpu_before(call->function->kind, call->caller.pc ^ (uint64_t)call->function->number << 48, thread,
			       &call->launch);
	struct tfp_gpu_frame *outer = innermost(&thread->gpu, here);
	call->index = push(&thread->gpu, here, call->function->number, outer ? TFP_GPU_HOOKED | TFP_GPU_NESTED : TFP_GPU_HOOKED);
	call->is_recorded = tfp_gpu_recorded >> call->function->kind & 1;
	if (TFP_UNLIKELY(call->launch))
		call->is_recorded = (uint32_t)tfp_window_takes_launch(call->launch);
	call->thread = thread;
	if (TFP_UNLIKELY(call->function->kind == TFP_GPU_KIND_library && call->is_recorded))
		write_begin(thread, call->function);
	call->begin = tfp_now();
}

void tfp_gpu_enter(struct tfp_gpu_call *call)
{
	const struct tfp_gpu_function *function = call->function;
	struct tfp_thread *thread = tfp_self;

	call->thread = NULL;
	call->argument = TFP_GPU_NONE;
	call->launch = 0;
	if (TFP_UNLIKELY(!thread || thread->is_ready != 1 || thread->is_own || thread->gpu.depth || tfp_gpu_attention ||
			 function->kind == TFP_GPU_KIND_library)) {
		enter_any(call);
		return;
	}
	thread->gpu.depth = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->gpu.frames[0] =
		(struct tfp_gpu_frame){.frame = (uintptr_t)call, .function = function->number, .flags = TFP_GPU_HOOKED};
	call->index = 0;
	call->is_recorded = tfp_gpu_recorded >> function->kind & 1;
	call->thread = thread;
	call->begin = tfp_now();
}

void tfp_gpu_captured(struct tfp_gpu_call *call)
{
	if (call->thread && call->index < TFP_GPU_FRAMES)
		call->thread->gpu.frames[call->index].flags |= TFP_GPU_CAPTURED;
}

void tfp_gpu_releasing(struct tfp_gpu_call *call, uint64_t address)
{
	struct tfp_gpu_block block = {.address = address, .device = UINT32_MAX};

	if (call->thread)
		tfp_gpu_block_remove(&block);
	call->flavour = block.flavour;
	call->values[3] = block.bytes;
	call->values[RANGE_KEPT] = 0;
	call->values[DEVICE_KEPT] = block.device;
	call->values[CONTEXT_KEPT] = block.context;
}

void tfp_gpu_unmapping(struct tfp_gpu_call *call, uint64_t address, uint64_t bytes)
{
	tfp_gpu_releasing(call, address);
	call->values[RANGE_KEPT] = bytes;
}

/* Forgets what is mapped behind the first `bytes` of a range. Returns the bytes of all. */
static uint64_t forget_mappings(uint64_t address, uint64_t bytes, uint64_t range)
{
	while (bytes && bytes < range) {
		struct tfp_gpu_block next = {.address = address + bytes};

		if (!tfp_gpu_block_remove(&next) || !next.bytes)
			break;
		bytes += next.bytes;
	}
	return bytes;
}

/* Out of memory: which line asked is worth a look, as of a sampled allocation. */
static inline __attribute__((always_inline)) void put_python(struct tfp_thread *thread, struct tfp_lane *lane,
							     const struct tfp_gpu_done *done)
{
	uint32_t when = done->result == TFP_GPU_OUT_OF_MEMORY ? TFP_PYTHON_SAMPLES : TFP_PYTHON_CALLS;

	if (TFP_UNLIKELY(tfp_python_when >= when))
		tfp_python_put(thread, lane, done->now, when);
}

/* A release that failed, or was captured: the block is the host's as it was. */
static void take_back(struct tfp_thread *thread, uint64_t *values)
{
	const struct tfp_gpu_block block = {.address = values[0], .bytes = values[3], .flavour = (uint32_t)values[2],
					    .device = (uint32_t)values[DEVICE_KEPT], .context = values[CONTEXT_KEPT]};

	if (block.bytes)
		tfp_gpu_block_add(thread, &block);
	values[3] = 0;
}

/* What the call did to the memory that the host holds: nothing, where it failed or was captured. */
static __attribute__((noinline)) void follow_memory(struct tfp_thread *thread, struct tfp_gpu_call *call, int is_void)
{
	uint64_t *values = call->values;
	const struct tfp_gpu_block block = {.address = values[0], .bytes = values[1], .device = (uint32_t)values[4],
					    .flavour = (uint32_t)values[5], .context = values[6]};

	if (is_void) {
		if (call->argument == TFP_GPU_FREE)
			take_back(thread, values);
		return;
	}
	switch (call->argument) {
	case TFP_GPU_ALLOC:
		tfp_gpu_block_add(thread, &block);
		break;
	case TFP_GPU_FREE:
		values[3] = forget_mappings(values[0], values[3], values[RANGE_KEPT]);
		break;
	case TFP_GPU_DEVICE:
		thread->gpu.device = (uint32_t)values[0] + 1;
		break;
	case TFP_GPU_RESET:
		tfp_gpu_blocks_drop((uint32_t)values[0]);
		break;
	case TFP_GPU_ENDED:
		tfp_gpu_blocks_drop_context(values[0]);
		break;
	case TFP_GPU_RELEASED:
		if (values[0])
			tfp_gpu_blocks_drop((uint32_t)values[1]);
		break;
	default:
		break;
	}
}

/* A copy or set of 0 bytes: no device record will say so. Those whose size is not in their arguments have none. */
static inline int is_empty(const struct tfp_gpu_call *call)
{
	return (call->argument == TFP_GPU_COPY || call->argument == TFP_GPU_SET) && TFP_UNLIKELY(!call->values[0]);
}

/* The arguments of work that CUPTI reports itself are left out; not those of a call that failed, was captured, or had nothing to do. */
static uint32_t argument_of(const struct tfp_gpu_call *call, const struct tfp_gpu_done *done)
{
	uint32_t kind = call->function->kind;

	if (kind > TFP_GPU_KIND_set && kind != TFP_GPU_KIND_graph_launch)
		return call->argument;
	if (done->result || (done->flags & TFP_GPU_CAPTURED) || is_empty(call))
		return call->argument;
	int is_reported = tfp_gpu_has_device_records(call->thread, done->now);
	return is_reported && kind <= TFP_GPU_KIND_set ? TFP_GPU_NONE : call->argument;
}

static inline __attribute__((always_inline)) void write_call(struct tfp_thread *thread, struct tfp_gpu_call *call,
							     struct tfp_gpu_done *done)
{
	const struct tfp_gpu_function *function = call->function;
	struct tfp_lane *lane = take_lane(thread);

	if (TFP_UNLIKELY(!lane))
		return;
	note_function(function);
	if (done->argument == TFP_GPU_LAUNCH)
		call->values[0] = tfp_gpu_name_id(call->values[0]);
	if (has_stack_of[function->kind]) {
		done->stack = tfp_caller_stack(thread, lane, &call->caller);
		put_python(thread, lane, done);
	}
	tfp_gpu_put(thread, lane, done);
	if (TFP_UNLIKELY(--thread->calls_left <= 0))
		tfp_look(thread, lane);
	tfp_thread_leave(thread);
}

#define FOLLOWED \
	(1u << TFP_GPU_ALLOC | 1u << TFP_GPU_FREE | 1u << TFP_GPU_DEVICE | 1u << TFP_GPU_RESET | 1u << TFP_GPU_ENDED | \
	 1u << TFP_GPU_RELEASED)
#define UNUSUAL (FOLLOWED | 1u << TFP_GPU_ROOM)

/* As argument_of, of a call that succeeded and was not captured. Without CUPTI nobody is to be asked. */
static inline uint32_t usual_argument(const struct tfp_gpu_call *call, uint64_t now)
{
	uint32_t kind = call->function->kind;

	if (tfp_gpu_mode == TFP_GPU_HOOKS || (kind > TFP_GPU_KIND_set && kind != TFP_GPU_KIND_graph_launch))
		return call->argument;
	if (is_empty(call))
		return call->argument;
	return tfp_gpu_has_device_records(call->thread, now) && kind <= TFP_GPU_KIND_set ? TFP_GPU_NONE : call->argument;
}

/* As write_call, into a lane that is entered. */
static inline __attribute__((always_inline)) void write_usual(struct tfp_thread *thread, struct tfp_lane *lane,
							      struct tfp_gpu_call *call, uint64_t now)
{
	const struct tfp_gpu_frame *frame = &thread->gpu.frames[0];
	uint32_t kind = call->function->kind;
	struct tfp_gpu_done done = {.now = now, .begin = call->begin, .function = call->function->number, .flags = frame->flags,
				    .context = frame->context, .values = call->values, .argument = usual_argument(call, now)};

	if (frame->correlation)
		done.correlation = tfp_gpu_widen(frame->correlation);
	if (done.argument == TFP_GPU_LAUNCH)
		call->values[0] = tfp_gpu_name_id(call->values[0]);
	if (has_stack_of[kind] && tfp_state->stacks)
		done.stack = tfp_caller_stack(thread, lane, &call->caller);
	if (TFP_UNLIKELY(tfp_python_when >= TFP_PYTHON_CALLS) && has_stack_of[kind])
		tfp_python_put(thread, lane, now, TFP_PYTHON_CALLS);
	tfp_gpu_put(thread, lane, &done);
}

void tfp_gpu_leave_any(struct tfp_gpu_call *call, uint32_t result, uint64_t now)
{
	struct tfp_gpu_done done = {.now = now, .begin = call->begin, .function = call->function->number, .result = result,
				    .flags = TFP_GPU_HOOKED, .values = call->values};
	struct tfp_thread *thread = call->thread;

	if (TFP_UNLIKELY(thread->is_ready != 1 || thread != tfp_self)) /* another process, or another coroutine's thread */
		return;
	if (__builtin_expect(call->index < TFP_GPU_FRAMES, 1)) {
		struct tfp_gpu_frame *frame = &thread->gpu.frames[call->index];
		if (__builtin_expect(thread->gpu.depth > call->index && frame->function == done.function, 1)) {
			done.flags = frame->flags;
			done.context = frame->context;
			done.correlation = frame->correlation ? tfp_gpu_widen(frame->correlation) : 0;
			thread->gpu.depth = call->index;
		}
	}
	if (TFP_UNLIKELY(1u << call->argument & FOLLOWED))
		follow_memory(thread, call, result || (done.flags & TFP_GPU_CAPTURED));
	if (call->is_recorded) {
		done.argument = argument_of(call, &done);
		if (TFP_UNLIKELY(done.argument == TFP_GPU_ROOM))
			call->values[1] = done.context;
		write_call(thread, call, &done);
	}
	if (TFP_UNLIKELY(call->launch))
		tfp_gpu_after(call->launch);
	if (TFP_UNLIKELY(!tfp_gpu_is_working) && !result)
		tfp_gpu_serves(call->function->kind);
	if (TFP_UNLIKELY(!tfp_gpu_is_working) && call->function->kind <= TFP_GPU_KIND_set && !result && !thread->depth)
		tfp_gpu_work_began();
}

/*
 * The usual call: it succeeded, stands alone on its thread, and nothing but its records is to be made. What decides that is
 * asked once, after the lane was entered. 0: nothing was done.
 */
static inline __attribute__((always_inline)) int leave_usual(struct tfp_gpu_call *call, uint64_t now)
{
	const struct tfp_gpu_function *function = call->function;
	struct tfp_thread *thread = call->thread;
	const struct tfp_gpu_frame *frame = &thread->gpu.frames[0];

	TFP_ENTER(thread);
	if (TFP_UNLIKELY(thread->is_ready != 1 || /* asked last: a handler may have forked just before, and we are in the child */
			 thread->gpu.depth != 1 || frame->function != function->number || (frame->flags & TFP_GPU_CAPTURED) ||
			 thread->calls_left <= 1 || !tfp_gpu_function_is_noted(function->number))) {
		TFP_LEAVE(thread);
		return 0;
	}
	thread->calls_left--;
	write_usual(thread, &thread->lanes[0], call, now);
	thread->gpu.depth = 0; /* last: a handler's call must not take the frame that is read here */
	TFP_LEAVE(thread);
	return 1;
}

uint64_t tfp_gpu_leave_usual(struct tfp_gpu_call *call, uint32_t result)
{
	uint64_t now = tfp_now();

	if (TFP_UNLIKELY(result || (1u << call->argument & UNUSUAL) || !call->is_recorded || call->launch || !tfp_gpu_is_working ||
			 call->thread != tfp_self || call->thread->depth || !leave_usual(call, now)))
		return now;
	return 0;
}

/* By number: a hooked launch, which no callback but a launch's speaks of. */
static const uint8_t is_of_launch[TFP_GPU_LIBRARY_FIRST] = {
#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) \
	[number] = TFP_GPU_KIND_##kind == TFP_GPU_KIND_launch || TFP_GPU_KIND_##kind == TFP_GPU_KIND_graph_launch,
#define TFP_GPU_HOOK_BY_HAND TFP_GPU_HOOK
#include "collectors/tables/cuda_driver.def"
#include "collectors/tables/cuda_runtime.def"
#undef TFP_GPU_HOOK
#undef TFP_GPU_HOOK_BY_HAND
};

/*
 * A hook in progress that no callback has found yet takes the callback's ids: a runtime call's nested driver calls share them. With
 * CUDA_API=1 the first to come inside a launch may be of something that the runtime asks the driver, with an id of its own.
 */
static inline int hook_takes(struct tfp_gpu_frame *frame, uint32_t function, uint32_t is_launch)
{
	int is_driver = frame->function >= 600;

	if (frame->function >= TFP_GPU_LIBRARY_FIRST || frame->correlation || (!is_launch && is_of_launch[frame->function]))
		return 0;
	return !is_driver || (function >> 16 & 0x7fff) == 1;
}

static inline void take(struct tfp_gpu_frame *frame, uint32_t correlation, uint32_t context, uint64_t *scratch)
{
	frame->correlation = correlation;
	frame->context = context;
	frame->flags |= TFP_GPU_CALLED_BACK;
	*scratch = TAKEN;
}

int tfp_gpu_seen_in_hook(uint32_t function, uint32_t correlation, uint32_t context, uint64_t *scratch)
{
	struct tfp_thread *thread = tfp_self;

	*scratch = UNSEEN;
	if (TFP_UNLIKELY(!thread || thread->is_ready != 1 || thread->is_own || thread->gpu.depth - 1 >= TFP_GPU_FRAMES))
		return 0;
	struct tfp_gpu_frame *frame = &thread->gpu.frames[thread->gpu.depth - 1];
	if (frame->frame <= (uintptr_t)__builtin_frame_address(0) || (correlation && frame->correlation == correlation) ||
	    !hook_takes(frame, function, 1))
		return 0;
	take(frame, correlation, context, scratch);
	return 1;
}

/* Whether a call in progress has those ids: also where one with others, inside of it, did not tell of its exit. */
static inline int is_known(const struct tfp_gpu_thread *gpu, uint32_t correlation)
{
	for (uint32_t i = gpu->depth; i > 0 && correlation; i--)
		if (gpu->frames[i - 1].correlation == correlation)
			return 1;
	return 0;
}

void tfp_gpu_seen_enter(const struct tfp_gpu_seen *seen)
{
	struct tfp_thread *thread = tfp_thread_have();
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	*seen->scratch = UNSEEN;
	if (!thread || thread->is_own)
		return;
	/* Asked before the frames' addresses: a callback's own frame is gone when the next callback comes. */
	if (is_known(&thread->gpu, seen->correlation)) {
		*seen->scratch = IGNORED;
		return;
	}
	struct tfp_gpu_frame *outer = innermost(&thread->gpu, here);
	if (outer && hook_takes(outer, seen->function, seen->is_launch)) {
		take(outer, seen->correlation, seen->context, seen->scratch);
		return;
	}
	uint32_t flags = outer ? TFP_GPU_CALLED_BACK | TFP_GPU_NESTED : TFP_GPU_CALLED_BACK;
	uint64_t launch = 0;
	if (TFP_UNLIKELY(tfp_gpu_attention) && seen->is_launch)
		tfp_gpu_before(TFP_GPU_KIND_launch, 0, thread, &launch);
	uint32_t index = push(&thread->gpu, here, seen->function, flags);
	if (index < TFP_GPU_FRAMES) {
		thread->gpu.frames[index].correlation = seen->correlation;
		thread->gpu.frames[index].context = seen->context;
	}
	/* Bit 0: nested, bit 1: a window was open. A begin below 2^60 ticks: 11 years at 3.3 GHz. */
	uint64_t is_recorded = launch ? (uint64_t)tfp_window_takes_launch(launch) : tfp_gpu_mode != TFP_GPU_OFF;
	*seen->scratch = (tfp_now() + 1) << BEGIN_SHIFT | is_recorded << 1 | (outer != NULL);
}

/* The frame that this callback's entry noted, NULL where it is gone. */
static struct tfp_gpu_frame *frame_of(struct tfp_gpu_thread *gpu, const struct tfp_gpu_seen *seen)
{
	for (uint32_t i = gpu->depth; i > 0; i--)
		if (gpu->frames[i - 1].function == seen->function && gpu->frames[i - 1].correlation == seen->correlation) {
			gpu->depth = i - 1;
			return &gpu->frames[i - 1];
		}
	return NULL;
}

/* Memory of which no record of CUPTI's own tells, or an allocation that failed. is_of_graph: the graph takes it when it runs. */
static void follow_seen(struct tfp_thread *thread, const struct tfp_gpu_seen *seen, uint64_t *values, int is_of_graph)
{
	struct tfp_gpu_block block = {.address = seen->address, .flavour = seen->flavour, .device = UINT32_MAX};

	values[0] = seen->address;
	if (seen->mapping == TFP_GPU_FREE) {
		tfp_gpu_block_remove(&block);
		values[2] = block.flavour; /* as it was added, else the call's */
		values[3] = forget_mappings(seen->address, block.bytes, seen->requested);
		return;
	}
	block.bytes = seen->requested;
	if (!is_of_graph)
		tfp_gpu_place(&block, seen->handle);
	if (seen->mapping && block.device == UINT32_MAX && block.flavour != TFP_GPU_FLAVOUR_HOST_MAPPED)
		block.device = thread->gpu.device - 1; /* 0 is none that is known, too */
	values[1] = block.bytes;
	values[4] = block.device;
	values[5] = block.flavour;
	if (seen->mapping && !is_of_graph)
		tfp_gpu_block_add(thread, &block);
}

/* A call that only the callback saw. */
static void write_seen(struct tfp_thread *thread, const struct tfp_gpu_seen *seen, struct tfp_gpu_done *done)
{
	uint64_t values[TFP_GPU_VALUES] = {0};
	struct tfp_lane *lane = take_lane(thread);

	if (!lane)
		return;
	if (TFP_UNLIKELY(!tfp_gpu_function_is_noted(seen->function)))
		tfp_gpu_function_note(seen->function, seen->name,
				      libraries[(seen->function >> 16 & 0x7fff) == 1 ? TFP_GPU_IN_driver : TFP_GPU_IN_runtime],
				      seen->kind, NULL);
	if (seen->caller) {
		done->stack = tfp_caller_stack(thread, lane, seen->caller);
		put_python(thread, lane, done);
	}
	if (seen->requested || seen->mapping) {
		follow_seen(thread, seen, values, (done->flags & TFP_GPU_CAPTURED) != 0);
		done->argument = seen->mapping ? seen->mapping : TFP_GPU_ALLOC;
		done->values = values;
	}
	if (seen->empty) { /* nor of one that had nothing to do; its addresses are not known here */
		done->argument = seen->empty;
		done->values = values;
	}
	/* A captured launch has no device record to name it. Its grid is not known here. */
	if (seen->symbol && (done->flags & TFP_GPU_CAPTURED)) {
		values[0] = tfp_name_id(seen->symbol, tfp_length(seen->symbol));
		values[1] = UINT64_MAX;
		done->argument = TFP_GPU_LAUNCH;
		done->values = values;
	}
	tfp_gpu_put(thread, lane, done);
	if (TFP_UNLIKELY(--thread->calls_left <= 0))
		tfp_look(thread, lane);
	tfp_thread_leave(thread);
}

void tfp_gpu_seen_exit(const struct tfp_gpu_seen *seen)
{
	struct tfp_thread *thread = tfp_self;
	uint64_t scratch = *seen->scratch;

	if (!tfp_gpu_seen_is_own(seen->scratch) || !thread || thread->is_ready != 1)
		return;
	struct tfp_gpu_done done = {.now = tfp_now(), .begin = (scratch >> BEGIN_SHIFT) - 1, .function = seen->function,
				    .context = seen->context, .result = seen->result, .flags = TFP_GPU_CALLED_BACK};
	struct tfp_gpu_frame *frame = frame_of(&thread->gpu, seen);
	done.flags |= frame ? frame->flags : scratch & 1 ? TFP_GPU_NESTED : 0;
	done.correlation = tfp_gpu_widen(seen->correlation);
	if (scratch & 2)
		write_seen(thread, seen, &done);
	if (TFP_UNLIKELY(tfp_gpu_attention) && seen->is_launch)
		tfp_gpu_after(tfp_state->gpu_launches);
}

void tfp_gpu_seen_captured(void)
{
	struct tfp_thread *thread = tfp_self;

	if (thread && thread->is_ready == 1 && thread->gpu.depth)
		thread->gpu.frames[thread->gpu.depth - 1].flags |= TFP_GPU_CAPTURED;
}

uint32_t tfp_gpu_correlation_now(void)
{
	struct tfp_thread *thread = tfp_self;

	return thread && thread->is_ready == 1 && thread->gpu.depth ? thread->gpu.frames[thread->gpu.depth - 1].correlation : 0;
}
