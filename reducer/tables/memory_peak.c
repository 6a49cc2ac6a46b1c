/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.allocators: what each allocator can hold, held at its peak, and how torn its free memory is; memory.peak: what was
 * live at that moment.
 *
 * Rule: an allocator is of one process. Capacity is what is known of it: of a device its memory, of an allocator that tells
 * its room stack + heap + free; where the parts do not sum to it the difference stands in a column. Unknown is empty.
 */
#include "reducer/analysis/holdings.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/job.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>
#include <string.h>

enum {
	PROCESS,
	ALLOCATOR,
	CAPACITY,
	LIFETIME,
	PEAK,
	PEAK_TIME,
	STACK,
	HEAP,
	FREE_BYTES,
	FRAGMENTATION,
	WHY,
	RESERVED,
	DIFFERENCE,
	MACHINE, MEMBER, COLUMNS
};
static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0, "heap, mmap, device:N, pinned, a framework's name"},
	[CAPACITY] = {"capacity_bytes", "capacity", TABLE_INTEGER, UNIT_BYTES, 0,
		      "of a device its memory; of an allocator that tells its room stack + heap + free"},
	[LIFETIME] = {"lifetime_peak_bytes", "peak ever", TABLE_INTEGER, UNIT_BYTES, 0,
		      "most since the allocator began, as it says itself; else since recording began"},
	[PEAK] = {"peak_bytes", "peak", TABLE_INTEGER, UNIT_BYTES, 0, "most in the time looked at: stack and heap"},
	[PEAK_TIME] = {"peak_time_ns", "at", TABLE_INTEGER, UNIT_NS, 0,
		       "when, from the start of the run; of equal ones that of a framework's allocator is the last (as xprof's)"},
	[STACK] = {"stack_bytes", "stack", TABLE_INTEGER, UNIT_BYTES, 1, "at the peak: reserved outside its heap"},
	[HEAP] = {"heap_bytes", "heap", TABLE_INTEGER, UNIT_BYTES, 0, "at the peak: handed out"},
	[FREE_BYTES] = {"free_bytes", "free", TABLE_INTEGER, UNIT_BYTES, 0,
			"at the peak: it could still hand out; of a device the least that the driver told"},
	[FRAGMENTATION] = {"fragmentation", "torn", TABLE_REAL, UNIT_RATIO, 0, "at the peak: 1 - largest free block / free"},
	[WHY] = {"fragmentation_unknown", "why not", TABLE_TEXT, UNIT_NONE, 2, "why fragmentation is empty"},
	[RESERVED] = {"reserved_bytes", "reserved", TABLE_INTEGER, UNIT_BYTES, 1, "at the peak: taken from below"},
	[DIFFERENCE] = {"difference_bytes", "difference", TABLE_INTEGER, UNIT_BYTES, 1,
			"capacity - (stack + heap + free): of a device what contexts, code and other processes hold"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const struct holder *holder_of(const struct allocator_list *all, const struct process *process, const char *allocator)
{
	for (size_t i = 0; all && i < all->count; i++) {
		const struct holder *holder = allocators_at(all, i);
		if (holder->of.log_id == process->log_id && strcmp(allocators_name(all, i), allocator) == 0)
			return holder;
	}
	return NULL;
}

static void put_holder(struct table *table, const struct holder *holder, const struct account *account)
{
	uint64_t seen = account && account->peak_bytes > holder->peak_bytes ? account->peak_bytes : holder->peak_bytes;
	uint64_t ever = holder->lifetime_peak ? holder->lifetime_peak : seen; /* it leaves out what lies outside the heap */

	table_integer(table, LIFETIME, (int64_t)ever);
	if (holder->peak_ns != TIME_UNKNOWN) {
		table_integer(table, PEAK, (int64_t)holder->peak_bytes);
		table_integer(table, PEAK_TIME, holder->peak_ns);
		table_integer(table, HEAP, (int64_t)holder->heap);
	}
	if (holder->has_room) {
		table_integer(table, STACK, (int64_t)holder->stack);
		table_integer(table, FREE_BYTES, (int64_t)holder->free);
		table_integer(table, CAPACITY, (int64_t)(holder->stack + holder->heap + holder->free));
		table_integer(table, DIFFERENCE, 0);
		table_real(table, FRAGMENTATION, holder->fragmentation);
	} else if (holder->reserved >= holder->heap && holder->reserved) {
		table_integer(table, RESERVED, (int64_t)holder->reserved);
		table_integer(table, FREE_BYTES, (int64_t)(holder->reserved - holder->heap));
		table_string(table, WHY, "the allocator tells how much it holds free, not the largest block of it");
	} else {
		table_string(table, WHY, "the allocator does not tell what it holds free");
	}
}

static void put_device(struct table *table, const struct process *process, const struct account *account)
{
	uint32_t number;
	bool is_known = gpu_is_device_allocator(account->allocator, &number);
	const struct gpu_device *device = process->gpu && is_known ? gpu_find_device(process->gpu, number) : NULL;
	uint64_t capacity = !device ? 0 : device->total ? device->total : device->memory_bytes;

	table_string(table, WHY, "the driver tells how much is free, not the largest block of it");
	if (!capacity)
		return;
	table_integer(table, CAPACITY, (int64_t)capacity);
	table_integer(table, STACK, 0);
	if (!device->answers)
		return;
	table_integer(table, FREE_BYTES, (int64_t)device->least_free);
	table_integer(table, DIFFERENCE, (int64_t)(capacity - device->least_free - account->peak_bytes));
}

static void put_account(struct table *table, const struct process *process, const struct account *account)
{
	if (account->kind != ACCOUNT_NONE && !account->is_live_unknown) {
		table_integer(table, LIFETIME, (int64_t)account->peak_bytes);
		table_integer(table, PEAK, (int64_t)account->peak_bytes);
		table_integer(table, HEAP, (int64_t)account->peak_bytes);
		if (account->peak_time_ns != TIME_UNKNOWN)
			table_integer(table, PEAK_TIME, account->peak_time_ns);
	}
	if (strncmp(account->allocator, "device:", 7) == 0)
		put_device(table, process, account);
	else
		table_string(table, WHY, "nobody tells what is free without stopping the program");
}

/* What call stacks say of a peak has no time. */
static void note_whole(struct table *table, const struct request *request, bool has_accounts)
{
	if (has_accounts && (request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->has_steps))
		table_note(table, NOTE_INFO,
			   "--window and --step choose among what frameworks told of their allocators; rows of the others (heap, mmap, "
			   "GPU calls) are of the whole run.");
}

static void fill(struct table *table, const struct request *request)
{
	const char **names;
	size_t count = job_allocators(request, &names);
	bool has_accounts = false;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		const struct allocator_list *all = analyses_process(request->analyses, &analysis_holdings, p);
		for (size_t a = 0; a < count && request_wants_process(request, process); a++) {
			const struct account *account = job_account(process, names[a]);
			const struct holder *holder = holder_of(all, process, names[a]);
			if (!account && !holder)
				continue;
			table_row(table);
			table_process(table, PROCESS, MACHINE, process);
			table_string(table, ALLOCATOR, names[a]);
			if (holder)
				put_holder(table, holder, account);
			else
				put_account(table, process, account);
			has_accounts |= !holder;
		}
	}
	free(names);
	note_whole(table, request, has_accounts);
	notes_recording(table, request);
}

