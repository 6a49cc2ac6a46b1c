/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.environment: in what two runs differ before anything is measured.
 *
 * Rule: facts and settings that hold for a whole run and are not the same in both, as run_env and settings show them.
 */
#include "reducer/comparison/figures.h"
#include "reducer/tables/gpu_fault_say.h"
#include "reducer/tables/memory_out.h"

#include <stdlib.h>
#include <string.h>

enum { KIND, NAME, BEFORE, AFTER, COLUMNS };

static const struct table_column columns[] = {
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0, "as in run_env, or setting"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "which fact or setting"},
	[BEFORE] = {"before", "before", TABLE_TEXT, UNIT_NONE, 0, "in the older run"},
	[AFTER] = {"after", "after", TABLE_TEXT, UNIT_NONE, 0, "in the newer run"},
};

struct trait {
	char *kind, *name, *value;
};
struct trait_list {
	struct trait *items;
	size_t count, room;
};

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
	return strcmp(trait->kind, "run") == 0 && strcmp(trait->name, "processes") != 0;
}

static void gather(struct trait_list *traits, const struct request *request, const struct table_kind *kind, const char *called)
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
		traits->items = base_grow(traits->items, &traits->room, traits->count + 1, sizeof(*traits->items));
		traits->items[traits->count++] = trait;
	}
	table_free(table);
}

/* Takes `value` over. */
static void add_of_run(struct trait_list *traits, const char *name, char *value)
{
	traits->items = base_grow(traits->items, &traits->room, traits->count + 1, sizeof(*traits->items));
	traits->items[traits->count++] = (struct trait){base_copy("run", 3), base_copy(name, strlen(name)), value};
}

/* What the run's first process was asked to do, and how it ended. */
static void gather_process(struct trait_list *traits, const struct request *request)
{
	struct table *table = tables_make(&table_processes, request);

	if (table->shown_count) {
		add_of_run(traits, "arguments", text_at(table, 0, "arguments"));
		add_of_run(traits, "ended", text_at(table, 0, "end"));
	}
	table_free(table);
}

/* What failed comes before what took longer: a run that ended early, or went on without its device, is no measure. */
static void gather_failure(struct trait_list *traits, const struct request *request)
{
	struct text failure = {0};

	gpu_fault_say(&failure, request);
	memory_out_verdict(&failure, request);
	if (failure.length)
		add_of_run(traits, "failed", base_copy(failure.bytes, failure.length));
	text_free(&failure);
}

static void gather_all(struct trait_list *traits, const struct request *request)
{
	gather_failure(traits, request);
	gather_process(traits, request);
	gather(traits, request, &table_run_env, NULL);
	gather(traits, request, &table_settings, "setting");
}

static void traits_free(struct trait_list *traits)
{
	for (size_t i = 0; i < traits->count; i++) {
		free(traits->items[i].kind);
		free(traits->items[i].name);
		free(traits->items[i].value);
	}
	free(traits->items);
}

static const struct trait *find(const struct trait_list *traits, const struct trait *like)
{
	for (size_t i = 0; i < traits->count; i++)
		if (strcmp(traits->items[i].kind, like->kind) == 0 && strcmp(traits->items[i].name, like->name) == 0)
			return &traits->items[i];
	return NULL;
}

/* `named` is either of the two. */
static void put_row(struct table *table, const struct trait *named, const struct trait *before, const struct trait *after)
{
	table_row(table);
	table_string(table, KIND, named->kind);
	table_string(table, NAME, named->name);
	table_string(table, BEFORE, before ? before->value : NULL);
	table_string(table, AFTER, after ? after->value : NULL);
}

static bool is_of_run(const struct trait *trait)
{
	return strcmp(trait->kind, "run") == 0;
}

/* What only the older run has. */
static void put_gone(struct table *table, const struct trait_list *before, const struct trait_list *after, bool of_run)
{
	for (size_t i = 0; i < before->count; i++)
		if (is_of_run(&before->items[i]) == of_run && !find(after, &before->items[i]))
			put_row(table, &before->items[i], &before->items[i], NULL);
}

static void put_new(struct table *table, const struct trait_list *before, const struct trait_list *after, bool of_run)
{
	for (size_t i = 0; i < after->count; i++) {
		const struct trait *item = &after->items[i], *other = find(before, item);
		if (is_of_run(item) == of_run && (!other || strcmp(other->value, item->value) != 0))
			put_row(table, item, other, item);
	}
}

static void fill(struct table *table, const struct request *request)
{
	struct request plain = figures_plain(request), plain_base = figures_plain(request->base);
	struct trait_list before = {0}, after = {0};

	gather_all(&before, &plain_base);
	gather_all(&after, &plain);
	put_gone(table, &before, &after, true); /* an older run that failed is no baseline */
	put_new(table, &before, &after, true);
	put_new(table, &before, &after, false);
	put_gone(table, &before, &after, false);
	table_note(table, NOTE_INFO, "The older run is %s, the newer one %s.%s", request->base->run->name, request->run->name,
		   request->run->process_count > 1 || request->base->run->process_count > 1
			   ? " Facts of single processes are not compared."
			   : "");
	traits_free(&before);
	traits_free(&after);
}

const struct table_kind table_comparison_environment = {
	.id = "comparison.environment",
	.title = "In what two runs differ",
	.help = "With --against: what failed, how the runs ended, settings, machine, versions and arguments that are not the same in "
		"the older run and in this one.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.text_rows = 20,
	.needs_scan = true,
	.needs_base = true,
	.needs_base_logs = true,
	.sums = RUN_SUM_DELAYS, /* of run_env */
	.fill = fill,
};
