/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of an events block: checked once, then decoded batch by batch. See columns.h and docs/format.md. */
#include "reducer/read/columns.h"

#include "reducer/read/events.h"
#include "reducer/read/varint.h"
#include "writer/format.h"

#include <stdlib.h>
#include <string.h>

/* The heap address column is column (1, 0); it needs the sizes, column (1, 1), and speaks of records 1 and 2. */
enum { TAG_ALLOC = 1, TAG_FREE = 2, FIELD_ADDRESS = 0, FIELD_REQUESTED = 1, FIELD_SLACK = 3 };

#define COLUMN_HEADER 16 /* bytes of struct tfp_column_header */

/*
 * The next byte of a column of steps, with what belongs to it: *kept rows have the time before, then one adds *step (not
 * where it is 0). NULL where it is cut off.
 */
static inline const uint8_t *take_step(const uint8_t *at, const uint8_t *end, uint32_t *kept, uint64_t *step)
{
	uint8_t byte = *at++;
	const uint8_t *last = at;

	*kept = byte >> 4;
	*step = byte & 15;
	if (*step == 0)
		*kept *= 16;
	if (*step < 14)
		return at;
	if (*step == 14) {
		*step += at < end ? *at : 0;
		return at < end ? at + 1 : NULL;
	}
	while (last < end && *last >= 128)
		last++;
	if (last == end)
		return NULL;
	*step = varint_take(&at);
	*step = (*step >> 1) ^ (0 - (*step & 1));
	return at;
}

static int are_steps_whole(const struct column *column)
{
	const uint8_t *at = column->at;
	uint64_t rows = 0, step;
	uint32_t kept;

	while (at != NULL && at < column->end && rows <= column->values) {
		at = take_step(at, column->end, &kept, &step);
		rows += kept + (step != 0);
		if (kept == 0 && step == 0)
			return 0; /* says nothing: no writer writes it */
	}
	return at == column->end && rows <= column->values;
}

/* Rows before the next unusual value, and the value. Returns 0 where there is none. The caller knows that varints end. */
static int take_unusual(struct column *column, uint64_t *rows)
{
	if (column->at == column->end)
		return 0;
	*rows = varint_take(&column->at);
	column->step = varint_take(&column->at);
	return 1;
}

/* Pairs of varints, behind `more` other ones; no more rows than there are. */
static int is_sparse_whole(const struct column *column, size_t more)
{
	struct column copy = *column;
	size_t bytes = (size_t)(column->end - column->at), ends = varint_ends(column->at, bytes);
	uint64_t rows = 0, kept = 0;

	if ((bytes != 0 && column->end[-1] >= 128) || ends < more || (ends - more) % 2 != 0)
		return 0;
	if (more != 0)
		varint_take(&copy.at);
	while (take_unusual(&copy, &kept)) {
		if (kept >= column->values - rows)
			return 0;
		rows += kept + 1;
	}
	return 1;
}

static int is_of_addresses(const struct column *column)
{
	return column->encoding == TFP_ENCODE_LISTS || column->encoding == TFP_ENCODE_HEAP;
}

/* Whether the column holds exactly its values. 1 yes, 0 no, -1 the encoding is unknown. */
static int check_column(const struct column *column)
{
	size_t bytes = (size_t)(column->end - column->at);
	int is_varint = column->encoding <= TFP_ENCODE_DELTA || column->encoding == TFP_ENCODE_SLACK;
	size_t ends = is_varint ? varint_ends(column->at, bytes) : 0;
	int is_closed = bytes == 0 || column->end[-1] < 128;

	switch (column->encoding) {
	case TFP_ENCODE_CONST:
		return ends == 1 && is_closed;
	case TFP_ENCODE_VARINT:
	case TFP_ENCODE_DELTA:
		return ends == column->values && is_closed;
	case TFP_ENCODE_BYTES:
		return bytes == column->values;
	case TFP_ENCODE_HEAP:
	case TFP_ENCODE_LISTS:
		return column->tag == TAG_ALLOC && column->field == FIELD_ADDRESS;
	case TFP_ENCODE_SLACK:
		if (column->tag != TAG_ALLOC || column->field != FIELD_SLACK)
			return -1;
		return bytes == 0 || (ends == column->values && is_closed);
	case TFP_ENCODE_SPARSE:
		return is_sparse_whole(column, 1);
	case TFP_ENCODE_SPARSE_SLACK:
		return column->tag == TAG_ALLOC && column->field == FIELD_SLACK ? is_sparse_whole(column, 0) : -1;
	case TFP_ENCODE_STEPS:
		return column->tag == 0 && column->field == 1 ? are_steps_whole(column) : -1;
	default:
		return -1;
	}
}

