/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane: a TensorBoard log directory, DIR/plugins/profile/RUN/HOST.PID.xplane.pb, one file a process, for the TensorFlow
 * Profiler (xprof).
 *
 * Rule: what xprof computes from the file is what -t with --split=tf --step-time=span says. Spellings and kinds of numbers
 * are those that its readers want (docs/foreign.md has the list); memory follows names, threads and live blocks.
 */
#include "reducer/analysis/words.h"
#include "reducer/base/output.h"
#include "reducer/model/live.h"
#include "reducer/model/op_typed.h"
#include "reducer/model/rank.h"
#include "reducer/report/report.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"
#include "reducer/trace/xplane_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCED 1 /* any one kind of producer and consumer */

/* Bytes that one allocator has handed out, where the framework does not say them. */
struct allocator {
	const char *name; /* of the run */
	uint64_t live, peak;
	struct live_table blocks;
};

#define KERNELS_KEPT 512u /* kernels whose texts are kept; a power of two */

#define EVENTS_KEPT 512u /* of calls and kernels that come again; a power of two */

/* What is packed of a span once it was put (span.alike). */
struct kept_event {
	uint64_t alike; /* 0 = nothing */
	uint32_t lane;
	bool has_flow;
	struct xspace_kept packed;
};

struct writer {
	const struct request *request;
	const struct process *process;
	size_t index; /* its place in the run */
	struct xspace_file *file;
	uint32_t host;	/* the host's plane */
	bool *launches; /* by place of the thread: made GPU calls */
	struct allocator allocators[64];
	size_t allocator_count;
	struct text op, details;
	struct words told; /* the first of them: names of TraceMe events that the log has as ops */
	size_t told_count;
	/* By shape: what is said of a kernel of it, since most kernels run again and again. */
	struct kernel_texts {
		const struct gpu_shape *shape;
		const char *mangled;
		uint32_t device;
		struct text plain, details;
	} *kernels;
	struct kept_event *kept; /* by span.alike */
	uint32_t device, device_plane; /* of the last work; 0 = none yet, else the plane + 1 */
};

static uint32_t thread_line(struct writer *writer, uint32_t serial)
{
	const struct thread *thread = process_thread(writer->process, serial);
	int64_t id = thread && thread->tid ? (int64_t)thread->tid : (int64_t)serial;
	uint32_t known = xspace_known_line(writer->file, writer->host, id);
	char name[48];

	if (known != UINT32_MAX)
		return known;
	snprintf(name, sizeof(name), "%s/%u", thread && thread->name[0] ? thread->name : "thread", thread ? thread->tid : serial);
	return xspace_line(writer->file, writer->host, id, name);
}

static struct xspace_event event_of(struct writer *writer, const struct span *span, const char *name)
{
	return (struct xspace_event){.plane = writer->host,
				     .line = thread_line(writer, span->thread),
				     .name = name,
				     .start_ns = span->start_ns,
				     .duration_ns = span->duration_ns};
}

/*
 * An op's name as xprof reads it: name:Type. TensorFlow's are so already; PyTorch's aten::addmm becomes aten.addmm:addmm, since
 * names with "::" have no type there. Valid until the next call.
 */
static const char *op_text(struct writer *writer, const char *name)
{
	const char *colon = strchr(name, ':'), *last = name;

	if (op_iterator_rest(name) != NULL || (colon && colon != name && colon[1] != ':' && colon[1] != ' '))
		return name;
	text_clear(&writer->op);
	for (const char *at = name; *at; at++) {
		int is_pair = at[0] == ':' && at[1] == ':', is_good = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
								      (*at >= 'A' && *at <= 'Z') || strchr("_./>-", *at) != NULL;
		text_char(&writer->op, is_pair ? '.' : is_good ? *at : '_');
		at += is_pair;
		last = is_pair ? at + 1 : last;
	}
	text_char(&writer->op, ':');
	for (; *last && *last != ' '; last++)
		if (*last == '_' || (*last >= 'a' && *last <= 'z') || (*last >= 'A' && *last <= 'Z') ||
		    (*last >= '0' && *last <= '9'))
			text_char(&writer->op, *last);
	return writer->op.bytes;
}

