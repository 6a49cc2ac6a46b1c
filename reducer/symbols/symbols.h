/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, files and lines of code addresses, found on this machine after the run.
 *
 * Rule: each distinct address of a module is looked up once, all addresses of a module together, and nothing of a
 * module's file stays open or mapped afterwards. The files are not trusted: they are read by a child process, so that a
 * damaged one costs its names and no more. It is not a cache on disk, and never asks the network.
 */
#ifndef REDUCER_SYMBOLS_SYMBOLS_H
#define REDUCER_SYMBOLS_SYMBOLS_H

#include "reducer/base/base.h"

struct symbols;

/* Both may be NULL. sysroot: put before every path of the log. path: folders separated by ':' that hold the modules or
 * their debug files (by file name or as .build-id/xx/yyyy.debug), looked in first. */
struct symbols_options {
	const char *sysroot;
	const char *path;
};

struct symbols *symbols_make(const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/* What a log knows of a module. Texts need not be terminated; they are copied. */
struct symbols_module {
	const char *path;
	size_t path_length;
	const void *build_id; /* raw bytes */
	size_t build_id_length; /* 0 = the module has none */
};

/* The number of a module, from 1; the same path and build id give the same number. */
uint32_t symbols_module(struct symbols *symbols, const struct symbols_module *module);

/*
 * The number of a location, from 1: an address in the file's own numbering (as the ELF file counts, without the load
 * bias). is_return: the address follows a call, so the call is looked up, one byte before. module 0: an address that
 * belongs to no file. The same three give the same number. Costs one hash lookup; resolves nothing.
 */
uint32_t symbols_location(struct symbols *symbols, uint32_t module, uint64_t address, bool is_return);

/*
 * symbols_resolve looks up the locations that symbols_want named since the last call, and with them all others that were handed
 * out of the same modules, for what takes time is to open one. symbols_is_known: nothing of the location is left to look up.
 */
void symbols_want(struct symbols *symbols, uint32_t location);
void symbols_resolve(struct symbols *symbols);
bool symbols_is_known(const struct symbols *symbols, uint32_t location);

/* One function at a location. Several, innermost first, where functions were inlined. */
struct symbol_frame {
	const char *function; /* demangled; "module+0x1234" where no name was found */
	const char *file;     /* as the compiler recorded it; NULL = unknown */
	const char *module;   /* file name without folders; "" = none */
	uint64_t offset;      /* the address in the file's own numbering */
	uint32_t line;        /* 0 = unknown */
	bool is_inlined;      /* into the next frame */
	bool is_named;        /* function is a real name */
	bool is_near;         /* the name is that of the nearest symbol before the address, which may be another function */
};

/* Frames at a location, at least 1. */
size_t symbols_frame_count(const struct symbols *symbols, uint32_t location);
struct symbol_frame symbols_frame(struct symbols *symbols, uint32_t location, size_t index);

/* Modules handed out so far, and what stood in the way of one (NULL = nothing; the part of a sentence after its path). */
uint32_t symbols_module_count(const struct symbols *symbols);
const char *symbols_module_path(const struct symbols *symbols, uint32_t module);
const char *symbols_module_problem(const struct symbols *symbols, uint32_t module);

#endif
