/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in the summary: totals by allocator, the processes of a job, the largest call stacks.
 *
 * Rule: what is shown are rows of memory.summary, processes and memory.sites; what is left out is counted.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/causes.h"
#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/device_room.h"
#include "reducer/tables/job.h"
#include "reducer/tables/notes.h"

#include <stdlib.h>
#include <string.h>

#define ALLOCATORS 5
#define DEVICE_ROWS 2 /* of them for devices, whatever else there is */
#define NAME_WIDTH 14 /* of an allocator: "pytorch cuda:0" */
#define PROCESS_ROWS 6
#define INHERITED_FROM 0.25 /* of what is live at the ends: worth a line */
#define SITE_ROWS 7
#define OTHER_SITE_ROWS 2 /* of them for allocators other than the heap */
#define UNREAD_PART 4 /* one of so many of the memory that was read of a process may not have been read */
#define WHOSE_WIDTH 36 /* of what stands where the other rows have numbers of calls and bytes */

static bool is_word(const struct table *table, size_t row, const char *id, const char *word)
{
	size_t column = table_find_column(table->kind, id), length;
	const char *text = table_is_known(table, row, column) ? table_get_text(table, row, column, &length) : NULL;

	return text && length == strlen(word) && memcmp(text, word, length) == 0;
}

/* A row for the whole job that says something: what was not recorded does not, nor address space that was never mapped. */
static bool is_told(const struct table *table, size_t row)
{
	size_t column = table_find_column(table->kind, "allocations");

	return is_word(table, row, "scope", "job") && table_is_known(table, row, column) &&
	       (!is_word(table, row, "allocator", "mmap") || table_get_integer(table, row, column) > 0);
}

static int64_t peak_of(const struct table *table, size_t row)
{
	size_t column = table_find_column(table->kind, "peak_bytes");

	return table_is_known(table, row, column) ? table_get_integer(table, row, column) : -1;
}

/* What a row is of: a device's memory, which programs that use devices run out of first, the heap, mapped memory, anything else. */
enum memory_of { OF_DEVICE, OF_HEAP, OF_MMAP, OF_OTHER };

static enum memory_of what_of(const struct table *table, size_t row)
{
	struct text room = {0};
	enum memory_of of = OF_OTHER;

	if (is_word(table, row, "allocator", "heap"))
		of = OF_HEAP;
	else if (is_word(table, row, "allocator", "mmap"))
		of = OF_MMAP;
	else if (device_room_is_of(summary_text(&room, table, row, "allocator")))
		of = OF_DEVICE;
	text_free(&room);
	return of;
}

/* The devices' largest, then heap and mapped memory, then what is left by size. Returns how many there are. */
static size_t choose_rows(const struct table *table, size_t *rows)
{
	static const struct {
		enum memory_of of;
		size_t most;
	} order[] = {{OF_DEVICE, DEVICE_ROWS}, {OF_HEAP, 1}, {OF_MMAP, 1}, {OF_DEVICE, ALLOCATORS}, {OF_OTHER, ALLOCATORS}};
	bool *is_taken = base_alloc(table->shown_count + 1, sizeof(*is_taken));
	size_t count = 0, chosen = 0;

	for (size_t row = 0; row < table->shown_count; row++)
		count += is_told(table, row);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t k = 0; k < order[i].most && chosen < ALLOCATORS; k++) {
			size_t best = SIZE_MAX;
			for (size_t row = 0; row < table->shown_count; row++)
				if (!is_taken[row] && is_told(table, row) && what_of(table, row) == order[i].of &&
				    (best == SIZE_MAX || peak_of(table, row) > peak_of(table, best)))
					best = row;
			if (best == SIZE_MAX)
				break;
			is_taken[best] = true;
			rows[chosen++] = best;
		}
	free(is_taken);
	return count;
}

void summary_measure_memory(struct summary *summary)
{
	const char **names;
	size_t count = job_allocators(summary->request, &names);

	for (size_t i = 0; i < count && summary->device_rows < DEVICE_ROWS; i++)
		summary->device_rows += device_room_is_of(names[i]);
	free(names);
}

/* What frameworks' allocators say that they held is more than the blocks that were seen: as important as the figures above. */
static void put_told(struct summary *summary)
{
	const struct run *run = summary->request->run;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].account_count && summary_left(summary) > 0; k++) {
			const struct account *account = &run->processes[i].accounts[k];
			if (!request_wants_process(summary->request, &run->processes[i]) || !notes_is_told_more(account))
				continue;
			text_string(&summary->line, "  ");
			escape_visible(&summary->line, account->allocator, strlen(account->allocator));
			text_string(&summary->line, ": with what was there before the recording ");
			text_size(&summary->line, (int64_t)account->told_peak_bytes);
			text_string(&summary->line, " at the peak");
			summary_end_line(summary);
		}
}

