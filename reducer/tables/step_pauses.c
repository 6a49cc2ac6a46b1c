/* SPDX-License-Identifier: Apache-2.0 */
/* Few steps that last long for nothing that was recorded; see reducer/tables/step_pauses.h. */
#include "reducer/tables/step_pauses.h"

#include <inttypes.h>
#include <stdlib.h>

#define STEPS_LEAST 20	 /* judged: of fewer a median says little */
#define PAUSE_TIMES 20	 /* as long as the median; so long are pauses between the calls of TensorFlow and JAX, too (step_choice.c) */
#define PAUSE_OTHER 0.8	 /* of its time nothing was recorded of */
#define PAUSES_MOST 0.05 /* of the steps: what more of them do is part of the loop */
#define PAUSE_SHARE 0.05 /* of the judged time, from which it is worth a word */

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

struct step_pauses step_pauses_of(const struct step_rows *rows, size_t process)
{
	uint64_t *times = base_alloc(rows->count + 1, sizeof(*times)), all = 0, median;
	struct step_pauses found = {0};
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i]->process == process && step_rows_judges(rows, i))
			all += times[count++] = rows->items[i]->total_ns;
	if (count)
		qsort(times, count, sizeof(*times), by_value);
	median = count ? times[(count - 1) / 2] : 0;
	free(times);
	for (size_t i = 0; i < rows->count && count >= STEPS_LEAST; i++) {
		const struct step_row *row = rows->items[i];
		if (row->process != process || !step_rows_judges(rows, i) || row->total_ns < PAUSE_TIMES * median ||
		    (double)row->exposed_ns[PART_OTHER] < PAUSE_OTHER * (double)row->total_ns)
			continue;
		found.count++;
		found.ns += row->total_ns;
		found.other_ns += row->exposed_ns[PART_OTHER];
		if (row->total_ns > found.longest_ns) {
			found.longest = row->unit.number;
			found.longest_ns = row->total_ns;
		}
	}
	found.share = all ? (double)found.ns / (double)all : 0;
	if ((double)found.count > PAUSES_MOST * (double)count || found.share < PAUSE_SHARE)
		return (struct step_pauses){0};
	return found;
}

void step_pauses_say(struct text *text, const struct step_rows *rows, double share_from)
{
	for (size_t i = 0; i < rows->count; i++) {
		size_t process = rows->items[i]->process;
		struct step_pauses pauses;
		if (i && process == rows->items[i - 1]->process)
			continue;
		pauses = step_pauses_of(rows, process);
		if (!pauses.count || pauses.share < share_from)
			continue;
		text_format(text, "%.1f %% of the time is %zu %s%s as long as %d usual ones or more with next to nothing recorded ",
			    100 * pauses.share, pauses.count, unit_kind_name(rows->kind), pauses.count > 1 ? "s" : "", PAUSE_TIMES);
		text_format(text, "(%s %" PRIu64 ": %.1f ms): a pause, as a notebook's between two cells, a wait, or code that "
			    "announces nothing.",
			    unit_kind_name(rows->kind), pauses.longest, (double)pauses.longest_ns / 1e6);
		return;
	}
}
