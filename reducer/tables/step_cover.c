/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of steps, united; see reducer/tables/step_cover.h. */
#include "reducer/tables/step_cover.h"

#include "reducer/model/losses.h"

#include <stdlib.h>

#define OUTSIDE_FROM 0.2 /* of a process's life in no step that is worth a word */

void step_cover_add(struct step_cover *cover, int64_t start_ns, int64_t ns)
{
	cover->items = base_grow(cover->items, &cover->room, cover->count + 1, sizeof(*cover->items));
	cover->items[cover->count++] = (struct step_stretch){start_ns, start_ns + ns};
}

static int by_start(const void *a, const void *b)
{
	int64_t one = ((const struct step_stretch *)a)->from_ns, other = ((const struct step_stretch *)b)->from_ns;

	return (one > other) - (one < other);
}

void step_cover_unite(struct step_cover *cover)
{
	size_t used = 0;

	if (cover->count)
		qsort(cover->items, cover->count, sizeof(*cover->items), by_start);
	for (size_t i = 0; i < cover->count; i++) {
		struct step_stretch *last = &cover->items[used > 0 ? used - 1 : 0];
		if (used > 0 && cover->items[i].from_ns <= last->to_ns)
			last->to_ns = cover->items[i].to_ns > last->to_ns ? cover->items[i].to_ns : last->to_ns;
		else
			cover->items[used++] = cover->items[i];
	}
	cover->count = used;
}

bool step_cover_has(const struct step_cover *cover, int64_t time_ns)
{
	size_t low = 0, high = cover->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (cover->items[middle].to_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < cover->count && cover->items[low].from_ns <= time_ns;
}

bool step_outside(const struct process *process, struct step_cover *cover, struct step_outside *outside)
{
	int64_t first, last, inside = 0;

	if (!cover->count || process->window_count || losses_of_events(process)) /* steps may have been there */
		return false;
	qsort(cover->items, cover->count, sizeof(*cover->items), by_start);
	first = last = cover->items[0].from_ns;
	for (size_t i = 0; i < cover->count; i++) {
		const struct step_stretch *step = &cover->items[i];
		int64_t from = step->from_ns > last ? step->from_ns : last;
		inside += step->to_ns > from ? step->to_ns - from : 0;
		last = step->to_ns > last ? step->to_ns : last;
	}
	*outside = (struct step_outside){.life = process->end_ns - process->start_ns,
					 .before = first - process->start_ns,
					 .between = last - first - inside,
					 .after = process->end_ns - last};
	outside->all = outside->life - inside;
	return process->start_ns <= first && process->end_ns >= last &&
	       (double)outside->all >= OUTSIDE_FROM * (double)outside->life;
}

bool step_rows_outside(const struct step_rows *rows, const struct request *request, size_t first, size_t *next,
		       struct step_outside *outside)
{
	const struct process *process = &request->run->processes[rows->items[first]->process];
	bool is_part = request->has_steps || request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || rows->kind == UNIT_WHOLE;
	struct step_cover cover = {0};

	for (*next = first; *next < rows->count && rows->items[*next]->process == rows->items[first]->process; ++*next)
		if (step_rows_counts(rows, rows->items[*next]) && !rows->items[*next]->is_evaluation)
			step_cover_add(&cover, rows->items[*next]->unit.start_ns, (int64_t)rows->items[*next]->total_ns);
	bool is_told = !is_part && step_outside(process, &cover, outside);
	free(cover.items);
	return is_told;
}
