/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs by the names of files in a folder.
 *
 * Rule: those of the folder itself; where it has none, those of the folders in it, so that runs with a folder each are found by the one
 * that they lie in.
 */
#ifndef REDUCER_MODEL_FOLDER_H
#define REDUCER_MODEL_FOLDER_H

#include <stddef.h>

/* Paths of logs in `path`, in order; `names` is to be freed, and each of it. Returns how many; 0 also where it is no folder. */
size_t folder_logs(const char *path, char ***names);

#endif
