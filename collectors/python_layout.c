/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of CPython by version; see collectors/python_layout.h. */
#include "collectors/python_layout.h"

#include "writer/sys.h"

#include "writer/poison.h"

#define NONE TFP_PYTHON_NONE

/* The same since 3.3 and fixed by the stable parts of the ABI: {count, type}, then a length. */
#define OBJECTS                                                                                                                            \
	.type = 8, .text_length = 16, .text_hash = 24, .text_state = 32, .bytes_length = 16, .bytes_data = 32, .interpreter_next = 0,      \
	.thread_next = 8, .thread_owner = 16
#define OLD_TEXT .text_ascii = 48, .text_compact = 72 /* until 3.11 a str could hold wide characters beside its own */
#define NEW_TEXT .text_ascii = 40, .text_compact = 56
/* Until 3.10 frames are objects, and each is entered from C. */
#define FRAME_OBJECTS                                                                                                                      \
	.thread_frame = 24, .cframe_frame = NONE, .frame_previous = 24, .frame_code = 32, .frame_owner = NONE, .frame_entry = NONE,        \
	.interpreter_threads = 8, .code_line = 40, .code_instructions = NONE, .code_name = 112, .code_file = 104, .code_lines = 120,       \
	.thread_id = 176
#define FRAMES .thread_frame = 56, .code_name = 128, .code_file = 112, .code_lines = 136, .instruction_bytes = 0

/* From the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1, by offsetof; a minor version never changes them. */
static const struct tfp_python_layout known[] = {
	{OBJECTS, OLD_TEXT, FRAME_OBJECTS, .version = 0x0308, .frame_instruction = 104, .instruction_bytes = 1, .collections = 472,
	  .are_collections_global = 1, .lines = TFP_PYTHON_LNOTAB},
	{OBJECTS, OLD_TEXT, FRAME_OBJECTS, .version = 0x0309, .frame_instruction = 104, .instruction_bytes = 1, .collections = 744,
	  .lines = TFP_PYTHON_LNOTAB},
	{OBJECTS, OLD_TEXT, FRAME_OBJECTS, .version = 0x030a, .frame_instruction = 96, .instruction_bytes = 2, .collections = 744,
	  .lines = TFP_PYTHON_LINETABLE},
	{OBJECTS, OLD_TEXT, FRAMES, .version = 0x030b, .interpreter_threads = 16, .thread_id = 152, .cframe_frame = 8, .frame_code = 32,
	  .frame_previous = 48, .frame_instruction = 56, .frame_entry = 68, .frame_owner = 69, .shim_owner = 3, .code_line = 72,
	  .code_instructions = 184, .collections = 776, .lines = TFP_PYTHON_LOCATIONS},
	{OBJECTS, NEW_TEXT, FRAMES, .version = 0x030c, .interpreter_threads = 72, .thread_id = 136, .cframe_frame = 0, .frame_code = 0,
	  .frame_previous = 8, .frame_instruction = 56, .frame_entry = NONE, .frame_owner = 70, .shim_owner = 3, .code_line = 68,
	  .code_instructions = 192, .collections = 240, .lines = TFP_PYTHON_LOCATIONS},
};

/* Words of the interpreter's own table (Include/internal/pycore_debug_offsets.h), counted from its start, and its length. */
struct own_table {
	uint32_t version, words;
	uint32_t interpreter_next, threads, gc, thread_next, thread_owner, current_frame, thread_id;
	uint32_t previous, executable, instruction, owner;
	uint32_t file, qualified_name, lines, first_line, instructions;
	uint32_t object_type, bytes_length, bytes_data, text_state, text_length, text_ascii, collecting;
	uint32_t stats_size, stats; /* 3.15 on; else 0 */
};

