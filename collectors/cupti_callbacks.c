/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI calls on the host's threads: calls of the two APIs, contexts, streams, modules, graph nodes, its own failure.
 *
 * Rule: a call of an API costs a look-up and a record; nothing here waits, and CUPTI's functions are called only where it
 * allows them: to ask for ids.
 */
#include "collectors/cubin.h"
#include "collectors/cupti_state.h"
#include "collectors/gpu_blocks.h"
#include "collectors/gpu_calls.h"
#include "collectors/gpu_types.h"

#include "writer/records.h"

#include "writer/poison.h"

#define CBIDS 1024u /* of a domain; the largest in use is below 850 */

#define IS_LAUNCH(kind) ((kind)[0] == 'l' || (kind)[0] == 'g') /* "launch", "graph" */
#define IS_SYNC(kind)   ((kind)[0] == 's' && (kind)[1] == 'y') /* "sync" */

static const struct names {
#define TFP_CALLBACK(domain, cbid, name, kind) char of_##domain##_##cbid[sizeof #name];
#include "collectors/cupti_callbacks.def"
#undef TFP_CALLBACK
} names = {
#define TFP_CALLBACK(domain, cbid, name, kind) #name,
#include "collectors/cupti_callbacks.def"
#undef TFP_CALLBACK
};

