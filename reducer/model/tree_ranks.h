/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of processes that were started apart and are one job: `srun tfprof run -- python train.py`, torchrun on each machine.
 *
 * Rule: launchers tell each process its rank, how many there are and where they meet. Trees that tell the same, each ranks of its
 * own, and lived at the same time are one job; on one machine alone where they meet at no address, or at localhost. Where two tell the
 * same rank nothing says which belong together: none are joined.
 */
#ifndef REDUCER_MODEL_TREE_RANKS_H
#define REDUCER_MODEL_TREE_RANKS_H

#include "reducer/read/log.h"

#include <stddef.h>

/* Says for two logs of different trees that they are of one job. */
typedef void tree_ranks_join(void *context, size_t log, size_t other);

/* Looks at logs that were not scanned; `trees` has the tree of each, a number below `count`. */
void tree_ranks(struct log *const *logs, const size_t *trees, size_t count, tree_ranks_join *join, void *context);

#endif
