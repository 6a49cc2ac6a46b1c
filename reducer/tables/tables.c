/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing analyses by name, and what all of them are asked for.
 *
 * Rule: knows no analysis by name but through tables.def.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/request.h"

#include "reducer/base/index.h"
#include "reducer/model/gpu.h"
#include "reducer/model/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE(symbol) &table_##symbol,
const struct table_kind *const table_kinds[] = {
#include "reducer/tables/tables.def"
};
#undef TABLE
const size_t table_kind_count = sizeof(table_kinds) / sizeof(table_kinds[0]);

static bool word_names(const char *word, size_t length, const struct table_kind *kind)
{
	const char *id = kind->id;

	if (length == 3 && memcmp(word, "all", 3) == 0)
		return !kind->needs_base && !kind->needs_limits;
	return strncmp(word, id, length) == 0 && (id[length] == 0 || id[length] == '.');
}

static _Noreturn void unknown_table(const char *word, size_t length)
{
	char *name = base_copy(word, length);
	struct base_nearest nearest = base_nearest_start(name);

	for (size_t i = 0; i < table_kind_count; i++) {
		char view[64];
		snprintf(view, sizeof(view), "%.*s", (int)strcspn(table_kinds[i]->id, "."), table_kinds[i]->id);
		base_nearest_offer(&nearest, table_kinds[i]->id);
		if (strcmp(view, name) == 0)
			base_nearest_offer(&nearest, view);
	}
	if (nearest.best)
		base_die("no table is called '%s'; did you mean '%s'? --list shows all", name, nearest.best);
	base_die("no table is called '%s'; --list shows all", name);
}

size_t tables_select(const char *words, const struct table_kind ***kinds)
{
	bool *is_named = base_alloc(table_kind_count, sizeof(*is_named));
	size_t count = 0;

	while (*words) {
		size_t length = strcspn(words, ",");
		bool any = !length;
		for (size_t i = 0; i < table_kind_count && length; i++)
			if (word_names(words, length, table_kinds[i]))
				any = is_named[i] = true;
		if (!any)
			unknown_table(words, length);
		words += length + (words[length] == ',');
	}
	*kinds = base_alloc(table_kind_count, sizeof(**kinds));
	for (size_t i = 0; i < table_kind_count; i++)
		if (is_named[i])
			(*kinds)[count++] = table_kinds[i];
	free(is_named);
	if (!count)
		base_die("-t names no table; --list shows all");
	return count;
}

static bool is_number(const char *text, uint64_t number)
{
	char *end;

	return strtoull(text, &end, 10) == number && end != text && !*end;
}

static bool is_process(const struct request *request, const struct process *process)
{
	return !request->process || is_number(request->process, process->pid) || strcmp(request->process, process->command) == 0;
}

static bool is_host(const struct request *request, const struct process *process)
{
	return !request->host || strcmp(request->host, process_host(process)) == 0;
}

static bool is_rank(const struct request *request, const struct process *process)
{
	uint64_t rank;

	return !request->rank || (process_rank(process, &rank) == 0 && is_number(request->rank, rank));
}

bool request_wants_process(const struct request *request, const struct process *process)
{
	return is_process(request, process) && is_host(request, process) && is_rank(request, process);
}

bool request_wants_thread(const struct request *request, const struct thread *thread)
{
	return !request->thread || is_number(request->thread, thread->tid) || strcmp(request->thread, thread->name) == 0;
}

/* Of a thread that the log does not list, as it called nothing that is hooked, there may be looks. */
static bool has_looks_of(const struct request *request, const struct process *process)
{
	uint32_t last = 0;
	bool is_any = false;

	for (size_t i = 0; i < process->native.look_count && !is_any; i++) {
		const struct thread thread = {.tid = process->native.looks[i].thread};
		is_any = thread.tid != last && request_wants_thread(request, &thread);
		last = thread.tid;
	}
	return is_any;
}

