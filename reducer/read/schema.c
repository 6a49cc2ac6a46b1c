/* SPDX-License-Identifier: Apache-2.0 */
/* The schema text, parsed: lines of tab-separated words, first word says what the line is. See schema.h. */
#include "reducer/read/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 10 /* most words of a line that are looked at */

static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {
	[TYPE_U8] = {"u8", 1},   [TYPE_U16] = {"u16", 2}, [TYPE_U32] = {"u32", 4},
	[TYPE_U64] = {"u64", 8}, [TYPE_I64] = {"i64", 8}, [TYPE_STR] = {"str", 0},
};

uint32_t schema_type_bytes(enum schema_type type)
{
	return types[type].bytes;
}

/* Cuts a line into its words in place. Returns how many there are; the rest of `words` are "". */
static size_t split(char *line, const char *words[WORDS])
{
	size_t count = 0;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = "";
	while (line != NULL && count < WORDS) {
		words[count++] = line;
		line = strchr(line, '\t');
		if (line != NULL)
			*line++ = 0;
	}
	return count;
}

static int find_type(const char *name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* A decimal number below `limit`, else `limit`. */
static uint32_t number(const char *word, uint32_t limit)
{
	uint64_t value = 0;

	if (*word == 0)
		return limit;
	for (; *word >= '0' && *word <= '9' && value < limit; word++)
		value = value * 10 + (uint64_t)(*word - '0');
	return *word != 0 || value >= limit ? limit : (uint32_t)value;
}

/* record <tag> <name> event|fact <raw bytes> <help> */
static int add_record(struct schema *schema, const char *words[WORDS])
{
	uint32_t tag = number(words[1], 256), raw = number(words[4], SCHEMA_RAW_BYTES + 1);
	struct schema_record *record;

	if (tag == 0 || tag == 256 || schema->records[tag] != NULL)
		return -1;
	if (strcmp(words[3], "fact") != 0 && (raw > SCHEMA_RAW_BYTES || raw < 8 || raw % 8 != 0))
		return -1;
	record = calloc(1, sizeof *record);
	if (record == NULL)
		return -1;
	record->tag = tag;
	record->name = words[2];
	record->is_fact = strcmp(words[3], "fact") == 0;
	record->raw_bytes = record->is_fact ? 0 : raw;
	record->help = words[5];
	schema->records[tag] = record;
	return 0;
}

/* field <tag> <index> <name> <type> <unit> <transform> <offset> <help>; fields come in order of index. */
static int add_field(struct schema *schema, const char *words[WORDS])
{
	uint32_t tag = number(words[1], 256), index = number(words[2], SCHEMA_FIELDS);
	uint32_t offset = number(words[7], SCHEMA_RAW_BYTES);
	int type = find_type(words[4]);
	struct schema_record *record = tag < 256 ? schema->records[tag] : NULL;

	if (record == NULL || index == SCHEMA_FIELDS || index != record->field_count || type < 0)
		return -1;
	if (!record->is_fact && (type == TYPE_STR || offset < 8 || offset + types[type].bytes > record->raw_bytes))
		return -1;
	record->fields[index] = (struct schema_field){.name = words[3], .unit = words[5], .help = words[8],
						      .type = (enum schema_type)type, .offset = offset};
	record->field_count++;
	return 0;
}

/* loss <number> <name> <help> <remedy>, hook <number> <name> <kind> */
static int add_row(struct schema_row **rows, size_t *count, const char *words[WORDS])
{
	struct schema_row *more;

	if (number(words[1], UINT32_MAX) == UINT32_MAX || *count >= 65536)
		return -1;
	if (*count % 64 == 0) {
		more = realloc(*rows, (*count + 64) * sizeof **rows);
		if (more == NULL)
			return -1;
		*rows = more;
	}
	(*rows)[(*count)++] = (struct schema_row){.number = number(words[1], UINT32_MAX), .name = words[2],
						  .help = words[3], .remedy = words[4]};
	return 0;
}

static int add_line(struct schema *schema, char *line)
{
	const char *words[WORDS];

	split(line, words);
	if (strcmp(words[0], "record") == 0)
		return add_record(schema, words);
	if (strcmp(words[0], "field") == 0)
		return add_field(schema, words);
	if (strcmp(words[0], "loss") == 0)
		return add_row(&schema->losses, &schema->loss_count, words);
	if (strcmp(words[0], "hook") == 0)
		return add_row(&schema->hooks, &schema->hook_count, words);
	return strcmp(words[0], "format") == 0 || words[0][0] == 0 ? 0 : -1;
}

/* Its words are ours, and go to people as they are: none of a damaged or forged log may reach a terminal as a command. */
static void make_plain(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte >= 0x7f || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != 0))
			text[i] = '?';
	}
}

