/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome: the time line as JSON trace events, as chrome://tracing, Perfetto's page and Speedscope open it.
 *
 * Each process of the run is one there, its threads are threads; the streams of its devices are threads of a further
 * process for each device. Arrows go from a call to the device work it started. Times are us with three decimals.
 * Rule: written as the spans come, so memory does not follow the log; every text goes through escape_json, once for all spans that
 * say the same but for their numbers (patterns.h).
 */
#include "reducer/report/report.h"

#include "reducer/model/gpu.h"
#include "reducer/model/number_map.h"
#include "reducer/model/rank.h"
#include "reducer/model/spans.h"
#include "reducer/report/escape.h"
#include "reducer/symbols/demangle.h"
#include "reducer/tables/request.h"
#include "reducer/trace/abreast.h"
#include "reducer/trace/patterns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHROME_MOST UINT64_C(400000000) /* bytes: larger files are opened by no viewer we know */
#define BUFFER_BYTES 262144u		/* written at once */
#define NUMBER_MOST (BASE_DIGITS + 5)	/* bytes of a number or time: a sign, a point and three decimals */
enum { START = SPAN_ARGUMENTS, DURATION, FLOW }; /* numbers of a pattern beside those of arguments */
/*
 * Rows that are no thread, beside the ids of those: of a thread what a framework tells when it is over; of a
 * process steps and windows. No two of a run are alike, and none is 0: for Perfetto's page that is the process's first thread, beside
 * whose spans it drops a step that begins in one of them.
 */
#define PIDS (UINT32_C(1) << 22)	   /* ids of the kernel's threads and processes are below */
#define TRACES_THREAD ((uint64_t)PIDS)	   /* + thread's id */
#define STEPS_THREAD ((uint64_t)PIDS * 2) /* + process's number */
#define LANE_THREAD ((uint64_t)PIDS * 8)  /* times the lane, + one of these: abreast.h */

