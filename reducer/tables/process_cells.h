/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process a row is of: its pid and, where the run is of several machines, containers or ranks, which one's.
 *
 * Rule: pids are what processes saw of themselves, so two machines, or the first processes of two containers, have the same ones.
 */
#ifndef REDUCER_TABLES_PROCESS_CELLS_H
#define REDUCER_TABLES_PROCESS_CELLS_H

#include "reducer/model/run.h"
#include "reducer/tables/table.h"

/* The columns beside "process", in this order. */
#define TABLE_HOST                                                                                                            \
	{                                                                                                                     \
		.id = "host", .header = "host", .type = TABLE_TEXT, .unit = UNIT_NONE, .is_seldom = true,                     \
		.help = "machine or container of the process; empty = all processes of the run are of one, or it is not told" \
	}

#define TABLE_MEMBER                                                                                                             \
	{                                                                                                                        \
		.id = "job_rank", .header = "rank", .type = TABLE_INTEGER, .unit = UNIT_NONE, .is_seldom = true,                 \
		.help = "rank of the process in its job, as in ranks; empty = none was told, or all that the run has are of one" \
	}

/* Fills the cells of the last row; `host` is the column of TABLE_HOST. */
void table_process(struct table *table, size_t pid, size_t host, const struct process *process);

#endif
