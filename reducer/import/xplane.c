/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XPlane: what TensorFlow's, JAX's and XLA's profilers write (*.xplane.pb), walked twice a plane: names first, since they may
 * stand behind the events that use them, then the events.
 *
 * Rule: memory follows the distinct names and the lines. What is no plane of a host or a GPU is kept as ranges, not dropped.
 */
#include "reducer/import/xplane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICE "/device:GPU:"
#define ANY_DEVICE "/device:"
#define NAME_LONGEST SOURCE_LONGEST
#define EPOCH_LEAST_NS UINT64_C(100000000000000000) /* 1973; a line that begins later has absolute times */

/* Names. */

static bool is_id(const void *context, const void *key, uint32_t number)
{
	return ((const struct xplane_names *)context)->items[number].id == *(const uint64_t *)key;
}

struct xplane_name *xplane_find_name(struct xplane_names *names, uint64_t id)
{
	uint32_t *recent = &names->recent[id % XPLANE_RECENT], number;

	if (*recent < names->count && names->items[*recent].id == id)
		return &names->items[*recent];
	number = base_index_find(&names->index, base_mix(id), is_id, names, &id);
	if (number == UINT32_MAX)
		return NULL;
	*recent = number;
	return &names->items[number];
}

static void clear_names(struct xplane_names *names)
{
	free(names->items);
	base_index_free(&names->index);
	*names = (struct xplane_names){0};
}

const char *xplane_text(const struct xplane *xplane, const struct xplane_name *name)
{
	return name && name->length ? xplane->texts.bytes + name->text : "";
}

static enum xplane_stat stat_of(const char *name)
{
	static const char *const stats[] = {
#define XPLANE_STAT(symbol, name) [XPLANE_##symbol] = name,
#include "reducer/import/xplane_stats.def"
#undef XPLANE_STAT
	};

	for (unsigned i = 1; i < XPLANE_STATS; i++)
		if (strcasecmp(stats[i], name) == 0)
			return (enum xplane_stat)i;
	return XPLANE_OTHER;
}

/* A value of a metadata map: {key, value: the message}. Of ids that come twice the first counts. */
static void take_name(struct xplane *xplane, struct xplane_names *names, struct stretch entry, int is_stat)
{
	struct xplane_name made = {0};
	struct wire_field field;
	struct stretch message = {0, 0}, whole;

	while (wire_next(xplane->source, &entry, &field) > 0)
		if (field.number == ENTRY_VALUE && field.type == WIRE_BYTES)
			message = field.bytes;
	whole = message;
	made.text = xplane->texts.length;
	while (wire_next(xplane->source, &message, &field) > 0) {
		if (field.number == NAMED_ID && field.type == WIRE_VARINT)
			made.id = field.value;
		else if (field.number == NAMED_STAT && field.type == WIRE_BYTES && !is_stat)
			made.stats = whole;
		else if (field.number == NAMED_NAME && field.type == WIRE_BYTES && !made.length) {
			const char *text = wire_text(xplane->source, &field.bytes, NAME_LONGEST, &made.length);
			text_put(&xplane->texts, text, made.length);
			text_char(&xplane->texts, 0);
		}
	}
	if (xplane_find_name(names, made.id))
		return;
	made.stat = is_stat ? stat_of(xplane_text(xplane, &made)) : XPLANE_OTHER;
	names->items = base_grow(names->items, &names->room, names->count + 1, sizeof(*names->items));
	names->items[names->count] = made;
	base_index_add(&names->index, base_mix(made.id), (uint32_t)names->count++);
}

uint32_t xplane_name_number(struct xplane *xplane, struct xplane_name *name)
{
	if (!name)
		return 0;
	if (!name->number)
		name->number = sink_name(xplane->sink, xplane_text(xplane, name), name->length) + 1;
	return name->number - 1;
}

/* Lines. */

