/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto: the time line as a Perfetto trace (protobuf), for its page and its trace processor.
 *
 * One sequence of packets. Each process and thread is a track; a device's streams are tracks below their process, a lane
 * more where work of one stream overlaps; counters stand beside. Texts are written once, then named by number.
 * Rule: written as the spans come; memory follows tracks and distinct texts.
 */
#include "reducer/model/gpu.h"
#include "reducer/base/index.h"
#include "reducer/model/number_map.h"
#include "reducer/model/spans.h"
#include "reducer/report/escape.h"
#include "reducer/report/report.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"
#include "reducer/trace/wire.h"

#include "reducer/trace/perfetto.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 }; /* TrackEvent.Type */
enum { UNIT_SIZE_BYTES = 3 };						   /* CounterDescriptor.Unit */
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };			   /* TracePacket.SequenceFlags */
#define SEQUENCE 1
#define RECENT 512u	   /* texts found by their address; a power of two */
#define RECENT_LONGEST 512u /* bytes of them: so 256 KiB at most */
#define VALUE_LONGEST 64u  /* bytes of a text of an argument that is named by number: longer ones seldom come again */

/* Kinds of tracks; the upper part of a key in `tracks`. */
enum { KEY_PROCESS = 1, KEY_THREAD = 2, KEY_DEVICE = 3, KEY_QUEUE = 4, KEY_COUNTER = 5, KEY_FIGURE = 6 };

struct writer {
	FILE *file;
	const struct request *request;
	struct number_map texts;  /* (0, hash) -> number */
	struct number_map tracks; /* (kind and process, what) -> number */
	uint32_t text_count, track_count;
	struct text plain, visible;
	struct recent {
		const char *address;
		struct text copy;
		uint64_t list, number;
	} *recent;
	uint8_t *buffer;
	size_t room;
	int is_begun;
};

/* Events are nearly all that is written, and half of the time if protobuf-c does it; numbers are those of perfetto.proto. */

static uint8_t *put_argument(uint8_t *to, const Perfetto__Argument *argument)
{
	uint8_t *at = to;

	to = wire_number(to, 1, argument->name);
	if (argument->has_flag)
		to = wire_number(to, 2, argument->flag != 0);
	if (argument->has_number)
		to = wire_number(to, 3, argument->number);
	if (argument->text)
		to = wire_text(to, 6, argument->text, strlen(argument->text));
	if (argument->has_value)
		to = wire_number(to, 17, argument->value);
	return wire_close(at, 4, to);
}

static uint8_t *put_fields(uint8_t *to, const Perfetto__Event *event)
{
	for (size_t i = 0; i < event->n_categories; i++)
		to = wire_number(to, 3, event->categories[i]);
	for (size_t i = 0; i < event->n_arguments; i++)
		to = put_argument(to, event->arguments[i]);
	to = wire_number(to, 9, (uint64_t)event->type);
	if (event->has_name)
		to = wire_number(to, 10, event->name);
	to = wire_number(to, 11, event->track);
	if (event->has_value)
		to = wire_fixed64(to, 44, &event->value);
	for (size_t i = 0; i < event->n_flows; i++)
		to = wire_fixed64(to, 47, &event->flows[i]);
	for (size_t i = 0; i < event->n_ending_flows; i++)
		to = wire_fixed64(to, 48, &event->ending_flows[i]);
	return to;
}

static size_t most_bytes(const Perfetto__Event *event)
{
	size_t most = WIRE_FIELD * (12 + event->n_categories + 6 * event->n_arguments);

	for (size_t i = 0; i < event->n_arguments; i++)
		most += event->arguments[i]->text ? strlen(event->arguments[i]->text) : 0;
	return most;
}

static void put_event_packet(struct writer *writer, const Perfetto__Packet *packet)
{
	uint8_t *to, *at;

	writer->buffer = base_grow(writer->buffer, &writer->room, most_bytes(packet->event), 1);
	to = wire_number(writer->buffer, 8, packet->time);
	at = to = wire_number(to, 10, packet->sequence);
	to = wire_close(at, 11, put_fields(to, packet->event));
	if (packet->has_flags)
		to = wire_number(to, 13, packet->flags);
	to = wire_close(writer->buffer, 1, to);
	fwrite(writer->buffer, 1, (size_t)(to - writer->buffer), writer->file);
}