const char *request_names_nobody(const struct request *request)
{
	static const struct {
		const char *option;
		bool (*is_it)(const struct request *request, const struct process *process);
	} choices[] = {{"--process", is_process}, {"--host", is_host}, {"--rank", is_rank}};
	const char *option = NULL;

	/* The first that nobody answers to; where each alone has somebody, the last that was given: together they have nobody. */
	for (size_t c = 0; c < sizeof(choices) / sizeof(choices[0]); c++) {
		size_t count = 0;
		for (size_t i = 0; i < request->run->process_count; i++)
			count += choices[c].is_it(request, &request->run->processes[i]);
		if (!count)
			return choices[c].option;
		option = count < request->run->process_count ? choices[c].option : option;
	}
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		option = request->thread ? "--thread" : NULL;
		for (size_t k = 0; option && k < process->thread_count; k++)
			if (request_wants_thread(request, &process->threads[k]))
				option = NULL;
		if (!option || has_looks_of(request, process))
			return NULL;
	}
	return option;
}

bool request_wants_allocator(const struct request *request, const char *allocator)
{
	size_t length = request->allocator ? strlen(request->allocator) : 0;
	uint32_t id;

	if (!request->allocator || strcmp(request->allocator, allocator) == 0)
		return true;
	/* device:0 is any device that a process calls so */
	return strncmp(request->allocator, allocator, length) == 0 && allocator[length] == ' ' && gpu_is_device_allocator(allocator, &id);
}

/* --name: does one of the row's texts, or a function of its stack, match? */
struct matching {
	const regex_t *name;
	bool is_hit;
};

static bool matches(const regex_t *name, const char *text, size_t length)
{
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};

	return regexec(name, text, 1, &range, REG_STARTEND) == 0;
}

static void match_frame(void *context, const struct symbol_frame *frame)
{
	struct matching *matching = context;

	if (!matching->is_hit)
		matching->is_hit = matches(matching->name, frame->function, strlen(frame->function));
}

static bool row_matches(const struct table *table, size_t row, void *context)
{
	struct matching matching = {.name = context};

	for (size_t i = 0; i < table->kind->column_count && !matching.is_hit; i++) {
		size_t length;
		const char *text;
		uint64_t stack;
		if (!table_is_known(table, row, i))
			continue;
		if (table->kind->columns[i].type == TABLE_TEXT) {
			text = table_get_text(table, row, i, &length);
			matching.is_hit = matches(matching.name, text, length);
		} else if (table->kind->columns[i].type == TABLE_STACK) {
			stack = table_get_stack(table, row, i);
			frames_walk(table->frames, stack >> 32, (uint32_t)stack, match_frame, &matching);
		}
	}
	return matching.is_hit;
}

static void sort_rows(struct table *table, const char *sort)
{
	bool is_reversed = sort[0] == '-';
	size_t column = table_begins_column(table->kind, sort + is_reversed);
	struct base_nearest nearest = base_nearest_start(sort + is_reversed);

	if (column != SIZE_MAX) {
		table_sort(table, column, is_reversed);
		return;
	}
	for (size_t i = 0; i < table->kind->column_count; i++)
		base_nearest_offer(&nearest, table->kind->columns[i].id);
	if (nearest.best)
		base_die("table %s has no column '%s'; did you mean '%s'?", table->kind->id, sort, nearest.best);
	base_die("table %s has no column '%s'; --list -t %s shows them", table->kind->id, sort, table->kind->id);
}

