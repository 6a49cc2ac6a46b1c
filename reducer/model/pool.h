/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and small arrays that live as long as a run. Private to the model. */
#ifndef REDUCER_MODEL_POOL_H
#define REDUCER_MODEL_POOL_H

#include <stddef.h>

struct pool {
	struct pool_piece *pieces; /* newest first */
	size_t used, room;         /* of the newest */
};

/* Zeroed, 8-byte aligned. NULL without memory. */
void *pool_take(struct pool *pool, size_t bytes);

/* A copy with a zero behind it. "" without memory. */
const char *pool_text(struct pool *pool, const char *text, size_t bytes);
void pool_free(struct pool *pool);

#endif
