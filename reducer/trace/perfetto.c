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
#include "reducer/model/rank.h"
#include "reducer/model/spans.h"
#include "reducer/report/escape.h"
#include "reducer/report/report.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"
#include "reducer/trace/patterns.h"
#include "reducer/trace/wire.h"

#include "reducer/trace/perfetto.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 }; /* TrackEvent.Type */
enum { UNIT_SIZE_BYTES = 3 };						   /* CounterDescriptor.Unit */
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };			   /* TracePacket.SequenceFlags */
enum { ARGUMENT_FLAG = 2, ARGUMENT_NUMBER = 3, ARGUMENT_TEXT = 6, ARGUMENT_VALUE = 17 }; /* fields of DebugAnnotation */
#define SEQUENCE 1
#define FLOW_BYTES 10u	     /* of its field: two of the key, eight of the number */
#define BUFFER_BYTES 262144u /* written at once */
#define RECENT 512u	   /* texts found by their address; a power of two */
#define RECENT_LONGEST 512u /* bytes of them: so 256 KiB at most */
#define VALUE_LONGEST 64u  /* bytes of a text of an argument that is named by number: longer ones seldom come again */

/* Kinds of tracks; the upper part of a key in `tracks`. */
enum { KEY_PROCESS = 1, KEY_THREAD = 2, KEY_DEVICE = 3, KEY_QUEUE = 4, KEY_COUNTER = 5, KEY_FIGURE = 6, KEY_TRACES = 7 };

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
	struct patterns *patterns;
	uint8_t *buffer; /* not yet in the file */
	size_t used, room;
	int is_begun;
};

static void flush(struct writer *writer)
{
	if (writer->used)
		fwrite(writer->buffer, 1, writer->used, writer->file);
	writer->used = 0;
}

/* Room for so many bytes more; what was written goes to the file when there is none. */
static uint8_t *room_for(struct writer *writer, size_t bytes)
{
	if (writer->used + bytes > writer->room) {
		flush(writer);
		writer->buffer = base_grow(writer->buffer, &writer->room, bytes > BUFFER_BYTES ? bytes : BUFFER_BYTES, 1);
	}
	return writer->buffer + writer->used;
}

static void wrote(struct writer *writer, const uint8_t *end)
{
	writer->used = (size_t)(end - writer->buffer);
}

static void put_packet(struct writer *writer, Perfetto__Packet *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	packet->has_sequence = 1;
	packet->sequence = SEQUENCE;
	packet->has_flags = 1;
	packet->flags = writer->is_begun ? FLAG_NEEDS_STATE : FLAG_CLEARED;
	writer->is_begun = 1;
	trace.n_packets = 1;
	trace.packets = &packet;
	size_t size = perfetto__trace__get_packed_size(&trace);
	perfetto__trace__pack(&trace, room_for(writer, size));
	writer->used += size;
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
	struct text name = {0};
	int is_new;
	uint64_t id = track_number(writer, KEY_PROCESS, index, 0, &is_new);

	if (!is_new)
		return id;
	described.has_pid = 1;
	described.pid = (int32_t)process->pid;
	text_format(&name, "%s%s", process->command, process_member(process));
	described.name = shown(writer, name.bytes);
	track.process = &described;
	put_track(writer, id, 0, &track);
	text_free(&name);
	return id;
}

