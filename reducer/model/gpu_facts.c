/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about GPUs: functions, devices, contexts, streams, kernels, queues, code, names.
 *
 * Rule: the first fact of an id counts; a record that names an id without a fact is kept as unknown and counted.
 */
#include "reducer/model/gpu_scan.h"

#include "reducer/base/index.h"

#include <stdio.h>
#include <string.h>

void *gpu_room(struct gpu_scan *scan, void **array, size_t *count, size_t bytes)
{
	void *wider = *count >= GPU_SUMS_MAX - 1 ? NULL : model_room(*array, *count, bytes);

	if (wider == NULL) {
		scan->gpu->counts.left_out++;
		return NULL;
	}
	*array = wider;
	return (char *)wider + (*count)++ * bytes;
}

static const char *keep_text(struct gpu_scan *scan, const struct fact_value *value)
{
	return value == NULL ? "" : run_text(scan->scan->run, value->text, value->length);
}

static enum gpu_kind kind_of(const char *word)
{
	for (unsigned kind = 0; kind < GPU_KINDS; kind++)
		if (strcmp(gpu_kind_name(kind), word) == 0)
			return kind;
	return GPU_OTHER;
}

static void take_function(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t number = (uint32_t)fact_number(fact, fields[0]);
	struct gpu_function *function;

	if (number_map_find(&scan->function_of, 0, number) != NUMBER_MAP_NONE)
		return;
	function = GPU_ROOM(scan, functions, function_count);
	if (function == NULL)
		return;
	*function = (struct gpu_function){.number = number, .name = keep_text(scan, fact_text(fact, fields[1])),
					  .library = keep_text(scan, fact_text(fact, fields[2])),
					  .kind = kind_of(keep_text(scan, fact_text(fact, fields[3]))),
					  .arguments = keep_text(scan, fact_text(fact, fields[4]))};
	function->ending = gpu_ending_of(function->name);
	/* Prefetching managed memory makes no copy record: the driver moves pages when it likes. */
	if (function->kind == GPU_COPY && strstr(function->name, "Prefetch") != NULL)
		function->kind = GPU_OTHER;
	/* Capturing, making and changing graphs is their kind too, but starts nothing. */
	if (function->kind == GPU_GRAPH && strstr(function->name, "GraphLaunch") == NULL)
		function->kind = GPU_GRAPH_WORK;
	number_map_set(&scan->function_of, 0, number, (uint32_t)scan->gpu->function_count - 1);
}

uint32_t gpu_function_at(struct gpu_scan *scan, uint32_t number)
{
	uint32_t place = number_map_find(&scan->function_of, 0, number);
	struct gpu_function *function;
	char name[32];

	if (place != NUMBER_MAP_NONE)
		return place;
	function = GPU_ROOM(scan, functions, function_count);
	if (function == NULL)
		return GPU_NONE;
	snprintf(name, sizeof name, "function %u", number);
	*function = (struct gpu_function){.number = number, .name = run_text(scan->scan->run, name, strlen(name)), .library = "",
					  .arguments = ""};
	place = (uint32_t)scan->gpu->function_count - 1;
	number_map_set(&scan->function_of, 0, number, place);
	return place;
}

/* The device of that ordinal, made when it is new. NULL where there are too many. */
struct gpu_device *gpu_device_at(struct gpu_scan *scan, uint32_t id)
{
	uint32_t place = number_map_find(&scan->device_of, 0, id);
	struct gpu_device *device;

	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->devices[place];
	device = scan->gpu->device_count >= GPU_DEVICES_MAX ? NULL : GPU_ROOM(scan, devices, device_count);
	if (device == NULL)
		return NULL;
	*device = (struct gpu_device){.id = id, .name = "", .least_free = UINT64_MAX};
	number_map_set(&scan->device_of, 0, id, (uint32_t)scan->gpu->device_count - 1);
	return device;
}

static void take_device(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_device *device = gpu_device_at(scan, (uint32_t)fact_number(fact, fields[0]));
	const struct fact_value *uuid = fact_text(fact, fields[2]);

	if (device == NULL || device->name[0] != 0)
		return;
	device->name = keep_text(scan, fact_text(fact, fields[1]));
	device->has_uuid = uuid != NULL && uuid->length == sizeof device->uuid;
	if (device->has_uuid)
		memcpy(device->uuid, uuid->text, sizeof device->uuid);
	device->major = fact_number(fact, fields[3]);
	device->minor = fact_number(fact, fields[4]);
	device->multiprocessors = fact_number(fact, fields[5]);
	device->memory_bytes = fact_number(fact, fields[6]);
	device->bandwidth = fact_number(fact, fields[7]);
	device->clock = fact_number(fact, fields[8]);
	device->l2_bytes = fact_number(fact, fields[9]);
	device->warp = fact_number(fact, fields[10]);
	device->warps = fact_number(fact, fields[11]);
	device->blocks = fact_number(fact, fields[12]);
	device->shared_bytes = fact_number(fact, fields[13]);
	device->registers = fact_number(fact, fields[14]);
	device->block_shared_bytes = fact_number(fact, fields[15]);
	device->is_mig = fact_number(fact, fields[16]) != 0;
}

