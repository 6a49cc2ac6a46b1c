/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python functions and lines as numbers: a python_code fact for each function, a code address of the log for each line.
 *
 * Rule: tables are bounded; what finds no room has no number. Called with texts already copied: knows nothing of CPython.
 */
#ifndef TFP_COLLECTORS_PYTHON_NAMES_H
#define TFP_COLLECTORS_PYTHON_NAMES_H

#include "writer/state.h"

#define TFP_PYTHON_TEXT 2048 /* bytes of a file's or a function's name kept, in UTF-8 */

/* The number of a function, told in a fact when it is new; 0 = no room. Any thread. */
uint32_t tfp_python_code(const char *function, size_t function_bytes, const char *file, size_t file_bytes, uint32_t line);

/* The index among the log's code addresses of a line of it; flags: TFP_PC_PYTHON and perhaps ENTRY. 0 = no room. Any thread. */
uint32_t tfp_python_pc(uint32_t code, uint32_t line, uint32_t flags);

/*
 * Characters of 1, 2 or 4 bytes each as UTF-8, at most `room` bytes; lone surrogates as three bytes, as Python's surrogatepass
 * has them. Returns the bytes written.
 */
size_t tfp_python_utf8(const void *text, size_t characters, unsigned character_bytes, char *to, size_t room);

#endif