enum {
	P_RANK,
	P_ALLOCATOR,
	P_OP,
	P_ALLOCATED,
	P_REQUESTED,
	P_TIMES,
	P_REGION,
	P_REGION_FROM,
	P_TYPE,
	P_SHAPE,
	P_PROCESS,
	P_SHARE,
	P_STACK,
	P_MACHINE, P_MEMBER, P_COLUMNS
};
static const struct table_column peak_columns[] = {
	[P_RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "within its allocator, by bytes"},
	[P_ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0, "whose peak it is"},
	[P_OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 0, "that the block was for; empty = not known"},
	[P_ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 0,
			 "handed out and not given back at the peak"},
	[P_REQUESTED] = {"requested_bytes", "requested", TABLE_INTEGER, UNIT_BYTES, 1, "asked for; empty = not known"},
	[P_TIMES] = {"occurrences", "blocks", TABLE_INTEGER, UNIT_COUNT, 0, "blocks that are alike"},
	[P_REGION] = {"region", "region", TABLE_TEXT, UNIT_NONE, 0,
		      "temporary; output: activations and gradients; persistent: weights, constants, optimiser state; stack"},
	[P_REGION_FROM] = {"region_source", "region by", TABLE_TEXT, UNIT_NONE, 2,
			   "said: by the framework; inferred: from when and in which phase it was made"},
	[P_TYPE] = {"data_type", "type", TABLE_TEXT, UNIT_NONE, 1, "of the tensor's elements; empty = not said"},
	[P_SHAPE] = {"shape", "shape", TABLE_TEXT, UNIT_NONE, 1, "of the tensor; empty = not said"},
	[P_PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 2, "pid as the process saw it"},
	[P_SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0,
		     "of the allocator's peak; where a sample's estimates add up to more, of their sum"},
	[P_STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 0, "call stack of the allocation; empty = not recorded"},
	[P_MACHINE] = TABLE_HOST,
	[P_MEMBER] = TABLE_MEMBER,
};

