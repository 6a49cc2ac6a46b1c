/* SPDX-License-Identifier: Apache-2.0 */
/* The room of a device; see device_room.h. */
#include "reducer/tables/device_room.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define USERS_NAMED 3 /* processes that compute on the device */
#define NS_PER_MS 1e6
#define MS_PER_S 1e3

/* Of "device:0", "pytorch cuda:0", "GPU_0_bfc". */
static bool number_of(const char *allocator, uint32_t *number)
{
	const char *cuda = strstr(allocator, "cuda:");

	return sscanf(allocator, "device:%u", number) == 1 || (cuda && sscanf(cuda, "cuda:%u", number) == 1) ||
	       sscanf(allocator, "GPU_%u_", number) == 1;
}

bool device_room_is_of(const char *allocator)
{
	uint32_t number;

	return strcmp(allocator, "device:?") == 0 || number_of(allocator, &number);
}

/* The last reading of the device at or before that time; NULL = there is none. */
static const struct use_sample *reading_at(const struct use_rows *use, uint32_t number, int64_t time_ns)
{
	const struct use_sample *found = NULL;
	uint64_t value;

	for (size_t i = 0; i < use->count && use->samples[i].time_ns <= time_ns; i++)
		if (use->samples[i].of == USE_OF_DEVICE && use->samples[i].subject == number &&
		    use_value(use, &use->samples[i], USE_memory_used, &value))
			found = &use->samples[i];
	return found;
}

/* What the device has, in all: as NVML, the driver or its properties say. 0 = not known. */
static uint64_t whole_of(const struct process *process, uint32_t number, const struct use_sample *reading)
{
	uint64_t whole = 0;

	if (reading && use_value(&process->use, reading, USE_memory_total, &whole) && whole)
		return whole;
	for (size_t i = 0; process->gpu && i < process->gpu->device_count; i++)
		if (process->gpu->devices[i].id == number)
			return process->gpu->devices[i].total ? process->gpu->devices[i].total : process->gpu->devices[i].memory_bytes;
	return 0;
}

/* Live bytes of an account at that time. */
static uint64_t live_at(const struct account *account, int64_t time_ns)
{
	const struct timeline *curve = &account->timeline;
	uint64_t live = 0;

	for (size_t i = 0; i < curve->count && curve->points[i].time_ns <= time_ns; i++)
		live = curve->points[i].live;
	return live;
}

static void put_own(struct text *text, const struct process *process, const struct refused *refused, uint32_t number)
{
	const struct account *own = job_device_account(process, process, number);
	bool is_any = false;

	for (size_t i = 0; i < process->account_count; i++) {
		const struct account *account = &process->accounts[i];
		bool is_asked = strcmp(account->allocator, refused->allocator) == 0;

		if ((account != own && !is_asked) || account->is_live_unknown || !account->timeline.count)
			continue;
		text_string(text, is_any ? ", " : " This process had ");
		text_size(text, (int64_t)live_at(account, refused->time_ns));
		text_format(text, " on %s", account->allocator);
		is_any = true;
	}
	text_string(text, is_any ? "." : "");
}

/* What graphs take when they run is in no account. */
static uint64_t graphs_of(const struct process *process)
{
	const struct gpu_counts *counts = process->gpu ? &process->gpu->counts : NULL;

	return !counts ? 0 : counts->graph_nodes > counts->graph_allocations ? counts->graph_nodes : counts->graph_allocations;
}

static void put_graphs(struct text *text, const struct process *process)
{
	uint64_t count = graphs_of(process);

	if (!count)
		return;
	text_format(text, " Not in that: memory that its graphs take when they run, by %" PRIu64 " allocation%s", count,
		    count == 1 ? "" : "s");
	if (process->gpu->counts.graph_bytes) {
		text_string(text, ", of ");
		text_size(text, (int64_t)process->gpu->counts.graph_bytes);
		text_string(text, count > process->gpu->counts.graph_allocations ? " or more" : "");
	}
	text_string(text, ", which was captured.");
}

/* What was free then, if the others had what they had when it was read. */
static void put_free(struct text *text, uint64_t whole, uint64_t used, uint64_t then, uint64_t now, uint64_t asked)
{
	uint64_t others = used > then ? used - then : used; /* the driver counts it late, or not at all: then all of it is others' */
	uint64_t left = whole > others + now ? whole - others - now : 0;

	if (!whole)
		return;
	text_string(text, " Free then, if the others had no more (inferred): ");
	text_size(text, (int64_t)left);
	text_char(text, '.');
	if (asked != UINT64_MAX && asked && left > asked)
		text_string(text, " More than was asked for: perhaps a limit of its pool, of an allocator, of MPS, or torn room.");
}