static void put_packet(struct writer *writer, Perfetto__Packet *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	packet->has_sequence = 1;
	packet->sequence = SEQUENCE;
	packet->has_flags = !writer->is_begun || !packet->event || packet->event->has_name || packet->event->n_arguments;
	packet->flags = writer->is_begun ? FLAG_NEEDS_STATE : FLAG_CLEARED;
	writer->is_begun = 1;
	if (packet->event) {
		put_event_packet(writer, packet);
		return;
	}
	trace.n_packets = 1;
	trace.packets = &packet;
	size_t size = perfetto__trace__get_packed_size(&trace);
	writer->buffer = base_grow(writer->buffer, &writer->room, size, 1);
	perfetto__trace__pack(&trace, writer->buffer);
	fwrite(writer->buffer, 1, size, writer->file);
}

/* Text as it is shown: valid UTF-8 without control characters. Valid until the next call. */
static char *shown(struct writer *writer, const char *text)
{
	text_clear(&writer->visible);
	escape_visible(&writer->visible, text, strlen(text));
	text_string(&writer->visible, "");
	return writer->visible.length ? writer->visible.bytes : (char *)"";
}

static uint64_t hash_of(const char *text)
{
	return base_hash(BASE_HASH, text, strlen(text));
}

/* One of the lists of interned texts; they share our numbers. LIST_KERNELS: names as they are in the code. */
enum list { LIST_NAMES, LIST_CATEGORIES, LIST_ARGUMENTS, LIST_VALUES, LIST_KERNELS };

static void put_text(struct writer *writer, enum list list, char *bytes)
{
	Perfetto__Named named = PERFETTO__NAMED__INIT, *one = &named;
	Perfetto__Value value = PERFETTO__VALUE__INIT, *other = &value;
	Perfetto__Interned interned = PERFETTO__INTERNED__INIT;
	Perfetto__Packet packet = PERFETTO__PACKET__INIT;

	named.has_id = value.has_id = value.has_text = 1;
	named.id = value.id = writer->text_count;
	named.name = bytes;
	value.text = (ProtobufCBinaryData){.len = strlen(bytes), .data = (uint8_t *)bytes};
	interned.names = interned.categories = interned.arguments = &one;
	interned.values = &other;
	*(list == LIST_NAMES	    ? &interned.n_names
	  : list == LIST_CATEGORIES ? &interned.n_categories
	  : list == LIST_ARGUMENTS  ? &interned.n_arguments
				    : &interned.n_values) = 1;
	packet.interned = &interned;
	put_packet(writer, &packet);
}

/* The number of a text, written before its first use. 0 where there are too many: the event goes without. */
static uint64_t intern_new(struct writer *writer, enum list list, const char *text)
{
	if (list == LIST_KERNELS) {
		demangle(text, &writer->plain);
		text = writer->plain.bytes;
		list = LIST_NAMES;
	}
	char *bytes = shown(writer, text);
	uint64_t hash = hash_of(bytes);
	uint32_t known = number_map_find(&writer->texts, (uint64_t)list, hash);

	if (known != NUMBER_MAP_NONE)
		return known;
	if (number_map_set(&writer->texts, (uint64_t)list, hash, ++writer->text_count) != 0)
		return 0;
	put_text(writer, list, bytes);
	return writer->text_count;
}

/* The same; most texts come again from the address where they were seen before. */
static uint64_t intern(struct writer *writer, enum list list, const char *text)
{
	struct recent *recent = &writer->recent[(((uintptr_t)text >> 3) * 31 + list) % RECENT];
	size_t length;

	if (recent->address == text && recent->list == list && strcmp(recent->copy.bytes, text) == 0)
		return recent->number;
	recent->address = NULL;
	recent->number = intern_new(writer, list, text);
	length = strlen(text);
	if (length > RECENT_LONGEST)
		return recent->number;
	text_clear(&recent->copy);
	text_put(&recent->copy, text, length);
	recent->address = text;
	recent->list = list;
	return recent->number;
}

/* A new track's number, or that of a known one (*is_new 0). */
static uint64_t track_number(struct writer *writer, int kind, size_t process, uint64_t what, int *is_new)
{
	uint64_t high = (uint64_t)kind << 32 | process;
	uint32_t known = number_map_find(&writer->tracks, high, what);

	*is_new = known == NUMBER_MAP_NONE;
	if (!*is_new)
		return known;
	if (number_map_set(&writer->tracks, high, what, ++writer->track_count) != 0)
		base_die("-f perfetto: more than %u threads, streams and counters: choose a process (--process)", NUMBER_MAP_MAX);
	return writer->track_count;
}

