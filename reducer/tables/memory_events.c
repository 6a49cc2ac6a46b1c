/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.events: the largest allocations and releases of the frameworks' allocators, spread over the time looked at.
 *
 * Rule: a row is one event as it was recorded; what the framework did not say is empty; the notes say how many there were.
 */
#include "reducer/analysis/block_events.h"
#include "reducer/analysis/holdings.h"
#include "reducer/analysis/units.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <inttypes.h>

enum {
	TIME, ALLOCATOR, PROCESS, EVENT, REQUESTED, ALLOCATED, LIVE, FRAGMENTATION, OP, STEP, REGION, TYPE, SHAPE, MACHINE, MEMBER,
	COLUMNS
};

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0, "the framework's name of it"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[EVENT] = {"event", "event", TABLE_TEXT, UNIT_NONE, 0, "allocation or release"},
	[REQUESTED] = {"requested_bytes", "requested", TABLE_INTEGER, UNIT_BYTES, 0, "what was asked for; empty = not said"},
	[ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 0,
		       "what was handed out; of a release what came back, negative; empty = not in the log"},
	[LIVE] = {"live_bytes", "in use", TABLE_INTEGER, UNIT_BYTES, 0,
		  "handed out after it, as the allocator says, else of blocks whose allocation is in the log"},
	[FRAGMENTATION] = {"fragmentation", "torn", TABLE_REAL, UNIT_RATIO, 1,
			   "after it: 1 - largest free block / free; empty where the allocator does not tell"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 0,
		"that asked for it or gave it back; empty = none was open, or not recorded"},
	[STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "in which it was, of those that step_stats has; empty = in none"},
	[REGION] = {"region", "region", TABLE_TEXT, UNIT_NONE, 1,
		    "as the framework says: temporary, output, persistent; empty = not said"},
	[TYPE] = {"data_type", "type", TABLE_TEXT, UNIT_NONE, 1, "of the tensor's elements; empty = not said"},
	[SHAPE] = {"shape", "shape", TABLE_TEXT, UNIT_NONE, 1, "of the tensor; empty = not said"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add_event(struct table *table, const struct allocator_list *all, const struct block_events *events,
		      const struct process *process, const struct units *units, const struct block_event *event)
{
	const struct unit *step = units_at(units, event->time_ns, 0, UINT64_MAX);
	const char *op = all->words.items[event->op], *region = all->words.items[event->region];
	const char *shape = all->words.items[event->shape];

	table_row(table);
	table_integer(table, TIME, event->time_ns);
	table_string(table, ALLOCATOR, all->words.items[events->of.name]);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, EVENT, event->is_release ? "release" : "allocation");
	if (event->requested)
		table_integer(table, REQUESTED, (int64_t)event->requested);
	if (event->bytes)
		table_integer(table, ALLOCATED, (int64_t)(event->is_release ? 0 - event->bytes : event->bytes));
	table_integer(table, LIVE, (int64_t)event->live);
	if (event->has_room)
		table_real(table, FRAGMENTATION, event->fragmentation);
	table_string(table, OP, op[0] ? op : NULL);
	if (step != NULL)
		table_integer(table, STEP, (int64_t)step->number);
	table_string(table, REGION, region[0] ? region : NULL);
	table_string(table, TYPE, holding_type_name(event->type));
	table_string(table, SHAPE, shape[0] ? shape : NULL);
}

static void fill(struct table *table, const struct request *request)
{
	const struct allocator_list *all = analyses_whole(request->analyses, &analysis_block_events);
	size_t shown = 0;
	uint64_t told = 0;

	for (size_t i = 0; all != NULL && i < all->count; i++) {
		const struct block_events *events = allocators_at(all, i);
		const struct process *process = &request->run->processes[events->of.process];
		struct units units;
		if (!request_wants_allocator(request, allocators_name(all, i)))
			continue;
		told += events->told;
		shown += events->count;
		units_of_steps(&units, process);
		for (size_t k = 0; k < events->count; k++)
			add_event(table, all, events, process, &units, &events->items[k]);
		units_free(&units);
	}
	if (told > shown)
		table_note(table, NOTE_INFO,
			   "%zu of %" PRIu64
			   " events: of each stretch of time of an allocator the largest; --window looks at a part.",
			   shown, told);
	if (told == 0)
		notes_no_blocks(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_block_events, NULL};

const struct table_kind table_memory_events = {
	.id = "memory.events",
	.title = "Allocations and releases",
	.help = "The largest allocations and releases of the frameworks' allocators over time: op, step, region, type, shape, in "
		"use.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 30,
	.is_of_moments = true,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
