/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a baseline that are not figures: rows of subjects and facts of the run.
 *
 * Rule: texts are escaped so that each is one field of one line, and read back byte for byte.
 */
#ifndef REDUCER_COMPARISON_BASELINE_KEPT_H
#define REDUCER_COMPARISON_BASELINE_KEPT_H

#include "reducer/comparison/kept.h"

#include <stdio.h>

/* Of each subject the `most` largest rows; what is kept is cut to that. Returns how many lines there are. */
size_t baseline_put_kept(FILE *file, struct kept *kept, size_t most);

/* Does a line that begins with this word stand among them? */
bool baseline_is_kept(const char *word);
/* Takes a line, split at its tabs. Returns what is wrong with it, or NULL. */
const char *baseline_take_kept(struct kept *kept, char *const *fields, size_t count);

/* A number of a baseline, negative of "-". False = it is none. */
bool baseline_number(const char *word, double *value);

#endif