const struct tfp_cupti_row tfp_cupti_rows[] = {
#define TFP_CALLBACK(domain, cbid, name, kind) \
	{domain, cbid, IS_LAUNCH(kind), IS_SYNC(kind), kind, offsetof(struct names, of_##domain##_##cbid)},
#include "collectors/cupti_callbacks.def"
#undef TFP_CALLBACK
};
const uint32_t tfp_cupti_row_count = sizeof tfp_cupti_rows / sizeof tfp_cupti_rows[0];

/* Row number + 1 by callback id, for the driver's domain 1 and the runtime's 2. */
enum {
#define TFP_CALLBACK(domain, cbid, name, kind) ROW_##domain##_##cbid,
#include "collectors/cupti_callbacks.def"
#undef TFP_CALLBACK
};
static const uint16_t row_of[2 * CBIDS] = {
#define TFP_CALLBACK(domain, cbid, name, kind) [((domain) - 1) * CBIDS + (cbid)] = ROW_##domain##_##cbid + 1,
#include "collectors/cupti_callbacks.def"
#undef TFP_CALLBACK
};

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t before = *most;

	while (before < value &&
	       !__atomic_compare_exchange_n((uint64_t *)most, &before, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* The call is the newest, and maybe the first of a window. Pairs with the decoder, which wants nothing before it. */
static void entered(struct tfp_cupti *cupti, uint64_t correlation)
{
	uint64_t *from = &tfp_cupti_range_last(&cupti->decoder.wanted)->from, awaited = TFP_CUPTI_AWAITED;

	raise_to(&cupti->newest, correlation);
	if (__atomic_load_n(from, __ATOMIC_RELAXED) == TFP_CUPTI_AWAITED && cupti->is_open)
		__atomic_compare_exchange_n(from, &awaited, correlation, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t tfp_cupti_widen(uint32_t correlation)
{
	return tfp_cupti ? tfp_cupti_widen_near(tfp_cupti->newest, correlation) : correlation;
}

static int is_captured(void)
{
	const struct tfp_gpu_thread *gpu = tfp_self && tfp_self->is_ready == 1 ? &tfp_self->gpu : NULL;

	return gpu && gpu->depth && gpu->depth <= TFP_GPU_FRAMES && (gpu->frames[gpu->depth - 1].flags & TFP_GPU_CAPTURED);
}

/* Where we stand, as hooks have it: the stack is then walked through CUPTI and the driver, as far as they can be. */
#define CALLER_HERE \
	{(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(), *(uintptr_t *)__builtin_frame_address(0)}

/* A launch that the device will answer. Each thread has its own word: one for all would be a locked store a launch. */
static void launched(struct tfp_cupti *cupti, uint64_t correlation)
{
	struct tfp_thread *thread = tfp_self;

	if (TFP_UNLIKELY(!thread || thread->is_ready != 1))
		raise_to(&cupti->last_launch, correlation);
	else if (__atomic_load_n((uint64_t *)&thread->gpu.last_launch, __ATOMIC_RELAXED) < correlation)
		__atomic_store_n((uint64_t *)&thread->gpu.last_launch, correlation, __ATOMIC_RELAXED);
}

/* The thread has waited for a stream, an event or all: most likely for what it launched. */
static void waited(void)
{
	struct tfp_thread *thread = tfp_self;

	if (thread && thread->is_ready == 1)
		__atomic_store_n((uint64_t *)&thread->gpu.waited, thread->gpu.last_launch, __ATOMIC_RELAXED);
}

enum tfp_cupti_outstanding tfp_cupti_outstanding(const struct tfp_cupti *cupti)
{
	uint64_t seen = cupti->decoder.last_kernel;
	enum tfp_cupti_outstanding state = seen < cupti->last_launch ? TFP_CUPTI_UNWAITED : TFP_CUPTI_ALL_SEEN;

	for (struct tfp_thread *thread = tfp_state->threads; thread; thread = thread->next) {
		uint64_t last = __atomic_load_n((uint64_t *)&thread->gpu.last_launch, __ATOMIC_RELAXED);
		if (last <= seen)
			continue;
		if (last > __atomic_load_n((uint64_t *)&thread->gpu.waited, __ATOMIC_RELAXED))
			return TFP_CUPTI_UNWAITED;
		state = state == TFP_CUPTI_ALL_SEEN ? TFP_CUPTI_WAITED : state;
	}
	return state;
}

/* What a call asked for, by row number. cupti_sizes.def */
enum { /* no flavours */
	SIZED_POOLED = 0x20,
	SIZED_MAP = 0x40, SIZED_UNMAP, SIZED_OPENED, SIZED_CLOSED, SIZED_HANDLE, SIZED_NODE,
	SIZED_COPY = 0x80, SIZED_SET,
};
#define SIZED_DEVICE     TFP_GPU_FLAVOUR_DEVICE
#define SIZED_MANAGED    TFP_GPU_FLAVOUR_MANAGED
#define SIZED_PINNED     TFP_GPU_FLAVOUR_PINNED
#define SIZED_REGISTERED TFP_GPU_FLAVOUR_REGISTERED
#define SIZED_ORDERED    TFP_GPU_FLAVOUR_ORDERED
#define SIZED_MAPPED     TFP_GPU_FLAVOUR_MAPPED
static const struct sized {
	uint8_t what, word, times; /* what 0: not known */
} sized[] = {
#define TFP_SIZED(domain, cbid, name, what, word, times) [ROW_##domain##_##cbid] = {SIZED_##what, word, times},
#define TFP_UNSIZED(domain, cbid, name, what) [ROW_##domain##_##cbid] = {SIZED_##what, 0, 0},
#include "collectors/cupti_sizes.def"
#undef TFP_SIZED
#undef TFP_UNSIZED
};

/* What the word, which may be 0, points to: the call that stored it there has succeeded. */
static uint64_t pointed_to(uint64_t word)
{
	return word ? *(const uint64_t *)(uintptr_t)word : 0;
}

static void note_memory(struct tfp_gpu_seen *seen, uint32_t mapping, uint32_t flavour, uint64_t address, uint64_t bytes)
{
	seen->mapping = mapping;
	seen->flavour = flavour;
	seen->address = address;
	seen->requested = bytes;
}

/* Of memory, a call that succeeded: what was mapped, opened or closed, what a graph will take. CUPTI has its own records of the rest. */
static void note_done(struct tfp_gpu_seen *seen, const struct sized *where, const uint64_t *words, uint64_t bytes)
{
	const struct tfp_gpu_alloc_node *node;

	switch (where->what) {
	case SIZED_MAP:
		note_memory(seen, TFP_GPU_ALLOC, TFP_GPU_FLAVOUR_MAPPED, words[0], bytes);
		seen->handle = words[3]; /* of cuMemMap, the one there is */
		break;
	case SIZED_UNMAP:
		note_memory(seen, TFP_GPU_FREE, TFP_GPU_FLAVOUR_MAPPED, words[0], bytes);
		break;
	case SIZED_OPENED:
		note_memory(seen, TFP_GPU_ALLOC, TFP_GPU_FLAVOUR_IMPORTED, pointed_to(words[0]), 0);
		break;
	case SIZED_CLOSED:
		note_memory(seen, TFP_GPU_FREE, TFP_GPU_FLAVOUR_IMPORTED, words[0], 0);
		break;
	case SIZED_HANDLE:
	case SIZED_MAPPED: /* cuMemCreate */
		if (tfp_self)
			tfp_gpu_handle_note(tfp_self, pointed_to(words[0]), where->what == SIZED_HANDLE);
		break;
	case SIZED_NODE:
		node = (const void *)(uintptr_t)words[4];
		if (node && is_captured())
			note_memory(seen, TFP_GPU_ALLOC, TFP_GPU_FLAVOUR_ORDERED, node->address, node->bytes);
		break;
	case SIZED_ORDERED:
	case SIZED_POOLED:
		if (is_captured())
			note_memory(seen, TFP_GPU_ALLOC, TFP_GPU_FLAVOUR_ORDERED, pointed_to(words[0]), bytes);
		break;
	default:
		break;
	}
}

/* What a call that found no memory had asked for; memory that CUPTI has no record of; that a copy or set has nothing to do. */
static inline void note_size(struct tfp_gpu_seen *seen, uint32_t row, const uint64_t *parameters)
{
	const struct sized *where = row && row <= sizeof sized / sizeof *sized ? &sized[row - 1] : NULL;

	if (!parameters || !where || !where->what)
		return;
	uint64_t bytes = where->word ? parameters[where->word] * (where->times ? parameters[where->times] : 1) : 0;
	if (where->what >= SIZED_COPY) {
		if (!bytes)
			seen->empty = where->what == SIZED_COPY ? TFP_GPU_COPY : TFP_GPU_SET;
	} else if (!seen->result) {
		note_done(seen, where, parameters, bytes);
	} else if (seen->result == TFP_GPU_OUT_OF_MEMORY && bytes) {
		seen->flavour = where->what < SIZED_POOLED ? where->what : where->what == SIZED_POOLED ? TFP_GPU_FLAVOUR_ORDERED :
													TFP_GPU_FLAVOUR_MAPPED;
		seen->requested = bytes;
		seen->handle = where->what == SIZED_POOLED ? parameters[2] : 0;
	}
}

/* A call that no hook is inside of. Entry and exit alike. */
static __attribute__((noinline)) void seen(uint32_t domain, uint32_t cbid, uint32_t row, const struct tfp_cupti_call *call,
					   const struct tfp_caller *caller)
{
	struct tfp_gpu_seen seen = {
		.function = TFP_GPU_SEEN_FUNCTION(domain, cbid),
		.name = row ? (const char *)&names + tfp_cupti_rows[row - 1].name : call->function,
		.kind = row ? tfp_cupti_rows[row - 1].kind : "other",
		.is_launch = row ? tfp_cupti_rows[row - 1].is_launch : 0,
		.correlation = call->correlation,
		.context = call->context_id,
		.scratch = call->scratch,
		.caller = caller,
	};

	if (seen.is_launch)
		seen.symbol = call->symbol;
	if (!call->site) {
		tfp_gpu_seen_enter(&seen);
		return;
	}
	seen.result = call->result ? *(const uint32_t *)call->result : 0;
	note_size(&seen, row, call->parameters);
	tfp_gpu_seen_exit(&seen);
}

/* Errors after which a context does nothing any more: each later call of it answers the same. One number in both APIs. */
static __attribute__((noinline, cold)) int is_fatal(uint32_t result)
{
	enum {
		ECC_UNCORRECTABLE = 214, NVLINK_UNCORRECTABLE = 220, CONTAINED = 226,
		ILLEGAL_ADDRESS = 700, LAUNCH_TIMEOUT = 702, ASSERT = 710,
		HARDWARE_STACK_ERROR = 714, LAUNCH_FAILED = 719, /* 715 to 718: illegal instruction, address or program counter */
		TENSOR_MEMORY_LEAK = 721,
	};

	return result == ECC_UNCORRECTABLE || result == NVLINK_UNCORRECTABLE || result == CONTAINED || result == ILLEGAL_ADDRESS ||
	       result == LAUNCH_TIMEOUT || result == ASSERT || (result >= HARDWARE_STACK_ERROR && result <= LAUNCH_FAILED) ||
	       result == TENSOR_MEMORY_LEAK;
}

/* All that was launched has no end, if it was in that context; of several, nobody knows which of the launches are its. */
static __attribute__((noinline, cold)) void broken(struct tfp_cupti *cupti, uint32_t context)
{
	uint32_t launching = cupti->launching;

	if (launching && launching != TFP_CUPTI_SEVERAL && (launching == context || !context))
		__atomic_compare_exchange_n((uint32_t *)&cupti->launching, &launching, TFP_CUPTI_BROKEN, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* The first launch; one in another context; or one that succeeds where the only context was broken: on another device, behind a reset. */
static __attribute__((noinline)) void launched_elsewhere(struct tfp_cupti *cupti, uint32_t context)
{
	uint32_t launching = 0;

	if (cupti->launching == TFP_CUPTI_SEVERAL)
		return;
	if (!__atomic_compare_exchange_n((uint32_t *)&cupti->launching, &launching, context, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    launching != context)
		cupti->launching = TFP_CUPTI_SEVERAL;
}

static inline void api_called(struct tfp_cupti *cupti, uint32_t domain, uint32_t cbid, const struct tfp_cupti_call *call,
			      const struct tfp_caller *caller)
{
	uint32_t row = cbid < CBIDS ? row_of[(domain - 1) * CBIDS + cbid] : 0;

	if (!call->site) { /* noted first: this very launch may open a window, and is then its first */
		if (!row || !tfp_gpu_seen_in_hook(TFP_GPU_SEEN_FUNCTION(domain, cbid), call->correlation, call->context_id, call->scratch))
			seen(domain, cbid, row, call, caller);
		entered(cupti, tfp_cupti_widen_near(cupti->newest, call->correlation));
		return;
	}
	uint32_t result = call->result ? *(const uint32_t *)call->result : 0;
	int is_success = !result;
	if (TFP_UNLIKELY(result) && is_fatal(result))
		broken(cupti, call->context_id);
	if (row && tfp_cupti_rows[row - 1].is_sync && is_success)
		waited();
	if (row && tfp_cupti_rows[row - 1].is_launch && is_success && cupti->is_open && cupti->is_enabled && !is_captured()) {
		launched(cupti, tfp_cupti_widen_near(cupti->newest, call->correlation));
		if (TFP_UNLIKELY(cupti->launching != call->context_id))
			launched_elsewhere(cupti, call->context_id);
	}
	if (tfp_gpu_seen_is_own(call->scratch))
		seen(domain, cbid, row, call, caller);
}

/* A lane of the calling thread, also while others work for us on it (no record is being written then); tfp_thread_leave. */
static struct tfp_thread *enter(struct tfp_lane **lane)
{
	struct tfp_thread *thread = tfp_thread_have();

	if (!thread || !thread->is_own || thread->depth < thread->is_own)
		return thread ? tfp_thread_enter_lane(thread, lane) : NULL;
	if (thread->depth - thread->is_own > 1)
		return NULL;
	*lane = &thread->lanes[thread->depth - thread->is_own];
	thread->depth++;
	return thread;
}

void tfp_cupti_put_state(uint32_t state, uint32_t result)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), gpu_state, .state = (uint8_t)state, .code = result);
	if (state != TFP_GPU_STATE_CUPTI && state != TFP_GPU_STATE_CLOSED && !tfp_cupti_options.is_without_devices)
		tfp_loss_add(thread, TFP_LOSS_gpu_unseen, 1, tfp_now());
	tfp_thread_leave(thread);
}

#define NUMBER(value) {.number = (uint64_t)(value)}

static void stream_created(const struct tfp_cupti *cupti, const struct tfp_cupti_resource_data *data)
{
	uint32_t context = 0, stream = 0;

	if (!cupti->api.stream_id || !cupti->api.context_id || cupti->api.context_id(data->context, &context) ||
	    cupti->api.stream_id(data->context, data->handle, 0, &stream))
		return;
	const struct tfp_fact_field fields[] = {
		NUMBER(context), NUMBER(stream), NUMBER(0), NUMBER(0), NUMBER((uintptr_t)data->handle),
	};
	tfp_store_fact(TFP_TAG_stream, fields, sizeof fields / sizeof fields[0]);
}

/* Whoever does it, also through functions that no hook sees; its memory goes with it. */
static void context_ending(const struct tfp_cupti *cupti, const struct tfp_cupti_resource_data *data)
{
	struct tfp_lane *lane;
	uint32_t id = 0;

	tfp_gpu_blocks_drop_context((uintptr_t)data->context);
	if (cupti->api.context_id)
		cupti->api.context_id(data->context, &id);
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), context_end, .context = (uintptr_t)data->context, .id = id);
	tfp_thread_leave(thread);
}

static void module_changed(struct tfp_cupti *cupti, uint32_t operation, const struct tfp_cupti_resource_data *data)
{
	const struct tfp_cupti_module_data *module = data->descriptor;
	struct tfp_lane *lane;
	uint32_t context = 0;

	if (operation == 2 && cupti->decoder.tables)
		tfp_cupti_tables_forget(cupti->decoder.tables);
	if (!module)
		return;
	if (cupti->api.context_id && data->context)
		cupti->api.context_id(data->context, &context);
	struct tfp_thread *thread = enter(&lane);
	if (thread) {
		TFP_PUT(thread, lane, tfp_now(), gpu_module, .module = module->module, .context = context,
			.operation = (uint8_t)operation, .bytes = module->bytes);
		tfp_thread_leave(thread);
	}
	if (operation == 1)
		tfp_cubin_note(cupti, module);
}

/* The stack of the call that made the node, where a hook or callback noted one, is that of its gpu_call. */
static void node_made(const struct tfp_cupti *cupti, int is_clone, const struct tfp_cupti_graph_data *data)
{
	struct tfp_lane *lane;
	uint32_t graph = 0;
	uint64_t node = 0, original = 0;

	if (!data || !cupti->api.node_id || cupti->api.node_id(data->node, &node))
		return;
	if (cupti->api.graph_id)
		cupti->api.graph_id(data->graph, &graph);
	if (is_clone)
		cupti->api.node_id(data->original_node, &original);
	else
		tfp_gpu_seen_captured();
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), graph_node, .graph = graph, .node = node, .original = original, .kind = data->node_type);
	tfp_thread_leave(thread);
}

static void resource_changed(struct tfp_cupti *cupti, uint32_t cbid, const struct tfp_cupti_resource_data *data)
{
	switch (cbid) {
	case TFP_CUPTI_CONTEXT_CREATED:
		tfp_cupti_options.at_exit(); /* CUDA's own exit handlers are registered by now: ours comes before them */
		break;
	case TFP_CUPTI_CONTEXT_DESTROYED:
		if (cupti->decoder.tables)
			tfp_cupti_tables_forget(cupti->decoder.tables);
		context_ending(cupti, data);
		break;
	case TFP_CUPTI_STREAM_CREATED:
		stream_created(cupti, data);
		break;
	case TFP_CUPTI_MODULE_LOADED:
	case TFP_CUPTI_MODULE_UNLOADED:
		module_changed(cupti, cbid == TFP_CUPTI_MODULE_LOADED ? 1 : 2, data);
		break;
	case TFP_CUPTI_NODE_CREATED:
	case TFP_CUPTI_NODE_CLONED:
		node_made(cupti, cbid == TFP_CUPTI_NODE_CLONED, data->descriptor);
		break;
	default:
		break;
	}
}

/* CUPTI has taken itself down. */
static void failed(struct tfp_cupti *cupti)
{
	uint32_t on = TFP_CUPTI_ON;

	if (!__atomic_compare_exchange_n((uint32_t *)&cupti->phase, &on, TFP_CUPTI_FAILED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	cupti->is_enabled = 0;
	tfp_loss_note(TFP_LOSS_cupti_unflushed); /* what it had not yet handed over */
	tfp_cupti_put_state(TFP_GPU_STATE_FAILED, 0);
	tfp_cupti_note("cupti_failed", "CUPTI stopped for good: device times end here. State callback ", TFP_CUPTI_STATE_FATAL);
}

void tfp_cupti_called(void *user, uint32_t domain, uint32_t cbid,
									 const void *data)
{
	struct tfp_cupti *cupti = tfp_cupti;

	(void)user;
	if (!cupti || !data || cupti->phase != TFP_CUPTI_ON) /* also in a fork child */
		return;
	if (domain == TFP_CUPTI_DOMAIN_RUNTIME || domain == TFP_CUPTI_DOMAIN_DRIVER)
		api_called(cupti, domain, cbid, data, &(struct tfp_caller)CALLER_HERE);
	else if (domain == TFP_CUPTI_DOMAIN_RESOURCE && cupti->is_open)
		resource_changed(cupti, cbid, data);
	else if (domain == TFP_CUPTI_DOMAIN_STATE && cbid == TFP_CUPTI_STATE_FATAL)
		failed(cupti);
}
