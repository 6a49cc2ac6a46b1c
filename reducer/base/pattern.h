/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regular expressions of a command line.
 *
 * Rule: what libc would need minutes, gigabytes or all of the stack to take in is refused before it is asked.
 */
#ifndef REDUCER_BASE_PATTERN_H
#define REDUCER_BASE_PATTERN_H

#include <regex.h>

/* regcomp of an extended expression; REG_ESIZE where it is too large. Returns 0, or an error for regerror. */
int pattern_compile(regex_t *compiled, const char *pattern, int flags);

#endif
