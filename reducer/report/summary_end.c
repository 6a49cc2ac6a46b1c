/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's lines about how a run came to its end: memory that ran out (processes killed for it, allocations that failed), steps that
 * stopped long before, a process that fell.
 *
 * Rule: they stand first, behind the line that says how the run ended; a run that ended well has none.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/causes.h"
#include "reducer/report/human.h"
#include "reducer/tables/device_room.h"
#include "reducer/tables/memory_end.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define LINES 3 /* of a sentence */
#define ASKERS_MOST 32 /* of allocations that failed, looked at for a line of the program's own */
#define WRONG_LINES 7 /* of those about a device's work that failed and steps that stopped, which name places */

/* Of a function that several call stacks which held memory begin with: its callers tell them apart. */
static void put_callers(struct text *sentence, struct summary *summary, const struct cause *cause)
{
	const char *start = cause->callers.length ? strstr(cause->callers.bytes, " < __libc_start") : NULL;

	if (summary->is_out && !cause->script.length && cause->callers.length && causes_has_namesake(summary_causes(summary), cause))
		text_format(sentence, " %.*s", (int)(start ? (size_t)(start - cause->callers.bytes) : cause->callers.length),
			    cause->callers.bytes);
}

static void read_asker(struct cause *cause, struct summary *summary, const struct refused *refused)
{
	struct frames *frames = summary->request->frames;

	frames_want(frames, summary->out.process, refused->stack);
	frames_resolve(frames);
	cause_read(frames, (uint64_t)summary->out.process << 32 | refused->stack, cause);
}

/*
 * Where the last one came of no line of the program's own, the last that did: an interpreter that shuts down after its exception asks
 * for more in vain.
 */
static void put_last_of_script(struct text *sentence, struct summary *summary)
{
	const struct memory_out *out = &summary->out;
	const struct refused_rows *rows = &summary->request->run->processes[out->process].refused;
	uint32_t asked[ASKERS_MOST] = {out->last->stack};
	size_t count = 1;

	for (size_t i = rows->count; i-- > 0 && count < ASKERS_MOST;) {
		const struct refused *refused = &rows->list[i];
		struct cause cause = {0};
		size_t k = 0;
		while (k < count && asked[k] != refused->stack)
			k++;
		if (!refused->stack || k < count)
			continue;
		asked[count++] = refused->stack;
		read_asker(&cause, summary, refused);
		if (cause.script.length) {
			text_string(sentence, ", the last of a line of the program's own at ");
			human_ns(sentence, refused->time_ns);
			text_format(sentence, " in %s", cause.script.bytes);
			count = ASKERS_MOST;
		}
		cause_free(&cause);
	}
}

/* "in f (train.py:12)", else the native function that asked. */
static void put_asker(struct text *sentence, struct summary *summary)
{
	const struct memory_out *out = &summary->out;
	struct cause cause = {0};

	if (!out->last->stack)
		return;
	read_asker(&cause, summary, out->last);
	if (cause.script.length)
		text_format(sentence, " in %s", cause.script.bytes);
	else if (cause.name.length)
		text_format(sentence, " by %s", cause.name.bytes);
	put_callers(sentence, summary, &cause);
	if (!cause.script.length)
		put_last_of_script(sentence, summary);
	cause_free(&cause);
}

/* Of a device others use, too, its size and what was taken of it say more than what this process had. */
static void put_room(struct summary *summary)
{
	const struct memory_out *out = &summary->out;
	struct text room = {0};

	device_room_put(&room, summary->request, out->process, out->last);
	if (room.length)
		summary_sentence(summary, "  ", room.bytes, LINES);
	text_clear(&room);
	memory_out_say(&room, out);
	if (room.length)
		summary_sentence(summary, "  ", room.bytes, LINES);
	text_free(&room);
}

