/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of tf.data pipelines share. Rule: reads results of the analysis alone. */
#ifndef REDUCER_TABLES_PIPELINE_ROWS_H
#define REDUCER_TABLES_PIPELINE_ROWS_H

#include "reducer/analysis/pipelines.h"
#include "reducer/tables/request.h"

/* Host:n or Device:n, counted by the time of the first call among those of its kind in the process. */
void pipeline_label(const struct pipelines *all, const struct pipeline_node *root, char *label, size_t room);

/* Why there is nothing, or less than there was. */
void pipeline_notes(struct table *table, const struct request *request);

#endif