static void put_in_head(struct xplane *xplane, const struct wire_field *field, struct xplane_line *line)
{
	size_t got;
	const char *text;

	if (field->number == LINE_ID)
		line->id = field->value;
	else if (field->number == LINE_TIME)
		line->time_ns = (int64_t)field->value;
	if (field->type != WIRE_BYTES || (field->number != LINE_NAME && field->number != LINE_DISPLAY_NAME))
		return;
	text = wire_text(xplane->source, &field->bytes, sizeof(line->name) - 1, &got);
	memcpy(line->name, text, got);
	line->name[got] = 0;
}

/* What the line says of itself may stand behind its events. */
static void take_line_head(struct xplane *xplane, struct stretch message, struct xplane_line *line)
{
	struct wire_field field;

	*line = (struct xplane_line){0};
	while (wire_next(xplane->source, &message, &field) > 0)
		if (field.number != LINE_EVENT)
			put_in_head(xplane, &field, line);
}

/* Lines that viewers derive from the others, or that hold no events in time: XPlane's own numbers, or their names. */
static int is_derived(const struct xplane_line *line)
{
	static const char *const names[] = {"Steps",	      "Framework Name Scope", "Framework Ops",	  "TensorFlow Name Scope",
					    "TensorFlow Ops", "XLA Modules",	      "XLA Ops",	  "Async XLA Ops",
					    "Launch Stats",   "Source code",	      "Host Offload Ops", "_counters_"};
	int64_t base = -559038737; /* 0xdeadbeef in 32 bits: the first number of derived lines */

	if ((int64_t)line->id >= base && (int64_t)line->id < base + 400)
		return 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(line->name, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

static bool is_thread(const void *context, const void *key, uint32_t number)
{
	return ((const struct threads *)context)->items[number].id == *(const uint64_t *)key;
}

/* The stream of a line: one a thread of the host, whichever plane tells of it. */
static uint32_t thread_of(struct xplane *xplane, const struct xplane_line *line, uint64_t key)
{
	struct threads *threads = &xplane->threads;
	uint32_t number = base_index_find(&threads->index, base_mix(key), is_thread, threads, &key);

	if (number != UINT32_MAX)
		return threads->items[number].serial;
	threads->items = base_grow(threads->items, &threads->room, threads->count + 1, sizeof(*threads->items));
	threads->items[threads->count] = (struct xplane_thread){key, sink_thread(xplane->sink, (uint32_t)line->id)};
	sink_thread_name(xplane->sink, threads->items[threads->count].serial, line->name, strlen(line->name));
	base_index_add(&threads->index, base_mix(key), (uint32_t)threads->count);
	return threads->items[threads->count++].serial;
}

enum plane_kind { PLANE_HOST, PLANE_DEVICE, PLANE_RANGES };

static enum plane_kind kind_of(const char *plane)
{
	if (strncmp(plane, DEVICE, sizeof(DEVICE) - 1) == 0)
		return PLANE_DEVICE;
	return strncmp(plane, "/host:", 6) == 0 ? PLANE_HOST : PLANE_RANGES;
}

/* The Steps line of a device is derived too, but all there is where the file was grouped. */
static int is_steps_line(const struct xplane *xplane, const struct xplane_line *line, enum plane_kind kind)
{
	return kind == PLANE_DEVICE && xplane->is_grouped && strcmp(line->name, "Steps") == 0 && !xplane->grouped_device;
}

static void take_line(struct xplane *xplane, struct stretch message, enum plane_kind kind)
{
	static struct xplane_event event; /* large, and used by one line at a time */
	struct xplane_line line;
	struct wire_field field;

	take_line_head(xplane, message, &line);
	int is_steps = is_steps_line(xplane, &line, kind);
	if (kind != PLANE_RANGES && is_derived(&line) && !is_steps)
		return;
	if (is_steps)
		line.thread = thread_of(xplane, &line, base_mix(xplane->grouped_device = xplane->device + 1));
	else if (kind == PLANE_DEVICE)
		xplane_device_line(xplane, &line);
	else
		line.thread = thread_of(xplane, &line, kind == PLANE_HOST ? line.id : line.id ^ base_mix(xplane->plane_bytes.at));
	while (wire_next(xplane->source, &message, &field) > 0) {
		if (field.number != LINE_EVENT || field.type != WIRE_BYTES || xplane_take_event(xplane, &line, field.bytes, &event) != 0)
			continue;
		if (is_steps)
			xplane_grouped_step(xplane, &line, &event);
		else if (kind == PLANE_DEVICE)
			xplane_device_event(xplane, &line, &event);
		else
			xplane_host_event(xplane, &line, &event);
	}
}

/* Planes. */

static void take_plane_name(struct xplane *xplane, const struct stretch *name)
{
	size_t got;
	const char *text = wire_text(xplane->source, name, sizeof(xplane->plane) - 1, &got);

	memcpy(xplane->plane, text, got);
	xplane->plane[got] = 0;
}

static void begin_plane(struct xplane *xplane, struct stretch plane)
{
	struct stretch message = plane;
	struct wire_field field;

	clear_names(&xplane->events);
	clear_names(&xplane->stats);
	text_clear(&xplane->texts);
	memset(xplane->of_plane, 0, sizeof(xplane->of_plane));
	xplane->plane_value_count = 0;
	xplane->plane[0] = 0;
	xplane->plane_bytes = plane;
	while (wire_next(xplane->source, &message, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == PLANE_EVENT_NAME)
			take_name(xplane, &xplane->events, field.bytes, 0);
		else if (field.number == PLANE_STAT_NAME)
			take_name(xplane, &xplane->stats, field.bytes, 1);
		else if (field.number == PLANE_NAME)
			take_plane_name(xplane, &field.bytes);
	}
	xplane_take_values(xplane, plane, PLANE_STAT, xplane->plane_values, &xplane->plane_value_count, xplane->of_plane);
}

static void take_protos(struct xplane *xplane)
{
	for (size_t i = 0; i < xplane->events.count; i++) {
		struct xplane_value values[XPLANE_VALUES];
		const struct xplane_value *known[XPLANE_STATS] = {NULL};
		size_t count = 0;
		if (!xplane->events.items[i].stats.at)
			continue;
		xplane_take_values(xplane, xplane->events.items[i].stats, NAMED_STAT, values, &count, known);
		if (known[XPLANE_HLO_PROTO])
			xplane_hlo_take(xplane, xplane->events.items[i].id, &known[XPLANE_HLO_PROTO]->bytes);
	}
}

static void take_lines(struct xplane *xplane, struct stretch plane, enum plane_kind kind)
{
	struct wire_field field;

	if (kind == PLANE_DEVICE)
		xplane_device_begin(xplane);
	while (wire_next(xplane->source, &plane, &field) > 0)
		if (field.number == PLANE_LINE && field.type == WIRE_BYTES)
			take_line(xplane, field.bytes, kind);
}

static void take_plane(struct xplane *xplane, struct stretch plane)
{
	begin_plane(xplane, plane);
	if (strcmp(xplane->plane, "/host:metadata") == 0 || strcmp(xplane->plane, "Task Environment") == 0)
		return;
	take_lines(xplane, plane, kind_of(xplane->plane));
	if (strncmp(xplane->plane, ANY_DEVICE, sizeof(ANY_DEVICE) - 1) == 0 && kind_of(xplane->plane) != PLANE_DEVICE &&
	    xplane->strange_devices++ == 0)
		snprintf(xplane->strange_device, sizeof(xplane->strange_device), "%.31s", xplane->plane);
}

/* The file. */

static void take_text_of_space(struct xplane *xplane, const struct wire_field *field)
{
	size_t got;
	const char *text = wire_text(xplane->source, &field->bytes, 4096, &got);

	if (field->number == SPACE_HOST && !xplane->about->host[0]) {
		got = got < sizeof(xplane->about->host) - 1 ? got : sizeof(xplane->about->host) - 1;
		memcpy(xplane->about->host, text, got);
		return;
	}
	if (field->number != SPACE_ERROR && field->number != SPACE_WARNING)
		return;
	text_clear(&xplane->scratch);
	text_put(&xplane->scratch, text, got);
	text_string(&xplane->scratch, "");
	sink_pair(xplane->sink, TFP_TAG_note,
		    field->number == SPACE_ERROR ? "error of the profiler" : "warning of the profiler",
		    xplane->scratch.length ? xplane->scratch.bytes : "");
}

/* Names of modules, the host, where times begin: what must be known before the first event. */
static void take_surroundings(struct xplane *xplane, struct stretch space)
{
	struct wire_field field;
	uint64_t start = 0;

	while (wire_next(xplane->source, &space, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number != SPACE_PLANE) {
			take_text_of_space(xplane, &field);
			continue;
		}
		begin_plane(xplane, field.bytes);
		take_protos(xplane);
		for (size_t i = 0; i < xplane->stats.count && strncmp(xplane->plane, DEVICE, sizeof(DEVICE) - 1) == 0; i++)
			xplane->is_grouped |= xplane->stats.items[i].stat == XPLANE_GROUP;
		if (xplane->of_plane[XPLANE_START_TIME])
			start = xplane_number(xplane->of_plane[XPLANE_START_TIME]);
	}
	xplane->base_ns = start && start < XPLANE_LATEST_NS ? start : UINT64_C(1000000000);
}

/* Do the lines' times already count from 1970? Then they are not relative to the session's start. */
static void find_base(struct xplane *xplane, struct stretch space)
{
	struct wire_field field, inner;

	while (wire_next(xplane->source, &space, &field) > 0) {
		struct stretch plane = field.bytes;
		if (field.number != SPACE_PLANE || field.type != WIRE_BYTES)
			continue;
		while (wire_next(xplane->source, &plane, &inner) > 0) {
			struct stretch message = inner.bytes;
			struct wire_field value;
			if (inner.number != PLANE_LINE || inner.type != WIRE_BYTES)
				continue;
			while (wire_next(xplane->source, &message, &value) > 0 && value.number != LINE_EVENT)
				if (value.number == LINE_TIME && value.value >= EPOCH_LEAST_NS && value.value < XPLANE_LATEST_NS)
					xplane->base_ns = 0;
		}
	}
}

/* Makes *first_ns that of the line, if it begins earlier. */
static void find_first_of_line(struct xplane *xplane, struct stretch message, uint64_t *first_ns)
{
	static struct xplane_event event;
	enum plane_kind kind = kind_of(xplane->plane);
	struct xplane_line line = {0};
	struct wire_field field;

	while (wire_next(xplane->source, &message, &field) > 0 && field.number != LINE_EVENT)
		put_in_head(xplane, &field, &line);
	if (field.number != LINE_EVENT || field.type != WIRE_BYTES)
		return;
	if (kind != PLANE_RANGES && is_derived(&line) && !is_steps_line(xplane, &line, kind))
		return;
	if (xplane_take_event(xplane, &line, field.bytes, &event) == 0 && event.begin_ns < *first_ns)
		*first_ns = event.begin_ns;
}

/*
 * Where the first event begins, if each line begins with its first one, as those do that the profilers wrote; UINT64_MAX where there
 * is none. The sink looks whether it is true.
 */
static uint64_t find_first(struct xplane *xplane, struct stretch space)
{
	struct wire_field field, inner;
	uint64_t first_ns = UINT64_MAX;

	while (wire_next(xplane->source, &space, &field) > 0) {
		struct stretch plane = field.bytes;
		if (field.number != SPACE_PLANE || field.type != WIRE_BYTES)
			continue;
		xplane->plane[0] = 0;
		while (wire_next(xplane->source, &plane, &inner) > 0)
			if (inner.number == PLANE_NAME && inner.type == WIRE_BYTES)
				take_plane_name(xplane, &inner.bytes);
			else if (inner.number == PLANE_LINE && inner.type == WIRE_BYTES)
				find_first_of_line(xplane, inner.bytes, &first_ns);
	}
	xplane->event_count = xplane->aggregated = xplane->out_of_time = 0; /* they are read again */
	return first_ns;
}

static void free_all(struct xplane *xplane)
{
	clear_names(&xplane->events);
	clear_names(&xplane->stats);
	text_free(&xplane->texts);
	text_free(&xplane->scratch);
	free(xplane->threads.items);
	base_index_free(&xplane->threads.index);
	text_free(&xplane->shapes);
	free(xplane->shape_at);
	free(xplane->shape_length);
	base_index_free(&xplane->shape_of);
	text_free(&xplane->hlo);
	free(xplane->hlo_ops);
	base_index_free(&xplane->hlo_of);
	text_free(&xplane->arguments);
	calls_free(&xplane->calls);
	free(xplane);
}

static void say_what_is_missing(struct xplane *xplane)
{
	char text[160];

	if (xplane->aggregated) {
		snprintf(text, sizeof(text), "%" PRIu64 " events are sums without a time; they are left out.",
			 xplane->aggregated);
		sink_pair(xplane->sink, TFP_TAG_note, "import", text);
	}
	if (xplane->strange_devices) {
		char note[200];
		snprintf(note, sizeof(note),
			 "The file has %" PRIu64 " device%s that %s no GPU%s (first: %s): what was done there is ranges, and in no table "
			 "of devices.",
			 xplane->strange_devices, xplane->strange_devices == 1 ? "" : "s", xplane->strange_devices == 1 ? "is" : "are",
			 xplane->strange_devices == 1 ? "" : "s", xplane->strange_device);
		sink_pair(xplane->sink, TFP_TAG_note, "import of devices", note);
	}
	source_out_of_time(xplane->source, xplane->out_of_time);
}

int import_xplane(struct source *source, struct sink *sink, struct import_about *about)
{
	struct xplane *xplane = base_alloc(1, sizeof(*xplane));
	const struct stretch space = {0, source->bytes};
	struct stretch rest = space;
	struct wire_field field;
	int result;

	xplane->source = source;
	xplane->sink = sink;
	xplane->about = about;
	take_surroundings(xplane, space);
	/* What is wrong was said; the same bytes are walked again. */
	struct diag_list unheard = {0}, *heard = source->diags;
	source->diags = &unheard;
	find_base(xplane, space);
	sink_expect_order(sink, find_first(xplane, space));
	while (wire_next(source, &rest, &field) > 0)
		if (field.number == SPACE_PLANE && field.type == WIRE_BYTES)
			take_plane(xplane, field.bytes);
	source->diags = heard;
	heard->damage += unheard.damage > 0 && heard->damage == 0;
	diag_free(&unheard);
	/* The file names no program: the host stands for it, so that files of several can be told apart. */
	snprintf(about->command, sizeof(about->command), "%.15s", about->host);
	say_what_is_missing(xplane);
	result = xplane->event_count ? 0 : -1;
	free_all(xplane);
	return result;
}

/* A plane that has only fields of one, in their types. Of a file that is cut off the beginning is enough. */
static int looks_like_plane(struct source *source, struct stretch plane)
{
	static const int types[] = {-1, WIRE_VARINT, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES};
	struct wire_field field;
	unsigned seen = 0;

	plane.end = plane.end < source->bytes ? plane.end : source->bytes;
	while (seen < 64 && wire_next(source, &plane, &field) > 0) {
		if (field.number > 6 || (int)field.type != types[field.number])
			return 0;
		seen++;
	}
	return seen >= 1;
}

int import_is_xplane(struct source *source)
{
	struct stretch space = {0, source->bytes};
	uint64_t length = 0;
	size_t got, used;
	const uint8_t *head = source_at(source, 0, 11, &got);

	/* The length of the first plane by hand: it may reach beyond a file that is cut off, or that was unpacked in part. */
	if (got < 3 || head[0] != (SPACE_PLANE << 3 | WIRE_BYTES))
		return 0;
	for (used = 1; used < got && used < 11; used++) {
		length |= (uint64_t)(head[used] & 127) << (7 * (used - 1));
		if (head[used] < 128)
			break;
	}
	if (used == got || used == 11 || length == 0)
		return 0;
	space.at = used + 1;
	space.end = length < UINT64_MAX / 2 ? space.at + length : space.at;
	return looks_like_plane(source, space);
}
