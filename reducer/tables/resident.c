/* SPDX-License-Identifier: Apache-2.0 */
/* The largest resident set of a process; see reducer/tables/resident.h. */
#include "reducer/tables/resident.h"

static void take(struct resident *peak, uint64_t bytes, int64_t time_ns)
{
	if (bytes <= INT64_MAX && (int64_t)bytes > peak->bytes)
		*peak = (struct resident){(int64_t)bytes, time_ns};
}

bool resident_peak(const struct process *process, struct resident *peak)
{
	uint64_t first = UINT64_MAX, value;

	*peak = (struct resident){0};
	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of == USE_OF_PROCESS && sample->has_use && first == UINT64_MAX)
			first = sample->peak_resident_bytes;
		else if (sample->of == USE_OF_PROCESS && sample->has_use && sample->peak_resident_bytes > first)
			take(peak, sample->peak_resident_bytes, sample->time_ns);
		if (use_value(&process->use, sample, USE_resident, &value))
			take(peak, value, sample->time_ns);
	}
	return peak->bytes > 0;
}
