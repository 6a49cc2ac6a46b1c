/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's calls mean; see collectors/pytorch.h. */
#include "collectors/pytorch.h"

#include "collectors/opnames.h"
#include "collectors/heap.h"
#include "collectors/process.h"
#include "collectors/python.h"
#include "collectors/pytorch_layout.h"
#include "collectors/ranges.h"
#include "collectors/returned.h"
#include "collectors/window.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

#define NAME_MOST 65536 /* bytes of a name looked at */
#define ADDED 16        /* op_begin.scope: may end on another thread */

/* The scopes we ask for; the others (per kernel type, static runtime, ...) tell the same ops again. */
enum scope { FUNCTION = 0, BACKWARD = 1, SCRIPT = 2, USER = 7 };

enum state { UNSEEN, ATTACHING, ATTACHED, ABSENT, ENDING };

/* Written by the one thread that attaches, before the callback is registered. Kept across fork, as PyTorch's own state is. */
static struct tfp_pytorch_api api;
static struct tfp_pytorch_layout layout;
static int has_shapes;
static uint32_t has_ops; /* OPS=steps: ranges alone, nobody ever listens to ops */
static _Atomic int state;

/*
 * Whether PyTorch calls us for ops. Its own work for one that is listened to is several times ours, so outside of windows
 * nobody listens; ranges of USER scope, which tell of steps, stay. Kept across fork.
 */
static _Atomic uint32_t is_listening;
static _Atomic int is_changing; /* a thread is about that; the others go on */
static uint64_t ops_handle;     /* of the callback for ops, 0 = not added yet; by who holds is_changing */

/*
 * After a change each thread copies PyTorch's list when it comes to its next op, under a mutex. A child forked while another
 * thread had that mutex would wait for it for ever in its first op. So whoever forks has it, and nothing is changed meanwhile.
 */
#define HOLD_NS UINT64_C(100000000) /* as long as a fork waits for it at most: who has it copies a few words */
#define REST_NS 100000
static void *mutex; /* NULL = not known: then nothing is ever changed. Written when attaching */
static _Atomic uintptr_t forking; /* the thread that holds is_changing for a fork, and goes on in its child. 0 = none */
static int is_locked;             /* it holds the mutex, too. Both by who holds is_changing */

static _Atomic uint64_t is_stepping; /* a first step has begun; kept across fork */
#define TAKES_OVER 3 /* steps; see is_stepper */

static int begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return 0;
	return 1;
}

/* What a name says of steps: the ends of Optimizer.step are their borders; the first begins with what comes before it. */
static uint8_t kind_of(const char *name)
{
	if (begins(name, "Optimizer.step#"))
		return TFP_OP_STEP;
	return begins(name, "enumerate(DataLoader)#") || begins(name, "Optimizer.zero_grad#") ? TFP_OP_FIRST : TFP_OP_PLAIN;
}

static void change_listening(void);

static inline uint32_t wanted(void)
{
	return tfp_is_open & has_ops;
}

/* Only where PyTorch has called us, and holds no lock of its list of callbacks: not where a window changes, which may be anywhere. */
static inline void follow_window(void)
{
	if (TFP_UNLIKELY(wanted() != is_listening) && mutex)
		change_listening();
}

/*
 * Whose steps count on a thread: those of the first optimizer to come, and from then on those of another one that made TAKES_OVER steps
 * without one of that (a second training, or its second part), not of one that takes turns with it. Threads that train beside each other
 * know nothing of each other's. A fork child's thread has none: what it trains may have another optimizer than its parent had.
 */
static int is_stepper(struct tfp_thread *thread, uint64_t name)
{
	thread->op_stepper = thread->op_stepper ? thread->op_stepper : name;
	if (thread->op_stepper == name) {
		thread->op_others = 0;
		return 1;
	}
	thread->op_others = thread->op_other == name ? thread->op_others + 1 : 1;
	thread->op_other = name;
	if (thread->op_others < TAKES_OVER)
		return 0;
	thread->op_stepper = name;
	thread->op_others = 0;
	return 1;
}

