/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of Kineto's events: one function a category. See kineto.h, docs/foreign.md. */
#include "reducer/import/kineto.h"

#include "reducer/base/kineto_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of range_sources.def; PyTorch's RecordScope. */
enum { PYTHON = 2, TRACEME = 3, RECORD_FUNCTION = 5, FILE_OF_OTHERS = 10 };
enum { SCOPE_FUNCTION = 0, SCOPE_USER = 7 };
#define SEEN_BY_CALLBACK 2 /* gpu_call.flags */
#define NOT_SAID UINT32_MAX
#define MANNER_NOT_SAID 2 /* flags of device_copy, device_set */
#define NO_CHANNEL UINT64_C(0xffffffff)

static struct sink_time at_end(const struct kineto_event *event)
{
	return (struct sink_time){event->begin_ns + event->duration_ns, event->begin_ns, event->begin_ns + event->duration_ns,
				  .is_end = 1};
}

void kineto_put_group(struct kineto *kineto, uint32_t thread, struct sink_time when)
{
	sink_put(kineto->sink, thread, &when, kineto->group.bytes, kineto->group.used);
	kineto->group.used = 0;
}

static uint32_t name_of(struct kineto *kineto, const struct kineto_event *event)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);

	return sink_name(kineto->sink, name, strlen(name));
}

/* Tracks. */

static bool is_track(const void *context, const void *key, uint32_t place)
{
	return ((const struct kineto *)context)->tracks[place].key == *(const uint64_t *)key;
}

/* The track of that key; *is_new where it was made now. */
static struct kineto_track *track_at(struct kineto *kineto, uint64_t key, int *is_new)
{
	uint32_t place = base_index_find(&kineto->track_of, key, is_track, kineto, &key);

	*is_new = place == UINT32_MAX;
	if (!*is_new)
		return &kineto->tracks[place];
	kineto->tracks = base_grow(kineto->tracks, &kineto->track_room, kineto->track_count + 1, sizeof(*kineto->tracks));
	kineto->tracks[kineto->track_count] = (struct kineto_track){.key = key};
	base_index_add(&kineto->track_of, key, (uint32_t)kineto->track_count);
	return &kineto->tracks[kineto->track_count++];
}

static uint64_t hash_of(const char *pid, const char *tid)
{
	return base_hash(base_hash(BASE_HASH, pid, strlen(pid) + 1), tid, strlen(tid) + 1);
}

/* The number that a text is; -1: it is none, or no number of a process, a device, a stream. */
static int64_t number_of(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits < 10 && !text[digits] ? (int64_t)strtoul(text, NULL, 10) : -1;
}

static struct kineto_track *thread_track(struct kineto *kineto, const struct kineto_event *event)
{
	const char *pid = kineto_text(kineto, event, KINETO_PID), *tid = kineto_text(kineto, event, KINETO_TID);
	int is_new, is_numbered = tid[0] >= '0' && tid[0] <= '9';
	struct kineto_track *track = track_at(kineto, hash_of(pid, tid), &is_new);

	if (track->thread)
		return track;
	if (!kineto->about->pid && !kineto->is_for_viewer && number_of(pid) > 0) /* for viewers they are made up */
		kineto->about->pid = (uint32_t)number_of(pid);
	track->thread = sink_thread(kineto->sink, (uint32_t)strtoul(tid, NULL, 10));
	sink_thread_name(kineto->sink, track->thread, track->name, strnlen(track->name, sizeof(track->name)));
	if (!track->name[0] && !is_numbered)
		sink_thread_name(kineto->sink, track->thread, tid, strlen(tid));
	track->place = kineto_place(kineto, event);
	kineto->places[track->place].is_process = number_of(pid) > 0;
	return track;
}

/* Kineto says "thread 4242 (python3)". */
static const char *bare_name(const char *label, size_t *length)
{
	size_t number = strncmp(label, "thread ", 7) == 0 ? 7 + strspn(label + 7, "0123456789") : 0;

	*length = strlen(label);
	if (number <= 7 || strncmp(label + number, " (", 2) != 0 || label[*length - 1] != ')' || number + 3 >= *length)
		return label;
	*length -= number + 3;
	return label + number + 2;
}

