/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of ranges. See range_domains.h. */
#include "reducer/model/range_domains.h"

#include "reducer/model/internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_called(const void *context, const void *key, uint32_t number)
{
	const struct range_domains *domains = context;

	return strcmp(key, domains->items[number].name) == 0;
}

void range_domains_add(struct range_domains *domains, uint32_t id, const char *name)
{
	struct range_domain *items = model_room(domains->items, domains->count, sizeof *items);
	uint64_t hash = base_hash(BASE_HASH, name, strlen(name));
	uint32_t place = (uint32_t)domains->count, first;

	if (items == NULL)
		return;
	domains->items = items;
	first = base_index_find(&domains->of_name, hash, is_called, domains, name);
	items[place] = (struct range_domain){.name = name, .same = first == UINT32_MAX ? id : items[first].same};
	domains->count++;
	if (first == UINT32_MAX)
		base_index_add(&domains->of_name, hash, place);
	if (number_map_find(&domains->of_id, 0, id) == NUMBER_MAP_NONE)
		number_map_set(&domains->of_id, 0, id, place);
}

const char *range_domains_name(const struct range_domains *domains, uint64_t id)
{
	uint32_t place = number_map_find(&domains->of_id, 0, id);

	return place == NUMBER_MAP_NONE ? "" : domains->items[place].name;
}

uint32_t range_domains_same(const struct range_domains *domains, uint64_t id)
{
	uint32_t place = id == 0 ? NUMBER_MAP_NONE : number_map_find(&domains->of_id, 0, id);

	return place == NUMBER_MAP_NONE ? (uint32_t)id : domains->items[place].same;
}

void range_domains_free(struct range_domains *domains)
{
	free(domains->items);
	number_map_free(&domains->of_id);
	base_index_free(&domains->of_name);
}
