/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for what overlaps without lying one in the other: viewers of trace events draw a row as a tree, and cut or drop what is none.
 *
 * Rule: a span goes to the first lane of its row where it lies inside, around or apart from all that is there; where no lane is left it
 * goes to the last. Spans come about in the order of their ends, so what matters of a lane are the outermost ones.
 */
#ifndef REDUCER_TRACE_ABREAST_H
#define REDUCER_TRACE_ABREAST_H

#include "reducer/base/base.h"
#include "reducer/model/number_map.h"
#include "reducer/model/run.h"

#include <stddef.h>
#include <stdint.h>

#define ABREAST_LANES 8u

/* Start from {0}. */
struct abreast {
	struct number_map places; /* (0, row) -> place in `rows` */
	struct abreast_row *rows; /* private */
	size_t count, room;
};

/* The lane of a span of that row; *is_first: nothing was in the lane yet. */
uint32_t abreast_lane(struct abreast *abreast, uint64_t row, int64_t start_ns, int64_t end_ns, int *is_first);
void abreast_free(struct abreast *abreast);

/* What a lane beside the first one of a thread's row is called; NULL = of the steps' row. */
void abreast_label(struct text *name, const struct thread *thread, uint32_t lane);

#endif