/* Host. */

/* What TensorFlow tells by its annotations, eager calls and iterators it may tell by TraceMe events, too; op_stats counts the first. */
static void find_told(struct writer *writer)
{
	const struct ops *ops = &writer->process->ops;
	struct text twice = {0};

	for (size_t i = 0; i < ops->count; i++) {
		const struct op *op = &ops->items[i];
		if (op->is_range || !op->occurrences)
			continue;
		if (op->source == SOURCE_iterator || op->source == SOURCE_annotation)
			words_number(&writer->told, op->name);
		text_clear(&twice);
		if (op->source == SOURCE_eager) { /* run eagerly, a node is called as its type */
			text_format(&twice, "%s:%s", op->name, op->name);
			words_number(&writer->told, twice.bytes);
		}
	}
	text_free(&twice);
	writer->told_count = writer->told.count;
}

/* With both, xprof would count it twice. */
static bool is_told_twice(struct writer *writer, const struct span *span)
{
	return span->what == SPAN_TRACE && writer->told_count && words_number(&writer->told, span->name) < writer->told_count;
}

static void put_range(struct writer *writer, const struct span *span)
{
	if (is_told_twice(writer, span))
		return;
	int is_op = span->what == SPAN_OP && span->scope != 7 && span->scope != 23 && !span->is_open;
	struct xspace_event event = event_of(writer, span, is_op ? op_text(writer, span->name) : span->name);

	if (span->is_open) { /* not an op's name any more: as long as the rest of the log, it would stand first in every table */
		text_clear(&writer->op);
		text_format(&writer->op, "%s (had not ended)", span->name);
		event.name = writer->op.bytes;
	}
	const char *type = strchr(span->name, ':') ? strchr(span->name, ':') + 1 : NULL;
	if (span->what == SPAN_RANGE && !span->is_open && type && (!*type || op_is_typed(span->name))) {
		/* TensorFlow's annotations are called like the ops in them: xprof would count each of those twice. */
		text_clear(&writer->op);
		text_format(&writer->op, "%.*s %s", (int)(type - span->name), span->name, type);
		event.name = writer->op.bytes;
		event.shown = span->name;
	}
	if (is_op && event.name != span->name)
		event.shown = span->name;
	for (size_t i = 0; i < span->argument_count; i++)
		if (span->arguments[i].text)
			xspace_text(writer->file, &event, span->arguments[i].name, span->arguments[i].text);
		else if (strcmp(span->arguments[i].name, "_r") != 0 && strcmp(span->arguments[i].name, "group_id") != 0)
			/* Roots are put once, from the steps; a group id would make xprof take the file for grouped. */
			xspace_integer(writer->file, &event, span->arguments[i].name, (int64_t)span->arguments[i].number);
	xspace_put(writer->file, &event);
}

/* Puts the event of a call or of device work, whose first stat is its flow if it has one. */
static void put_flowing(struct writer *writer, const struct span *span, const struct xspace_event *event)
{
	struct kept_event *kept = &writer->kept[span->alike % EVENTS_KEPT];

	if (!span->alike) {
		xspace_put(writer->file, event);
		return;
	}
	kept->has_flow = span->flow != 0;
	kept->lane = span->lane;
	kept->alike = xspace_put_keeping(writer->file, event, kept->has_flow, &kept->packed) ? span->alike : 0;
}

/* Whether the span was put as one before. */
static bool put_alike(struct writer *writer, const struct span *span)
{
	const struct kept_event *kept = &writer->kept[span->alike % EVENTS_KEPT];

	if (!span->alike || kept->alike != span->alike || kept->lane != span->lane || kept->has_flow != (span->flow != 0))
		return false;
	xspace_put_kept(writer->file, &kept->packed, span->start_ns, span->duration_ns, span->flow);
	return true;
}

static void put_call(struct writer *writer, const struct span *span)
{
	struct xspace_event event = event_of(writer, span, span->name);
	const struct thread *thread = process_thread(writer->process, span->thread);

	if (span->flow)
		xspace_natural(writer->file, &event, "correlation_id", span->flow);
	if (thread && span->flow)
		writer->launches[thread - writer->process->threads] = true;
	put_flowing(writer, span, &event);
}

