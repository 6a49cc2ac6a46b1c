/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of an events block. Private to reducer/read.
 *
 * Rule: columns_open proves that every column holds exactly the values it claims; after it nothing can fail.
 */
#ifndef REDUCER_READ_COLUMNS_H
#define REDUCER_READ_COLUMNS_H

#include "reducer/read/batch.h"
#include "reducer/read/heapcode.h"

struct column {
	const uint8_t *at, *end;
	uint64_t last; /* delta: the value before; constant: the value */
	uint32_t values;
	uint16_t tag, field;
	uint8_t encoding;
	uint32_t kept;    /* steps: rows still to come that keep `last`; sparse: rows of the usual value before `step` */
	uint64_t step;    /* steps: what the row after them adds; 0 = none yet to come */
};

struct columns {
	uint8_t *raw;           /* decompressed payload; owned */
	size_t raw_bytes;
	uint32_t records, done;
	unsigned time_shift;
	struct column tags, times, low_times; /* low_times.end NULL = none */
	uint64_t last_time;     /* of the record before, with low_times */
	struct column *fields;  /* of the records, in the order of the block */
	size_t field_count;
	uint32_t has[256];      /* by tag, bit i: field i has a column */
	struct heapcode *heap;  /* NULL = no such column */
	uint32_t of_tag[256];   /* records of each kind in the block */
	uint64_t skipped;       /* columns passed over */
};

/* Takes `raw` (also on failure). Returns NULL with *reason set when the block does not hold what it claims. */
struct columns *columns_open(uint8_t *raw, size_t raw_bytes, unsigned time_shift, const char **reason);
/* See events_want. */
void columns_want(struct columns *columns, const uint32_t fields[256]);
int columns_next(struct columns *columns, struct batch *batch);
void columns_close(struct columns *columns);

#endif
