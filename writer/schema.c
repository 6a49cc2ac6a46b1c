/* SPDX-License-Identifier: Apache-2.0 */
/* The schema text, from records.def and losses.def. Rule: every word comes from the tables. */
#include "writer/schema.h"

#include "writer/file.h"
#include "writer/format.h"
#include "writer/records.h"
#include "writer/sys.h"

char *tfp_schema_add(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

char *tfp_schema_add_number(char *at, const char *end, unsigned number)
{
	char digits[12];
	unsigned count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count && at < end)
		*at++ = digits[--count];
	return at;
}

/* One line of a record: "record", tag, name, event|fact, raw bytes, help. */
static char *add_record(char *at, const char *end, unsigned tag, const char *name, unsigned bytes, const char *help)
{
	at = tfp_schema_add(at, end, "record\t");
	at = tfp_schema_add_number(at, end, tag);
	at = tfp_schema_add(at, end, "\t");
	at = tfp_schema_add(at, end, name);
	at = tfp_schema_add(at, end, bytes ? "\tevent\t" : "\tfact\t");
	at = tfp_schema_add_number(at, end, bytes);
	at = tfp_schema_add(at, end, "\t");
	at = tfp_schema_add(at, end, help);
	return tfp_schema_add(at, end, "\n");
}

/* One line of a field: "field", tag, index, then `text` (name, type, unit, transform), offset, help. */
static char *add_field(char *at, const char *end, unsigned tag, unsigned index, const char *text, unsigned offset,
		       const char *help)
{
	at = tfp_schema_add(at, end, "field\t");
	at = tfp_schema_add_number(at, end, tag);
	at = tfp_schema_add(at, end, "\t");
	at = tfp_schema_add_number(at, end, index);
	at = tfp_schema_add(at, end, text);
	at = tfp_schema_add_number(at, end, offset);
	at = tfp_schema_add(at, end, "\t");
	at = tfp_schema_add(at, end, help);
	return tfp_schema_add(at, end, "\n");
}

char *tfp_schema_write(char *at, const char *end)
{
	at = tfp_schema_add(at, end, "format\t");
	at = tfp_schema_add_number(at, end, TFP_FORMAT_MAJOR);
	at = tfp_schema_add(at, end, "\t");
	at = tfp_schema_add_number(at, end, TFP_FORMAT_MINOR);
	at = tfp_schema_add(at, end, "\n");
#define TFP_EVENT(tag, name, help) \
	at = add_record(at, end, tag, #name, sizeof(struct tfp_record_##name), help); \
	{ \
		typedef struct tfp_record_##name record; \
		const unsigned of_tag = tag, is_event = 1; \
		unsigned index = 0;
#define TFP_FACT(tag, name, help) \
	at = add_record(at, end, tag, #name, 0, help); \
	{ \
		typedef struct tfp_fact_##name record; \
		const unsigned of_tag = tag, is_event = 0; \
		unsigned index = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
	at = add_field(at, end, of_tag, index++, "\t" #name "\t" #type "\t" #unit "\t" #transform "\t", \
		       is_event ? (unsigned)offsetof(record, name) : 0, help);
#define TFP_END() \
	(void)of_tag, (void)is_event, (void)index, (void)sizeof(record); \
	}
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
#define TFP_LOSS(number, name, help, remedy) \
	at = tfp_schema_add(at, end, "loss\t" #number "\t" #name "\t" help "\t" remedy "\n");
#include "writer/losses.def"
#undef TFP_LOSS
	return at;
}

#define SCHEMA_MOST 131072 /* bytes of the text; the tables make a sixth of it today */

enum tfp_loss tfp_schema_store(const char *more)
{
	size_t bytes = sizeof(struct tfp_block_header) + SCHEMA_MOST + 8;
	char *space = tfp_pages_get(bytes, 0);

	if (!space)
		return TFP_LOSS_memory;
	char *text = space + sizeof(struct tfp_block_header);
	struct tfp_block_header header = {.type = TFP_BLOCK_SCHEMA};
	char *end = tfp_schema_write(text, text + SCHEMA_MOST);
	header.raw_bytes = (uint64_t)(tfp_schema_add(end, text + SCHEMA_MOST, more) - text);
	header.encoded_bytes = header.raw_bytes;
	enum tfp_loss why = tfp_file_seal(&header, space);
	tfp_pages_put(space, bytes);
	return why;
}