/*
 * Of live heap at the ends of several processes: what forked ones took over from their parent stands there once for each. How much of that
 * they gave back is in their counts, and not told apart from their own blocks: at most what was live is still there.
 */
static void put_inherited(struct summary *summary)
{
	const struct run *run = summary->request->run;
	uint64_t inherited = 0, live = 0;
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (!request_wants_process(summary->request, process) || !process_has_heap(process) || process->heap.is_live_unknown)
			continue;
		const struct account *heap = &process->heap;
		live += heap->live_bytes;
		inherited += heap->inherited_bytes < heap->live_bytes ? heap->inherited_bytes : heap->live_bytes;
		count += heap->inherited_bytes > 0;
	}
	if (!summary_left(summary) || !inherited || (double)inherited < INHERITED_FROM * (double)live)
		return;
	text_string(&summary->line, "  heap: up to ");
	text_size(&summary->line, (int64_t)inherited);
	text_format(&summary->line, " of that %zu forked process%s took over from the parent, shared with it until written", count,
		    count == 1 ? "" : "es");
	summary_end_line(summary);
}

/* What of all that was in use, as the kernel counts: of several processes the largest one's, for pages that they share are in each. */
static void put_resident(struct summary *summary)
{
	struct request request = *summary->request;
	struct text whose = {0}, cell = {0};
	struct table *table;
	size_t column;

	request.sort = "peak_resident_bytes";
	table = tables_make(&table_processes, &request);
	column = table_find_column(table->kind, "peak_resident_bytes");
	if (table->shown_count && table_is_known(table, 0, column) && summary_left(summary)) {
		if (request.run->process_count > 1) {
			text_format(&whose, "of %s", summary_text(&cell, table, 0, "command"));
			text_format(&whose, " (%s), the largest", summary_text(&cell, table, 0, "process"));
		} else {
			text_string(&whose, "of the process, by the kernel");
		}
		text_format(&summary->line, "  %-*s", NAME_WIDTH, "resident");
		if (escape_width(whose.bytes, whose.length) < WHOSE_WIDTH)
			text_fill(&summary->line, ' ', WHOSE_WIDTH - escape_width(whose.bytes, whose.length));
		text_put(&summary->line, whose.bytes, whose.length);
		summary_cell(summary, table, 0, "peak_resident_bytes", 12);
		summary_cell(summary, table, 0, "peak_resident_ns", 12);
		summary_end_line(summary);
	}
	text_free(&whose);
	text_free(&cell);
	table_free(table);
}

void summary_put_memory(struct summary *summary)
{
	static const char *const ids[] = {"allocations", "allocated_bytes", "live_bytes", "peak_bytes", "peak_time_ns"};
	static const size_t widths[] = {11, 12, 13, 12, 12};
	struct table *totals = tables_make(&table_memory_summary, summary->request);
	size_t rows[ALLOCATORS] = {0}, count = choose_rows(totals, rows), shown = 0;

	/* Of several processes each has its own end, so what was live at the ends can be more than the peak of all together. */
	bool are_many = summary->request->run->process_count > 1;
	if (count && summary_heading(summary, are_many ? "Memory          allocations   allocated live at ends        peak     peak at"
						       : "Memory          allocations   allocated  live at end        peak     peak at", 1))
		for (; shown < count && shown < ALLOCATORS && summary_left(summary) > (shown + 1 < count && count > ALLOCATORS);
		     shown++) {
			text_string(&summary->line, "  ");
			summary_cell(summary, totals, rows[shown], "allocator", NAME_WIDTH);
			for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
				summary_cell(summary, totals, rows[shown], ids[i], widths[i]);
			summary_end_line(summary);
			summary->has_bound |= is_word(totals, rows[shown], "peak_kind", "bound");
			summary->shows_mmap |= is_word(totals, rows[shown], "allocator", "mmap");
		}
	if (shown)
		put_resident(summary);
	summary_more(summary, count, shown, "memory.summary");
	table_free(totals);
	if (shown)
		put_told(summary);
	if (shown && are_many)
		put_inherited(summary);
}

#define END_KINDS 6 /* that are told apart; what else there is stands in the table */

/* How processes ended: the number for the order, what went wrong first, and words for so many of them. */
struct way_out {
	unsigned rank;
	int status;
	size_t count;
};

