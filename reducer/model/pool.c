/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once. See pool.h. */
#include "reducer/model/pool.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 16384

struct pool_piece {
	struct pool_piece *before;
};

void *pool_take(struct pool *pool, size_t bytes)
{
	size_t wanted = (bytes + 7) & ~(size_t)7, room = wanted > PIECE_BYTES ? wanted : PIECE_BYTES;
	char *start;

	if (wanted < bytes)
		return NULL;
	if (pool->pieces == NULL || pool->room - pool->used < wanted) {
		struct pool_piece *piece = calloc(1, sizeof *piece + room);

		if (piece == NULL)
			return NULL;
		piece->before = pool->pieces;
		pool->pieces = piece;
		pool->used = 0;
		pool->room = room;
	}
	start = (char *)(pool->pieces + 1) + pool->used;
	pool->used += wanted;
	return start;
}

const char *pool_text(struct pool *pool, const char *text, size_t bytes)
{
	char *copy = pool_take(pool, bytes + 1);

	if (copy == NULL)
		return "";
	memcpy(copy, text, bytes);
	return copy;
}

void pool_free(struct pool *pool)
{
	while (pool->pieces != NULL) {
		struct pool_piece *before = pool->pieces->before;

		free(pool->pieces);
		pool->pieces = before;
	}
	*pool = (struct pool){0};
}
