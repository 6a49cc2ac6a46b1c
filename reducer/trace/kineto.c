/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto: the time line in the words of PyTorch's own profiler, for tools that know its files alone (Holistic Trace Analysis).
 *
 * A folder with a file for each process that trained or used a device, named and numbered as its ranks are; others (launchers,
 * processes that load data) have none: such tools take each file for a rank. Steps are called ProfilerStep#N.
 * Rule: what that format has no word for (reads, counters, windows) is left out; -f chrome has it. Not for reading back: the import is
 * reducer/import/kineto.c, which takes these files, too.
 */
#include "reducer/report/report.h"

#include "reducer/base/base.h"
#include "reducer/base/kineto_words.h"
#include "reducer/base/output.h"
#include "reducer/model/gpu.h"
#include "reducer/model/rank.h"
#include "reducer/model/spans.h"
#include "reducer/report/escape.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"
#include "reducer/trace/abreast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COPIES (SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_HOST_COPY))
#define WORK (SPAN_BIT(SPAN_KERNEL) | COPIES | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH))
#define STEPS_THREAD 0 /* of a process: no kernel thread has this id */
#define LANE_THREAD (UINT64_C(1) << 25) /* times the lane, + the thread's id, which is below: abreast.h */

struct writer {
	FILE *file;
	const struct request *request;
	const struct process *process;
	struct text line, name;
	const char *parting;
	int64_t last_ns; /* end of what ended last, steps aside */
	struct abreast abreast; /* rows that are no queue */
};

static void add_text(struct writer *writer, const char *text)
{
	text_clear(&writer->name);
	escape_visible(&writer->name, text, strlen(text));
	escape_json(&writer->line, writer->name.length ? writer->name.bytes : "", writer->name.length);
}

static const char *copy_word(uint32_t kind)
{
	static const char *const words[] = KINETO_COPIES;

	return words[kind < sizeof(words) / sizeof(words[0]) ? kind : 0];
}

static const char *memory_word(uint8_t memory)
{
	static const char *const words[] = KINETO_MEMORIES;

	return memory && memory < sizeof(words) / sizeof(words[0]) ? words[memory] : "Unknown";
}

static void add_name(struct writer *writer, const struct span *span)
{
	struct text name = {0};

	if (span->what == SPAN_KERNEL)
		demangle(span->name, &name);
	else if (span->what == SPAN_STEP)
		text_format(&name, KINETO_STEP_NAME "%" PRIu64, span->number);
	else if (SPAN_BIT(span->what) & COPIES)
		text_format(&name, "Memcpy %s (%s -> %s)", copy_word(span->copy_kind), memory_word(span->from_memory),
			    memory_word(span->to_memory));
	else if (span->what == SPAN_SET)
		text_format(&name, "Memset (%s)", memory_word(span->to_memory));
	else
		text_string(&name, span->name);
	add_text(writer, name.length ? name.bytes : "");
	text_free(&name);
}

