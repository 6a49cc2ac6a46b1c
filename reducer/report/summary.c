/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default report: one screen about a run.
 *
 * Rule: each part is sure of some lines, fewer on a small screen, and takes at most some more; what the screen has beyond that
 * goes to the parts in the order of their rank.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OTHER_ROWS 3
#define START_LINES 2
#define SILENT_NS 1000000000 /* of a program at its end: worth saying; what goes on is read once a second */
#define ROOMY_LINES 40 /* of a screen: from there on a blank line before each part */

size_t summary_left(const struct summary *summary)
{
	return summary->room > summary->used ? summary->room - summary->used : 0;
}

void summary_colour(const struct summary *summary, const char *code)
{
	if (summary->options->is_coloured)
		fprintf(summary->file, "\033[%sm", code);
}

void summary_end_line(struct summary *summary)
{
	while (summary->line.length && summary->line.bytes[summary->line.length - 1] == ' ')
		summary->line.length--;
	escape_cut(&summary->line, summary->options->width);
	if (summary_left(summary)) {
		fprintf(summary->file, "%.*s\n", (int)summary->line.length, summary->line.length ? summary->line.bytes : "");
		summary->used++;
	}
	text_clear(&summary->line);
}

void summary_gap(struct summary *summary)
{
	if (summary->is_roomy)
		summary_end_line(summary);
}

bool summary_heading(struct summary *summary, const char *text, size_t lines)
{
	if (summary_left(summary) < summary->is_roomy + 1 + lines)
		return false;
	summary_gap(summary);
	summary_colour(summary, "1");
	text_string(&summary->line, text);
	summary_end_line(summary);
	summary_colour(summary, "0");
	return true;
}

/* The sentence in lines of the screen's width. */
static void wrap_sentence(const struct summary *summary, const char *first, const char *text, struct text *wrapped)
{
	struct text clean = {0};

	escape_visible(&clean, text, strlen(text));
	text_wrap(wrapped, first, clean.length ? clean.bytes : "", summary->options->width);
	text_free(&clean);
}

size_t summary_measure(const struct summary *summary, const char *first, const char *text, size_t lines)
{
	struct text wrapped = {0};
	size_t count = 0;

	wrap_sentence(summary, first, text, &wrapped);
	for (size_t i = 0; i < wrapped.length; i++)
		count += wrapped.bytes[i] == '\n';
	text_free(&wrapped);
	return count < lines ? count : lines;
}

size_t summary_sentence(struct summary *summary, const char *first, const char *text, size_t lines)
{
	struct text wrapped = {0};
	const char *at;
	size_t used = 0;

	lines = lines < summary_left(summary) ? lines : summary_left(summary);
	wrap_sentence(summary, first, text, &wrapped);
	for (at = wrapped.bytes; used < lines && *at; used++) {
		size_t length = strcspn(at, "\n");
		text_put(&summary->line, at, length);
		at += length + (at[length] == '\n');
		if (used + 1 == lines && *at) {
			text_string(&summary->line, " .."); /* instead of its end, where the line is too long for both */
		}
		summary_end_line(summary);
	}
	text_free(&wrapped);
	return used;
}

void summary_cell(struct summary *summary, const struct table *table, size_t row, const char *id, size_t width)
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

void summary_number(struct summary *summary, void (*print)(struct text *out, int64_t number), int64_t number, size_t width)
{
	struct text cell = {0};

	print(&cell, number);
	text_fill(&summary->line, ' ', width > cell.length ? width - cell.length : 0);
	text_put(&summary->line, cell.bytes, cell.length);
	text_free(&cell);
}

void summary_more(struct summary *summary, size_t count, size_t shown, const char *table)
{
	if (count <= shown)
		return;
	text_format(&summary->line, "  ... and %zu more: -t %s", count - shown, table);
	summary_end_line(summary);
}

const char *summary_text(struct text *room, const struct table *table, size_t row, const char *id)
{
	text_clear(room);
	human_cell(room, table, row, table_find_column(table->kind, id));
	return room->length ? room->bytes : "";
}

