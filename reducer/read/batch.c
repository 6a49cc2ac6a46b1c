/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of decoded records. See batch.h. */
#include "reducer/read/batch.h"

#include <stdlib.h>
#include <string.h>

#define TAGS_AT_ONCE 8u
#define SAME_TAGS UINT64_C(0x0101010101010101) /* times a tag: so many of it */

static const uint64_t zeros[BATCH_RECORDS];

static void forget_values(struct batch_kind *kind)
{
	kind->count = kind->present = 0;
	for (size_t i = 0; i <= SCHEMA_FIELDS; i++)
		kind->read[i] = zeros;
}

static void drop_arrays(struct batch *batch)
{
	for (size_t made = 0; made < batch->made_count; made++) {
		for (size_t i = 0; i < SCHEMA_FIELDS; i++)
			free(batch->made[made]->values[i]);
		free(batch->made[made]);
	}
	memset(batch->kinds, 0, sizeof batch->kinds);
	free(batch->times);
	free(batch->rows);
	free(batch->tags);
	batch->made_count = 0;
	batch->times = NULL;
	batch->rows = NULL;
	batch->tags = NULL;
	batch->capacity = 0;
}

int batch_begin(struct batch *batch, size_t records)
{
	size_t capacity = 16;

	batch->count = 0;
	for (size_t i = 0; i < batch->made_count; i++)
		forget_values(batch->made[i]);
	if (records <= batch->capacity)
		return 0;
	while (capacity < records)
		capacity *= 2;
	drop_arrays(batch);
	batch->times = malloc(capacity * sizeof *batch->times);
	batch->rows = malloc(capacity * sizeof *batch->rows);
	batch->tags = malloc(capacity);
	if (batch->times == NULL || batch->rows == NULL || batch->tags == NULL) {
		drop_arrays(batch);
		return -1;
	}
	batch->capacity = capacity;
	return 0;
}

struct batch_kind *batch_kind(struct batch *batch, uint8_t tag)
{
	if (batch->kinds[tag] != NULL)
		return batch->kinds[tag];
	batch->kinds[tag] = calloc(1, sizeof *batch->kinds[tag]);
	if (batch->kinds[tag] == NULL)
		return NULL;
	forget_values(batch->kinds[tag]);
	batch->made[batch->made_count++] = batch->kinds[tag];
	return batch->kinds[tag];
}

/* Whether so many records are of the kind of the first. */
static inline int are_alike(const uint8_t *tags)
{
	uint64_t word;

	memcpy(&word, tags, TAGS_AT_ONCE);
	return word == tags[0] * SAME_TAGS;
}

/* Calls and device records come in long runs; what the heap does changes at each record, in a way that no processor foresees. */
int batch_number_rows(struct batch *batch, size_t count)
{
	const uint8_t *tags = batch->tags;
	uint16_t next[256] = {0}, *rows = batch->rows;
	size_t i = 0;

	while (i < count) {
		size_t end = count - i < TAGS_AT_ONCE ? count : i + TAGS_AT_ONCE;

		if (count - i >= TAGS_AT_ONCE && are_alike(&tags[i])) {
			uint16_t first = next[tags[i]];

			for (unsigned k = 0; k < TAGS_AT_ONCE; k++)
				rows[i + k] = (uint16_t)(first + k);
			next[tags[i]] = (uint16_t)(first + TAGS_AT_ONCE);
			i = end;
		}
		for (; i < end; i++)
			rows[i] = next[tags[i]]++;
	}
	for (size_t tag = 0; tag < 256; tag++) {
		if (next[tag] == 0)
			continue;
		if (batch_kind(batch, (uint8_t)tag) == NULL)
			return -1;
		batch->kinds[tag]->count = next[tag];
	}
	batch->count = count;
	return 0;
}

static uint64_t *present_field(struct batch *batch, struct batch_kind *kind, uint32_t field)
{
	if (kind->values[field] == NULL)
		kind->values[field] = malloc(batch->capacity * sizeof(uint64_t));
	if (kind->values[field] != NULL) {
		kind->present |= UINT32_C(1) << field;
		kind->read[field + 1] = kind->values[field];
	}
	return kind->values[field];
}

uint64_t *batch_field(struct batch *batch, struct batch_kind *kind, uint32_t field)
{
	kind->same_rows[field] = 0;
	return present_field(batch, kind, field);
}

int batch_fill(struct batch *batch, struct batch_kind *kind, uint32_t field, uint64_t value)
{
	uint64_t *to = present_field(batch, kind, field);
	uint32_t done = kind->same[field] == value ? kind->same_rows[field] : 0;

	if (to == NULL)
		return -1;
	for (; done < kind->count; done++)
		to[done] = value;
	if (kind->same[field] != value || kind->same_rows[field] < done)
		kind->same_rows[field] = (uint16_t)done;
	kind->same[field] = value;
	return 0;
}

void batch_free(struct batch *batch)
{
	drop_arrays(batch);
	batch->count = 0;
}
