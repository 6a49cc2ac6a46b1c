/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded: one line a call stack with its weight, as flame graph tools read it: "main;load;malloc 4096".
 *
 * Rule: prints any table that has a column of stacks, weighed by one of its integer columns; rows of weight 0 are left out.
 */
#include "reducer/report/report.h"

#include "reducer/report/cell_texts.h"
#include "reducer/report/stack_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t stack_column(const struct table_kind *kind)
{
	for (size_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].type == TABLE_STACK)
			return i;
	return SIZE_MAX;
}

/* The integer column that `value` names or begins; the first one when it is NULL. */
static size_t weight_column(const struct table_kind *kind, const char *value)
{
	struct base_nearest nearest = base_nearest_start(value ? value : "");

	for (size_t i = 0; i < kind->column_count; i++) {
		if (kind->columns[i].type != TABLE_INTEGER)
			continue;
		if (!value || strncmp(kind->columns[i].id, value, strlen(value)) == 0)
			return i;
		base_nearest_offer(&nearest, kind->columns[i].id);
	}
	base_die("--value=%s names no number of table %s%s%s; peak, leaked, total and allocations do", value, kind->id,
		 nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "");
}

static void write_table(FILE *file, const struct table *table, size_t stack, size_t weight)
{
	struct table_cell *cells = base_alloc(table->kind->column_count, sizeof(*cells));
	struct cell_texts texts = {0};

	for (size_t row = 0; row < table->shown_count; row++) {
		const struct text *line = NULL;
		table_read_row(table, row, cells);
		if (!cells[weight].is_known || cells[weight].value.integer <= 0)
			continue;
		if (cells[stack].is_known)
			line = cell_text(&texts, table, row, stack, cells[stack].value, stack_text_folded);
		fprintf(file, "%s %" PRId64 "\n", line && line->length ? line->bytes : "[no stack recorded]", cells[weight].value.integer);
	}
	cell_texts_free(&texts);
	free(cells);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	size_t written = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct table_kind *kind = set->tables[i]->kind;
		if (stack_column(kind) == SIZE_MAX)
			continue;
		write_table(file, set->tables[i], stack_column(kind), weight_column(kind, options->value));
		written++;
	}
	if (!written)
		base_die("-f folded needs a table with call stacks, such as -t memory.sites");
}

const struct report_kind report_folded = {
	.name = "folded",
	.suffix = "folded",
	.help = "call stacks for flame graphs, weighed by --value=peak, leaked, total or allocations",
	.is_single = true,
	.tables = "memory.sites",
	.takes_value = true,
	.write = write_set,
};
