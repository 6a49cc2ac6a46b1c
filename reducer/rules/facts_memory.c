/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about memory over time: does something grow without end, how full did a device get.
 *
 * Rule: growth is judged by the low points of the curve during the steps, so that what comes and goes within a step does not
 * count, nor what is made before them. A process that began among the steps is judged from the first block of a framework in it:
 * until then it loads its code; one that was there for less than half of them takes with it what it kept.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"

#include <stdio.h>
#include <string.h>

#define PARTS 8		/* the steady part of the run is cut into these */
#define STEADY_FROM 0.2 /* of the steps: what comes first fills caches */
#define POINTS_LEAST 64 /* of a curve that is worth judging */
#define LEAK_BYTES 1048576 /* that grew: less needs no names */
#define LEAK_SITES 2	/* named at most */
/* Growth is that between low points of a part of the steps, 70 % of them: a site that grew by itself from the start holds 1.4 times as
 * much, one of two that grew alike half of that; samples are not exact. */
#define LEAK_LEAST 0.5
#define LEAK_MOST 2.0

/* The smallest live value of a curve in [from, to); the value that it comes in with counts too. */
static uint64_t low_point(const struct timeline *curve, int64_t from, int64_t to)
{
	uint64_t low = UINT64_MAX, before = 0;

	for (size_t i = 0; i < curve->count && curve->points[i].time_ns < to; i++) {
		if (curve->points[i].time_ns < from)
			before = curve->points[i].live;
		else if (curve->points[i].live < low)
			low = curve->points[i].live;
	}
	return low == UINT64_MAX ? before : low;
}

/* When a process was ready for its part of the steps. */
static int64_t ready_ns(const struct rule_facts *facts, const struct process *process)
{
	int64_t first_ns = INT64_MAX;

	if (process->start_ns <= facts->steps_from_ns)
		return facts->steps_from_ns;
	for (size_t k = 0; k < process->account_count; k++) {
		const struct timeline *curve = &process->accounts[k].timeline;
		if (curve->count && curve->points[0].time_ns < first_ns)
			first_ns = curve->points[0].time_ns;
	}
	return first_ns == INT64_MAX ? process->start_ns : first_ns;
}

/* Bytes that an account grew steadily during the steps; 0 = it did not. */
static uint64_t growth_of(const struct rule_facts *facts, const struct process *process, const struct account *account)
{
	const struct timeline *curve = &account->timeline;
	int64_t from = ready_ns(facts, process), to = facts->steps_to_ns < process->end_ns ? facts->steps_to_ns : process->end_ns;
	int64_t length = to - from;
	uint64_t lows[PARTS];

	if (account->is_live_unknown || curve->count < POINTS_LEAST || length * 2 < facts->steps_to_ns - facts->steps_from_ns)
		return 0;
	from += (int64_t)((double)length * STEADY_FROM);
	for (size_t i = 0; i < PARTS; i++) {
		int64_t width = (int64_t)((double)length * (1 - STEADY_FROM)) / PARTS;
		lows[i] = low_point(curve, from + (int64_t)i * width, from + (int64_t)(i + 1) * width);
		if (i && lows[i] <= lows[i - 1])
			return 0;
	}
	return lows[PARTS - 1] - lows[0];
}

struct leak {
	double percent, bytes;
	const char *allocator;
	uint32_t pid;
	size_t process;		       /* its place in the run */
	const struct account *account; /* NULL = none grew */
	bool any;
};

static void take_account(struct leak *leak, const struct rule_facts *facts, const struct run *run, size_t i,
			 const struct account *account)
{
	const struct process *process = &run->processes[i];
	uint64_t growth = growth_of(facts, process, account);
	double percent = account->peak_bytes ? 100.0 * (double)growth / (double)account->peak_bytes : 0;

	leak->any |= account->timeline.count >= POINTS_LEAST;
	if (!growth || percent <= leak->percent)
		return;
	*leak = (struct leak){.percent = percent, .bytes = (double)growth, .allocator = account->allocator, .pid = process->pid,
			      .process = i, .account = account, .any = true};
}

/* The user's own line of Python that asked, else the function that did. */
struct asker {
	struct text text;
};

static bool read_asker(void *context, const struct symbol_frame *frame)
{
	const char *base;
	struct asker *asker = context;

	if (frame->module != FRAMES_PYTHON || frames_is_library(frame->file))
		return true;
	base = strrchr(frame->file, '/');
	text_format(&asker->text, "%s (%s:%u)", frame->function, base ? base + 1 : frame->file, frame->line);
	return false;
}

static void put_asker(struct text *out, struct frames *frames, size_t process, uint32_t stack)
{
	struct asker asker = {0};
	struct frame_cause cause = {0};

	frames_want(frames, process, stack);
	frames_resolve(frames);
	frames_search(frames, process, stack, read_asker, &asker);
	if (!asker.text.length) {
		frames_cause(frames, process, stack, &cause);
		text_put(&asker.text, cause.function.bytes, cause.function.length);
		frame_cause_free(&cause);
	}
	text_put(out, asker.text.bytes, asker.text.length);
	text_free(&asker.text);
}

