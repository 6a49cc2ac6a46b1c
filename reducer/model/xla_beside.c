/* SPDX-License-Identifier: Apache-2.0 */
/* What runs beside the loop that is counted; see reducer/model/xla_beside.h. */
#include "reducer/model/xla_beside.h"

#include "reducer/model/xla_runs_internal.h"

#include <stdlib.h>
#include <string.h>

#define TIME_PART 10u /* of the time that the loop's calls took: what took less is no loop of its own */

/* Calls of several kinds: when the first and the last began, how long they took if each had taken the least. */
struct extent {
	uint64_t first, last, took;
	uint32_t thread; /* 0 = several */
};

static struct extent extent_of(const struct xla_runs *runs, const struct xla_loop *loop)
{
	struct extent extent = {.first = UINT64_MAX};

	for (size_t i = 0; i < loop->count; i++) {
		const struct xla_kind *kind = xla_kind_of(runs, loop->ids[i]);
		extent.thread = i == 0 || extent.thread == kind->thread ? kind->thread : 0;
		extent.first = kind->first < extent.first ? kind->first : extent.first;
		extent.last = kind->last > extent.last ? kind->last : extent.last;
		extent.took += kind->is_first_run ? 0 : kind->count * kind->least; /* what compiles takes longer than it runs */
	}
	return extent;
}

static int is_of_loop(const struct xla_runs *runs, const struct xla_loop *loop, const struct xla_kind *kind)
{
	for (size_t i = 0; i < loop->count; i++)
		if (xla_kind_of(runs, loop->ids[i])->line == kind->line)
			return 1;
	return 0;
}

static enum loop_aside place_of(const struct extent *extent, const struct xla_kind *kind)
{
	if (kind->thread != 0 && extent->thread != 0 && kind->thread != extent->thread)
		return LOOP_ABREAST;
	return kind->first > extent->last ? LOOP_BEHIND : kind->last < extent->first ? LOOP_BEFORE : LOOP_NONE;
}

/* "XLA call: main (a.py, line 9) +0x5" is of "main (a.py, line 9)". NULL = no memory. */
static char *line_of(const char *name)
{
	static const char begin[] = "XLA call: ";
	const char *from = strncmp(name, begin, sizeof begin - 1) == 0 ? name + sizeof begin - 1 : name;
	const char *line = strstr(from, ", line "), *end = line == NULL ? NULL : strchr(line, ')');

	return strndup(from, end == NULL ? strlen(from) : (size_t)(end + 1 - from));
}

void xla_beside_find(struct process *process, const struct step_guess *known, const struct xla_loop *loop)
{
	const struct xla_runs *runs = known->xla_runs;
	const struct xla_kind *best = NULL;
	struct extent extent = extent_of(runs, loop);
	uint64_t place = xla_place(runs);
	uint32_t best_id = 0;

	for (uint32_t id = 0; loop->count > 0 && !loop->is_trained && id < XLA_NAMES_MAX; id++) {
		const struct xla_kind *kind = xla_kind_of(runs, id);
		if (kind == runs->kinds || !kind->is_direct || kind->is_eager || kind->place != place || kind->count < CALLS_LEAST ||
		    kind->count * kind->least * TIME_PART < extent.took || is_of_loop(runs, loop, kind) ||
		    place_of(&extent, kind) == LOOP_NONE || (best != NULL && kind->count <= best->count))
			continue;
		best = kind;
		best_id = id;
	}
	if (best == NULL)
		return;
	free(process->aside.line);
	process->aside.line = line_of(known->op_text(known->state, best_id));
	process->aside.calls = best->count + (best->runner != 0);
	process->aside.where = place_of(&extent, best);
}
