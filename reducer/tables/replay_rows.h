/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of replayed steps share: for which processes there are some, and what to say of them.
 */
#ifndef REDUCER_TABLES_REPLAY_ROWS_H
#define REDUCER_TABLES_REPLAY_ROWS_H

#include "reducer/analysis/replay.h"
#include "reducer/tables/request.h"

/* A model that misses the measured time by more predicts nothing: no rows. */
#define REPLAY_ERROR_MOST 0.25

/* By how much the steps replayed as they were, or with usual delays, miss the measured time: 0.03 = 3 %, either way. */
double replay_error(const struct replay_process *process);

/* The rows of a process whose steps were replayed. */
typedef void replay_put(struct table *table, const struct process *process, const struct replay *replay,
			const struct replay_process *replayed);

/*
 * Fills a table, the most of `column` first (SIZE_MAX: as they come): asks `put` for each wanted process whose steps are explained well
 * enough; of the others notes say why there are none.
 */
void replay_fill(struct table *table, const struct request *request, replay_put *put, size_t column);

/* The largest that a cell holds, of more: sums of a hostile file. */
void replay_put_ns(struct table *table, size_t column, double ns);

#endif