bool summary_has_blocks(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
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

/* When the first of the processes began, ns of the run: later than 0 where only some of them are wanted. */
static int64_t first_start(const struct run *run)
{
	int64_t first = run->whole_count ? INT64_MAX : 0;

	for (size_t i = 0; i < run->process_count && run->whole_count; i++)
		if (run->processes[i].start_ns < first)
			first = run->processes[i].start_ns;
	return first == TIME_UNKNOWN || first == INT64_MAX ? 0 : first;
}

static void put_count(struct text *sentence, const struct run *run)
{
	if (run->whole_count)
		text_format(sentence, ", %zu of %zu process%s", run->process_count, run->whole_count, run->whole_count == 1 ? "" : "es");
	else
		text_format(sentence, ", %zu process%s", run->process_count, run->process_count == 1 ? "" : "es");
}

static void put_start(struct summary *summary)
{
	const struct run *run = summary->request->run;
	int64_t from_ns = first_start(run);
	time_t start = (time_t)((run->realtime_ns + from_ns) / 1000000000) + run->utc_offset_s;
	struct text sentence = {0};
	char stamp[64] = "start not told, ";
	char end[128];
	struct tm at;

	if (run_is_date(run->realtime_ns) && gmtime_r(&start, &at))
		strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S, ", &at);
	text_format(&sentence, "%slasted ", stamp);
	human_ns(&sentence, run->gone_ns - from_ns);
	if (run->gone_ns - run->duration_ns > SILENT_NS) {
		text_string(&sentence, " (no record after ");
		human_ns(&sentence, run->duration_ns - from_ns);
		text_char(&sentence, ')');
	}
	put_count(&sentence, run);
	process_end_text(run_main(run), end, sizeof(end));
	text_format(&sentence, ", %s%s%s", run->process_count == 1 ? "" : "this one ",
		    run_main(run)->end == END_RUNNING ? "" : "ended: ", end);
	summary_sentence(summary, "  ", sentence.bytes, START_LINES);
	text_free(&sentence);
}

static void put_others(struct summary *summary)
{
	const struct run *run = summary->request->run;
	size_t rows = run->other_count < OTHER_ROWS ? run->other_count : OTHER_ROWS;

	if (!run->other_count || !summary_heading(summary, "Other runs here (--run NAME)", 1))
		return;
	rows = rows < summary_left(summary) ? rows : summary_left(summary);
	for (size_t i = 0; i < rows; i++) {
		const struct run_brief *other = &run->others[i];
		time_t start = (time_t)(other->realtime_ns / 1000000000) + run->utc_offset_s;
		char stamp[64] = "start not told";
		struct tm at;
		if (run_is_date(other->realtime_ns) && gmtime_r(&start, &at))
			strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &at);
		text_format(&summary->line, "  %s  %s  %zu process%s  ", other->name, stamp, other->process_count,
			    other->process_count == 1 ? "" : "es");
		if (other->realtime_ns > run->realtime_ns &&
		    (uint64_t)other->realtime_ns - (uint64_t)run->realtime_ns < (uint64_t)run->duration_ns)
			text_string(&summary->line, "within this run: ");
		escape_visible(&summary->line, other->program, strlen(other->program));
		if (i + 1 == rows && run->other_count > rows)
			text_format(&summary->line, "  and %zu more", run->other_count - rows);
		summary_end_line(summary);
	}
}

/* The table behind the verdict; "" = there is none, or it is the one that is suggested anyway. */
static const char *closer_look(const struct summary *summary, struct text *room)
{
	const char *next = summary->verdict->shown_count ? summary_text(room, summary->verdict, 0, "next") : "";

	return strncmp(next, "memory.", strlen("memory.")) == 0 ? "" : next;
}

struct suggestion {
	const char *what, *option, *word;
};

static void make_suggestion(struct text *line, const struct summary_call *call, const struct suggestion *suggestion)
{
	text_format(line, "  %-20s ", suggestion->what);
	escape_visible(line, call->program, strlen(call->program));
	text_format(line, " %s%s", suggestion->option, suggestion->word);
	text_string(line, call->logs[0] ? " " : "");
	escape_visible(line, call->logs, strlen(call->logs));
}

/* A command is there to be copied: the terminal breaks a long one, half of it would be another one. */
static size_t command_lines(const struct summary *summary)
{
	size_t columns = escape_width(summary->line.bytes, summary->line.length), width = summary->options->width;

	return (columns + width - 1) / width;
}

/* The first has its lines where the screen has them at all. */
static void end_command(struct summary *summary, bool is_first)
{
	size_t lines = command_lines(summary);

	if (is_first || lines <= summary_left(summary)) {
		fprintf(summary->file, "%.*s\n", (int)summary->line.length, summary->line.bytes);
		summary->used += lines;
	}
	text_clear(&summary->line);
}

static bool put_next_heading(struct summary *summary, const struct suggestion *first)
{
	size_t lines;

	make_suggestion(&summary->line, summary->call, first);
	lines = command_lines(summary);
	text_clear(&summary->line);
	return summary->is_roomy + 1 + lines <= summary->screen_left &&
	       summary_heading(summary, "Next (--list shows what else there is)", 1);
}