/* No thread is made of it: Kineto names the streams of devices, too. */
void kineto_name_thread(struct kineto *kineto, const struct kineto_event *event)
{
	uint64_t key = hash_of(kineto_text(kineto, event, KINETO_PID), kineto_text(kineto, event, KINETO_TID));
	int is_new;
	struct kineto_track *track = track_at(kineto, key, &is_new);
	size_t length;
	const char *name = bare_name(kineto_text(kineto, event, KINETO_LABELS), &length);

	memset(track->name, 0, sizeof(track->name));
	memcpy(track->name, name, length < sizeof(track->name) ? length : sizeof(track->name));
	if (track->thread)
		sink_thread_name(kineto->sink, track->thread, name, length);
}

uint32_t kineto_thread(struct kineto *kineto, const struct kineto_event *event)
{
	return thread_track(kineto, event)->thread;
}

#define DEVICES_MOST 1024 /* a larger number is that of a process of the host */

/* Where an event says neither, its process is the device, its thread the stream. */
static uint32_t device_of(const struct kineto *kineto, const struct kineto_event *event)
{
	int64_t place = number_of(kineto_text(kineto, event, KINETO_PID));

	if (kineto_has(event, KINETO_DEVICE))
		return (uint32_t)kineto_unsigned(event, KINETO_DEVICE);
	return place > 0 && place < DEVICES_MOST ? (uint32_t)place : 0;
}

static uint32_t stream_of(const struct kineto *kineto, const struct kineto_event *event)
{
	int64_t place = number_of(kineto_text(kineto, event, KINETO_TID));

	if (kineto_has(event, KINETO_STREAM))
		return (uint32_t)kineto_unsigned(event, KINETO_STREAM);
	if (kineto_has(event, KINETO_SYCL_QUEUE)) /* an XPU's queues are SYCL's */
		return (uint32_t)kineto_unsigned(event, KINETO_SYCL_QUEUE);
	return place > 0 ? (uint32_t)place : 0;
}

/* The queue of a device's stream, and the stream of the log that its records go to. */
static struct kineto_track *queue_of(struct kineto *kineto, const struct kineto_event *event)
{
	char name[40];
	uint32_t device = device_of(kineto, event), stream = stream_of(kineto, event);
	uint64_t context = kineto_has(event, KINETO_CONTEXT) ? kineto_unsigned(event, KINETO_CONTEXT) : (uint64_t)device + 1;
	uint32_t key[] = {'q', device, stream, (uint32_t)context};
	int is_new;
	struct kineto_track *track = track_at(kineto, base_hash(BASE_HASH, key, sizeof(key)), &is_new);
	if (!is_new)
		return track;
	snprintf(name, sizeof(name), "GPU %u queue", device);
	track->thread = sink_thread(kineto->sink, 0);
	sink_thread_name(kineto->sink, track->thread, name, strlen(name));
	track->queue = ++kineto->queue_count;
	sink_fact(kineto->sink, TFP_TAG_context);
	sink_number(kineto->sink, context & UINT32_MAX);
	sink_number(kineto->sink, device);
	sink_fact_end(kineto->sink);
	sink_fact(kineto->sink, TFP_TAG_queue);
	sink_number(kineto->sink, track->queue);
	sink_number(kineto->sink, device);
	sink_number(kineto->sink, context & UINT32_MAX);
	sink_number(kineto->sink, stream);
	sink_number(kineto->sink, NO_CHANNEL);
	sink_number(kineto->sink, 0);
	sink_fact_end(kineto->sink);
	return track;
}

/* The host. */

