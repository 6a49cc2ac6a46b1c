/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records a log can hold, as the log itself says (schema block), or as this program was built where it does not.
 *
 * Rule: names bind meaning, tags bind bytes. Whoever needs a field asks for it by name and copes with its absence.
 */
#ifndef REDUCER_READ_SCHEMA_H
#define REDUCER_READ_SCHEMA_H

#include "reducer/read/diag.h"

#include <stddef.h>
#include <stdint.h>

#define SCHEMA_FIELDS 32       /* most fields of a record; more are dropped with a note */
#define SCHEMA_RAW_BYTES 4096  /* longest raw record believed */

enum schema_type { TYPE_U8, TYPE_U16, TYPE_U32, TYPE_U64, TYPE_I64, TYPE_STR };

struct schema_field {
	const char *name, *unit, *help;
	enum schema_type type;
	uint32_t offset; /* in the raw record; facts: 0 */
};

struct schema_record {
	const char *name, *help;
	uint32_t tag;
	int is_fact;
	uint32_t raw_bytes; /* with word 0 and padding; facts: 0 */
	uint32_t field_count;
	struct schema_field fields[SCHEMA_FIELDS];
};

/* A row of losses.def or of a hook table. */
struct schema_row {
	uint32_t number;
	const char *name, *help, *remedy; /* hooks: help is the kind (heap, map), remedy is "" */
};

struct schema {
	struct schema_record *records[256]; /* by tag; NULL = no such record */
	struct schema_row *losses, *hooks;
	size_t loss_count, hook_count;
	uint32_t skipped_lines; /* of a kind, type or tag that this reader does not know */
	int is_built_in;
	char *text; /* what the names point into */
	size_t text_bytes;
	uint32_t shares; /* logs beyond the first that use it */
};

/* Parses `bytes` of schema text; takes a copy. NULL without memory. */
struct schema *schema_parse(const char *text, size_t bytes);

/* The text of a schema block that says what this program knows. Freed by the caller; NULL without memory. */
char *schema_text(size_t *bytes);

/* What this program was built with. NULL without memory. */
struct schema *schema_built_in(void);
void schema_free(struct schema *schema);

/* Whichever of the two says the same is kept for both: returns `other`, and `mine` is freed, or `mine`. A run of a thousand
 * processes has one schema. */
struct schema *schema_share(struct schema *mine, struct schema *other);

/* The record of that name, or NULL. */
const struct schema_record *schema_record(const struct schema *schema, const char *name);

/* Index of a field, or -1. `record` may be NULL. */
int schema_field(const struct schema_record *record, const char *name);

/* The row of that number, or NULL. */
const struct schema_row *schema_loss(const struct schema *schema, uint32_t number);
const struct schema_row *schema_hook(const struct schema *schema, uint32_t number);

/* Bytes of an integer type in a raw record. */
uint32_t schema_type_bytes(enum schema_type type);

#endif
