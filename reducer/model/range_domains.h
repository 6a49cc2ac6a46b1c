/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains of ranges of one process, as its facts name them.
 *
 * Rule: who makes a domain again by its name (a thread, a second copy of a library) means the same one. A look costs the same however many
 * domains there are.
 */
#ifndef REDUCER_MODEL_RANGE_DOMAINS_H
#define REDUCER_MODEL_RANGE_DOMAINS_H

#include "reducer/base/index.h"
#include "reducer/model/number_map.h"

/* Start from {0}. */
struct range_domains {
	struct range_domain {
		const char *name;
		uint32_t same; /* id of the first one of that name */
	} *items;
	size_t count;
	struct number_map of_id;   /* -> place of the first fact with that id */
	struct base_index of_name; /* of the first of each name */
};

/* A domain's fact; `name` stays where it is. Without room it is one without a name. */
void range_domains_add(struct range_domains *domains, uint32_t id, const char *name);

/* "" = of no fact, or the default one. */
const char *range_domains_name(const struct range_domains *domains, uint64_t id);

/* The id of the first domain that is called the same. */
uint32_t range_domains_same(const struct range_domains *domains, uint64_t id);

void range_domains_free(struct range_domains *domains);

#endif