static void put_failures(struct summary *summary)
{
	const struct run *run = summary->request->run;
	const struct memory_out *out = &summary->out;
	struct text sentence = {0};

	if (!out->last)
		return;
	text_format(&sentence, "%" PRIu64 " allocation%s failed for want of memory, the last ", out->told, out->told == 1 ? "" : "s");
	if (run->process_count > 1)
		text_format(&sentence, "in process %s ", run->processes[out->process].called);
	text_string(&sentence, "at ");
	human_ns(&sentence, out->last->time_ns);
	if (out->last->requested_bytes <= INT64_MAX) {
		text_string(&sentence, " of ");
		text_size(&sentence, (int64_t)out->last->requested_bytes);
	}
	if (strcmp(out->last->allocator, "heap") != 0 && strcmp(out->last->allocator, "mmap") != 0)
		text_format(&sentence, " on %s", out->last->allocator);
	put_asker(&sentence, summary);
	memory_out_put_place(&sentence, summary->request, out);
	text_string(&sentence, " (-t memory.refused).");
	summary_sentence(summary, "  ", sentence.bytes, LINES);
	text_free(&sentence);
	put_room(summary);
}

/* Of the heap that was largest: whether it grew all along or at the end. */
static void put_onset(struct text *sentence, const struct request *request)
{
	const struct account *heap = NULL;
	const char *whose = NULL;
	int64_t half_ns = TIME_UNKNOWN;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (request_wants_process(request, process) && process->heap.peak_time_ns != TIME_UNKNOWN &&
		    !process->heap.is_live_unknown && (!heap || process->heap.peak_bytes > heap->peak_bytes)) {
			heap = &process->heap;
			whose = process->called;
		}
	}
	for (size_t i = 0; heap && i < heap->timeline.count && heap->timeline.points[i].time_ns <= heap->peak_time_ns; i++) {
		const struct timeline_point *point = &heap->timeline.points[i];
		if (point->live < heap->peak_bytes / 2)
			half_ns = TIME_UNKNOWN;
		else if (half_ns == TIME_UNKNOWN)
			half_ns = point->time_ns;
	}
	if (half_ns == TIME_UNKNOWN)
		return;
	if (request->run->process_count > 1)
		text_format(sentence, " Half of the peak of process %s's heap, the largest, was reached at ", whose);
	else
		text_string(sentence, " Half of the heap's peak was reached at ");
	human_ns(sentence, half_ns);
	text_string(sentence, ", all of it at ");
	human_ns(sentence, heap->peak_time_ns);
	text_string(sentence, " (-t memory.timeline).");
}

/* Whose it was that left no room: the last to ask is often not the one that had most. */
static void put_holder(struct summary *summary)
{
	const struct cause *most = summary_holder(summary);
	bool are_many = summary->request->run->process_count > 1;
	struct text sentence = {0};

	if (!most)
		return;
	text_format(&sentence, "Most at the %s, %s", are_many ? "processes' own peaks" : "peak",
		    summary->causes.is_estimated && !most->is_mapped ? "some " : "");
	text_size(&sentence, most->peak_bytes);
	text_format(&sentence, "%s%s", most->is_mapped ? " mapped" : "", are_many ? " in all" : "");
	if (most->script.length)
		text_format(&sentence, ", came from %s", most->script.bytes);
	else
		text_format(&sentence, ", came from %s%s%s%s", most->name.bytes, most->place.length ? " [" : "",
			    most->place.length ? most->place.bytes : "", most->place.length ? "]" : "");
	put_callers(&sentence, summary, most);
	text_string(&sentence, " (-t memory.sites).");
	if (most->is_heap)
		put_onset(&sentence, summary->request);
	summary_sentence(summary, "  ", sentence.bytes, LINES);
	text_free(&sentence);
}