/* Begin and end of an op of PyTorch; both records at once where it took no time. */
static void put_op(struct kineto *kineto, const struct kineto_event *event, int scope)
{
	uint32_t thread = kineto_thread(kineto, event);
	uint64_t key = ++kineto->op_count;
	uint32_t inputs = kineto_inputs(kineto, event);

	SINK_ADD(&kineto->group, op_begin, .name = name_of(kineto, event), .key = key, .source = RECORD_FUNCTION,
		 .scope = (uint8_t)scope);
	if (inputs)
		SINK_ADD(&kineto->group, op_inputs, .shapes = inputs);
	if (event->duration_ns)
		kineto_put_group(kineto, thread, kineto_begin(event));
	SINK_ADD(&kineto->group, op_end, .key = key, .source = RECORD_FUNCTION);
	kineto_put_group(kineto, thread, event->duration_ns ? at_end(event) : kineto_begin(event));
}

static void put_step(struct kineto *kineto, const struct kineto_event *event, uint32_t thread, uint64_t number, uint8_t source)
{
	SINK_ADD(&kineto->group, step, .number = number, .source = source);
	if (event->duration_ns)
		kineto_put_group(kineto, thread, kineto_begin(event));
	SINK_ADD(&kineto->group, step_end, .number = number);
	kineto_put_group(kineto, thread, event->duration_ns ? at_end(event) : kineto_begin(event));
}

/* torch.profiler's step(): ProfilerStep#N. */
static void put_annotation(struct kineto *kineto, const struct kineto_event *event)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);

	if (kineto_is_step(kineto_text(kineto, event, KINETO_NAME)))
		put_step(kineto, event, kineto_thread(kineto, event), strtoull(name + sizeof(KINETO_STEP_NAME) - 1, NULL, 10),
			 RECORD_FUNCTION);
	put_op(kineto, event, SCOPE_USER);
}

static void put_range(struct kineto *kineto, const struct kineto_event *event, uint8_t source)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);
	uint64_t hash = sink_string(kineto->sink, name, strlen(name));
	const struct kineto_track *track = thread_track(kineto, event);
	uint32_t thread = track->thread;

	kineto->places[track->place].ranges++;
	SINK_ADD(&kineto->group, range_push, .name = hash, .source = source);
	if (event->duration_ns)
		kineto_put_group(kineto, thread, kineto_begin(event));
	SINK_ADD(&kineto->group, range_pop, .source = source);
	kineto_put_group(kineto, thread, event->duration_ns ? at_end(event) : kineto_begin(event));
}

static void put_call(struct kineto *kineto, const struct kineto_event *event)
{
	SINK_ADD(&kineto->group, gpu_call, .duration = event->duration_ns,
		 .correlation = kineto_unsigned(event, KINETO_CORRELATION),
		 .function = calls_function(&kineto->calls, kineto->sink, kineto_text(kineto, event, KINETO_NAME)),
		 .flags = SEEN_BY_CALLBACK);
	kineto_put_group(kineto, kineto_thread(kineto, event), at_end(event));
}

/* The device. */

static bool is_shape(const void *context, const void *key, uint32_t place)
{
	return ((const struct kineto *)context)->shapes[place] == *(const uint64_t *)key;
}

static uint32_t shape_of(struct kineto *kineto, const struct kineto_event *event)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);
	uint64_t facts[] = {event->grid[0],
			    event->grid[1],
			    event->grid[2],
			    event->block[0],
			    event->block[1],
			    event->block[2],
			    kineto_unsigned(event, KINETO_REGISTERS),
			    kineto_unsigned(event, KINETO_SHARED)};
	uint64_t hash = base_hash(base_hash(BASE_HASH, facts, sizeof(facts)), name, strlen(name));
	uint32_t place = base_index_find(&kineto->shape_of, hash, is_shape, kineto, &hash);

	if (place != UINT32_MAX)
		return place + 1;
	kineto->shapes = base_grow(kineto->shapes, &kineto->shape_room, kineto->shape_count + 1, sizeof(*kineto->shapes));
	kineto->shapes[kineto->shape_count] = hash;
	base_index_add(&kineto->shape_of, hash, (uint32_t)kineto->shape_count++);
	sink_fact(kineto->sink, TFP_TAG_shape);
	sink_number(kineto->sink, kineto->shape_count);
	sink_text(kineto->sink, name, strlen(name));
	for (int i = 0; i < 7; i++)
		sink_number(kineto->sink, facts[i]);
	sink_number(kineto->sink, facts[7]); /* all of a block's shared memory: static and dynamic are not told apart */
	for (int i = 0; i < 10; i++)
		sink_number(kineto->sink, 0);
	sink_fact_end(kineto->sink);
	return (uint32_t)kineto->shape_count;
}

