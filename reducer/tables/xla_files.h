/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules that XLA wrote beside the logs of a run (setting XLA_DUMP).
 *
 * Rule: the folder xla beside a log, and only where that log says that it was asked for.
 */
#ifndef REDUCER_TABLES_XLA_FILES_H
#define REDUCER_TABLES_XLA_FILES_H

#include "reducer/tables/request.h"

/* module_NUMBER.NAME.*after_optimizations.hlo.pb */
struct xla_file {
	char *path, *name;
	uint32_t number;
	uint64_t bytes;
};

struct xla_files {
	struct xla_file *list; /* by name, then number */
	size_t count, room;
	bool was_asked;
};

/* What wanted processes left in the folder `xla` beside their logs (TFPROF_XLA_DUMP). */
struct xla_files xla_files_find(const struct request *request);
void xla_files_free(struct xla_files *files);

/* Why there are no modules, for a table of them. */
void xla_files_note_none(struct table *table, const struct request *request, const struct xla_files *files);

#endif
