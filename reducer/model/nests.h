/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct nestings of ranges, one inside the other (struct span_nest of spans.h), by number. Private to the model.
 *
 * Rule: one that was made stays as it is until nests_free. What nests deeper than NESTS_DEEPEST, or is new when NESTS_MOST are
 * there, is the nesting NESTS_BEYOND: of no range, and marked so.
 */
#ifndef REDUCER_MODEL_NESTS_H
#define REDUCER_MODEL_NESTS_H

#include "reducer/model/number_map.h"
#include "reducer/model/pool.h"
#include "reducer/model/spans.h"

#define NESTS_NONE 0u	/* in no range */
#define NESTS_BEYOND 1u /* in ranges that are not followed */
#define NESTS_DEEPEST 256u
#define NESTS_MOST (1u << 20)

struct nests {
	const struct span_nest **items;
	uint32_t count, room;
	struct number_map numbers;
	struct pool pool;
};

/* Returns -1 without memory. */
int nests_begin(struct nests *nests);

/* What tells one range from others: places of its texts. */
struct nest_range {
	uint32_t name, domain;
	uint8_t source;
};

/* The number of a range inside the nesting `outer`, new or known; texts must outlive the nests. */
uint32_t nests_inside(struct nests *nests, uint32_t outer, const struct nest_range *range, const char *name, const char *domain);
void nests_free(struct nests *nests);

#endif