/* Steps that can be replayed. */
static bool has_device_steps(const struct run *run)
{
	size_t p = 0;

	while (p < run->process_count && !(run->processes[p].step_count && run->processes[p].gpu && run->processes[p].gpu->queue_count))
		p++;
	return p < run->process_count;
}

static void put_next(struct summary *summary)
{
	struct text room = {0};
	const char *closer = closer_look(summary, &room);
	struct suggestion list[5] = {{"charts, time line", "--html report.html", ""}};
	size_t count = 1;

	if (closer[0])
		list[count++] = (struct suggestion){"why it is so", "-t ", closer};
	if (has_device_steps(summary->request->run))
		list[count++] = (struct suggestion){"what would help", "-t what_if", ""};
	if (summary->request->run->process_count && !process_is_foreign(&summary->request->run->processes[0]))
		list[count++] = (struct suggestion){"every call stack", "-t memory.sites", ""};
	list[count++] = (struct suggestion){"the time line alone", "-f perfetto -o run.perfetto", ""};
	if (put_next_heading(summary, &list[0]))
		for (size_t i = 0; i < count; i++) {
			make_suggestion(&summary->line, summary->call, &list[i]);
			end_command(summary, i == 0);
		}
	text_free(&room);
}

static void put_run(struct summary *summary)
{
	put_command(summary, run_main(summary->request->run));
	put_start(summary);
	if (summary->loss_lines) /* on a small screen what is said of the end may take the rest */
		summary_put_losses(summary);
	summary_put_end(summary);
	if (!summary->loss_lines)
		summary_put_losses(summary);
}

static void put_steps(struct summary *summary)
{
	summary_put_steps(summary);
	summary_put_split(summary);
	summary_put_outside(summary);
	summary_put_first(summary);
}

/* What a part is sure of. */
struct share {
	unsigned rank, least; /* least: of a small screen */
	unsigned usual;	      /* of a roomy one, blank line included */
};

/*
 * In the order on the screen. Those without a least number of lines appear where others leave room. Where memory ran out, call stacks
 * that held it take the place of what took time.
 */
