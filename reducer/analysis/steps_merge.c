/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of several processes together, and in words; see reducer/analysis/steps.h. */
#include "reducer/analysis/steps_merge.h"

#include "reducer/analysis/steps.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_rows(const void *a, const void *b)
{
	const struct step_row *one = *(const struct step_row *const *)a, *other = *(const struct step_row *const *)b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	if (one->unit.thread != other->unit.thread)
		return one->unit.thread < other->unit.thread ? -1 : 1;
	if (one->unit.start_ns != other->unit.start_ns)
		return one->unit.start_ns < other->unit.start_ns ? -1 : 1;
	return one->unit.number < other->unit.number ? -1 : one->unit.number > other->unit.number;
}

void steps_merge(void *into, const void *from)
{
	struct steps *steps = into;
	const struct steps *more = from;

	looked_merge(&steps->looked, &more->looked);
	if (!more->count && !more->late_ns)
		return;
	steps->rows = base_grow(steps->rows, &steps->room, steps->count + more->count + 1, sizeof(*steps->rows));
	for (size_t i = 0; i < more->count; i++)
		steps->rows[steps->count + i] = more->rows[i];
	steps->count += more->count;
	steps->late_ns += more->late_ns;
	steps->unlooked += more->unlooked;
}

void steps_print(const void *result, struct text *text)
{
	const struct steps *steps = result;
	const struct step_row **order = base_alloc(steps->count + 1, sizeof(*order));

	for (size_t i = 0; i < steps->count; i++)
		order[i] = &steps->rows[i];
	qsort(order, steps->count, sizeof(const struct step_row *), compare_rows);
	text_format(text, "late %" PRIu64 ", not looked at %" PRIu64 "\n", steps->late_ns, steps->unlooked);
	for (size_t i = 0; i < steps->count; i++) {
		const struct step_row *row = order[i];
		text_format(text, "%" PRIx64 " %u %" PRIu64 " %s %" PRId64 "+%" PRIu64, row->log_id, row->unit.thread,
			    row->unit.number, unit_kind_name(row->kind), row->start_ns, row->total_ns);
		for (size_t p = 0; p < STEP_PARTS; p++)
			text_format(text, " %" PRIu64 "/%" PRIu64, row->exposed_ns[p], row->overlapped_ns[p]);
		for (size_t p = 0; p < PHASES; p++)
			text_format(text, " %" PRIu64, row->phase_ns[p]);
		for (size_t e = 0; e < sizeof(row->edges) / sizeof(row->edges[0]); e++)
			text_format(text, " %" PRId64 "..%" PRId64, row->edges[e].forward_ns, row->edges[e].backward_ns);
		for (size_t o = 0; o < FLOPS_ORIGINS; o++)
			text_format(text, " %" PRIu64, row->flops[o]);
		text_format(text, " %" PRIu64 "\n", row->replays);
	}
	free(order);
	looked_print(&steps->looked, text);
}
