/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts and settings that hold for a whole run, as run_env and settings show them, what failed, and how it ended.
 *
 * Rule: nothing that differs between any two runs, as times, pids and names of logs do.
 */
#ifndef REDUCER_COMPARISON_TRAITS_H
#define REDUCER_COMPARISON_TRAITS_H

#include "reducer/tables/request.h"

struct trait {
	char *kind, *name, *value;
};
struct traits {
	struct trait *items;
	size_t count, room;
};

void traits_make(struct traits *traits, const struct request *request);
/* Takes the texts over. */
void traits_add(struct traits *traits, char *kind, char *name, char *value);
/* The one of the same kind and name, or NULL. */
const struct trait *traits_find(const struct traits *traits, const struct trait *like);
void traits_free(struct traits *traits);

#endif
