/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU functions that a foreign file names: their numbers in gpu_call records and what they do.
 *
 * Rule: a function that our hook tables know is what they say; any other is known by the words in its name.
 */
#ifndef REDUCER_IMPORT_CALLS_H
#define REDUCER_IMPORT_CALLS_H

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/import/sink.h"

/* Start from {0}. */
struct calls {
	struct text names;
	size_t *at; /* in `names`, by number */
	size_t count, room;
	struct base_index index;
};

/* The number of the function; its fact is written with the first. */
uint32_t calls_function(struct calls *calls, struct sink *sink, const char *name);
void calls_free(struct calls *calls);

#endif
