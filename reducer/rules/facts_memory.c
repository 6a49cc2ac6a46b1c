/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about memory over time: does something grow without end, how full did a device get.
 *
 * Rule: what grows is judged by tables/growth.h, as the verdict has it.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/asker.h"
#include "reducer/tables/gpu_brief.h"
#include "reducer/tables/growth.h"
#include "reducer/tables/job.h"

#include <stdio.h>
#include <string.h>

#define LEAK_BYTES 1048576 /* that grew: less needs no names */
#define LEAK_SITES 2	/* named at most */
#define LATE 10		/* a peak in the last of so many parts of the steps, or of a life, is where growth ended */
#define NS_PER_MINUTE 6e10
/* Growth is that between low points of a part of the steps, 70 % of them: a site that grew by itself from the start holds 1.4 times as
 * much, one of two that grew alike half of that; samples are not exact. */
#define LEAK_LEAST 0.5
#define LEAK_MOST 2.0

/* At the end, or at the peak: an interpreter gives back at its exit what it kept until then. */
static uint64_t held(const struct heap_site *site, bool at_peak)
{
	return at_peak ? site->peak_bytes : site->live_bytes;
}

/* Blocks of the site that are live then are about as much as what grew: a model or its optimizer's state is not taken for it. */
static bool is_as_much(const struct heap_site *site, bool at_peak, double grown_bytes)
{
	double bytes = (double)held(site, at_peak);

	return site->stack && bytes >= LEAK_LEAST * grown_bytes && bytes <= LEAK_MOST * grown_bytes;
}

/* The call stacks that what grew may have come from, in `account`: the largest such. */
static void find_sites(const struct account *account, bool at_peak, double grown_bytes, const struct heap_site *best[LEAK_SITES])
{
	for (size_t i = 0; i < account->site_count; i++) {
		const struct heap_site *site = is_as_much(&account->sites[i], at_peak, grown_bytes) ? &account->sites[i] : NULL;
		for (size_t k = 0; k < LEAK_SITES && site; k++)
			if (!best[k] || held(site, at_peak) > held(best[k], at_peak)) {
				const struct heap_site *smaller = best[k];
				best[k] = site;
				site = smaller;
			}
	}
}

/* Who asked, each once: two stacks may lead to one line. Returns what is live from those named. */
static uint64_t name_sites(struct text *names, const struct request *request, size_t process, bool at_peak,
			   const struct heap_site *best[LEAK_SITES])
{
	uint64_t live = 0;

	for (size_t k = 0; k < LEAK_SITES && best[k]; k++) {
		struct text name = {0};
		asker_put(&name, request->frames, process, best[k]->stack);
		if (names->length && strcmp(name.bytes, names->bytes) != 0)
			text_format(names, "; %s", name.bytes);
		else if (!names->length)
			text_string(names, name.bytes);
		text_free(&name);
		live += held(best[k], at_peak);
	}
	return live;
}

/* An allocator whose blocks have no stacks took its memory from the heap. late_ns: a peak behind it is one where growth ended. */
static void gather_leak_sites(struct rule_facts *facts, const struct request *request, const struct growth *leak, int64_t late_ns)
{
	const struct account *accounts[] = {leak->account, &request->run->processes[leak->process].heap};
	const struct heap_site *best[LEAK_SITES] = {0};
	const struct account *account = NULL;
	bool at_peak = false;
	struct text names = {0};

	if (leak->account == NULL || leak->bytes < LEAK_BYTES || request->frames == NULL)
		return;
	for (size_t i = 0; i < 4 && !best[0]; i++) {
		account = accounts[i % 2];
		at_peak = i >= 2;
		if (!at_peak || account->peak_time_ns >= late_ns)
			find_sites(account, at_peak, (double)leak->bytes, best);
	}
	uint64_t live = name_sites(&names, request, leak->process, at_peak, best);
	if (names.length) {
		facts_own(facts, FACT_leak_site_bytes, (double)live, "memory.sites", at_peak ? "peak_bytes" : "leaked_bytes",
			  "allocator=%s", account->allocator);
		snprintf(facts->facts[FACT_leak_site_bytes].label, FACT_LABEL, "at the %s from %s", at_peak ? "peak" : "end", names.bytes);
	}
	text_free(&names);
}

/* How fast it grew: by steps, without any by time. */
static void gather_leak_rate(struct rule_facts *facts, const struct growth *leak)
{
	double a_step, bytes = (double)leak->bytes, ns = (double)leak->ns;

	if (!facts_known(facts, FACT_step_time_ns)) {
		facts_own(facts, FACT_leak_minute_bytes, bytes / ns * NS_PER_MINUTE, "memory.timeline", "live_bytes", "allocator=%s",
			  leak->account->allocator);
		return;
	}
	a_step = leak->steps > 0 ? bytes / leak->steps : bytes / ns * facts_value(facts, FACT_step_time_ns) / facts->timed_steps;
	facts_own(facts, FACT_leak_step_bytes, a_step, "memory.timeline", "live_bytes", "allocator=%s", leak->account->allocator);
}

