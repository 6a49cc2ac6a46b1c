/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a run; see reducer/comparison/traits.h. */
#include "reducer/comparison/traits.h"

#include "reducer/tables/gpu_fault_say.h"
#include "reducer/tables/memory_out.h"
#include "reducer/tables/run_env.h"

#include <stdlib.h>
#include <string.h>

static char *text_at(const struct table *table, size_t row, const char *column)
{
	size_t at = table_find_column(table->kind, column), length;
	const char *bytes;

	if (at == SIZE_MAX || !table_is_known(table, row, at))
		return base_copy("", 0);
	bytes = table_get_text(table, row, at, &length);
	return base_copy(bytes, length);
}

/* What differs between any two runs, and says nothing of them. */
static bool is_of_no_interest(const struct trait *trait)
{
	if (strcmp(trait->kind, RUN_ENV_MEASURED) == 0)
		return true;
	if (strcmp(trait->kind, "setting") == 0)
		return strcmp(trait->name, "OUT") == 0; /* where its logs lie */
	return strcmp(trait->kind, "run") == 0 && strcmp(trait->name, "processes") != 0;
}

void traits_add(struct traits *traits, char *kind, char *name, char *value)
{
	traits->items = base_grow(traits->items, &traits->room, traits->count + 1, sizeof(*traits->items));
	traits->items[traits->count++] = (struct trait){kind, name, value};
}

static void gather(struct traits *traits, const struct request *request, const struct table_kind *kind, const char *called)
{
	struct table *table = tables_make(kind, request);
	size_t process = table_find_column(kind, "process");

	for (size_t row = 0; row < table->shown_count; row++) {
		struct trait trait;
		if (table_is_known(table, row, process) && request->run->process_count > 1)
			continue;
		trait = (struct trait){called ? base_copy(called, strlen(called)) : text_at(table, row, "kind"),
				       text_at(table, row, "name"), text_at(table, row, "value")};
		if (is_of_no_interest(&trait)) {
			free(trait.kind);
			free(trait.name);
			free(trait.value);
			continue;
		}
		traits_add(traits, trait.kind, trait.name, trait.value);
	}
	table_free(table);
}

/* Takes `value` over. */
static void add_of_run(struct traits *traits, const char *name, char *value)
{
	traits_add(traits, base_copy("run", 3), base_copy(name, strlen(name)), value);
}

/* What the run's first process was asked to do, and how it ended. */
static void gather_process(struct traits *traits, const struct request *request)
{
	struct table *table = tables_make(&table_processes, request);

	if (table->shown_count) {
		add_of_run(traits, "arguments", text_at(table, 0, "arguments"));
		add_of_run(traits, "ended", text_at(table, 0, "end"));
	}
	table_free(table);
}

/* What failed comes before what took longer: a run that ended early, or went on without its device, is no measure. */
static void gather_failure(struct traits *traits, const struct request *request)
{
	struct text failure = {0};

	gpu_fault_say(&failure, request);
	memory_out_verdict(&failure, request);
	if (failure.length)
		add_of_run(traits, "failed", base_copy(failure.bytes, failure.length));
	text_free(&failure);
}

void traits_make(struct traits *traits, const struct request *request)
{
	*traits = (struct traits){0};
	gather_failure(traits, request);
	gather_process(traits, request);
	gather(traits, request, &table_run_env, NULL);
	gather(traits, request, &table_settings, "setting");
}

void traits_free(struct traits *traits)
{
	for (size_t i = 0; i < traits->count; i++) {
		free(traits->items[i].kind);
		free(traits->items[i].name);
		free(traits->items[i].value);
	}
	free(traits->items);
	*traits = (struct traits){0};
}

const struct trait *traits_find(const struct traits *traits, const struct trait *like)
{
	for (size_t i = 0; i < traits->count; i++)
		if (strcmp(traits->items[i].kind, like->kind) == 0 && strcmp(traits->items[i].name, like->name) == 0)
			return &traits->items[i];
	return NULL;
}
