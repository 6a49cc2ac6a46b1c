/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: what was asked of the library.
 *
 * Rule: refused settings come first: a person who mistyped one should see it before anything else.
 */
#include "reducer/tables/request.h"

#include <string.h>

enum { PROCESS, NAME, VALUE, SOURCE, PROBLEM, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 0, "pid; empty = the same in every process of the run"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "the variable, without TFPROF_"},
	[VALUE] = {"value", "value", TABLE_TEXT, UNIT_NONE, 0, "in force; for a refused one: what the variable held"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 0, "default, environment, or refused"},
	[PROBLEM] = {"problem", "problem", TABLE_TEXT, UNIT_NONE, 0, "why it was refused: the nearest name, or the good values"},
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

static bool error_is_common(const struct run *run, const struct setting_error *error)
{
	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		size_t k = 0;
		while (k < process->setting_error_count && strcmp(process->setting_errors[k].name, error->name) != 0)
			k++;
		if (k == process->setting_error_count || strcmp(process->setting_errors[k].value, error->value) != 0)
			return false;
	}
	return true;
}

static void add_errors(struct table *table, const struct request *request)
{
	const struct run *run = request->run;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].setting_error_count; k++) {
			const struct setting_error *error = &run->processes[i].setting_errors[k];
			bool common = error_is_common(run, error);
			if (common ? i != 0 : !request_wants_process(request, &run->processes[i]))
				continue;
			table_row(table);
			if (!common)
				table_integer(table, PROCESS, run->processes[i].pid);
			table_string(table, NAME, error->name);
			table_string(table, VALUE, error->value);
			table_string(table, SOURCE, "refused");
			table_string(table, PROBLEM, error->remedy);
		}
}

static void fill(struct table *table, const struct request *request)
{
	const struct run *run = request->run;

	add_errors(table, request);
	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].setting_count; k++) {
			const struct setting *setting = &run->processes[i].settings[k];
			bool common = is_common(run, setting);
			if (common ? i != 0 : !request_wants_process(request, &run->processes[i]))
				continue;
			table_row(table);
			if (!common)
				table_integer(table, PROCESS, run->processes[i].pid);
			table_string(table, NAME, setting->name);
			table_string(table, VALUE, setting->value);
			table_string(table, SOURCE, setting->is_default ? "default" : "environment");
		}
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
