/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs analyses over a run; see reducer/analysis/analysis.h.
 *
 * Rule: one pass a process, whatever the number of analyses; knows none by name but through analysis.def.
 */
#include "reducer/analysis/analysis.h"

#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/phases.h"

#include <stdlib.h>

#define MERGED_AT_ONCE 32 /* processes; of more the two halves */

#define ANALYSIS(symbol) &analysis_##symbol,
const struct analysis_kind *const analysis_kinds[] = {
#include "reducer/analysis/analysis.def"
};
#undef ANALYSIS
const size_t analysis_kind_count = sizeof(analysis_kinds) / sizeof(analysis_kinds[0]);

struct analyses {
	struct run *run;
	const struct analysis_options *options;
	struct analysis_input *inputs; /* by process; run NULL = not wanted */
	struct entry {
		const struct analysis_kind *kind;
		void **results; /* by process; NULL = not wanted */
		void *whole;	/* NULL = not made yet */
	} * entries;
	size_t count, room;
};

/* Over one process, for the entries from `first` on. */
struct pass {
	const struct analyses *all;
	size_t first, process;
	struct listener {
		void (*span)(void *result, const struct span *span);
		void *result;
		bool is_of_all_times, is_of_all_places;
	} * listeners; /* those of one kind of span stand together, in the order of the entries */
	size_t begins[SPAN_WHATS + 1];
};

/* Nobody asked for a part of the time or of the places. */
static int show_all(void *context, const struct span *span)
{
	const struct pass *pass = context;
	const struct listener *end = &pass->listeners[pass->begins[span->what + 1]];

	for (const struct listener *listener = &pass->listeners[pass->begins[span->what]]; listener < end; listener++)
		listener->span(listener->result, span);
	return 0;
}

/* Likewise, for one analysis after the other: they know nothing of each other. */
static int show_again(void *context, const struct span_again *spans, size_t count)
{
	const struct pass *pass = context;

	for (size_t k = pass->first; k < pass->all->count; k++) {
		const struct entry *entry = &pass->all->entries[k];
		void *result = entry->results[pass->process];
		if (!(entry->kind->wants & (SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_KERNEL))))
			continue;
		if (entry->kind->again) {
			entry->kind->again(result, spans, count);
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			struct span span;
			if (!(entry->kind->wants & SPAN_BIT(spans[i].like->what)))
				continue;
			span_again_fill(&spans[i], &span);
			entry->kind->span(result, &span);
		}
	}
	return 0;
}

static int show(void *context, const struct span *span)
{
	const struct pass *pass = context;
	const struct analysis_options *options = pass->all->options;
	bool is_right_time = !options->wants_time || options->wants_time(options->context, span);
	bool is_right_place = !options->wants_place || options->wants_place(options->context, span);

	for (size_t k = pass->begins[span->what]; k < pass->begins[span->what + 1]; k++) {
		const struct listener *listener = &pass->listeners[k];
		if ((is_right_time || listener->is_of_all_times) && (is_right_place || listener->is_of_all_places))
			listener->span(listener->result, span);
	}
	return 0;
}

static void find_listeners(struct pass *pass)
{
	const struct analyses *all = pass->all;
	size_t count = 0;

	pass->listeners = base_alloc((all->count - pass->first) * SPAN_WHATS + 1, sizeof(*pass->listeners));
	for (unsigned what = 0; what < SPAN_WHATS; what++) {
		pass->begins[what] = count;
		for (size_t k = pass->first; k < all->count; k++) {
			const struct entry *entry = &all->entries[k];
			if (entry->kind->wants & SPAN_BIT(what))
				pass->listeners[count++] = (struct listener){entry->kind->span, entry->results[pass->process],
									     entry->kind->is_of_all_times,
									     entry->kind->is_of_all_places};
		}
	}
	pass->begins[SPAN_WHATS] = count;
}

static uint8_t phase_of(void *context, const char *name, unsigned source, unsigned scope)
{
	const struct pass *pass = context;

	enum phase phase = phases_of(pass->all->options->phases, name, source, scope);

	return (uint8_t)(phase == PHASE_NONE && input_is_named(name) ? PHASE_INPUT : phase);
}

