/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default report: one screen about a run.
 *
 * Rule: parts that nobody can do without have a largest number of lines each (start and losses 9, verdict 3, steps 9, work 6,
 * memory 6, GPU 7, advice 12, next 5: 57); the others share what is left of SUMMARY_LINES.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/causes.h"
#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/report/summary_gpu.h"
#include "reducer/report/summary_work.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESS_ROWS 6
#define SITE_ROWS 7
#define OTHER_SITE_ROWS 2 /* of them for allocators other than the heap */
#define NOTE_ROWS 4
#define NOTE_LINES 2
#define OTHER_ROWS 3
#define MEMORY_ROWS 4 /* heap, mmap, and the first of the others */

void summary_colour(const struct summary *summary, const char *code)
{
	if (summary->options->is_coloured)
		fprintf(summary->file, "\033[%sm", code);
}

/* Without blanks at its end. */
void summary_end_line(struct summary *summary)
{
	while (summary->line.length && summary->line.bytes[summary->line.length - 1] == ' ')
		summary->line.length--;
	escape_cut(&summary->line, summary->options->width);
	fprintf(summary->file, "%.*s\n", (int)summary->line.length, summary->line.length ? summary->line.bytes : "");
	text_clear(&summary->line);
	summary->used++;
}

void summary_heading(struct summary *summary, const char *text)
{
	fputc('\n', summary->file);
	summary->used++;
	summary_colour(summary, "1");
	text_string(&summary->line, text);
	summary_end_line(summary);
	summary_colour(summary, "0");
}

void summary_sentence(struct summary *summary, const char *first, const char *text, size_t lines)
{
	struct text clean = {0}, wrapped = {0};
	const char *at;

	escape_visible(&clean, text, strlen(text));
	escape_cut(&clean, (summary->options->width - escape_width(first, strlen(first)) - 6) * lines);
	text_wrap(&wrapped, first, clean.length ? clean.bytes : "", summary->options->width);
	at = wrapped.bytes;
	for (size_t i = 0; i < lines && *at; i++) {
		size_t length = strcspn(at, "\n");
		text_put(&summary->line, at, length);
		summary_end_line(summary);
		at += length + (at[length] == '\n');
	}
	text_free(&clean);
	text_free(&wrapped);
}

/* Appends a cell, padded to `width`: to the right where it is a number. */
static void put_cell(struct summary *summary, const struct table *table, size_t row, const char *id, size_t width)
{
	size_t column = table_find_column(table->kind, id), used;
	bool right = table->kind->columns[column].type != TABLE_TEXT;
	struct text cell = {0};

	if (table_is_known(table, row, column))
		human_cell(&cell, table, row, column);
	else
		text_string(&cell, right ? "-" : "");
	escape_cut(&cell, width);
	used = escape_width(cell.bytes, cell.length);
	if (right)
		text_fill(&summary->line, ' ', width - used);
	text_put(&summary->line, cell.bytes, cell.length);
	if (!right)
		text_fill(&summary->line, ' ', width - used);
	text_free(&cell);
}

/* Appends a number, right-aligned in `width`. */
static void put_padded(struct summary *summary, void (*print)(struct text *out, int64_t number), int64_t number, size_t width)
{
	struct text cell = {0};

	print(&cell, number);
	text_fill(&summary->line, ' ', width > cell.length ? width - cell.length : 0);
	text_put(&summary->line, cell.bytes, cell.length);
	text_free(&cell);
}

/* What the run is about: its first process, or the first with GPU work where that has none (it only started the other). */
static const struct process *main_process(const struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].gpu)
			return &run->processes[i];
	return &run->processes[0];
}

static void put_command(struct summary *summary, const struct process *process)
{
	text_string(&summary->line, "tfprof: ");
	for (size_t i = 0; i < process->argument_count; i++) {
		if (i)
			text_char(&summary->line, ' ');
		escape_visible(&summary->line, process->arguments[i], strnlen(process->arguments[i], 256));
	}
	if (!process->argument_count)
		escape_visible(&summary->line, process->command, strlen(process->command));
	summary_end_line(summary);
}