static void put_kernel(struct kineto *kineto, const struct kineto_event *event)
{
	const struct kineto_track *track = queue_of(kineto, event);

	SINK_ADD(&kineto->group, kernel, .start = event->begin_ns, .duration = event->duration_ns,
		 .correlation = kineto_unsigned(event, KINETO_CORRELATION), .shape = shape_of(kineto, event),
		 .queue = track->queue, .graph = (uint32_t)kineto_unsigned(event, KINETO_GRAPH),
		 .node = kineto_unsigned(event, KINETO_NODE));
	kineto_put_group(kineto, track->thread, at_end(event));
}

/* "Memcpy HtoD (Pinned -> Device)": CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind. */
static void put_copy(struct kineto *kineto, const struct kineto_event *event)
{
	static const char *const kinds[] = KINETO_COPIES;
	static const char *const memories[] = KINETO_MEMORIES;
	const struct kineto_track *track = queue_of(kineto, event);
	const char *name = kineto_text(kineto, event, KINETO_NAME), *from = strchr(name, '('), *to = strstr(name, "-> ");
	uint8_t kind = 0, source = 0, destination = 0;

	for (uint8_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		kind = strstr(name, kinds[i]) ? i : kind;
	for (uint8_t i = 1; i < sizeof(memories) / sizeof(memories[0]); i++) {
		size_t length = strlen(memories[i]);
		source = from && strncmp(from + 1, memories[i], length) == 0 ? i : source;
		destination = to && strncmp(to + 3, memories[i], length) == 0 ? i : destination;
	}
	SINK_ADD(&kineto->group, device_copy, .start = event->begin_ns, .duration = event->duration_ns,
		 .correlation = kineto_unsigned(event, KINETO_CORRELATION), .bytes = kineto_unsigned(event, KINETO_BYTES),
		 .queue = track->queue, .flags = MANNER_NOT_SAID, .kind = kind, .source = source, .destination = destination,
		 .source_device = NOT_SAID, .destination_device = NOT_SAID,
		 .graph = (uint32_t)kineto_unsigned(event, KINETO_GRAPH), .node = kineto_unsigned(event, KINETO_NODE));
	kineto_put_group(kineto, track->thread, at_end(event));
}

static void put_set(struct kineto *kineto, const struct kineto_event *event)
{
	const struct kineto_track *track = queue_of(kineto, event);

	SINK_ADD(&kineto->group, device_set, .start = event->begin_ns, .duration = event->duration_ns,
		 .correlation = kineto_unsigned(event, KINETO_CORRELATION), .bytes = kineto_unsigned(event, KINETO_BYTES),
		 .queue = track->queue, .flags = MANNER_NOT_SAID, .graph = (uint32_t)kineto_unsigned(event, KINETO_GRAPH),
		 .node = kineto_unsigned(event, KINETO_NODE));
	kineto_put_group(kineto, track->thread, at_end(event));
}

static void put_cpu_op(struct kineto *kineto, const struct kineto_event *event)
{
	put_op(kineto, event, SCOPE_FUNCTION);
}

/* PyTorch up to 1.11 calls user's ranges operators too, and so does torch_npu to this day. */
static void put_operator(struct kineto *kineto, const struct kineto_event *event)
{
	if (kineto_is_step(kineto_text(kineto, event, KINETO_NAME)))
		put_annotation(kineto, event);
	else
		put_cpu_op(kineto, event);
}

static void put_python(struct kineto *kineto, const struct kineto_event *event)
{
	put_range(kineto, event, PYTHON);
}

static void put_other(struct kineto *kineto, const struct kineto_event *event)
{
	put_range(kineto, event, FILE_OF_OTHERS);
}

/*
 * A whole event without a category. What TensorFlow and JAX write for viewers says by a number which of them are steps (one inside
 * another is none of its own), and they need not nest: a step begins while the call that begins it has not returned.
 */
static void put_plain(struct kineto *kineto, const struct kineto_event *event)
{
	uint64_t end_ns = event->begin_ns + event->duration_ns;
	struct kineto_track *track;

	if (!kineto->is_for_viewer) {
		put_range(kineto, event, FILE_OF_OTHERS);
		return;
	}
	track = thread_track(kineto, event);
	kineto->places[track->place].ranges++;
	if (kineto_has(event, KINETO_STEP) && (event->begin_ns >= track->step_end_ns || end_ns > track->step_end_ns)) {
		track->step_end_ns = end_ns;
		put_step(kineto, event, track->thread, kineto_unsigned(event, KINETO_STEP), TRACEME);
	}
	SINK_ADD(&kineto->group, trace, .name = name_of(kineto, event), .start = event->begin_ns, .duration = event->duration_ns,
		 .source = TRACEME);
	kineto_put_group(kineto, track->thread, at_end(event));
}

static void put_nothing(struct kineto *kineto, const struct kineto_event *event)
{
	(void)kineto, (void)event;
}

/* Categories of whole events. Those that only draw again what others tell are left out. */
static const struct {
	const char *category;
	void (*put)(struct kineto *kineto, const struct kineto_event *event);
} categories[] = {
	{"cpu_op", put_operator},
	{"kernel", put_kernel},
	{"cuda_runtime", put_call},
	{"cuda_driver", put_call},
	{"xpu_runtime", put_call},
	{"xpu_driver", put_call},
	{"privateuse1_runtime", put_call},
	{"privateuse1_driver", put_call},
	{"user_annotation", put_annotation},
	{"python_function", put_python},
	{"gpu_memcpy", put_copy},
	{"gpu_memset", put_set},
	{"gpu_user_annotation", put_nothing},
	{"Operator", put_operator},
	{"Kernel", put_kernel},
	{"Runtime", put_call},
	{"Memcpy", put_copy},
	{"Memset", put_set},
	{"fwdbwd", put_nothing},
	{"ac2g", put_nothing},
	{"Trace", put_nothing},
	{"cuda_sync", put_nothing},
	{"cpu_instant_event", put_nothing},
	{"overhead", put_other},
	{"cuda_profiler_range", put_other},
};

static void count_unknown(struct kineto *kineto, const char *name)
{
	size_t i = 0;

	while (i < kineto->category_count &&
	       strncmp(kineto->categories[i].name, name, sizeof(kineto->categories[i].name) - 1) != 0)
		i++;
	if (i == KINETO_CATEGORIES)
		return;
	if (i == kineto->category_count)
		snprintf(kineto->categories[kineto->category_count++].name, sizeof(kineto->categories[i].name), "%s", name);
	kineto->categories[i].events++;
}

/* B and E of Chrome's own format: of several at one time the file has the order. */
static void put_half(struct kineto *kineto, const struct kineto_event *event, char phase)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);
	struct sink_time when = {event->begin_ns, event->begin_ns, event->begin_ns, .is_half = 1};

	const struct kineto_track *track = thread_track(kineto, event);

	if (phase == 'B') {
		kineto->places[track->place].ranges++;
		SINK_ADD(&kineto->group, range_push, .name = sink_string(kineto->sink, name, strlen(name)),
			 .source = FILE_OF_OTHERS);
	} else {
		SINK_ADD(&kineto->group, range_pop, .source = FILE_OF_OTHERS);
	}
	kineto_put_group(kineto, track->thread, when);
}

