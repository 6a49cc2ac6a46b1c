/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device records whose times cannot be; see spans.h.
 *
 * Rule: no time line and no analysis has them, as no sum of the first pass does. Of another profiler's file all is told as it says.
 */
#include "reducer/model/spans_internal.h"

int spans_is_possible_near(struct spans *spans, const struct span_moment *moment, int64_t called_ns)
{
	int64_t read_ns = spans_ns(spans, moment->read);
	uint64_t error, late = moment->duration_ns;

	if (spans->is_foreign)
		return 1;
	gpu_clock_ticks(spans->scan->process->gpu->clock, moment->device_start, &error);
	error += error < UINT64_MAX - GPU_SKEW_NS ? GPU_SKEW_NS : 0;
	if (called_ns != TIME_UNKNOWN && moment->start_ns < called_ns && (uint64_t)called_ns - (uint64_t)moment->start_ns > error)
		return 0;
	if (read_ns > spans->passed_ns)
		spans->passed_ns = read_ns;
	if (moment->start_ns > read_ns) {
		late = (uint64_t)moment->start_ns - (uint64_t)read_ns;
	} else {
		uint64_t before = (uint64_t)read_ns - (uint64_t)moment->start_ns;
		late = late > before ? late - before : 0;
	}
	return late <= error;
}