/* Of a call by its library; those of other makers (import/calls.c) are called CUDA's in ROCm's Kineto, too. */
static const char *call_category(const char *library)
{
	static const char *const rows[][2] = {{"cuda runtime", "cuda_runtime"},
					      {"cuda driver", "cuda_driver"},
					      {"hip runtime", "cuda_runtime"},
					      {"other", "cuda_runtime"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(library, rows[i][0]) == 0)
			return rows[i][1];
	return "user_annotation"; /* cuBLAS and its kin */
}

static const char *category_of(const struct span *span)
{
	static const char *const words[SPAN_WHATS] = {
		[SPAN_RANGE] = "user_annotation", [SPAN_TRACE] = "user_annotation", [SPAN_STEP] = "user_annotation",
		[SPAN_OP] = "cpu_op",		  [SPAN_CALL] = "cuda_runtime",	    [SPAN_KERNEL] = "kernel",
		[SPAN_GRAPH] = "kernel",	  [SPAN_COPY] = "gpu_memcpy",	    [SPAN_SET] = "gpu_memset",
		[SPAN_COMPILE] = "overhead",	  [SPAN_OVERHEAD] = "overhead",	    [SPAN_HOST_COPY] = "gpu_memcpy"};

	for (size_t i = 0; span->what == SPAN_CALL && i < span->argument_count; i++)
		if (span->arguments[i].text && !strcmp(span->arguments[i].name, "library"))
			return call_category(span->arguments[i].text);
	return words[span->what];
}

/* A piece of a text of shapes: "float[8,3]", "(1,1)" of a list, "" of what is no tensor. */
static void add_dimensions(struct text *line, const char *piece, size_t length)
{
	const char *from = memchr(piece, '[', length);

	text_string(line, "[");
	for (size_t i = from ? (size_t)(from + 1 - piece) : length; i < length && piece[i] != ']'; i++)
		text_format(line, "%c", (piece[i] >= '0' && piece[i] <= '9') ? piece[i] : ',');
	text_string(line, "]");
}

/* Bytes of the log inside a string: a type's name, as another profiler's file has it, may be anything. */
static void add_plain(struct text *line, const char *bytes, size_t length)
{
	struct text visible = {0}, quoted = {0};

	escape_visible(&visible, bytes, length);
	escape_json(&quoted, visible.length ? visible.bytes : "", visible.length);
	text_put(line, quoted.bytes + 1, quoted.length - 2);
	text_free(&visible);
	text_free(&quoted);
}

/* As that profiler calls types; those of C are called so here, too. */
static void add_type(struct text *line, const char *piece, size_t length)
{
	static const struct {
		const char *ours, *theirs;
	} names[] = KINETO_TYPES;
	const char *bracket = memchr(piece, '[', length);
	size_t name = bracket ? (size_t)(bracket - piece) : 0;

	text_string(line, "\"");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name == strlen(names[i].ours) && strncmp(piece, names[i].ours, name) == 0) {
			text_format(line, "%s\"", names[i].theirs);
			return;
		}
	if (bracket)
		add_plain(line, piece, name);
	else
		text_string(line, length && piece[0] == '(' ? "ScalarList" : "");
	text_string(line, "\"");
}

/* The numbers of a list: "(1,1)" as "[1, 1]". */
static void add_value(struct text *line, const char *piece, size_t length)
{
	bool is_list = length > 2 && piece[0] == '(';

	text_string(line, is_list ? "\"[" : "\"");
	for (size_t i = 1; is_list && i + 1 < length; i++) {
		add_plain(line, &piece[i], 1);
		text_string(line, piece[i] == ',' ? " " : "");
	}
	text_string(line, is_list ? "]\"" : "\"");
}

/* What an op of PyTorch was given (TFPROF_OPS=shapes). */
static void add_inputs(struct writer *writer, const char *inputs)
{
	void (*const adds[])(struct text *line, const char *piece, size_t length) = {add_dimensions, add_type, add_value};
	static const char *const keys[] = {"\"Input Dims\":[", ",\"Input type\":[", ",\"Concrete Inputs\":["};

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		const char *piece = inputs;
		text_string(&writer->line, keys[k]);
		for (size_t length = strcspn(piece, ";");; piece += length + 1, length = strcspn(piece, ";")) {
			adds[k](&writer->line, piece, length);
			if (!piece[length])
				break;
			text_string(&writer->line, ",");
		}
		text_string(&writer->line, "]");
	}
}

