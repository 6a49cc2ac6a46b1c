/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome: the time line as JSON trace events, as chrome://tracing, Perfetto's page and Speedscope open it.
 *
 * Each process of the run is one there, its threads are threads; the streams of its devices are threads of a further
 * process for each device. Arrows go from a call to the device work it started. Times are us with three decimals.
 * Rule: written as the spans come, so memory does not follow the log; every text goes through escape_json.
 */
#include "reducer/report/report.h"

#include "reducer/model/gpu.h"
#include "reducer/model/spans.h"
#include "reducer/report/escape.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHROME_MOST UINT64_C(400000000) /* bytes: larger files are opened by no viewer we know */
#define KERNELS_KEPT 512u		/* a power of two */
#define STEPS_THREAD 0			/* of a process: steps and windows; no kernel thread has this id */

struct chrome {
	FILE *file;
	const struct request *request;
	struct text line, name;
	uint64_t bytes;
	int64_t last_ns;  /* end of the last span */
	size_t processes; /* begun */
	/* Kernels seen lately, by their names: demangling one takes longer than all else about it. */
	struct chrome_kernel {
		const char *mangled; /* lives until the pass over the process is over */
		struct text name;    /* as it is written */
	} *kernels;
	int is_first;
};

/* Spans come in the order of their ends, so what was written until now is a window that fits, if one process wrote it. */
static _Noreturn void refuse(struct chrome *chrome)
{
	struct text window = {0};

	if (fflush(chrome->file) == 0 && ftruncate(fileno(chrome->file), 0) == 0)
		rewind(chrome->file);
	if (chrome->processes == 1)
		text_format(&window, "; --window=%" PRId64 "ms-%" PRId64 "ms fits",
			    chrome->request->from_ns > 0 ? (chrome->request->from_ns + 999999) / 1000000 : 0,
			    chrome->last_ns / 1000000);
	base_die("-f chrome: more than %" PRIu64
		 " MB, which no viewer opens: choose a time (--window FROM-TO%s), a process (--process), or -f perfetto",
		 CHROME_MOST / 1000000, window.length ? window.bytes : "");
}

static void put_line(struct chrome *chrome)
{
	chrome->bytes += chrome->line.length + 2;
	if (chrome->bytes > CHROME_MOST)
		refuse(chrome);
	fputs(chrome->is_first ? "\n" : ",\n", chrome->file);
	chrome->is_first = 0;
	fwrite(chrome->line.bytes, 1, chrome->line.length, chrome->file);
	text_clear(&chrome->line);
}

static void add_text(struct chrome *chrome, const char *text)
{
	text_clear(&chrome->name);
	escape_visible(&chrome->name, text, strlen(text));
	escape_json(&chrome->line, chrome->name.length ? chrome->name.bytes : "", chrome->name.length);
}

/* A number for the process of a device: kernel process ids stay below 2^22. */
static uint64_t device_process(const struct run *run, size_t process, uint32_t device)
{
	return (UINT64_C(1) << 22) + (uint64_t)run->processes[process].pid * 1024 + (device & 1023);
}

/* A number for a stream of a context, and for a lane of it where its work overlaps; JavaScript keeps 53 bits. */
static uint64_t queue_thread(const struct gpu_queue *queue, uint32_t lane)
{
	return ((uint64_t)queue->context << 24 | (queue->stream & 0xffffff)) * SPAN_LANES + lane;
}

static void add_place(struct chrome *chrome, const struct span *span)
{
	const struct run *run = chrome->request->run;
	const struct process *process = &run->processes[span->process];
	uint64_t pid = process->pid, tid = STEPS_THREAD;

	if (span->on == SPAN_QUEUE) {
		pid = device_process(run, span->process, process->gpu->queues[span->track].device);
		tid = queue_thread(&process->gpu->queues[span->track], span->lane);
	} else if (span->on == SPAN_THREAD) {
		for (size_t i = 0; i < process->thread_count; i++)
			if (process->threads[i].serial == span->track)
				tid = process->threads[i].tid;
	}
	text_string(&chrome->line, "\"pid\":");
	text_integer(&chrome->line, (int64_t)pid);
	text_string(&chrome->line, ",\"tid\":");
	text_integer(&chrome->line, (int64_t)tid);
}