/* Without steps what grows in a process that lives long: in a short one it is its data. */
static void gather_leak(struct rule_facts *facts, const struct request *request)
{
	bool has_steps = facts_known(facts, FACT_step_time_ns);
	struct growth leak = has_steps ? growth_find(request, facts->steps_from_ns, facts->steps_to_ns) : growth_of_lives(request);
	const char *allocator;

	if (!leak.is_judged)
		return;
	allocator = leak.account ? leak.account->allocator : "";
	facts_own(facts, FACT_leak_percent, leak.percent, "memory.timeline", "live_bytes", "allocator=%s", allocator);
	facts_own(facts, FACT_leak_bytes, (double)leak.bytes, "memory.timeline", "live_bytes", "allocator=%s", allocator);
	snprintf(facts->facts[FACT_leak_bytes].label, FACT_LABEL, "%s", allocator);
	if (leak.bytes == 0)
		return;
	const struct process *process = &request->run->processes[leak.process];
	int64_t from_ns = has_steps ? facts->steps_from_ns : process->start_ns, to_ns = has_steps ? facts->steps_to_ns : process->end_ns;
	gather_leak_rate(facts, &leak);
	if (leak.refused)
		facts_own(facts, FACT_leak_refused, (double)leak.refused, "memory.refused", "call", "process=%u", process->pid);
	if (leak.room_bytes)
		facts_own(facts, FACT_leak_room_bytes, (double)leak.room_bytes, "host_usage", "host_available_bytes", "process=%u",
			  process->pid);
	gather_leak_sites(facts, request, &leak, to_ns - (to_ns - from_ns) / LATE);
}

/* How full a device was, and the cell that says so. */
struct fullness {
	double used, total, cell;
	bool is_known;
	const char *table, *column;
	char rows[128];
};

/* What the driver last answered where it was asked; how much memory it has. */
static void take_answers(struct fullness *full, const struct gpu_brief_device *device, const struct process *process)
{
	for (size_t i = 0; i < process->gpu->device_count; i++) {
		const struct gpu_device *found = &process->gpu->devices[i];
		uint64_t total = found->answers ? found->total : found->memory_bytes;
		double used = found->answers ? (double)(found->total - found->least_free) : 0;

		if (!gpu_is_one_device(device->process, device->id, process, found->id))
			continue;
		full->total = total ? (double)total : full->total;
		full->is_known |= found->answers > 0;
		if (used <= full->used)
			continue;
		full->used = used;
		full->cell = (double)found->least_free;
		full->table = "run_env";
		full->column = "value";
		snprintf(full->rows, sizeof(full->rows), "name=device %u least free bytes (driver)", found->id);
	}
}

/* What was allocated on a device by all wanted processes together, or more, if the driver says so. */
static struct fullness fullness_of(const struct request *request, const struct gpu_brief_device *device)
{
	struct fullness full = {.used = (double)device->peak_bytes, .cell = (double)device->peak_bytes, .is_known = device->has_peak,
				.table = "memory.summary", .column = "peak_bytes"};
	const struct account *account = NULL;
	size_t accounts = 0;
	char name[32];

	snprintf(name, sizeof(name), "device:%u", device->id);
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct account *own = job_device_account(process, device->process, device->id);
		accounts += own && request_wants_process(request, process);
		account = own && (!account || request_wants_process(request, process)) ? own : account;
	}
	snprintf(full.rows, sizeof(full.rows), "scope=%s,allocator=%s", accounts > 1 ? "job" : "process",
		 account ? account->allocator : name);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (facts_gpu(request, i))
			take_answers(&full, device, &request->run->processes[i]);
	return full;
}

/* How full devices were: the fullest. */
static void gather_device_memory(struct rule_facts *facts, const struct request *request)
{
	struct fullness most = {.total = 0};
	struct gpu_brief brief;
	bool is_least = false;

	gpu_brief(&brief, request);
	for (size_t i = 0; i < brief.device_count; i++) {
		struct fullness full = fullness_of(request, &brief.devices[i]);
		is_least |= brief.devices[i].is_least;
		if (full.is_known && full.total > 0 && (most.total <= 0 || full.used * most.total > most.used * full.total))
			most = full;
	}
	gpu_brief_free(&brief);
	if (is_least)
		facts_own(facts, FACT_device_memory_least, 1, "losses", "count", "%s", "severity=lost");
	if (most.total <= 0)
		return;
	facts_own(facts, FACT_device_memory_percent, 100 * most.used / most.total, most.table, most.column, "%s", most.rows);
	facts->facts[FACT_device_memory_percent].proof.value = most.cell;
}

/* What an allocator held at most, against what was in use of it at most. */
static void take_held(struct rule_facts *facts, const struct account *account)
{
	uint64_t held = 0;
	double percent;

	for (size_t i = 0; i < account->reserved.count; i++)
		held = account->reserved.points[i].max > held ? account->reserved.points[i].max : held;
	if (!held || account->is_live_unknown)
		return;
	percent = held > account->peak_bytes ? 100.0 * (double)(held - account->peak_bytes) / (double)held : 0;
	if (facts_known(facts, FACT_unused_percent) && percent <= facts_value(facts, FACT_unused_percent))
		return;
	facts_own(facts, FACT_unused_percent, percent, "memory.timeline", "reserved_bytes", "allocator=%s", account->allocator);
	facts_own(facts, FACT_unused_bytes, held > account->peak_bytes ? (double)(held - account->peak_bytes) : 0,
		  "memory.timeline", "reserved_bytes", "allocator=%s", account->allocator);
	snprintf(facts->facts[FACT_unused_bytes].label, FACT_LABEL, "%s", account->allocator);
}

static void gather_held(struct rule_facts *facts, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; request_wants_process(request, process) && k < process->account_count; k++)
			take_held(facts, &process->accounts[k]);
	}
}

void facts_gather_memory(struct rule_facts *facts, const struct request *request)
{
	gather_leak(facts, request);
	gather_held(facts, request);
	gather_device_memory(facts, request);
}
