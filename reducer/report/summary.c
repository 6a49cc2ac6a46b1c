/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default report: one screen about a run.
 *
 * Rule: every part has a largest number of lines, and they add up to less than SUMMARY_LINES.
 */
#include "reducer/report/summary.h"

#include "reducer/report/causes.h"
#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/report/summary_gpu.h"
#include "reducer/report/summary_work.h"
#include "reducer/tables/losses.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Most lines of each part, with blank line and heading: start 2, losses 6, memory 4, processes 9, sites 18, notes 10,
 * others 5, next 5: 59 in all. With a GPU: memory 6, GPU 7, processes 8, sites 12, notes 8: 59 again. With steps and ops
 * 9 more, but processes, notes and sites 9 less. */
#define LOSS_ROWS 6    /* refused settings included */
#define REFUSED_ROWS 4
#define PROCESS_ROWS 6
#define SITE_ROWS 7
#define OTHER_SITE_ROWS 2 /* of them for allocators other than the heap */
#define NOTE_ROWS 4
#define NOTE_LINES 2
#define OTHER_ROWS 3
#define MEMORY_ROWS 4  /* heap, mmap, and the first of the others */

struct summary {
	FILE *file;
	const struct request *request;
	const struct report_options *options;
	const char *where;
	struct text line;
	size_t notes;           /* printed so far */
	const char *bound_note; /* to print with the notes, or NULL */
	size_t fewer;           /* rows less in processes and notes, three times that in sites: the GPU and steps have lines of their own */
	bool has_near;          /* a name with a "~" was printed */
};

static void colour(const struct summary *summary, const char *code)
{
	if (summary->options->is_coloured)
		fprintf(summary->file, "\033[%sm", code);
}

/* Prints and empties the line, cut to the width, without blanks at its end. */
static void end_line(struct summary *summary)
{
	while (summary->line.length && summary->line.bytes[summary->line.length - 1] == ' ')
		summary->line.length--;
	escape_cut(&summary->line, summary->options->width);
	fprintf(summary->file, "%.*s\n", (int)summary->line.length, summary->line.length ? summary->line.bytes : "");
	text_clear(&summary->line);
}

static void heading(struct summary *summary, const char *text)
{
	fputc('\n', summary->file);
	colour(summary, "1");
	text_string(&summary->line, text);
	end_line(summary);
	colour(summary, "0");
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
	end_line(summary);
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
	end_line(summary);
}

static void put_assignment(struct text *out, const struct setting_error *error)
{
	text_string(out, "TFPROF_");
	escape_visible(out, error->name, strnlen(error->name, 64));
	text_char(out, '=');
	escape_visible(out, error->value, strnlen(error->value, 64));
}

/* Many refused settings: their names and values alone. Returns the lines used. */
static size_t list_refused(struct summary *summary, const struct process *process)
{
	struct text list = {0}, lines = {0};
	size_t used = 0;

	for (size_t i = 0; i < process->setting_error_count; i++) {
		put_assignment(&list, &process->setting_errors[i]);
		text_string(&list, " ");
	}
	text_string(&list, "(-t settings says why)");
	text_wrap(&lines, "  REFUSED ", list.bytes, summary->options->width);
	for (const char *at = lines.bytes; *at && used < REFUSED_ROWS; used++) {
		size_t length = strcspn(at, "\n");
		text_put(&summary->line, at, length);
		end_line(summary);
		at += length + 1;
	}
	text_free(&list);
	text_free(&lines);
	return used;
}

/* Settings that were refused: the person meant something else. Returns the lines used. */
static size_t put_refused(struct summary *summary)
{
	const struct process *process = &summary->request->run->processes[0];

	if (process->setting_error_count > REFUSED_ROWS)
		return list_refused(summary, process);
	for (size_t i = 0; i < process->setting_error_count; i++) {
		text_string(&summary->line, "  REFUSED ");
		put_assignment(&summary->line, &process->setting_errors[i]);
		text_string(&summary->line, ": ");
		escape_visible(&summary->line, process->setting_errors[i].remedy, strnlen(process->setting_errors[i].remedy, 256));
		end_line(summary);
	}
	return process->setting_error_count;
}

/* Losses by kind, over all processes and threads. */
struct loss_sums {
	uint64_t counts[TFP_LOSS_SLOTS];
	const struct loss *named[TFP_LOSS_SLOTS]; /* NULL = none of this kind */
};

static struct loss_sums sum_losses(const struct run *run, bool is_degraded)
{
	struct loss_sums sums = {0};

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].loss_count; k++) {
			const struct loss *loss = &run->processes[i].losses[k];
			if (loss->kind >= TFP_LOSS_SLOTS || loss_is_degraded(loss->kind) != is_degraded)
				continue;
			sums.counts[loss->kind] += loss->count;
			sums.named[loss->kind] = loss;
		}
	return sums;
}

/* One line of what is missing, until there is no room; *lines counts all. */
static void put_lost(struct summary *summary, const struct text *line, size_t *lines)
{
	if (++*lines >= LOSS_ROWS)
		return;
	text_put(&summary->line, line->bytes, line->length);
	end_line(summary);
}