/* What all had when somebody read it last; and that this process took more since, where it did: else that would contradict what it had. */
static void put_reading(struct text *text, const struct process *process, const struct refused *refused, const struct use_sample *reading,
			uint64_t whole)
{
	const struct account *own = job_device_account(process, process, reading->subject);
	double before_ms = (double)(refused->time_ns - reading->time_ns) / NS_PER_MS;
	bool is_known = own && !own->is_live_unknown && own->timeline.count;
	uint64_t used, then = is_known ? live_at(own, reading->time_ns) : 0, now = is_known ? live_at(own, refused->time_ns) : 0;

	if (!use_value(&process->use, reading, USE_memory_used, &used))
		return;
	text_string(text, " In use of it by all processes and the driver, read ");
	text_format(text, before_ms < MS_PER_S ? "%.0f ms" : "%.1f s", before_ms < MS_PER_S ? before_ms : before_ms / MS_PER_S);
	text_string(text, " before");
	if (now > used) {
		text_string(text, ", when this process had ");
		text_size(text, (int64_t)then);
	}
	text_string(text, ": ");
	text_size(text, (int64_t)used);
	text_char(text, '.');
	if (is_known && !graphs_of(process))
		put_free(text, whole, used, then, now, refused->requested_bytes);
}

/* What other processes that were recorded held of the device: the most of them by name. */
static void put_recorded(struct text *text, const struct request *request, const struct process *process, uint32_t number, int64_t time_ns)
{
	const struct process *most = NULL;
	uint64_t all = 0, greatest = 0;
	size_t count = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *other = &request->run->processes[i];
		const struct account *account =
			other == process || time_ns > other->end_ns ? NULL : job_device_account(other, process, number);
		uint64_t live = account && !account->is_live_unknown ? live_at(account, time_ns) : 0;

		all += live;
		count += live > 0;
		most = live > greatest ? other : most;
		greatest = live > greatest ? live : greatest;
	}
	if (!most)
		return;
	text_format(text, " %zu other%s of this run had ", count, count == 1 ? "" : "s");
	text_size(text, (int64_t)all);
	text_format(text, " of it%s process %s", count == 1 ? ":" : ", most of all", most->called);
	if (count > 1) {
		text_string(text, " with ");
		text_size(text, (int64_t)greatest);
	}
	text_char(text, '.');
}

static void put_users(struct text *text, const struct use_rows *use, const struct use_sample *reading)
{
	size_t named = 0, all = 0;

	for (size_t i = 0; i < use->user_count; i++)
		all += use->users[i].time_ns == reading->time_ns && use->users[i].device == reading->subject;
	if (all < 2)
		return;
	text_format(text, " %zu processes computed on it: ", all);
	for (size_t i = 0; i < use->user_count && named < USERS_NAMED; i++) {
		const struct device_user *user = &use->users[i];

		if (user->time_ns != reading->time_ns || user->device != reading->subject)
			continue;
		text_format(text, "%s%u", named++ ? ", " : "", user->process);
		if (user->used_bytes != UINT64_MAX) {
			text_string(text, " with ");
			text_size(text, (int64_t)user->used_bytes);
		}
	}
	text_string(text, all > USERS_NAMED ? " ..." : ".");
}

void device_room_put(struct text *text, const struct request *request, size_t place, const struct refused *refused)
{
	const struct process *process = &request->run->processes[place];
	const struct use_sample *reading;
	uint64_t whole;
	uint32_t number;

	if (!number_of(refused->allocator, &number))
		return;
	reading = reading_at(&process->use, number, refused->time_ns);
	whole = whole_of(process, number, reading);
	if (whole) {
		text_format(text, "Device %u has ", number);
		text_size(text, (int64_t)whole);
		text_char(text, '.');
	}
	if (whole || reading)
		put_own(text, process, refused, number);
	put_graphs(text, process);
	put_recorded(text, request, process, number, refused->time_ns);
	if (reading) {
		put_reading(text, process, refused, reading, whole);
		put_users(text, &process->use, reading);
	}
}
