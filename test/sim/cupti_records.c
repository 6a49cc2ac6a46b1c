/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened, written as CUPTI's activity records.
 * Rule: fields go through SIM_PUT alone, so that a record is that of the release simulated; all other bytes are 0.
 */
#include <pthread.h>
#include <unistd.h>

#include "cupti_state.h"

struct record {
	uint64_t words[(SIM_RECORD_MOST + 256) / 8];
};

/*
 * Where the client's clock stands against ours, as CUPTI has it: points of both, one line between two. It may count in units of
 * its own. Under the lock.
 */
static struct {
	uint64_t (*callback)(void);
	uint64_t first_ns, first, ns, said;
} client = {0};
static pthread_mutex_t client_lock = PTHREAD_MUTEX_INITIALIZER;

#define CLIENT_NS 20000000u /* how long a point is good for */

/* The narrowest of five readings. */
static void read_client(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = sim_clock_now(), said = client.callback(), after = sim_clock_now();

		if (after - before >= best)
			continue;
		best = after - before;
		client.ns = before + best / 2;
		client.said = said;
	}
}

static uint64_t client_time(uint64_t (*callback)(void), uint64_t ns)
{
	pthread_mutex_lock(&client_lock);
	if (client.callback != callback) {
		client.callback = callback;
		read_client();
		client.first_ns = client.ns;
		client.first = client.said;
		for (uint64_t since = client.ns; sim_clock_now() - since < 1000000u;)
			;
		read_client();
	} else if (sim_clock_now() - client.ns > CLIENT_NS) {
		read_client();
	}
	double rate = (double)(client.said - client.first) / (double)(client.ns - client.first_ns);
	uint64_t result = client.said + (uint64_t)(int64_t)((double)(int64_t)(ns - client.ns) * rate);

	pthread_mutex_unlock(&client_lock);
	return result;
}

uint64_t sim_record_time(uint64_t ns)
{
	uint64_t (*callback)(void) = atomic_load(&sim_cupti.timestamp);

	return callback && ns ? client_time(callback, ns) : ns;
}

static void begin(struct record *record, uint32_t kind)
{
	memset(record, 0, sizeof(*record));
	memcpy(record, &kind, sizeof(kind));
	memset((char *)record + sim_record_bytes(kind) - sim_fault_longer(), 0xEE, sim_fault_longer());
}

/* Sends a record of the host; the faults of device records do not touch it. */
static void send(struct record *record)
{
	uint32_t kind = (uint32_t)record->words[0];

	if (sim_record_bytes(kind))
		sim_buffer_append(sim_thread_id(), record, sim_record_bytes(kind));
}

static void send_device(struct record *record, uint32_t thread)
{
	uint32_t kind = (uint32_t)record->words[0];
	int times;

	if (!sim_record_bytes(kind))
		return;
	times = sim_fault_record(thread, record, sim_kind_family(kind));
	while (times-- > 0)
		sim_flight_record(thread, record, sim_record_bytes(kind));
}

#define PUT_COMMON(record, family, work) do { \
		SIM_PUT(record, family, device, (work)->device); \
		SIM_PUT(record, family, context, (work)->context_id); \
		SIM_PUT(record, family, stream, (work)->stream_id); \
		SIM_PUT(record, family, correlation, (work)->correlation); \
		SIM_PUT(record, family, start, sim_record_time((work)->start)); \
		SIM_PUT(record, family, end, sim_record_time((work)->end)); \
	} while (0)

#define PUT_NODE(record, family, work, engine, engine_kind) do { \
		SIM_PUT(record, family, graph, (work)->graph_id); \
		SIM_PUT(record, family, node, (work)->node_id); \
		SIM_PUT(record, family, channel, engine); \
		SIM_PUT(record, family, channel_kind, engine_kind); \
	} while (0)