/* Reads the column header at *at and goes behind its data. Returns 0, or -1 when it does not fit. */
static int take_column(const struct columns *columns, size_t *at, struct column *column)
{
	struct tfp_column_header header;
	size_t left = columns->raw_bytes - *at;

	if (left < COLUMN_HEADER)
		return -1;
	memcpy(&header, columns->raw + *at, sizeof header);
	if (header.bytes > left - COLUMN_HEADER)
		return -1;
	*column = (struct column){.at = columns->raw + *at + COLUMN_HEADER, .values = header.value_count,
				  .tag = header.tag, .field = header.field, .encoding = header.encoding};
	column->end = column->at + header.bytes;
	*at += COLUMN_HEADER + header.bytes;
	return 0;
}

/* The first row behind the unusual one taken last that is unusual again; UINT32_MAX rows on: none. */
static void seek_unusual(struct column *column)
{
	uint64_t rows;

	column->kept = take_unusual(column, &rows) ? (uint32_t)rows : UINT32_MAX;
}

/* The value of a constant column, the usual one of a sparse one, stands in `last` from now on. */
static void prepare(struct column *column)
{
	if (column->encoding == TFP_ENCODE_CONST || column->encoding == TFP_ENCODE_SPARSE)
		column->last = varint_take(&column->at);
	if (column->encoding == TFP_ENCODE_SPARSE || column->encoding == TFP_ENCODE_SPARSE_SLACK)
		seek_unusual(column);
}

/* Whether it has a value for each of its records is checked when they are counted. */
static const char *add_low_times(struct columns *columns, const struct column *column)
{
	if (column->encoding != TFP_ENCODE_VARINT || check_column(column) != 1)
		return "the column of low bits of times is damaged";
	columns->low_times = *column;
	return NULL;
}

static const char *add_frame_column(struct columns *columns, const struct column *column)
{
	struct column *to = column->field == 0 ? &columns->tags : column->field == 1 ? &columns->times : &columns->low_times;
	int is_tags = column->field == 0, is_known;

	if (column->field > 2)
		return NULL;
	if (to->end != NULL)
		return "two columns are the same";
	if (column->field == 2)
		return add_low_times(columns, column);
	if (column->values != columns->records || check_column(column) != 1)
		return "the column of kinds or times is damaged";
	is_known = is_tags ? column->encoding == TFP_ENCODE_BYTES || column->encoding == TFP_ENCODE_CONST
			   : column->encoding == TFP_ENCODE_DELTA || column->encoding == TFP_ENCODE_STEPS;
	if (!is_known)
		return "the column of kinds or times is encoded in a way that this program does not know";
	*to = *column;
	prepare(to);
	return NULL;
}

/* Keeps a field's column for later; what it must agree with is checked when all are known. */
static const char *add_field_column(struct columns *columns, const struct column *column)
{
	int is_good = check_column(column);

	if (is_good == 0)
		return "a column does not hold the values it claims";
	if (is_good < 0 || column->field >= SCHEMA_FIELDS || column->tag > 255) {
		columns->skipped++;
		return NULL;
	}
	if (columns->has[column->tag] >> column->field & 1)
		return "two columns are the same";
	columns->has[column->tag] |= UINT32_C(1) << column->field;
	if (columns->field_count % 16 == 0) {
		struct column *more = realloc(columns->fields, (columns->field_count + 16) * sizeof *more);

		if (more == NULL)
			return "no memory for the block";
		columns->fields = more;
	}
	columns->fields[columns->field_count] = *column;
	prepare(&columns->fields[columns->field_count++]);
	return NULL;
}

