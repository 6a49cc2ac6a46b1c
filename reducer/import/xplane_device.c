/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a GPU's plane: kernels, copies, sets, graphs, each a record of ours on the queue of its line.
 *
 * Rule: what an event is, its details say; without them its name. Work that neither tells of is a kernel without a launch
 * configuration: it kept the device busy.
 */
#include "reducer/import/xplane.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_CHANNEL UINT64_C(0xffffffff)
#define NOT_SAID UINT32_MAX

/* The number behind "key:" in texts of the kind "key:value key:value"; *found says whether it is there. */
static const char *find_detail(const char *details, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = details; (at = strstr(at, key)) != NULL; at += length)
		if (at[length] == ':' && (at == details || isspace((unsigned char)at[-1])))
			return at + length + 1;
	return NULL;
}

static uint64_t detail(const char *details, const char *key)
{
	const char *at = find_detail(details, key);

	return at ? strtoull(at, NULL, 10) : 0;
}

/* x,y,z; what is missing is 1. */
static void detail_three(const char *details, const char *key, uint64_t three[3])
{
	const char *at = find_detail(details, key);

	three[0] = three[1] = three[2] = at ? 1 : 0;
	for (int i = 0; at && i < 3 && isdigit((unsigned char)*at); i++) {
		char *end;
		three[i] = strtoull(at, &end, 10);
		at = *end == ',' ? end + 1 : end;
	}
}

void xplane_device_begin(struct xplane *xplane)
{
	const struct xplane_value *const *known = xplane->of_plane;
	size_t vendor_length, length;
	const char *vendor = xplane_value_text(xplane, known[XPLANE_DEVICE_VENDOR], &vendor_length);
	int is_amds = vendor_length >= 3 && strncmp(vendor, "AMD", 3) == 0; /* its gfx number is no compute capability */
	const char *name = xplane_value_text(xplane, known[XPLANE_DEVICE_NAME], &length);

	xplane->device = (uint32_t)strtoul(xplane->plane + 12, NULL, 10); /* behind "/device:GPU:" */
	sink_fact(xplane->sink, TFP_TAG_device);
	sink_number(xplane->sink, xplane->device);
	sink_text(xplane->sink, length ? name : "GPU", length ? length : 3);
	sink_text(xplane->sink, "", 0);
	sink_number(xplane->sink, is_amds ? 0 : xplane_number(known[XPLANE_MAJOR]));
	sink_number(xplane->sink, is_amds ? 0 : xplane_number(known[XPLANE_MINOR]));
	sink_number(xplane->sink, xplane_number(known[XPLANE_CORES]));
	sink_number(xplane->sink, xplane_number(known[XPLANE_MEMORY_SIZE]));
	sink_number(xplane->sink, xplane_number(known[XPLANE_MEMORY_BANDWIDTH]));
	sink_number(xplane->sink, xplane_number(known[XPLANE_CLOCK_RATE]) * 1000); /* kHz there */
	sink_fact_end(xplane->sink);
	sink_fact(xplane->sink, TFP_TAG_context);
	sink_number(xplane->sink, xplane->device + 1);
	sink_number(xplane->sink, xplane->device);
	sink_fact_end(xplane->sink);
}

void xplane_device_line(struct xplane *xplane, struct xplane_line *line)
{
	char name[16];

	snprintf(name, sizeof(name), "GPU %u queue", xplane->device);
	line->thread = sink_thread(xplane->sink, 0);
	sink_thread_name(xplane->sink, line->thread, name, strlen(name));
	line->queue = ++xplane->queue_count;
	sink_fact(xplane->sink, TFP_TAG_queue);
	sink_number(xplane->sink, line->queue);
	sink_number(xplane->sink, xplane->device);
	sink_number(xplane->sink, xplane->device + 1);
	sink_number(xplane->sink, line->id & UINT32_MAX);
	sink_number(xplane->sink, NO_CHANNEL);
	sink_number(xplane->sink, 0);
	sink_fact_end(xplane->sink);
}

/* Shapes. */

struct shape_key {
	const char *bytes;
	size_t length;
};

static bool is_shape(const void *context, const void *key, uint32_t number)
{
	const struct xplane *xplane = context;
	const struct shape_key *wanted = key;

	return xplane->shape_length[number] == wanted->length &&
	       memcmp(xplane->shapes.bytes + xplane->shape_at[number], wanted->bytes, wanted->length) == 0;
}

