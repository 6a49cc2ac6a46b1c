/* SPDX-License-Identifier: Apache-2.0 */
/* The room of a device; see device_room.h. */
#include "reducer/tables/device_room.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/job.h"

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

/* What all had when somebody read it last; and that this process took more since, where it did: else that would contradict what it had. */
static void put_reading(struct text *text, const struct process *process, const struct refused *refused, const struct use_sample *reading)
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

void device_room_put(struct text *text, const struct process *process, const struct refused *refused)
{
	const struct use_sample *reading;
	uint64_t whole;
	uint32_t number;

	if (!number_of(refused->allocator, &number))
		return;
	reading = reading_at(&process->use, number, refused->time_ns);
	whole = whole_of(process, number, reading);
	if (!whole && !reading)
		return;
	if (whole) {
		text_format(text, "Device %u has ", number);
		text_size(text, (int64_t)whole);
		text_char(text, '.');
	}
	put_own(text, process, refused, number);
	if (reading) {
		put_reading(text, process, refused, reading);
		put_users(text, &process->use, reading);
	}
}
