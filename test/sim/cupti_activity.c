/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake libcupti's activity side: kinds, buffers, attributes, ids, external correlation, time.
 * Rule: every function begins with sim_cupti_ready(), whose codes are those of the vendor's library without a driver.
 */
#include <signal.h>

#include "cupti_state.h"

#define CHECK_READY() do { \
		int not_ready = sim_cupti_ready(); \
		if (not_ready) \
			return not_ready; \
	} while (0)

/* Kinds that are accepted and of which the simulator makes no records, with the first and the last release. */
static const struct {
	uint8_t kind;
	uint16_t from, until;
} silent[] = {
	{6, 1107, 1209}, {7, 1107, 1209}, {11, 1107, 1305}, {12, 1107, 1305}, {13, 1107, 1305}, {18, 1107, 1305},
	{19, 1107, 1305}, {20, 1107, 1305}, {26, 1107, 1305}, {28, 1107, 1305}, {33, 1107, 1305}, {34, 1107, 1305},
	{35, 1107, 1305}, {40, 1107, 1305}, {46, 1107, 1305}, {47, 1107, 1305}, {48, 1107, 1305}, {53, 1208, 1305},
	{54, 1208, 1305}, {55, 1208, 1305}, {57, 1301, 1305}, {59, 1302, 1305},
};

/* Removed in 13.0: events, metrics, source-level and sampling kinds. */
static bool is_removed(uint32_t kind)
{
	return sim_release >= 1300 && (kind == 6 || kind == 7 || (kind >= 14 && kind <= 16) || (kind >= 21 && kind <= 24 && kind != 22) ||
		(kind >= 29 && kind <= 32) || (kind >= 41 && kind <= 44));
}

static int check_kind(uint32_t kind)
{
	if (is_removed(kind))
		return SIM_CUPTI_LEGACY;
	if (sim_record_bytes(kind))
		return SIM_CUPTI_OK;
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		if (silent[i].kind == kind && silent[i].from <= sim_release && sim_release <= silent[i].until)
			return SIM_CUPTI_OK;
	return SIM_CUPTI_INVALID_KIND;
}

static void note_context(const struct sim_context_info *info, void *has_one)
{
	(void)info;
	*(bool *)has_one = true;
}

/* Who asks for devices once there are contexts gets none, as on a real one, but by cuptiActivityEnableAndDump. */
static bool is_late(void)
{
	bool has_one = false;

	sim_each_context(note_context, &has_one);
	return has_one;
}

static void describe(uint32_t kind)
{
	if (!sim_is_initialized() || !sim_cupti.request)
		return;
	if (kind == 8)
		for (int i = 0; i < sim_device_count(); i++)
			sim_record_device(i);
	if (kind == 9)
		sim_each_context(sim_record_context, NULL);
	if (kind == 37)
		sim_each_stream(sim_record_stream, NULL);
}

