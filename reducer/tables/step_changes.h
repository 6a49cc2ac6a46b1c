/* SPDX-License-Identifier: Apache-2.0 */
/* From which step on steps take longer than before, or shorter; step_changes.c. */
#ifndef REDUCER_TABLES_STEP_CHANGES_H
#define REDUCER_TABLES_STEP_CHANGES_H

#include "reducer/tables/step_values.h"

/* Says of a process, by its place in the run, since when its steps take longer, by how much, in what part; nothing where they do not. */
void step_changes_say(struct text *text, const struct step_rows *rows, const struct request *request, size_t process);

/* The same as a note, of the first process that has something to tell. */
void step_changes_note(struct table *table, const struct step_rows *rows, const struct request *request);

#endif
