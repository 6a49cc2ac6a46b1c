/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column encoding of a chunk; see writer/encode.h and docs/format.md. One pass over the records to sort them by kind,
 * then a pass a column. Rule: every byte written stands in memory that tfp_scratch_bytes accounted for.
 *
 *   scratch: | struct tfp_scratch | offsets by record | offsets by kind | heap code | LZ4 state | columns | header, payload |
 */
#include "writer/encode.h"

#include "writer/heapcode.h"
#include "writer/records.h"
#include "writer/sys.h"

#include <lz4.h>
#include <stddef.h>

enum { TAGS = 128 }; /* event tags are below; facts begin there */

struct field {
	uint8_t tag, index, width, transform;
	uint16_t offset;
};

enum transform { T_plain, T_delta, T_heap };

#define TFP_FACT(tag, name, help)
#define TFP_END()
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_EVENT(tag, name, help) [tag] = sizeof(struct tfp_record_##name),
static const uint8_t record_bytes[TAGS] = {
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FIELD
#define TFP_EVENT(tag, name, help)
#define TFP_FIELD(name, type, unit, transform, help) +1
enum { MOST_COLUMNS = 2
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END

struct tfp_scratch {
	uint32_t count[TAGS], next[TAGS];
	struct tfp_heapcode heap;
	uint8_t *heap_memory;
	const uint32_t *offsets; /* of all records, in their order */
	uint32_t records;
};

struct output {
	uint8_t *at;
	uint32_t columns;
};

static size_t most_records(size_t bytes)
{
	return bytes / 8 + 1; /* the smallest record is one word */
}

/* Alloc and free records in that many bytes: a free is the smaller. */
static size_t most_heap(size_t bytes)
{
	return bytes / sizeof(struct tfp_record_free) + 1;
}

/* Columns of n raw bytes: a varint is at most 10 bytes for 8 of u64, 3 for 2 of u16, 2 for 1 of u8: at most double. */
static size_t column_bytes(size_t bytes)
{
	return 8 + bytes * 2 + most_records(bytes) * 11 + MOST_COLUMNS * sizeof(struct tfp_column_header);
}

size_t tfp_scratch_bytes(size_t chunk_bytes)
{
	size_t columns = column_bytes(chunk_bytes);

	return sizeof(struct tfp_scratch) + 2 * most_records(chunk_bytes) * sizeof(uint32_t) +
	       tfp_heapcode_memory((uint32_t)most_heap(chunk_bytes)) + LZ4_STREAM_MINSIZE + columns +
	       sizeof(struct tfp_block_header) + (size_t)LZ4_COMPRESSBOUND(columns) + 64;
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t load(const uint8_t *from, unsigned width)
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

/* Varints of a column; `width` and `is_delta` are constants where it is inlined. Returns the end; *or_all: 0 if all equal. */
static inline __attribute__((always_inline)) uint8_t *put_values(uint8_t *at, const uint8_t *records, const uint32_t *offsets,
								 uint32_t count, unsigned width, int is_delta,
								 uint64_t *or_all)
{
	uint64_t first = load(records + offsets[0], width), before = 0, changed = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = load(records + offsets[i], width);
		changed |= value ^ first;
		at = put_varint(at, is_delta ? zigzag(value - before) : value);
		before = value;
	}
	*or_all = changed;
	return at;
}

static uint8_t *put_any(uint8_t *at, const uint8_t *records, const uint32_t *offsets, uint32_t count, unsigned width,
			int is_delta, uint64_t *changed)
{
	switch (width << 1 | (unsigned)is_delta) {
	case 1 << 1:
		return put_values(at, records, offsets, count, 1, 0, changed);
	case 2 << 1:
		return put_values(at, records, offsets, count, 2, 0, changed);
	case 4 << 1:
		return put_values(at, records, offsets, count, 4, 0, changed);
	case 4 << 1 | 1:
		return put_values(at, records, offsets, count, 4, 1, changed);
	case 8 << 1:
		return put_values(at, records, offsets, count, 8, 0, changed);
	default:
		return put_values(at, records, offsets, count, width, is_delta, changed);
	}
}

static void end_column(struct output *out, uint8_t *header_at, struct tfp_column_header header, const uint8_t *end)
{
	header.bytes = (uint32_t)(end - header_at - sizeof header);
	__builtin_memcpy(header_at, &header, sizeof header);
	out->at = header_at + sizeof header + header.bytes;
	out->columns++;
}

/* Addresses of alloc and free in one column, coded by what an allocator does next. */
static void put_heap(struct output *out, struct tfp_scratch *scratch, const uint8_t *records)
{
	uint32_t events = scratch->count[TFP_TAG_alloc] + scratch->count[TFP_TAG_free];
	struct tfp_column_header header = {.tag = TFP_TAG_alloc, .encoding = TFP_ENCODE_HEAP, .value_count = events};
	uint8_t *start = out->at;

	tfp_heapcode_begin(&scratch->heap, scratch->heap_memory, events, start + sizeof header);
	for (uint32_t i = 0; i < scratch->records; i++) {
		const uint8_t *record = records + scratch->offsets[i];
		const struct tfp_record_alloc *alloc = (const void *)record;
		if (*record == TFP_TAG_alloc)
			tfp_heapcode_alloc(&scratch->heap, alloc->address, alloc->requested);
		else if (*record == TFP_TAG_free)
			tfp_heapcode_free(&scratch->heap, ((const struct tfp_record_free *)(const void *)record)->address);
	}
	end_column(out, start, header, scratch->heap.out);
}

static void put_field(struct output *out, struct tfp_scratch *scratch, const uint8_t *records, const uint32_t *by_kind,
		      const struct field *field)
{
	uint32_t count = scratch->count[field->tag];
	const uint32_t *offsets = by_kind + scratch->next[field->tag] - count;
	struct tfp_column_header header = {.tag = field->tag, .field = field->index, .value_count = count};
	uint8_t *start = out->at, *data = start + sizeof header;
	uint64_t changed;
	int is_delta = field->transform != T_plain;

	if (field->transform == T_heap && scratch->count[TFP_TAG_alloc]) {
		if (field->tag == TFP_TAG_alloc)
			put_heap(out, scratch, records);
		return; /* the releases stand in the same column */
	}
	uint8_t *end = put_any(data, records + field->offset, offsets, count, field->width, is_delta, &changed);

	header.encoding = is_delta ? TFP_ENCODE_DELTA : TFP_ENCODE_VARINT;
	if (!changed) {
		header.encoding = TFP_ENCODE_CONST;
		end = put_varint(data, load(records + field->offset + offsets[0], field->width));
	}
	end_column(out, start, header, end);
}

/* The tag and time columns, and where each record lies. Returns the number of records. */
static uint32_t list_records(struct tfp_scratch *scratch, const uint8_t *records, size_t bytes, uint32_t *offsets)
{
	uint32_t count = 0;
	size_t at = 0;

	tfp_fill(scratch, 0, sizeof *scratch);
	while (at < bytes) {
		uint8_t tag = records[at];
		size_t size = tag < TAGS ? record_bytes[tag] : 0;
		if (!size || at + size > bytes)
			break;
		offsets[count++] = (uint32_t)at;
		scratch->count[tag]++;
		at += size;
	}
	return count;
}

static void put_tags(struct output *out, const uint8_t *records, const uint32_t *offsets, uint32_t count)
{
	struct tfp_column_header header = {.encoding = TFP_ENCODE_BYTES, .value_count = count};
	uint8_t *start = out->at, *at = start + sizeof header;

	for (uint32_t i = 0; i < count; i++)
		*at++ = records[offsets[i]];
	end_column(out, start, header, at);
}

static void put_times(struct output *out, const uint8_t *records, const uint32_t *offsets, uint32_t count, unsigned shift)
{
	struct tfp_column_header header = {.field = 1, .encoding = TFP_ENCODE_DELTA, .value_count = count};
	uint8_t *start = out->at, *at = start + sizeof header;
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t time = load(records + offsets[i], 8) >> TFP_TAG_BITS >> shift;
		at = put_varint(at, zigzag(time - before));
		before = time;
	}
	end_column(out, start, header, at);
}

/* Offsets sorted by kind: by_kind[next[tag] - count[tag] .. next[tag]) afterwards. */
static void sort_by_kind(struct tfp_scratch *scratch, const uint8_t *records, const uint32_t *offsets, uint32_t count,
			 uint32_t *by_kind)
{
	uint32_t start = 0;

	for (unsigned tag = 0; tag < TAGS; tag++) {
		scratch->next[tag] = start;
		start += scratch->count[tag];
	}
	for (uint32_t i = 0; i < count; i++)
		by_kind[scratch->next[records[offsets[i]]]++] = offsets[i];
}

/* Every field of every kind of record that occurs, in the order of records.def. */
static void put_fields(struct output *out, struct tfp_scratch *scratch, const uint8_t *records, const uint32_t *by_kind)
{
#define TFP_EVENT(tag, name, help) \
	if (scratch->count[tag]) { \
		typedef struct tfp_record_##name record; \
		const uint8_t kind = tag; \
		uint8_t index = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
	put_field(out, scratch, records, by_kind, \
		  &(struct field){kind, index++, sizeof(((record *)0)->name), T_##transform, offsetof(record, name)});
#define TFP_END() \
	(void)kind, (void)index, (void)sizeof(record); \
	}
#define TFP_FACT(tag, name, help) \
	if (0) { \
		typedef struct tfp_fact_##name record; \
		const uint8_t kind = 0; \
		uint8_t index = 0;
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FIELD
#undef TFP_END
#undef TFP_FACT
}

static int is_heap_only(const struct tfp_scratch *scratch, uint32_t count)
{
	return scratch->count[TFP_TAG_alloc] + scratch->count[TFP_TAG_free] + scratch->count[TFP_TAG_free_undo] +
		       scratch->count[TFP_TAG_usable] ==
	       count;
}

void *tfp_encode(struct tfp_scratch *scratch, size_t scratch_bytes, const uint8_t *records, size_t bytes,
		 uint32_t heap_time_shift, struct tfp_block_header *header)
{
	uint32_t *offsets = (uint32_t *)(scratch + 1);
	uint32_t *by_kind = offsets + most_records(bytes);
	uint8_t *heap_memory = (uint8_t *)(((uintptr_t)(by_kind + most_records(bytes)) + 15) & ~(uintptr_t)15);
	uint8_t *lz4_state = heap_memory + ((tfp_heapcode_memory((uint32_t)most_heap(bytes)) + 15) & ~(size_t)15);
	uint8_t *columns = lz4_state + LZ4_STREAM_MINSIZE;
	struct output out = {.at = columns + 8};

	uint32_t count = list_records(scratch, records, bytes, offsets);
	sort_by_kind(scratch, records, offsets, count, by_kind);
	scratch->heap_memory = heap_memory;
	scratch->offsets = offsets;
	scratch->records = count;
	header->records = count;
	header->time_shift = is_heap_only(scratch, count) ? (uint16_t)heap_time_shift : 0;
	header->first_time = count ? load(records + offsets[0], 8) >> TFP_TAG_BITS : 0;
	header->last_time = count ? load(records + offsets[count - 1], 8) >> TFP_TAG_BITS : 0;
	put_tags(&out, records, offsets, count);
	put_times(&out, records, offsets, count, header->time_shift);
	put_fields(&out, scratch, records, by_kind);
	uint32_t counts[2] = {count, out.columns};
	__builtin_memcpy(columns, counts, sizeof counts);

	uint8_t *space = (uint8_t *)(((uintptr_t)out.at + 7) & ~(uintptr_t)7);
	uint8_t *payload = space + sizeof *header;
	size_t room = (size_t)((uint8_t *)scratch + scratch_bytes - 8 - payload);
	header->raw_bytes = (uint64_t)(out.at - columns);
	int packed = LZ4_compress_fast_extState(lz4_state, (const char *)columns, (char *)payload, (int)header->raw_bytes,
						(int)room, 1);
	header->codec = packed > 0 ? TFP_CODEC_LZ4 : TFP_CODEC_NONE;
	header->encoded_bytes = packed > 0 ? (uint64_t)packed : header->raw_bytes;
	if (packed <= 0)
		tfp_copy(payload, columns, header->raw_bytes);
	return space;
}