/* `name`: what stands in front of the number. */
static void add_time(struct chrome *chrome, const char *name, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	char decimals[4] = {'.', (char)('0' + size / 100 % 10), (char)('0' + size / 10 % 10), (char)('0' + size % 10)};

	text_string(&chrome->line, name);
	if (ns < 0)
		text_char(&chrome->line, '-');
	text_integer(&chrome->line, (int64_t)(size / 1000));
	text_put(&chrome->line, decimals, sizeof(decimals));
}

static void add_number(struct chrome *chrome, uint64_t number)
{
	if (number <= INT64_MAX)
		text_integer(&chrome->line, (int64_t)number);
	else
		text_format(&chrome->line, "%" PRIu64, number);
}

static void add_arguments(struct chrome *chrome, const struct span *span)
{
	text_string(&chrome->line, ",\"args\":{");
	for (size_t i = 0; i < span->argument_count; i++) {
		text_string(&chrome->line, i ? "," : "");
		add_text(chrome, span->arguments[i].name);
		text_char(&chrome->line, ':');
		if (span->arguments[i].text != NULL)
			add_text(chrome, span->arguments[i].text);
		else
			add_number(chrome, span->arguments[i].number);
	}
	if (span->kind == SPAN_COUNTER)
		text_format(&chrome->line, "\"%s\":%.17g", span->what == SPAN_MEMORY ? "bytes" : "value", span->value);
	if (span->is_open)
		text_format(&chrome->line, "%s\"not ended\":true", span->argument_count ? "," : "");
	text_char(&chrome->line, '}');
}

static void add_kernel(struct chrome *chrome, const char *mangled)
{
	struct chrome_kernel *kernel = &chrome->kernels[((uintptr_t)mangled >> 4) % KERNELS_KEPT];
	size_t before = chrome->line.length;
	struct text plain = {0};

	if (kernel->mangled == mangled) {
		text_put(&chrome->line, kernel->name.bytes, kernel->name.length);
		return;
	}
	demangle(mangled, &plain);
	add_text(chrome, plain.bytes);
	text_free(&plain);
	text_clear(&kernel->name);
	text_put(&kernel->name, chrome->line.bytes + before, chrome->line.length - before);
	kernel->mangled = mangled;
}

static void add_name(struct chrome *chrome, const struct span *span)
{
	text_string(&chrome->line, "\"name\":");
	if (span->what == SPAN_KERNEL) {
		add_kernel(chrome, span->name);
	} else {
		add_text(chrome, span->name);
	}
	text_string(&chrome->line, ",\"cat\":\"");
	text_string(&chrome->line, span->category);
	text_char(&chrome->line, '"');
}

/* JavaScript keeps 53 bits of an id: 17 of the process, 36 of the correlation id. An arrow begins inside the call and ends at the
 * beginning of the device's work. */
