/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two runs by looks; see reducer/comparison/looked.h. */
#include "reducer/comparison/looked.h"

#include "reducer/comparison/verdict.h"

#include <math.h>
#include <stdlib.h>

static double difference(const struct join_row *row, const struct figures_basis *basis)
{
	return row->after.values[LOOKED_NS] / basis->after - row->before.values[LOOKED_NS] / basis->before;
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = fabs(difference(a, context)), other = fabs(difference(b, context));

	return one > other ? -1 : one < other;
}

static void put_row(struct table *table, const struct join_row *row, const struct figures_basis *basis, const struct looked_delays *delays)
{
	double before = row->before.values[LOOKED_NS] / basis->before, after = row->after.values[LOOKED_NS] / basis->after;
	double error = hypot(row->before.values[LOOKED_ERROR_OF] / basis->before, row->after.values[LOOKED_ERROR_OF] / basis->after);
	double change = after - before;

	table_row(table);
	table_string(table, LOOKED_NAME, row->keys[0]);
	table_string(table, LOOKED_PLACE, row->keys[1]);
	if (row->before.is_there)
		table_integer(table, LOOKED_BEFORE, llround(before));
	if (row->after.is_there)
		table_integer(table, LOOKED_AFTER, llround(after));
	/* Of the cells as they are shown: a reader may subtract. */
	table_integer(table, LOOKED_DIFFERENCE, llround(after) - llround(before));
	if (before > 0)
		table_real(table, LOOKED_CHANGE, change / before);
	table_integer(table, LOOKED_ERROR, llround(error));
	table_string(table, LOOKED_VERDICT, verdict_of_looks(change, error, change > 0 ? delays->after : delays->before));
}

void looked_rows(struct table *table, struct join *join, const struct figures_basis *basis, const struct looked_delays *delays)
{
	struct figures_basis of = *basis;

	if (join->count)
		qsort_r(join->rows, join->count, sizeof(*join->rows), by_difference, &of);
	for (size_t i = 0; i < join->count; i++)
		if (join->rows[i].before.values[LOOKED_NS] > 0 || join->rows[i].after.values[LOOKED_NS] > 0)
			put_row(table, &join->rows[i], basis, delays);
	if (basis->has_steps)
		table_note(table, NOTE_INFERRED, "Estimates by looks, of a step: %.0f in the older run, %.0f in the newer one.",
			   basis->before, basis->after);
	else
		table_note(table, NOTE_INFERRED, "Estimates by looks, of the whole runs: not both have steps.");
}
