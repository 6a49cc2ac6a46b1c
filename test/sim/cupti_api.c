/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake libcupti's callback side: subscribing, enabling callbacks, and what the core tells turned into callbacks.
 * Rule: one subscriber; a callback runs on the thread that made the call, and makes no callbacks itself.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cupti_callback.h"
#include "cupti_state.h"

struct sim_cupti sim_cupti = {
	.delivery = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.full_end = &sim_cupti.full,
};
__thread struct sim_external sim_external;
static __thread bool is_in_callback;
static const char *_Atomic names[SIM_DOMAINS][SIM_CALLBACKS]; /* of functions that were called; by domain and callback id */

static void settle(void)
{
	sim_release_settle();
	if (sim_release >= 1300)
		sim_cupti.attributes[SIM_PER_THREAD_ACTIVITY_BUFFER] = 1;
}

static bool has_driver(void)
{
	return !sim_setting("no_driver", 0) && !sim_setting("init_error", 0) && sim_setting("devices", 1);
}

/* Codes measured on the vendor's libraries; 13.2 calls itself until the stack ends. */
int sim_cupti_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, settle);
	if (!has_driver() && sim_release == 1302) {
		fprintf(stderr, "simgpu: CUPTI 13.2 was called without a driver, and dies of it\n");
		raise(SIGSEGV);
	}
	if (!has_driver() || sim_is_fork_child())
		return sim_release >= 1300 ? SIM_CUPTI_UNKNOWN : SIM_CUPTI_NOT_INITIALIZED;
	if (sim_fault(SIM_FAULT_too_old))
		return SIM_CUPTI_NOT_INITIALIZED;
	return atomic_load(&sim_cupti.is_dead) ? SIM_CUPTI_UNKNOWN : SIM_CUPTI_OK;
}

/* What NVIDIA's Sanitizer and CUPTI do to each other in one process; the real ones get as far as the first calls. */
__attribute__((constructor)) static void die_beside_sanitizer(void)
{
	if (!dlopen("libsanitizer-public.so", RTLD_LAZY | RTLD_NOLOAD))
		return;
	fprintf(stderr, "simgpu: CUPTI was opened beside the Sanitizer, and dies of it\n");
	raise(SIGSEGV);
}

static bool is_enabled(uint32_t domain, uint32_t id)
{
	return id < SIM_CALLBACKS && atomic_load_explicit(&sim_cupti.callbacks[domain][id], memory_order_relaxed);
}

static void call_back(uint32_t domain, uint32_t id, const void *data)
{
	sim_callback_function callback = atomic_load(&sim_cupti.callback);

	if (!callback || is_in_callback || atomic_load(&sim_cupti.is_dead) || !is_enabled(domain, id))
		return;
	is_in_callback = true;
	callback(atomic_load(&sim_cupti.user), (int)domain, id, data);
	is_in_callback = false;
}

/* ---- what the core tells ---- */

/*
 * A driver call inside of a runtime call is told to callbacks, and leaves no record: PyTorch's profiler asks for both kinds and
 * takes two launches with one correlation id for an error of its own.
 */
static bool is_recorded(const struct sim_call *call)
{
	uint8_t filter = atomic_load(&sim_cupti.api_filter[call->domain][call->cbid % SIM_CALLBACKS]);

	if (call->domain == SIM_DRIVER && call->outer && call->outer->domain == SIM_RUNTIME)
		return false;
	return filter ? filter == 1 : sim_kind_is_on(call->domain == SIM_DRIVER ? 4 : 5);
}

static void on_call(struct sim_call *call, bool is_exit)
{
	struct call_data data = {
		.site = is_exit, .function = call->name, .params = call->params, .result = is_exit ? call->result : NULL,
		.symbol = call->symbol, .context = call->context, .context_id = call->context_id,
		.scratch = &call->correlation_data, .correlation = call->correlation,
	};

	if (call->cbid && call->cbid < SIM_CALLBACKS)
		atomic_store_explicit(&names[call->domain][call->cbid], call->name, memory_order_relaxed);
	if (!is_exit && call->symbol && !call->outer)
		sim_fault_launch();
	if (call->cbid)
		call_back(call->domain, call->cbid, &data);
	if (is_exit && call->cbid && !atomic_load(&sim_cupti.is_dead) && is_recorded(call))
		sim_record_call(call);
}

