/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linker names as people wrote them: C++ (Itanium) and Rust (legacy and v0), through libiberty.
 *
 * Rule: bounded time, memory and length whatever the name holds.
 */
#ifndef REDUCER_SYMBOLS_DEMANGLE_H
#define REDUCER_SYMBOLS_DEMANGLE_H

#include "reducer/base/base.h"

#define DEMANGLE_IN_MAX 8192  /* bytes; longer names stay mangled: the demangler's work grows with their square */
#define DEMANGLE_OUT_MAX 4096 /* bytes; longer results end in "...": substitutions can double the text at each step */

/*
 * Replaces *out by the readable form of `name`, without parameters; by `name` itself where it is not mangled or cannot
 * be read. True where it was demangled.
 */
bool demangle(const char *name, struct text *out);

#endif
