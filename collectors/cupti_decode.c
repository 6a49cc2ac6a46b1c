/* SPDX-License-Identifier: Apache-2.0 */
/* Walking CUPTI's buffers, and its records of device work; see collectors/cupti_decode.h. */
#include "collectors/cupti_decode.h"

#include "writer/poison.h"

#define NONE UINT32_MAX

typedef void read_record(struct tfp_cupti_reading *reading, const void *record);

uint64_t tfp_cupti_widen_near(uint64_t newest, uint32_t correlation)
{
	int32_t ahead = (int32_t)(correlation - (uint32_t)newest);

	if (!correlation)
		return 0;
	return ahead < 0 && newest < (uint64_t)-(int64_t)ahead ? correlation : newest + (uint64_t)(int64_t)ahead;
}

/* The record's correlation id in 64 bits, and whether its call was made inside a window. */
static int take_correlation(struct tfp_cupti_reading *reading, uint32_t correlation, uint64_t *wide)
{
	struct tfp_cupti_decoder *decoder = reading->decoder;

	*wide = tfp_cupti_widen_near(reading->newest, correlation);
	if (!correlation)
		return 1;
	enum tfp_cupti_wanted wanted = tfp_cupti_range_find(&decoder->wanted, *wide);
	decoder->outside += wanted == TFP_CUPTI_OUTSIDE;
	decoder->forgotten += wanted == TFP_CUPTI_FORGOTTEN;
	return wanted == TFP_CUPTI_INSIDE;
}

/* Of work on the device. */
static void note_work(struct tfp_cupti_reading *reading, uint64_t correlation, uint64_t start, uint64_t end)
{
	reading->decoder->timeless += !start || !end;
	if (correlation > reading->decoder->last_kernel)
		reading->decoder->last_kernel = correlation;
}

static uint32_t queue_of(struct tfp_cupti_reading *reading, uint32_t device, uint32_t context, uint32_t stream,
			 uint32_t channel, uint32_t channel_kind)
{
	struct tfp_queue_key key = {device, context, stream, channel, channel_kind};

	if (!channel_kind) /* 0 = invalid: the number says nothing */
		key.channel = NONE;
	return tfp_cupti_queue(reading->decoder->tables, &key);
}

static uint32_t shape_of(struct tfp_cupti_reading *reading, const struct tfp_cupti_kernel *kernel)
{
	struct tfp_shape_key key = {
		.name = kernel->name,
		.grid = {(uint32_t)kernel->grid[0], (uint32_t)kernel->grid[1], (uint32_t)kernel->grid[2]},
		.block = {(uint32_t)kernel->block[0], (uint32_t)kernel->block[1], (uint32_t)kernel->block[2]},
		.registers = kernel->registers,
		.static_shared = (uint32_t)kernel->static_shared,
		.dynamic_shared = (uint32_t)kernel->dynamic_shared,
		.executed_shared = kernel->executed_shared,
		.local_bytes = kernel->local_bytes,
		.local_total = kernel->local_total,
		.kind = kernel->launch_type,
	};

	if (reading->stride >= 200) { /* 11.8 */
		key.cluster[0] = kernel->cluster[0];
		key.cluster[1] = kernel->cluster[1];
		key.cluster[2] = kernel->cluster[2];
		key.local_total = kernel->local_total64;
	}
	if (reading->stride >= 208) /* 12.0 */
		key.max_clusters = kernel->max_clusters;
	return tfp_cupti_shape(reading->decoder->tables, &key);
}

static void read_kernel(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_kernel *kernel = record;
	uint64_t correlation;

	if (!take_correlation(reading, kernel->correlation, &correlation))
		return;
	note_work(reading, correlation, kernel->start, kernel->end);
	uint32_t shape = shape_of(reading, kernel);
	uint32_t queue = queue_of(reading, kernel->device, kernel->context, kernel->stream, kernel->channel, kernel->channel_kind);
	TFP_PUT(reading->thread, reading->lane, reading->now, kernel, .start = kernel->start,
		.duration = kernel->end - kernel->start, .correlation = correlation, .shape = shape, .queue = queue,
		.graph = kernel->graph, .node = kernel->node);
}

static void read_memcpy(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_memcpy *copy = record;
	uint64_t correlation;

	if (!take_correlation(reading, copy->correlation, &correlation))
		return;
	note_work(reading, correlation, copy->start, copy->end);
	uint32_t queue = queue_of(reading, copy->device, copy->context, copy->stream, copy->channel, copy->channel_kind);
	TFP_PUT(reading->thread, reading->lane, reading->now, device_copy, .start = copy->start,
		.duration = copy->end - copy->start, .correlation = correlation, .bytes = copy->bytes, .queue = queue,
		.kind = copy->copy, .source = copy->source, .destination = copy->destination, .flags = copy->flags & 1,
		.source_device = NONE, .destination_device = NONE, .count = reading->stride >= 96 ? copy->count : 0,
		.graph = copy->graph, .node = copy->node);
}