static void on_submitted(const struct sim_work *work)
{
	if (!atomic_load(&sim_cupti.is_dead))
		sim_flight_begin(work);
}

static void on_work(const struct sim_work *work)
{
	if (!atomic_load(&sim_cupti.is_dead))
		sim_flight_end(work);
}

/* Without cuptiActivityEnableAllSyncRecords a wait that had nothing to wait for leaves no record, from 12.8 on. */
static void on_wait(const struct sim_wait *wait)
{
	if (sim_kind_is_on(38))
		sim_record_wait(wait);
}

static void on_memory(const struct sim_memory *memory)
{
	if (sim_kind_is_on(49))
		sim_record_memory(memory);
}

static void on_pool(const struct sim_pool_event *event)
{
	if (sim_kind_is_on(50))
		sim_record_pool(event);
}

static void on_jit(const struct sim_jit *jit)
{
	if (sim_kind_is_on(52))
		sim_record_jit(jit);
}

static void on_overhead(const struct sim_overhead *overhead)
{
	if (sim_kind_is_on(17))
		sim_record_overhead(overhead);
}

static void on_managed(const struct sim_unified *unified)
{
	if (sim_kind_is_on(25))
		sim_record_managed(unified);
}

static void record_one_context(const struct sim_context_info *info, void *user)
{
	if (info->context == user)
		sim_record_context(info, NULL);
}

static void record_one_stream(const struct sim_stream_info *info, void *user)
{
	if (info->stream == user)
		sim_record_stream(info, NULL);
}

static void record_resource(const struct sim_resource *resource)
{
	if (resource->kind == SIM_INIT_FINISHED && sim_kind_is_on(8))
		for (int i = 0; i < sim_device_count(); i++)
			sim_record_device(i);
	if (resource->kind == SIM_CONTEXT_CREATED && sim_kind_is_on(9))
		sim_each_context(record_one_context, resource->context);
	if (resource->kind == SIM_STREAM_CREATED && sim_kind_is_on(37))
		sim_each_stream(record_one_stream, resource->stream);
	if (resource->kind == SIM_MODULE_LOADED && sim_kind_is_on(27))
		sim_record_module(resource);
}

static void on_resource(const struct sim_resource *resource)
{
	struct resource_data data = {.context = resource->context, .handle = resource->stream};
	struct module_data module = {.id = resource->module_id, .cubin_size = resource->cubin_size, .cubin = resource->cubin};
	struct graph_data graph = {
		.graph = resource->graph, .original_graph = resource->original_graph, .node = resource->node,
		.original_node = resource->original_node, .node_type = resource->node_type,
		.dependency = resource->dependency, .exec = resource->exec,
	};

	if (resource->kind == SIM_MODULE_LOADED || resource->kind == SIM_MODULE_UNLOAD_STARTING)
		data.descriptor = &module;
	else if (resource->kind >= SIM_GRAPH_CREATED)
		data.descriptor = &graph;
	record_resource(resource);
	call_back(3, resource->kind, &data);
	if (resource->kind == SIM_MODULE_UNLOAD_STARTING)
		sim_fault_module_unloaded(resource);
}

static void on_waiting(struct sim_context *context, struct sim_stream *stream, bool is_stream)
{
	struct wait_data data = {context, stream};

	call_back(4, is_stream ? 1 : 2, &data);
}

/* An error that breaks its context is CUPTI's ERROR (2); FATAL is for CUPTI's own end, see fault_fatal_state. */
static void on_error(int result, const char *message)
{
	struct state_data data = {result, message};

	call_back(6, 2, &data);
}

static const struct sim_subscriber subscriber = {
	.call = on_call, .submitted = on_submitted, .work = on_work, .wait = on_wait, .memory = on_memory, .pool = on_pool,
	.jit = on_jit, .overhead = on_overhead, .unified = on_managed, .resource = on_resource, .waiting = on_waiting,
	.error = on_error, .finishing = sim_buffer_stop,
};

void sim_cupti_listen(void)
{
	static _Atomic bool is_listening;

	if (!atomic_exchange(&is_listening, true) && !sim_subscribe(&subscriber))
		fprintf(stderr, "simgpu: a second libcupti in the process: it hears nothing\n");
}

/* ---- functions ---- */

SIM_API int cuptiGetVersion(uint32_t *version)
{
	int result = sim_cupti_ready();

	if (result && sim_release >= 1303)
		return result;
	if (!version)
		return SIM_CUPTI_INVALID_PARAMETER;
	*version = sim_release_version();
	return SIM_CUPTI_OK;
}