static void put_track(struct writer *writer, uint64_t id, uint64_t parent, Perfetto__Track *track)
{
	Perfetto__Packet packet = PERFETTO__PACKET__INIT;

	track->has_id = 1;
	track->id = id;
	track->has_parent = parent != 0;
	track->parent = parent;
	packet.track = track;
	put_packet(writer, &packet);
}

static uint64_t named_track(struct writer *writer, int kind, size_t process, uint64_t what, uint64_t parent, const char *name)
{
	int is_new;
	uint64_t id = track_number(writer, kind, process, what, &is_new);
	Perfetto__Track track = PERFETTO__TRACK__INIT;
	Perfetto__Counter counter = PERFETTO__COUNTER__INIT;

	if (!is_new)
		return id;
	track.name = shown(writer, name);
	counter.has_unit = kind == KEY_COUNTER;
	counter.unit = UNIT_SIZE_BYTES;
	if (kind == KEY_COUNTER || kind == KEY_FIGURE)
		track.counter = &counter;
	put_track(writer, id, parent, &track);
	return id;
}

static uint64_t process_track(struct writer *writer, size_t index)
{
	const struct process *process = &writer->request->run->processes[index];
	Perfetto__Process described = PERFETTO__PROCESS__INIT;
	Perfetto__Track track = PERFETTO__TRACK__INIT;
	int is_new;
	uint64_t id = track_number(writer, KEY_PROCESS, index, 0, &is_new);

	if (!is_new)
		return id;
	described.has_pid = 1;
	described.pid = (int32_t)process->pid;
	described.name = shown(writer, process->command);
	track.process = &described;
	put_track(writer, id, 0, &track);
	return id;
}

static uint64_t thread_track(struct writer *writer, size_t index, uint32_t serial)
{
	const struct process *process = &writer->request->run->processes[index];
	uint64_t parent = process_track(writer, index);
	Perfetto__Thread described = PERFETTO__THREAD__INIT;
	Perfetto__Track track = PERFETTO__TRACK__INIT;
	const struct thread *thread = NULL;
	int is_new;
	uint64_t id = track_number(writer, KEY_THREAD, index, serial, &is_new);

	if (!is_new)
		return id;
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].serial == serial)
			thread = &process->threads[i];
	described.has_pid = described.has_tid = 1;
	described.pid = (int32_t)process->pid;
	described.tid = thread != NULL ? (int64_t)thread->tid : 0;
	described.name = shown(writer, thread != NULL ? thread->name : "");
	track.thread = &described;
	put_track(writer, id, parent, &track);
	return id;
}

static uint64_t queue_track(struct writer *writer, size_t index, uint32_t place, uint32_t lane)
{
	const struct gpu *gpu = writer->request->run->processes[index].gpu;
	const struct gpu_queue *queue = &gpu->queues[place];
	uint32_t known = number_map_find(&writer->tracks, (uint64_t)KEY_QUEUE << 32 | index, (uint64_t)place << 8 | lane);
	struct text name = {0};

	if (known != NUMBER_MAP_NONE)
		return known;
	text_format(&name, "GPU %" PRIu32, queue->device);
	for (size_t i = 0; i < gpu->device_count; i++)
		if (gpu->devices[i].id == queue->device)
			text_format(&name, " %s", gpu->devices[i].name);
	uint64_t device = named_track(writer, KEY_DEVICE, index, queue->device, process_track(writer, index), name.bytes);
	text_clear(&name);
	text_format(&name, "context %" PRIu32 " stream %" PRIu32, queue->context, queue->stream);
	if (lane)
		text_format(&name, " (%" PRIu32 ")", lane + 1);
	uint64_t id = named_track(writer, KEY_QUEUE, index, (uint64_t)place << 8 | lane, device, name.bytes);
	text_free(&name);
	return id;
}

static uint64_t track_of(struct writer *writer, const struct span *span)
{
	if (span->kind == SPAN_COUNTER)
		return named_track(writer, span->what == SPAN_MEMORY ? KEY_COUNTER : KEY_FIGURE, span->process, hash_of(span->name),
				   process_track(writer, span->process), span->name);
	if (span->on == SPAN_QUEUE)
		return queue_track(writer, span->process, span->track, span->lane);
	if (span->on == SPAN_THREAD)
		return thread_track(writer, span->process, span->track);
	return process_track(writer, span->process);
}

