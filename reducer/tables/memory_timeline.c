/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.timeline: live memory over time.
 *
 * Rule: at most --points rows for an allocator; each stretch of time gives the moment of its highest value and its last
 * one, so a peak never disappears.
 */
#include "reducer/tables/job.h"
#include "reducer/tables/notes.h"

#include <stdlib.h>

enum { TIME, ALLOCATOR, LIVE, RESERVED, FREE_BYTES, FRAGMENTATION, COLUMNS };

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0, "heap, mmap, device:N, pinned, managed, a framework's"},
	[LIVE] = {"live_bytes", "live", TABLE_INTEGER, UNIT_BYTES, 0, "usable bytes allocated and not freed; mmap: bytes mapped"},
	[RESERVED] = {"reserved_bytes", "reserved", TABLE_INTEGER, UNIT_BYTES, 0,
		      "what the allocator holds from the system; empty where it cannot be known"},
	[FREE_BYTES] = {"free_bytes", "free", TABLE_INTEGER, UNIT_BYTES, 0, "reserved but not live; empty where it cannot be known"},
	[FRAGMENTATION] = {"fragmentation", "fragm.", TABLE_REAL, UNIT_RATIO, 0,
			   "1 - largest free block / free bytes; empty where it cannot be known"},
};

/* What the allocators of one row are, and what they held from below; both by time. */
struct curves {
	const char *allocator;
	const struct timeline *live;
	const struct timeline *reserved; /* NULL = unknown */
	int64_t end_ns;
};

/* The value of a curve at a time; false before it begins. */
static bool value_at(const struct timeline *curve, int64_t time_ns, uint64_t *value)
{
	size_t low = 0, high = curve->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (curve->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*value = time_ns >= curve->points[low - 1].max_time_ns ? curve->points[low - 1].live : curve->points[low - 1].max;
	if (time_ns == curve->points[low - 1].max_time_ns)
		*value = curve->points[low - 1].max;
	return true;
}

static void add_point(struct table *table, const struct request *request, const struct curves *curves, int64_t time_ns, uint64_t live)
{
	uint64_t reserved;

	if (time_ns < request->from_ns || time_ns > request->to_ns)
		return;
	table_row(table);
	table_integer(table, TIME, time_ns);
	table_string(table, ALLOCATOR, curves->allocator);
	table_integer(table, LIVE, (int64_t)live);
	if (!curves->reserved || !value_at(curves->reserved, time_ns, &reserved) || reserved < live)
		return;
	table_integer(table, RESERVED, (int64_t)reserved);
	table_integer(table, FREE_BYTES, (int64_t)(reserved - live));
}

static void add_curve(struct table *table, const struct request *request, const struct curves *curves)
{
	struct timeline reduced = {0};

	if (timeline_reduce(curves->live, request->points < 6 ? 2 : request->points / 2 - 1, &reduced) != 0)
		base_die("out of memory");
	for (size_t i = 0; i < reduced.count; i++) {
		const struct timeline_point *point = &reduced.points[i];
		int64_t end = i + 1 < reduced.count ? reduced.points[i + 1].time_ns - 1 : curves->end_ns;
		add_point(table, request, curves, point->max_time_ns, point->max);
		if (end > point->max_time_ns && (point->live != point->max || i + 1 == reduced.count))
			add_point(table, request, curves, end, point->live);
	}
	timeline_free(&reduced);
}

/* What one process's allocator held; NULL where several processes are summed, or it is not known. */
static const struct timeline *reserved_of(const struct request *request, const char *allocator)
{
	const struct timeline *only = NULL;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct account *account = request_wants_process(request, &request->run->processes[i])
							? job_account(&request->run->processes[i], allocator)
							: NULL;
		if (!account || account->kind == ACCOUNT_NONE)
			continue;
		if (only)
			return NULL;
		only = &account->reserved;
	}
	return only && only->count ? only : NULL;
}

static void add_allocator(struct table *table, const struct request *request, const char *allocator)
{
	struct job_curve curve = job_curve(request, allocator);
	struct curves curves = {allocator, &curve.timeline, curve.count == 1 ? reserved_of(request, allocator) : NULL, curve.end_ns};

	if (curve.count)
		add_curve(table, request, &curves);
	if (curve.count > 1)
		table_note(table, NOTE_INFERRED,
			   "%s: the sum of %zu processes; where several change at once a point is at most the sum of their highest values.",
			   allocator, curve.count);
	if (curve.unknown && curve.count)
		table_note(table, NOTE_MISSING,
			   "%s: %zu " BY_COUNT("process without a curve is", "processes without a curve are") " not in "
			   "it.", allocator, curve.unknown);
	job_curve_free(&curve);
}

static void note_batched(struct table *table, const struct request *request, const struct process *process)
{
	if (process->heap.kind == ACCOUNT_EVENTS && notes_is_lossy(request))
		table_note(table, NOTE_MISSING,
			   "heap: events were lost (-t losses): blocks of which these told are in no point, so that more may have been "
			   "live than the curve shows; memory.summary has the peak and what was live at the end.");
	else if (process->heap.kind == ACCOUNT_EVENTS)
		table_note(table, NOTE_INFERRED,
			   "heap: inside a window live bytes are at most this: releases of blocks from before it have no known size; "
			   "its edges are exact to 64 KiB a thread.");
	else
		table_note(table, NOTE_INFERRED,
			   "heap: between points live bytes may have been up to 64 KiB a thread higher; TFPROF_MALLOC=full gives "
			   "every value.");
}

static void fill(struct table *table, const struct request *request)
{
	const char **names;
	size_t count = job_allocators(request, &names);

	for (size_t i = 0; i < count; i++)
		add_allocator(table, request, names[i]);
	free(names);
	table_note(table, NOTE_MISSING,
		   "reserved_bytes, free_bytes and fragmentation are empty for heap and mmap: libc does not tell them without stopping "
		   "the program; elsewhere where the allocator did not tell.");
	notes_inherited(table, request);
	notes_below(table, request);
	notes_no_access(table, request);
	notes_apart(table, request);
	notes_recording(table, request);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) && table->row_count &&
		    process_has_heap(&request->run->processes[i]) && request->run->processes[i].heap.is_peak_batched) {
			note_batched(table, request, &request->run->processes[i]);
			break;
		}
}

const struct table_kind table_memory_timeline = {
	.id = "memory.timeline",
	.title = "Live memory over time",
	.help = "The curve of live bytes, thinned to --points; no peak is left out.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_ALLOCATOR | FILTER_POINTS,
	.text_rows = 100, /* --points is smaller */
	.needs_scan = true,
	.fill = fill,
};
