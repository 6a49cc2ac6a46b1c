/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.refused: allocations that failed for want of memory, one by one.
 *
 * Rule: a row is one call as it was recorded; that a program lived on after it does not make it less worth knowing.
 */
#include "reducer/tables/cause_cells.h"
#include "reducer/tables/device_room.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/memory_out.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <inttypes.h>

enum { TIME, PROCESS, THREAD, ALLOCATOR, REQUESTED, CALL, OP, FUNCTION, FILE_NAME, LINE, MODULE, STACK, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[THREAD] = {"thread", "tid", TABLE_INTEGER, UNIT_NONE, 1, "kernel id of the thread; empty = not known"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0,
		       "as in memory.summary: heap, mmap, device:N, pinned, a framework's"},
	[REQUESTED] = {"requested_bytes", "requested", TABLE_INTEGER, UNIT_BYTES, 0,
		       "what was asked for; empty = not said, or a product that is no number of bytes"},
	[CALL] = {"call", "call", TABLE_TEXT, UNIT_NONE, 0,
		  "that failed; of a GPU the outermost recorded one; empty = the framework's allocator"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 1, "that the thread was in; empty = none, or not recorded"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "innermost that is no allocator's own"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 1, "of its source"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 1, "in it"},
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 2, "executable or library it is in"},
	[STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 1, "who asked, innermost first"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add_row(struct table *table, const struct process *process, size_t index, const struct refused *refused)
{
	const struct thread *thread = process_thread(process, refused->thread);

	table_row(table);
	table_integer(table, TIME, refused->time_ns);
	table_process(table, PROCESS, MACHINE, process);
	if (thread)
		table_integer(table, THREAD, thread->tid);
	if (refused->requested_bytes <= INT64_MAX)
		table_integer(table, REQUESTED, (int64_t)refused->requested_bytes);
	if (refused->call[0])
		table_string(table, CALL, refused->call);
	table_string(table, ALLOCATOR, refused->allocator);
	gpu_put_op(table, OP, process, refused->op);
	if (refused->stack)
		table_stack(table, STACK, index, refused->stack);
}

static bool wants(const struct request *request, const struct process *process, const struct refused *refused)
{
	if (refused->time_ns < request->from_ns || refused->time_ns > request->to_ns)
		return false;
	return request_wants_allocator(request, refused->allocator) && gpu_wants_thread(request, process, refused->thread);
}

/* Of the last one on a device. */
static void note_room(struct table *table, const struct request *request, size_t process, const struct refused *refused)
{
	struct text room = {0};

	device_room_put(&room, request, process, refused);
	if (room.length)
		table_note(table, NOTE_INFO, "When the last one failed: %s", room.bytes);
	text_free(&room);
}

/* How it came, of the one that the first screen looks at. */
static void note_out(struct table *table, const struct request *request, const struct refused *last)
{
	const struct memory_out out = memory_out_find(request);
	struct text text = {0};

	if (out.last == last)
		memory_out_say(&text, &out);
	if (text.length)
		table_note(table, NOTE_INFERRED, "%s", text.bytes);
	text_free(&text);
}

static void fill(struct table *table, const struct request *request)
{
	const struct refused *last = NULL;
	uint64_t told = 0, shown = 0;
	size_t of = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		told += process->refused.told;
		shown += process->refused.count;
		for (size_t k = 0; k < process->refused.count; k++) {
			const struct refused *refused = &process->refused.list[k];
			if (!wants(request, process, refused))
				continue;
			add_row(table, process, i, refused);
			if (!last || refused->time_ns >= last->time_ns) {
				last = refused;
				of = i;
			}
		}
	}
	if (last) {
		note_room(table, request, of, last);
		note_out(table, request, last);
	}
	if (told > shown)
		table_note(table, NOTE_INFO,
			   "%" PRIu64 " " BY_COUNT("allocation", "allocations") " failed; of a process the first %d and "
			   "the last stand here.", told, REFUSED_MOST - 1);
	notes_recording(table, request);
}

static void name_row(struct table *table, size_t row)
{
	cause_cells_name(table, row, &(const struct cause_cells){STACK, FUNCTION, FILE_NAME, LINE, MODULE});
}

const struct table_kind table_memory_refused = {
	.id = "memory.refused",
	.title = "Allocations that failed",
	.help = "What failed for want of memory, call by call: the malloc family, mmap and mremap; CUDA's calls that returned 2 (out of "
		"memory), whatever they do; frameworks' allocators (PyTorch's on devices, TensorFlow's). When, how much, by whom, in "
		"which op. What a framework tries again stands here each time.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_THREAD | FILTER_ALLOCATOR,
	.text_rows = 15,
	.needs_scan = true,
	.nothing = "No allocation failed for want of memory, of those that were recorded: the heap, mmap, CUDA, and "
		   "frameworks that tell.",
	.fill = fill,
	.name_row = name_row,
};
