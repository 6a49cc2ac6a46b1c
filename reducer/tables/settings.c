/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: what was asked of the library.
 *
 * Rule: refused settings come first: a person who mistyped one should see it before anything else.
 */
#include "reducer/tables/process_cells.h"
#include "reducer/tables/request.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESS, NAME, VALUE, SOURCE, PROBLEM, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 0, "pid; empty = the same in every process of the run"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "the variable, without TFPROF_"},
	[VALUE] = {"value", "value", TABLE_TEXT, UNIT_NONE, 0, "in force; for a refused one: what the variable held"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 0, "default, environment, or refused"},
	[PROBLEM] = {"problem", "problem", TABLE_TEXT, UNIT_NONE, 0, "why it was refused: the nearest name, or the good values"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const struct setting *setting_find(const struct process *process, const struct setting *setting)
{
	for (size_t i = 0; i < process->setting_count; i++)
		if (strcmp(process->settings[i].name, setting->name) == 0)
			return &process->settings[i];
	return NULL;
}

static bool is_common(const struct run *run, const struct setting *setting)
{
	for (size_t i = 0; i < run->process_count; i++) {
		const struct setting *other = setting_find(&run->processes[i], setting);
		if (!other || strcmp(other->value, setting->value) != 0 || other->is_default != setting->is_default)
			return false;
	}
	return true;
}

static const struct setting_error *error_find(const struct process *process, const struct setting_error *error)
{
	for (size_t i = 0; i < process->setting_error_count; i++)
		if (strcmp(process->setting_errors[i].name, error->name) == 0)
			return &process->setting_errors[i];
	return NULL;
}

static bool error_is_common(const struct run *run, const struct setting_error *error)
{
	for (size_t i = 0; i < run->process_count; i++) {
		const struct setting_error *other = error_find(&run->processes[i], error);
		if (!other || strcmp(other->value, error->value) != 0)
			return false;
	}
	return true;
}

/* What is the same in every process stands in the first, so only what that one has is looked for in all. */
struct common {
	bool *settings, *errors; /* of the first process, by index */
};

static struct common find_common(const struct run *run)
{
	const struct process *first = &run->processes[0];
	struct common common = {base_alloc(first->setting_count + 1, sizeof(bool)),
				base_alloc(first->setting_error_count + 1, sizeof(bool))};

	for (size_t i = 0; i < first->setting_count; i++)
		common.settings[i] = is_common(run, &first->settings[i]);
	for (size_t i = 0; i < first->setting_error_count; i++)
		common.errors[i] = error_is_common(run, &first->setting_errors[i]);
	return common;
}

/* Whether something of a process gets a row: what is common gets one, with the first process. */
static bool is_shown(const struct request *request, const struct process *process, bool is_common)
{
	return is_common ? process == request->run->processes : request_wants_process(request, process);
}

/* One of a process's settings; without the process where all have it. */
static void add_row(struct table *table, const struct process *process, const char *name, const char *value, const char *source)
{
	table_row(table);
	if (process)
		table_process(table, PROCESS, MACHINE, process);
	table_string(table, NAME, name);
	table_string(table, VALUE, value);
	table_string(table, SOURCE, source);
}

static void add_errors(struct table *table, const struct request *request, const struct process *process, const bool *common)
{
	const struct process *first = request->run->processes;

	for (size_t i = 0; i < process->setting_error_count; i++) {
		const struct setting_error *error = &process->setting_errors[i], *same = error_find(first, error);
		bool in_all = same && common[same - first->setting_errors];
		if (!is_shown(request, process, in_all))
			continue;
		add_row(table, in_all ? NULL : process, error->name, error->value, "refused");
		table_string(table, PROBLEM, error->remedy);
	}
}

static void add_settings(struct table *table, const struct request *request, const struct process *process, const bool *common)
{
	const struct process *first = request->run->processes;

	for (size_t i = 0; i < process->setting_count; i++) {
		const struct setting *setting = &process->settings[i], *same = setting_find(first, setting);
		bool in_all = same && common[same - first->settings];
		if (is_shown(request, process, in_all))
			add_row(table, in_all ? NULL : process, setting->name, setting->value,
				setting->is_default ? "default" : "environment");
	}
}

static void fill(struct table *table, const struct request *request)
{
	const struct run *run = request->run;
	struct common common = find_common(run);

	for (size_t i = 0; i < run->process_count; i++)
		add_errors(table, request, &run->processes[i], common.errors);
	for (size_t i = 0; i < run->process_count; i++)
		add_settings(table, request, &run->processes[i], common.settings);
	free(common.settings);
	free(common.errors);
}

const struct table_kind table_settings = {
	.id = "settings",
	.title = "Settings",
	.help = "The TFPROF_ settings in force, and those that were refused.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.nothing = "The logs hold no settings: files of other profilers, or a process that died before it had read them.",
	.fill = fill,
};
