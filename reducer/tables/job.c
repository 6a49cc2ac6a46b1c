/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of a whole job.
 *
 * Rule: memory stays bounded with thousands of processes: the more there are, the fewer points each gives.
 */
#include "reducer/tables/job.h"

#include "reducer/tables/notes.h"

#include <stdlib.h>
#include <string.h>

#define POINTS_IN_ALL (1u << 17) /* of all curves; at 72 bytes each while they are added up */
#define POINTS_LEAST 16

const struct account *job_account(const struct process *process, const char *allocator)
{
	if (strcmp(allocator, "heap") == 0)
		return process_has_heap(process) ? &process->heap : NULL;
	if (strcmp(allocator, "mmap") == 0)
		return process_has_heap(process) || process->is_heap_unseen ? &process->mmap : NULL;
	return process_account(process, allocator);
}

static void add_name(const struct request *request, const char *name, const char ***names, size_t *count, size_t *room)
{
	if (!request_wants_allocator(request, name))
		return;
	for (size_t i = 0; i < *count; i++)
		if (strcmp((*names)[i], name) == 0)
			return;
	*names = base_grow(*names, room, *count + 1, sizeof(**names));
	(*names)[(*count)++] = name;
}

size_t job_allocators(const struct request *request, const char ***names)
{
	size_t count = 0, room = 0;

	*names = NULL;
	add_name(request, "heap", names, &count, &room);
	add_name(request, "mmap", names, &count, &room);
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; k < process->account_count && request_wants_process(request, process); k++)
			add_name(request, process->accounts[k].allocator, names, &count, &room);
	}
	return count;
}

/* Of allocators besides heap and mmap, a process without an account never used it: that is known to be 0. */
static bool is_unknown(const struct account *account, const char *allocator)
{
	bool is_basic = strcmp(allocator, "heap") == 0 || strcmp(allocator, "mmap") == 0;

	return account ? account->allocations > 0 : is_basic;
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
static void take_curves(const struct request *request, const char *allocator, struct job_curve *job, struct timeline *curves,
			int64_t *ends)
{
	const struct run *run = request->run;
	size_t points = POINTS_IN_ALL / (run->process_count ? run->process_count : 1);

	for (size_t i = 0; i < run->process_count; i++) {
		const struct account *account = job_account(&run->processes[i], allocator);
		int64_t end = run->processes[i].end_ns;
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		if (!account || account->kind == ACCOUNT_NONE) {
			job->unknown += is_unknown(account, allocator); /* one that never allocated is known to be 0 */
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

struct job_curve job_curve(const struct request *request, const char *allocator)
{
	size_t room = request->run->process_count;
	struct timeline *curves = base_alloc(room, sizeof(*curves));
	const struct timeline **list = base_alloc(room, sizeof(*list));
	int64_t *ends = base_alloc(room, sizeof(*ends));
	struct job_curve job = {0};

	take_curves(request, allocator, &job, curves, ends);
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
