/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a process: settings, arguments, modules, pairs. Rule: a fact that the table below does not name is no loss. */
#include "reducer/model/internal.h"

#include "reducer/model/number_map.h"
#include "reducer/read/diag.h"
#include "reducer/read/schema.h"

#include <stdlib.h>
#include <string.h>

#define FACTS_MOST 4096u /* settings, notes and the like, of each kind: tables compare them pair by pair; the library writes some dozen */

struct read_facts {
	struct pool *pool;
	struct process *process;
	struct number_map module_of; /* id -> place */
	int is_told;		     /* that there are more than FACTS_MOST of a kind */
};

typedef void take_fact(struct read_facts *read, const struct fact *fact);

/* The text of a field by its place in records.def; "" when it is missing. Fields are only ever appended. */
static const char *text(struct read_facts *read, const struct fact *fact, size_t field)
{
	if (field >= fact->count || fact->values[field].text == NULL)
		return "";
	return pool_text(read->pool, fact->values[field].text, fact->values[field].length);
}

static uint64_t number(const struct fact *fact, size_t field)
{
	return field < fact->count ? fact->values[field].number : 0;
}

/* model_room of what tables compare pair by pair. */
static void *few_room(struct read_facts *read, void *array, size_t count, size_t bytes)
{
	const struct log *log = read->process->log;

	if (count < FACTS_MOST)
		return model_room(array, count, bytes);
	if (!read->is_told)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "",
			 "more than %u settings, notes or other words about the process of one kind: no program writes so many; the others "
			 "are left out", FACTS_MOST);
	read->is_told = 1;
	return NULL;
}

static void take_setting(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	struct setting *settings = few_room(read, process->settings, process->setting_count, sizeof *settings);

	if (settings == NULL)
		return;
	process->settings = settings;
	settings[process->setting_count++] =
		(struct setting){.name = text(read, fact, 0), .value = text(read, fact, 1), .is_default = number(fact, 2) == 0};
}

static void take_setting_error(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	struct setting_error *errors = few_room(read, process->setting_errors, process->setting_error_count, sizeof *errors);

	if (errors == NULL)
		return;
	process->setting_errors = errors;
	errors[process->setting_error_count++] =
		(struct setting_error){.name = text(read, fact, 0), .value = text(read, fact, 1), .remedy = text(read, fact, 2)};
}

static void add_pair(struct read_facts *read, const struct fact *fact, struct pair **pairs, size_t *count)
{
	struct pair *wider = few_room(read, *pairs, *count, sizeof **pairs);

	if (wider == NULL)
		return;
	*pairs = wider;
	wider[(*count)++] = (struct pair){.name = text(read, fact, 0), .value = text(read, fact, 1)};
}

static void take_host(struct read_facts *read, const struct fact *fact)
{
	if (strcmp(text(read, fact, 0), "title") == 0) /* told again each time that it is another */
		read->process->title = text(read, fact, 1);
	else
		add_pair(read, fact, &read->process->hosts, &read->process->host_count);
}

static void take_environment(struct read_facts *read, const struct fact *fact)
{
	add_pair(read, fact, &read->process->environment, &read->process->environment_count);
}

static void take_note(struct read_facts *read, const struct fact *fact)
{
	add_pair(read, fact, &read->process->notes, &read->process->note_count);
}

/* {name, state, detail} as the pair {name, "state: detail"}. */
static void take_framework(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	const char *state = text(read, fact, 1), *detail = text(read, fact, 2);
	size_t states = strlen(state), details = strlen(detail);
	char *value = pool_take(read->pool, states + details + 3);

	size_t before = process->framework_count;

	add_pair(read, fact, &process->frameworks, &process->framework_count);
	if (process->framework_count == before || value == NULL)
		return;
	memcpy(value, state, states);
	memcpy(value + states, ": ", 2);
	memcpy(value + states + 2, detail, details);
	process->frameworks[process->framework_count - 1].value = value;
}