static void put_start(struct summary *summary)
{
	const struct run *run = summary->request->run;
	time_t start = (time_t)(run->realtime_ns / 1000000000) + run->utc_offset_s;
	char stamp[64] = "";
	char end[128];
	struct tm at;

	if (run->realtime_ns && gmtime_r(&start, &at))
		strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S, ", &at);
	text_format(&summary->line, "  %slasted ", stamp);
	human_ns(&summary->line, run->duration_ns);
	text_format(&summary->line, ", %zu process%s", run->process_count, run->process_count == 1 ? "" : "es");
	if (run->process_count == 1) {
		process_end_text(&run->processes[0], end, sizeof(end));
		text_string(&summary->line, ", ended: ");
		escape_visible(&summary->line, end, strlen(end));
	}
	summary_end_line(summary);
}

static void put_memory(struct summary *summary)
{
	static const char *const ids[] = {"allocations", "allocated_bytes", "live_bytes", "peak_bytes", "peak_time_ns"};
	static const size_t widths[] = {14, 12, 13, 12, 12};
	struct table *totals = tables_make(&table_memory_summary, summary->request);
	size_t scope = table_find_column(totals->kind, "scope"), length;
	size_t kind = table_find_column(totals->kind, "peak_kind");
	bool is_bound = false;

	summary_heading(summary, "Memory        allocations   allocated  live at end        peak     peak at");
	for (size_t row = 0; row < totals->shown_count; row++) {
		const char *name = table_get_text(totals, row, scope, &length);
		if (length != 3 || memcmp(name, "job", 3) != 0 || row >= MEMORY_ROWS)
			break;
		text_string(&summary->line, "  ");
		put_cell(summary, totals, row, "allocator", 9);
		for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
			put_cell(summary, totals, row, ids[i], widths[i]);
		summary_end_line(summary);
		if (table_is_known(totals, row, kind))
			is_bound |= table_get_text(totals, row, kind, &length)[0] == 'b' && length == strlen("bound");
	}
	if (is_bound)
		summary->bound_note = "Several processes: the peak is at most this (their curves added up); call stacks "
				      "count what each process held at its own peak.";
	table_free(totals);
}

/* Lines that another file has made, a heading first, if it has any. Frees them. */
static void put_lines(struct summary *summary, struct text *lines)
{
	const char *at = lines->bytes;

	if (lines->length) {
		struct text first = {0};
		text_put(&first, at, strcspn(at, "\n"));
		summary_heading(summary, first.bytes);
		text_free(&first);
		at += strcspn(at, "\n") + 1;
	}
	for (; at && *at; at += strcspn(at, "\n") + 1) {
		text_put(&summary->line, at, strcspn(at, "\n"));
		summary_end_line(summary);
	}
	text_free(lines);
}

static void put_processes(struct summary *summary)
{
	size_t rows = summary->room - 3 < PROCESS_ROWS ? summary->room - 3 : PROCESS_ROWS;
	struct table *table;
	struct request request = *summary->request;

	if (request.run->process_count < 2 || summary->room < 4)
		return;
	request.sort = "peak_bytes";
	table = tables_make(&table_processes, &request);
	summary_heading(summary, "Processes        pid     lasted   heap peak  live at end  how it ended");
	for (size_t row = 0; row < table->shown_count && row < rows; row++) {
		text_string(&summary->line, "  ");
		put_cell(summary, table, row, "command", 12);
		put_cell(summary, table, row, "process", 8);
		put_cell(summary, table, row, "duration_ns", 11);
		put_cell(summary, table, row, "peak_bytes", 12);
		put_cell(summary, table, row, "live_bytes", 13);
		text_string(&summary->line, "  ");
		put_cell(summary, table, row, "end", 60);
		summary_end_line(summary);
	}
	if (table->shown_count > rows) {
		text_format(&summary->line, "  ... and %zu more: -t processes", table->shown_count - rows);
		summary_end_line(summary);
	}
	table_free(table);
}

static void put_cause(struct summary *summary, const struct cause *cause)
{
	put_padded(summary, human_bytes, cause->peak_bytes, 12);
	put_padded(summary, human_bytes, cause->leaked_bytes, 12);
	put_padded(summary, human_count, cause->allocations, 12);
	text_string(&summary->line, "  ");
	cause_text(cause, &summary->line, summary->options->width > 58 ? summary->options->width - 38 : 20);
	summary_end_line(summary);
	if (cause->callers.length) {
		text_format(&summary->line, "%*s%s", 14, "", cause->callers.bytes);
		summary_end_line(summary);
	}
	summary->has_near |= cause->has_near;
}