static struct allocator *allocator_of(struct writer *writer, const char *name)
{
	for (size_t i = 0; i < writer->allocator_count; i++)
		if (strcmp(writer->allocators[i].name, name) == 0)
			return &writer->allocators[i];
	const struct account *account = process_account(writer->process, name);
	if (!account || writer->allocator_count == sizeof(writer->allocators) / sizeof(writer->allocators[0]))
		return NULL;
	writer->allocators[writer->allocator_count] = (struct allocator){.name = account->allocator};
	return &writer->allocators[writer->allocator_count++];
}

/* All numbers are signed there; a uint64 would be read as 0. */
static void put_block(struct writer *writer, const struct span *span)
{
	const struct span_block *block = span->block;
	struct allocator *allocator = allocator_of(writer, span->name);
	struct xspace_event event = event_of(writer, span, block->is_release ? "MemoryDeallocation" : "MemoryAllocation");
	uint64_t bytes, live;

	if (!allocator)
		return;
	bytes = live_settle(&allocator->blocks, block->address, span->bytes, block->is_release, &allocator->live);
	live = block->total ? block->total : allocator->live;
	allocator->peak = live > allocator->peak ? live : allocator->peak;
	event.line = xspace_line(writer->file, writer->host, INT32_MAX - (allocator - writer->allocators), span->name);
	xspace_text(writer->file, &event, "allocator_name", span->name);
	xspace_integer(writer->file, &event, "bytes_allocated", (int64_t)live);
	xspace_integer(writer->file, &event, "bytes_reserved", (int64_t)block->stack);
	xspace_integer(writer->file, &event, "bytes_available",
		       block->has_room			   ? (int64_t)block->free
		       : block->reserved > live		   ? (int64_t)(block->reserved - live)
							   : 0);
	xspace_integer(writer->file, &event, "peak_bytes_in_use", (int64_t)(block->peak ? block->peak : allocator->peak));
	xspace_real(writer->file, &event, "fragmentation", block->fragmentation);
	xspace_integer(writer->file, &event, "allocation_bytes", (int64_t)bytes);
	xspace_integer(writer->file, &event, "requested_bytes", (int64_t)(block->requested ? block->requested : bytes));
	xspace_integer(writer->file, &event, "addr", (int64_t)block->address);
	xspace_integer(writer->file, &event, "data_type", block->type);
	if (block->step)
		xspace_integer(writer->file, &event, "id", (int64_t)block->step);
	xspace_text(writer->file, &event, "tf_op", block->op ? block->op : span->op);
	xspace_text(writer->file, &event, "region_type", block->region);
	xspace_text(writer->file, &event, "shape", block->shape);
	xspace_put(writer->file, &event);
}

/* Devices. */

static void kernels_free(struct kernel_texts *kernels)
{
	for (size_t i = 0; i < KERNELS_KEPT; i++) {
		text_free(&kernels[i].plain);
		text_free(&kernels[i].details);
	}
	free(kernels);
}

static void add_kernel(struct writer *writer, const struct span *span, struct xspace_event *event)
{
	struct kernel_texts *texts = &writer->kernels[((uintptr_t)span->shape / sizeof(*span->shape) + span->device) % KERNELS_KEPT];

	if (!texts->mangled || texts->mangled != span->name || texts->shape != span->shape || texts->device != span->device) {
		*texts = (struct kernel_texts){.shape = span->shape, .mangled = span->name, .device = span->device,
					       .plain = texts->plain, .details = texts->details};
		demangle(span->name, &texts->plain);
		xplane_details(&texts->details, writer->process->gpu, span);
	}
	event->name = texts->plain.bytes;
	xspace_text(writer->file, event, "kernel_details", texts->details.bytes);
}

/* As TensorFlow's collector says it, of what is known. */
static void put_memory(struct text *details, const char *key, unsigned memory)
{
	static const char *const kinds[] = {NULL, "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static"};

	if (memory && memory < sizeof(kinds) / sizeof(kinds[0]))
		text_format(details, "%s:%s ", key, kinds[memory]);
}