/* Blocks of the site that are live at the end are about as much as what grew: a model or its optimizer's state is not taken for it. */
static bool is_as_much(const struct heap_site *site, double grown_bytes)
{
	return site->stack && (double)site->live_bytes >= LEAK_LEAST * grown_bytes && (double)site->live_bytes <= LEAK_MOST * grown_bytes;
}

/* The call stacks that what grew may have come from, in `account`: the largest such. */
static void find_sites(const struct account *account, double grown_bytes, const struct heap_site *best[LEAK_SITES])
{
	for (size_t i = 0; i < account->site_count; i++) {
		const struct heap_site *site = is_as_much(&account->sites[i], grown_bytes) ? &account->sites[i] : NULL;
		for (size_t k = 0; k < LEAK_SITES && site; k++)
			if (!best[k] || site->live_bytes > best[k]->live_bytes) {
				const struct heap_site *smaller = best[k];
				best[k] = site;
				site = smaller;
			}
	}
}

/* An allocator whose blocks have no stacks took its memory from the heap. */
static void gather_leak_sites(struct rule_facts *facts, const struct request *request, const struct leak *leak)
{
	const struct account *account = leak->account;
	const struct heap_site *best[LEAK_SITES] = {0};
	struct text names = {0};

	if (account == NULL || leak->bytes < LEAK_BYTES || request->frames == NULL)
		return;
	find_sites(account, leak->bytes, best);
	if (best[0] == NULL) {
		account = &request->run->processes[leak->process].heap;
		find_sites(account, leak->bytes, best);
	}
	for (size_t k = 0; k < LEAK_SITES && best[k]; k++) {
		text_string(&names, k ? "; " : "");
		put_asker(&names, request->frames, leak->process, best[k]->stack);
	}
	if (names.length) {
		facts_own(facts, FACT_leak_site_bytes, (double)best[0]->live_bytes, "memory.sites", "leaked_bytes", "allocator=%s",
			  account->allocator);
		snprintf(facts->facts[FACT_leak_site_bytes].label, FACT_LABEL, "%s", names.bytes);
	}
	text_free(&names);
}

static void gather_leak(struct rule_facts *facts, const struct request *request)
{
	struct leak leak = {.allocator = ""};

	if (!facts_known(facts, FACT_whole_ns))
		return; /* what grows in a program without steps is its data */
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (process->heap.kind != ACCOUNT_NONE)
			take_account(&leak, facts, request->run, i, &process->heap);
		for (size_t k = 0; k < process->account_count; k++)
			take_account(&leak, facts, request->run, i, &process->accounts[k]);
	}
	if (!leak.any)
		return;
	facts_own(facts, FACT_leak_percent, leak.percent, "memory.timeline", "live_bytes", "allocator=%s", leak.allocator);
	facts_own(facts, FACT_leak_bytes, leak.bytes, "memory.timeline", "live_bytes", "allocator=%s", leak.allocator);
	snprintf(facts->facts[FACT_leak_bytes].label, FACT_LABEL, "%s", leak.allocator);
	gather_leak_sites(facts, request, &leak);
}

static const struct account *device_account(const struct process *process, uint32_t wanted)
{
	uint32_t id;

	for (size_t i = 0; i < process->account_count; i++)
		if (gpu_is_device_allocator(process->accounts[i].allocator, &id) && id == wanted)
			return &process->accounts[i];
	return NULL;
}

/* How full devices were: what the driver last answered where it was asked, else what was allocated. */
static void gather_device_memory(struct rule_facts *facts, const struct request *request)
{
	double most = -1;
	char allocator[128] = "";

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		for (size_t k = 0; gpu && k < gpu->device_count; k++) {
			const struct gpu_device *device = &gpu->devices[k];
			const struct account *account = device_account(&request->run->processes[i], device->id);
			double total = (double)(device->answers ? device->total : device->memory_bytes), used;
			if (!account && !device->answers && process_is_foreign(&request->run->processes[i]))
				continue; /* nothing was seen of this device's memory: that is not 0 */
			used = account ? (double)account->peak_bytes : 0;
			if (device->answers && (double)(device->total - device->least_free) > used)
				used = (double)(device->total - device->least_free);
			if (total <= 0 || 100 * used / total <= most)
				continue;
			most = 100 * used / total;
			snprintf(allocator, sizeof(allocator), "device:%u", device->id);
			if (account)
				snprintf(allocator, sizeof(allocator), "%s", account->allocator);
		}
	}
	if (most >= 0)
		facts_own(facts, FACT_device_memory_percent, most, "memory.summary", "peak_bytes", "scope=process,allocator=%s",
			  allocator);
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
