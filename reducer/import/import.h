/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of other profilers, made into logs of ours, so that every table works on them unchanged.
 *
 * Rule: an importer knows one foreign format and the records of ours; what our records lack gets a record
 * (writer/records_import.def), never a second way into a table. docs/foreign.md says what becomes of what.
 */
#ifndef REDUCER_IMPORT_IMPORT_H
#define REDUCER_IMPORT_IMPORT_H

#include "reducer/read/diag.h"

#include <stddef.h>

enum import_kind { IMPORT_NONE, IMPORT_XPLANE, IMPORT_KINETO };

/* What the file is, by its first bytes, not by its name. A file that cannot be read is IMPORT_NONE. */
enum import_kind import_recognise(const char *path);

/*
 * Files of other profilers in a folder and those below it (a TensorBoard log directory is three levels), by their content, in
 * the order of their names. What draws again, for viewers, what another one tells is left out, with a note. Returns how many;
 * *paths and what it holds are freed by the caller.
 */
size_t import_find(const char *folder, char ***paths, struct diag_list *diags);

/*
 * The log made from the file: a descriptor of a file without a name, which the caller closes; -1 where nothing can be read of
 * it (a diag says why). What is damaged is left out, with a diag each.
 */
int import_file(const char *path, enum import_kind kind, struct diag_list *diags);

#endif