static uint64_t thread_track(struct writer *writer, size_t index, uint32_t serial)
{
	const struct process *process = &writer->request->run->processes[index];
	uint64_t parent = process_track(writer, index);
	Perfetto__Thread described = PERFETTO__THREAD__INIT;
	Perfetto__Track track = PERFETTO__TRACK__INIT;
	const struct thread *thread;
	int is_new;
	uint64_t id = track_number(writer, KEY_THREAD, index, serial, &is_new);

	if (!is_new)
		return id;
	thread = process_thread(process, serial);
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

/*
 * What a framework tells when it is over has its own readings of the clock: one that holds a range may begin nanoseconds behind it.
 * On one track an end is that of what began last, and the two would change their lengths.
 */
static uint64_t traces_track(struct writer *writer, size_t index, uint32_t serial)
{
	return named_track(writer, KEY_TRACES, index, serial, thread_track(writer, index, serial), "TraceMe");
}

static uint64_t track_of(struct writer *writer, const struct span *span)
{
	if (span->kind == SPAN_COUNTER)
		return named_track(writer, span->what == SPAN_MEMORY ? KEY_COUNTER : KEY_FIGURE, span->process, hash_of(span->name),
				   process_track(writer, span->process), span->name);
	if (span->on == SPAN_QUEUE)
		return queue_track(writer, span->process, span->track, span->lane);
	if (span->on == SPAN_THREAD && span->what == SPAN_TRACE)
		return traces_track(writer, span->process, span->track);
	if (span->on == SPAN_THREAD)
		return thread_track(writer, span->process, span->track);
	return process_track(writer, span->process);
}

/*
 * Events are nearly all that is written, and half of the time if protobuf-c does it. Field numbers are those of perfetto.proto; a
 * piece of a pattern ends where a number, or the fields of the next piece, follow.
 *
 *   packet: time | sequence, length of the event: fields, arguments | number | ... | type, name, track | flow | flags
 *   and of a slice its end: time | sequence, event
 */

static void add_number(struct text *bytes, unsigned field, uint64_t number)
{
	uint8_t wire[WIRE_FIELD];

	text_put(bytes, wire, (size_t)(wire_number(wire, field, number) - wire));
}

static void add_head(struct text *bytes, unsigned field, size_t length)
{
	uint8_t wire[WIRE_FIELD];

	text_put(bytes, wire, (size_t)(wire_head(wire, field, length) - wire));
}

/* A number; of one that is known only when it is written `place` is the argument, else PATTERN_NONE. With at most 27 bytes in all its
 * length is one byte. */
static void add_number_argument(struct pattern *pattern, uint64_t name, uint32_t place, uint64_t number)
{
	size_t inside;

	add_head(&pattern->bytes, 4, 0);
	inside = pattern->bytes.length;
	add_number(&pattern->bytes, 1, name);
	if (place == PATTERN_NONE)
		add_number(&pattern->bytes, ARGUMENT_NUMBER, number);
	else
		text_char(&pattern->bytes, ARGUMENT_NUMBER << 3 | WIRE_VARINT);
	pattern->bytes.bytes[inside - 1] = (char)(pattern->bytes.length - inside);
	if (place != PATTERN_NONE)
		pattern_end(pattern, place, pattern->bytes.length - inside + 1);
}

static void add_text_argument(struct writer *writer, struct text *bytes, uint64_t name, const char *text)
{
	uint64_t value = strnlen(text, VALUE_LONGEST + 1) <= VALUE_LONGEST ? intern(writer, LIST_VALUES, text) : 0;
	struct text inside = {0};

	add_number(&inside, 1, name);
	if (value) {
		add_number(&inside, ARGUMENT_VALUE, value);
	} else {
		text = shown(writer, text);
		add_head(&inside, ARGUMENT_TEXT, strlen(text));
		text_string(&inside, text);
	}
	add_head(bytes, 4, inside.length);
	text_put(bytes, inside.bytes, inside.length);
	text_free(&inside);
}

/* What is said of an event, and that it had not ended. */
static void add_arguments(struct writer *writer, const struct span *span, struct pattern *pattern)
{
	for (size_t i = 0; i < span->argument_count; i++) {
		uint64_t name = intern(writer, LIST_ARGUMENTS, span->arguments[i].name);
		if (span->arguments[i].text)
			add_text_argument(writer, &pattern->bytes, name, span->arguments[i].text);
		else
			add_number_argument(pattern, name, pattern_leaves(pattern, span, i) ? (uint32_t)i : PATTERN_NONE,
					    span->arguments[i].number);
	}
	if (span->is_open) {
		struct text inside = {0};
		add_number(&inside, 1, intern(writer, LIST_ARGUMENTS, "not ended"));
		add_number(&inside, ARGUMENT_FLAG, 1);
		add_head(&pattern->bytes, 4, inside.length);
		text_put(&pattern->bytes, inside.bytes, inside.length);
		text_free(&inside);
	}
}

static void make_pattern(struct writer *writer, const struct span *span, struct pattern *pattern)
{
	static const uint8_t types[] = {
		[SPAN_WHOLE] = TYPE_BEGIN, [SPAN_INSTANT] = TYPE_INSTANT, [SPAN_COUNTER] = TYPE_COUNTER};
	uint64_t track = track_of(writer, span), name = 0;
	struct text *bytes = &pattern->bytes, end = {0};
	uint8_t wire[WIRE_FIELD];

	if (span->kind != SPAN_COUNTER) {
		name = intern(writer, span->what == SPAN_KERNEL ? LIST_KERNELS : LIST_NAMES, span->name);
		add_number(bytes, 3, intern(writer, LIST_CATEGORIES, span->category));
	}
	add_arguments(writer, span, pattern);
	add_number(bytes, 9, types[span->kind]);
	if (span->kind != SPAN_COUNTER)
		add_number(bytes, 10, name);
	add_number(bytes, 11, track);
	if (span->kind == SPAN_COUNTER)
		text_put(bytes, wire, (size_t)(wire_fixed64(wire, 44, &span->value) - wire));
	pattern_end(pattern, PATTERN_NONE, 0);
	add_number(&end, 9, TYPE_END);
	add_number(&end, 11, track);
	add_number(bytes, 10, SEQUENCE);
	add_head(bytes, 11, end.length);
	text_put(bytes, end.bytes, end.length);
	text_free(&end);
	pattern_end(pattern, PATTERN_NONE, 0);
}

/* A byte for every 7 bits: of 1 to 64 bits (9 * bits + 64) / 64 is the same as (bits + 6) / 7. */
static inline size_t varint_bytes(uint64_t number)
{
	return (size_t)(9 * (64 - __builtin_clzll(number | 1)) + 64) / 64;
}

/* A packet's time and what stands in front of it, the packet being `rest` bytes long without. */
static uint8_t *put_time(uint8_t *to, int64_t time, size_t rest)
{
	uint64_t ns = time > 0 ? (uint64_t)time : 0;

	return wire_number(wire_head(to, 1, 1 + varint_bytes(ns) + rest), 8, ns);
}

/* The pieces of an event with its numbers between. */
static uint8_t *put_pieces(uint8_t *to, const struct pattern *pattern, const struct span *span)
{
	size_t done = 0;

	for (size_t i = 0; i + 1 < pattern->count; i++) {
		const struct pattern_piece *piece = &pattern->pieces[i];
		memcpy(to, pattern->bytes.bytes + done, piece->end - done);
		to += piece->end - done;
		done = piece->end;
		if (piece->argument == PATTERN_NONE)
			continue;
		uint8_t *end = wire_varint(to, span->arguments[piece->argument].number);
		to[-(ptrdiff_t)piece->back] += (uint8_t)(end - to);
		to = end;
	}
	return to;
}

static size_t event_bytes(const struct pattern *pattern, const struct span *span, bool has_flow)
{
	size_t bytes = pattern->pieces[pattern->count - 2].end + (has_flow ? FLOW_BYTES : 0);

	for (size_t i = 0; i + 2 < pattern->count; i++)
		bytes += varint_bytes(span->arguments[pattern->pieces[i].argument].number);
	return bytes;
}

static int put_span(void *context, const struct span *span)
{
	struct writer *writer = context;
	int64_t end = span->start_ns + (int64_t)span->duration_ns;
	bool is_known, has_flow = span->flow && span->kind == SPAN_WHOLE,
		       needs_state = span->kind != SPAN_COUNTER || span->argument_count || span->is_open;
	uint64_t flow = span->flow + ((uint64_t)span->process << 48);
	struct pattern *pattern;
	uint8_t *to;

	if (!request_draws_span(writer->request, span))
		return 0;
	pattern = patterns_of(writer->patterns, span, &is_known);
	if (!is_known)
		make_pattern(writer, span, pattern);
	size_t bytes = event_bytes(pattern, span, has_flow), from = pattern->pieces[pattern->count - 2].end;
	to = room_for(writer, pattern->bytes.length + (pattern->count + 10) * WIRE_FIELD);
	to = put_time(to, span->start_ns, 2 + 1 + varint_bytes(bytes) + bytes + (needs_state ? 2 : 0));
	to = wire_head(wire_number(to, 10, SEQUENCE), 11, bytes);
	to = put_pieces(to, pattern, span);
	if (has_flow)
		to = wire_fixed64(to, span->is_flow_start ? 47 : 48, &flow);
	if (needs_state)
		to = wire_number(to, 13, FLAG_NEEDS_STATE);
	if (span->kind == SPAN_WHOLE) {
		to = put_time(to, end, pattern->bytes.length - from);
		memcpy(to, pattern->bytes.bytes + from, pattern->bytes.length - from);
		to += pattern->bytes.length - from;
	}
	wrote(writer, to);
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
	writer.patterns = patterns_make();
	for (size_t i = 0; i < run->process_count; i++) {
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		process_track(&writer, i);
		if (spans_stream(run, i, &options) != 0)
			base_die("out of memory while reading the logs");
	}
	flush(&writer);
	patterns_free(writer.patterns);
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
	.is_without_sums = true,
	.write_run = write_run,
};
