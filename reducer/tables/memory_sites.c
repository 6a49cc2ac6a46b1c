/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.sites: which call stacks the memory came from.
 *
 * Rule: the same stack in several processes is one row; numbers are exact in mode full and estimates with standard errors
 * in mode sample, and the row says which.
 */
#include "reducer/tables/job.h"
#include "reducer/tables/cause_cells.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include "reducer/base/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PEAK, PEAK_BLOCKS, LEAKED, LEAKED_BLOCKS, TOTAL, ALLOCATIONS, REQUESTED, TEMPORARY, PEAK_ERROR, LEAKED_ERROR,
	TOTAL_ERROR, ALLOCATIONS_ERROR, KIND, ALLOCATOR, PROCESSES, PROCESS, FUNCTION, FILE_NAME, LINE, MODULE, STACK, MACHINE, MEMBER,
	COLUMNS
};

static const struct table_column columns[] = {
	[PEAK] = {"peak_bytes", "at peak", TABLE_INTEGER, UNIT_BYTES, 0,
		  "usable bytes from here that were live when the process was at its peak", "inuse_space"},
	[PEAK_BLOCKS] = {"peak_blocks", "blocks", TABLE_INTEGER, UNIT_COUNT, 3,
		  "blocks from here that were live then", "inuse_objects"},
	[LEAKED] = {"leaked_bytes", "leaked", TABLE_INTEGER, UNIT_BYTES, 0,
		  "usable bytes from here still live at the end; empty = not known", "leaked_space"},
	[LEAKED_BLOCKS] = {"leaked_blocks", "blocks", TABLE_INTEGER, UNIT_COUNT, 3,
		  "blocks from here still live at the end; empty = not known", "leaked_objects"},
	[TOTAL] = {"total_bytes", "total", TABLE_INTEGER, UNIT_BYTES, 0, "usable bytes allocated from here in all", "alloc_space"},
	[ALLOCATIONS] = {"allocations", "allocs", TABLE_INTEGER, UNIT_COUNT, 0, "calls", "alloc_objects"},
	[REQUESTED] = {"requested_bytes", "asked for", TABLE_INTEGER, UNIT_BYTES, 3, "bytes asked for in all"},
	[TEMPORARY] = {"temporary", "temp.", TABLE_INTEGER, UNIT_COUNT, 1,
		       "blocks freed by their thread before it allocated anything else; empty where calls were sampled"},
	[PEAK_ERROR] = {"peak_error_bytes", "+-", TABLE_INTEGER, UNIT_BYTES, 1,
			"standard error of peak_bytes; empty = exact"},
	[LEAKED_ERROR] = {"leaked_error_bytes", "+- leaked", TABLE_INTEGER, UNIT_BYTES, 3, "standard error of leaked_bytes"},
	[TOTAL_ERROR] = {"total_error_bytes", "+- total", TABLE_INTEGER, UNIT_BYTES, 3, "standard error of total_bytes"},
	[ALLOCATIONS_ERROR] = {"allocations_error", "+- allocs", TABLE_INTEGER, UNIT_COUNT, 3, "standard error of allocations"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 3,
		  "exact, or estimated from a sample; estimates together are cut to what was counted of the heap, where that is known"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 2, "heap, mmap, device:N, pinned, managed, a framework's"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "how many processes allocated from here"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 3, "pid; empty where there are several"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "innermost function that is not an allocator's own"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 3, "its source file, from debug information"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 3, "line in that file"},
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 2, "the program or library that holds it"},
	[STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 0,
		  "functions, innermost first; in csv joined by ';', outermost first"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* One call stack, over all processes. */
struct site {
	uint64_t identity;
	uint32_t process, stack, processes, allocator;
	bool is_estimated;
	bool is_leak_unknown; /* of some of them */
	struct heap_site sum;
	double variance_allocations, variance_bytes, variance_live, variance_peak;
};

struct sites {
	struct site *list;
	size_t count, room;
	struct base_index index;
};

static bool site_equal(const void *context, const void *key, uint32_t number)
{
	const struct site *have = &((const struct sites *)context)->list[number], *want = key;

	return have->identity == want->identity && have->allocator == want->allocator;
}

static struct site *site_of(struct sites *sites, struct frames *frames, size_t process, uint32_t stack, uint32_t allocator)
{
	struct site key = {.identity = frames_identity(frames, process, stack), .allocator = allocator,
			   .process = (uint32_t)process, .stack = stack};
	uint64_t hash = base_mix(key.identity + allocator);
	uint32_t number = base_index_find(&sites->index, hash, site_equal, sites, &key);

	if (number == UINT32_MAX) {
		number = (uint32_t)sites->count++;
		sites->list = base_grow(sites->list, &sites->room, sites->count, sizeof(*sites->list));
		sites->list[number] = key;
		base_index_add(&sites->index, hash, number);
	}
	if (!sites->list[number].processes || sites->list[number].process != process)
		sites->list[number].processes++;
	sites->list[number].process = (uint32_t)process;
	sites->list[number].stack = stack;
	return &sites->list[number];
}

static void site_add(struct site *site, const struct heap_site *one, const struct heap_error *error)
{
	site->sum.allocations += one->allocations;
	site->sum.requested_bytes += one->requested_bytes;
	site->sum.bytes += one->bytes;
	site->sum.temporary += one->temporary;
	site->sum.live_blocks += one->live_blocks;
	site->sum.live_bytes += one->live_bytes;
	site->sum.peak_blocks += one->peak_blocks;
	site->sum.peak_bytes += one->peak_bytes;
	if (!error)
		return;
	site->is_estimated = true;
	site->variance_allocations += error->allocations * error->allocations;
	site->variance_bytes += error->bytes * error->bytes;
	site->variance_live += error->live_bytes * error->live_bytes;
	site->variance_peak += error->peak_bytes * error->peak_bytes;
}

static void take_account(struct sites *sites, const struct request *request, size_t process, const struct account *account,
			 uint32_t allocator)
{
	for (size_t i = 0; i < account->site_count; i++) {
		struct site *site = site_of(sites, request->frames, process, account->sites[i].stack, allocator);
		site_add(site, &account->sites[i], account->errors ? &account->errors[i] : NULL);
		site->is_leak_unknown |= account->is_leak_unknown;
	}
}

static void put_errors(struct table *table, const struct site *site)
{
	table_integer(table, PEAK_ERROR, (int64_t)llround(sqrt(site->variance_peak)));
	table_integer(table, LEAKED_ERROR, (int64_t)llround(sqrt(site->variance_live)));
	table_integer(table, TOTAL_ERROR, (int64_t)llround(sqrt(site->variance_bytes)));
	table_integer(table, ALLOCATIONS_ERROR, (int64_t)llround(sqrt(site->variance_allocations)));
}

static void add_row(struct table *table, const struct request *request, const struct site *site, const char *const *allocators)
{
	table_row(table);
	table_integer(table, PEAK, (int64_t)site->sum.peak_bytes);
	table_integer(table, PEAK_BLOCKS, (int64_t)site->sum.peak_blocks);
	if (!site->is_leak_unknown) {
		table_integer(table, LEAKED, (int64_t)site->sum.live_bytes);
		table_integer(table, LEAKED_BLOCKS, (int64_t)site->sum.live_blocks);
	}
	table_integer(table, TOTAL, (int64_t)site->sum.bytes);
	table_integer(table, ALLOCATIONS, (int64_t)site->sum.allocations);
	table_integer(table, REQUESTED, (int64_t)site->sum.requested_bytes);
	if (site->is_estimated)
		put_errors(table, site);
	else
		table_integer(table, TEMPORARY, (int64_t)site->sum.temporary);
	table_string(table, KIND, site->is_estimated ? "estimated" : "exact");
	table_string(table, ALLOCATOR, allocators[site->allocator]);
	table_integer(table, PROCESSES, site->processes);
	if (site->processes == 1)
		table_process(table, PROCESS, MACHINE, &request->run->processes[site->process]);
	if (site->identity)
		table_stack(table, STACK, site->process, site->stack);
}

/* What is equal stays in order of the log: identities are numbers that depend on what was looked at before. */
static int by_peak(const void *a, const void *b, void *list)
{
	const struct site *x = (const struct site *)list + *(const uint32_t *)a, *y = (const struct site *)list + *(const uint32_t *)b;

	if (x->sum.peak_bytes != y->sum.peak_bytes)
		return x->sum.peak_bytes > y->sum.peak_bytes ? -1 : 1;
	if (x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The places of the `limit` first ones by peak, in order; where few are wanted of many the others are looked at once. */
static uint32_t *in_order(const struct sites *sites, size_t limit)
{
	uint32_t *places = base_alloc(sites->count + 1, sizeof *places), *last = NULL; /* of those that are in so far, once known */
	size_t kept = 0, room = limit < sites->count / 4 ? 2 * limit + 1 : SIZE_MAX;

	for (uint32_t place = 0; place < sites->count; place++) {
		if (last && by_peak(last, &place, sites->list) < 0)
			continue;
		places[kept++] = place;
		if (kept < room)
			continue;
		qsort_r(places, kept, sizeof *places, by_peak, sites->list);
		kept = limit;
		last = limit ? &places[limit - 1] : NULL;
	}
	qsort_r(places, kept, sizeof *places, by_peak, sites->list);
	return places;
}

static void note_processes(struct table *table, const struct request *request)
{
	size_t count = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		count += request_wants_process(request, &request->run->processes[i]);
	if (count > 1)
		table_note(table, NOTE_INFERRED,
			   "The sum of %zu processes: peak_bytes adds what each held at its own peak, which may be at different times.",
			   count);
}

/* Sizes are exact, stacks are not all there. */
static void note_chosen(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; k < process->account_count && request_wants_process(request, process); k++) {
			if (!process->accounts[k].has_chosen_stacks ||
			    !request_wants_allocator(request, process->accounts[k].allocator))
				continue;
			table_note(table, NOTE_MISSING,
				   "Of a framework's allocator each block is counted, but only some have their call stack "
				   "(TFPROF_MALLOC=sample: one each so many bytes; full: all); memory.peak tells the op of the others.");
			return;
		}
	}
}

/* What the program gets from the system or a device, not from what another allocator already holds. */
static bool is_lowest(const char *allocator)
{
	static const char *const names[] = {"heap", "mmap", "pinned", "registered", "managed", "imported"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(allocator, names[i]) == 0)
			return true;
	return strncmp(allocator, "device:", 7) == 0;
}

/* A sum over all rows, as graphs of call stacks draw it, has the same bytes twice. */
static void note_layers(struct table *table, const struct sites *sites, const char *const *allocators)
{
	const char *upper = NULL;
	bool has_lower = false;

	for (size_t i = 0; i < sites->count; i++) {
		const char *allocator = allocators[sites->list[i].allocator];
		has_lower |= is_lowest(allocator);
		upper = upper || is_lowest(allocator) ? upper : allocator;
	}
	if (upper && has_lower)
		table_note(table, NOTE_INFO,
			   "%s hands out what it took from the heap or a device, so that their rows have the same bytes again: a sum "
			   "over all rows counts them twice. --allocator=heap, or another one, takes one alone.",
			   upper);
}

static void fill(struct table *table, const struct request *request)
{
	size_t limit = request_row_limit(request, table->kind), allocator_count;
	struct sites sites = {0};
	const char **allocators;
	uint32_t *places;

	allocator_count = job_allocators(request, &allocators);

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t a = 0; a < allocator_count && request_wants_process(request, process); a++)
			if (process_account(process, allocators[a]))
				take_account(&sites, request, i, process_account(process, allocators[a]), (uint32_t)a);
	}
	places = in_order(&sites, limit);
	for (size_t i = 0; i < sites.count && i < limit; i++)
		add_row(table, request, &sites.list[places[i]], allocators);
	table->omitted_count = sites.count - table->row_count;
	note_layers(table, &sites, allocators);
	base_index_free(&sites.index);
	free(sites.list);
	free(places);
	free(allocators);
	notes_inherited(table, request);
	notes_below(table, request);
	notes_no_access(table, request);
	notes_apart(table, request);
	notes_recording(table, request);
	notes_lost_blocks(table, request);
	notes_forgotten_blocks(table, request);
	if (request_wants_allocator(request, "heap"))
		notes_sampling(table, request);
	note_chosen(table, request);
	note_processes(table, request);
}

static void name_row(struct table *table, size_t row)
{
	cause_cells_name(table, row, &(const struct cause_cells){STACK, FUNCTION, FILE_NAME, LINE, MODULE});
}

const struct table_kind table_memory_sites = {
	.id = "memory.sites",
	.title = "Memory by call stack",
	.help = "Where the memory came from: at the peak, leaked (still live at the end), in all, and temporary blocks.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.text_rows = 15,
	.needs_scan = true,
	.fill = fill,
	.name_row = name_row,
};
