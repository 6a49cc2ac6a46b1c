/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which time counts for a process's loading; see reducer/analysis/loading.h.
 *
 * Rule: a last step without an end counts for nothing; of several threads that mark steps the one with most steps counts; a
 * worker looks up to the nearest process with steps.
 */
#include "reducer/analysis/loading_pass.h"

#include <stdlib.h>
#include <string.h>

static bool has_steps(const struct process *process)
{
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen)
			return true;
	return false;
}

/* The thread of most units; those are next to each other. */
static uint32_t busiest_thread(const struct units *units)
{
	size_t best = 0;
	uint32_t found = 0;

	for (size_t i = 0, from = 0; i < units->count; i++) {
		if (units->items[i].thread != units->items[from].thread)
			from = i;
		if (i - from + 1 > best) {
			best = i - from + 1;
			found = units->items[i].thread;
		}
	}
	return found;
}

static void take_steps(struct loading_pass *pass)
{
	units_make(&pass->units, pass->input);
	pass->step_thread = busiest_thread(&pass->units);
	pass->from_ns = INT64_MAX;
	pass->to_ns = INT64_MIN;
	for (size_t i = 0; i < pass->units.count; i++) {
		const struct unit *unit = &pass->units.items[i];
		pass->from_ns = unit->start_ns < pass->from_ns ? unit->start_ns : pass->from_ns;
		int64_t end = unit->is_cut && pass->units.count > 1 ? unit->start_ns : unit->end_ns;
		pass->to_ns = end > pass->to_ns ? end : pass->to_ns;
	}
}

/* From the first step of a process above to the end of the last one. */
static void look_up(struct loading_pass *pass)
{
	const struct run *run = pass->input->run;
	size_t above = pass->input->process->parent;

	for (size_t depth = 0; above < run->process_count && depth < 64; depth++, above = run->processes[above].parent) {
		const struct process *process = &run->processes[above];
		if (!has_steps(process))
			continue;
		pass->is_below = true;
		pass->from_ns = INT64_MAX;
		pass->to_ns = INT64_MIN;
		for (size_t i = 0; i < process->step_count; i++) {
			const struct step *step = &process->steps[i];
			int64_t end = step->end_ns != TIME_UNKNOWN ? step->end_ns : step->time_ns;
			if (!step->is_chosen)
				continue;
			pass->from_ns = step->time_ns < pass->from_ns ? step->time_ns : pass->from_ns;
			pass->to_ns = end > pass->to_ns ? end : pass->to_ns;
		}
		return;
	}
}

static int compare_times(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return one < other ? -1 : one > other;
}

/* When the processes below this one began and ended. */
static void take_below(struct loading_pass *pass)
{
	const struct run *run = pass->input->run;

	pass->starts = base_alloc(run->process_count + 1, sizeof(*pass->starts));
	pass->ends = base_alloc(run->process_count + 1, sizeof(*pass->ends));
	for (size_t p = 0; p < run->process_count; p++) {
		size_t above = run->processes[p].parent;
		for (size_t depth = 0; above < run->process_count && above != pass->input->index && depth < 64; depth++)
			above = run->processes[above].parent;
		if (above != pass->input->index)
			continue;
		pass->ends[pass->start_count] = run->processes[p].end_ns;
		pass->starts[pass->start_count++] = run->processes[p].start_ns;
	}
	qsort(pass->starts, pass->start_count, sizeof(*pass->starts), compare_times);
	qsort(pass->ends, pass->start_count, sizeof(*pass->ends), compare_times);
}

void loading_frame(struct loading_pass *pass, const struct analysis_input *input)
{
	const struct process *process = input->process;

	pass->from_ns = INT64_MIN;
	pass->to_ns = INT64_MAX;
	pass->batch_ns = pass->last_ns = pass->index_ns = pass->known_ns = TIME_UNKNOWN;
	pass->has_iterators = process->iterator_count > 0;
	pass->loops = input_loops_of(process);
	pass->has_steps = has_steps(process);
	for (size_t t = 0; t < process->thread_count; t++)
		if (!pass->first_thread || process->threads[t].serial < pass->first_thread)
			pass->first_thread = process->threads[t].serial;
	if (pass->has_steps) {
		take_steps(pass);
		take_below(pass);
	} else {
		look_up(pass);
	}
}

uint64_t loading_window(const struct loading_pass *pass)
{
	if (!pass->has_steps && !pass->is_below)
		return 0;
	return pass->to_ns > pass->from_ns ? (uint64_t)(pass->to_ns - pass->from_ns) : 0;
}

int64_t loading_marked(const struct loading_pass *pass, int64_t time_ns)
{
	const struct unit *items = pass->units.items;
	size_t low = 0, high = pass->units.count;

	while (low < high) { /* units of the thread: by thread, then start */
		size_t middle = low + (high - low) / 2;
		if (items[middle].thread < pass->step_thread ||
		    (items[middle].thread == pass->step_thread && items[middle].start_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || items[low - 1].thread != pass->step_thread || time_ns >= items[low - 1].end_ns)
		return TIME_UNKNOWN;
	return items[low - 1].marked_ns;
}

bool loading_gets_indexes(const struct loading_pass *pass)
{
	const struct process *process = pass->input->process;

	/* Python's own helper reads a pipe as well, and makes nothing. */
	for (size_t i = 0; i < process->argument_count; i++)
		if (strstr(process->arguments[i], "resource_tracker"))
			return false;
	return pass->indexes > 1;
}

uint64_t loading_processor_ns(const struct loading_pass *pass)
{
	const struct process *process = pass->input->process;
	const struct use_sample *first = NULL, *last = NULL;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_PROCESS || !sample->has_use || sample->time_ns > pass->known_ns)
			continue;
		if (!first || sample->time_ns <= pass->index_ns)
			first = sample;
		last = sample;
	}
	return last ? last->user_ns + last->system_ns - first->user_ns - first->system_ns : 0;
}

void loading_pass_free(struct loading_pass *pass)
{
	units_free(&pass->units);
	words_free(&pass->words);
	free(pass->names);
	free(pass->pending);
	free(pass->starts);
	free(pass->ends);
	free(pass);
}
