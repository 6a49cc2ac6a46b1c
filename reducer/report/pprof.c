/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof: call stacks with their numbers as a profile of pprof's format, for `go tool pprof`, Speedscope.
 *
 * Each row is a sample, each column with a `sample` name is a kind of value. Functions, files, lines and inlining are in the
 * file, so that no reader needs the programs. Modules lie at made-up addresses: those of several processes differ.
 * Rule: knows columns by what they say of themselves; written message by message, memory follows distinct places.
 */
#include "reducer/report/report.h"

#include "reducer/base/index.h"
#include "reducer/report/escape.h"
#include "reducer/tables/frames.h"

#include "reducer/report/pprof.pb-c.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS_MOST 16
#define LABELS_MOST 8
#define MODULE_SPACE (UINT64_C(1) << 40) /* addresses of one module: larger than any file of code */

/* Columns that tell samples apart; what the stack itself says is left out. */
static const char *const label_columns[LABELS_MOST] = {"allocator", "kind", "process", "device", "stream", "name", "op_name"};

/* A text, a function or a place in code: what makes it the same as another. Its number is its place in the list. */
struct key {
	uint64_t parts[4];
	char *text; /* of texts; else NULL */
};

struct key_list {
	struct key *list;
	size_t count, room;
	struct base_index index;
};

struct writer {
	FILE *file;
	const struct table *table;
	size_t stack;
	size_t columns[KINDS_MOST], kind_count, labels[LABELS_MOST], label_count;
	struct key_list texts, modules, functions, locations;
	struct text visible;
	uint8_t *buffer;
	size_t room;
	/* The stack being gathered: its locations, and the functions of the one that is not complete. */
	uint64_t *stack_locations;
	size_t stack_count, stack_room;
	Pprof__Line *lines;
	size_t line_count, line_room;
};

/* Messages one behind the other are one message: that is how repeated fields are written piece by piece. */
static void put(struct writer *writer, const Pprof__Profile *piece)
{
	size_t size = pprof__profile__get_packed_size(piece);

	writer->buffer = base_grow(writer->buffer, &writer->room, size + 1, 1);
	pprof__profile__pack(piece, writer->buffer);
	fwrite(writer->buffer, 1, size, writer->file);
}

static bool key_equal(const void *context, const void *key, uint32_t number)
{
	const struct key *have = &((const struct key_list *)context)->list[number], *want = key;

	if (want->text)
		return strcmp(have->text, want->text) == 0;
	return memcmp(have->parts, want->parts, sizeof(want->parts)) == 0;
}

/* The number of a key; *is_new tells whether it was added. The text of a new key is copied. */
static uint32_t number_of(struct key_list *keys, struct key key, bool *is_new)
{
	uint64_t hash =
		key.text ? base_hash(BASE_HASH, key.text, strlen(key.text)) : base_hash(BASE_HASH, key.parts, sizeof(key.parts));
	uint32_t number = base_index_find(&keys->index, hash, key_equal, keys, &key);

	*is_new = number == UINT32_MAX;
	if (!*is_new)
		return number;
	if (key.text)
		key.text = base_copy(key.text, strlen(key.text));
	number = (uint32_t)keys->count++;
	keys->list = base_grow(keys->list, &keys->room, keys->count, sizeof(*keys->list));
	keys->list[number] = key;
	base_index_add(&keys->index, hash, number);
	return number;
}

static void keys_free(struct key_list *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		free(keys->list[i].text);
	free(keys->list);
	base_index_free(&keys->index);
}

/* The number of a text, written at its first use, as the format's order of texts wants it. */
static int64_t text_of(struct writer *writer, const char *bytes, size_t length)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	bool is_new;
	uint32_t number;
	char *text;

	text_clear(&writer->visible);
	escape_visible(&writer->visible, bytes, length);
	text_string(&writer->visible, "");
	text = writer->visible.bytes;
	number = number_of(&writer->texts, (struct key){.text = text}, &is_new);
	if (is_new) {
		piece.n_texts = 1;
		piece.texts = &text;
		put(writer, &piece);
	}
	return number;
}

static int64_t string_of(struct writer *writer, const char *string)
{
	return string ? text_of(writer, string, strlen(string)) : 0;
}