static void put_damage(struct summary *summary, const struct diag_list *diags, size_t *lines)
{
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		struct text line = {0};
		if (diag->level == DIAG_NOTE)
			continue;
		text_string(&line, "  DAMAGED ");
		escape_visible(&line, diag->file, strlen(diag->file));
		text_string(&line, ": ");
		escape_visible(&line, diag->reason, strlen(diag->reason));
		put_lost(summary, &line, lines);
		text_free(&line);
	}
}

static void put_losses(struct summary *summary)
{
	const struct run *run = summary->request->run;
	struct loss_sums sums = sum_losses(run, false);
	size_t lines;

	colour(summary, "31");
	lines = put_refused(summary);
	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		struct text line = {0};
		if (!sums.named[i])
			continue;
		text_string(&line, "  LOST ");
		human_count(&line, (int64_t)sums.counts[i]);
		text_format(&line, " %s -> %s", sums.named[i]->help, sums.named[i]->remedy);
		put_lost(summary, &line, &lines);
		text_free(&line);
	}
	put_damage(summary, run->diags, &lines);
	if (lines >= LOSS_ROWS) {
		text_format(&summary->line, "  ... %zu more: -t losses", lines - LOSS_ROWS + 1);
		end_line(summary);
	}
	colour(summary, "0");
	if (!losses_any(run)) {
		text_string(&summary->line, "  Nothing was lost.");
		end_line(summary);
	}
}

static void put_memory(struct summary *summary)
{
	static const char *const ids[] = {"allocations", "allocated_bytes", "live_bytes", "peak_bytes", "peak_time_ns"};
	static const size_t widths[] = {14, 12, 13, 12, 12};
	struct table *totals = tables_make(&table_memory_summary, summary->request);
	size_t scope = table_find_column(totals->kind, "scope"), length;
	size_t kind = table_find_column(totals->kind, "peak_kind");
	bool is_bound = false;

	heading(summary, "Memory        allocations   allocated  live at end        peak     peak at");
	for (size_t row = 0; row < totals->shown_count; row++) {
		const char *name = table_get_text(totals, row, scope, &length);
		if (length != 3 || memcmp(name, "job", 3) != 0 || row >= MEMORY_ROWS)
			break;
		text_string(&summary->line, "  ");
		put_cell(summary, totals, row, "allocator", 9);
		for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
			put_cell(summary, totals, row, ids[i], widths[i]);
		end_line(summary);
		if (table_is_known(totals, row, kind))
			is_bound |= table_get_text(totals, row, kind, &length)[0] == 'b' && length == strlen("bound");
	}
	if (is_bound)
		summary->bound_note = "Several processes: the peak is at most this (their curves added up); call stacks "
				      "count what each process held at its own peak.";
	table_free(totals);
}

/* Lines that another file has made, if it has any. Frees them. Returns 1 when there were. */
static size_t put_lines(struct summary *summary, const char *title, struct text *lines)
{
	size_t any = lines->length != 0;

	if (any)
		heading(summary, title);
	for (const char *at = lines->bytes; at && *at; at += strcspn(at, "\n") + 1) {
		text_put(&summary->line, at, strcspn(at, "\n"));
		end_line(summary);
	}
	text_free(lines);
	return any;
}

/* Time: steps, and what they were made of. */
static void put_work(struct summary *summary)
{
	struct text lines = {0}, more = {0};
	size_t any;

	summary_steps(&lines, summary->request);
	any = put_lines(summary, SUMMARY_STEPS_HEADING, &lines);
	summary_work(&more, summary->request);
	any |= put_lines(summary, SUMMARY_WORK_HEADING, &more);
	summary->fewer += any;
}

static void put_gpu(struct summary *summary)
{
	struct text lines = {0};

	summary_gpu(&lines, summary->request);
	summary->fewer += put_lines(summary, SUMMARY_GPU_HEADING, &lines);
}

