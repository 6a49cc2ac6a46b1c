/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of the encoder, shared by encode*.c alone.
 * Rule: as in encode.c: every byte written stands in memory that tfp_scratch_bytes accounted for.
 */
#ifndef TFP_WRITER_ENCODE_PARTS_H
#define TFP_WRITER_ENCODE_PARTS_H

#include "writer/encode.h"
#include "writer/heapcode.h"
#include "writer/records.h"

#include <stddef.h>
#include <stdint.h>

enum { TFP_ENCODE_TAGS = 128 }; /* event tags are below; facts begin there */

struct tfp_scratch {
	uint32_t count[TFP_ENCODE_TAGS], next[TFP_ENCODE_TAGS];
	uint8_t changed[256]; /* of the kind at hand: find_changes */
};

/* Where a record lies in its chunk: records are whole words. Lists of these are most of the scratch memory's address space. */
typedef uint16_t tfp_place;
#define TFP_PLACE_UNIT 8
_Static_assert(TFP_ENCODE_MOST == (size_t)TFP_PLACE_UNIT << 16, "a place says where any record of a chunk lies");

static inline tfp_place tfp_place_of(const uint8_t *records, const uint8_t *record)
{
	return (tfp_place)((size_t)(record - records) / TFP_PLACE_UNIT);
}

static inline const uint8_t *tfp_at(const uint8_t *records, tfp_place place)
{
	return records + (size_t)place * TFP_PLACE_UNIT;
}

/* Where in the scratch what lies, for chunks of a size. */
struct tfp_areas {
	tfp_place *allocs;  /* where alloc records lie */
	tfp_place *others;  /* all others but free, which has no field beside its address */
	tfp_place *by_kind; /* others, sorted */
	uint8_t *times, *codes;
	uint8_t *sizes, *stacks;      /* of allocations: columns of their own */
	uint8_t *slacks, *functions;  /* of allocations: the unusual ones */
	void *heap_memory;
	void *lz4_state;
	uint8_t *columns;
	uint8_t *end;
};

struct tfp_output {
	uint8_t *at;
	uint32_t columns;
};

/* Rows and values that differ from the usual one; longer than tfp_most_unusual: they are not worth a list. */
struct tfp_unusual {
	uint8_t *end, *most;
	uint32_t row; /* one past the last one */
};

/* What the first pass found. */
struct tfp_found {
	uint32_t allocs, frees, others;
	int has_alloc_fields; /* the fields of allocations were written, too; what follows them here says how far */
	uint8_t *sizes_end, *stacks_end, *slacks_end, *functions_end;
	uint8_t function; /* the usual one */
	uint64_t first_time, last_time; /* ticks */
	uint8_t *times_end, *codes_end;
};

static inline uint64_t tfp_load(const uint8_t *from, unsigned width)
{
	switch (width) {
	case 1:
		return *from;
	case 2:
		return *(const uint16_t *)(const void *)from;
	case 4:
		return *(const uint32_t *)(const void *)from;
	default:
		return *(const uint64_t *)(const void *)from;
	}
}

extern const uint8_t tfp_record_bytes[256] __attribute__((visibility("hidden"))); /* by any first byte; 0 = no event */

static inline size_t tfp_most_records(size_t bytes)
{
	return bytes / 8 + 1; /* the smallest record is one word */
}

static inline uint32_t tfp_most_heap_records(size_t bytes)
{
	return (uint32_t)(bytes / sizeof(struct tfp_record_free) + 1);
}

static inline size_t tfp_most_allocs(size_t bytes)
{
	return bytes / sizeof(struct tfp_record_alloc) + 1;
}

static inline size_t tfp_most_unusual(size_t bytes)
{
	return tfp_most_allocs(bytes) / 16;
}

/* Records of mostly the heap: kinds to `tags`, times as steps, addresses, fields of allocations. Returns how many records. */
uint32_t tfp_encode_heap(struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records, size_t bytes,
			 unsigned shift, uint8_t *tags, struct tfp_found *found);

/* What is known once a pass is over. */
void tfp_found_finish(struct tfp_found *found, const uint8_t *records, uint32_t count, uint64_t last_word);

/* The columns that tfp_encode_heap has written. */
void tfp_put_alloc_fields(struct tfp_output *out, struct tfp_scratch *scratch, const struct tfp_areas *areas,
			  const uint8_t *records, size_t bytes, const struct tfp_found *found);

/* Ends the column whose header is to stand at `header_at`. */
void tfp_end_column(struct tfp_output *out, uint8_t *header_at, struct tfp_column_header header, const uint8_t *end);

/* A column that was written elsewhere. */
void tfp_put_ready(struct tfp_output *out, struct tfp_column_header header, const uint8_t *start, const uint8_t *end);

/* Sorts the offsets of the records that are not the heap's by kind. */
void tfp_sort_by_kind(struct tfp_scratch *scratch, struct tfp_areas *areas, const uint8_t *records, uint32_t others);

/* Every field of every kind of record that occurs, in the order of records.def; heap addresses have their own column. */
void tfp_put_fields(struct tfp_output *out, struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records);

#endif
