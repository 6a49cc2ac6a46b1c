/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of one events block or one chunk, batch by batch.
 *
 * Rule: a block is checked as a whole before its first record is given out (checksum, sizes, every column's length), so
 * that it is read to its end or not at all. A chunk is read up to the first record that makes no sense.
 */
#ifndef REDUCER_READ_EVENTS_H
#define REDUCER_READ_EVENTS_H

#include "reducer/read/batch.h"
#include "reducer/read/log.h"

#define EVENTS_RECORDS_MAX (1u << 20) /* of a block; a chunk of 256 KiB holds 32768 at most, more than this is damage */

struct events; /* private */

/* What was passed over because this program does not know it. */
struct events_skipped {
	uint64_t columns; /* of an unknown encoding, or of a field number beyond SCHEMA_FIELDS */
};

/* Opens a part of a stream. NULL after adding a diag (damage, no memory). */
struct events *events_open(const struct log *log, const struct log_part *part);

/* Fills `batch` with the next records. Returns how many (0 = end). -1 without memory. */
int events_next(struct events *events, struct batch *batch);

const struct events_skipped *events_skipped(const struct events *events);
/*
 * Only these fields are decoded from now on: by tag, bit i of fields[tag] for field i; they stay where they are until events_close.
 * Columns of allocations and releases are always: they lean on each other. A field that is left out reads as one that the log lacks.
 */
void events_want(struct events *events, const uint32_t fields[256]);
/* Sets the bit of each kind of record that occurs: tag % 64 of bits[tag / 64]. Of a chunk: of those that events_next has given so far. */
void events_kinds(const struct events *events, uint64_t bits[4]);
/* Whether any record is of one of these kinds. Looks at a chunk until the first that is. */
int events_meet(const struct events *events, const uint64_t bits[4]);
void events_close(struct events *events);

#endif