/* Where PyTorch's profiler began and ended to record, and the whole trace does. */
static int is_own_mark(const char *name)
{
	return strncmp(name, "Iteration Start: ", 17) == 0 || strcmp(name, "Record Window End") == 0;
}

void kineto_put(struct kineto *kineto, const struct kineto_event *event, char phase)
{
	const char *category = kineto_text(kineto, event, KINETO_CAT);

	kineto->group.used = 0;
	if (phase == 'i') {
		if (!kineto_memory(kineto, event) && !is_own_mark(kineto_text(kineto, event, KINETO_NAME)))
			kineto->phases['i']++;
		return;
	}
	if (phase != 'X') {
		put_half(kineto, event, phase);
		return;
	}
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (strcmp(categories[i].category, category) == 0) {
			categories[i].put(kineto, event);
			return;
		}
	if (!category[0]) {
		put_plain(kineto, event);
		return;
	}
	count_unknown(kineto, category);
	put_other(kineto, event);
}

/* One sentence for the run's notes. */
static void note(struct kineto *kineto, const struct text *text)
{
	sink_pair(kineto->sink, TFP_TAG_note, "import", text->bytes);
}

/* Flows draw again what correlations tell, metadata are names. */
static void note_phases(struct kineto *kineto, struct text *text)
{
	const char *before = "Events of kinds that are not read from such a file were left out, by their \"ph\":";

	for (char phase = '!'; phase <= '~'; phase++) {
		uint64_t events = strchr("Mstf", phase) ? 0 : kineto->phases[(unsigned)phase];
		if (!events)
			continue;
		text_format(text, "%s %c (%" PRIu64 ")", before, phase, events);
		before = ",";
	}
	if (!text->length)
		return;
	text_char(text, '.');
	note(kineto, text);
	text_clear(text);
}

