/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device records whose times cannot be; see spans.h.
 *
 * Rule: no time line and no analysis has them, as no sum of the first pass does. Of another profiler's file all is told as it says, but
 * for what no importer takes.
 */
#include "reducer/model/spans_internal.h"

/* What reducer/import/ takes: xplane.h, sink.c. */
#define FOREIGN_LATEST (UINT64_C(1) << 62)  /* ns */
#define FOREIGN_LONGEST (UINT64_C(1) << 54) /* ns: half a year */

static int is_beyond(uint64_t time, uint64_t limit, uint64_t error)
{
	return time > limit && time - limit > error + GPU_SKEW_NS;
}

/* As gpu_impossible has it. */
int spans_is_possible_near(struct spans *spans, const struct span_moment *moment)
{
	const struct gpu_clock *clock = spans->scan->process->gpu->clock;
	uint64_t error = 0, end = moment->start + moment->duration;

	if (end < moment->start)
		return 0;
	if (spans->is_foreign)
		return end < FOREIGN_LATEST && moment->duration < FOREIGN_LONGEST;
	if (end > spans->passed) {
		spans->passed = gpu_clock_ns(clock, moment->read, &error);
		if (is_beyond(end, spans->passed, error))
			return 0;
	}
	if (moment->called == UINT64_MAX)
		return 1;
	uint64_t begin = gpu_clock_ns_near(clock, &spans->near_called, moment->called, &error);
	return !is_beyond(begin, moment->start, error);
}