/* The largest causes at the peak. In mode totals there are none, and a heading alone says nothing. Address space that was
 * mapped is often far larger than what the heap holds, and has a peak of its own: it keeps its place behind. */
static void put_sites(struct summary *summary)
{
	struct causes causes = causes_make(summary->request);
	size_t heap = 0, shown_heap, others, rows = (summary->room - 3) / 2;

	rows = rows < SITE_ROWS ? rows : SITE_ROWS;
	while (heap < causes.count && causes.list[heap].is_heap)
		heap++;
	others = causes.count - heap;
	shown_heap = others < OTHER_SITE_ROWS ? others : OTHER_SITE_ROWS; /* for others */
	shown_heap = rows > shown_heap ? rows - shown_heap : 1;
	shown_heap = heap < shown_heap ? heap : shown_heap;
	if (causes.count) {
		text_string(&summary->line, summary->request->run->process_count > 1 ? " at own peak" : "     at peak");
		text_string(&summary->line, "      leaked      allocs  call stacks");
		summary_heading(summary, causes.is_estimated ? " (estimated from samples)" : "");
	}
	for (size_t i = 0; i < shown_heap; i++)
		put_cause(summary, &causes.list[i]);
	for (size_t i = 0; i < others && shown_heap + i < rows; i++)
		put_cause(summary, &causes.list[heap + i]);
	if (causes.count > rows || causes.is_more) {
		text_string(&summary->line, "  ... and more: -t memory.sites");
		summary_end_line(summary);
	}
	causes_free(&causes);
}

/* A sentence on at most NOTE_LINES lines. */
static void put_note(struct summary *summary, const char *text)
{
	if (summary->notes >= NOTE_ROWS || 2 + NOTE_LINES * (summary->notes + 1) > summary->room)
		return;
	if (!summary->notes++)
		summary_heading(summary, "Not recorded, or to know");
	summary_sentence(summary, "  - ", text, NOTE_LINES);
}

/* Modules grouped by what is wrong with them. */
struct problems {
	struct problem {
		const char *reason, *first; /* path of the first such module */
		size_t count;
	} * list;
	size_t count, room;
};

static void take_problem(void *context, const char *path, const char *reason)
{
	struct problems *problems = context;

	for (size_t i = 0; i < problems->count; i++)
		if (strcmp(problems->list[i].reason, reason) == 0) {
			problems->list[i].count++;
			return;
		}
	problems->list = base_grow(problems->list, &problems->room, problems->count + 1, sizeof(*problems->list));
	problems->list[problems->count++] = (struct problem){.reason = reason, .first = path, .count = 1};
}

static void put_problems(struct summary *summary)
{
	struct problems problems = {0};

	frames_problems(summary->request->frames, take_problem, &problems);
	for (size_t i = 0; i < problems.count; i++) {
		const struct problem *problem = &problems.list[i];
		const char *base = strrchr(problem->first, '/');
		struct text note = {0};
		text_format(&note, "Names in %s", base ? base + 1 : problem->first);
		if (problem->count > 1)
			text_format(&note, " and %zu more modules", problem->count - 1);
		text_format(&note, ": %s.", problem->reason);
		put_note(summary, note.bytes);
		text_free(&note);
	}
	free(problems.list);
}

static void put_notes(struct summary *summary)
{
	const struct run *run = summary->request->run;
	struct table *sites = table_make(&table_memory_sites);

	notes_recording(sites, summary->request);
	notes_sampling(sites, summary->request);
	if (summary->bound_note)
		put_note(summary, summary->bound_note);
	for (size_t i = 0; i < sites->note_count; i++)
		put_note(summary, sites->notes[i].text);
	for (size_t i = 0; i < run->processes[0].note_count; i++)
		put_note(summary, run->processes[0].notes[i].value);
	table_free(sites);
	summary_degraded(summary, put_note);
	put_problems(summary);
	if (summary->has_near)
		put_note(summary, "~name+0x...: the nearest name known; the function itself has none (the file is stripped).");
}

