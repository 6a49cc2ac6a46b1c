/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xla_ops: what XLA made of a program: each instruction that runs, the op and the line it was made from, and its work.
 *
 * Rule: read from the modules that XLA wrote beside the logs (TFPROF_XLA_DUMP=1), nothing else; a figure that the shapes do
 * not tell stays empty. A module that was compiled again for other shapes is another one.
 */
#include "reducer/import/hlo.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/xla_files.h"

#include <stdlib.h>
#include <string.h>

enum {
	MODULE,
	NUMBER,
	INSTRUCTION,
	OPCODE,
	OP_NAME,
	FUNCTION,
	FILE_NAME,
	LINE,
	FLOPS,
	TRANSCENDENTALS,
	BYTES,
	INTENSITY,
	SHAPE,
	COLUMNS
};

static const struct table_column columns[] = {
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 0, "as XLA calls it: jit_ and the function's name"},
	[NUMBER] = {"number", "no.", TABLE_INTEGER, UNIT_NONE, 2, "of the module in its process, as the dump's file name has it"},
	[INSTRUCTION] = {"instruction", "instruction", TABLE_TEXT, UNIT_NONE, 0, "XLA's name; kernels have it, too"},
	[OPCODE] = {"opcode", "opcode", TABLE_TEXT, UNIT_NONE, 1, "fusion, dot, convolution, ..."},
	[OP_NAME] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 0,
		     "the framework's op that it was made from; empty = made by the compiler"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 2, "the Python function that asked for it"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 2, "its source file"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 0, "line in that file"},
	[FLOPS] = {"flops", "flops", TABLE_INTEGER, UNIT_COUNT, 0,
		   "arithmetic operations of one execution, from the shapes; empty = they do not tell (loops, custom calls)"},
	[TRANSCENDENTALS] = {"transcendentals", "transc.", TABLE_INTEGER, UNIT_COUNT, 3,
			     "exp, log, tanh and the like, not in flops"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 0, "of its operands and results"},
	[INTENSITY] = {"flops_per_byte", "flops/B", TABLE_REAL, UNIT_NONE, 1, "arithmetic intensity: flops by bytes"},
	[SHAPE] = {"shape", "shape", TABLE_TEXT, UNIT_NONE, 2,
		   "of the result: type[dimensions]{layout: the dimension that changes fastest in memory first}; empty = a tuple"},
};

/* Names and moves that no kernel runs for. */
static bool is_idle(const char *opcode)
{
	static const char *const idle[] = {"parameter",	   "constant",	 "tuple",  "get-tuple-element", "bitcast", "after-all",
					   "partition-id", "replica-id", "domain", "opt-barrier"};

	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (strcmp(idle[i], opcode) == 0)
			return true;
	return false;
}

static void put_shape(struct table *table, const struct hlo_instruction *instruction)
{
	struct text text = {0};

	hlo_put_shape(&text, instruction);
	if (text.length)
		table_text(table, SHAPE, text.bytes, text.length);
	text_free(&text);
}

static void add_row(struct table *table, const struct xla_file *file, const struct hlo_module *module,
		    const struct hlo_instruction *instruction)
{
	struct hlo_cost cost = hlo_cost(module, instruction);
	uint64_t bytes = hlo_touched(module, instruction);

	table_row(table);
	table_string(table, MODULE, hlo_text(module, module->name));
	table_integer(table, NUMBER, file->number);
	table_string(table, INSTRUCTION, hlo_text(module, instruction->name));
	table_string(table, OPCODE, hlo_text(module, instruction->opcode));
	if (instruction->op_name)
		table_string(table, OP_NAME, hlo_text(module, instruction->op_name));
	if (instruction->function)
		table_string(table, FUNCTION, hlo_text(module, instruction->function));
	if (instruction->file)
		table_string(table, FILE_NAME, hlo_text(module, instruction->file));
	if (instruction->line)
		table_integer(table, LINE, instruction->line);
	put_shape(table, instruction);
	table_integer(table, BYTES, (int64_t)(bytes & INT64_MAX));
	if (!cost.is_known)
		return;
	table_integer(table, FLOPS, (int64_t)(cost.flops & INT64_MAX));
	table_integer(table, TRANSCENDENTALS, (int64_t)(cost.transcendentals & INT64_MAX));
	if (bytes)
		table_real(table, INTENSITY, (double)cost.flops / (double)bytes);
}

/* Computations of which it is known that they run, in the order in which that was found. */
struct runs {
	bool *is_known; /* by place */
	const struct hlo_computation **found;
	size_t count;
};

static void add_run(struct runs *runs, const struct hlo_module *module, const struct hlo_computation *computation)
{
	if (!computation || runs->is_known[computation - module->computations])
		return;
	runs->is_known[computation - module->computations] = true;
	runs->found[runs->count++] = computation;
}

static bool is_frame(const char *opcode)
{
	return strcmp(opcode, "while") == 0 || strcmp(opcode, "conditional") == 0 || strcmp(opcode, "call") == 0;
}

/*
 * The computations that run by themselves: the program, and what it calls other than from inside a fusion or a reduction. One after the
 * other, not each within its caller: a file may name as many as it likes.
 */
static void find_runs(const struct hlo_module *module, struct runs *runs)
{
	for (size_t next = 0; next < runs->count; next++)
		for (uint32_t i = 0; i < runs->found[next]->count; i++) {
			const struct hlo_instruction *instruction = &module->instructions[runs->found[next]->first + i];
			uint32_t calls = is_frame(hlo_text(module, instruction->opcode)) ? instruction->called_count : 0;
			for (uint32_t c = 0; c < calls && (size_t)instruction->called + c < module->number_count; c++)
				add_run(runs, module, hlo_computation(module, module->numbers[instruction->called + c]));
		}
}

static void add_module(struct table *table, const struct xla_file *file, struct diag_list *diags)
{
	struct hlo_module *module = hlo_read(file->path, diags);
	const struct hlo_computation *entry = module ? hlo_computation(module, module->entry) : NULL;
	struct runs runs = {0};

	if (!entry) {
		hlo_free(module);
		table_note(table, NOTE_LOSS, "%s holds no module that can be read.", file->path);
		return;
	}
	runs.is_known = base_alloc(module->computation_count, sizeof(*runs.is_known));
	runs.found = base_alloc(module->computation_count, sizeof(*runs.found));
	add_run(&runs, module, entry);
	find_runs(module, &runs);
	for (size_t i = 0; i < module->instruction_count; i++) {
		const struct hlo_instruction *instruction = &module->instructions[i];
		const char *opcode = hlo_text(module, instruction->opcode);
		if (runs.is_known[instruction->computation] && !is_idle(opcode) && !is_frame(opcode))
			add_row(table, file, module, instruction);
	}
	free(runs.found);
	free(runs.is_known);
	hlo_free(module);
}

static void fill(struct table *table, const struct request *request)
{
	struct xla_files files = xla_files_find(request);

	for (size_t i = 0; i < files.count; i++)
		add_module(table, &files.list[i], request->run->diags);
	if (!files.count)
		xla_files_note_none(table, request, &files);
	else
		table_note(
			table, NOTE_INFO,
			"Work is that of one execution, as the shapes of %zu modules tell it; how often each ran is not in them.",
			files.count);
	table_sort(table, FLOPS, false);
	xla_files_free(&files);
}

const struct table_kind table_xla_ops = {
	.id = "xla_ops",
	.title = "XLA's instructions",
	.help = "What XLA compiled: fusions and other instructions with their op, source line, arithmetic and bytes.",
	.columns = columns,
	.column_count = COLUMNS,
	.text_rows = 25,
	.fill = fill,
};
