/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The title that a process gives itself, as servers do of their workers: it writes over the words of its command line.
 *
 * Rule: read where the kernel put those words, within the looks that collectors/system.c takes anyway; asks the kernel for nothing
 * but whether the memory is there. Whoever has changed its title since says so at most once in a doubling of its life, and at its end.
 */
#ifndef TFP_COLLECTORS_TITLE_H
#define TFP_COLLECTORS_TITLE_H

#include <stddef.h>
#include <stdint.h>

/* The words of the command line as the program got them; NULL: not known, there will be no titles. Once per program, at start-up. */
void tfp_title_start(const char *words);

/* Tells the title where it is another than was told last, or than the first word. is_last: whenever that was. In this process alone. */
void tfp_title_look(uint64_t now, int is_last);

#endif