/* A filter that an analysis does not know would mislead silently. */
static void note_ignored(struct table *table, const struct request *request)
{
	const struct {
		bool is_given;
		enum table_filter filter;
		const char *option;
	} given[] = {
		{request->from_ns != INT64_MIN || request->to_ns != INT64_MAX, FILTER_WINDOW, "--window"},
		{request->process, FILTER_PROCESS, "--process"},
		{request->host, FILTER_PROCESS, "--host"},
		{request->rank, FILTER_PROCESS, "--rank"},
		{request->thread, FILTER_THREAD, "--thread"},
		{request->allocator, FILTER_ALLOCATOR, "--allocator"},
		{request->device, FILTER_DEVICE, "--device"},
		{request->stream, FILTER_STREAM, "--stream"},
		{request->has_steps, FILTER_STEP, "--step"},
		{request->group != GROUP_OP && request->group != GROUP_KERNEL, FILTER_GROUP, "--group-by"},
		{request->group == GROUP_KERNEL, FILTER_GROUP_KERNEL, "--group-by=kernel"},
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].is_given && !(table->kind->filters & given[i].filter))
			table_note(table, NOTE_INFO, "%s was given, but this table has no such dimension: it shows everything.",
				   given[i].option);
	if (request->base && !table->kind->needs_base && !table->kind->needs_limits && request->is_text)
		table_note(table, NOTE_INFO, "--against was given, but this table shows the newer run alone: see -t comparison.");
}

#define STACKS_RECENT 256u /* a power of two */

/* Asks for the names of all shown stacks; of those seen lately, as most are in a long table, once. */
static void want_names(const struct table *table, const struct request *request, size_t column)
{
	uint64_t recent[STACKS_RECENT] = {0};

	if (!table_has_cells(table, column))
		return; /* rows of a long table would be read for nothing */
	for (size_t row = 0; row < table->shown_count; row++) {
		uint64_t stack = table_is_known(table, row, column) ? table_get_stack(table, row, column) : 0;
		uint64_t *seen = &recent[base_mix(stack) % STACKS_RECENT];
		if ((uint32_t)stack && *seen != stack)
			(request->names_inner ? frames_want_inner : frames_want)(table->frames, stack >> 32, (uint32_t)stack);
		*seen = stack;
	}
}

/* Looks up the names of all shown stacks at once, then fills the cells that need them. */
static void name_rows(struct table *table, const struct request *request)
{
	bool any = false;

	for (size_t i = 0; i < table->kind->column_count; i++) {
		if (table->kind->columns[i].type != TABLE_STACK)
			continue;
		any = true;
		want_names(table, request, i);
	}
	if (!any)
		return;
	frames_resolve(table->frames);
	for (size_t row = 0; row < table->shown_count && table->kind->name_row; row++)
		table->kind->name_row(table, row);
}

static bool sorts_by_text(const struct table *table, const char *sort)
{
	size_t column = sort ? table_begins_column(table->kind, sort + (sort[0] == '-')) : SIZE_MAX;

	return column != SIZE_MAX && table->kind->columns[column].type == TABLE_TEXT;
}

size_t request_row_limit(const struct request *request, const struct table_kind *kind)
{
	if (request->name || request->sort)
		return SIZE_MAX;
	if (request->is_top_given)
		return request->top;
	return request->is_text && kind->text_rows ? kind->text_rows : SIZE_MAX;
}

/* A table without a row says why. */
static void note_nothing(struct table *table, const struct request *request)
{
	bool is_filtered = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->process || request->host ||
			   request->rank || request->thread || request->allocator || request->device || request->stream ||
			   request->has_steps;

	if (table_count(table))
		return;
	if (is_filtered && !table->note_count)
		table_note(table, NOTE_INFO, "Nothing of the kind lies in what --window, --step and the other filters choose.");
	else if (!is_filtered && table->kind->nothing && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO, "%s", table->kind->nothing);
}

struct table *tables_make(const struct table_kind *kind, const struct request *request)
{
	struct table *table = table_make(kind);
	bool needs_all_names = request->name || sorts_by_text(table, request->sort);

	table->frames = request->frames;
	note_ignored(table, request);
	kind->fill(table, request);
	note_nothing(table, request);
	if (needs_all_names)
		name_rows(table, request);
	if (request->name)
		table_keep(table, row_matches, (void *)request->name);
	if (request->sort)
		sort_rows(table, request->sort);
	if (request->is_top_given)
		table_top(table, request->top);
	else if (request->is_text && kind->text_rows)
		table_top(table, kind->text_rows);
	if (!needs_all_names)
		name_rows(table, request);
	return table;
}
