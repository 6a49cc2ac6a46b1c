/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --list: the tables and formats, as tables.
 *
 * Rule: nothing is described a second time.
 */
#include "reducer/report/catalogue.h"

#include "reducer/report/report.h"
#include "reducer/tables/request.h"

#include <stdlib.h>

enum { COLUMN_ID, COLUMN_TYPE, COLUMN_UNIT, COLUMN_HELP, COLUMN_COLUMNS };

static const struct table_column column_columns[] = {
	[COLUMN_ID] = {"column", "column", TABLE_TEXT, UNIT_NONE, 0, "id in csv and json"},
	[COLUMN_TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 1, "integer, real, text, stack"},
	[COLUMN_UNIT] = {"unit", "unit", TABLE_TEXT, UNIT_NONE, 1, "of numbers"},
	[COLUMN_HELP] = {"help", "meaning", TABLE_TEXT, UNIT_NONE, 0, "what it says"},
};

enum { TABLE_ID, TABLE_OPTIONS, TABLE_HELP, TABLE_COLUMNS };

static const struct table_column table_columns[] = {
	[TABLE_ID] = {"id", "id", TABLE_TEXT, UNIT_NONE, 0, "for -t"},
	[TABLE_OPTIONS] = {"options", "options", TABLE_TEXT, UNIT_NONE, 1, "that it honours, beside --name, --sort and --top"},
	[TABLE_HELP] = {"help", "what it shows", TABLE_TEXT, UNIT_NONE, 0, ""},
};

enum { FORMAT_NAME, FORMAT_HELP, FORMAT_COLUMNS };

static const struct table_column format_columns[] = {
	[FORMAT_NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "for -f"},
	[FORMAT_HELP] = {"help", "what it prints", TABLE_TEXT, UNIT_NONE, 0, ""},
};

static const struct table_kind all_tables = {
	.id = "tables", .title = "Tables", .columns = table_columns, .column_count = TABLE_COLUMNS,
	.help = "For -t; the part before a dot names all tables that begin with it",
};
static const struct table_kind all_formats = {
	.id = "formats", .title = "Formats", .columns = format_columns, .column_count = FORMAT_COLUMNS, .help = "For -f",
};

static void put_options(struct table *table, unsigned filters)
{
	static const struct {
		enum table_filter filter;
		const char *name;
	} names[] = {
		{FILTER_WINDOW, "--window"},       {FILTER_PROCESS, "--process"}, {FILTER_THREAD, "--thread"},
		{FILTER_ALLOCATOR, "--allocator"}, {FILTER_DEVICE, "--device"},   {FILTER_STREAM, "--stream"},
		{FILTER_POINTS, "--points"},	   {FILTER_STEP, "--step"},	  {FILTER_GROUP, "--group-by"},
		{FILTER_GROUP_KERNEL, "--group-by=kernel"},
	};
	struct text list = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (filters & names[i].filter)
			text_format(&list, "%s%s", list.length ? " " : "", names[i].name);
	if (list.length)
		table_text(table, TABLE_OPTIONS, list.bytes, list.length);
	text_free(&list);
}

static struct table *list_tables(void)
{
	struct table *table = table_make(&all_tables);

	for (size_t i = 0; i < table_kind_count; i++) {
		table_row(table);
		table_string(table, TABLE_ID, table_kinds[i]->id);
		put_options(table, table_kinds[i]->filters);
		table_string(table, TABLE_HELP, table_kinds[i]->help);
	}
	return table;
}

static struct table *list_formats(void)
{
	struct table *table = table_make(&all_formats);

	for (size_t i = 0; i < report_kind_count; i++) {
		table_row(table);
		table_string(table, FORMAT_NAME, report_kinds[i]->name);
		table_string(table, FORMAT_HELP, report_kinds[i]->help);
	}
	return table;
}

/* The kind is the analysis's own name with columns of columns; it lives as long as the table. */
static struct table *list_columns(const struct table_kind *kind)
{
	struct table_kind *described = base_alloc(1, sizeof(*described));
	struct table *table;

	*described = (struct table_kind){.id = kind->id, .title = kind->title, .help = kind->help,
					 .columns = column_columns, .column_count = COLUMN_COLUMNS};
	table = table_make(described);
	for (size_t i = 0; i < kind->column_count; i++) {
		table_row(table);
		table_string(table, COLUMN_ID, kind->columns[i].id);
		table_string(table, COLUMN_TYPE, table_type_name(kind->columns[i].type));
		if (kind->columns[i].unit != UNIT_NONE)
			table_string(table, COLUMN_UNIT, table_unit_name(kind->columns[i].unit));
		table_string(table, COLUMN_HELP, kind->columns[i].help);
	}
	return table;
}

struct table **catalogue_make(const struct table_kind *const *kinds, size_t kind_count, size_t *count)
{
	struct table **tables = base_alloc(kind_count + 2, sizeof(*tables));

	*count = 0;
	if (!kinds) {
		tables[(*count)++] = list_tables();
		tables[(*count)++] = list_formats();
		return tables;
	}
	for (size_t i = 0; i < kind_count; i++)
		tables[(*count)++] = list_columns(kinds[i]);
	return tables;
}

void catalogue_free(struct table **tables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct table_kind *kind = tables[i]->kind;
		table_free(tables[i]);
		if (kind != &all_tables && kind != &all_formats)
			free((void *)kind);
	}
	free(tables);
}
