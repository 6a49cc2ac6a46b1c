/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.environment: in what two runs differ before anything is measured.
 *
 * Rule: facts and settings that hold for a whole run and are not the same in both, as run_env and settings show them.
 */
#include "reducer/comparison/kept.h"
#include "reducer/comparison/verdict.h"

#include <string.h>

enum { KIND, NAME, BEFORE, AFTER, COLUMNS };

static const struct table_column columns[] = {
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0, "as in run_env, or setting"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "which fact or setting"},
	[BEFORE] = {"before", "before", TABLE_TEXT, UNIT_NONE, 0, "in the older run"},
	[AFTER] = {"after", "after", TABLE_TEXT, UNIT_NONE, 0, "in the newer run"},
};

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
static void put_gone(struct table *table, const struct traits *before, const struct traits *after, bool of_run)
{
	for (size_t i = 0; i < before->count; i++)
		if (is_of_run(&before->items[i]) == of_run && !traits_find(after, &before->items[i]))
			put_row(table, &before->items[i], &before->items[i], NULL);
}

static void put_new(struct table *table, const struct traits *before, const struct traits *after, bool of_run)
{
	for (size_t i = 0; i < after->count; i++) {
		const struct trait *item = &after->items[i], *other = traits_find(before, item);
		if (is_of_run(item) == of_run && (!other || strcmp(other->value, item->value) != 0))
			put_row(table, item, other, item);
	}
}

static void put_rows(struct table *table, const struct traits *before, const struct traits *after)
{
	put_gone(table, before, after, true); /* an older run that failed is no baseline */
	put_new(table, before, after, true);
	put_new(table, before, after, false);
	put_gone(table, before, after, false);
}

static void fill(struct table *table, const struct request *request)
{
	const struct kept *before = request->compared->before_kept, *after = request->compared->after_kept;
	const struct run *base = request->base ? request->base->run : NULL;

	if (!before) {
		kept_say_missing(table);
		return;
	}
	put_rows(table, &before->traits, &after->traits);
	table_note(table, NOTE_INFO, "The older run is %s, the newer one %s.%s", base ? base->name : "a baseline's", request->run->name,
		   request->run->process_count > 1 || (base && base->process_count > 1)
			   ? " Facts of single processes are not compared."
			   : "");
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
	.fill = fill,
};