/* Hardware channels are numbered by engine: 8 and up compute, by stream; 2 to the device, 3 from it, 4 inside it. */
static void put_kernel(struct record *record, const struct sim_work *work)
{
	const struct sim_kernel_work *kernel = &work->kernel;

	PUT_COMMON(record, kernel, work);
	PUT_NODE(record, kernel, work, 8 + work->stream_id % 8, 1);
	SIM_PUT(record, kernel, registers, kernel->registers);
	SIM_PUT(record, kernel, grid_x, kernel->grid[0]);
	SIM_PUT(record, kernel, grid_y, kernel->grid[1]);
	SIM_PUT(record, kernel, grid_z, kernel->grid[2]);
	SIM_PUT(record, kernel, block_x, kernel->block[0]);
	SIM_PUT(record, kernel, block_y, kernel->block[1]);
	SIM_PUT(record, kernel, block_z, kernel->block[2]);
	SIM_PUT(record, kernel, static_shared, kernel->static_shared);
	SIM_PUT(record, kernel, dynamic_shared, kernel->dynamic_shared);
	SIM_PUT(record, kernel, executed_shared, (kernel->static_shared + kernel->dynamic_shared + 1023) / 1024 * 1024);
	SIM_PUT(record, kernel, local_bytes, kernel->local_per_thread);
	SIM_PUT(record, kernel, local_total_old, kernel->local_total);
	SIM_PUT(record, kernel, local_total, kernel->local_total);
	SIM_PUT(record, kernel, grid_id, kernel->grid_id);
	SIM_PUT(record, kernel, name, (uintptr_t)sim_fault_kernel_name(kernel));
	if (atomic_load(&sim_cupti.has_latency)) {
		SIM_PUT(record, kernel, queued, sim_record_time(kernel->queued));
		SIM_PUT(record, kernel, submitted, sim_record_time(kernel->submitted));
	}
	SIM_PUT(record, kernel, launch_type, kernel->launch_type);
	SIM_PUT(record, kernel, cluster_x, kernel->cluster[0]);
	SIM_PUT(record, kernel, cluster_y, kernel->cluster[1]);
	SIM_PUT(record, kernel, cluster_z, kernel->cluster[2]);
	SIM_PUT(record, kernel, priority, kernel->priority);
	SIM_PUT(record, kernel, source_graph, work->source_graph_id);
	SIM_PUT(record, kernel, source_node, work->source_node_id);
}

static void put_copy(struct record *record, const struct sim_work *work)
{
	const struct sim_copy_work *copy = &work->copy;

	PUT_COMMON(record, memcpy, work);
	PUT_NODE(record, memcpy, work, copy->kind == 1 ? 2 : copy->kind == 2 ? 3 : 4, 2);
	SIM_PUT(record, memcpy, copy_kind, copy->kind);
	SIM_PUT(record, memcpy, source_kind, copy->source_kind);
	SIM_PUT(record, memcpy, destination_kind, copy->destination_kind);
	SIM_PUT(record, memcpy, flags, copy->is_async);
	SIM_PUT(record, memcpy, bytes, copy->bytes);
	SIM_PUT(record, memcpy, runtime_correlation, copy->runtime_correlation);
	SIM_PUT(record, memcpy, count, 1);
	SIM_PUT(record, memcpy, source_graph, work->source_graph_id);
	SIM_PUT(record, memcpy, source_node, work->source_node_id);
}

static void put_peer(struct record *record, const struct sim_work *work)
{
	const struct sim_copy_work *copy = &work->copy;

	PUT_COMMON(record, peer, work);
	PUT_NODE(record, peer, work, 4, 2);
	SIM_PUT(record, peer, copy_kind, copy->kind);
	SIM_PUT(record, peer, source_kind, copy->source_kind);
	SIM_PUT(record, peer, destination_kind, copy->destination_kind);
	SIM_PUT(record, peer, flags, copy->is_async);
	SIM_PUT(record, peer, bytes, copy->bytes);
	SIM_PUT(record, peer, source_device, copy->source_device);
	SIM_PUT(record, peer, source_context, copy->source_context);
	SIM_PUT(record, peer, destination_device, copy->destination_device);
	SIM_PUT(record, peer, destination_context, copy->destination_context);
}

static void put_set(struct record *record, const struct sim_work *work)
{
	PUT_COMMON(record, memset, work);
	PUT_NODE(record, memset, work, 4, 2);
	SIM_PUT(record, memset, value, work->set.value);
	SIM_PUT(record, memset, bytes, work->set.bytes);
	SIM_PUT(record, memset, flags, work->set.is_async);
	SIM_PUT(record, memset, memory_kind, work->set.memory_kind);
	SIM_PUT(record, memset, source_graph, work->source_graph_id);
	SIM_PUT(record, memset, source_node, work->source_node_id);
}

static void put_graph(struct record *record, const struct sim_work *work)
{
	PUT_COMMON(record, graph, work);
	SIM_PUT(record, graph, graph, work->graph_id);
	SIM_PUT(record, graph, end_device, work->device);
	SIM_PUT(record, graph, end_context, work->context_id);
}