static const struct own_table tables[] = {
	{.version = 0x030d,
	  .words = 73,
	  .interpreter_next = 8,
	  .threads = 9,
	  .gc = 10,
	  .thread_next = 21,
	  .thread_owner = 22,
	  .current_frame = 23,
	  .thread_id = 24,
	  .previous = 29,
	  .executable = 30,
	  .instruction = 31,
	  .owner = 33,
	  .file = 35,
	  .qualified_name = 37,
	  .lines = 38,
	  .first_line = 39,
	  .instructions = 43,
	  .object_type = 45,
	  .bytes_length = 65,
	  .bytes_data = 66,
	  .text_state = 68,
	  .text_length = 69,
	  .text_ascii = 70,
	  .collecting = 72},
	{.version = 0x030e,
	  .words = 83,
	  .interpreter_next = 8,
	  .threads = 9,
	  .gc = 11,
	  .thread_next = 24,
	  .thread_owner = 25,
	  .current_frame = 26,
	  .thread_id = 27,
	  .previous = 32,
	  .executable = 33,
	  .instruction = 34,
	  .owner = 36,
	  .file = 40,
	  .qualified_name = 42,
	  .lines = 43,
	  .first_line = 44,
	  .instructions = 48,
	  .object_type = 51,
	  .bytes_length = 75,
	  .bytes_data = 76,
	  .text_state = 78,
	  .text_length = 79,
	  .text_ascii = 80,
	  .collecting = 82},
	{.version = 0x030f,
	  .words = 99,
	  .interpreter_next = 8,
	  .threads = 9,
	  .gc = 11,
	  .thread_next = 24,
	  .thread_owner = 25,
	  .current_frame = 26,
	  .thread_id = 30,
	  .previous = 40,
	  .executable = 41,
	  .instruction = 42,
	  .owner = 44,
	  .file = 48,
	  .qualified_name = 50,
	  .lines = 51,
	  .first_line = 52,
	  .instructions = 56,
	  .object_type = 59,
	  .bytes_length = 87,
	  .bytes_data = 88,
	  .text_state = 90,
	  .text_length = 91,
	  .text_ascii = 92,
	  .collecting = 95,
	  .stats_size = 97,
	  .stats = 98},
};

#define COOKIE UINT64_C(0x7970677562656478) /* "xdebugpy" */
#define OFFSET_MOST 65536                   /* no field lies further inside its object */
#define FREE_MOST 0x030d /* without the global lock each thread of later ones has a copy of the code, where the instruction lies */
#define BYTES_MOST 4096                     /* nor are more bytes proved at once: a page */

static uint32_t offset(const uint64_t *words, uint32_t word)
{
	return words[word] < OFFSET_MOST ? (uint32_t)words[word] : NONE;
}

static int is_whole(const struct tfp_python_layout *layout)
{
	return layout->thread_frame != NONE && layout->thread_id != NONE && layout->frame_previous != NONE && layout->frame_code != NONE &&
	       layout->frame_instruction != NONE && layout->frame_owner != NONE && layout->code_file != NONE && layout->code_name != NONE &&
	       layout->code_lines != NONE && layout->code_line != NONE && layout->code_instructions != NONE && layout->type != NONE &&
	       layout->bytes_length != NONE && layout->bytes_data != NONE && layout->text_state != NONE && layout->text_state >= 8 &&
	       layout->text_length != NONE && layout->text_ascii != NONE;
}

static void reach(uint32_t *bytes, uint32_t field, uint32_t size)
{
	if (field != NONE && field + size > *bytes)
		*bytes = field + size;
}

/* How much of each object is read. NULL, or why not. */
static const char *measure(struct tfp_python_layout *layout)
{
	layout->thread_bytes = layout->frame_bytes = layout->code_bytes = layout->text_bytes = layout->lines_bytes = layout->type + 8;
	reach(&layout->thread_bytes, layout->thread_id, 8);
	reach(&layout->thread_bytes, layout->thread_frame, 8);
	reach(&layout->frame_bytes, layout->frame_code, 8);
	reach(&layout->frame_bytes, layout->frame_previous, 8);
	reach(&layout->frame_bytes, layout->frame_instruction, layout->instruction_bytes ? 4 : 8);
	reach(&layout->frame_bytes, layout->frame_owner, 1);
	reach(&layout->frame_bytes, layout->frame_entry, 1);
	reach(&layout->code_bytes, layout->code_name, 8);
	reach(&layout->code_bytes, layout->code_file, 8);
	reach(&layout->code_bytes, layout->code_line, 4);
	reach(&layout->code_bytes, layout->code_lines, 8);
	reach(&layout->text_bytes, layout->text_length, 8);
	reach(&layout->text_bytes, layout->text_hash, 8);
	reach(&layout->text_bytes, layout->text_state, 4);
	reach(&layout->lines_bytes, layout->bytes_length, 8);
	if (layout->thread_bytes > BYTES_MOST || layout->frame_bytes > BYTES_MOST || layout->code_bytes > BYTES_MOST ||
	    layout->text_bytes > BYTES_MOST || layout->lines_bytes > BYTES_MOST)
		return "The interpreter's own table of offsets holds impossible ones.";
	return NULL;
}