void summary_find_end(struct summary *summary)
{
	const struct refused *last;
	struct table *table = table_make(&table_processes);

	summary->out = memory_out_find(summary->request);
	last = summary->out.last;
	memory_end_note(table, summary->request);
	summary->is_out = table->note_count > 0 || summary->out.is_end; /* one that went on with less memory has ended well */
	if (summary->out.is_end && strcmp(last->allocator, "heap") != 0 && strcmp(last->allocator, "mmap") != 0) /* they share one room */
		summary->out_allocator = last->allocator;
	table_free(table);
}

/*
 * A process of the run that did not end as it should. SIGKILL and the status of a rank count where the program failed, too: what ended
 * well has ended such workers itself, and a helper's status may be an answer. SIGTERM is what is left to do once something has failed.
 */
static bool has_fallen(const struct process *process, bool is_main_failed)
{
	if (process_has_crashed(process))
		return true;
	if (!is_main_failed || !process_has_failed(process))
		return false;
	return process->end == END_SIGNAL ? process->end_status == SIGKILL : process->end != END_UNKNOWN && process->is_of_rank;
}

/* Of several the first: the others may have waited for it. */
static void find_fallen(struct summary *summary)
{
	const struct run *run = summary->request->run;
	const struct process *main = run->process_count ? run_main(run) : NULL, *first = NULL;
	bool is_main_failed = main && process_has_failed(main);
	uint64_t count = 0;
	char end[160];

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (process == main || !request_wants_process(summary->request, process) || !has_fallen(process, is_main_failed))
			continue;
		count++;
		if (!first || process->end_ns < first->end_ns)
			first = process;
	}
	if (!first)
		return;
	text_format(&summary->fallen, "Process %s ", first->called);
	text_format(&summary->fallen, first->end == END_SIGNAL ? "was %s" : first->end == END_ABORT ? "ended by %s" : "ended with %s",
		    process_end_text(first, end, sizeof end));
	text_string(&summary->fallen, ", its last record at ");
	human_ns(&summary->fallen, first->end_ns);
	if (count > 1)
		text_format(&summary->fallen, ", the first of %" PRIu64 " that ended so", count);
	text_string(&summary->fallen, " (-t processes).");
	summary->fallen_lines = (unsigned)summary_measure(summary, "  ", summary->fallen.bytes, LINES);
}

/* The sentence of that area of the verdict, if there is one. Returns the lines that it takes. */
static unsigned measure_area(struct summary *summary, const char *name, struct text *sentence)
{
	struct text area = {0};
	unsigned lines = 0;

	for (size_t row = 0; row < summary->verdict->shown_count; row++)
		if (strcmp(summary_text(&area, summary->verdict, row, "area"), name) == 0)
			lines = (unsigned)summary_measure(summary, "  ", summary_text(sentence, summary->verdict, row, "sentence"),
							  WRONG_LINES);
	text_free(&area);
	return lines;
}

void summary_measure_wrong(struct summary *summary)
{
	summary->fault_lines = measure_area(summary, "fault", &summary->fault);
	summary->standstill_lines = measure_area(summary, "standstill", &summary->standstill);
	find_fallen(summary);
}

static void put_memory_end(struct summary *summary, void (*note)(struct table *table, const struct request *request))
{
	struct table *table = table_make(&table_processes);

	note(table, summary->request);
	for (size_t i = 0; i < table->note_count; i++)
		summary_sentence(summary, "  ", table->notes[i].text, LINES);
	table_free(table);
}

void summary_put_end(struct summary *summary)
{
	if (summary->fault_lines)
		summary_sentence(summary, "  ", summary->fault.bytes, WRONG_LINES);
	put_memory_end(summary, memory_end_note);
	if (summary->fallen_lines)
		summary_sentence(summary, "  ", summary->fallen.bytes, LINES);
	put_failures(summary);
	put_holder(summary);
	if (summary->standstill_lines)
		summary_sentence(summary, "  ", summary->standstill.bytes, WRONG_LINES);
	put_memory_end(summary, memory_end_note_other);
}
