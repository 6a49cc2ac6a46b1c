/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of symbols/ only: what the child that reads module files is asked, and what it answers.
 *
 *   symbols.c   the public face: numbers, answers            (this process)
 *   worker.c    the child, the pipe, and what a crash means  (both)
 *   module.c    from a path and a build id to an open file   (child)
 *   names.c     ELF symbol tables                            (child)
 *   lines.c     DWARF: inlined functions, files, lines       (child)
 */
#ifndef REDUCER_SYMBOLS_INTERNAL_H
#define REDUCER_SYMBOLS_INTERNAL_H

#include "reducer/symbols/symbols.h"

#include <elfutils/libdwfl.h>

#define FRAMES_MAX 64 /* functions inlined into one address; more is damage, or nobody reads it */

struct lookup_module {
	char *path, *build_id, *problem;
	size_t build_id_length;
	uint32_t name; /* in the string pool */
	bool is_wanted; /* its locations are to be looked up with the next symbols_resolve */
};

/* One location. `frames` and `frame_count` say where its answers lie once is_resolved. */
struct lookup {
	uint64_t address; /* to look up: the byte before a return address */
	uint32_t module, frames;
	uint32_t unnamed; /* what it is called where it has no name, in the string pool; 0 = nobody asked */
	uint16_t frame_count;
	bool is_return, is_resolved;
};

/* An answer as it crosses the pipe: texts are NULL where unknown. */
struct lookup_frame {
	const char *function, *file;
	uint32_t line;
	uint32_t flags;
};
enum lookup_flag { LOOKUP_INLINED = 1, LOOKUP_NAMED = 2, LOOKUP_NEAR = 4 };

/* The addresses of one module, in ascending order. `index[i]` is the place of addresses[i] in the caller's list. */
struct lookup_batch {
	const struct lookup_module *module;
	const uint64_t *addresses;
	const uint32_t *index;
	size_t count;
};

/* Receives the answers of the worker, in this process. Texts live during the call. */
struct lookup_sink {
	void (*frames)(void *context, uint32_t index, const struct lookup_frame *frames, size_t count);
	void (*problem)(void *context, size_t batch, const char *sentence);
	void *context;
};

/* Resolves all batches in child processes; every batch is answered, by frames or by a problem. May take seconds. */
void worker_run(const struct symbols_options *options, const struct lookup_batch *batches, size_t count,
		const struct lookup_sink *sink);

/* An opened module. Owns everything libdwfl gave. */
struct module_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct text problem; /* empty = none; may be set although the file is open */
};

/* False when no usable file was found; `problem` says why. */
bool module_open(struct module_file *file, const struct lookup_module *module, const struct symbols_options *options);
void module_close(struct module_file *file);

/* The symbol table's answers to a batch. The batch must outlive them. */
struct names;
struct names *names_read(Dwfl_Module *module, const struct lookup_batch *batch);
void names_free(struct names *names);
/* The symbol that covers the address at `place` of the batch, else (*is_near) the last one before it; NULL = none.
 * *offset: how far the address lies behind its start. */
const char *names_find(const struct names *names, size_t place, uint64_t *offset, bool *is_near);
/* The same as a frame without a line: what it is called stands in `readable`, with an offset where the symbol is only near. False: none. */
bool names_frame(const struct names *names, size_t place, struct text *readable, struct lookup_frame *frame);

/* Answers every address of the batch that debug information covers; is_done[i] is set for those it answered. */
typedef void lines_answer(void *context, size_t i, const struct lookup_frame *frames, size_t count);
void lines_resolve(Dwfl_Module *module, const struct names *names, const struct lookup_batch *batch, lines_answer *answer,
		   void *context);

#endif