static void take_module(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	struct module *modules = model_room(process->modules, process->module_count, sizeof *modules), *module;

	if (modules == NULL)
		return;
	process->modules = modules;
	number_map_set(&read->module_of, 0, number(fact, 0), (uint32_t)process->module_count); /* without memory it stays loaded */
	module = &modules[process->module_count++];
	*module = (struct module){.id = number(fact, 0),
				  .bias = number(fact, 1),
				  .start = number(fact, 2),
				  .end = number(fact, 3),
				  .device = number(fact, 4),
				  .inode = number(fact, 5),
				  .path = text(read, fact, 7),
				  .loaded_ticks = fact->time,
				  .loaded_ns = TIME_UNKNOWN,
				  .unloaded_ns = TIME_UNKNOWN};
	if (fact->count > 6 && fact->values[6].length > 0) {
		module->build_id = (const uint8_t *)text(read, fact, 6);
		module->build_id_bytes = fact->values[6].length;
	}
}

static void take_module_unload(struct read_facts *read, const struct fact *fact)
{
	uint32_t place = number_map_find(&read->module_of, 0, number(fact, 0));

	if (place != NUMBER_MAP_NONE)
		read->process->modules[place].unloaded_ticks = fact->time;
}

/* Words come in order; a gap (a lost fact) reads as "". */
static void take_argument(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	const char **arguments = model_room(process->arguments, process->argument_count, sizeof *arguments);

	if (arguments == NULL)
		return;
	process->arguments = arguments;
	arguments[process->argument_count++] = text(read, fact, 1);
}

static void take_child(struct read_facts *read, const struct fact *fact)
{
	struct process *process = read->process;
	struct child_end *ends = model_room(process->child_ends, process->child_end_count, sizeof *ends);

	if (ends == NULL)
		return;
	process->child_ends = ends;
	ends[process->child_end_count++] = (struct child_end){.pid = (uint32_t)number(fact, 0), .status = (int)number(fact, 1)};
}

static const struct {
	const char *name;
	take_fact *take;
} known_facts[] = {
	{"setting", take_setting},     {"setting_error", take_setting_error},
	{"module", take_module},       {"module_unload", take_module_unload},
	{"argument", take_argument},   {"environment", take_environment},
	{"host", take_host},	       {"note", take_note},
	{"framework", take_framework}, {"child_killed", take_child},
};

static int visit(void *context, const struct fact *fact)
{
	struct read_facts *read = context;
	const struct schema_record *record = fact->tag < 256 ? read->process->log->schema->records[fact->tag] : NULL;

	for (size_t i = 0; record != NULL && record->is_fact && i < sizeof known_facts / sizeof *known_facts; i++)
		if (strcmp(known_facts[i].name, record->name) == 0)
			known_facts[i].take(read, fact);
	return 0;
}

/* argv ends with NULL. */
static void close_arguments(struct process *process)
{
	const char **arguments = model_room(process->arguments, process->argument_count, sizeof *arguments);

	if (arguments != NULL)
		process->arguments = arguments;
	else
		process->argument_count = 0;
}

static const char *foreign_allocator(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ? NULL : name;
}

void facts_read(struct pool *pool, struct process *process)
{
	struct read_facts read = {.pool = pool, .process = process};

	log_facts(process->log, visit, &read);
	number_map_free(&read.module_of);
	close_arguments(process);
	for (size_t i = 0; i < process->host_count; i++) {
		if (strcmp(process->hosts[i].name, "executable") == 0)
			process->executable = process->hosts[i].value;
		if (strcmp(process->hosts[i].name, "allocator") == 0)
			process->allocator_library = foreign_allocator(process->hosts[i].value);
		if (strcmp(process->hosts[i].name, "allocator_before") == 0)
			process->allocator_before = process->hosts[i].value;
	}
	for (size_t i = 0; i < process->note_count; i++)
		if (strcmp(process->notes[i].name, "no_usable_size") == 0)
			process->are_releases_unsized = 1;
}