static const char *take_columns(struct columns *columns)
{
	uint32_t counts[2];
	size_t at = sizeof counts;
	const char *reason = NULL;

	if (columns->raw_bytes < sizeof counts)
		return "the block is too short";
	memcpy(counts, columns->raw, sizeof counts);
	columns->records = counts[0];
	/* Every record has a time of its own, at least a byte, so a small block cannot claim many. */
	if (columns->records > EVENTS_RECORDS_MAX || columns->records > columns->raw_bytes)
		return "the block claims an impossible number of records";
	for (uint32_t i = 0; i < counts[1] && reason == NULL; i++) {
		struct column column;

		if (take_column(columns, &at, &column) != 0)
			return "a column reaches beyond the block";
		reason = column.tag == 0 ? add_frame_column(columns, &column) : add_field_column(columns, &column);
	}
	if (reason == NULL && columns->records > 0 && (columns->tags.end == NULL || columns->times.end == NULL))
		reason = "the block has no column of kinds or times";
	return reason;
}

static void count_tags(struct columns *columns)
{
	const struct column *tags = &columns->tags;

	if (tags->encoding == TFP_ENCODE_CONST)
		columns->of_tag[tags->last & 255] = columns->records;
	else
		for (const uint8_t *at = tags->at; at < tags->end; at++)
			columns->of_tag[*at]++;
}

/* The heap column needs the sizes; without them it cannot be read. */
static const char *prepare_heap(struct columns *columns, const struct column *column)
{
	uint32_t events = columns->of_tag[TAG_ALLOC] + columns->of_tag[TAG_FREE];
	int has_sizes = columns->of_tag[TAG_ALLOC] == 0;

	for (size_t i = 0; i < columns->field_count; i++)
		has_sizes |= columns->fields[i].tag == TAG_ALLOC && columns->fields[i].field == FIELD_REQUESTED;
	if (column->values != events)
		return "the heap column does not fit the records";
	if (!has_sizes) {
		columns->skipped++;
		return NULL;
	}
	columns->heap = heapcode_make(column->encoding, column->at, (size_t)(column->end - column->at), events);
	return columns->heap == NULL ? "no memory for the block" : NULL;
}

/* Every column has a value for each of its records. */
static const char *check_counts(struct columns *columns)
{
	const char *reason = NULL;

	if (columns->low_times.end != NULL &&
	    columns->low_times.values != columns->records - columns->of_tag[TAG_ALLOC] - columns->of_tag[TAG_FREE])
		reason = "the column of low bits of times does not fit the records";
	for (size_t i = 0; i < columns->field_count && reason == NULL; i++) {
		const struct column *column = &columns->fields[i];

		if (is_of_addresses(column))
			reason = prepare_heap(columns, column);
		else if (column->values != columns->of_tag[column->tag])
			reason = "a column does not fit the records";
	}
	return reason;
}

struct columns *columns_open(uint8_t *raw, size_t raw_bytes, unsigned time_shift, const char **reason)
{
	struct columns *columns = calloc(1, sizeof *columns);

	*reason = "no memory for the block";
	if (columns == NULL) {
		free(raw);
		return NULL;
	}
	columns->raw = raw;
	columns->raw_bytes = raw_bytes;
	columns->time_shift = time_shift;
	*reason = time_shift > 32 ? "the time shift is impossible" : take_columns(columns);
	if (*reason == NULL && columns->records > 0) {
		count_tags(columns);
		*reason = check_counts(columns);
	}
	if (*reason == NULL)
		return columns;
	columns_close(columns);
	return NULL;
}

void columns_close(struct columns *columns)
{
	if (columns == NULL)
		return;
	heapcode_free(columns->heap);
	free(columns->fields);
	free(columns->raw);
	free(columns);
}

void columns_want(struct columns *columns, const uint32_t fields[256])
{
	int is_heap = fields[TAG_ALLOC] != 0 || fields[TAG_FREE] != 0; /* their columns need each other */
	size_t kept = 0;

	for (size_t i = 0; i < columns->field_count; i++) {
		const struct column *column = &columns->fields[i];

		int is_of_heap = column->tag == TAG_ALLOC || column->tag == TAG_FREE;

		if (is_of_heap ? is_heap : (int)(fields[column->tag] >> column->field & 1))
			columns->fields[kept++] = *column;
	}
	columns->field_count = kept;
	if (!is_heap) {
		heapcode_free(columns->heap);
		columns->heap = NULL;
	}
}

/* A difference of either sign: 0, -1, 1, -2, ... */
static inline uint64_t unfold(uint64_t number)
{
	return (number >> 1) ^ (0 - (number & 1));
}

