/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the C source of the schema that every log begins with (writer/schema.h), compressed: schema_block >schema_block.c
 *
 * Run where the library is built, not where it is used: offsets of records are the same on both, for all fields have fixed sizes.
 * Rule: every word comes from the tables.
 */
#include "writer/format.h"
#include "writer/records.h"

#include <lz4hc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void print_record(FILE *out, int tag, const char *name, size_t bytes, const char *help)
{
	fprintf(out, "record\t%d\t%s\t%s\t%zu\t%s\n", tag, name, bytes ? "event" : "fact", bytes, help);
}

/* `text`: name, type, unit, transform. */
static void print_field(FILE *out, int tag, int index, const char *text, size_t offset, const char *help)
{
	fprintf(out, "field\t%d\t%d\t%s\t%zu\t%s\n", tag, index, text, offset, help);
}

static void print_tables(FILE *out)
{
	fprintf(out, "format\t%d\t%d\n", TFP_FORMAT_MAJOR, TFP_FORMAT_MINOR);
#define TFP_EVENT(tag, name, help) \
	print_record(out, tag, #name, sizeof(struct tfp_record_##name), help); \
	{ \
		typedef struct tfp_record_##name record; \
		const int of_tag = tag, is_event = 1; \
		int index = 0;
#define TFP_FACT(tag, name, help) \
	print_record(out, tag, #name, 0, help); \
	{ \
		typedef struct tfp_fact_##name record; \
		const int of_tag = tag, is_event = 0; \
		int index = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
	print_field(out, of_tag, index++, #name "\t" #type "\t" #unit "\t" #transform, is_event ? offsetof(record, name) : 0, help);
#define TFP_END() \
	(void)of_tag, (void)is_event, (void)index, (void)sizeof(record); \
	}
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
#define TFP_LOSS(number, name, help, remedy) fputs("loss\t" #number "\t" #name "\t" help "\t" remedy "\n", out);
#include "writer/losses.def"
#undef TFP_LOSS
/* The numbers that records name functions by. */
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) fputs("hook\t" #number "\t" #name "\t" #kind "\n", out);
#include "collectors/tables/malloc.def"
#include "collectors/tables/process.def"
#include "collectors/tables/io.def"
#undef TFP_HOOK
}

static void print_source(const char *bytes, int count, size_t raw_bytes)
{
	printf("/* Made by scripts/schema_block.c. */\n#include \"writer/schema.h\"\n\n");
	printf("const uint32_t tfp_schema_raw_bytes = %zu, tfp_schema_bytes = %d;\n", raw_bytes, count);
	printf("const uint8_t tfp_schema_packed[] = {");
	for (int i = 0; i < count; i++)
		printf("%s%d,", i % 24 ? "" : "\n", (unsigned char)bytes[i]);
	puts("\n};");
}

int main(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL)
		return 1;
	print_tables(out);
	if (fclose(out) != 0)
		return 1;
	int room = LZ4_compressBound((int)bytes);
	char *packed = malloc((size_t)room);
	int count = packed == NULL ? 0 : LZ4_compress_HC(text, packed, (int)bytes, room, LZ4HC_CLEVEL_MAX);
	if (count > 0)
		print_source(packed, count, bytes);
	free(packed);
	free(text);
	return count > 0 && fflush(stdout) == 0 ? 0 : 1;
}