static void put_others(struct summary *summary)
{
	const struct run *run = summary->request->run;
	size_t rows = summary->room - 2 < OTHER_ROWS ? summary->room - 2 : OTHER_ROWS;

	if (summary->room < 3 || !run->other_count)
		return;
	summary_heading(summary, "Other runs here (--run NAME)");
	for (size_t i = 0; i < run->other_count && i < rows; i++) {
		const struct run_brief *other = &run->others[i];
		time_t start = (time_t)(other->realtime_ns / 1000000000) + run->utc_offset_s;
		char stamp[64] = "";
		struct tm at;
		if (gmtime_r(&start, &at))
			strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &at);
		text_format(&summary->line, "  %s  %s  %zu process%s  ", other->name, stamp, other->process_count,
			    other->process_count == 1 ? "" : "es");
		if (other->realtime_ns > run->realtime_ns && other->realtime_ns < run->realtime_ns + run->duration_ns)
			text_string(&summary->line, "within this run: ");
		escape_visible(&summary->line, other->command, strnlen(other->command, 256));
		if (i + 1 == rows && run->other_count > rows)
			text_format(&summary->line, "  and %zu more", run->other_count - rows);
		summary_end_line(summary);
	}
}

static void put_next(struct summary *summary)
{
	static const struct {
		const char *what, *options;
	} commands[] = {
		{"charts, time line", "--html report.html"},
		{"every call stack", "-t memory.sites"},
		{"the time line alone", "-f perfetto -o run.perfetto"},
	};

	summary_heading(summary, "Next (tfprof-reduce --list shows what else there is)");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		text_format(&summary->line, "  %-20s tfprof-reduce %s", commands[i].what, commands[i].options);
		text_string(&summary->line, summary->where[0] ? " " : "");
		escape_visible(&summary->line, summary->where, strlen(summary->where));
		summary_end_line(summary);
	}
}

static void put_steps(struct summary *summary)
{
	struct text lines = {0};

	summary_steps(&lines, summary->request, summary->options->width);
	put_lines(summary, &lines);
	summary_put_split(summary);
}

static void put_work(struct summary *summary)
{
	struct text lines = {0};

	summary_work(&lines, summary->request, summary->options->width);
	put_lines(summary, &lines);
}

static void put_gpu(struct summary *summary)
{
	struct text lines = {0};

	summary_gpu(&lines, summary->request);
	put_lines(summary, &lines);
}

static void put_run(struct summary *summary)
{
	put_command(summary, main_process(summary->request->run));
	put_start(summary);
	summary_put_losses(summary);
}

/* In the order on the screen. Those that take what the others have left share it by `rank`: 1 first. */
static const struct part {
	void (*put)(struct summary *summary);
	unsigned rank;	  /* 0 = always has its lines */
	unsigned divisor; /* of the lines left it may take one in so many */
} parts[] = {
	{put_run, 0, 0},       {summary_put_verdict, 0, 0}, {put_steps, 0, 0},
	{put_work, 0, 0},      {put_memory, 0, 0},	    {put_gpu, 0, 0},
	{put_processes, 1, 3}, {put_sites, 2, 2},	    {summary_put_advice, 0, 0},
	{put_notes, 3, 1},     {put_others, 4, 1},	    {put_next, 0, 0},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
#define RANKS 4

/* Writes a part into memory, so that it is known how long it is before others are asked. */
static void fill_part(struct summary *summary, const struct part *part, char **bytes)
{
	size_t length;

	summary->room = part->rank ? (SUMMARY_LINES - summary->used) / part->divisor : SUMMARY_LINES;
	summary->file = open_memstream(bytes, &length);
	if (!summary->file)
		base_die("out of memory for the summary");
	part->put(summary);
	fclose(summary->file);
}

void summary_write(FILE *file, const struct request *request, const struct report_options *options, const char *where)
{
	static const struct table_kind *const tables[] = {&table_overview_verdict, &table_overview_split, &table_step_stats,
							  &table_kernel_stats,	   &table_op_stats,	  &table_recommendations};
	struct summary summary = {.request = request, .options = options, .where = where};
	char *texts[PARTS] = {0};

	request_run_analyses(request, tables, sizeof(tables) / sizeof(tables[0]));
	for (unsigned rank = 0; rank <= RANKS; rank++)
		for (size_t i = 0; i < PARTS; i++)
			if (parts[i].rank == rank)
				fill_part(&summary, &parts[i], &texts[i]);
	for (size_t i = 0; i < PARTS; i++) {
		fputs(texts[i], file);
		free(texts[i]);
	}
	text_free(&summary.line);
}