static void read_memcpy2(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_memcpy2 *copy = record;
	uint64_t correlation;

	if (!take_correlation(reading, copy->correlation, &correlation))
		return;
	note_work(reading, correlation, copy->start, copy->end);
	uint32_t queue = queue_of(reading, copy->device, copy->context, copy->stream, copy->channel, copy->channel_kind);
	TFP_PUT(reading->thread, reading->lane, reading->now, device_copy, .start = copy->start,
		.duration = copy->end - copy->start, .correlation = correlation, .bytes = copy->bytes, .queue = queue,
		.kind = copy->copy, .source = copy->source, .destination = copy->destination, .flags = copy->flags & 1,
		.source_device = copy->source_device, .destination_device = copy->destination_device, .graph = copy->graph,
		.node = copy->node);
}

static void read_memset(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_memset *set = record;
	uint64_t correlation;

	if (!take_correlation(reading, set->correlation, &correlation))
		return;
	note_work(reading, correlation, set->start, set->end);
	uint32_t queue = queue_of(reading, set->device, set->context, set->stream, set->channel, set->channel_kind);
	TFP_PUT(reading->thread, reading->lane, reading->now, device_set, .start = set->start, .duration = set->end - set->start,
		.correlation = correlation, .bytes = set->bytes, .queue = queue, .value = set->value,
		.memory = (uint8_t)set->memory, .flags = set->flags & 1, .graph = set->graph, .node = set->node);
}

static void read_wait(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_wait *wait = record;
	uint64_t correlation;

	if (take_correlation(reading, wait->correlation, &correlation))
		TFP_PUT(reading->thread, reading->lane, reading->now, device_wait, .start = wait->start,
			.duration = wait->end - wait->start, .correlation = correlation, .kind = (uint8_t)wait->type,
			.context = wait->context, .stream = wait->stream, .event = wait->event);
}

static void read_memory(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_memory *memory = record;
	uint64_t correlation;
	uint8_t flags = memory->is_async != 0;

	if (!take_correlation(reading, memory->correlation, &correlation))
		return;
	if (memory->pool_kind)
		flags |= 2;
	int is_imported = memory->pool_kind == 2;
	if (is_imported)
		flags |= 4;
	reading->decoder->managed += memory->memory == 5 && memory->operation == 1;
	TFP_PUT(reading->thread, reading->lane, reading->now, device_memory, .timestamp = memory->timestamp,
		.correlation = correlation, .address = memory->address, .bytes = memory->bytes,
		.operation = (uint8_t)memory->operation, .kind = (uint8_t)memory->memory, .flags = flags,
		.device = memory->device, .context = memory->context, .stream = memory->stream,
		.pool = memory->pool_kind ? memory->pool : 0,
		.pool_bytes = memory->pool_kind && !is_imported ? memory->pool_bytes : 0, /* imported: a process id is there */
		.pool_used = memory->pool_kind ? memory->pool_used : 0, .pc = memory->pc);
}

static void read_pool(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_pool *pool = record;
	uint64_t correlation;
	int is_local = pool->pool_kind == 1; /* of an imported one CUPTI tells neither size nor threshold */

	if (take_correlation(reading, pool->correlation, &correlation))
		TFP_PUT(reading->thread, reading->lane, reading->now, device_pool, .timestamp = pool->timestamp,
			.correlation = correlation, .address = pool->address, .operation = (uint8_t)pool->operation,
			.kind = (uint8_t)pool->pool_kind, .device = pool->device, .bytes = is_local ? pool->bytes : 0,
			.used = is_local ? pool->used : 0, .keep = pool->keep, .threshold = is_local ? pool->threshold : 0);
}

static void read_overhead(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_overhead *overhead = record;
	uint64_t correlation = 0;

	if (reading->stride >= 48)
		correlation = tfp_cupti_widen_near(reading->newest, overhead->correlation);
	TFP_PUT(reading->thread, reading->lane, reading->now, gpu_overhead, .start = overhead->start,
		.duration = overhead->end - overhead->start, .correlation = correlation, .kind = overhead->overhead,
		.thread = overhead->object == 2 ? overhead->object_id[1] : 0);
	if (reading->stride >= 56 && overhead->data && reading->decoder->release)
		reading->decoder->release(overhead->data);
}

static void read_graph(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_graph *graph = record;
	uint64_t correlation;

	if (!take_correlation(reading, graph->correlation, &correlation))
		return;
	note_work(reading, correlation, graph->start, graph->end);
	TFP_PUT(reading->thread, reading->lane, reading->now, graph_run, .start = graph->start,
		.duration = graph->end - graph->start, .correlation = correlation, .graph = graph->graph,
		.queue = queue_of(reading, graph->device, graph->context, graph->stream, 0, 0));
}

static void read_jit(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_jit *jit_record = record;
	uint64_t correlation;

	if (take_correlation(reading, jit_record->correlation, &correlation))
		TFP_PUT(reading->thread, reading->lane, reading->now, jit, .start = jit_record->start,
			.duration = jit_record->end - jit_record->start, .correlation = correlation,
			.entry = (uint8_t)jit_record->entry, .operation = (uint8_t)jit_record->operation,
			.device = jit_record->device, .bytes = jit_record->cache_bytes);
}