/* What is said of an event: its arguments, and that it had not ended. Texts that are not named by number lie in `words`. */
static void add_arguments(struct writer *writer, const struct span *span, Perfetto__Event *event, Perfetto__Argument *arguments,
			  struct text *words)
{
	for (size_t i = 0; i < span->argument_count + (span->is_open != 0); i++) {
		const struct span_argument *from = i < span->argument_count ? &span->arguments[i] : NULL;
		const char *text = from != NULL ? from->text : NULL;
		perfetto__argument__init(&arguments[i]);
		arguments[i].has_name = 1;
		arguments[i].name = intern(writer, LIST_ARGUMENTS, from != NULL ? from->name : "not ended");
		arguments[i].has_flag = arguments[i].flag = from == NULL;
		arguments[i].has_number = from != NULL && text == NULL;
		arguments[i].number = from != NULL ? from->number : 0;
		if (text != NULL && strnlen(text, VALUE_LONGEST + 1) <= VALUE_LONGEST)
			arguments[i].value = intern(writer, LIST_VALUES, text);
		arguments[i].has_value = arguments[i].value != 0;
		if (text != NULL && !arguments[i].has_value) {
			text_string(&words[i], shown(writer, text));
			arguments[i].text = words[i].bytes;
		}
		event->arguments[i] = &arguments[i];
		event->n_arguments = i + 1;
	}
}

static void put_event(struct writer *writer, const struct span *span, int type, uint64_t track, int64_t time)
{
	Perfetto__Event event = PERFETTO__EVENT__INIT;
	Perfetto__Packet packet = PERFETTO__PACKET__INIT;
	Perfetto__Argument arguments[SPAN_ARGUMENTS + 1], *list[SPAN_ARGUMENTS + 1];
	struct text words[SPAN_ARGUMENTS] = {{0}};
	uint64_t category = 0, flow = span->flow + ((uint64_t)span->process << 48);

	if (type != TYPE_END && type != TYPE_COUNTER) {
		event.has_name = 1;
		event.name = intern(writer, span->what == SPAN_KERNEL ? LIST_KERNELS : LIST_NAMES, span->name);
		category = intern(writer, LIST_CATEGORIES, span->category);
		event.n_categories = 1;
		event.categories = &category;
	}
	event.arguments = list;
	if (type != TYPE_END)
		add_arguments(writer, span, &event, arguments, words);
	event.has_type = event.has_track = 1;
	event.type = type;
	event.track = track;
	event.has_value = type == TYPE_COUNTER;
	event.value = span->value;
	if (span->flow && type == TYPE_BEGIN) {
		*(span->is_flow_start ? &event.n_flows : &event.n_ending_flows) = 1;
		event.flows = event.ending_flows = &flow;
	}
	packet.has_time = 1;
	packet.time = time > 0 ? (uint64_t)time : 0;
	packet.event = &event;
	put_packet(writer, &packet);
	for (size_t i = 0; i < event.n_arguments && i < SPAN_ARGUMENTS; i++)
		text_free(&words[i]);
}

static int put_span(void *context, const struct span *span)
{
	struct writer *writer = context;
	int64_t end = span->start_ns + (int64_t)span->duration_ns;

	if (span->start_ns >= writer->request->to_ns || end < writer->request->from_ns)
		return 0;
	uint64_t track = track_of(writer, span);
	if (span->kind == SPAN_COUNTER)
		put_event(writer, span, TYPE_COUNTER, track, span->start_ns);
	else if (span->kind == SPAN_INSTANT)
		put_event(writer, span, TYPE_INSTANT, track, span->start_ns);
	else {
		put_event(writer, span, TYPE_BEGIN, track, span->start_ns);
		put_event(writer, span, TYPE_END, track, end);
	}
	return 0;
}

static void write_run(FILE *file, const struct request *request)
{
	struct writer writer = {.file = file, .request = request};
	struct run *run = request->run;
	struct span_options options = {.wants = SPAN_ALL, .visit = put_span, .context = &writer};

	if (isatty(fileno(file)))
		base_die("-f perfetto writes a binary file: give -o FILE.perfetto");
	writer.recent = base_alloc(RECENT, sizeof(*writer.recent));
	for (size_t i = 0; i < run->process_count; i++) {
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		process_track(&writer, i);
		if (spans_stream(run, i, &options) != 0)
			base_die("out of memory while reading the logs");
	}
	number_map_free(&writer.texts);
	number_map_free(&writer.tracks);
	text_free(&writer.plain);
	text_free(&writer.visible);
	for (size_t i = 0; i < RECENT; i++)
		text_free(&writer.recent[i].copy);
	free(writer.recent);
	free(writer.buffer);
}

const struct report_kind report_perfetto = {
	.name = "perfetto",
	.suffix = "perfetto",
	.help = "the time line as a Perfetto trace, of any size; give -o FILE.perfetto; no tables",
	.write_run = write_run,
};