static void add_work(struct writer *writer, const struct span *span)
{
	struct text *line = &writer->line;

	text_format(line, "\"device\":%" PRIu32 ",\"context\":%" PRIu32 ",\"stream\":%" PRIu32, span->device, span->context, span->stream);
	if (span->flow)
		text_format(line, ",\"correlation\":%" PRIu64, span->flow);
	if (SPAN_BIT(span->what) & (COPIES | SPAN_BIT(SPAN_SET)))
		text_format(line, ",\"bytes\":%" PRIu64, span->bytes);
	if ((span->what == SPAN_COPY || span->what == SPAN_SET) && span->duration_ns)
		text_format(line, ",\"memory bandwidth (GB/s)\":%.6f", (double)span->bytes / (double)span->duration_ns);
	if (span->graph)
		text_format(line, ",\"graph id\":%" PRIu32, span->graph);
	if (span->shape) {
		const struct gpu_shape *shape = span->shape;
		text_format(line, ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
			    shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2]);
		text_format(line, ",\"registers per thread\":%" PRIu32 ",\"shared memory\":%" PRIu32, shape->registers,
			    shape->static_shared + shape->dynamic_shared);
	}
}

static void add_time(struct text *to, int64_t ns)
{
	text_format(to, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000,
		    (unsigned)((ns < 0 ? -(uint64_t)ns : (uint64_t)ns) % 1000));
}

static void put_line(struct writer *writer)
{
	fprintf(writer->file, "%s\n", writer->parting);
	fwrite(writer->line.bytes, 1, writer->line.length, writer->file);
	writer->parting = ",";
	text_clear(&writer->line);
}

/* The id of its row: the thread's own, or where it crosses what is there that of a row beside it. */
static uint64_t row_of(struct writer *writer, const struct span *span, int64_t end_ns)
{
	const struct thread *thread = span->on == SPAN_THREAD ? process_thread(writer->process, span->track) : NULL;
	uint32_t id = thread ? thread->tid : STEPS_THREAD;
	int is_first;
	uint32_t lane = abreast_lane(&writer->abreast, id, span->start_ns, end_ns, &is_first);
	struct text name = {0};

	if (!lane)
		return id;
	if (is_first) {
		abreast_label(&name, thread, lane);
		text_format(&writer->line,
			    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"args\":{\"name\":",
			    writer->process->pid, id + LANE_THREAD * lane);
		add_text(writer, name.bytes);
		text_string(&writer->line, "}}");
		put_line(writer);
		text_free(&name);
	}
	return id + LANE_THREAD * lane;
}

/* What torch.profiler itself called a step: it is written as the step that it is, or makes none. */
static bool is_said_as_step(const struct span *span)
{
	return (span->what == SPAN_RANGE || span->what == SPAN_OP || span->what == SPAN_TRACE) && kineto_is_step(span->name);
}

static int put_span(void *context, const struct span *span)
{
	struct writer *writer = context;
	struct text *line = &writer->line;
	int64_t end_ns = span->start_ns + (int64_t)span->duration_ns;
	uint64_t row;

	/* That format knows no step without an end. Where the log has none, the last work is it: the rest of the program is no step. */
	if (span->what != SPAN_STEP && span->kind == SPAN_WHOLE && !span->is_open)
		writer->last_ns = end_ns > writer->last_ns ? end_ns : writer->last_ns;
	else if (span->what == SPAN_STEP && span->is_open && writer->last_ns < end_ns)
		end_ns = writer->last_ns;
	if (end_ns < span->start_ns)
		return 0; /* the last mark of a loop, with no work behind it: who reads a step of 0 ns takes it for the fastest */
	if (span->kind != SPAN_WHOLE || !category_of(span) || is_said_as_step(span) || end_ns < writer->request->from_ns ||
	    !request_draws_span(writer->request, span))
		return 0;
	row = span->on == SPAN_QUEUE ? span->stream : row_of(writer, span, end_ns);
	text_format(line, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category_of(span));
	add_name(writer, span);
	text_format(line, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu64, span->on == SPAN_QUEUE ? span->device : writer->process->pid, row);
	text_string(line, ",\"ts\":");
	add_time(line, span->start_ns);
	text_string(line, ",\"dur\":");
	add_time(line, end_ns - span->start_ns);
	text_string(line, ",\"args\":{");
	if (span->on == SPAN_QUEUE)
		add_work(writer, span);
	else if (span->what == SPAN_CALL && span->flow)
		text_format(line, "\"correlation\":%" PRIu64, span->flow);
	else if (span->what == SPAN_OP && span->inputs)
		add_inputs(writer, span->inputs);
	text_string(line, "}}");
	put_line(writer);
	return 0;
}

