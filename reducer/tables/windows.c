/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows: when events were recorded.
 *
 * Rule: the real edges, as logged; a window that was still open at the end has no closing time.
 */
#include "reducer/model/losses.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

enum { PROCESS, OPENED, CLOSED, LENGTH, OPENED_BY, CLOSED_BY, SLOWER, LIVE_OPENED, LIVE_CLOSED, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[OPENED] = {"opened_ns", "opened", TABLE_INTEGER, UNIT_NS, 0,
		    "from the start of the run; empty = open when the process began, or not in the log"},
	[CLOSED] = {"closed_ns", "closed", TABLE_INTEGER, UNIT_NS, 0,
		    "from the start of the run; empty = open to the end; by the output limit: when the first record was dropped"},
	[LENGTH] = {"length_ns", "length", TABLE_INTEGER, UNIT_NS, 0, "time between; empty = not both are known"},
	[OPENED_BY] = {"opened_by", "opened by", TABLE_TEXT, UNIT_NONE, 0,
		       "start of the process, time, signal, C API, step, launch, slow step, budget; empty = given up with FULL=wrap"},
	[CLOSED_BY] = {"closed_by", "closed by", TABLE_TEXT, UNIT_NONE, 0, "the same, or the output limit"},
	[SLOWER] = {"slower", "slower by", TABLE_REAL, UNIT_RATIO, 0,
		    "of a slow step: by how much it was longer than all but one of the 15 before it, 0.5 = 50 % longer"},
	[LIVE_OPENED] = {"live_opened_bytes", "live then", TABLE_INTEGER, UNIT_BYTES, 0,
			 "heap bytes live when it opened, batched: what was allocated before, whose sites are unknown"},
	[LIVE_CLOSED] = {"live_closed_bytes", "live at close", TABLE_INTEGER, UNIT_BYTES, 0, "heap bytes live when it closed, batched"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* records.def, window.cause */
static const char *cause_name(unsigned cause)
{
	static const char *const names[] = {"start", "time", "signal", "C API", "step", "launch", "output limit", "slow step", "budget"};

	return cause < sizeof(names) / sizeof(names[0]) ? names[cause] : "a later kind of edge";
}

static void put_live(struct table *table, size_t column, const struct window *edge)
{
	if (edge->live_bytes != UINT64_MAX)
		table_integer(table, column, (int64_t)edge->live_bytes);
}

static bool is_in(const struct request *request, int64_t from_ns, int64_t to_ns)
{
	return from_ns <= request->to_ns && to_ns >= request->from_ns;
}

/* With FULL=stop: where the first record found no room. */
static void add_limit(struct table *table, const struct process *process, const struct window *open)
{
	int64_t limit = losses_stopped_from(process);

	if (limit == TIME_UNKNOWN || !open || limit < open->time_ns)
		return;
	table_integer(table, CLOSED, limit);
	table_integer(table, LENGTH, limit - open->time_ns);
	table_string(table, CLOSED_BY, cause_name(WINDOW_BY_LIMIT));
}

/* `open` NULL: it was open when the process began. `close` NULL: never closed. */
static void add_window(struct table *table, const struct process *process, const struct window *open, const struct window *close)
{
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	if (open || !losses_gave_up(process))
		table_string(table, OPENED_BY, cause_name(open ? open->cause : 0));
	if (open) {
		table_integer(table, OPENED, open->time_ns);
		if (open->cause == WINDOW_BY_SLOW)
			table_real(table, SLOWER, (double)open->index / 100);
		put_live(table, LIVE_OPENED, open);
	}
	if (!close) {
		add_limit(table, process, open);
		return;
	}
	table_integer(table, CLOSED, close->time_ns);
	if (open)
		table_integer(table, LENGTH, close->time_ns - open->time_ns);
	table_string(table, CLOSED_BY, cause_name(close->cause));
	put_live(table, LIVE_CLOSED, close);
}

/* Recording that began with the process and met no edge: with FULL=stop it ended where the first record found no room. */
static void add_without_edges(struct table *table, const struct request *request, const struct process *process)
{
	int64_t limit = losses_stopped_from(process);

	if (!process->range_count || limit == TIME_UNKNOWN || !is_in(request, INT64_MIN, limit))
		return;
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, CLOSED, limit);
	table_string(table, OPENED_BY, cause_name(0));
	table_string(table, CLOSED_BY, cause_name(WINDOW_BY_LIMIT));
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	for (size_t i = 0; i < process->window_count; i++) {
		const struct window *edge = &process->windows[i];
		const struct window *end = i + 1 < process->window_count ? edge + 1 : NULL;
		bool is_closed = end && !end->is_open;
		if (edge->is_open && is_in(request, edge->time_ns, is_closed ? end->time_ns : INT64_MAX))
			add_window(table, process, edge, is_closed ? end : NULL);
		else if (!edge->is_open && i == 0 && is_in(request, INT64_MIN, edge->time_ns))
			add_window(table, process, NULL, edge);
	}
	if (!process->window_count)
		add_without_edges(table, request, process);
}

static void note_none(struct table *table, const struct request *request)
{
	size_t edges = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			edges += request->run->processes[i].window_count;
	if (!edges && !table->row_count)
		table_note(table, NOTE_INFO, "No window opened or closed while the processes ran.");
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(table, request, &request->run->processes[i]);
	note_none(table, request);
	notes_recording(table, request);
}

const struct table_kind table_windows = {
	.id = "windows",
	.title = "Capture windows",
	.help = "When events were recorded, as it really happened; totals go on outside of windows.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW,
	.needs_scan = true,
	.fill = fill,
};