void kineto_notes(struct kineto *kineto)
{
	struct text text = {0};

	kineto_devices(kineto);
	kineto_processes(kineto);
	note_phases(kineto, &text);
	if (kineto->addressless) {
		text_format(&text,
			    "The file says no addresses of memory blocks: each release is taken for that of the newest block of "
			    "its size. Sums and peaks are right unless blocks from before the recording come back, lifetimes of "
			    "blocks are inferred.");
		note(kineto, &text);
		text_clear(&text);
	}
	if (kineto->durationless) {
		text_format(&text, "Whole events (\"ph\": X) without a duration (\"dur\") stand as if they took no time: %" PRIu64 ".",
			    kineto->durationless);
		note(kineto, &text);
		text_clear(&text);
	}
	if (kineto->is_for_viewer) {
		text_string(&text, "The file was written for viewers: it does not say which of its ranges are ops, nor when it was made. "
				   "The XPlane beside it (HOST.xplane.pb) does.");
		note(kineto, &text);
		text_clear(&text);
	}
	if (!kineto->category_count) {
		text_free(&text);
		return;
	}
	text_string(&text, "Events of categories that tfprof does not know are ranges, and in no table of devices:");
	for (size_t i = 0; i < kineto->category_count; i++)
		text_format(&text, "%s %s (%" PRIu64 ")", i ? "," : "", kineto->categories[i].name, kineto->categories[i].events);
	text_string(&text, kineto->category_count == KINETO_CATEGORIES ? ", and maybe more." : ".");
	note(kineto, &text);
	text_free(&text);
}

void kineto_device(struct kineto *kineto, const struct kineto_event *event)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME);
	int is_amds = strncmp(name, "AMD", 3) == 0; /* its gfx number is no compute capability: gfx90a is not Hopper */

	sink_fact(kineto->sink, TFP_TAG_device);
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_ID));
	sink_text(kineto->sink, name, strlen(name));
	sink_text(kineto->sink, "", 0);
	sink_number(kineto->sink, is_amds ? 0 : kineto_unsigned(event, KINETO_MAJOR));
	sink_number(kineto->sink, is_amds ? 0 : kineto_unsigned(event, KINETO_MINOR));
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_MULTIPROCESSORS));
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_MEMORY_SIZE));
	sink_number(kineto->sink, 0);
	sink_number(kineto->sink, 0);
	sink_number(kineto->sink, 0);
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_WARP));
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_WARP)
					  ? kineto_unsigned(event, KINETO_THREADS) / kineto_unsigned(event, KINETO_WARP)
					  : 0);
	sink_number(kineto->sink, 0);
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_MULTI_SHARED));
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_MULTI_REGISTERS));
	sink_number(kineto->sink, kineto_unsigned(event, KINETO_BLOCK_SHARED));
	sink_fact_end(kineto->sink);
}
