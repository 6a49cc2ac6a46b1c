/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of two runs by looks; see reducer/comparison/looked.h. */
#include "reducer/comparison/looked.h"

#include "reducer/comparison/verdict.h"

#include <math.h>
#include <stdlib.h>

bool looked_compare(struct kept_pair *pair, struct table *table, const struct request *request, enum kept_subject subject,
		    const char *what)
{
	struct text lacking = {0};
	bool is_recorded;

	if (!kept_compare(pair, table, request, subject))
		return false;
	is_recorded = kept_is_recorded(pair, &lacking);
	if (!is_recorded) {
		table_note(table, NOTE_MISSING, "%s looks at %s code: -t %s says why.", lacking.bytes, what, pair->kind->spec.kind->id);
		kept_close(pair);
	}
	text_free(&lacking);
	return is_recorded;
}

static double of_before(const struct join_row *row, const struct kept_pair *pair)
{
	return row->before.values[looked_value(pair)] / pair->basis.before;
}

static double of_after(const struct join_row *row, const struct kept_pair *pair)
{
	return row->after.values[looked_value(pair)] / pair->basis.after;
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = fabs(of_after(a, context) - of_before(a, context)), other = fabs(of_after(b, context) - of_before(b, context));

	return one > other ? -1 : one < other;
}

/* Of runs that have steps, errors are those of their steps' time: where not all have some, nothing is known of that in all. */
static bool has_error(const struct kept_pair *pair)
{
	return pair->basis.has_steps || !(pair->before_side->with_steps || pair->after_side->with_steps);
}

static void put_row(struct table *table, const struct join_row *row, const struct kept_pair *pair, const struct looked_delays *delays)
{
	double before = of_before(row, pair), after = of_after(row, pair), change = after - before;
	double error = hypot(row->before.values[LOOKED_ERROR_OF] / pair->basis.before,
			     row->after.values[LOOKED_ERROR_OF] / pair->basis.after);

	table_row(table);
	table_string(table, LOOKED_NAME, row->keys[0]);
	table_string(table, LOOKED_PLACE, row->keys[1]);
	if (row->before.is_there || row->before.is_bound)
		table_integer(table, LOOKED_BEFORE, llround(before));
	if (row->after.is_there)
		table_integer(table, LOOKED_AFTER, llround(after));
	/* Of the cells as they are shown: a reader may subtract. */
	table_integer(table, LOOKED_DIFFERENCE, llround(after) - llround(before));
	if (before > 0)
		table_real(table, LOOKED_CHANGE, change / before);
	if (!has_error(pair)) {
		table_string(table, LOOKED_VERDICT, "cannot tell: of steps alone");
		return;
	}
	table_integer(table, LOOKED_ERROR, llround(error));
	table_string(table, LOOKED_VERDICT, verdict_of_looks(change, error, change > 0 ? delays->after : delays->before));
}

void looked_rows(struct table *table, struct kept_pair *pair, const struct looked_delays *delays)
{
	const struct join *join = &pair->join;
	struct text basis = {0};

	kept_bound(pair, table, looked_value(pair));
	if (join->count)
		qsort_r(join->rows, join->count, sizeof(*join->rows), by_difference, pair);
	for (size_t i = 0; i < join->count; i++)
		if (of_before(&join->rows[i], pair) > 0 || of_after(&join->rows[i], pair) > 0)
			put_row(table, &join->rows[i], pair, delays);
	kept_say_basis(pair, &basis);
	table_note(table, NOTE_INFERRED, "Estimates by looks, %s", basis.bytes);
	text_free(&basis);
}