static struct way_out way_of(const struct process *process)
{
	static const unsigned ranks[] = {[END_SIGNAL] = 0, [END_ABORT] = 1, [END_UNKNOWN] = 2, [END_EXIT] = 3, [END__EXIT] = 3,
					 [END_EXEC] = 4, [END_RUNNING] = 5, [END_IMPORTED] = 6};
	struct way_out way = {ranks[process->end], 0, 1};

	if (way.rank == 0 || way.rank == 3)
		way.status = process->end_status;
	if (way.rank == 3 && way.status == 0)
		way.rank = 7;
	return way;
}

static int by_rank(const void *a, const void *b)
{
	const struct way_out *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->status > right->status) - (left->status < right->status);
}

/* Of more processes than are listed: whoever ended badly may be none of the largest. */
static void put_ends(struct summary *summary, size_t count, size_t shown)
{
	static const char *const words[] = {"by signal", "aborted", "without a word", "status", "exec", "running", "not told", "status"};
	struct way_out kinds[END_KINDS] = {{0, 0, 0}};
	size_t used = 0, all = 0, other = 0;

	for (size_t i = 0; i < summary->request->run->process_count; i++) {
		struct way_out kind = way_of(&summary->request->run->processes[i]);
		size_t k = 0;

		if (!request_wants_process(summary->request, &summary->request->run->processes[i]))
			continue;
		all++;
		while (k < used && by_rank(&kinds[k], &kind))
			k++;
		if (k < used)
			kinds[k].count++;
		else if (used < END_KINDS)
			kinds[used++] = kind;
		else
			other++;
	}
	qsort(kinds, used, sizeof *kinds, by_rank);
	text_format(&summary->line, "  ... and %zu more: -t processes; of all %zu: ", count - shown, all);
	for (size_t k = 0; k < used; k++) {
		text_format(&summary->line, "%s%zu %s", k ? ", " : "", kinds[k].count, words[kinds[k].rank]);
		if (kinds[k].rank == 0 || kinds[k].rank == 3 || kinds[k].rank == 7)
			text_format(&summary->line, " %d", kinds[k].status);
	}
	if (other)
		text_format(&summary->line, ", %zu otherwise", other);
	summary_end_line(summary);
}

#define ROW_WIDTH 76 /* of a process's row without its name, "killed by signal 9 (Killed)" included */

static bool is_titled(const struct table *table, size_t row)
{
	return table_is_known(table, row, table_find_column(table->kind, "title"));
}

/* Titles are longer than names of programs: they get what the other columns leave, so that how it ended is still there. */
static size_t name_width(const struct summary *summary, const struct table *table)
{
	size_t width = summary->options->width, wide = 12;

	for (size_t row = 0; row < table->shown_count && row < PROCESS_ROWS; row++)
		if (is_titled(table, row))
			wide = width < ROW_WIDTH + 12 ? 12 : width > ROW_WIDTH + 32 ? 32 : width - ROW_WIDTH;
	return wide;
}

void summary_put_processes(struct summary *summary)
{
	struct request request = *summary->request;
	struct text heading = {0};
	struct table *table;
	size_t row = 0, width;

	if (request.run->process_count < 2)
		return;
	request.sort = "peak_bytes";
	table = tables_make(&table_processes, &request);
	width = name_width(summary, table);
	text_format(&heading, "%-*s     pid     lasted   heap peak  live at end  how it ended", (int)width + 2, "Processes");
	if (summary_heading(summary, heading.bytes, 2))
		for (; row < table->shown_count && row < PROCESS_ROWS && summary_left(summary) > 1; row++) {
			text_string(&summary->line, "  ");
			summary_cell(summary, table, row, is_titled(table, row) ? "title" : "command", width);
			summary_cell(summary, table, row, "process", 8);
			summary_cell(summary, table, row, "duration_ns", 11);
			summary_cell(summary, table, row, "peak_bytes", 12);
			summary_cell(summary, table, row, "live_bytes", 13);
			text_string(&summary->line, "  ");
			summary_cell(summary, table, row, "end", 60);
			summary_end_line(summary);
		}
	if (row && row < table->shown_count && summary_left(summary))
		put_ends(summary, table->shown_count, row);
	text_free(&heading);
	table_free(table);
}

static void put_cause(struct summary *summary, const struct cause *cause)
{
	summary_number(summary, text_size, cause->peak_bytes, 12);
	if (cause->is_leak_unknown)
		text_format(&summary->line, "%12s", "unknown");
	else
		summary_number(summary, text_size, cause->leaked_bytes, 12);
	summary_number(summary, human_count, cause->allocations, 12);
	text_string(&summary->line, "  ");
	cause_text(cause, &summary->line, summary->options->width > 58 ? summary->options->width - 38 : 20);
	summary_end_line(summary);
	if (cause->callers.length || cause->script.length) {
		text_format(&summary->line, "%*s", 14, "");
		if (cause->script.length)
			text_format(&summary->line, "in %s ", cause->script.bytes);
		text_string(&summary->line, cause->callers.length ? cause->callers.bytes : "");
		summary_end_line(summary);
	}
	summary->has_near |= cause->has_near;
}