static void take_context(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t id = (uint32_t)fact_number(fact, fields[0]);
	struct gpu_context *context;

	if (number_map_find(&scan->context_of, 0, id) != NUMBER_MAP_NONE)
		return;
	context = GPU_ROOM(scan, contexts, context_count);
	if (context == NULL)
		return;
	*context = (struct gpu_context){.id = id, .device = (uint32_t)fact_number(fact, fields[1]),
					.null_stream = (uint32_t)fact_number(fact, fields[2])};
	number_map_set(&scan->context_of, 0, id, (uint32_t)scan->gpu->context_count - 1);
}

static struct gpu_stream *stream_at(struct gpu_scan *scan, uint32_t context, uint32_t id)
{
	uint32_t place = number_map_find(&scan->stream_of, context, id);
	struct gpu_stream *stream;

	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->streams[place];
	stream = GPU_ROOM(scan, streams, stream_count);
	if (stream == NULL)
		return NULL;
	*stream = (struct gpu_stream){.context = context, .id = id, .name = ""};
	number_map_set(&scan->stream_of, context, id, (uint32_t)scan->gpu->stream_count - 1);
	return stream;
}

static void take_stream(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_stream *stream =
		stream_at(scan, (uint32_t)fact_number(fact, fields[0]), (uint32_t)fact_number(fact, fields[1]));

	if (stream == NULL)
		return;
	stream->priority = (int64_t)fact_number(fact, fields[2]);
	stream->flag = (uint32_t)fact_number(fact, fields[3]);
	stream->handle = fact_number(fact, fields[4]);
}

static uint32_t kernel_name_at(struct gpu_scan *scan, const char *name, size_t length)
{
	uint64_t hash = base_hash(BASE_HASH, name, length);
	uint32_t place = number_map_find(&scan->name_of, length, hash);
	const char **slot;

	if (place != NUMBER_MAP_NONE)
		return place;
	slot = GPU_ROOM(scan, names, name_count);
	if (slot == NULL)
		return GPU_NONE;
	*slot = run_text(scan->scan->run, name, length);
	place = (uint32_t)scan->gpu->name_count - 1;
	number_map_set(&scan->name_of, length, hash, place);
	return place;
}

static void take_shape(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t id = (uint32_t)fact_number(fact, fields[0]), n[19];
	const struct fact_value *name = fact_text(fact, fields[1]);
	struct gpu_shape *shape;

	if (number_map_find(&scan->shape_of, 0, id) != NUMBER_MAP_NONE)
		return;
	shape = GPU_ROOM(scan, shapes, shape_count);
	if (shape == NULL)
		return;
	for (int i = 2; i < 19; i++)
		n[i] = (uint32_t)fact_number(fact, fields[i]);
	*shape = (struct gpu_shape){.id = id, .grid = {n[2], n[3], n[4]}, .block = {n[5], n[6], n[7]}, .registers = n[8],
				    .static_shared = n[9], .dynamic_shared = n[10], .executed_shared = n[11], .local_bytes = n[12],
				    .cluster = {n[13], n[14], n[15]}, .max_clusters = n[16], .kind = n[17], .occupancy = n[18]};
	shape->kernel = kernel_name_at(scan, name == NULL ? "" : name->text, name == NULL ? 0 : name->length);
	number_map_set(&scan->shape_of, 0, id, (uint32_t)scan->gpu->shape_count - 1);
}

uint32_t gpu_shape_at(struct gpu_scan *scan, uint64_t id)
{
	uint32_t place = number_map_find(&scan->shape_of, 0, id);

	scan->gpu->counts.unknown_shapes += place == NUMBER_MAP_NONE;
	return place;
}