static void put_event(struct record *record, const struct sim_work *work)
{
	SIM_PUT(record, event, correlation, work->correlation);
	SIM_PUT(record, event, context, work->context_id);
	SIM_PUT(record, event, stream, work->stream_id);
	SIM_PUT(record, event, id, work->event.event_id);
	SIM_PUT(record, event, device, work->device);
	if (atomic_load(&sim_cupti.has_event_times))
		SIM_PUT(record, event, timestamp, sim_record_time(work->end));
	SIM_PUT(record, event, sync_id, work->event.sync_id);
	SIM_PUT(record, event, graph, work->graph_id);
	SIM_PUT(record, event, node, work->node_id);
	SIM_PUT(record, event, source_graph, work->source_graph_id);
	SIM_PUT(record, event, source_node, work->source_node_id);
}

static uint32_t put_host_function(struct record *record, const struct sim_work *work)
{
	if (!work->graph_id) {
		begin(record, 58);
		PUT_COMMON(record, host_launch, work);
		SIM_PUT(record, host_launch, process, getpid());
		SIM_PUT(record, host_launch, thread, work->thread);
		return 58;
	}
	begin(record, 56);
	PUT_COMMON(record, host_node, work);
	SIM_PUT(record, host_node, graph, work->graph_id);
	SIM_PUT(record, host_node, node, work->node_id);
	SIM_PUT(record, host_node, process, getpid());
	SIM_PUT(record, host_node, thread, work->thread);
	return 56;
}

/* Each kind of work and the record it becomes. */
static const struct {
	enum sim_work_kind work;
	uint32_t kind;
	void (*put)(struct record *record, const struct sim_work *work);
} forms[] = {
	{SIM_KERNEL, 10, put_kernel}, {SIM_COPY, 1, put_copy}, {SIM_SET, 2, put_set},
	{SIM_GRAPH, 51, put_graph}, {SIM_EVENT_RECORD, 36, put_event},
};

static void put_work(struct record *record, const struct sim_work *work)
{
	if (work->kind == SIM_COPY && work->copy.kind == 10) {
		begin(record, 22);
		put_peer(record, work);
		return;
	}
	if (work->kind == SIM_HOST_FUNCTION) {
		put_host_function(record, work);
		return;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].work != work->kind)
			continue;
		begin(record, forms[i].kind == 10 && !sim_kind_is_on(10) && sim_kind_is_on(3) ? 3 : forms[i].kind);
		forms[i].put(record, work);
	}
}

void sim_record_work(const struct sim_work *work, bool is_forced)
{
	struct record record = {0};
	struct sim_work cut;

	if (is_forced) {
		cut = *work;
		cut.start = sim_clock_now() >= work->true_start ? work->start : 0;
		cut.end = 0;
		work = &cut;
	}
	put_work(&record, work);
	send_device(&record, work->thread);
}

static void record_external(const struct sim_call *call)
{
	struct record record;

	for (uint32_t kind = 0; kind < SIM_EXTERNAL_KINDS; kind++) {
		int depth = sim_external.depth[kind];

		if (!depth)
			continue;
		begin(&record, 39);
		SIM_PUT(&record, external, external_kind, kind);
		SIM_PUT(&record, external, id, sim_external.ids[kind][depth - 1]);
		SIM_PUT(&record, external, correlation, call->correlation);
		send(&record);
	}
}

void sim_record_call(const struct sim_call *call)
{
	struct record record;

	if (sim_kind_is_on(39))
		record_external(call);
	begin(&record, call->domain == SIM_DRIVER ? 4 : 5);
	SIM_PUT(&record, api, cbid, call->cbid);
	SIM_PUT(&record, api, start, sim_record_time(call->start));
	SIM_PUT(&record, api, end, sim_record_time(call->end));
	SIM_PUT(&record, api, process, getpid());
	SIM_PUT(&record, api, thread, atomic_load(&sim_cupti.thread_id_type) == 1 ? call->thread : (uint32_t)pthread_self());
	SIM_PUT(&record, api, correlation, call->correlation);
	SIM_PUT(&record, api, result, call->result ? *call->result : 0);
	send(&record);
}

void sim_record_wait(const struct sim_wait *wait)
{
	struct record record;

	begin(&record, 38);
	SIM_PUT(&record, wait, type, wait->kind);
	SIM_PUT(&record, wait, start, sim_record_time(wait->start));
	SIM_PUT(&record, wait, end, sim_record_time(wait->end));
	SIM_PUT(&record, wait, correlation, wait->correlation);
	SIM_PUT(&record, wait, context, wait->context_id);
	SIM_PUT(&record, wait, stream, wait->stream_id);
	SIM_PUT(&record, wait, event, wait->event_id);
	SIM_PUT(&record, wait, sync_id, wait->event_sync_id);
	SIM_PUT(&record, wait, result, wait->result);
	send(&record);
}

