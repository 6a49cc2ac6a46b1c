/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xla_memory: what XLA laid out for one execution of each module that it compiled.
 *
 * Rule: read from the modules that XLA wrote beside the logs (TFPROF_XLA_DUMP=1), nothing else: a plan, not what was allocated.
 */
#include "reducer/import/hlo.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/xla_files.h"

#include <stdlib.h>

enum { MODULE, NUMBER, TOTAL, ARGUMENTS, OUTPUTS, REUSED, TEMPORARIES, CONSTANTS, THREADS, ALLOCATIONS, COLUMNS };

static const struct table_column columns[] = {
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 0, "as XLA calls it: jit_ and the function's name"},
	[NUMBER] = {"number", "no.", TABLE_INTEGER, UNIT_NONE, 1, "of the module in its process, as the dump's file name has it"},
	[TOTAL] = {"total_bytes", "total", TABLE_INTEGER, UNIT_BYTES, 0, "arguments, outputs, temporaries and constants"},
	[ARGUMENTS] = {"argument_bytes", "arguments", TABLE_INTEGER, UNIT_BYTES, 0, "what the caller hands in: weights, batch"},
	[OUTPUTS] = {"output_bytes", "outputs", TABLE_INTEGER, UNIT_BYTES, 0, "results that have a place of their own"},
	[REUSED] = {"reused_bytes", "reused", TABLE_INTEGER, UNIT_BYTES, 0, "of the arguments: donated, a result takes their place"},
	[TEMPORARIES] = {"temporary_bytes", "temporaries", TABLE_INTEGER, UNIT_BYTES, 0,
			 "what is held while it runs: the buffers of all instructions, laid over each other where they may be"},
	[CONSTANTS] = {"constant_bytes", "constants", TABLE_INTEGER, UNIT_BYTES, 1, "in the program"},
	[THREADS] = {"thread_local_bytes", "of threads", TABLE_INTEGER, UNIT_BYTES, 3, "on stacks: not in the total"},
	[ALLOCATIONS] = {"allocations", "pieces", TABLE_INTEGER, UNIT_COUNT, 2, "that these are made of"},
};

static void put(struct table *table, size_t column, uint64_t bytes)
{
	if (bytes <= INT64_MAX)
		table_integer(table, column, (int64_t)bytes);
}

/* Whether the file tells. */
static bool add_row(struct table *table, const struct xla_file *file, const struct hlo_module *module)
{
	const struct hlo_memory *memory = &module->memory;
	uint64_t total;

	if (!memory->allocations)
		return false;
	table_row(table);
	table_string(table, MODULE, hlo_text(module, module->name));
	table_integer(table, NUMBER, file->number);
	if (!__builtin_add_overflow(memory->arguments, memory->outputs, &total) &&
	    !__builtin_add_overflow(total, memory->temporaries, &total) && !__builtin_add_overflow(total, memory->constants, &total))
		put(table, TOTAL, total);
	put(table, ARGUMENTS, memory->arguments);
	put(table, OUTPUTS, memory->outputs);
	put(table, REUSED, memory->reused);
	put(table, TEMPORARIES, memory->temporaries);
	put(table, CONSTANTS, memory->constants);
	put(table, THREADS, memory->thread_local);
	table_integer(table, ALLOCATIONS, (int64_t)memory->allocations);
	return true;
}

static void fill(struct table *table, const struct request *request)
{
	struct xla_files files = xla_files_find(request);
	size_t silent = 0;

	for (size_t i = 0; i < files.count; i++) {
		struct hlo_module *module = hlo_read(files.list[i].path, request->run->diags);
		silent += !module || !add_row(table, &files.list[i], module);
		hlo_free(module);
	}
	if (!files.count)
		xla_files_note_none(table, request, &files);
	else
		table_note(table, NOTE_INFO, "What XLA planned for one execution; what was allocated: memory.summary, memory.peak.");
	if (silent)
		table_note(table, NOTE_MISSING, "%zu of %zu modules do not tell how their memory is laid out.", silent, files.count);
	table_sort(table, TOTAL, false);
	xla_files_free(&files);
}

const struct table_kind table_xla_memory = {
	.id = "xla_memory",
	.title = "Memory of XLA's modules",
	.help = "What XLA laid out for one execution of each module: arguments, outputs, temporaries, constants.",
	.columns = columns,
	.column_count = COLUMNS,
	.text_rows = 25,
	.fill = fill,
};