/* The next values of a varint column, or sums of its differences: many of one or two bytes. Made twice, so that neither asks which. */
static inline __attribute__((always_inline)) void take_numbers(struct column *column, uint64_t *to, size_t count, int is_delta)
{
	const uint8_t *at = column->at;
	uint64_t last = column->last;
	size_t i = 0;

	while (i < count && column->end - at >= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		if ((word & VARINT_HIGH_BITS) == 0 && count - i >= 8) {
#pragma GCC unroll 8
			for (unsigned k = 0; k < 8; k++)
				to[i + k] = is_delta ? last += unfold(at[k]) : at[k];
			at += 8;
			i += 8;
		} else if ((word & VARINT_HIGH_BITS) == VARINT_PAIRS && count - i >= 4) {
			word = (word & UINT64_C(0x007f007f007f007f)) | (word >> 1 & UINT64_C(0x3f803f803f803f80));
#pragma GCC unroll 4
			for (unsigned k = 0; k < 4; k++, word >>= 16)
				to[i + k] = is_delta ? last += unfold(word & 0xffff) : word & 0xffff;
			at += 8;
			i += 4;
		} else {
			at = varint_take_near(at, word, &word);
			to[i++] = is_delta ? last += unfold(word) : word;
		}
	}
	for (; i < count; i++)
		to[i] = is_delta ? last += unfold(varint_take(&at)) : varint_take(&at);
	column->at = at;
	column->last = last;
}

static void take_varints(struct column *column, uint64_t *to, size_t count)
{
	take_numbers(column, to, count, 0);
}

static void take_deltas(struct column *column, uint64_t *to, size_t count)
{
	take_numbers(column, to, count, 1);
}

static void take_steps(struct column *column, uint64_t *to, size_t count)
{
	uint64_t last = column->last, step = column->step;
	uint32_t kept = column->kept;
	size_t i = 0;

	while (i < count) {
		if (kept == 0 && step != 0) {
			to[i++] = last += step;
			step = 0;
		} else if (kept != 0 || column->at == column->end) { /* behind the last byte all rows keep the time */
			size_t rows = column->at == column->end && kept == 0 ? count - i : kept < count - i ? kept : count - i;

			for (size_t k = 0; k < rows; k++)
				to[i + k] = last;
			i += rows;
			kept -= kept != 0 ? (uint32_t)rows : 0;
		} else {
			column->at = take_step(column->at, column->end, &kept, &step);
		}
	}
	column->last = last;
	column->step = step;
	column->kept = kept;
}

static void take_sparse(struct column *column, uint64_t *to, size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < count; i++)
		to[i] = column->last;
	while (column->kept < count - done) {
		done += column->kept;
		to[done++] = column->step;
		seek_unusual(column);
	}
	if (column->kept != UINT32_MAX)
		column->kept -= (uint32_t)(count - done);
}

static void take_values(struct column *column, uint64_t *to, size_t count)
{
	switch (column->encoding) {
	case TFP_ENCODE_VARINT:
		take_varints(column, to, count);
		break;
	case TFP_ENCODE_DELTA:
		take_deltas(column, to, count);
		break;
	case TFP_ENCODE_SPARSE:
		take_sparse(column, to, count);
		break;
	default:
		for (size_t i = 0; i < count; i++)
			to[i] = *column->at++;
	}
}

/* Usable minus requested sizes; the requested ones were decoded before. */
static void take_slack(struct column *column, const uint64_t *requested, uint64_t *to, size_t count)
{
	int is_sparse = column->encoding == TFP_ENCODE_SPARSE_SLACK;
	int is_usual = is_sparse ? column->kept == UINT32_MAX : column->at == column->end && !column->last; /* no bytes from the start */

	if (!is_usual && is_sparse)
		take_sparse(column, to, count);
	else if (!is_usual)
		take_varints(column, to, count);
	column->last = !is_usual && !is_sparse; /* the next batch must not take an emptied column for one without bytes */
	for (size_t i = 0; i < count; i++) {
		uint64_t beyond = is_usual ? 0 : (to[i] >> 1) ^ (0 - (to[i] & 1));

		to[i] = beyond + tfp_usual_slack(requested ? requested[i] : 0);
	}
}