void sim_record_memory(const struct sim_memory *memory)
{
	struct record record;

	begin(&record, 49);
	SIM_PUT(&record, memory, operation, memory->operation);
	SIM_PUT(&record, memory, memory_kind, memory->kind);
	SIM_PUT(&record, memory, correlation, memory->correlation);
	SIM_PUT(&record, memory, address, memory->address);
	SIM_PUT(&record, memory, bytes, memory->bytes);
	SIM_PUT(&record, memory, timestamp, sim_record_time(memory->timestamp));
	SIM_PUT(&record, memory, pc, (uintptr_t)memory->pc);
	SIM_PUT(&record, memory, process, getpid());
	SIM_PUT(&record, memory, device, memory->device);
	SIM_PUT(&record, memory, context, memory->context_id);
	SIM_PUT(&record, memory, stream, memory->stream_id);
	SIM_PUT(&record, memory, name, (uintptr_t)memory->name);
	SIM_PUT(&record, memory, is_async, memory->is_async);
	if (memory->is_pooled) {
		SIM_PUT(&record, memory, pool_type, memory->pool_type);
		SIM_PUT(&record, memory, pool_address, (uintptr_t)memory->pool);
		SIM_PUT(&record, memory, pool_threshold, memory->pool_threshold);
		SIM_PUT(&record, memory, pool_size, memory->pool_bytes);
		SIM_PUT(&record, memory, pool_used, memory->pool_used);
	}
	send(&record);
}

void sim_record_pool(const struct sim_pool_event *event)
{
	struct record record;

	begin(&record, 50);
	SIM_PUT(&record, pool, operation, event->operation);
	SIM_PUT(&record, pool, pool_type, 1);
	SIM_PUT(&record, pool, correlation, event->correlation);
	SIM_PUT(&record, pool, process, getpid());
	SIM_PUT(&record, pool, device, event->device);
	SIM_PUT(&record, pool, keep, event->kept_bytes);
	SIM_PUT(&record, pool, address, (uintptr_t)event->pool);
	SIM_PUT(&record, pool, size, event->bytes);
	SIM_PUT(&record, pool, threshold, event->threshold);
	SIM_PUT(&record, pool, timestamp, sim_record_time(event->timestamp));
	SIM_PUT(&record, pool, used, event->used);
	send(&record);
}

void sim_record_jit(const struct sim_jit *jit)
{
	struct record record;

	begin(&record, 52);
	SIM_PUT(&record, jit, entry, jit->entry);
	SIM_PUT(&record, jit, operation, jit->operation);
	SIM_PUT(&record, jit, device, jit->device);
	SIM_PUT(&record, jit, start, sim_record_time(jit->start));
	SIM_PUT(&record, jit, end, sim_record_time(jit->end));
	SIM_PUT(&record, jit, correlation, jit->correlation);
	SIM_PUT(&record, jit, number, jit->number);
	SIM_PUT(&record, jit, cache_bytes, jit->cache_bytes);
	SIM_PUT(&record, jit, cache_path, (uintptr_t)jit->cache_path);
	SIM_PUT(&record, jit, process, getpid());
	SIM_PUT(&record, jit, thread, jit->thread);
	send(&record);
}

void sim_record_overhead(const struct sim_overhead *overhead)
{
	struct record record;

	begin(&record, 17);
	SIM_PUT(&record, overhead, overhead_kind, overhead->kind);
	SIM_PUT(&record, overhead, object_kind, 2); /* thread */
	SIM_PUT(&record, overhead, process, getpid());
	SIM_PUT(&record, overhead, thread, overhead->thread);
	SIM_PUT(&record, overhead, start, sim_record_time(overhead->start));
	SIM_PUT(&record, overhead, end, sim_record_time(overhead->end));
	SIM_PUT(&record, overhead, correlation, overhead->correlation);
	send(&record);
}