/* 0 = none. */
static uint64_t module_of(struct writer *writer, const char *name)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *one = &mapping;
	bool is_new;

	if (!name[0])
		return 0;
	mapping.file = string_of(writer, name);
	mapping.id = number_of(&writer->modules, (struct key){.parts = {(uint64_t)mapping.file}}, &is_new) + 1;
	if (!is_new)
		return mapping.id;
	mapping.start = mapping.id * 2 * MODULE_SPACE;
	mapping.limit = mapping.start + MODULE_SPACE;
	mapping.has_functions = mapping.has_files = mapping.has_lines = mapping.has_inlines = 1;
	piece.n_mappings = 1;
	piece.mappings = &one;
	put(writer, &piece);
	return mapping.id;
}

static uint64_t function_of(struct writer *writer, const struct symbol_frame *frame)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *one = &function;
	struct text name = {0};
	bool is_new;

	text_string(&name, frame->is_near ? "~" : "");
	text_string(&name, frame->function);
	function.name = function.system_name = string_of(writer, name.bytes);
	text_free(&name);
	function.file = string_of(writer, frame->file);
	function.id = number_of(&writer->functions, (struct key){.parts = {(uint64_t)function.name, (uint64_t)function.file}},
				&is_new) +
		      1;
	if (!is_new)
		return function.id;
	piece.n_functions = 1;
	piece.functions = &one;
	put(writer, &piece);
	return function.id;
}

/* The place whose functions are in `lines`, innermost first, joins the stack. */
static void end_location(struct writer *writer, const struct symbol_frame *frame)
{
	const Pprof__Line *outermost = &writer->lines[writer->line_count - 1];
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT, *one = &location;
	bool is_new;

	location.mapping = module_of(writer, frame->module);
	location.address = location.mapping ? location.mapping * 2 * MODULE_SPACE + (frame->offset & (MODULE_SPACE - 1)) : 0;
	location.id = number_of(&writer->locations,
				(struct key){.parts = {location.mapping, location.address, outermost->function,
						       (uint64_t)outermost->line}},
				&is_new) +
		      1;
	if (is_new) {
		Pprof__Line **lines = base_alloc(writer->line_count, sizeof(*lines));
		for (size_t i = 0; i < writer->line_count; i++)
			lines[i] = &writer->lines[i];
		location.n_lines = writer->line_count;
		location.lines = lines;
		piece.n_locations = 1;
		piece.locations = &one;
		put(writer, &piece);
		free(lines);
	}
	writer->stack_locations = base_grow(writer->stack_locations, &writer->stack_room, writer->stack_count + 1,
					    sizeof(*writer->stack_locations));
	writer->stack_locations[writer->stack_count++] = location.id;
	writer->line_count = 0;
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct writer *writer = context;
	Pprof__Line line = PPROF__LINE__INIT;

	line.function = function_of(writer, frame);
	line.line = frame->line;
	writer->lines = base_grow(writer->lines, &writer->line_room, writer->line_count + 1, sizeof(*writer->lines));
	writer->lines[writer->line_count++] = line;
	if (!frame->is_inlined)
		end_location(writer, frame);
}

static void take_stack(struct writer *writer, size_t row)
{
	struct symbol_frame none = {.function = "[no stack recorded]", .module = ""};
	uint64_t stack;

	writer->stack_count = writer->line_count = 0;
	if (table_is_known(writer->table, row, writer->stack)) {
		stack = table_get_stack(writer->table, row, writer->stack);
		frames_walk(writer->table->frames, stack >> 32, (uint32_t)stack, take_frame, writer);
	}
	if (!writer->stack_count)
		take_frame(writer, &none);
}

static size_t take_labels(struct writer *writer, size_t row, Pprof__Label *labels, Pprof__Label **list)
{
	const struct table *table = writer->table;
	size_t count = 0, length;

	for (size_t i = 0; i < writer->label_count; i++) {
		size_t column = writer->labels[i];
		const struct table_column *kind = &table->kind->columns[column];
		if (!table_is_known(table, row, column) || (kind->type != TABLE_TEXT && kind->type != TABLE_INTEGER))
			continue;
		labels[count] = (Pprof__Label)PPROF__LABEL__INIT;
		labels[count].key = string_of(writer, kind->id);
		if (kind->type == TABLE_TEXT) {
			const char *bytes = table_get_text(table, row, column, &length);
			labels[count].text = text_of(writer, bytes, length);
		} else {
			labels[count].number = table_get_integer(table, row, column);
		}
		list[count] = &labels[count];
		count++;
	}
	return count;
}