struct chrome {
	FILE *file;
	const struct request *request;
	struct text line, name;
	struct patterns *patterns;
	char *buffer; /* not yet in the file */
	size_t used, room;
	uint64_t bytes;
	int64_t last_ns;  /* end of the last span */
	size_t processes; /* begun */
	uint32_t *numbers; /* of the run's processes, as number_processes has them */
	struct number_map traced; /* serials of threads of the process whose TRACES_THREAD is labelled */
	struct abreast abreast; /* rows of the process that are no queue */
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

static void flush(struct chrome *chrome)
{
	if (chrome->used)
		fwrite(chrome->buffer, 1, chrome->used, chrome->file);
	chrome->used = 0;
}

/* Room for a line of so many bytes, with what parts it from the one before. */
static char *begin_line(struct chrome *chrome, size_t most)
{
	if (chrome->used + most + 2 > chrome->room) {
		flush(chrome);
		chrome->buffer = base_grow(chrome->buffer, &chrome->room, most + 2 > BUFFER_BYTES ? most + 2 : BUFFER_BYTES, 1);
	}
	char *to = chrome->buffer + chrome->used;
	if (!chrome->is_first)
		*to++ = ',';
	*to++ = '\n';
	return to;
}

/* What begin_line gave is filled to `end`, a line of `length` bytes. */
static void end_line(struct chrome *chrome, const char *end, size_t length)
{
	chrome->bytes += length + 2;
	if (chrome->bytes > CHROME_MOST)
		refuse(chrome);
	chrome->is_first = 0;
	chrome->used = (size_t)(end - chrome->buffer);
}

static void add_text(struct chrome *chrome, struct text *to, const char *text)
{
	text_clear(&chrome->name);
	escape_visible(&chrome->name, text, strlen(text));
	escape_json(to, chrome->name.length ? chrome->name.bytes : "", chrome->name.length);
}

static bool is_in(const struct number_map *map, uint32_t number)
{
	return number_map_find(map, 0, number) != NUMBER_MAP_NONE;
}

static void put_in(struct number_map *map, uint32_t number)
{
	if (number_map_set(map, 0, number, 1) != 0)
		base_die("out of memory for the processes of the time line");
}

/* Their pids, each once: of several hosts, or in files that tell none, two may have one, and viewers would draw them as one. */
static void number_processes(struct chrome *chrome)
{
	const struct run *run = chrome->request->run;
	struct number_map pids = {0}, given = {0};
	uint32_t made = PIDS;

	chrome->numbers = base_alloc(run->process_count + 1, sizeof(*chrome->numbers));
	for (size_t i = 0; i < run->process_count; i++)
		put_in(&pids, run->processes[i].pid);
	for (size_t i = 0; i < run->process_count; i++) {
		uint32_t pid = run->processes[i].pid;
		chrome->numbers[i] = pid;
		if (pid && !is_in(&given, pid)) {
			put_in(&given, pid);
			continue;
		}
		do
			made--;
		while (is_in(&pids, made));
		chrome->numbers[i] = made;
	}
	number_map_free(&pids);
	number_map_free(&given);
}

/* A number for the process of a device. */
static uint64_t device_process(const struct chrome *chrome, size_t process, uint32_t device)
{
	return PIDS + (uint64_t)chrome->numbers[process] * 1024 + (device & 1023);
}

/* A number for a stream of a context, and for a lane of it where its work overlaps; JavaScript keeps 53 bits. */
static uint64_t queue_thread(const struct gpu_queue *queue, uint32_t lane)
{
	return ((uint64_t)queue->context << 24 | (queue->stream & 0xffffff)) * SPAN_LANES + lane;
}

/* The row of what is no work of a queue, but for its lane. */
static uint64_t row_of(const struct chrome *chrome, const struct span *span)
{
	const struct process *process = &chrome->request->run->processes[span->process];
	const struct thread *thread = span->on == SPAN_THREAD ? process_thread(process, span->track) : NULL;

	if (!thread)
		return STEPS_THREAD + chrome->numbers[span->process];
	return thread->tid + (span->what == SPAN_TRACE ? TRACES_THREAD : 0);
}

static void add_place(struct chrome *chrome, struct text *to, const struct span *span)
{
	const struct process *process = &chrome->request->run->processes[span->process];
	uint64_t pid = chrome->numbers[span->process], tid;

	if (span->on == SPAN_QUEUE) {
		pid = device_process(chrome, span->process, process->gpu->queues[span->track].device);
		tid = queue_thread(&process->gpu->queues[span->track], span->lane);
	} else {
		tid = row_of(chrome, span) + LANE_THREAD * span->lane;
	}
	text_string(to, "\"pid\":");
	text_integer(to, (int64_t)pid);
	text_string(to, ",\"tid\":");
	text_integer(to, (int64_t)tid);
}

static void add_arguments(struct chrome *chrome, struct pattern *pattern, const struct span *span)
{
	struct text *to = &pattern->bytes;

	text_string(to, ",\"args\":{");
	for (size_t i = 0; i < span->argument_count; i++) {
		text_string(to, i ? "," : "");
		add_text(chrome, to, span->arguments[i].name);
		text_char(to, ':');
		if (span->arguments[i].text != NULL)
			add_text(chrome, to, span->arguments[i].text);
		else if (pattern_leaves(pattern, span, i))
			pattern_end(pattern, (uint32_t)i, 0);
		else
			text_format(to, "%" PRIu64, span->arguments[i].number);
	}
	if (span->kind == SPAN_COUNTER)
		text_format(to, "\"%s\":%.17g", span->what == SPAN_MEMORY ? "bytes" : "value", span->value);
	if (span->is_open)
		text_format(to, "%s\"not ended\":true", span->argument_count ? "," : "");
	text_char(to, '}');
}

static void add_name(struct chrome *chrome, struct text *to, const struct span *span)
{
	struct text plain = {0};

	text_string(to, "\"name\":");
	if (span->what == SPAN_KERNEL)
		demangle(span->name, &plain);
	add_text(chrome, to, span->what == SPAN_KERNEL ? plain.bytes : span->name);
	text_free(&plain);
	text_string(to, ",\"cat\":\"");
	text_string(to, span->category);
	text_char(to, '"');
}

/* JavaScript keeps 53 bits of an id: 17 of the process, 36 of the correlation id. An arrow begins inside the call and ends at the
 * beginning of the device's work. */
static void add_flow(struct chrome *chrome, struct pattern *pattern, const struct span *span)
{
	struct text *to = &pattern->bytes;

	text_string(to, span->is_flow_start ? ",\n{\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":"
					    : ",\n{\"ph\":\"f\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":");
	pattern_end(pattern, FLOW, 0);
	text_string(to, span->is_flow_start ? "," : ",\"bp\":\"e\",");
	add_place(chrome, to, span);
	text_string(to, ",\"ts\":");
	pattern_end(pattern, START, 0);
	text_char(to, '}');
}

/* A line, and a second one where it has an arrow. */
static void make_pattern(struct chrome *chrome, struct pattern *pattern, const struct span *span)
{
	static const char *const phases[] = {[SPAN_WHOLE] = "{\"ph\":\"X\",", [SPAN_INSTANT] = "{\"ph\":\"i\",",
					    [SPAN_COUNTER] = "{\"ph\":\"C\","};
	struct text *to = &pattern->bytes;

	text_string(to, phases[span->kind]);
	add_name(chrome, to, span);
	text_char(to, ',');
	add_place(chrome, to, span);
	text_string(to, ",\"ts\":");
	pattern_end(pattern, START, 0);
	if (span->kind == SPAN_WHOLE) {
		text_string(to, ",\"dur\":");
		pattern_end(pattern, DURATION, 0);
	}
	if (span->kind == SPAN_INSTANT)
		text_format(to, ",\"s\":\"%s\"", span->on == SPAN_THREAD ? "t" : "p");
	add_arguments(chrome, pattern, span);
	text_char(to, '}');
	if (span->flow && span->kind == SPAN_WHOLE)
		add_flow(chrome, pattern, span);
	pattern_end(pattern, PATTERN_NONE, 0);
}

static char *put_time(char *to, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	*to = '-';
	to = base_put_natural(to + (ns < 0), size / 1000);
	*to++ = '.';
	*to++ = (char)('0' + size / 100 % 10);
	*to++ = (char)('0' + size / 10 % 10);
	*to++ = (char)('0' + size % 10);
	return to;
}

static char *put_number(char *to, const struct span *span, uint32_t which)
{
	if (which == START)
		return put_time(to, span->start_ns);
	if (which == DURATION)
		return put_time(to, (int64_t)span->duration_ns);
	if (which == FLOW)
		return base_put_natural(to, (uint64_t)span->process << 36 | (span->flow & 0xfffffffff));
	return which == PATTERN_NONE ? to : base_put_natural(to, span->arguments[which].number);
}

/* What stands in chrome->line. */
static void put_line(struct chrome *chrome)
{
	char *to = begin_line(chrome, chrome->line.length);

	memcpy(to, chrome->line.bytes, chrome->line.length);
	end_line(chrome, to + chrome->line.length, chrome->line.length);
}

static void put_label(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	text_clear(&chrome->line);
	text_format(&chrome->line,
		    "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"args\":{\"name\":", what, pid, tid);
	add_text(chrome, &chrome->line, name);
	text_string(&chrome->line, "}}");
	put_line(chrome);
}

/*
 * What a framework tells when it is over has readings of the clock of its own, by which it may begin nanoseconds before what it lies
 * in: beside the thread's other spans viewers would cut it or them.
 */
static void label_traces(struct chrome *chrome, const struct span *span)
{
	const struct process *process = &chrome->request->run->processes[span->process];
	const struct thread *thread = is_in(&chrome->traced, span->track) ? NULL : process_thread(process, span->track);
	struct text name = {0};

	if (!thread)
		return;
	put_in(&chrome->traced, span->track);
	text_format(&name, "%s TraceMe", thread->name);
	put_label(chrome, "thread_name", chrome->numbers[span->process], thread->tid + TRACES_THREAD, name.bytes);
	text_free(&name);
}

static void label_lane(struct chrome *chrome, const struct span *span, uint64_t row, uint32_t lane)
{
	const struct process *process = &chrome->request->run->processes[span->process];
	const struct thread *thread = span->on == SPAN_THREAD ? process_thread(process, span->track) : NULL;
	struct text name = {0};

	abreast_label(&name, thread, lane);
	put_label(chrome, "thread_name", chrome->numbers[span->process], row + LANE_THREAD * lane, name.bytes);
	text_free(&name);
}

/* 0, or which row beside its own: it crosses others there. */
static uint32_t choose_lane(struct chrome *chrome, const struct span *span)
{
	uint64_t row = row_of(chrome, span);
	int is_first;
	uint32_t lane = abreast_lane(&chrome->abreast, row, span->start_ns, span->start_ns + (int64_t)span->duration_ns, &is_first);

	if (is_first && lane)
		label_lane(chrome, span, row, lane);
	return lane;
}

static int put_span(void *context, const struct span *span)
{
	struct chrome *chrome = context;
	struct span laned;
	uint32_t lane;
	struct pattern *pattern;
	size_t done = 0;
	bool is_known;
	char *to, *from;

	if (!request_draws_span(chrome->request, span))
		return 0;
	if (span->kind == SPAN_WHOLE && span->on != SPAN_QUEUE && (lane = choose_lane(chrome, span)) != 0) {
		laned = *span; /* a large copy: few are */
		laned.lane = lane;
		span = &laned;
	}
	chrome->last_ns = span->start_ns + (int64_t)span->duration_ns;
	pattern = patterns_of(chrome->patterns, span, &is_known);
	if (!is_known && span->what == SPAN_TRACE && span->on == SPAN_THREAD)
		label_traces(chrome, span);
	if (!is_known)
		make_pattern(chrome, pattern, span);
	from = to = begin_line(chrome, pattern->bytes.length + pattern->count * NUMBER_MOST);
	for (size_t i = 0; i < pattern->count; i++) {
		const struct pattern_piece *piece = &pattern->pieces[i];
		memcpy(to, pattern->bytes.bytes + done, piece->end - done);
		to = put_number(to + (piece->end - done), span, piece->argument);
		done = piece->end;
	}
	end_line(chrome, to, (size_t)(to - from));
	return 0;
}

static void label_devices(struct chrome *chrome, size_t index)
{
	const struct run *run = chrome->request->run;
	const struct gpu *gpu = run->processes[index].gpu;
	struct text name = {0};

	for (size_t i = 0; gpu != NULL && i < gpu->device_count; i++) {
		text_clear(&name);
		text_format(&name, "GPU %" PRIu32 " %s (process %s)", gpu->devices[i].id, gpu->devices[i].name,
			    run->processes[index].called);
		put_label(chrome, "process_name", device_process(chrome, index, gpu->devices[i].id), 0, name.bytes);
	}
	for (size_t i = 0; gpu != NULL && i < gpu->queue_count; i++) {
		const struct gpu_queue *queue = &gpu->queues[i];
		text_clear(&name);
		text_format(&name, "context %" PRIu32 " stream %" PRIu32, queue->context, queue->stream);
		put_label(chrome, "thread_name", device_process(chrome, index, queue->device), queue_thread(queue, 0), name.bytes);
	}
	text_free(&name);
}

static void label(struct chrome *chrome, size_t index)
{
	const struct process *process = &chrome->request->run->processes[index];
	uint32_t number = chrome->numbers[index];
	struct text name = {0};

	text_format(&name, "%s%s", process->command, process_member(process));
	put_label(chrome, "process_name", number, STEPS_THREAD + number, name.bytes);
	text_free(&name);
	put_label(chrome, "thread_name", number, STEPS_THREAD + number, "steps");
	text_clear(&chrome->line); /* above the threads, whose ids are lower */
	text_format(&chrome->line,
		    "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu64
		    ",\"args\":{\"sort_index\":-1}}",
		    number, STEPS_THREAD + number);
	put_line(chrome);
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].name[0])
			put_label(chrome, "thread_name", number, process->threads[i].tid, process->threads[i].name);
	label_devices(chrome, index);
}

static void write_run(FILE *file, const struct request *request)
{
	struct chrome chrome = {.file = file, .request = request, .is_first = 1};
	struct run *run = request->run;
	struct span_options options = {.wants = SPAN_ALL, .visit = put_span, .context = &chrome};

	chrome.patterns = patterns_make();
	number_processes(&chrome);
	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"run\":\"%s\"},\"traceEvents\":[", run->name);
	for (size_t i = 0; i < run->process_count; i++) {
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		chrome.processes++;
		label(&chrome, i);
		if (spans_stream(run, i, &options) != 0)
			base_die("out of memory while reading the logs");
		abreast_free(&chrome.abreast);
		number_map_free(&chrome.traced);
	}
	flush(&chrome);
	fputs("\n]}\n", file);
	patterns_free(chrome.patterns);
	free(chrome.buffer);
	free(chrome.numbers);
	text_free(&chrome.line);
	text_free(&chrome.name);
}

const struct report_kind report_chrome = {
	.name = "chrome",
	.suffix = "trace.json",
	.help = "the time line as trace events: chrome://tracing, Perfetto's page, Speedscope; no tables",
	.is_without_sums = true,
	.write_run = write_run,
};