/* One row to be; rows of an allocator stand by bytes. */
struct peak_row {
	const struct process *process;
	const char *allocator, *op, *region, *from, *type, *shape;
	uint64_t bytes, requested, blocks, whole;
	bool has_requested;
	uint32_t process_index, stack;
	unsigned order; /* frameworks' allocators first, then devices */
};
struct peak_rows {
	struct peak_row *items;
	size_t count, room;
};

static struct peak_row *add(struct peak_rows *rows, const struct peak_row *row)
{
	rows->items = base_grow(rows->items, &rows->room, rows->count + 1, sizeof(*rows->items));
	rows->items[rows->count] = *row;
	return &rows->items[rows->count++];
}

static void add_holder(struct peak_rows *rows, const struct allocator_list *all, const struct holder *holder,
		       const struct peak_row *start)
{
	for (size_t i = 0; i < holder->holding_count; i++) {
		const struct holding *one = &holder->holdings[i];
		const char *said = all->words.items[one->region_said];
		struct peak_row *row = add(rows, start);
		row->op = all->words.items[one->op];
		row->region = one->region || !said[0] ? region_name((enum region)one->region) : said;
		row->from = said[0] ? "said" : one->is_inferred ? "inferred" : NULL;
		row->type = holding_type_name(one->type);
		row->shape = all->words.items[one->shape];
		row->bytes = one->peak.bytes;
		row->requested = one->peak.requested;
		row->has_requested = true;
		row->blocks = one->peak.blocks;
	}
	if (holder->heap > holder->known) {
		struct peak_row *row = add(rows, start);
		row->op = "(handed out before recording began, or kept unused)";
		row->bytes = holder->heap - holder->known;
	}
	if (holder->stack) {
		struct peak_row *row = add(rows, start);
		row->op = "(reserved outside the heap)";
		row->region = "stack";
		row->from = "said";
		row->bytes = holder->stack;
	}
}

/* Sites of a sample are estimates, and may add up to more than the peak, which is none: then they share in their own sum. */
static void add_sites(struct peak_rows *rows, const struct account *account, struct peak_row *start)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < account->site_count; i++)
		sum += account->sites[i].peak_bytes;
	start->whole = sum > start->whole ? sum : start->whole;
	for (size_t i = 0; i < account->site_count; i++) {
		struct peak_row *row;
		if (!account->sites[i].peak_bytes)
			continue;
		row = add(rows, start);
		row->bytes = account->sites[i].peak_bytes;
		row->blocks = account->sites[i].peak_blocks;
		row->stack = account->sites[i].stack;
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct peak_row *one = a, *other = b;
	int order;

	if (one->process_index != other->process_index)
		return one->process_index < other->process_index ? -1 : 1;
	if (one->order != other->order)
		return one->order < other->order ? -1 : 1;
	order = strcmp(one->allocator, other->allocator);
	if (order)
		return order;
	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? 1 : -1;
	if (one->requested != other->requested)
		return one->requested < other->requested ? 1 : -1;
	order = strcmp(one->op ? one->op : "", other->op ? other->op : "");
	return order ? order : strcmp(one->shape ? one->shape : "", other->shape ? other->shape : "");
}