static int enable(uint32_t kind, bool is_dumped)
{
	int result;

	CHECK_READY();
	result = check_kind(kind);
	if (!result)
		result = sim_fault_enable(kind);
	if (result)
		return result;
	sim_cupti_listen();
	atomic_store(&sim_cupti.kinds[kind], 1);
	if (is_dumped || (kind == 8 && !is_late()))
		describe(kind);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityEnable(uint32_t kind)
{
	return enable(kind, false);
}

SIM_API int cuptiActivityEnableAndDump(uint32_t kind)
{
	return enable(kind, true);
}

SIM_API int cuptiActivityDisable(uint32_t kind)
{
	int result;

	CHECK_READY();
	result = check_kind(kind);
	if (!result)
		atomic_store(&sim_cupti.kinds[kind], 0);
	return result;
}

SIM_API int cuptiIsTracingSessionRunning(uint8_t *is_running)
{
	CHECK_READY();
	if (!is_running)
		return SIM_CUPTI_INVALID_PARAMETER;
	*is_running = 0;
	for (uint32_t kind = 0; kind < SIM_KIND_COUNT; kind++)
		*is_running |= sim_kind_is_on(kind);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityRegisterCallbacks(sim_request_function request, sim_complete_function complete)
{
	int result = sim_cupti_ready();

	/* Up to 13.1 it succeeds without a driver. */
	if (result && (sim_release >= 1303 || sim_fault(SIM_FAULT_too_old)))
		return result;
	if (!request || !complete)
		return SIM_CUPTI_INVALID_PARAMETER;
	if (sim_fault(SIM_FAULT_register))
		return (int)sim_fault(SIM_FAULT_register);
	pthread_mutex_lock(&sim_cupti.lock);
	sim_cupti.request = request;
	sim_cupti.complete = complete;
	pthread_mutex_unlock(&sim_cupti.lock);
	if (!result && sim_kind_is_on(8) && !is_late())
		describe(8);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityFlushAll(uint32_t flag)
{
	CHECK_READY();
	sim_oracle("flush\t%u\t%llu", flag, (unsigned long long)sim_clock_now());
	if (sim_fault(SIM_FAULT_flush))
		return (int)sim_fault(SIM_FAULT_flush);
	if (!sim_cupti.complete)
		return SIM_CUPTI_INVALID_OPERATION;
	sim_fault_flush();
	if (flag & 1)
		sim_flight_force();
	sim_flight_release((flag & 1) || !sim_fault(SIM_FAULT_late_ms));
	sim_buffer_flush();
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityFlushPeriod(uint32_t ms)
{
	CHECK_READY();
	pthread_mutex_lock(&sim_cupti.lock);
	sim_cupti.flush_period_ms = ms;
	pthread_cond_signal(&sim_cupti.wake);
	pthread_mutex_unlock(&sim_cupti.lock);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	CHECK_READY();
	if (!dropped)
		return SIM_CUPTI_INVALID_PARAMETER;
	*dropped = sim_buffer_take_dropped();
	return SIM_CUPTI_OK;
}

/* Bytes of the record of a kind, the one of fault_unknown_kind included; 0 = unknown. */
static size_t stride(uint32_t kind)
{
	if (kind == SIM_KIND_COUNT - 1 && sim_fault(SIM_FAULT_unknown_kind))
		return 72;
	return sim_record_bytes(kind);
}

SIM_API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	uint32_t kind;
	uint8_t *next;

	if (sim_cupti_ready() && sim_release >= 1302)
		return sim_cupti_ready();
	if (!buffer || !record)
		return SIM_CUPTI_INVALID_PARAMETER;
	next = buffer;
	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = *record + stride(kind);
	}
	if (next >= buffer + valid)
		return SIM_CUPTI_LIMIT_REACHED;
	memcpy(&kind, next, sizeof(kind));
	if (!stride(kind))
		return SIM_CUPTI_INVALID_KIND;
	if (next + stride(kind) > buffer + valid)
		return SIM_CUPTI_LIMIT_REACHED;
	*record = next;
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *bytes)
{
	CHECK_READY();
	if (!bytes || version != sim_release_version())
		return SIM_CUPTI_INVALID_PARAMETER;
	if (!sim_record_bytes(kind))
		return SIM_CUPTI_INVALID_KIND;
	*bytes = sim_record_bytes(kind);
	return SIM_CUPTI_OK;
}

/* Bytes of an attribute's value; 0 = the release has no such attribute. */
static size_t attribute_bytes(uint32_t attribute)
{
	switch (attribute) {
	case SIM_ZEROED_OUT_ACTIVITY_BUFFER:
	case SIM_MEM_ALLOCATION_TYPE_HOST_PINNED:
		return 1;
	case SIM_PER_THREAD_ACTIVITY_BUFFER:
		return sim_release >= 1203 ? 1 : 0;
	case SIM_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS:
		return sim_release >= 1203 ? sizeof(size_t) : 0;
	default:
		return attribute <= SIM_DEVICE_BUFFER_PRE_ALLOCATE + 1 ? sizeof(size_t) : 0;
	}
}

static int attribute(uint32_t number, size_t *bytes, void *value, bool is_set)
{
	CHECK_READY();
	if (!bytes || !value || !attribute_bytes(number))
		return SIM_CUPTI_INVALID_PARAMETER;
	if (*bytes < attribute_bytes(number))
		return SIM_CUPTI_SIZE_TOO_SMALL;
	if (sim_fault(SIM_FAULT_attribute))
		return (int)sim_fault(SIM_FAULT_attribute);
	pthread_mutex_lock(&sim_cupti.lock);
	if (is_set) {
		sim_cupti.attributes[number] = 0;
		memcpy(&sim_cupti.attributes[number], value, attribute_bytes(number));
	} else {
		memcpy(value, &sim_cupti.attributes[number], attribute_bytes(number));
	}
	pthread_mutex_unlock(&sim_cupti.lock);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivitySetAttribute(uint32_t number, size_t *bytes, void *value)
{
	return attribute(number, bytes, value, true);
}

SIM_API int cuptiActivityGetAttribute(uint32_t number, size_t *bytes, void *value)
{
	return attribute(number, bytes, value, false);
}

SIM_API int cuptiSetThreadIdType(uint32_t type)
{
	CHECK_READY();
	if (type > 1)
		return SIM_CUPTI_NOT_SUPPORTED;
	atomic_store(&sim_cupti.thread_id_type, type);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiGetThreadIdType(uint32_t *type)
{
	if (!type)
		return SIM_CUPTI_INVALID_PARAMETER;
	*type = atomic_load(&sim_cupti.thread_id_type);
	return SIM_CUPTI_OK;
}

static int filter_api(uint32_t domain, uint32_t id, uint8_t is_on)
{
	CHECK_READY();
	if (id >= SIM_CALLBACKS)
		return SIM_CUPTI_INVALID_PARAMETER;
	sim_cupti_listen();
	atomic_store(&sim_cupti.api_filter[domain][id], is_on ? 1 : 2);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityEnableDriverApi(uint32_t id, uint8_t is_on)
{
	return filter_api(SIM_DRIVER, id, is_on);
}

SIM_API int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t is_on)
{
	return filter_api(SIM_RUNTIME, id, is_on);
}

static int set_switch(_Atomic bool *one, uint8_t is_on)
{
	CHECK_READY();
	atomic_store(one, is_on != 0);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityEnableLatencyTimestamps(uint8_t is_on)
{
	return set_switch(&sim_cupti.has_latency, is_on);
}

SIM_API int cuptiActivityEnableAllSyncRecords(uint8_t is_on)
{
	return set_switch(&sim_cupti.has_all_waits, is_on);
}

SIM_API int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t is_on)
{
	return set_switch(&sim_cupti.has_event_times, is_on);
}

/* CUpti_ActivityUnifiedMemoryCounterConfig is {scope, kind, device, enable}; the kind 25 switches the records. */
SIM_API int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t *config, uint32_t count)
{
	CHECK_READY();
	if (!config || !count)
		return SIM_CUPTI_INVALID_PARAMETER;
	return sim_is_initialized() ? SIM_CUPTI_OK : SIM_CUPTI_NOT_INITIALIZED;
}

SIM_API int cuptiActivityRegisterTimestampCallback(uint64_t (*callback)(void))
{
	CHECK_READY();
	if (!callback)
		return SIM_CUPTI_INVALID_PARAMETER;
	atomic_store(&sim_cupti.timestamp, callback);
	return SIM_CUPTI_OK;
}

SIM_API int cuptiGetTimestamp(uint64_t *timestamp)
{
	int result = sim_cupti_ready();

	if (result && sim_release >= 1303)
		return result;
	if (!timestamp)
		return SIM_CUPTI_INVALID_PARAMETER;
	if (sim_fault(SIM_FAULT_timestamp))
		return (int)sim_fault(SIM_FAULT_timestamp);
	*timestamp = sim_record_time(sim_clock_now()) + sim_fault(SIM_FAULT_timestamp_ahead);
	return SIM_CUPTI_OK;
}

/* ---- ids ---- */

static int give_id(uint32_t *to, uint32_t id)
{
	CHECK_READY();
	if (!to || id == SIM_NONE)
		return SIM_CUPTI_INVALID_PARAMETER;
	*to = id;
	return SIM_CUPTI_OK;
}

SIM_API int cuptiGetContextId(struct sim_context *context, uint32_t *id)
{
	return give_id(id, sim_context_id(context));
}

SIM_API int cuptiGetDeviceId(struct sim_context *context, uint32_t *id)
{
	return give_id(id, (uint32_t)sim_context_device(context ? context : sim_context_current()));
}

SIM_API int cuptiGetStreamIdEx(struct sim_context *context, void *stream, uint8_t is_per_thread, uint32_t *id)
{
	return give_id(id, sim_stream_id(context ? context : sim_context_current(), stream, is_per_thread));
}

SIM_API int cuptiGetStreamId(struct sim_context *context, void *stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(context, stream, 0, id);
}

SIM_API int cuptiGetGraphId(struct sim_graph *graph, uint32_t *id)
{
	return give_id(id, sim_graph_id(graph));
}

SIM_API int cuptiGetGraphExecId(struct sim_graph_exec *exec, uint32_t *id)
{
	return give_id(id, sim_graph_exec_id(exec));
}

SIM_API int cuptiGetGraphNodeId(struct sim_node *node, uint64_t *id)
{
	uint64_t found = sim_node_id(node);

	CHECK_READY();
	if (!id || found == SIM_NONE)
		return SIM_CUPTI_INVALID_PARAMETER;
	*id = found;
	return SIM_CUPTI_OK;
}

/* ---- external correlation ---- */

SIM_API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
	CHECK_READY();
	if (kind >= SIM_EXTERNAL_KINDS || sim_external.depth[kind] == SIM_EXTERNAL_DEPTH)
		return SIM_CUPTI_INVALID_PARAMETER;
	sim_external.ids[kind][sim_external.depth[kind]++] = id;
	return SIM_CUPTI_OK;
}

SIM_API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
	CHECK_READY();
	if (kind >= SIM_EXTERNAL_KINDS)
		return SIM_CUPTI_INVALID_PARAMETER;
	if (!sim_external.depth[kind])
		return SIM_CUPTI_QUEUE_EMPTY;
	sim_external.depth[kind]--;
	if (last)
		*last = sim_external.ids[kind][sim_external.depth[kind]];
	return SIM_CUPTI_OK;
}

/* Without a driver 12.4 to 12.9 die of it. The others end all recording. */
SIM_API int cuptiFinalize(void)
{
	int result = sim_cupti_ready();

	if (result && sim_release >= 1204 && sim_release <= 1209)
		raise(SIGSEGV);
	if (result)
		return sim_release >= 1303 ? result : SIM_CUPTI_OK;
	if (sim_fault(SIM_FAULT_finalize))
		return (int)sim_fault(SIM_FAULT_finalize);
	for (uint32_t kind = 0; kind < SIM_KIND_COUNT; kind++)
		atomic_store(&sim_cupti.kinds[kind], 0);
	atomic_store(&sim_cupti.callback, NULL);
	return SIM_CUPTI_OK;
}