/* An op that speaks of steps has begun. Rare; outside of our hook, as steps are recorded by one of their own. */
static __attribute__((noinline)) void note_step(uint8_t kind, const char *text, uint64_t key)
{
	uint64_t none = 0;

	if (kind == TFP_OP_STEP) {
		if (tfp_self && is_stepper(tfp_self, tfp_name_hash(text, tfp_op_length(text, NAME_MOST))))
			tfp_self->op_step = key;
	} else if (__atomic_compare_exchange_n((uint64_t *)&is_stepping, &none, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		tfp_step_begin(TFP_FROM_record_function, TFP_STEP_COUNTED, 0);
	}
}

/* Optimizer.step is over: so is the step, and the next one begins. */
static __attribute__((noinline)) void end_step(struct tfp_thread *thread)
{
	thread->op_step = 0;
	if (__atomic_exchange_n((uint64_t *)&is_stepping, 1, __ATOMIC_RELAXED))
		tfp_step_end(TFP_FROM_record_function, 0);
	tfp_step_begin(TFP_FROM_record_function, TFP_STEP_COUNTED, 0);
}

/* Once a thread: what PyTorch calls it, so that a backward op finds the thread of its forward op. */
static __attribute__((noinline)) void tell_thread(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	thread->op_serial = thread->serial;
	if (api.thread_id)
		TFP_PUT(thread, lane, now, framework_thread, .id = api.thread_id(), .source = TFP_FROM_record_function);
}

static void put_link(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, const uint8_t *function)
{
	int64_t sequence = *(const int64_t *)(const void *)(function + layout.sequence);
	uint64_t forward = *(const uint64_t *)(const void *)(function + layout.forward_thread);

	if (sequence >= 0)
		TFP_PUT(thread, lane, now, op_link, .sequence = (uint64_t)sequence, .forward_thread = (uint32_t)forward);
}

/* Returns what the name says of steps: enum tfp_op_kind. */
static uint8_t put_op(struct tfp_thread *thread, struct tfp_lane *lane, const uint8_t *function, const char *text)
{
	uint64_t now = tfp_now(), key = (uint64_t)(uintptr_t)function;
	uint8_t scope = layout.is_known ? (uint8_t)(function[layout.scope] | (function[layout.is_async] ? ADDED : 0)) : FUNCTION;
	uint32_t name = tfp_op_name(thread, text, tfp_op_length(text, NAME_MOST));
	uint8_t *kind = tfp_op_kind(name);

	if (TFP_UNLIKELY(thread->op_serial != thread->serial))
		tell_thread(thread, lane, now);
	TFP_PUT(thread, lane, now, op_begin, .name = name, .key = key, .source = TFP_FROM_record_function, .scope = scope);
	if (layout.is_known)
		put_link(thread, lane, now, function);
	if (has_shapes)
		tfp_pytorch_put_inputs(thread, lane, now, function, text, &api, &layout);
	if (!kind)
		return kind_of(text);
	if (TFP_UNLIKELY(!*kind))
		*kind = kind_of(text);
	return *kind;
}

/* Called by PyTorch at the begin of each op; what it makes in `context` is kept by PyTorch: nothing. */
TFP_PYTORCH_HIDDEN void *tfp_pytorch_op_start(void **context, const void *function);
void *tfp_pytorch_op_start(void **context, const void *function)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_window_enter(&lane);
	uint8_t kind = TFP_OP_PLAIN;

	*context = NULL;
	if (thread) {
		kind = put_op(thread, lane, function, api.name(function));
		tfp_thread_leave(thread);
	} else if (layout.is_known && ((const uint8_t *)function)[layout.scope] == USER) {
		kind = kind_of(api.name(function)); /* no window is open: steps are counted all the same */
	}
	if (TFP_UNLIKELY(kind != TFP_OP_PLAIN))
		note_step(kind, api.name(function), (uint64_t)(uintptr_t)function);
	follow_window();
	return context;
}

TFP_RETURNING_ENTRY(tfp_pytorch_op_entry, tfp_pytorch_op_start) TFP_PYTORCH_HIDDEN;

static void op_end(const void *function, void *context)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_window_enter(&lane);
	uint64_t key = (uint64_t)(uintptr_t)function;

	(void)context;
	if (thread) {
		TFP_PUT(thread, lane, tfp_now(), op_end, .key = key, .source = TFP_FROM_record_function);
		tfp_thread_leave(thread);
	}
	thread = tfp_self;
	if (TFP_UNLIKELY(thread && thread->is_ready == 1 && thread->op_step == key))
		end_step(thread);
	follow_window();
}