static const struct part {
	void (*put)(struct summary *summary);
	struct share share, out; /* out: where memory ran out */
	unsigned most;		 /* lines that it takes */
	unsigned gives_from, gives_to; /* of a roomy screen, to the verdict: of the lines that it needs beyond its usual ones those */
} parts[] = {
	{put_run, {0, 4, 4}, {0, 9, 12}, 18, 0, 0},
	{summary_put_verdict, {1, 2, 3}, {1, 2, 3}, 8, 0, 0},
	{put_steps, {2, 4, 9}, {2, 4, 9}, 11, 0, 0},
	{summary_put_kernels, {4, 2, 5}, {4, 0, 0}, 6, 2, 3},
	{summary_put_ops, {5, 2, 5}, {5, 0, 0}, 6, 0, 2},
	{summary_put_lines, {6, 0, 0}, {6, 0, 0}, 7, 0, 0},
	{summary_put_memory, {7, 3, 5}, {7, 3, 5}, 8, 0, 0},
	{summary_put_gpu, {3, 0, 4}, {3, 0, 4}, 9, 0, 0},
	{summary_put_processes, {10, 0, 0}, {10, 0, 0}, 9, 0, 0},
	{summary_put_sites, {11, 0, 0}, {2, 4, 7}, 13, 0, 0},
	{summary_put_advice, {9, 3, 6}, {9, 3, 6}, 18, 0, 0},
	{summary_put_notes, {13, 0, 4}, {13, 0, 4}, 10, 0, 0},
	{put_others, {12, 0, 0}, {12, 0, 0}, 5, 0, 0},
	{put_next, {8, 2, 5}, {8, 2, 5}, 6, 0, 0},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
#define RANKS 14
#define RUN 0 /* of parts */
#define RUN_LINES 2 /* of it, without what was lost */
#define OUT_LINES 9 /* of it, what is said of memory that ran out */
#define VERDICT 1
#define MEMORY 6
#define NOTES 11

#define MISSING_MOST 6 /* lines of what was not recorded, heading included, that call stacks leave room for */

#define NEARLY 3 /* lines: what had no room is one piece, of so many lines at most */

/* A part as it was written into memory. */
struct written {
	char *bytes;
	size_t room, lines;
};

/* Writes a part again. `left`: lines that the screen has for it and all behind it. */
static void write_part(struct summary *summary, const struct part *part, size_t room, size_t left, struct written *written)
{
	size_t length;

	free(written->bytes);
	written->room = summary->room = room < part->most ? room : part->most;
	summary->used = 0;
	summary->screen_left = left;
	summary->file = open_memstream(&written->bytes, &length);
	if (!summary->file)
		base_die("out of memory for the summary");
	part->put(summary);
	fclose(summary->file);
	written->lines = summary->used;
}

static const struct share *share_of(const struct summary *summary, const struct part *part)
{
	return summary->is_out ? &part->out : &part->share;
}

static unsigned rank_of(const struct summary *summary, const struct part *part)
{
	return share_of(summary, part)->rank;
}

/* On a roomy screen the verdict is whole. */
static unsigned sure_of(const struct summary *summary, const struct part *part)
{
	unsigned sure = share_of(summary, part)->usual, usual = parts[VERDICT].share.usual, needed = 1 + (unsigned)summary->verdict_lines;
	unsigned more = needed > usual ? needed - usual : 0, to = more < part->gives_to ? more : part->gives_to;
	unsigned gives = to > part->gives_from ? to - part->gives_from : 0;

	if (!summary->is_roomy)
		return share_of(summary, part)->least;
	if (part == &parts[VERDICT])
		return sure + more;
	if (part == &parts[RUN]) { /* `usual` has a line that says that nothing was lost */
		needed = summary->loss_lines ? RUN_LINES + (summary->is_out ? OUT_LINES : 0) + summary->loss_lines : sure;
		return (sure > needed ? sure : needed) + summary->fault_lines + summary->standstill_lines +
		       summary->fallen_lines;
	}
	if (part == &parts[MEMORY] && !summary->missing_lines) /* those of the host keep their room: notes give it */
		return sure + summary->device_rows;
	if (part == &parts[NOTES] && summary->missing_lines) { /* a blank line and the heading */
		needed = 2 + summary->missing_lines;
		return needed < sure ? sure : needed < MISSING_MOST ? needed : MISSING_MOST;
	}
	if (part == &parts[NOTES])
		return sure - summary->device_rows;
	return sure > gives ? sure - gives : 0;
}

/* All of them by rank, each with what those of lower rank are not sure of. Returns the lines that are left. */
static size_t write_parts(struct summary *summary, struct written *written)
{
	size_t left = summary->options->height, kept = 0; /* kept for parts to come: more than there is where the screen is small */

	for (size_t i = 0; i < PARTS; i++)
		kept += sure_of(summary, &parts[i]);
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < PARTS; i++)
			if (rank_of(summary, &parts[i]) == rank) {
				size_t sure = sure_of(summary, &parts[i]), room;
				kept -= sure;
				room = left > kept + sure ? left - kept : sure;
				write_part(summary, &parts[i], room < left ? room : left, left, &written[i]);
				left -= written[i].lines;
			}
	return left;
}

/* What parts were sure of and did not need goes to those that had not room enough. */
static void share_rest(struct summary *summary, struct written *written, size_t left)
{
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < PARTS; i++) {
			struct written *part = &written[i];
			if (rank_of(summary, &parts[i]) != rank || !left || part->room >= parts[i].most ||
			    part->lines + NEARLY < part->room)
				continue;
			left += part->lines;
			write_part(summary, &parts[i], left, left, part);
			left -= part->lines;
		}
}

void summary_write(FILE *file, const struct request *request, const struct report_options *options,
		   const struct summary_call *call)
{
	static const struct table_kind *const tables[] = {&table_overview_verdict, &table_overview_split, &table_step_stats,
							  &table_kernel_stats,	   &table_op_stats,	  &table_range_stats,
							  &table_recommendations};
	struct summary summary = {
		.request = request, .options = options, .call = call, .is_roomy = options->height >= ROOMY_LINES};
	struct written written[PARTS] = {0};

	request_run_analyses(request, tables, sizeof(tables) / sizeof(tables[0]));
	summary.verdict = tables_make(&table_overview_verdict, request);
	summary_find_end(&summary);
	summary_measure_wrong(&summary);
	summary_measure_verdict(&summary);
	summary_measure_losses(&summary);
	summary_measure_missing(&summary);
	summary_measure_memory(&summary);
	share_rest(&summary, written, write_parts(&summary, written));
	for (size_t i = 0; i < PARTS; i++) {
		fputs(written[i].bytes, file);
		free(written[i].bytes);
	}
	table_free(summary.verdict);
	causes_free(&summary.causes);
	text_free(&summary.fault);
	text_free(&summary.standstill);
	text_free(&summary.fallen);
	text_free(&summary.line);
}
