/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some hundred records, decoded: an array for each field of each kind of record that occurs.
 *
 * Rule: a batch belongs to its user and is filled again and again; it grows to what it must hold and no further.
 */
#ifndef REDUCER_READ_BATCH_H
#define REDUCER_READ_BATCH_H

#include "reducer/read/schema.h"

#define BATCH_RECORDS 512 /* most records of a batch: their arrays fit the first-level cache */

struct batch_kind {
	uint32_t present; /* bit i: field i has values (a log of another version may lack some) */
	uint32_t count;   /* rows */
	uint64_t *values[SCHEMA_FIELDS]; /* by field index, then row; NULL where never present */
	const uint64_t *read[SCHEMA_FIELDS + 1]; /* by field index + 1: the values, or zeros where there are none; [0] are zeros */
	uint64_t same[SCHEMA_FIELDS];            /* what the first same_rows[field] rows hold, from batch to batch */
	uint16_t same_rows[SCHEMA_FIELDS];       /* 0 = not known */
};

struct batch {
	size_t count, capacity;
	uint64_t *times;  /* ticks since origin */
	uint16_t *rows;   /* of each record, its row within its kind */
	uint8_t *tags;
	struct batch_kind *kinds[256]; /* by tag; NULL = has not occurred yet */
	struct batch_kind *made[256];  /* those that are not NULL, so many */
	size_t made_count;
};

/* Empties the batch and makes room for `records` (at most BATCH_RECORDS). Returns -1 without memory. */
int batch_begin(struct batch *batch, size_t records);

/* The rows of a kind, made on first use. NULL without memory. */
struct batch_kind *batch_kind(struct batch *batch, uint8_t tag);

/* Adds a record of that tag; its row is the new kind->count - 1. NULL without memory. Room was made by batch_begin. */
static inline struct batch_kind *batch_add(struct batch *batch, uint8_t tag, uint64_t time)
{
	struct batch_kind *kind = batch->kinds[tag] != NULL ? batch->kinds[tag] : batch_kind(batch, tag);

	if (kind == NULL)
		return NULL;
	batch->tags[batch->count] = tag;
	batch->times[batch->count] = time;
	batch->rows[batch->count++] = (uint16_t)kind->count++;
	return kind;
}

/* Adds the records whose tags and times the caller put at the start of an empty batch: counts rows. Returns -1 without memory. */
int batch_number_rows(struct batch *batch, size_t count);

/* The values of a field, room for batch->capacity rows, marked present. NULL without memory. */
uint64_t *batch_field(struct batch *batch, struct batch_kind *kind, uint32_t field);

/* Gives all rows of a field the same value; costs nothing where the batch before had it too. Returns -1 without memory. */
int batch_fill(struct batch *batch, struct batch_kind *kind, uint32_t field, uint64_t value);

/* The value of a field of record `i`, or 0 where the log has no such field (`field` may be -1). */
static inline uint64_t batch_value(const struct batch *batch, size_t i, int field)
{
	return batch->kinds[batch->tags[i]]->read[field + 1][batch->rows[i]];
}

void batch_free(struct batch *batch);

#endif
