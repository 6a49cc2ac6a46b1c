/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of a whole job.
 *
 * Rule: memory stays bounded with thousands of processes: the more there are, the fewer points each gives.
 */
#include "reducer/tables/job.h"

#include "reducer/tables/notes.h"

#include <stdlib.h>

#define POINTS_IN_ALL (1u << 17) /* of all curves; at 72 bytes each while they are added up */
#define POINTS_LEAST 16

const struct account *account_heap(const struct process *process)
{
	return process_has_heap(process) ? &process->heap : NULL;
}

const struct account *account_mmap(const struct process *process)
{
	return process_has_heap(process) || process->has_static_allocator ? &process->mmap : NULL;
}

/* Where the curve is made of points, the peak itself may lie between two of them: it is put back where it was. */
static void keep_peak(struct timeline *curve, const struct account *account)
{
	size_t i = curve->count;

	if (account->peak_time_ns == TIME_UNKNOWN || !i)
		return;
	while (--i > 0 && curve->points[i].time_ns > account->peak_time_ns)
		continue;
	if (account->peak_bytes <= curve->points[i].max)
		return;
	curve->points[i].max = account->peak_bytes;
	curve->points[i].max_time_ns = account->peak_time_ns;
}

/* One process after the other, thinned, into `curves`. */
static void take_curves(const struct request *request, account_of *of, struct job_curve *job, struct timeline *curves,
			int64_t *ends)
{
	const struct run *run = request->run;
	size_t points = POINTS_IN_ALL / (run->process_count ? run->process_count : 1);

	for (size_t i = 0; i < run->process_count; i++) {
		const struct account *account = of(&run->processes[i]);
		int64_t end = run->processes[i].end_ns;
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		if (!account || account->kind == ACCOUNT_NONE) {
			job->unknown += !account || account->allocations; /* one that never allocated is known to be 0 */
			continue;
		}
		if (timeline_reduce(&account->timeline, points < POINTS_LEAST ? POINTS_LEAST : points, &curves[job->count]) != 0)
			base_die("out of memory");
		keep_peak(&curves[job->count], account);
		ends[job->count++] = end;
		if (end != TIME_UNKNOWN && end > job->end_ns)
			job->end_ns = end;
	}
}

struct job_curve job_curve(const struct request *request, account_of *of)
{
	size_t room = request->run->process_count;
	struct timeline *curves = base_alloc(room, sizeof(*curves));
	const struct timeline **list = base_alloc(room, sizeof(*list));
	int64_t *ends = base_alloc(room, sizeof(*ends));
	struct job_curve job = {0};

	take_curves(request, of, &job, curves, ends);
	for (size_t i = 0; i < job.count; i++)
		list[i] = &curves[i];
	if (job.count == 1)
		job.timeline = curves[0];
	else if (job.count && timeline_sum(list, ends, job.count, &job.timeline) != 0)
		base_die("out of memory");
	for (size_t i = 0; i < job.count && job.count > 1; i++)
		timeline_free(&curves[i]);
	free(curves);
	free(list);
	free(ends);
	return job;
}

void job_curve_free(struct job_curve *curve)
{
	timeline_free(&curve->timeline);
}
