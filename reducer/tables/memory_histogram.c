/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.histogram: how large blocks were and how long they lived.
 *
 * Rule: one row a pair of classes that occurred.
 */
#include "reducer/tables/job.h"
#include "reducer/tables/notes.h"

#include <stdlib.h>

enum { ALLOCATOR, SIZE_FROM, SIZE_TO, LIFE_FROM, LIFE_TO, BLOCKS, BYTES, COLUMNS };

static const struct table_column columns[] = {
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 1, "heap, mmap, device:N, pinned, managed, a framework's"},
	[SIZE_FROM] = {"size_from_bytes", "size from", TABLE_INTEGER, UNIT_BYTES, 0, "smallest requested size of the class"},
	[SIZE_TO] = {"size_to_bytes", "size to", TABLE_INTEGER, UNIT_BYTES, 0, "largest requested size of the class"},
	[LIFE_FROM] = {"life_from_ns", "lived from", TABLE_INTEGER, UNIT_NS, 0,
		       "shortest time between allocation and release; empty = never released"},
	[LIFE_TO] = {"life_to_ns", "lived to", TABLE_INTEGER, UNIT_NS, 0, "longest, exclusive; empty = no bound, or never released"},
	[BLOCKS] = {"blocks", "blocks", TABLE_INTEGER, UNIT_COUNT, 0, "allocations in this class"},
	[BYTES] = {"requested_bytes", "asked for", TABLE_INTEGER, UNIT_BYTES, 0, "sum of their requested sizes"},
};

static void add_cell(struct table *table, const char *allocator, unsigned size, unsigned life, uint64_t blocks, uint64_t bytes)
{
	table_row(table);
	table_string(table, ALLOCATOR, allocator);
	table_integer(table, SIZE_FROM, size ? (int64_t)heap_size_limit(size - 1) + 1 : 0);
	table_integer(table, SIZE_TO, (int64_t)heap_size_limit(size));
	if (life + 1 < HEAP_LIFE_CLASSES)
		table_integer(table, LIFE_FROM, life ? (int64_t)heap_life_limit(life - 1) : 0);
	if (heap_life_limit(life) != UINT64_MAX)
		table_integer(table, LIFE_TO, (int64_t)heap_life_limit(life));
	table_integer(table, BLOCKS, (int64_t)blocks);
	table_integer(table, BYTES, (int64_t)bytes);
}

static void sum_into(struct heap_histogram *sum, const struct heap_histogram *one)
{
	for (unsigned size = 0; size < HEAP_SIZE_CLASSES; size++)
		for (unsigned life = 0; life < HEAP_LIFE_CLASSES; life++) {
			sum->blocks[size][life] += one->blocks[size][life];
			sum->bytes[size][life] += one->bytes[size][life];
		}
}

static void add_allocator(struct table *table, const struct request *request, const char *allocator)
{
	struct heap_histogram *sum = base_alloc(1, sizeof(*sum));

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct account *account = process_account(process, allocator);
		if (request_wants_process(request, process) && account && account->histogram)
			sum_into(sum, account->histogram);
	}
	for (unsigned size = 0; size < HEAP_SIZE_CLASSES; size++)
		for (unsigned life = 0; life < HEAP_LIFE_CLASSES; life++)
			if (sum->blocks[size][life])
				add_cell(table, allocator, size, life, sum->blocks[size][life], sum->bytes[size][life]);
	free(sum);
}

/* A sample has no classes: of what was not chosen nobody knows the size, nor when it came back. */
static void note_heap(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !process_has_heap(process) || process->heap.kind == ACCOUNT_EVENTS)
			continue;
		table_note(table, NOTE_MISSING,
			   "Blocks of malloc have classes only where each call was recorded: TFPROF_MALLOC=full does.");
		return;
	}
}

static void fill(struct table *table, const struct request *request)
{
	const char **names;
	size_t count = job_allocators(request, &names);

	for (size_t i = 0; i < count; i++)
		add_allocator(table, request, names[i]);
	free(names);
	if (table->row_count && request_wants_allocator(request, "mmap"))
		table_note(table, NOTE_INFO, "Blocks of mmap have no classes: parts of one can be given back, and grow.");
	notes_recording(table, request);
	if (request_wants_allocator(request, "heap"))
		note_heap(table, request);
}

const struct table_kind table_memory_histogram = {
	.id = "memory.histogram",
	.title = "Sizes and lifetimes",
	.help = "Blocks by requested size (classes of powers of two) and by how long they lived (classes of powers of ten).",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.text_rows = 60,
	.needs_scan = true,
	.fill = fill,
};
