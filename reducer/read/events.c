/* SPDX-License-Identifier: Apache-2.0 */
/* The records of an events block or a chunk. See events.h. */
#include "reducer/read/events.h"

#include "reducer/read/columns.h"
#include "reducer/read/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN_UP "the program gave these records up (TFPROF_FULL=wrap) while its log was read"
#define LOAD_BYTES 8u /* read at once, whatever the type: so many stand behind the records of a chunk */

/* How the wanted fields of a kind are taken from its raw records. */
struct raw_kind {
	uint32_t count, wanted; /* wanted: bit i: field i */
	struct raw_field {
		uint64_t mask;
		uint32_t offset, field;
	} fields[SCHEMA_FIELDS];
};

struct events {
	const struct log *log;
	struct columns *columns; /* of an events block; NULL = a chunk */
	uint8_t *raw;            /* records of a chunk; owned */
	uint64_t place;          /* offset of `raw` in the file */
	size_t raw_bytes, raw_done;
	struct events_skipped skipped;
	const uint32_t *fields;  /* of a chunk: those that are wanted, by tag; NULL = all */
	uint64_t seen[4];	 /* of a chunk: kinds of records that were given, as events_kinds has them */
	struct raw_kind *kinds[256]; /* by tag; NULL = none was taken yet */
};

static struct events *fail(struct events *events, uint64_t offset, enum diag_level level, const char *reason)
{
	diag_add(events->log->diags, level, events->log->path, offset, "", "%s", reason);
	events_close(events);
	return NULL;
}

static struct events *open_block(struct events *events, const struct log_block *block)
{
	const char *reason;
	size_t bytes;
	uint8_t *raw = log_sealed_quietly(events->log, block, &bytes);

	if (raw == NULL && log_is_given_up(events->log, block->offset))
		return fail(events, block->offset, DIAG_NOTE, GIVEN_UP);
	if (raw == NULL) {
		free(log_sealed(events->log, block, &bytes)); /* says what is wrong with it */
		events_close(events);
		return NULL;
	}
	events->columns = columns_open(raw, bytes, block->header.time_shift, &reason);
	if (events->columns == NULL)
		return fail(events, block->offset, DIAG_DAMAGE, reason);
	events->skipped.columns = events->columns->skipped;
	return events;
}

/* Takes head and records of a chunk at once; a process that still runs may give it other records at any moment. */
static struct events *open_chunk(struct events *events, const struct log_block *block, uint64_t sequence)
{
	const struct log *log = events->log;
	struct tfp_chunk chunk = {0}, after = {0};
	uint64_t room = block->payload_bytes < sizeof chunk ? 0 : block->payload_bytes - sizeof chunk;

	if (log_pread(log, block->payload, &chunk, sizeof chunk) < sizeof chunk)
		return fail(events, block->offset, DIAG_DAMAGE, "the chunk is cut off");
	if (chunk.used > room)
		diag_add(log->diags, DIAG_DAMAGE, log->path, block->offset, "",
			 "the chunk claims %" PRIu64 " bytes of records, %" PRIu64 " are there", chunk.used, room);
	events->raw_bytes = chunk.used < room ? chunk.used : room;
	if (events->raw_bytes > TFP_RAW_MAX)
		return fail(events, block->offset, DIAG_DAMAGE, "the chunk claims an impossible size");
	events->place = block->payload + sizeof chunk;
	events->raw = malloc(events->raw_bytes + LOAD_BYTES);
	if (events->raw == NULL)
		return fail(events, block->offset, DIAG_DAMAGE, "no memory for the chunk");
	events->raw_bytes = log_pread(log, events->place, events->raw, events->raw_bytes);
	if (log_pread(log, block->payload, &after, sizeof after) < sizeof after || after.sequence != sequence ||
	    chunk.sequence != sequence)
		return fail(events, block->offset, DIAG_NOTE, "the program went on while its log was read; read it again for more");
	return events;
}

/* What the chunk held at the moment of which the log is read. */
static struct events *open_copy(struct events *events, const struct log_block *block, const struct moment_chunk *copy)
{
	events->place = block->payload + sizeof(struct tfp_chunk);
	events->raw_bytes = copy->bytes;
	events->raw = malloc(copy->bytes + LOAD_BYTES);
	if (events->raw == NULL)
		return fail(events, block->offset, DIAG_DAMAGE, "no memory for the chunk");
	memcpy(events->raw, copy->raw, copy->bytes);
	return events;
}

struct events *events_open(const struct log *log, const struct log_part *part)
{
	struct events *events = calloc(1, sizeof *events);
	struct log_block block;

	if (events == NULL) {
		diag_add(log->diags, DIAG_DAMAGE, log->path, LOG_PART_OFFSET(part), "", "no memory for the block");
		return NULL;
	}
	events->log = log;
	if (log_block_at(log, LOG_PART_OFFSET(part), &block) != 0)
		return log_is_given_up(log, LOG_PART_OFFSET(part))
			       ? fail(events, LOG_PART_OFFSET(part), DIAG_NOTE, GIVEN_UP)
			       : fail(events, LOG_PART_OFFSET(part), DIAG_DAMAGE, "the block cannot be read any more");
	if (!LOG_PART_IS_CHUNK(part))
		return open_block(events, &block);
	const struct moment_chunk *copy = moment_find(log->moment, LOG_PART_OFFSET(part), part->sequence);
	return copy != NULL ? open_copy(events, &block, copy) : open_chunk(events, &block, part->sequence);
}