/* The three counters stand right before the flag `collecting`; from 3.15 on what points to them does. */
static void find_collections(struct tfp_python_layout *layout, const struct own_table *table, const uint64_t *words)
{
	uint32_t bytes = table->stats ? 8 : TFP_PYTHON_COLLECTIONS;

	layout->are_collections_apart = table->stats != 0;
	layout->collections = layout->collecting = NONE;
	if (words[table->gc] >= OFFSET_MOST || words[table->collecting] >= OFFSET_MOST || words[table->collecting] < bytes)
		return;
	layout->collecting = (uint32_t)(words[table->gc] + words[table->collecting]);
	if (table->stats && (words[table->stats] != words[table->collecting] - bytes || words[table->stats_size] != TFP_PYTHON_APART))
		return;
	layout->collections = layout->collecting - bytes;
}

static const char *from_table(struct tfp_python_layout *layout, const struct own_table *table, const uint64_t *words)
{
	*layout = (struct tfp_python_layout){
		.version = table->version,
		.interpreter_next = offset(words, table->interpreter_next),
		.interpreter_threads = offset(words, table->threads),
		.thread_next = offset(words, table->thread_next),
		.thread_owner = offset(words, table->thread_owner),
		.thread_id = offset(words, table->thread_id),
		.thread_frame = offset(words, table->current_frame),
		.cframe_frame = NONE,
		.frame_code = offset(words, table->executable),
		.frame_previous = offset(words, table->previous),
		.frame_instruction = offset(words, table->instruction),
		.frame_owner = offset(words, table->owner),
		.shim_owner = 3, /* FRAME_OWNED_BY_CSTACK; from 3.14 on FRAME_OWNED_BY_INTERPRETER, and 3.14's C stack's is 4 */
		.frame_entry = NONE,
		.code_name = offset(words, table->qualified_name),
		.code_file = offset(words, table->file),
		.code_line = offset(words, table->first_line),
		.code_lines = offset(words, table->lines),
		.code_instructions = offset(words, table->instructions),
		.type = offset(words, table->object_type),
		.bytes_length = offset(words, table->bytes_length),
		.bytes_data = offset(words, table->bytes_data),
		.text_length = offset(words, table->text_length),
		.text_state = offset(words, table->text_state),
		.text_ascii = offset(words, table->text_ascii),
		.lines = TFP_PYTHON_LOCATIONS,
	};
	if (!is_whole(layout))
		return "The interpreter's own table of offsets holds impossible ones.";
	layout->text_hash = layout->text_state - 8;
	layout->text_compact = layout->text_ascii + 16; /* behind it: utf8_length, utf8 */
	find_collections(layout, table, words);
	return measure(layout);
}

const char *tfp_python_layout(struct tfp_python_layout *layout, uint32_t version, const void *runtime, size_t runtime_bytes)
{
	const uint64_t *words = runtime;
	uint32_t minor = version >> 16;

	if (minor < 0x0308)
		return "Frames are read from Python 3.8 on; this one is older.";
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == minor) {
			*layout = known[i];
			layout->collecting = layout->collections + TFP_PYTHON_COLLECTIONS;
			return measure(layout);
		}
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (tables[i].version != minor)
			continue;
		if (runtime_bytes < 8 * (size_t)tables[i].words || words[0] != COOKIE || words[1] >> 16 != minor)
			return "The interpreter's own table of offsets is not where it should be.";
		if (words[2] && minor > FREE_MOST)
			return "This Python has no global lock (free-threaded), and its frames are read of 3.13 alone.";
		return from_table(layout, &tables[i], words);
	}
	return "This Python is newer than any that tfprof knows how to read (3.15).";
}