static void take_queue(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t id = (uint32_t)fact_number(fact, fields[0]);
	struct gpu_queue *queue;

	if (number_map_find(&scan->queue_of, 0, id) != NUMBER_MAP_NONE)
		return;
	queue = GPU_ROOM(scan, queues, queue_count);
	if (queue == NULL)
		return;
	*queue = (struct gpu_queue){.id = id, .device = (uint32_t)fact_number(fact, fields[1]),
				    .context = (uint32_t)fact_number(fact, fields[2]),
				    .stream = (uint32_t)fact_number(fact, fields[3]),
				    .channel = (uint32_t)fact_number(fact, fields[4]),
				    .channel_kind = (uint32_t)fact_number(fact, fields[5])};
	number_map_set(&scan->queue_of, 0, id, (uint32_t)scan->gpu->queue_count - 1);
}

uint32_t gpu_queue_at(struct gpu_scan *scan, uint64_t id)
{
	uint32_t place = number_map_find(&scan->queue_of, 0, id);

	scan->gpu->counts.unknown_queues += place == NUMBER_MAP_NONE;
	return place;
}

static void take_code(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct fact_value *name = fact_text(fact, fields[1]);
	struct gpu_code *code = name == NULL ? NULL : GPU_ROOM(scan, codes, code_count);
	uint32_t number;

	if (code == NULL)
		return;
	number = kernel_name_at(scan, name->text, name->length);
	*code = (struct gpu_code){.name = number == GPU_NONE ? "" : scan->gpu->names[number],
				  .module = (uint32_t)fact_number(fact, fields[0]),
				  .architecture = (uint32_t)fact_number(fact, fields[2]),
				  .instructions = fact_number(fact, fields[3]), .matrix = fact_number(fact, fields[4])};
	/* The same kernel for several architectures, or in several modules: one place each, and "any" to begin with. */
	if (number_map_find(&scan->gpu->code_of, code->architecture, number) == NUMBER_MAP_NONE)
		number_map_set(&scan->gpu->code_of, code->architecture, number, (uint32_t)scan->gpu->code_count - 1);
	if (number_map_find(&scan->gpu->code_of, 0, number) == NUMBER_MAP_NONE)
		number_map_set(&scan->gpu->code_of, 0, number, (uint32_t)scan->gpu->code_count - 1);
}

static void take_name(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_stream *stream;

	if (fact_number(fact, fields[0]) != 5) /* CUPTI_ACTIVITY_OBJECT_STREAM */
		return;
	stream = stream_at(scan, (uint32_t)fact_number(fact, fields[2]), (uint32_t)fact_number(fact, fields[1]));
	if (stream != NULL)
		stream->name = keep_text(scan, fact_text(fact, fields[3]));
}

static void take_string(void *state, const struct fact *fact, const int *fields)
{
	struct gpu_scan *scan = state;
	uint64_t hash = fact_number(fact, fields[0]);
	const char **texts;

	if (number_map_find(&scan->text_of, 0, hash) != NUMBER_MAP_NONE)
		return;
	texts = model_room(scan->texts, scan->text_count, sizeof *texts);
	if (texts == NULL)
		return;
	scan->texts = texts;
	texts[scan->text_count] = keep_text(scan, fact_text(fact, fields[1]));
	number_map_set(&scan->text_of, 0, hash, (uint32_t)scan->text_count++);
}

uint32_t gpu_kernel_by_hash(struct gpu_scan *scan, uint64_t hash)
{
	uint32_t place = hash == 0 ? NUMBER_MAP_NONE : number_map_find(&scan->text_of, 0, hash);

	return place == NUMBER_MAP_NONE ? GPU_NONE : kernel_name_at(scan, scan->texts[place], strlen(scan->texts[place]));
}

const struct scan_fact gpu_facts[GPU_FACT_KINDS] = {
	{"function", take_function, {"number", "name", "library", "kind", "arguments"}},
	{"device", take_device,
	 {"id", "name", "uuid", "major", "minor", "multiprocessors", "memory_bytes", "bandwidth", "clock", "l2_bytes", "warp", "warps",
	  "blocks", "shared_bytes", "registers", "block_shared_bytes", "is_mig"}},
	{"context", take_context, {"id", "device", "null_stream"}},
	{"stream", take_stream, {"context", "id", "priority", "flag", "handle"}},
	{"shape", take_shape,
	 {"id", "name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "static_shared", "dynamic_shared",
	  "executed_shared", "local_bytes", "cluster_x", "cluster_y", "cluster_z", "max_clusters", "kind", "occupancy"}},
	{"queue", take_queue, {"id", "device", "context", "stream", "channel", "channel_kind"}},
	{"code", take_code, {"module", "name", "architecture", "instructions", "matrix"}},
	{"gpu_name", take_name, {"kind", "id", "parent", "name"}},
	{"string", take_string, {"hash", "text"}},
};
