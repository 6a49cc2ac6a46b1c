/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of whatever a thread is in (ranges, ops), numbered from 1, for those who attribute something to it. Rule: a
 * text has one number; 0 is "no name", also for those that came when the table was full.
 */
#ifndef REDUCER_MODEL_OP_NAMES_H
#define REDUCER_MODEL_OP_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define OP_NAMES_MAX (1u << 20)

struct op_names {
	const char **names; /* [0] = ""; the texts are their givers' and live as long as the run */
	size_t count, room;
	uint32_t *places; /* hash table of numbers, 0 = free */
	size_t place_count;
};

/* Returns -1 without memory. */
int op_names_begin(struct op_names *names);
void op_names_free(struct op_names *names);

/* The number of a text, given on first sight. 0 for "", NULL, and where there is no room. */
uint32_t op_names_number(struct op_names *names, const char *text);

/* The numbers of what has an index and a text, asked for once each. */
struct op_numbers {
	uint32_t *items; /* number + 1, 0 = not asked yet */
	size_t room;
};

/* Where the number of that index is kept; it is the giver's to fill. NULL = no memory. */
uint32_t *op_numbers_at(struct op_numbers *numbers, uint32_t index);

#endif