static void put_processes(struct summary *summary)
{
	struct table *table;
	struct request request = *summary->request;

	if (request.run->process_count < 2)
		return;
	request.sort = "peak_bytes";
	table = tables_make(&table_processes, &request);
	heading(summary, "Processes        pid     lasted   heap peak  live at end  how it ended");
	for (size_t row = 0; row < table->shown_count && row < PROCESS_ROWS - summary->fewer; row++) {
		text_string(&summary->line, "  ");
		put_cell(summary, table, row, "command", 12);
		put_cell(summary, table, row, "process", 8);
		put_cell(summary, table, row, "duration_ns", 11);
		put_cell(summary, table, row, "peak_bytes", 12);
		put_cell(summary, table, row, "live_bytes", 13);
		text_string(&summary->line, "  ");
		put_cell(summary, table, row, "end", 60);
		end_line(summary);
	}
	if (table->shown_count > PROCESS_ROWS - summary->fewer) {
		text_format(&summary->line, "  ... and %zu more: -t processes",
			    table->shown_count - (PROCESS_ROWS - summary->fewer));
		end_line(summary);
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
	end_line(summary);
	if (cause->callers.length) {
		text_format(&summary->line, "%*s%s", 14, "", cause->callers.bytes);
		end_line(summary);
	}
	summary->has_near |= cause->has_near;
}

/* The largest causes at the peak. In mode totals there are none, and a heading alone says nothing. Address space that was
 * mapped is often far larger than what the heap holds, and has a peak of its own: it keeps its place behind. */
static void put_sites(struct summary *summary)
{
	struct causes causes = causes_make(summary->request);
	size_t heap = 0, shown_heap, others, rows = SITE_ROWS - 3 * summary->fewer;

	while (heap < causes.count && causes.list[heap].is_heap)
		heap++;
	others = causes.count - heap;
	shown_heap = others < OTHER_SITE_ROWS ? others : OTHER_SITE_ROWS; /* for others */
	shown_heap = rows > shown_heap ? rows - shown_heap : 1;
	shown_heap = heap < shown_heap ? heap : shown_heap;
	if (causes.count) {
		text_string(&summary->line, summary->request->run->process_count > 1 ? " at own peak" : "     at peak");
		text_string(&summary->line, "      leaked      allocs  call stacks");
		heading(summary, causes.is_estimated ? " (estimated from samples)" : "");
	}
	for (size_t i = 0; i < shown_heap; i++)
		put_cause(summary, &causes.list[i]);
	for (size_t i = 0; i < others && shown_heap + i < rows; i++)
		put_cause(summary, &causes.list[heap + i]);
	if (causes.count > rows || causes.is_more) {
		text_string(&summary->line, "  ... and more: -t memory.sites");
		end_line(summary);
	}
	causes_free(&causes);
}

/* A sentence on at most NOTE_LINES lines. */
static void put_note(struct summary *summary, const char *text)
{
	struct text clean = {0}, lines = {0};
	const char *at;

	if (summary->notes++ >= NOTE_ROWS - summary->fewer)
		return;
	if (summary->notes == 1)
		heading(summary, "Not recorded, or to know");
	escape_visible(&clean, text, strlen(text));
	escape_cut(&clean, (summary->options->width - 10) * NOTE_LINES);
	text_wrap(&lines, "  - ", clean.bytes, summary->options->width);
	at = lines.bytes;
	for (size_t i = 0; i < NOTE_LINES && *at; i++) {
		size_t length = strcspn(at, "\n");
		text_put(&summary->line, at, length);
		end_line(summary);
		at += length + (at[length] == '\n');
	}
	text_free(&clean);
	text_free(&lines);
}

/* Modules grouped by what is wrong with them. */
struct problems {
	struct problem {
		const char *reason, *first; /* path of the first such module */
		size_t count;
	} *list;
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

/* What cost precision, no record. */
static void put_degraded(struct summary *summary)
{
	struct loss_sums sums = sum_losses(summary->request->run, true);

	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		struct text note = {0};
		if (!sums.named[i])
			continue;
		human_count(&note, (int64_t)sums.counts[i]);
		text_format(&note, " %s.", sums.named[i]->help);
		put_note(summary, note.bytes);
		text_free(&note);
	}
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
	put_degraded(summary);
	put_problems(summary);
	if (summary->has_near)
		put_note(summary, "~name+0x...: the nearest name known; the function itself has none (the file is stripped).");
}

static void put_others(struct summary *summary)
{
	const struct run *run = summary->request->run;

	if (run->other_count)
		heading(summary, "Other runs here (--run NAME)");
	for (size_t i = 0; i < run->other_count && i < OTHER_ROWS; i++) {
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
		if (i + 1 == OTHER_ROWS && run->other_count > OTHER_ROWS)
			text_format(&summary->line, "  and %zu more", run->other_count - OTHER_ROWS);
		end_line(summary);
	}
}

static void put_next(struct summary *summary)
{
	static const struct {
		const char *what, *options;
	} commands[] = {
		{"every call stack", "-t memory.sites"},
		{"flame graph input", "-t memory.sites -f folded"},
		{"tables as files", "-t memory -f csv -o tables"},
	};

	heading(summary, "Next (tfprof-reduce --list shows what else there is)");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		text_format(&summary->line, "  %-18s tfprof-reduce %s", commands[i].what, commands[i].options);
		text_string(&summary->line, summary->where[0] ? " " : "");
		escape_visible(&summary->line, summary->where, strlen(summary->where));
		end_line(summary);
	}
}

void summary_write(FILE *file, const struct request *request, const struct report_options *options, const char *where)
{
	struct summary summary = {.file = file, .request = request, .options = options, .where = where};

	put_command(&summary, main_process(request->run));
	put_start(&summary);
	put_losses(&summary);
	put_work(&summary);
	put_memory(&summary);
	put_gpu(&summary);
	put_processes(&summary);
	put_sites(&summary);
	put_notes(&summary);
	put_others(&summary);
	put_next(&summary);
	text_free(&summary.line);
}