static void run_process(void *context, size_t process)
{
	const struct pass *wanted = context;
	const struct analyses *all = wanted->all;
	size_t first = wanted->first;
	struct pass pass = {.all = all, .first = first, .process = process};
	bool is_part = all->options->wants_time || all->options->wants_place;
	struct span_options spans = {.visit = is_part ? show : show_all,
				     .visit_again = is_part ? NULL : show_again,
				     .phase_of = phase_of,
				     .is_without_arguments = 1,
				     .context = &pass};

	if (!all->inputs[process].run)
		return;
	for (size_t k = first; k < all->count; k++) {
		all->entries[k].results[process] = all->entries[k].kind->begin(&all->inputs[process]);
		spans.wants |= all->entries[k].kind->wants;
	}
	find_listeners(&pass);
	if (spans.wants && spans_stream(all->run, process, &spans) != 0)
		base_die("out of memory while reading the logs");
	free(pass.listeners);
	for (size_t k = first; k < all->count; k++)
		if (all->entries[k].kind->end)
			all->entries[k].kind->end(all->entries[k].results[process]);
}

static size_t place_of(const struct analyses *all, const struct analysis_kind *kind)
{
	size_t place = 0;

	while (place < all->count && all->entries[place].kind != kind)
		place++;
	return place;
}

struct analyses *analyses_open(struct run *run, const struct analysis_options *options,
			       bool (*wants_process)(const void *context, const struct process *process), const void *context)
{
	struct analyses *all = base_alloc(1, sizeof(*all));

	all->run = run;
	all->options = options;
	all->inputs = base_alloc(run->process_count + 1, sizeof(*all->inputs));
	for (size_t p = 0; p < run->process_count; p++)
		if (!wants_process || wants_process(context, &run->processes[p]))
			all->inputs[p] = (struct analysis_input){
				.run = run, .process = &run->processes[p], .index = p, .options = options};
	return all;
}

void analyses_add(struct analyses *all, const struct analysis_kind *const *kinds, size_t count)
{
	size_t first = all->count;

	for (size_t k = 0; k < count; k++) {
		if (place_of(all, kinds[k]) != all->count)
			continue;
		all->entries = base_grow(all->entries, &all->room, all->count + 1, sizeof(*all->entries));
		all->entries[all->count++] =
			(struct entry){.kind = kinds[k], .results = base_alloc(all->run->process_count + 1, sizeof(void *))};
	}
	if (all->count > first)
		run_each(all->run, run_process, &(struct pass){.all = all, .first = first});
}

void analyses_free(struct analyses *all)
{
	if (!all)
		return;
	for (size_t k = 0; k < all->count; k++) {
		for (size_t p = 0; p < all->run->process_count; p++)
			if (all->entries[k].results[p])
				all->entries[k].kind->free(all->entries[k].results[p]);
		if (all->entries[k].whole)
			all->entries[k].kind->free(all->entries[k].whole);
		free(all->entries[k].results);
	}
	free(all->entries);
	free(all->inputs);
	free(all);
}

static struct entry *entry_of(struct analyses *all, const struct analysis_kind *kind)
{
	analyses_add(all, &kind, 1);
	return &all->entries[place_of(all, kind)];
}

const void *analyses_process(struct analyses *all, const struct analysis_kind *kind, size_t process)
{
	return !all ? NULL : entry_of(all, kind)->results[process];
}

/* The wanted processes' results: how many there are, and one of them. */
static size_t count_results(const struct analyses *all, const struct entry *entry, void **one)
{
	size_t count = 0;

	for (size_t p = 0; p < all->run->process_count; p++)
		if (entry->results[p]) {
			*one = entry->results[p];
			count++;
		}
	return count;
}

/* Halves are merged with each other: what grew with each process would be looked through for each, thousands of times for as many ranks. */
static void *merge_processes(const struct analyses *all, const struct entry *entry, size_t from, size_t to)
{
	size_t middle = from + (to - from) / 2;
	void *whole, *half;

	if (to - from > MERGED_AT_ONCE) {
		whole = merge_processes(all, entry, from, middle);
		half = merge_processes(all, entry, middle, to);
		entry->kind->merge(whole, half);
		entry->kind->free(half);
		return whole;
	}
	whole = entry->kind->begin(NULL);
	for (size_t p = from; p < to; p++)
		if (entry->results[p])
			entry->kind->merge(whole, entry->results[p]);
	return whole;
}

const void *analyses_whole(struct analyses *all, const struct analysis_kind *kind)
{
	struct entry *entry = all ? entry_of(all, kind) : NULL;
	void *one = NULL;

	if (!entry)
		return NULL;
	/* A copy of the only one would say the same (analysis_merge_test), and of long runs it is the larger part of our memory. */
	if (count_results(all, entry, &one) < 2 || entry->whole)
		return entry->whole ? entry->whole : one;
	entry->whole = merge_processes(all, entry, 0, all->run->process_count);
	return entry->whole;
}