static void put_manner(struct text *details, const struct span *span)
{
	if (span->manner < 2)
		text_format(details, " async:%u", (unsigned)span->manner);
}

/* Spelled so that xprof knows what the copy is: its own collector's MemcpyH2D it takes for a kernel. */
static void add_copy(struct writer *writer, const struct span *span, struct xspace_event *event)
{
	static const char *const names[] = {"MemcpyOther", "MemcpyHToD", "MemcpyDToH", "MemcpyHToD", "MemcpyDToH", "MemcpyDToD",
					    "MemcpyDToD",  "MemcpyDToD", "MemcpyDToD", "MemcpyHToH", "MemcpyDToD"};

	event->name = names[span->copy_kind < sizeof(names) / sizeof(names[0]) ? span->copy_kind : 0];
	text_clear(&writer->details);
	put_memory(&writer->details, "kind_src", span->from_memory);
	put_memory(&writer->details, "kind_dst", span->to_memory);
	text_format(&writer->details, "num_bytes:%" PRIu64 " size:%" PRIu64, span->bytes, span->bytes);
	put_manner(&writer->details, span);
	xspace_text(writer->file, event, "memcpy_details", writer->details.bytes);
}

static void add_set(struct writer *writer, const struct span *span, struct xspace_event *event)
{
	event->name = "Memset";
	text_clear(&writer->details);
	put_memory(&writer->details, "kind", span->to_memory);
	text_format(&writer->details, "num_bytes:%" PRIu64, span->bytes);
	put_manner(&writer->details, span);
	xspace_text(writer->file, event, "Memset_details", writer->details.bytes);
}

static uint32_t plane_of(struct writer *writer, uint32_t device)
{
	if (!writer->device_plane || writer->device != device)
		writer->device_plane = xplane_device(writer->file, writer->process->gpu, device) + 1;
	writer->device = device;
	return writer->device_plane - 1;
}

static uint32_t queue_line(struct writer *writer, uint32_t plane, const struct span *span)
{
	int64_t id = (int64_t)span->lane << 32 | span->stream;
	uint32_t known = xspace_known_line(writer->file, plane, id);
	char name[64];

	if (known != UINT32_MAX)
		return known;
	snprintf(name, sizeof(name), span->lane ? "Stream #%" PRIu32 "(%" PRIu32 ")" : "Stream #%" PRIu32, span->stream,
		 span->lane + 1);
	return xspace_line(writer->file, plane, id, name);
}

static void put_work(struct writer *writer, const struct span *span)
{
	struct xspace_event event = {.plane = plane_of(writer, span->device),
				     .start_ns = span->start_ns,
				     .duration_ns = span->duration_ns,
				     .name = span->name};
	event.line = queue_line(writer, event.plane, span);
	if (span->flow)
		xspace_natural(writer->file, &event, "correlation_id", span->flow);
	if (span->what == SPAN_KERNEL)
		add_kernel(writer, span, &event);
	else if (span->what == SPAN_COPY || span->what == SPAN_HOST_COPY)
		add_copy(writer, span, &event);
	else if (span->what == SPAN_SET)
		add_set(writer, span, &event);
	else
		event.name = "CudaGraphExec";
	if (span->op)
		xspace_text(writer->file, &event, "tf_op", op_text(writer, span->op));
	xspace_text(writer->file, &event, "shape", span->shapes);
	if (span->graph)
		xspace_natural(writer->file, &event, "cuda_graph_exec_id", span->graph);
	put_flowing(writer, span, &event);
}

static int put_span(void *context, const struct span *span)
{
	struct writer *writer = context;

	if (!request_wants_span(writer->request, span) || put_alike(writer, span))
		return 0;
	switch (span->what) {
	case SPAN_RANGE:
	case SPAN_OP:
	case SPAN_TRACE:
		if (span->on == SPAN_THREAD && span->thread)
			put_range(writer, span);
		break;
	case SPAN_CALL:
		put_call(writer, span);
		break;
	case SPAN_KERNEL:
	case SPAN_COPY:
	case SPAN_HOST_COPY:
	case SPAN_SET:
	case SPAN_GRAPH:
		put_work(writer, span);
		break;
	case SPAN_BLOCK:
		put_block(writer, span);
		break;
	default:
		break;
	}
	return 0;
}