static void put_row(struct writer *writer, size_t row)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *one = &sample;
	Pprof__Label labels[LABELS_MOST], *list[LABELS_MOST];
	int64_t values[KINDS_MOST];
	bool any = false;

	for (size_t i = 0; i < writer->kind_count; i++) {
		values[i] = table_is_known(writer->table, row, writer->columns[i])
				    ? table_get_integer(writer->table, row, writer->columns[i])
				    : 0;
		any |= values[i] != 0;
	}
	if (!any)
		return;
	take_stack(writer, row);
	sample.n_locations = writer->stack_count;
	sample.locations = writer->stack_locations;
	sample.n_values = writer->kind_count;
	sample.values = values;
	sample.n_labels = take_labels(writer, row, labels, list);
	sample.labels = list;
	piece.n_samples = 1;
	piece.samples = &one;
	put(writer, &piece);
}

static const char *unit_of(enum table_unit unit)
{
	return unit == UNIT_BYTES ? "bytes" : unit == UNIT_NS ? "nanoseconds" : "count";
}

/* The kinds of values, one message each, and which of them is shown first: --value, else what was in use, else the first. */
static void put_kinds(struct writer *writer, const char *value)
{
	const struct table_column *columns = writer->table->kind->columns;
	size_t chosen = writer->columns[0];

	for (size_t i = 0; i < writer->kind_count; i++) {
		const struct table_column *column = &columns[writer->columns[i]];
		Pprof__Profile piece = PPROF__PROFILE__INIT;
		Pprof__Kind kind = PPROF__KIND__INIT, *one = &kind;
		if (value ? writer->columns[i] == table_begins_column(writer->table->kind, value)
			  : strcmp(column->sample, "inuse_space") == 0)
			chosen = writer->columns[i];
		kind.name = string_of(writer, column->sample);
		kind.unit = string_of(writer, unit_of(column->unit));
		piece.n_kinds = 1;
		piece.kinds = &one;
		put(writer, &piece);
	}
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	piece.chosen_kind = string_of(writer, columns[chosen].sample);
	put(writer, &piece);
}

static void put_comment(struct writer *writer, const char *text)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	int64_t number;

	if (!text)
		return;
	number = string_of(writer, text);
	piece.n_comments = 1;
	piece.comments = &number;
	put(writer, &piece);
}

/* Which columns are stack, values and labels. */
static void find_columns(struct writer *writer, const char *value)
{
	const struct table_kind *kind = writer->table->kind;

	writer->stack = SIZE_MAX;
	for (size_t i = 0; i < kind->column_count; i++) {
		if (kind->columns[i].type == TABLE_STACK)
			writer->stack = i;
		if (kind->columns[i].sample && writer->kind_count < KINDS_MOST)
			writer->columns[writer->kind_count++] = i;
	}
	for (size_t i = 0; i < LABELS_MOST && label_columns[i]; i++)
		if (table_find_column(kind, label_columns[i]) != SIZE_MAX)
			writer->labels[writer->label_count++] = table_find_column(kind, label_columns[i]);
	if (writer->stack == SIZE_MAX || !writer->kind_count)
		base_die("-f pprof needs a table with call stacks, such as -t memory.sites; %s has none", kind->id);
	if (value && (table_begins_column(kind, value) == SIZE_MAX || !kind->columns[table_begins_column(kind, value)].sample))
		base_die("--value=%s names no number of the call stacks of table %s; peak, leaked, total and allocations do",
			 value, kind->id);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	struct writer writer = {.file = file, .table = set->tables[0]};

	if (file != stdout || !isatty(STDOUT_FILENO))
		find_columns(&writer, options->value);
	else
		base_die("-f pprof writes a profile, not text: give -o FILE.pb");
	string_of(&writer, ""); /* the format's text 0 */
	put_kinds(&writer, options->value);
	put_comment(&writer, set->run);
	put_comment(&writer, set->problem);
	for (size_t i = 0; i < writer.table->note_count; i++)
		put_comment(&writer, writer.table->notes[i].text);
	for (size_t row = 0; row < writer.table->shown_count; row++)
		put_row(&writer, row);
	keys_free(&writer.texts);
	keys_free(&writer.modules);
	keys_free(&writer.functions);
	keys_free(&writer.locations);
	text_free(&writer.visible);
	free(writer.buffer);
	free(writer.stack_locations);
	free(writer.lines);
}

const struct report_kind report_pprof = {
	.name = "pprof",
	.suffix = "pb",
	.help = "call stacks with all their numbers: `go tool pprof`, Speedscope; give -o FILE.pb",
	.is_single = true,
	.tables = "memory.sites",
	.takes_value = true,
	.write = write_set,
};
