/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose every run goes by the road of first calls; see reducer/model/xla_runs_internal.h. */
#include "reducer/model/xla_runs_internal.h"

#define COMPILES_PART 8u /* of so many calls of a line at most one compiles: its shapes are few */

static uint64_t compiled_on(const struct xla_runs *runs, size_t line)
{
	uint64_t count = 0;

	for (size_t i = 1; i < runs->kind_count; i++)
		if (runs->kinds[i].line == line && runs->kinds[i].is_compiling)
			count += runs->kinds[i].count;
	return count;
}

const struct xla_kind *xla_other_road(const struct xla_runs *runs)
{
	const struct xla_kind *best = NULL;

	for (size_t i = 1; i < runs->kind_count; i++) {
		const struct xla_kind *kind = &runs->kinds[i];
		if (!kind->is_first_run || kind->place != runs->first_runs || kind->is_eager || kind->is_trained ||
		    kind->count < CALLS_LEAST || compiled_on(runs, kind->line) * COMPILES_PART > kind->count)
			continue;
		if (best == NULL || kind->count * kind->least > best->count * best->least)
			best = kind;
	}
	return best;
}