static void put_shape(struct xplane *xplane, uint64_t id, const char *name, size_t length, const char *details)
{
	const char *occupancy = find_detail(details, "occ_pct");
	uint64_t grid[3], block[3];

	detail_three(details, "grid", grid);
	detail_three(details, "block", block);
	sink_fact(xplane->sink, TFP_TAG_shape);
	sink_number(xplane->sink, id);
	sink_text(xplane->sink, name, length);
	for (int i = 0; i < 3; i++)
		sink_number(xplane->sink, grid[i]);
	for (int i = 0; i < 3; i++)
		sink_number(xplane->sink, block[i]);
	sink_number(xplane->sink, detail(details, "regs"));
	sink_number(xplane->sink, detail(details, "static_shared"));
	sink_number(xplane->sink, detail(details, "dynamic_shared"));
	for (int i = 0; i < 8; i++) /* executed_shared to kind: the file does not say */
		sink_number(xplane->sink, 0);
	double percent = occupancy ? strtod(occupancy, NULL) : 0;
	sink_number(xplane->sink, percent > 0 && percent <= 100 ? (uint64_t)(percent * 1000 + 0.5) : 0);
	sink_fact_end(xplane->sink);
}

static uint32_t find_shape(struct xplane *xplane, const struct xplane_event *event)
{
	size_t length;
	const char *details = xplane_value_text(xplane, event->known[XPLANE_KERNEL_DETAILS], &length);
	const char *name = xplane_text(xplane, event->name);
	size_t name_length = event->name ? event->name->length : 0, at = xplane->shapes.length;

	text_put(&xplane->shapes, name, name_length + 1);
	text_put(&xplane->shapes, details, length);
	struct shape_key key = {xplane->shapes.bytes + at, xplane->shapes.length - at};
	uint64_t hash = base_hash(BASE_HASH, key.bytes, key.length);
	uint32_t number = base_index_find(&xplane->shape_of, hash, is_shape, xplane, &key);
	if (number != UINT32_MAX) {
		xplane->shapes.length = at;
		return number + 1;
	}
	xplane->shape_at = base_grow(xplane->shape_at, &xplane->shape_room, xplane->shape_count + 1, sizeof(*xplane->shape_at));
	xplane->shape_length = base_grow(xplane->shape_length, &xplane->shape_length_room, xplane->shape_count + 1,
					 sizeof(*xplane->shape_length));
	xplane->shape_at[xplane->shape_count] = at;
	xplane->shape_length[xplane->shape_count] = key.length;
	base_index_add(&xplane->shape_of, hash, (uint32_t)xplane->shape_count++);
	put_shape(xplane, xplane->shape_count, name, name_length, details);
	return (uint32_t)xplane->shape_count;
}

/* The same name and the same text of details, by its number: the same shape as before. */
static uint32_t shape_of(struct xplane *xplane, const struct xplane_event *event)
{
	const struct xplane_value *details = event->known[XPLANE_KERNEL_DETAILS];
	struct xplane_name *name = event->name;

	if (!name || !details || details->kind != STAT_REFERENCE)
		return find_shape(xplane, event);
	if (!name->shape || name->shape_details != details->value) {
		name->shape = find_shape(xplane, event);
		name->shape_details = details->value;
	}
	return name->shape;
}

/* Copies. */

/* CUpti_ActivityMemoryKind of a word. */
static uint8_t memory_kind(const char *details, const char *key)
{
	static const char *const kinds[] = {"unknown", "pageable", "pinned",	    "device",
					    "array",   "managed",  "device_static", "managed_static"};
	const char *at = find_detail(details, key);

	for (uint8_t i = 1; at && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i]);
		if (strncmp(at, kinds[i], length) == 0 && (at[length] == 0 || isspace((unsigned char)at[length])))
			return i;
	}
	return 0;
}

/* CUpti_ActivityMemcpyKind by name, else by the kinds of memory. */
static uint8_t copy_kind(const char *name, uint8_t source, uint8_t destination)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"HtoD", 1}, {"H2D", 1},  {"DtoH", 2}, {"D2H", 2},	 {"DtoD", 8},
		     {"D2D", 8},  {"HtoH", 9}, {"H2H", 9},  {"P2P", 10}, {"PtoP", 10}};
	int from_host = source == 1 || source == 2, to_host = destination == 1 || destination == 2;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i].word))
			return words[i].kind;
	if (!source || !destination)
		return 0;
	return from_host ? (to_host ? 9 : 1) : to_host ? 2 : 8;
}

/* Flags of device_copy and device_set: asynchronous, or not said. */
static uint8_t manner(const char *details)
{
	return find_detail(details, "async") ? detail(details, "async") != 0 : 2;
}

