/* SPDX-License-Identifier: Apache-2.0 */
/* Nestings of ranges by number; see reducer/model/nests.h. */
#include "reducer/model/nests.h"

#include <stdlib.h>
#include <string.h>

static struct span_nest *add(struct nests *nests)
{
	struct span_nest *nest = pool_take(&nests->pool, sizeof *nest);

	if (nest == NULL)
		return NULL;
	if (nests->count == nests->room) {
		uint32_t room = nests->room ? nests->room * 2 : 64;
		const struct span_nest **larger = realloc(nests->items, room * sizeof *larger);
		if (larger == NULL)
			return NULL;
		nests->items = larger;
		nests->room = room;
	}
	*nest = (struct span_nest){.number = nests->count, .name = "", .domain = ""};
	nests->items[nests->count++] = nest;
	return nest;
}

int nests_begin(struct nests *nests)
{
	struct span_nest *none = add(nests), *beyond = none == NULL ? NULL : add(nests);

	if (beyond == NULL)
		return -1;
	beyond->is_beyond = 1;
	return 0;
}

static int is_same(const struct span_nest *nest, const char *name, const char *domain, uint8_t source)
{
	return nest->source == source && strcmp(nest->name, name) == 0 && strcmp(nest->domain, domain) == 0;
}

static int is_inner(const struct span_nest *outer, const char *name, const char *domain, uint8_t source)
{
	for (; outer->outer != NULL; outer = outer->outer)
		if (is_same(outer, name, domain, source))
			return 1;
	return 0;
}

uint32_t nests_inside(struct nests *nests, uint32_t outer, const struct nest_range *range, const char *name, const char *domain)
{
	uint64_t high = (uint64_t)outer << 32 | range->name, low = (uint64_t)range->domain << 8 | range->source;
	const struct span_nest *around = nests->items[outer];
	uint32_t number = number_map_find(&nests->numbers, high, low);
	struct span_nest *nest;

	if (number != NUMBER_MAP_NONE)
		return number;
	if (around->is_beyond || around->depth == NESTS_DEEPEST || nests->count == NESTS_MOST)
		return NESTS_BEYOND;
	nest = add(nests);
	if (nest == NULL || number_map_set(&nests->numbers, high, low, nest->number) != 0)
		return NESTS_BEYOND;
	nest->outer = around;
	nest->name = name == NULL ? "" : name;
	nest->domain = domain == NULL ? "" : domain;
	nest->source = range->source;
	nest->depth = around->depth + 1;
	nest->is_inner = is_inner(around, nest->name, nest->domain, range->source);
	return nest->number;
}

void nests_free(struct nests *nests)
{
	number_map_free(&nests->numbers);
	pool_free(&nests->pool);
	free(nests->items);
}