/* The callback for ranges of USER scope, or the one for ops. */
static uint64_t add_callback(int is_of_ops)
{
	struct tfp_pytorch_callback callback = {.start = tfp_pytorch_op_entry, .end = op_end, .probability = 1.0,
						.needs_inputs = (uint8_t)has_shapes};

	callback.scopes[USER] = (uint8_t)!is_of_ops;
	callback.scopes[FUNCTION] = callback.scopes[BACKWARD] = callback.scopes[SCRIPT] = (uint8_t)is_of_ops;
	return api.add_callback(callback);
}

static uint64_t ranges_handle; /* by who attaches */

static void add_ranges(void)
{
	ranges_handle = add_callback(0);
}

static void enable_ranges(void) /* they are */
{
	api.enable(ranges_handle);
}

/* Listens to ranges; the mutex is what both calls take. */
static void listen_to_ranges(void)
{
	if (!api.mutex_of || !api.disable || !api.enable || !api.try_mutex || !api.leave_mutex) {
		add_ranges();
		return;
	}
	void *first = api.mutex_of(add_ranges), *second = api.mutex_of(enable_ranges);
	mutex = first == second ? first : NULL;
}

/* 0 = it has been long enough. */
static int rest(uint64_t until)
{
	struct timespec pause = {0, REST_NS};

	return !tfp_sys_is_sealed() && tfp_clock_monotonic_ns() < until && !tfp_sys(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
}

/* Nobody changes anything until it is given back. -1: whoever is about it takes too long. */
static int take_changing(uint64_t until)
{
	while (__atomic_exchange_n((int *)&is_changing, 1, __ATOMIC_SEQ_CST))
		if (!rest(until))
			return -1;
	return 0;
}

void tfp_pytorch_forking(void)
{
	if (state != ATTACHED || !mutex)
		return;
	uint64_t until = tfp_sys_is_sealed() ? 0 : tfp_clock_monotonic_ns() + HOLD_NS;
	if (take_changing(until))
		return;
	is_locked = 0;
	forking = (uintptr_t)pthread_self();
	while (!(is_locked = !api.try_mutex(mutex)) && rest(until))
		;
}

static void leave_forking(void)
{
	if (is_locked)
		api.leave_mutex(mutex);
	forking = 0;
	__atomic_store_n((int *)&is_changing, 0, __ATOMIC_RELEASE);
}

void tfp_pytorch_forked(void)
{
	if (forking && forking == (uintptr_t)pthread_self())
		leave_forking();
}

/* The thread that has them may be another, whose fork took so long that this one's did not wait: there it is no more. */
void tfp_pytorch_in_child(void)
{
	int attaching = ATTACHING; /* another thread was: what it has done is not known, and nobody goes on with it */

	if (forking)
		leave_forking();
	__atomic_compare_exchange_n((int *)&state, &attaching, ABSENT, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void tfp_pytorch_ending(void)
{
	int attached = ATTACHED;

	if (__atomic_compare_exchange_n((int *)&state, &attached, ENDING, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		(void)take_changing(tfp_sys_is_sealed() ? 0 : tfp_clock_monotonic_ns() + HOLD_NS);
}

/* A window has opened or closed: PyTorch calls us for ops, or no longer. */
static __attribute__((noinline)) void change_listening(void)
{
	if (state != ATTACHED || __atomic_exchange_n((int *)&is_changing, 1, __ATOMIC_SEQ_CST))
		return;
	uint32_t now = wanted();
	if (now != is_listening && state == ATTACHED) {
		if (!ops_handle)
			ops_handle = add_callback(1);
		else if (now)
			api.enable(ops_handle);
		else
			api.disable(ops_handle);
		is_listening = now;
	}
	__atomic_store_n((int *)&is_changing, 0, __ATOMIC_RELEASE);
}

static void tell(const char *how, const char *detail)
{
	tfp_fact_framework("pytorch", how, detail);
}

int tfp_pytorch_is_settled(void)
{
	return state > ATTACHING;
}

void tfp_pytorch_absent(const char *why)
{
	int unseen = UNSEEN;

	if (!__atomic_compare_exchange_n((int *)&state, &unseen, ABSENT, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	tell("absent", why);
	tfp_fact_pair(TFP_TAG_note, "pytorch_absent", why);
}

static void tell_parts(int wants_shapes)
{
	if (!layout.is_known) {
		tell("partly", "ops by name, allocations; no sequence numbers, scopes, shapes: the layout of RecordFunction is not the "
			       "expected one");
		tfp_fact_pair(TFP_TAG_note, "pytorch_layout",
			      "The layout of PyTorch's RecordFunction could not be proved: ops have names and times alone.");
	} else if (wants_shapes && !has_shapes) {
		tell("partly", "ops, sequence numbers, scopes, allocations; no shapes: this PyTorch has no C shim (2.3 and newer "
			       "have)");
		tfp_fact_pair(TFP_TAG_note, "pytorch_shapes",
			      "OPS=shapes: this PyTorch has no C shim, so inputs have no shapes.");
	} else if (!has_ops) {
		tell("on", "steps and ranges of record_function (OPS=steps)");
	} else {
		tell("on", has_shapes ? "ops, sequence numbers, scopes, shapes, allocations"
				      : "ops, sequence numbers, scopes, allocations");
	}
}

void tfp_pytorch_attach(const struct tfp_pytorch_api *found, int wants_ops, int wants_shapes)
{
	int unseen = UNSEEN;

	if (!__atomic_compare_exchange_n((int *)&state, &unseen, ATTACHING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	api = *found;
	has_ops = wants_ops != 0;
	tfp_pytorch_find_layout(&layout, &api);
	has_shapes = wants_shapes && layout.is_known && api.dimensions && api.sizes && api.type &&
		     ((api.is_defined && api.layout) || api.plain) && api.modes && api.input_count;
	tell_parts(wants_shapes);
	listen_to_ranges();
	if (!mutex && has_ops)
		add_callback(1);
	state = ATTACHED;
	follow_window();
}

/* "pytorch cpu", "pytorch cuda:0": the number of that name. The last one is remembered, a thread seldom uses two. */
static uint32_t allocator_name(struct tfp_thread *thread, uint16_t device)
{
	static const char *const kinds[] = {
#define TFP_PYTORCH_DEVICE(number, name) [number] = #name,
#include "collectors/tables/pytorch_devices.def"
#undef TFP_PYTORCH_DEVICE
	};
	uint8_t kind = (uint8_t)device, index = (uint8_t)(device >> 8);
	char text[32] = "pytorch ";
	size_t length = sizeof "pytorch " - 1;

	if (thread->op_allocator && thread->op_device == device)
		return thread->op_allocator;
	const char *name = kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "other";
	while (*name)
		text[length++] = *name++;
	if (kind) { /* the CPU's index is -1 */
		text[length++] = ':';
		if (index >= 10)
			text[length++] = (char)('0' + index / 10 % 10);
		text[length++] = (char)('0' + index % 10);
	}
	thread->op_device = device;
	thread->op_allocator = tfp_op_name(thread, text, length);
	return thread->op_allocator;
}

struct block {
	const void *address;
	uint64_t bytes, total, reserved;
	uint16_t device;
	uint8_t operation;
	const struct tfp_caller *caller; /* of one handed out on a device: the CPU's have their stack in the heap below */
};

static void put_block(const struct block *block)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_window_enter(&lane);

	if (!thread)
		return;
	uint64_t now = tfp_now();
	uint32_t stack = block->caller && block->operation == 1 ? tfp_heap_block_stack(thread, lane, now, block->bytes, block->caller) : 0;
	if (block->operation == 3) /* which line asked */
		tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES);
	TFP_PUT(thread, lane, now, block, .address = (uint64_t)(uintptr_t)block->address, .bytes = block->bytes, .total = block->total,
		.reserved = block->reserved, .allocator = allocator_name(thread, block->device), .operation = block->operation,
		.stack = stack);
	tfp_thread_leave(thread);
}

#define CPU ((uint16_t)0xff00) /* kind 0, index -1, as PyTorch has it */

void tfp_pytorch_allocated(const void *block, size_t bytes)
{
	put_block(&(const struct block){.address = block, .bytes = bytes, .device = CPU, .operation = 1});
	follow_window();
}

void tfp_pytorch_freed(const void *block)
{
	put_block(&(const struct block){.address = block, .device = CPU, .operation = 2});
	follow_window();
}

void tfp_pytorch_report(const void *block, int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device,
			const struct tfp_caller *caller)
{
	follow_window();
	if ((uint8_t)device) /* the CPU's come through alloc_cpu, whether or not anybody asked for reports */
		put_block(&(const struct block){.address = block, .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes,
						.total = total, .reserved = reserved, .device = device,
						.operation = bytes < 0 ? 2 : 1, .caller = caller});
}

void tfp_pytorch_refused(int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device)
{
	put_block(&(const struct block){.bytes = (uint64_t)bytes, .total = total, .reserved = reserved, .device = device, .operation = 3});
}