/* Addresses of allocations and releases in the order of the records; the sizes were decoded before. */
static int take_heap(struct columns *columns, struct batch *batch)
{
	struct batch_kind *alloc = batch->kinds[TAG_ALLOC], *release = batch->kinds[TAG_FREE];
	uint64_t *of_alloc = NULL, *of_release = NULL;

	if (alloc != NULL && alloc->count > 0)
		of_alloc = batch_field(batch, alloc, FIELD_ADDRESS);
	if (release != NULL && release->count > 0)
		of_release = batch_field(batch, release, FIELD_ADDRESS);
	if ((alloc != NULL && alloc->count > 0 && of_alloc == NULL) ||
	    (release != NULL && release->count > 0 && of_release == NULL))
		return -1;
	heapcode_decode(columns->heap, batch->tags, batch->count, of_alloc != NULL ? alloc->values[FIELD_REQUESTED] : NULL,
			of_alloc, of_release);
	return 0;
}

/*
 * Times are cut by time_shift; those of all records but alloc and free get their low bits back. An alloc or free in the same
 * unit as an exact time before it is put at that time: records stay in order.
 */
static void add_low(struct columns *columns, struct batch *batch, size_t count)
{
	uint64_t unit = UINT64_C(1) << columns->time_shift, last = columns->last_time;

	for (size_t i = 0; i < count; i++) {
		if (batch->tags[i] != TAG_ALLOC && batch->tags[i] != TAG_FREE)
			batch->times[i] += varint_take(&columns->low_times.at);
		else if (last - batch->times[i] < unit)
			batch->times[i] = last;
		last = batch->times[i];
	}
	columns->last_time = last;
}

/* Kinds and times. The batch has room for all; only a kind that is new to it may need memory. */
static int take_records(struct columns *columns, struct batch *batch, size_t count)
{
	struct column *tags = &columns->tags;

	if (columns->times.encoding == TFP_ENCODE_STEPS)
		take_steps(&columns->times, batch->times, count);
	else
		take_deltas(&columns->times, batch->times, count);
	for (size_t i = 0; columns->time_shift != 0 && i < count; i++)
		batch->times[i] <<= columns->time_shift;
	if (tags->encoding == TFP_ENCODE_CONST) {
		memset(batch->tags, (uint8_t)tags->last, count);
	} else {
		memcpy(batch->tags, tags->at, count);
		tags->at += count;
	}
	if (columns->low_times.end != NULL)
		add_low(columns, batch, count);
	return batch_number_rows(batch, count);
}

/* Whether the next rows of a column all hold column->last; a sparse one goes on by so many rows. */
static int take_same(struct column *column, size_t count)
{
	if (column->encoding == TFP_ENCODE_CONST)
		return 1;
	if (column->encoding != TFP_ENCODE_SPARSE || column->kept < count)
		return 0;
	if (column->kept != UINT32_MAX)
		column->kept -= (uint32_t)count;
	return 1;
}

/* Decodes the columns that stand alone, or those that need the sizes. */
static int take_fields(struct columns *columns, struct batch *batch, int is_slack)
{
	for (size_t i = 0; i < columns->field_count; i++) {
		struct column *column = &columns->fields[i];
		struct batch_kind *kind = batch->kinds[column->tag];
		uint64_t *to;

		if (is_of_addresses(column) || kind == NULL || kind->count == 0 ||
		    is_slack != (column->encoding == TFP_ENCODE_SLACK || column->encoding == TFP_ENCODE_SPARSE_SLACK))
			continue;
		if (take_same(column, kind->count)) {
			if (batch_fill(batch, kind, column->field, column->last) != 0)
				return -1;
			continue;
		}
		to = batch_field(batch, kind, column->field);
		if (to == NULL)
			return -1;
		if (is_slack)
			take_slack(column, kind->present >> FIELD_REQUESTED & 1 ? kind->values[FIELD_REQUESTED] : NULL, to,
				   kind->count);
		else
			take_values(column, to, kind->count);
	}
	return 0;
}

int columns_next(struct columns *columns, struct batch *batch)
{
	size_t count = columns->records - columns->done;

	if (count > BATCH_RECORDS)
		count = BATCH_RECORDS;
	if (batch_begin(batch, count) != 0)
		return -1;
	if (count == 0) /* the batch may have no arrays yet */
		return 0;
	if (take_records(columns, batch, count) != 0 || take_fields(columns, batch, 0) != 0 || take_fields(columns, batch, 1) != 0)
		return -1;
	if (columns->heap != NULL && take_heap(columns, batch) != 0)
		return -1;
	columns->done += (uint32_t)count;
	return (int)count;
}