/* Steps. */

/*
 * Until when a step lasts: its own end, or the next one's begin. Of a last one without an end only a device can tell: there the
 * root holds all calls that follow, and its work says how long it took; else TIME_UNKNOWN.
 */
static int64_t step_end(const struct process *process, size_t i)
{
	const struct step *step = &process->steps[i];

	if (step->end_ns != TIME_UNKNOWN)
		return step->end_ns;
	for (size_t n = i + 1; n < process->step_count; n++)
		if (process->steps[n].is_chosen && process->steps[n].thread == step->thread)
			return process->steps[n].time_ns;
	return process->gpu && process->gpu->queue_count ? process->end_ns : TIME_UNKNOWN;
}

/* A root that holds the calls of its own thread, and on every other thread that launched a consumer of what it produces. */
static void put_step(struct writer *writer, size_t i, uint32_t home)
{
	const struct process *process = writer->process;
	const struct step *step = &process->steps[i];
	int64_t end = step_end(process, i);
	struct xspace_event event = {.plane = writer->host,
				     .name = "train",
				     .start_ns = step->time_ns,
				     .duration_ns = end > step->time_ns ? (uint64_t)(end - step->time_ns) : 0};

	if (end == TIME_UNKNOWN)
		return;
	event.line = thread_line(writer, home);
	xspace_integer(writer->file, &event, "_r", 1);
	xspace_integer(writer->file, &event, "step_num", (int64_t)step->number);
	xspace_integer(writer->file, &event, "_pt", PRODUCED);
	xspace_integer(writer->file, &event, "_p", (int64_t)i + 1);
	xspace_put(writer->file, &event);
	for (size_t t = 0; t < process->thread_count; t++) {
		if (!writer->launches[t] || process->threads[t].serial == home)
			continue;
		event.count = 0;
		event.name = "step on another thread";
		event.line = thread_line(writer, process->threads[t].serial);
		xspace_integer(writer->file, &event, "_ct", PRODUCED);
		xspace_integer(writer->file, &event, "_c", (int64_t)i + 1);
		xspace_put(writer->file, &event);
	}
}

static void put_steps(struct writer *writer)
{
	const struct process *process = writer->process;
	uint32_t first = process->thread_count ? process->threads[0].serial : 0;

	for (size_t t = process->thread_count; t-- > 0;)
		first = writer->launches[t] ? process->threads[t].serial : first;
	for (size_t i = 0; i < process->step_count && first; i++)
		if (process->steps[i].is_chosen && request_wants_step(writer->request, writer->index, &process->steps[i]))
			put_step(writer, i, process->steps[i].thread ? process->steps[i].thread : first);
}

/* Files. */

static void put_surroundings(struct writer *writer)
{
	const struct run *run = writer->request->run;
	struct xspace_event about = {.plane = xspace_plane(writer->file, "Task Environment", 0)};
	char text[256];

	xspace_natural(writer->file, &about, "profile_start_time", (uint64_t)run->realtime_ns);
	xspace_natural(writer->file, &about, "profile_stop_time", (uint64_t)run->realtime_ns + (uint64_t)run->duration_ns);
	xspace_describe(writer->file, about.plane, &about);
	for (size_t i = 0; i < writer->process->loss_count; i++) {
		const struct loss *loss = &writer->process->losses[i];
		snprintf(text, sizeof(text), "tfprof: %" PRIu64 " x %s: %s", loss->count, loss->name, loss->help);
		xspace_warn(writer->file, text);
	}
	for (size_t i = 0; i < writer->process->note_count; i++)
		if (strstr(writer->process->notes[i].name, "of the profiler"))
			xspace_warn(writer->file, writer->process->notes[i].value);
}

/* The folder of a run in a TensorBoard log directory. */
static void make_folder(struct text *folder, const char *path, const char *run)
{
	const char *const levels[] = {"plugins", "profile", run};

	text_string(folder, path);
	output_folder(folder->bytes);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		text_format(folder, "/%s", levels[i]);
		output_folder(folder->bytes);
	}
}