void sim_record_managed(const struct sim_unified *unified)
{
	struct record record;

	begin(&record, 25);
	SIM_PUT(&record, managed, counter, unified->kind);
	SIM_PUT(&record, managed, value, unified->value);
	SIM_PUT(&record, managed, start, sim_record_time(unified->start));
	SIM_PUT(&record, managed, end, sim_record_time(unified->end));
	SIM_PUT(&record, managed, address, unified->address);
	SIM_PUT(&record, managed, source, unified->source);
	SIM_PUT(&record, managed, destination, unified->destination);
	SIM_PUT(&record, managed, stream, unified->stream_id);
	SIM_PUT(&record, managed, process, getpid());
	SIM_PUT(&record, managed, flags, unified->flags);
	send(&record);
}

void sim_record_module(const struct sim_resource *resource)
{
	struct record record;

	begin(&record, 27);
	SIM_PUT(&record, module, context, sim_context_id(resource->context));
	SIM_PUT(&record, module, id, resource->module_id);
	SIM_PUT(&record, module, cubin_bytes, resource->cubin_size);
	SIM_PUT(&record, module, cubin, (uintptr_t)resource->cubin);
	send(&record);
}

void sim_record_context(const struct sim_context_info *info, void *user)
{
	struct record record;

	(void)user;
	begin(&record, 9);
	SIM_PUT(&record, context, id, info->id);
	SIM_PUT(&record, context, device, info->device);
	SIM_PUT(&record, context, api, 1); /* CUDA */
	SIM_PUT(&record, context, null_stream, info->null_stream_id);
	SIM_PUT(&record, context, process, getpid());
	send(&record);
}

void sim_record_stream(const struct sim_stream_info *info, void *user)
{
	static const uint32_t flags[] = {1, 3, 1}; /* by sim_stream_info.kind: 1 default, 2 non-blocking, 3 null */
	struct record record;

	(void)user;
	begin(&record, 37);
	SIM_PUT(&record, stream, context, info->context_id);
	SIM_PUT(&record, stream, id, info->id);
	SIM_PUT(&record, stream, priority, info->priority);
	SIM_PUT(&record, stream, flag, info->flags & 1 ? 2 : flags[info->kind]);
	SIM_PUT(&record, stream, correlation, sim_correlation());
	send(&record);
}

/* The device's kind of identity: 8 bytes each, as the table has no field of 16. */
static void put_uuid(struct record *record, const uint8_t *uuid)
{
	memcpy((char *)record + SIM_AT_device_uuid_low, uuid, 8);
	memcpy((char *)record + SIM_AT_device_uuid_high, uuid + 8, 8);
}

void sim_record_device(int ordinal)
{
	const struct sim_device *device = sim_device_at(ordinal);
	struct record record;

	begin(&record, 8);
	SIM_PUT(&record, device, bandwidth, 2ull * (unsigned)device->memory_clock_khz * (unsigned)device->memory_bus_bits / 8);
	SIM_PUT(&record, device, memory_bytes, device->capacity);
	SIM_PUT(&record, device, constant_bytes, device->constant_bytes);
	SIM_PUT(&record, device, l2_bytes, device->l2_bytes);
	SIM_PUT(&record, device, warp, device->warp_size);
	SIM_PUT(&record, device, clock_khz, device->clock_khz);
	SIM_PUT(&record, device, engines, device->copy_engines);
	SIM_PUT(&record, device, multiprocessors, device->sm_count);
	SIM_PUT(&record, device, warps, device->max_threads_per_sm / device->warp_size);
	SIM_PUT(&record, device, blocks, device->max_blocks_per_sm);
	SIM_PUT(&record, device, shared_bytes, device->shared_per_sm);
	SIM_PUT(&record, device, registers, device->registers_per_sm);
	SIM_PUT(&record, device, block_registers, device->registers_per_block);
	SIM_PUT(&record, device, block_shared, device->shared_per_block);
	SIM_PUT(&record, device, block_threads, device->max_threads_per_block);
	SIM_PUT(&record, device, block_x, device->max_block[0]);
	SIM_PUT(&record, device, block_y, device->max_block[1]);
	SIM_PUT(&record, device, block_z, device->max_block[2]);
	SIM_PUT(&record, device, grid_x, device->max_grid[0]);
	SIM_PUT(&record, device, grid_y, device->max_grid[1]);
	SIM_PUT(&record, device, grid_z, device->max_grid[2]);
	SIM_PUT(&record, device, major, device->major);
	SIM_PUT(&record, device, minor, device->minor);
	SIM_PUT(&record, device, id, ordinal);
	put_uuid(&record, device->uuid);
	/* The client frees this one: the vendor's documents say so. */
	SIM_PUT(&record, device, name, (uintptr_t)strdup(device->name));
	SIM_PUT(&record, device, is_visible, 1);
	send(&record);
}