struct schema *schema_parse(const char *text, size_t bytes)
{
	struct schema *schema = calloc(1, sizeof *schema);
	char *line;

	if (schema == NULL)
		return NULL;
	schema->text = malloc(bytes + 1);
	if (schema->text == NULL) {
		free(schema);
		return NULL;
	}
	memcpy(schema->text, text, bytes);
	schema->text[bytes] = 0;
	make_plain(schema->text, bytes);
	schema->text_bytes = bytes;
	for (line = schema->text; line != NULL && line < schema->text + bytes;) {
		char *end = memchr(line, '\n', (size_t)(schema->text + bytes - line));

		if (end != NULL)
			*end++ = 0;
		if (add_line(schema, line) != 0)
			schema->skipped_lines++;
		line = end;
	}
	return schema;
}

/* One field of the tables this program was built with, as a line of text. Returns the offset behind it. */
static uint32_t print_field(FILE *out, uint32_t tag, uint32_t index, const char *name, const char *type, const char *unit,
			    uint32_t at)
{
	int known = find_type(type);
	uint32_t bytes = known < 0 || types[known].bytes == 0 ? 8 : types[known].bytes;

	at = (at + bytes - 1) / bytes * bytes;
	fprintf(out, "field\t%u\t%u\t%s\t%s\t%s\tplain\t%u\t\n", tag, index, name, type, unit, at);
	return at + bytes;
}

/* One record of the tables: `fields` are name, type, unit, ..., NULL. */
static void print_record(FILE *out, uint32_t tag, const char *name, int is_fact, const char *const *fields)
{
	uint32_t at = 8, index = 0;
	FILE *scratch;
	char *text = NULL;
	size_t bytes = 0;

	scratch = open_memstream(&text, &bytes);
	if (scratch == NULL)
		return;
	for (; fields[index * 3] != NULL; index++)
		at = print_field(scratch, tag, index, fields[index * 3], fields[index * 3 + 1], fields[index * 3 + 2], at);
	fclose(scratch);
	fprintf(out, "record\t%u\t%s\t%s\t%u\t\n%s", tag, name, is_fact ? "fact" : "event", is_fact ? 0 : (at + 7) / 8 * 8,
		text == NULL ? "" : text);
	free(text);
}

static void print_tables(FILE *out)
{
#define TFP_EVENT(tag, name, help) print_record(out, tag, #name, 0, (const char *const[]){
#define TFP_FACT(tag, name, help) print_record(out, tag, #name, 1, (const char *const[]){
#define TFP_FIELD(name, type, unit, transform, help) #name, #type, #unit,
#define TFP_END() NULL});
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
#define TFP_LOSS(number, name, help, remedy) fputs("loss\t" #number "\t" #name "\t" help "\t" remedy "\n", out);
#include "writer/losses.def"
#undef TFP_LOSS
}

char *schema_text(size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (out == NULL)
		return NULL;
	print_tables(out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

struct schema *schema_built_in(void)
{
	size_t bytes = 0;
	char *text = schema_text(&bytes);
	struct schema *schema = text == NULL ? NULL : schema_parse(text, bytes);

	if (schema != NULL)
		schema->is_built_in = 1;
	free(text);
	return schema;
}

struct schema *schema_share(struct schema *mine, struct schema *other)
{
	/* Both texts were cut into words the same way, so they are equal when the schemas are. */
	if (mine->text_bytes != other->text_bytes || mine->is_built_in != other->is_built_in ||
	    memcmp(mine->text, other->text, mine->text_bytes) != 0)
		return mine;
	schema_free(mine);
	other->shares++;
	return other;
}

void schema_free(struct schema *schema)
{
	if (schema == NULL || schema->shares-- > 0)
		return;
	for (size_t i = 0; i < 256; i++)
		free(schema->records[i]);
	free(schema->losses);
	free(schema->hooks);
	free(schema->text);
	free(schema);
}

const struct schema_record *schema_record(const struct schema *schema, const char *name)
{
	for (size_t i = 0; i < 256; i++)
		if (schema->records[i] != NULL && strcmp(schema->records[i]->name, name) == 0)
			return schema->records[i];
	return NULL;
}

int schema_field(const struct schema_record *record, const char *name)
{
	for (uint32_t i = 0; record != NULL && i < record->field_count; i++)
		if (strcmp(record->fields[i].name, name) == 0)
			return (int)i;
	return -1;
}

static const struct schema_row *find_row(const struct schema_row *rows, size_t count, uint32_t wanted)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].number == wanted)
			return &rows[i];
	return NULL;
}

const struct schema_row *schema_loss(const struct schema *schema, uint32_t wanted)
{
	return find_row(schema->losses, schema->loss_count, wanted);
}

const struct schema_row *schema_hook(const struct schema *schema, uint32_t wanted)
{
	return find_row(schema->hooks, schema->hook_count, wanted);
}