static void put_flow(struct chrome *chrome, const struct span *span)
{
	text_string(&chrome->line, span->is_flow_start ? "{\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":"
						       : "{\"ph\":\"f\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":");
	text_integer(&chrome->line, (int64_t)((uint64_t)span->process << 36 | (span->flow & 0xfffffffff)));
	text_string(&chrome->line, span->is_flow_start ? "," : ",\"bp\":\"e\",");
	add_place(chrome, span);
	add_time(chrome, ",\"ts\":", span->start_ns);
	text_char(&chrome->line, '}');
	put_line(chrome);
}

static bool is_wanted(const struct request *request, const struct span *span)
{
	return span->start_ns < request->to_ns && span->start_ns + (int64_t)span->duration_ns >= request->from_ns;
}

static int put_span(void *context, const struct span *span)
{
	static const char *const phases[] = {[SPAN_WHOLE] = "{\"ph\":\"X\",", [SPAN_INSTANT] = "{\"ph\":\"i\",",
					    [SPAN_COUNTER] = "{\"ph\":\"C\","};
	struct chrome *chrome = context;

	if (!is_wanted(chrome->request, span))
		return 0;
	chrome->last_ns = span->start_ns + (int64_t)span->duration_ns;
	text_string(&chrome->line, phases[span->kind]);
	add_name(chrome, span);
	text_char(&chrome->line, ',');
	add_place(chrome, span);
	add_time(chrome, ",\"ts\":", span->start_ns);
	if (span->kind == SPAN_WHOLE)
		add_time(chrome, ",\"dur\":", (int64_t)span->duration_ns);
	if (span->kind == SPAN_INSTANT)
		text_format(&chrome->line, ",\"s\":\"%s\"", span->on == SPAN_THREAD ? "t" : "p");
	add_arguments(chrome, span);
	text_char(&chrome->line, '}');
	put_line(chrome);
	if (span->flow && span->kind == SPAN_WHOLE)
		put_flow(chrome, span);
	return 0;
}

static void put_label(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	text_format(&chrome->line,
		    "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"args\":{\"name\":", what, pid, tid);
	add_text(chrome, name);
	text_string(&chrome->line, "}}");
	put_line(chrome);
}

static void label_devices(struct chrome *chrome, size_t index)
{
	const struct run *run = chrome->request->run;
	const struct gpu *gpu = run->processes[index].gpu;
	struct text name = {0};

	for (size_t i = 0; gpu != NULL && i < gpu->device_count; i++) {
		text_clear(&name);
		text_format(&name, "GPU %" PRIu32 " %s (process %" PRIu32 ")", gpu->devices[i].id, gpu->devices[i].name,
			    run->processes[index].pid);
		put_label(chrome, "process_name", device_process(run, index, gpu->devices[i].id), 0, name.bytes);
	}
	for (size_t i = 0; gpu != NULL && i < gpu->queue_count; i++) {
		const struct gpu_queue *queue = &gpu->queues[i];
		text_clear(&name);
		text_format(&name, "context %" PRIu32 " stream %" PRIu32, queue->context, queue->stream);
		put_label(chrome, "thread_name", device_process(run, index, queue->device), queue_thread(queue, 0), name.bytes);
	}
	text_free(&name);
}

static void label(struct chrome *chrome, size_t index)
{
	const struct process *process = &chrome->request->run->processes[index];

	put_label(chrome, "process_name", process->pid, STEPS_THREAD, process->command);
	put_label(chrome, "thread_name", process->pid, STEPS_THREAD, "steps");
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].name[0])
			put_label(chrome, "thread_name", process->pid, process->threads[i].tid, process->threads[i].name);
	label_devices(chrome, index);
}

static void write_run(FILE *file, const struct request *request)
{
	struct chrome chrome = {.file = file, .request = request, .is_first = 1};
	struct run *run = request->run;
	struct span_options options = {.wants = SPAN_ALL, .visit = put_span, .context = &chrome};

	chrome.kernels = base_alloc(KERNELS_KEPT, sizeof(*chrome.kernels));
	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"run\":\"%s\"},\"traceEvents\":[", run->name);
	for (size_t i = 0; i < run->process_count; i++) {
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		chrome.processes++;
		for (size_t k = 0; k < KERNELS_KEPT; k++)
			chrome.kernels[k].mangled = NULL;
		label(&chrome, i);
		if (spans_stream(run, i, &options) != 0)
			base_die("out of memory while reading the logs");
	}
	fputs("\n]}\n", file);
	for (size_t k = 0; k < KERNELS_KEPT; k++)
		text_free(&chrome.kernels[k].name);
	free(chrome.kernels);
	text_free(&chrome.line);
	text_free(&chrome.name);
}

const struct report_kind report_chrome = {
	.name = "chrome",
	.suffix = "trace.json",
	.help = "the time line as trace events: chrome://tracing, Perfetto's page, Speedscope; no tables",
	.write_run = write_run,
};