/*
 * A message of protocol buffers has at most 2 GiB: no program could read more. Long before that xprof needs more memory than
 * most machines have (docs/foreign.md has what was measured).
 */
#define BYTES_MOST (UINT64_C(2) << 30)
#define BYTES_NOTED (200u << 20)
#define XPROF_TIMES 45u /* bytes of memory that xprof 2.24 takes a byte of the file */

static void check_bytes(const struct writer *writer)
{
	uint64_t bytes = xspace_bytes(writer->file), mib = bytes >> 20;
	double fits_ms = (double)writer->request->run->duration_ns / 1e6 * BYTES_NOTED / (double)(bytes ? bytes : 1);

	if (bytes >= BYTES_MOST - (BYTES_NOTED >> 1)) /* room for what is no event: names, losses */
		base_die("-f xplane: process %" PRIu32 " has %" PRIu64 " MiB of events; a file of 2 GiB is the most that any reader "
			 "of this format takes: choose a time (--window=0ms-%.0fms is about 200 MiB), or -f perfetto",
			 writer->process->pid, mib, fits_ms);
	if (bytes > BYTES_NOTED)
		base_note("-f xplane: the file of process %" PRIu32 " has %" PRIu64 " MiB; xprof takes about %" PRIu64
			  " GiB of memory to show it: choose a time (--window=0ms-%.0fms is about 200 MiB), or -f perfetto",
			  writer->process->pid, mib, bytes * XPROF_TIMES >> 30, fits_ms);
}

/* Returns whether the process did anything that has a place in an XSpace. */
static bool write_process(const char *top, const struct request *request, size_t index)
{
	struct run *run = request->run;
	struct writer writer = {.request = request, .process = &run->processes[index], .index = index, .file = xspace_make()};
	unsigned wants = (SPAN_ALL & ~(SPAN_BIT(SPAN_READ) | SPAN_BIT(SPAN_MEMORY) | SPAN_BIT(SPAN_STEP))) | SPAN_BIT(SPAN_BLOCK);
	struct span_options options = {.wants = wants, .visit = put_span, .context = &writer};
	struct text path = {0};
	bool is_any;

	writer.launches = base_alloc(writer.process->thread_count + 1, sizeof(*writer.launches));
	writer.kernels = base_alloc(KERNELS_KEPT, sizeof(*writer.kernels));
	writer.kept = base_alloc(EVENTS_KEPT, sizeof(*writer.kept));
	writer.host = xspace_plane(writer.file, "/host:CPU", 0);
	find_told(&writer);
	if (spans_stream(run, index, &options) != 0)
		base_die("out of memory while reading the logs");
	is_any = xspace_any(writer.file);
	if (is_any) {
		check_bytes(&writer);
		make_folder(&path, top, run->name);
		put_steps(&writer);
		put_surroundings(&writer);
		char *host = process_file_name(run, index);
		text_format(&path, "/%s.xplane.pb", host);
		FILE *file = output_open(path.bytes);
		xspace_write(writer.file, file, host);
		output_close(file, path.bytes);
		free(host);
	}
	text_free(&path);
	text_free(&writer.op);
	text_free(&writer.details);
	words_free(&writer.told);
	kernels_free(writer.kernels);
	free(writer.kept);
	for (size_t i = 0; i < writer.allocator_count; i++)
		live_free(&writer.allocators[i].blocks);
	free(writer.launches);
	xspace_free(writer.file);
	return is_any;
}

static void write_folder(const char *path, const struct request *request)
{
	bool is_any = false;

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			is_any |= write_process(path, request, i);
	if (!is_any)
		base_die("-f xplane: there is nothing for it here: no op, range, call or device work was recorded (-t run_env, windows and "
			 "losses say what was); the heap has no place in that format, -f perfetto or --html shows it");
}

const struct report_kind report_xplane = {
	.name = "xplane",
	.suffix = "xplane.pb",
	.help = "a TensorBoard log directory for the TensorFlow Profiler (xprof); give -o DIR; no tables",
	.is_without_sums = true,
	.write_folder = write_folder,
};
