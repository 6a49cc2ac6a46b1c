/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of one run and of another one, whose file lies in another folder there: a second clone, a folder for each build.
 *
 * Rule: an inference, by the ends of the files' paths. Two are taken for the same if each has more of its path in common with the other
 * than anybody else has with either; of several that are as much alike none is.
 */
#ifndef REDUCER_COMPARISON_MOVED_H
#define REDUCER_COMPARISON_MOVED_H

#include "reducer/comparison/join.h"

/* Keys 0 and 1 are function and file; `value` is what counts. Of rows that only one run has. Returns how many were joined. */
size_t moved_join(struct join *join, size_t value);

#endif
