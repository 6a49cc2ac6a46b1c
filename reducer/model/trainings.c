/* SPDX-License-Identifier: Apache-2.0 */
/* Where another training begins; see reducer/model/trainings.h. */
#include "reducer/model/trainings.h"

#include <stdlib.h>

#define PASSES_LEAST 8 /* steps with the same backward pass: fewer are no training of their own */

enum { IS_ONE_OF_MANY = 1, IS_FIRST = 2, IS_LAST = 4 }; /* of the steps with its backward pass */

struct pass {
	uint64_t backward;
	size_t period;
};

static int compare_passes(const void *a, const void *b)
{
	const struct pass *one = a, *other = b;

	if (one->backward != other->backward)
		return one->backward < other->backward ? -1 : 1;
	return one->period < other->period ? -1 : one->period > other->period;
}

static int has_learnt(const struct period *period)
{
	return period->found.has_stepped && period->found.trained_from != 0;
}

/* Marks the steps whose backward pass many have. */
static void mark_many(struct pass *passes, size_t count, uint8_t *marks)
{
	qsort(passes, count, sizeof *passes, compare_passes);
	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && passes[to].backward == passes[from].backward)
			to++;
		for (size_t i = from; i < to && to - from >= PASSES_LEAST; i++)
			marks[passes[i].period] = (uint8_t)(IS_ONE_OF_MANY | (i == from ? IS_FIRST : 0) | (i + 1 == to ? IS_LAST : 0));
	}
}

/* From marks to what trainings_find returns. Few steps with passes of their own between two trainings are of the second. */
static void mark_begins(const struct period *periods, size_t count, uint8_t *marks)
{
	int is_over = 0; /* the backward pass of the step before, of many, never comes again */
	size_t begin = 0;

	for (size_t k = 0; k < count; k++) {
		uint8_t mark = marks[k];
		marks[k] = 0;
		if (!has_learnt(&periods[k]))
			continue;
		begin = begin == 0 ? k : begin;
		if (mark == 0)
			continue;
		if (is_over && (mark & IS_FIRST))
			marks[begin] = 1;
		is_over = (mark & IS_LAST) != 0;
		begin = 0;
	}
}

uint8_t *trainings_find(const struct period *periods, size_t count)
{
	struct pass *passes = calloc(count + 1, sizeof *passes);
	uint8_t *marks = calloc(count + 1, 1);
	size_t learnt = 0;

	if (passes != NULL && marks != NULL) {
		for (size_t k = 0; k < count; k++)
			if (has_learnt(&periods[k]))
				passes[learnt++] = (struct pass){.backward = periods[k].found.backward, .period = k};
		mark_many(passes, learnt, marks);
		mark_begins(periods, count, marks);
	} else {
		free(marks);
		marks = NULL;
	}
	free(passes);
	return marks;
}