static const char *or_empty(const char *text)
{
	return text && text[0] ? text : NULL;
}

static void put_peak(struct table *table, const struct peak_row *row, size_t rank)
{
	table_row(table);
	table_integer(table, P_RANK, (int64_t)rank);
	table_string(table, P_ALLOCATOR, row->allocator);
	table_string(table, P_OP, or_empty(row->op));
	table_integer(table, P_ALLOCATED, (int64_t)row->bytes);
	if (row->has_requested)
		table_integer(table, P_REQUESTED, (int64_t)row->requested);
	if (row->blocks)
		table_integer(table, P_TIMES, (int64_t)row->blocks);
	table_string(table, P_REGION, or_empty(row->region));
	table_string(table, P_REGION_FROM, row->from);
	table_string(table, P_TYPE, row->type);
	table_string(table, P_SHAPE, or_empty(row->shape));
	table_process(table, P_PROCESS, P_MACHINE, row->process);
	if (row->whole)
		table_real(table, P_SHARE, (double)row->bytes / (double)row->whole);
	if (row->stack)
		table_stack(table, P_STACK, row->process_index, row->stack);
}

static void find_rows(struct peak_rows *rows, const struct request *request, const char *const *names, size_t count)
{
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		const struct allocator_list *all = analyses_process(request->analyses, &analysis_holdings, p);
		for (size_t a = 0; a < count && request_wants_process(request, process); a++) {
			const struct account *account = job_account(process, names[a]);
			const struct holder *holder = holder_of(all, process, names[a]);
			struct peak_row start = {.process = process, .process_index = (uint32_t)p, .allocator = names[a]};
			start.order = holder ? 0 : strncmp(names[a], "device:", 7) == 0 ? 1 : 2;
			start.whole = holder ? holder->peak_bytes : account ? account->peak_bytes : 0;
			if (holder)
				add_holder(rows, all, holder, &start);
			else if (account && account->kind != ACCOUNT_NONE)
				add_sites(rows, account, &start);
		}
	}
}

static void fill_peak(struct table *table, const struct request *request)
{
	const char **names;
	size_t count = job_allocators(request, &names), limit = request_row_limit(request, table->kind), rank = 0;
	struct peak_rows rows = {0};
	bool is_inferred = false, has_accounts = false;

	find_rows(&rows, request, names, count);
	if (rows.count)
		qsort(rows.items, rows.count, sizeof(*rows.items), by_bytes);
	for (size_t i = 0; i < rows.count; i++) {
		const struct peak_row *row = &rows.items[i], *before = i ? row - 1 : NULL;
		bool is_first = !before || before->process != row->process || strcmp(before->allocator, row->allocator) != 0;
		rank = is_first ? 1 : rank + 1;
		has_accounts |= row->stack != 0;
		is_inferred |= row->from && strcmp(row->from, "inferred") == 0;
		if (table->row_count < limit)
			put_peak(table, row, rank);
	}
	table->omitted_count = rows.count - table->row_count;
	if (is_inferred)
		table_note(table, NOTE_INFERRED,
			   "Regions marked 'inferred': what was made before the first step or by the optimiser is persistent, "
			   "temporary where the optimiser gave it back itself; what the forward and backward pass made is output.");
	if (!rows.count && !notes_not_in_file(table, request))
		table_note(table, NOTE_MISSING,
			   "Nothing is known of what was live: TFPROF_MALLOC=sample or full, a framework, or GPU calls give it.");
	note_whole(table, request, has_accounts);
	free(rows.items);
	free(names);
	notes_recording(table, request);
	notes_lost_blocks(table, request);
	notes_forgotten_blocks(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_holdings, NULL};
const struct table_kind table_memory_allocators = {
	.id = "memory.allocators",
	.title = "Room of allocators",
	.help = "What each allocator can hold, what it held at its peak and when, what was free then and how torn it was.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR | FILTER_WINDOW | FILTER_STEP,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
const struct table_kind table_memory_peak = {
	.id = "memory.peak",
	.title = "What was live at the peak",
	.help = "The blocks that each allocator had handed out at its peak: op, size, region, type, shape, or call stack.",
	.columns = peak_columns,
	.column_count = P_COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 15,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill_peak,
};
