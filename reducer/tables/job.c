/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of a whole job.
 *
 * Rule: memory stays bounded with thousands of processes: the more there are, the fewer points each gives.
 */
#include "reducer/tables/job.h"

#include "reducer/model/gpu.h"
#include "reducer/model/losses.h"
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

/* Whose curves are added up: an allocator's, or a device's, which processes may call by several numbers. */
struct choice {
	const char *allocator; /* NULL = the device */
	const struct process *process;
	uint32_t device;
};

const struct account *job_device_account(const struct process *other, const struct process *process, uint32_t id)
{
	uint32_t called;

	for (size_t i = 0; i < other->account_count; i++)
		if (gpu_is_device_allocator(other->accounts[i].allocator, &called) && gpu_is_one_device(process, id, other, called))
			return &other->accounts[i];
	return NULL;
}

static const struct account *chosen_account(const struct choice *choice, const struct process *process)
{
	return choice->allocator ? job_account(process, choice->allocator)
				 : job_device_account(process, choice->process, choice->device);
}

/* Of allocators besides heap and mmap, a process without an account never used it: that is known to be 0. */
static bool is_unknown(const struct account *account, const struct choice *choice)
{
	const char *allocator = choice->allocator;
	bool is_basic = allocator && (strcmp(allocator, "heap") == 0 || strcmp(allocator, "mmap") == 0);

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
static void take_curves(const struct request *request, const struct choice *choice, struct job_curve *job,
			struct timeline *curves, int64_t *ends)
{
	const struct run *run = request->run;
	size_t points = POINTS_IN_ALL / (run->process_count ? run->process_count : 1);

	for (size_t i = 0; i < run->process_count; i++) {
		const struct account *account = chosen_account(choice, &run->processes[i]);
		int64_t end = run->processes[i].end_ns;
		if (!request_wants_process(request, &run->processes[i]))
			continue;
		if (!account || account->kind == ACCOUNT_NONE) {
			job->unknown += is_unknown(account, choice); /* one that never allocated is known to be 0 */
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

static struct job_curve add_up(const struct request *request, const struct choice *choice)
{
	size_t room = request->run->process_count;
	struct timeline *curves = base_alloc(room, sizeof(*curves));
	const struct timeline **list = base_alloc(room, sizeof(*list));
	int64_t *ends = base_alloc(room, sizeof(*ends));
	struct job_curve job = {0};

	take_curves(request, choice, &job, curves, ends);
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

struct job_curve job_curve(const struct request *request, const char *allocator)
{
	return add_up(request, &(struct choice){.allocator = allocator});
}

void job_curve_free(struct job_curve *curve)
{
	timeline_free(&curve->timeline);
}

/* Whether blocks of the device may be missing that a process had, or has an account of. */
static bool may_lack(const struct process *other, const struct account *account, const struct process *process, uint32_t id)
{
	if (account)
		return account->has_gaps;
	if (job_account(other, "device:?")) /* blocks that no record tells the device of */
		return true;
	for (size_t i = 0; other->gpu && i < other->gpu->device_count; i++)
		if (gpu_is_one_device(process, id, other, other->gpu->devices[i].id))
			return losses_of_events(other);
	return false;
}

struct job_peak job_device_peak(const struct request *request, const struct process *process, uint32_t id)
{
	struct job_peak peak = {0};
	struct job_curve curve;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *other = &request->run->processes[i];
		const struct account *account = job_device_account(other, process, id);
		if (!request_wants_process(request, other))
			continue;
		peak.is_least |= may_lack(other, account, process, id);
		peak.accounts += account != NULL;
		peak.bytes = account ? account->peak_bytes : peak.bytes;
	}
	if (peak.accounts < 2)
		return peak;
	curve = add_up(request, &(struct choice){.process = process, .device = id});
	peak.bytes = 0;
	for (size_t i = 0; i < curve.timeline.count; i++)
		peak.bytes = curve.timeline.points[i].max > peak.bytes ? curve.timeline.points[i].max : peak.bytes;
	job_curve_free(&curve);
	return peak;
}