void events_close(struct events *events)
{
	if (events == NULL)
		return;
	columns_close(events->columns);
	for (size_t tag = 0; events->columns == NULL && tag < 256; tag++)
		if (events->kinds[tag] != NULL) /* of a short chunk the 256 calls would be most of the work */
			free(events->kinds[tag]);
	free(events->raw);
	free(events);
}

const struct events_skipped *events_skipped(const struct events *events)
{
	return &events->skipped;
}

/* The schema's record at the start of `raw`, or NULL when its bytes make no sense. */
static const struct schema_record *raw_record(const struct events *events, size_t at)
{
	const struct schema_record *record = events->log->schema->records[events->raw[at]];

	if (record == NULL || record->is_fact || record->raw_bytes > events->raw_bytes - at)
		return NULL;
	return record;
}

void events_kinds(const struct events *events, uint64_t bits[4])
{
	for (size_t tag = 0; events->columns != NULL && tag < 256; tag++)
		bits[tag / 64] |= (uint64_t)(events->columns->of_tag[tag] != 0) << tag % 64;
	for (size_t i = 0; i < 4; i++)
		bits[i] |= events->seen[i];
}

int events_meet(const struct events *events, const uint64_t bits[4])
{
	const struct schema_record *record;

	for (size_t tag = 0; events->columns != NULL && tag < 256; tag++)
		if (events->columns->of_tag[tag] != 0 && (bits[tag / 64] >> tag % 64 & 1))
			return 1;
	for (size_t at = 0; events->columns == NULL && events->raw_bytes - at >= 8; at += record->raw_bytes) {
		record = raw_record(events, at);
		if (record == NULL)
			return 0;
		if (bits[record->tag / 64] >> record->tag % 64 & 1)
			return 1;
	}
	return 0;
}

void events_want(struct events *events, const uint32_t fields[256])
{
	events->fields = fields;
	if (events->columns != NULL)
		columns_want(events->columns, fields);
}

/* A kind's first record in a batch makes room for the fields of all of them: the same ones are wanted. */
static int make_fields(struct batch *batch, struct batch_kind *kind, uint32_t wanted)
{
	for (; wanted != 0; wanted &= wanted - 1)
		if (batch_field(batch, kind, (uint32_t)__builtin_ctz(wanted)) == NULL)
			return -1;
	return 0;
}

/* The kind of a record whose like was not met before. NULL without memory. */
static const struct raw_kind *make_raw_kind(struct events *events, const struct schema_record *record)
{
	static const uint64_t masks[] = {
		[TYPE_U8] = UINT8_MAX, [TYPE_U16] = UINT16_MAX, [TYPE_U32] = UINT32_MAX, [TYPE_U64] = UINT64_MAX, [TYPE_I64] = UINT64_MAX};
	struct raw_kind *kind = calloc(1, sizeof *kind);

	if (kind == NULL)
		return NULL;
	kind->wanted = (events->fields == NULL ? UINT32_MAX : events->fields[record->tag]) &
		       (uint32_t)((UINT64_C(1) << record->field_count) - 1);
	for (uint32_t left = kind->wanted; left != 0; left &= left - 1) {
		uint32_t field = (uint32_t)__builtin_ctz(left);

		kind->fields[kind->count++] = (struct raw_field){
			.mask = masks[record->fields[field].type], .offset = record->fields[field].offset, .field = field};
	}
	events->seen[record->tag / 64] |= UINT64_C(1) << record->tag % 64;
	events->kinds[record->tag] = kind;
	return kind;
}

static inline int take_raw(struct events *events, struct batch *batch, const struct schema_record *record)
{
	const uint8_t *raw = events->raw + events->raw_done;
	const struct raw_kind *how = events->kinds[raw[0]];
	struct batch_kind *kind;
	uint64_t word;
	size_t row;

	if (how == NULL && (how = make_raw_kind(events, record)) == NULL)
		return -1;
	memcpy(&word, raw, LOAD_BYTES); /* lowest byte first, as all of the log */
	kind = batch_add(batch, raw[0], word >> TFP_TAG_BITS);
	if (kind == NULL || (kind->count == 1 && make_fields(batch, kind, how->wanted) != 0))
		return -1;
	row = kind->count - 1;
	for (const struct raw_field *field = how->fields; field < how->fields + how->count; field++) {
		memcpy(&word, raw + field->offset, LOAD_BYTES);
		kind->values[field->field][row] = word & field->mask;
	}
	events->raw_done += record->raw_bytes;
	return 0;
}

static int raw_next(struct events *events, struct batch *batch)
{
	size_t left = (events->raw_bytes - events->raw_done) / 8;

	if (batch_begin(batch, left < BATCH_RECORDS ? left : BATCH_RECORDS) != 0)
		return -1;
	while (batch->count < BATCH_RECORDS && events->raw_bytes - events->raw_done >= 8) {
		const struct schema_record *record = raw_record(events, events->raw_done);

		if (record == NULL) {
			diag_add(events->log->diags, DIAG_DAMAGE, events->log->path, events->place + events->raw_done, "",
				 "a record of kind %u makes no sense; the %zu bytes from here on are skipped",
				 events->raw[events->raw_done], events->raw_bytes - events->raw_done);
			events->raw_done = events->raw_bytes;
			break;
		}
		if (take_raw(events, batch, record) != 0)
			return -1;
	}
	return (int)batch->count;
}

int events_next(struct events *events, struct batch *batch)
{
	return events->columns != NULL ? columns_next(events->columns, batch) : raw_next(events, batch);
}
