/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps what a Python stack is made of: offsets, by version.
 *
 * Rule: from 3.13 on the interpreter says it itself (the table of offsets at the start of _PyRuntime); for 3.8 to 3.12 the
 * offsets of its headers stand here. Nobody believes either: collectors/python.c proves every object that it meets.
 */
#ifndef TFP_COLLECTORS_PYTHON_LAYOUT_H
#define TFP_COLLECTORS_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define TFP_PYTHON_NONE UINT32_MAX /* this version has no such field */
#define TFP_PYTHON_COLLECTIONS 72u /* bytes of three generations' counters */
#define TFP_PYTHON_APART 1120u /* bytes of 3.15's struct gc_stats, Include/internal/pycore_interp_structs.h */

/* How a code object says which instruction belongs to which line. */
enum tfp_python_lines {
	TFP_PYTHON_LNOTAB = 0,	  /* 3.8, 3.9: pairs of steps, Objects/lnotab_notes.txt */
	TFP_PYTHON_LINETABLE = 1, /* 3.10: pairs of steps with gaps, PEP 626 */
	TFP_PYTHON_LOCATIONS = 2, /* 3.11 on: Objects/locations.md (InternalDocs/code_objects.md) */
};

/* Bytes from the start of the object named first; TFP_PYTHON_NONE where there is none. */
struct tfp_python_layout {
	uint32_t version;      /* 0x030d: 3.13 */
	uint32_t interpreter_next, interpreter_threads; /* interpreter's state: the next one, the first thread state */
	uint32_t thread_next;  /* thread state: the next one of the interpreter */
	uint32_t thread_owner; /* thread state: its interpreter's */
	uint32_t thread_id;    /* thread state: pthread_self() of its thread */
	uint32_t thread_frame; /* thread state: the innermost frame, or what points to it */
	uint32_t cframe_frame; /* 3.11, 3.12: from there to the innermost frame */
	uint32_t frame_code, frame_previous;
	uint32_t frame_instruction; /* an address, or before 3.11 a number (32 bits) */
	uint32_t instruction_bytes; /* before 3.11: what that number counts in; else 0 */
	uint32_t frame_owner;	    /* 3.11 on: who owns it, a byte; from `shim_owner` on it is no Python function's */
	uint32_t shim_owner;
	uint32_t frame_entry; /* 3.11: a byte, 1 = the interpreter was entered for this frame */
	uint32_t code_name, code_file, code_line, code_lines, code_instructions;
	uint32_t text_length, text_hash, text_state, text_ascii, text_compact; /* of str objects; the last two: their data */
	uint32_t bytes_length, bytes_data;
	uint32_t type;			 /* any object: its type */
	uint32_t collections;		 /* three times {collections, collected, uncollectable}, words */
	uint32_t collecting;		 /* a half: 1 while the garbage collector runs; counted from where they are */
	uint32_t are_collections_apart;	 /* 3.15 on: what points to them, TFP_PYTHON_APART bytes */
	uint32_t are_collections_global; /* 3.8: from _PyRuntime, else from the interpreter's state */
	enum tfp_python_lines lines;
	/* From the start of each to the end of the last of these fields: what lies behind may be another's, or not mapped. */
	uint32_t thread_bytes, frame_bytes, code_bytes, text_bytes, lines_bytes; /* lines: a bytes object, but for its data */
};

/*
 * The layout of this interpreter. `version` is PY_VERSION_HEX, or 0x03080000 and the like where only the minor version is
 * known; `runtime` is _PyRuntime, `runtime_bytes` how much of it may be read. NULL, or why there is none: a sentence.
 */
const char *tfp_python_layout(struct tfp_python_layout *layout, uint32_t version, const void *runtime, size_t runtime_bytes);

/*
 * The line of the instruction `at` bytes into the code. `table` holds `bytes` of it, `first` is the function's first line.
 * 0: it has none. Reads nothing but the table.
 */
uint32_t tfp_python_line(enum tfp_python_lines kind, const uint8_t *table, size_t bytes, uint32_t first, uint32_t at);

#endif