SIM_API int cuptiSubscribe(void **handle, sim_callback_function callback, void *user)
{
	int result = sim_cupti_ready();
	sim_callback_function none = NULL;

	if (result)
		return result;
	if (!handle)
		return SIM_CUPTI_INVALID_PARAMETER;
	result = sim_fault_subscribe();
	if (result)
		return result;
	if (atomic_load(&sim_cupti.callback) || !sim_claim(&subscriber)) /* whose `user` stays */
		return SIM_CUPTI_MULTIPLE_SUBSCRIBERS;
	atomic_store(&sim_cupti.user, user);
	if (!atomic_compare_exchange_strong(&sim_cupti.callback, &none, callback))
		return SIM_CUPTI_MULTIPLE_SUBSCRIBERS;
	sim_cupti_listen();
	*handle = &sim_cupti;
	return SIM_CUPTI_OK;
}

static int check_subscriber(const void *handle)
{
	int result = sim_cupti_ready();

	if (result)
		return result;
	return handle == &sim_cupti && atomic_load(&sim_cupti.callback) ? SIM_CUPTI_OK : SIM_CUPTI_INVALID_PARAMETER;
}

SIM_API int cuptiUnsubscribe(void *handle)
{
	int result = check_subscriber(handle);

	if (result)
		return result;
	for (uint32_t domain = 0; domain < SIM_DOMAINS; domain++)
		for (uint32_t id = 0; id < SIM_CALLBACKS; id++)
			atomic_store(&sim_cupti.callbacks[domain][id], 0);
	atomic_store(&sim_cupti.callback, NULL);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiEnableCallback(uint32_t is_on, void *handle, int domain, uint32_t id)
{
	int result = check_subscriber(handle);

	if (result)
		return result;
	if (domain <= 0 || domain >= SIM_DOMAINS || id >= SIM_CALLBACKS)
		return SIM_CUPTI_INVALID_PARAMETER;
	if (sim_fault(SIM_FAULT_callback))
		return (int)sim_fault(SIM_FAULT_callback);
	atomic_store(&sim_cupti.callbacks[domain][id], is_on != 0);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiEnableDomain(uint32_t is_on, void *handle, int domain)
{
	int result = SIM_CUPTI_OK;

	for (uint32_t id = 1; id < SIM_CALLBACKS && !result; id++)
		result = cuptiEnableCallback(is_on, handle, domain, id);
	return result;
}

SIM_API int cuptiEnableAllDomains(uint32_t is_on, void *handle)
{
	int result = SIM_CUPTI_OK;

	for (int domain = 1; domain < SIM_DOMAINS && !result; domain++)
		result = cuptiEnableDomain(is_on, handle, domain);
	return result;
}

SIM_API int cuptiGetCallbackState(uint32_t *is_on, void *handle, int domain, uint32_t id)
{
	int result = check_subscriber(handle);

	if (result)
		return result;
	if (!is_on || domain <= 0 || domain >= SIM_DOMAINS || id >= SIM_CALLBACKS)
		return SIM_CUPTI_INVALID_PARAMETER;
	*is_on = is_enabled((uint32_t)domain, id);
	return SIM_CUPTI_OK;
}

/* Knows only functions that were called. */
SIM_API int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	if (!name || domain <= 0 || domain >= SIM_DOMAINS || id >= SIM_CALLBACKS)
		return SIM_CUPTI_INVALID_PARAMETER;
	*name = atomic_load(&names[domain][id]);
	return *name ? SIM_CUPTI_OK : SIM_CUPTI_INVALID_PARAMETER;
}

SIM_API int cuptiSupportedDomains(size_t *count, const int **domains)
{
	static const int all[] = {1, 2, 3, 4, 5, 6};
	int result = sim_cupti_ready();

	if (result)
		return result;
	*count = sim_release >= 1202 ? 6 : 5;
	*domains = all;
	return SIM_CUPTI_OK;
}

SIM_API int cuptiGetResultString(int result, const char **text)
{
	static _Thread_local char buffer[32];

	if (!text)
		return SIM_CUPTI_INVALID_PARAMETER;
	snprintf(buffer, sizeof(buffer), "CUPTI_RESULT_%d", result);
	*text = buffer;
	return SIM_CUPTI_OK;
}