static void put_devices(struct writer *writer)
{
	const struct gpu *gpu = writer->process->gpu;

	text_string(&writer->line, "\"deviceProperties\":[");
	for (size_t i = 0; gpu && i < gpu->device_count; i++) {
		const struct gpu_device *device = &gpu->devices[i];
		text_format(&writer->line, "%s{\"id\":%" PRIu32 ",\"name\":", i ? "," : "", device->id);
		add_text(writer, device->name);
		text_format(&writer->line, ",\"totalGlobalMem\":%" PRIu64 ",\"computeMajor\":%" PRIu64 ",\"computeMinor\":%" PRIu64,
			    device->memory_bytes, device->major, device->minor);
		text_format(&writer->line, ",\"numSms\":%" PRIu64 ",\"warpSize\":%" PRIu64 "}", device->multiprocessors, device->warp);
	}
	text_string(&writer->line, "],");
	put_line(writer);
}

static void put_head(struct writer *writer)
{
	uint64_t rank;

	fprintf(writer->file, "{\"schemaVersion\":1,\"baseTimeNanoseconds\":%" PRId64 ",", writer->request->run->realtime_ns);
	if (process_rank(writer->process, &rank) == 0) /* the space is what Holistic Trace Analysis looks for */
		fprintf(writer->file, "\"distributedInfo\":{\"rank\": %" PRIu64 "},", rank);
	writer->parting = "";
	put_devices(writer);
	fputs("\"traceEvents\":[", writer->file);
	writer->parting = "";
	text_format(&writer->line, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu32 ",\"tid\":0,\"args\":{\"name\":",
		    writer->process->pid);
	add_text(writer, writer->process->command);
	text_string(&writer->line, "}}");
	put_line(writer);
}

static int found(void *context, const struct span *span)
{
	(void)context;
	(void)span;
	return 1;
}

/* Returns whether the process has a file: it made steps or used a device. */
static bool write_process(const char *folder, const struct request *request, size_t index)
{
	struct writer writer = {.request = request, .process = &request->run->processes[index]};
	struct span_options look = {.wants = WORK | SPAN_BIT(SPAN_STEP), .visit = found, .is_without_arguments = 1};
	struct span_options options = {.wants = SPAN_ALL & ~(SPAN_BIT(SPAN_READ) | SPAN_BIT(SPAN_MEMORY) | SPAN_BIT(SPAN_USE)),
				       .visit = put_span,
				       .context = &writer};
	char *name = process_file_name(request->run, index);
	struct text path = {0};
	int result = spans_stream(request->run, index, &look);

	if (result == 0) {
		free(name);
		return false;
	}
	output_folder(folder);
	text_format(&path, "%s/%s.pt.trace.json", folder, name);
	writer.file = output_open(path.bytes);
	put_head(&writer);
	if (result < 0 || spans_stream(request->run, index, &options) != 0)
		base_die("out of memory while reading the logs");
	fputs("\n]}\n", writer.file);
	output_close(writer.file, path.bytes);
	abreast_free(&writer.abreast);
	free(name);
	text_free(&path);
	text_free(&writer.line);
	text_free(&writer.name);
	return true;
}

static void write_folder(const char *path, const struct request *request)
{
	bool is_any = false;

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			is_any |= write_process(path, request, i);
	if (!is_any)
		base_die("-f kineto: no process made steps or used a device, and the tools that read it look for these alone: -f chrome or "
			 "-f perfetto shows the rest");
}

const struct report_kind report_kineto = {
	.name = "kineto",
	.suffix = "pt.trace.json",
	.help = "the time line as PyTorch's profiler writes it, a file a rank, for Holistic Trace Analysis; give -o DIR; no tables",
	.is_without_sums = true,
	.write_folder = write_folder,
};