static void read_managed(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_managed *moved = record;

	TFP_PUT(reading->thread, reading->lane, reading->now, managed, .start = moved->start,
		.duration = moved->end ? moved->end - moved->start : 0, .address = moved->address, .value = moved->value,
		.kind = moved->counter, .source = moved->source, .destination = moved->destination, .stream = moved->stream,
		.flags = moved->flags);
}

/* Each kind: the oldest version's size, from which on its fields are there, and its reader. */
static const struct kind {
	uint32_t least;
	read_record *take;
} kinds[TFP_CUPTI_KINDS] = {
	[TFP_CUPTI_MEMCPY] = {88, read_memcpy},
	[TFP_CUPTI_MEMSET] = {88, read_memset},
	[TFP_CUPTI_KERNEL] = {176, read_kernel},
	[TFP_CUPTI_CONCURRENT_KERNEL] = {176, read_kernel},
	[TFP_CUPTI_DEVICE] = {176, tfp_cupti_read_device},
	[TFP_CUPTI_CONTEXT] = {16, tfp_cupti_read_context},
	[TFP_CUPTI_NAME] = {32, tfp_cupti_read_name},
	[TFP_CUPTI_OVERHEAD] = {40, read_overhead},
	[TFP_CUPTI_MEMCPY2] = {96, read_memcpy2},
	[TFP_CUPTI_UNIFIED_MEMORY] = {64, read_managed},
	[TFP_CUPTI_STREAM] = {24, tfp_cupti_read_stream},
	[TFP_CUPTI_SYNCHRONIZATION] = {40, read_wait},
	[TFP_CUPTI_MEMORY2] = {120, read_memory},
	[TFP_CUPTI_MEMORY_POOL] = {72, read_pool},
	[TFP_CUPTI_GRAPH_TRACE] = {48, read_graph},
	[TFP_CUPTI_JIT] = {64, read_jit},
};

static uint32_t kind_of(const uint8_t *at)
{
	return *(const uint32_t *)(const void *)at;
}

/* Where the library says that the record after this one begins; NULL = nowhere in the buffer. */
static const uint8_t *ask_next(const struct tfp_cupti_decoder *decoder, const uint8_t *buffer, size_t bytes, const uint8_t *at)
{
	const void *record = at;

	if (!decoder->next_record || decoder->next_record((uint8_t *)(uintptr_t)buffer, bytes, &record))
		return NULL;
	const uint8_t *next = record;
	return next > at && next < buffer + bytes && !((uintptr_t)next & 7) ? next : NULL;
}

/*
 * The stride of the record at `at`; 0 = the walk ends here. The library is asked for kinds that we do not know, and once
 * a buffer for each that we do: what it says goes.
 */
static uint32_t stride_at(struct tfp_cupti_decoder *decoder, const uint8_t *buffer, size_t bytes, const uint8_t *at,
			  uint64_t *asked)
{
	uint32_t kind = kind_of(at);
	uint32_t stride = kind < TFP_CUPTI_KINDS ? decoder->strides.of[kind] : 0;

	if (stride && (*asked >> kind & 1))
		return stride;
	const uint8_t *next = ask_next(decoder, buffer, bytes, at);
	if (!next)
		return stride;
	if (kind < TFP_CUPTI_KINDS)
		*asked |= UINT64_C(1) << kind;
	uint32_t said = next - at < UINT16_MAX ? (uint32_t)(next - at) : 0;
	if (kind < TFP_CUPTI_KINDS && kinds[kind].take)
		decoder->strides.of[kind] = (uint16_t)said;
	return said;
}

void tfp_cupti_decode(struct tfp_cupti_decoder *decoder, struct tfp_thread *thread, struct tfp_lane *lane,
		      const uint8_t *buffer, size_t bytes)
{
	struct tfp_cupti_reading reading = {.decoder = decoder, .thread = thread, .lane = lane, .now = tfp_now()};
	uint64_t asked = 0;
	const uint8_t *at = buffer, *end = buffer + bytes;

	reading.newest = *decoder->newest;
	while (end - at >= 8) {
		uint32_t kind = kind_of(at), stride = kind ? stride_at(decoder, buffer, bytes, at, &asked) : 0;
		decoder->records++;
		if (!stride || stride > (size_t)(end - at)) { /* an invalid kind, or one cut off: no way to go on */
			decoder->unreadable++;
			return;
		}
		reading.stride = stride;
		if (kind < TFP_CUPTI_KINDS && kinds[kind].take && stride >= kinds[kind].least)
			kinds[kind].take(&reading, at);
		else
			decoder->unreadable++;
		at += stride;
	}
}

uint64_t tfp_cupti_count(const struct tfp_cupti_decoder *decoder, const uint8_t *buffer, size_t bytes)
{
	uint64_t count = 0;

	for (const uint8_t *at = buffer, *end = buffer + bytes; end - at >= 8; count++) {
		uint32_t kind = kind_of(at), stride = kind < TFP_CUPTI_KINDS ? decoder->strides.of[kind] : 0;
		if (!stride || stride > (size_t)(end - at))
			return count + 1;
		at += stride;
	}
	return count;
}
