/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between steps and belongs to none: ends of epochs, evaluation.
 *
 * Rule: only where all of the time between was recorded; outside of windows there may have been steps.
 */
#ifndef REDUCER_TABLES_STEPS_BETWEEN_H
#define REDUCER_TABLES_STEPS_BETWEEN_H

#include "reducer/tables/step_values.h"

/* Notes how much that is, and how often. Rows lie by process and thread. */
void steps_between_note(struct table *table, const struct request *request, const struct step_rows *rows);

#endif