static bool put_sites_heading(struct summary *summary, const struct causes *causes)
{
	struct text heading = {0};
	bool is_there;

	text_string(&heading, summary->request->run->process_count > 1 ? " at own peak" : "     at peak");
	text_string(&heading, "      leaked      allocs  call stacks");
	if (summary->out_allocator) {
		text_string(&heading, " of ");
		escape_visible(&heading, summary->out_allocator, strlen(summary->out_allocator));
	}
	text_string(&heading, causes->is_estimated ? " (estimated from samples)" : "");
	is_there = summary_heading(summary, heading.bytes, 3);
	text_free(&heading);
	return is_there;
}

const struct causes *summary_causes(struct summary *summary)
{
	struct request request = *summary->request;

	if (summary->out_allocator)
		request.allocator = summary->out_allocator;
	if (!summary->has_causes)
		summary->causes = causes_make(&request);
	summary->has_causes = true;
	return &summary->causes;
}

/*
 * How much of mapped memory can have been real: hardly more than a process was seen to have, or its group may have. It may have grown
 * since the last reading, the limit is met by the page behind it, and what is mapped is told before it is written.
 */
static int64_t most_real(const struct run *run)
{
	uint64_t most = 0, value;

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		most = process->told.memory_limit_bytes > most ? process->told.memory_limit_bytes : most;
		for (size_t k = 0; k < process->use.count; k++) {
			const struct use_sample *sample = &process->use.samples[k];
			if (use_value(&process->use, sample, USE_group_memory_limit, &value) && value > most)
				most = value;
			if (use_value(&process->use, sample, USE_resident, &value) && value > most)
				most = value;
		}
	}
	most += most / UNREAD_PART;
	return most < INT64_MAX ? (int64_t)most : INT64_MAX;
}

const struct cause *summary_holder(struct summary *summary)
{
	const struct causes *causes = summary->is_out ? summary_causes(summary) : NULL;
	const struct cause *most = causes && causes->count ? &causes->list[0] : NULL;
	int64_t real = most ? most_real(summary->request->run) : 0;

	for (size_t i = 1; most && !summary->out_allocator && i < causes->count; i++) {
		const struct cause *mapped = &causes->list[i];
		if (mapped->is_mapped && !mapped->is_below && mapped->peak_bytes <= real && mapped->peak_bytes > most->peak_bytes)
			most = mapped;
	}
	return most && (summary->out_allocator || most->is_heap || most->is_mapped) ? most : NULL;
}

static void put_causes(struct summary *summary, const struct cause *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_cause(summary, &first[i]);
}

/* The largest causes at the peak. In mode totals there are none, and a heading alone says nothing. Address space that was
 * mapped is often far larger than what the heap holds, and has a peak of its own: it keeps its place behind, unless memory
 * ran out for it. */
void summary_put_sites(struct summary *summary)
{
	const struct causes *causes = summary_causes(summary);
	const struct cause *holder = summary_holder(summary), *list = causes->list;
	size_t heap = 0, others, rows, sure, rest;

	if (!causes->count || !put_sites_heading(summary, causes))
		return;
	rows = (summary_left(summary) - 1) / 2;
	rows = rows < SITE_ROWS ? rows : SITE_ROWS;
	while (heap < causes->count && list[heap].is_heap)
		heap++;
	others = causes->count - heap;
	if (holder && holder->is_mapped && heap) {
		sure = heap < OTHER_SITE_ROWS ? heap : OTHER_SITE_ROWS;
		sure = rows > sure ? rows - sure : 1;
		sure = others < sure ? others : sure;
		put_causes(summary, &list[heap], sure);
		rest = rows > sure ? rows - sure : 0;
		put_causes(summary, list, heap < rest ? heap : rest);
	} else {
		sure = others < OTHER_SITE_ROWS ? others : OTHER_SITE_ROWS;
		sure = rows > sure ? rows - sure : 1;
		sure = heap < sure ? heap : sure;
		put_causes(summary, list, sure);
		rest = rows > sure ? rows - sure : 0;
		put_causes(summary, &list[heap], others < rest ? others : rest);
	}
	if (causes->count > rows || causes->is_more) {
		text_string(&summary->line, "  ... and more: -t memory.sites");
		summary_end_line(summary);
	}
}
