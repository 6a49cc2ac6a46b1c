/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of a run with their names: between the model (addresses of one process) and symbols (places in files).
 *
 * Rule: two stacks of different processes are the same if they name the same places in the same builds, whatever the
 * addresses were; names are looked up only for stacks that someone wants to print.
 */
#ifndef REDUCER_TABLES_FRAMES_H
#define REDUCER_TABLES_FRAMES_H

#include "reducer/model/run.h"
#include "reducer/symbols/symbols.h"

struct frames;

struct frames *frames_make(const struct run *run, const struct symbols_options *options);
void frames_free(struct frames *frames);

/* A value that is equal for equal stacks of any process of the run; 0 for "no stack". */
uint64_t frames_identity(struct frames *frames, size_t process, uint32_t stack);

/* Reads the call stacks of a process, and says what of them is damaged, before anything asks for one. */
void frames_load(struct frames *frames, size_t process);

/* Asks for the names of a stack; frames_resolve then looks all of them up at once. */
void frames_want(struct frames *frames, size_t process, uint32_t stack);
void frames_resolve(struct frames *frames);

/*
 * Asks for the innermost frames only, for someone who reads a stack until it has said enough (frames_search): others are looked up
 * when the walk comes to them.
 */
void frames_want_inner(struct frames *frames, size_t process, uint32_t stack);

/* Calls `visit` for each function of a stack, innermost first; a cut stack ends with a frame whose `module` is "" and
 * whose `function` says why in square brackets. Texts live during the call. */
#define FRAMES_PYTHON frames_python_module /* `module` of a Python function: this very text, "Python" */
extern const char frames_python_module[];

typedef void frames_visit(void *context, const struct symbol_frame *frame);
void frames_walk(struct frames *frames, size_t process, uint32_t stack, frames_visit *visit, void *context);

/* The same until `search` returns false. */
typedef bool frames_searcher(void *context, const struct symbol_frame *frame);
void frames_search(struct frames *frames, size_t process, uint32_t stack, frames_searcher *search, void *context);

/* Whether it is a stack of Python functions, too. */
bool frames_has_python(const struct frames *frames, size_t process, uint32_t stack);

/* The same for the Python functions of a stack alone; none where it has none. */
void frames_walk_python(struct frames *frames, size_t process, uint32_t stack, frames_visit *visit, void *context);

/* The function that a person would name as the cause: the innermost one that is not an allocator's own. */
struct frame_cause {
	struct text function, file, module;
	uint32_t line; /* 0 = unknown */
};
void frames_cause(struct frames *frames, size_t process, uint32_t stack, struct frame_cause *cause);
void frame_cause_free(struct frame_cause *cause);

/* True for functions that only pass memory on: operator new, standard containers, an interpreter's allocator, CUDA itself. */
bool frames_is_allocator(const struct symbol_frame *frame);

/* True for the file of a Python function that came with Python, was installed beside it or made by a compiler, not written by the user. */
bool frames_is_library(const char *file);

/* True for the file of what was given by python -c or at a prompt; code that libraries generate has the same. */
bool frames_is_typed(const char *file);

/* Modules whose names could not be had, or may be those of another build: one call each. */
void frames_problems(struct frames *frames, void (*visit)(void *context, const char *path, const char *reason), void *context);

/* Whether it is no code but what is said of a stack's end: "[outer frames ...]". */
static inline bool frames_is_marker(const struct symbol_frame *frame)
{
	return frame->function[0] == '[' && !frame->module[0] && !frame->is_named;
}

#endif
