/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.lifetimes: the largest blocks that were live when an allocator of a framework held most, and how long each lived.
 *
 * Rule: a row is one block; from and to are its own allocation and release as they were recorded, also where --window and --step
 * ask for the peak of a part; what the framework did not say is empty.
 */
#include "reducer/analysis/holdings.h"
#include "reducer/analysis/lifetimes.h"
#include "reducer/analysis/units.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <inttypes.h>

enum {
	RANK, ALLOCATOR, PROCESS, ALLOCATED, REQUESTED, FROM, TO, LASTED, FROM_STEP, TO_STEP, OP, RELEASE_OP, REGION, TYPE, SHAPE, PEAK,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "by bytes, of its allocator"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0, "the framework's name of it"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 0, "what was handed out"},
	[REQUESTED] = {"requested_bytes", "requested", TABLE_INTEGER, UNIT_BYTES, 2, "what was asked for; empty = not said"},
	[FROM] = {"from_ns", "from", TABLE_INTEGER, UNIT_NS, 0, "when it was handed out, from the start of the run"},
	[TO] = {"to_ns", "to", TABLE_INTEGER, UNIT_NS, 0, "when it came back; empty = its release is not in the log"},
	[LASTED] = {"lifetime_ns", "lived", TABLE_INTEGER, UNIT_NS, 0, "from the one to the other"},
	[FROM_STEP] = {"from_step", "in step", TABLE_INTEGER, UNIT_NONE, 0, "in which it was handed out; empty = in none"},
	[TO_STEP] = {"to_step", "to step", TABLE_INTEGER, UNIT_NONE, 0, "in which it came back; empty = in none, or not in the log"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 0, "that asked for it; empty = none was open, or not recorded"},
	[RELEASE_OP] = {"release_op_name", "released in", TABLE_TEXT, UNIT_NONE, 2, "op that gave it back; empty likewise"},
	[REGION] = {"region", "region", TABLE_TEXT, UNIT_NONE, 2,
		    "as the framework says: temporary, output, persistent; empty = not said"},
	[TYPE] = {"data_type", "type", TABLE_TEXT, UNIT_NONE, 2, "of the tensor's elements; empty = not said"},
	[SHAPE] = {"shape", "shape", TABLE_TEXT, UNIT_NONE, 1, "of the tensor; empty = not said"},
	[PEAK] = {"peak_time_ns", "peak at", TABLE_INTEGER, UNIT_NS, 3,
		  "when its allocator held most, of equal peaks the last: all these were live then"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_step(struct table *table, size_t column, const struct units *units, int64_t time_ns)
{
	const struct unit *step = units_at(units, time_ns, 0, UINT64_MAX);

	if (step)
		table_integer(table, column, (int64_t)step->number);
}

static void put_text(struct table *table, size_t column, const char *text)
{
	table_string(table, column, text[0] ? text : NULL);
}

static void add_row(struct table *table, const struct request *request, const struct allocator_list *all, const struct lifetimes *of,
		    const struct units *units, size_t i)
{
	const struct lifetime *block = &of->items[i];

	table_row(table);
	table_integer(table, RANK, (int64_t)i + 1);
	table_string(table, ALLOCATOR, all->words.items[of->of.name]);
	table_process(table, PROCESS, MACHINE, &request->run->processes[of->of.process]);
	table_integer(table, ALLOCATED, (int64_t)block->bytes);
	if (block->requested)
		table_integer(table, REQUESTED, (int64_t)block->requested);
	table_integer(table, FROM, block->from_ns);
	put_step(table, FROM_STEP, units, block->from_ns);
	if (block->to_ns != TIME_UNKNOWN) {
		table_integer(table, TO, block->to_ns);
		table_integer(table, LASTED, block->to_ns - block->from_ns);
		put_step(table, TO_STEP, units, block->to_ns);
		put_text(table, RELEASE_OP, all->words.items[block->release_op]);
	}
	put_text(table, OP, all->words.items[block->op]);
	put_text(table, REGION, all->words.items[block->region]);
	table_string(table, TYPE, holding_type_name(block->type));
	put_text(table, SHAPE, all->words.items[block->shape]);
	table_integer(table, PEAK, of->peak_ns);
}

static void fill(struct table *table, const struct request *request)
{
	const struct allocator_list *all = analyses_whole(request->analyses, &analysis_lifetimes);

	for (size_t i = 0; all && i < all->count; i++) {
		const struct lifetimes *of = allocators_at(all, i);
		struct units units;
		if (!request_wants_allocator(request, allocators_name(all, i)))
			continue;
		units_of_steps(&units, &request->run->processes[of->of.process]);
		for (size_t k = 0; k < of->count; k++)
			add_row(table, request, all, of, &units, k);
		units_free(&units);
		if (of->live_blocks > of->count)
			table_note(table, NOTE_INFO,
				   "%s: the %zu largest of %" PRIu64 " blocks (%" PRIu64 " bytes) that were live at its peak.",
				   allocators_name(all, i), of->count, of->live_blocks, of->live_bytes);
	}
	if (!all || !all->count)
		notes_no_blocks(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_lifetimes, NULL};

const struct table_kind table_memory_lifetimes = {
	.id = "memory.lifetimes",
	.title = "Lifetimes of blocks",
	.help = "The largest blocks that were live when an allocator of a framework held most: from when to when each lived, of which op.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