static void add_copy(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event, const char *name)
{
	size_t length;
	const char *details = xplane_value_text(xplane, event->known[XPLANE_MEMCPY_DETAILS], &length);
	uint8_t source = memory_kind(details, "kind_src"), destination = memory_kind(details, "kind_dst");

	SINK_ADD(&xplane->group, device_copy, .start = event->begin_ns, .duration = event->duration_ns,
		   .correlation = xplane_number(event->known[XPLANE_CORRELATION]),
		   .bytes = find_detail(details, "size") ? detail(details, "size") : detail(details, "num_bytes"),
		   .queue = line->queue, .kind = copy_kind(name, source, destination), .source = source,
		   .destination = destination, .flags = manner(details), .source_device = NOT_SAID,
		   .destination_device = NOT_SAID, .graph = (uint32_t)xplane_number(event->known[XPLANE_GRAPH_EXEC]),
		   .node = xplane_number(event->known[XPLANE_GRAPH_NODE]));
}

static void add_set(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event)
{
	size_t length;
	const char *details = xplane_value_text(xplane, event->known[XPLANE_MEMSET_DETAILS], &length);

	SINK_ADD(&xplane->group, device_set, .start = event->begin_ns, .duration = event->duration_ns,
		   .correlation = xplane_number(event->known[XPLANE_CORRELATION]), .bytes = detail(details, "num_bytes"),
		   .queue = line->queue, .memory = memory_kind(details, "kind"), .flags = manner(details),
		   .graph = (uint32_t)xplane_number(event->known[XPLANE_GRAPH_EXEC]),
		   .node = xplane_number(event->known[XPLANE_GRAPH_NODE]));
}

/* What the file says the work was for; nothing where it says nothing. */
static void add_op(struct xplane *xplane, const struct xplane_event *event)
{
	const struct xplane_value *const *known = event->known;
	uint64_t program = xplane_number(known[XPLANE_PROGRAM]);
	uint32_t op = xplane_value_name(xplane, known[XPLANE_TF_OP]);
	size_t length;

	if (known[XPLANE_HLO_OP]) {
		const char *name = xplane_value_text(xplane, known[XPLANE_HLO_OP], &length);
		const char *framework = xplane_hlo_op(xplane, program, name, length);
		if (framework)
			op = sink_name(xplane->sink, framework, strlen(framework));
	}
	if (op || known[XPLANE_HLO_OP] || known[XPLANE_SHAPE] || known[XPLANE_TENSOR_SHAPES])
		SINK_ADD(&xplane->group, device_op, .op = op,
			   .shapes = xplane_value_name(xplane, known[known[XPLANE_SHAPE] ? XPLANE_SHAPE : XPLANE_TENSOR_SHAPES]),
			   .hlo_op = xplane_value_name(xplane, known[XPLANE_HLO_OP]),
			   .hlo_module = xplane_value_name(xplane, known[XPLANE_HLO_MODULE]), .program = program);
	if (known[XPLANE_GROUP])
		SINK_ADD(&xplane->group, device_step, .number = xplane_number(known[XPLANE_GROUP]));
}

void xplane_device_event(struct xplane *xplane, const struct xplane_line *line, struct xplane_event *event)
{
	const struct sink_time when = {event->begin_ns + event->duration_ns, event->begin_ns,
				       event->begin_ns + event->duration_ns, .is_end = 1};
	const char *name = xplane_text(xplane, event->name);

	xplane->group.used = 0;
	add_op(xplane, event);
	if (event->known[XPLANE_KERNEL_DETAILS] ||
	    !(event->known[XPLANE_MEMCPY_DETAILS] || event->known[XPLANE_MEMSET_DETAILS] || strncasecmp(name, "Memcpy", 6) == 0 ||
	      strncasecmp(name, "Memset", 6) == 0 || strncmp(name, "CudaGraphExec:", 14) == 0))
		SINK_ADD(&xplane->group, kernel, .start = event->begin_ns, .duration = event->duration_ns,
			   .correlation = xplane_number(event->known[XPLANE_CORRELATION]), .shape = shape_of(xplane, event),
			   .queue = line->queue, .graph = (uint32_t)xplane_number(event->known[XPLANE_GRAPH_EXEC]),
			   .node = xplane_number(event->known[XPLANE_GRAPH_NODE]));
	else if (strncmp(name, "CudaGraphExec:", 14) == 0)
		SINK_ADD(&xplane->group, graph_run, .start = event->begin_ns, .duration = event->duration_ns,
			   .correlation = xplane_number(event->known[XPLANE_CORRELATION]),
			   .graph = (uint32_t)strtoul(name + 14, NULL, 10), .queue = line->queue);
	else if (event->known[XPLANE_MEMSET_DETAILS] || strncasecmp(name, "Memset", 6) == 0)
		add_set(xplane, line, event);
	else
		add_copy(xplane, line, event, name);
	sink_put(xplane->sink, line->thread, &when, xplane->group.bytes, xplane->group.used);
}
