/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are there whole or not at all.
 *
 * Rule: what is written lies under a temporary name beside its place until output_commit, which renames it. Whatever ends
 * the program before, base_die and Ctrl-C among it, leaves what was there before. SIGKILL leaves a .tfprof-reduce.*.part.
 */
#ifndef REDUCER_BASE_OUTPUT_H
#define REDUCER_BASE_OUTPUT_H

#include "reducer/base/base.h"

#include <stdio.h>

/*
 * Call first. Of stdin, stdout and stderr those that the caller closed are /dev/null from here on, stdout so that nothing can be
 * written to it: else the first files that are opened had their numbers, and what is printed would go into them.
 */
void output_claim_standard(void);

/* A file to write; NULL is stdout. What is no ordinary file (/dev/null, a pipe) is written directly. Dies when it cannot be. */
FILE *output_open(const char *path);

/* These are read: output_open dies when it is asked to replace one of them, or any log. The array is kept. */
void output_keep(const char *const *paths, size_t count);

/* Makes a folder for files to come, if it is missing. One that was made is removed again when the program gives up. */
void output_folder(const char *path);

/* Whether `path` (may be NULL) is a folder that exists. */
bool output_is_folder(const char *path);

/* The same, or that ends with a slash: what is meant is a folder, there or not. */
bool output_names_folder(const char *path);

/* Closes what output_open opened (stdout is only emptied). Dies when something could not be written. */
void output_close(FILE *file, const char *path);

/* Gives every closed file its name. */
void output_commit(void);

#endif
