/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of fields: a pass a field over the records of its kind. See writer/encode.h and docs/format.md.
 * Rule: as in encode.c.
 */
#include "writer/encode_parts.h"

#include "writer/sys.h"
#include "writer/varint.h"

enum transform { T_plain, T_delta, T_heap, T_slack };

struct field {
	uint8_t tag, width, transform;
	uint16_t offset;
};

void tfp_end_column(struct tfp_output *out, uint8_t *header_at, struct tfp_column_header header, const uint8_t *end)
{
	header.bytes = (uint32_t)(end - header_at - sizeof header);
	__builtin_memcpy(header_at, &header, sizeof header);
	out->at = header_at + sizeof header + header.bytes;
	out->columns++;
}

void tfp_put_ready(struct tfp_output *out, struct tfp_column_header header, const uint8_t *start, const uint8_t *end)
{
	size_t bytes = (size_t)(end - start);

	tfp_copy(out->at + sizeof header, start, bytes);
	tfp_end_column(out, out->at, header, out->at + sizeof header + bytes);
}

/* Varints of a column; `width` and `is_delta` are constants where it is inlined. Returns the end. */
static inline __attribute__((always_inline)) uint8_t *put_values(uint8_t *at, const uint8_t *records, const tfp_place *places,
								 uint32_t count, unsigned width, int is_delta)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = tfp_load(tfp_at(records, places[i]), width);
		at = width == 4 || is_delta ? tfp_put_any_varint(at, is_delta ? tfp_zigzag(value - before) : value)
					    : tfp_put_varint(at, value);
		before = value;
	}
	return at;
}

static uint8_t *put_any(uint8_t *at, const uint8_t *records, const tfp_place *places, uint32_t count, unsigned width,
			int is_delta)
{
	switch (width << 1 | (unsigned)is_delta) {
	case 1 << 1:
		return put_values(at, records, places, count, 1, 0);
	case 2 << 1:
		return put_values(at, records, places, count, 2, 0);
	case 4 << 1:
		return put_values(at, records, places, count, 4, 0);
	case 4 << 1 | 1:
		return put_values(at, records, places, count, 4, 1);
	case 8 << 1:
		return put_values(at, records, places, count, 8, 0);
	case 8 << 1 | 1:
		return put_values(at, records, places, count, 8, 1);
	default:
		return put_values(at, records, places, count, width, is_delta);
	}
}

/* Of alloc alone, zig-zag: what the usable size is beyond the usual rounding. */
static inline uint64_t slack_of(const uint8_t *record)
{
	const struct tfp_record_alloc *alloc = (const void *)record;

	return tfp_zigzag(alloc->slack - tfp_usual_slack(alloc->requested));
}

/* Rows between an unusual value and the one before, and the value: at most 16 bytes. */
static inline uint8_t *put_unusual(uint8_t *at, uint32_t *row_before, uint32_t row, uint64_t value)
{
	at = tfp_put_varint(at, row - *row_before);
	*row_before = row + 1;
	return tfp_put_varint(at, value);
}

/* Returns the end, or NULL where it would be longer than a byte a row. `values` points at a field of one byte. */
static uint8_t *put_sparse(uint8_t *at, const uint8_t *values, const tfp_place *places, uint32_t count)
{
	uint8_t usual = *tfp_at(values, places[0]), *limit = at + count / 16;
	uint32_t before = 0;

	at = tfp_put_varint(at, usual);
	for (uint32_t i = 0; i < count; i++) {
		if (__builtin_expect(*tfp_at(values, places[i]) == usual, 1))
			continue;
		at = put_unusual(at, &before, i, *tfp_at(values, places[i]));
		if (at > limit)
			return NULL;
	}
	return at;
}

/* Nothing at all where every slack is the usual one. */
static uint8_t *put_slack(uint8_t *start, const uint8_t *records, const tfp_place *places, uint32_t count, uint8_t *encoding)
{
	uint8_t *at = start;
	uint32_t before = 0;

	*encoding = TFP_ENCODE_SPARSE_SLACK;
	for (uint32_t i = 0; i < count && at <= start + count / 16; i++) {
		uint64_t beyond = slack_of(tfp_at(records, places[i]));
		if (__builtin_expect(beyond != 0, 0))
			at = put_unusual(at, &before, i, beyond);
	}
	if (at <= start + count / 16)
		return at;
	*encoding = TFP_ENCODE_SLACK;
	at = start;
	for (uint32_t i = 0; i < count; i++)
		at = tfp_put_varint(at, slack_of(tfp_at(records, places[i])));
	return at;
}

typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));

static inline pair pair_at(const uint8_t *from)
{
	return *(const pair *)(const void *)from;
}

/*
 * Which bits differ anywhere from those of the kind's first record: fields whose bits do not are constant. Four or two words
 * at a time; the lowest may hold the record's first word, which nobody asks for. `changed` covers a record.
 */
static __attribute__((noinline)) void find_changes(uint8_t *changed, const uint8_t *records, const tfp_place *places,
						   uint32_t count, uint32_t size)
{
	uint32_t at = size;

	for (; at >= 2 * sizeof(pair); ) {
		at -= 2 * (uint32_t)sizeof(pair);
		const uint8_t *words = records + at;
		const pair first = pair_at(tfp_at(words, places[0])), second = pair_at(tfp_at(words, places[0]) + sizeof(pair));
		pair differs = first ^ first, also = differs;
		for (uint32_t i = 1; i < count; i++) {
			const uint8_t *here = tfp_at(words, places[i]);
			differs |= pair_at(here) ^ first;
			also |= pair_at(here + sizeof(pair)) ^ second;
		}
		*(pair *)(void *)(changed + at) = differs;
		*(pair *)(void *)(changed + at + sizeof(pair)) = also;
	}
	while (at > sizeof(uint64_t)) {
		at = at > sizeof(pair) ? at - (uint32_t)sizeof(pair) : 0;
		const uint8_t *words = records + at;
		const pair first = pair_at(tfp_at(words, places[0]));
		pair differs = first ^ first;
		for (uint32_t i = 1; i < count; i++)
			differs |= pair_at(tfp_at(words, places[i])) ^ first;
		*(pair *)(void *)(changed + at) = differs;
	}
}

static const tfp_place *places_of(const struct tfp_scratch *scratch, const struct tfp_areas *areas, uint8_t tag)
{
	return tag == TFP_TAG_alloc ? areas->allocs : areas->by_kind + scratch->next[tag] - scratch->count[tag];
}

static void put_field(struct tfp_output *out, const struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records,
		      const struct field *field, uint8_t index)
{
	uint32_t count = scratch->count[field->tag];
	const tfp_place *places = places_of(scratch, areas, field->tag);
	const uint8_t *values = records + field->offset;
	struct tfp_column_header header = {.tag = field->tag, .field = index, .value_count = count};
	uint8_t *start = out->at, *data = start + sizeof header, *end;

	if (field->transform == T_slack) {
		end = put_slack(data, records, places, count, &header.encoding);
	} else if (!tfp_load(scratch->changed + field->offset, field->width)) {
		header.encoding = TFP_ENCODE_CONST;
		end = tfp_put_varint(data, tfp_load(tfp_at(values, places[0]), field->width));
	} else if (field->width == 1 && (end = put_sparse(data, values, places, count)) != NULL) {
		header.encoding = TFP_ENCODE_SPARSE;
	} else {
		int is_delta = field->transform == T_delta;
		header.encoding = is_delta ? TFP_ENCODE_DELTA : TFP_ENCODE_VARINT;
		end = put_any(data, values, places, count, field->width, is_delta);
	}
	tfp_end_column(out, start, header, end);
}

static const struct field slack_field = {TFP_TAG_alloc, 2, T_slack, offsetof(struct tfp_record_alloc, slack)};
static const struct field function_field = {TFP_TAG_alloc, 1, T_plain, offsetof(struct tfp_record_alloc, function)};

/* A field of allocations by a pass of its own: more of them are unusual than a list is good for. */
static void put_alloc_field(struct tfp_output *out, struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records,
			    size_t bytes, const struct field *field, uint8_t index)
{
	uint32_t count = 0;

	for (size_t at = 0; at < bytes && tfp_record_bytes[records[at]]; at += tfp_record_bytes[records[at]]) {
		areas->allocs[count] = tfp_place_of(records, records + at);
		count += records[at] == TFP_TAG_alloc && bytes - at >= sizeof(struct tfp_record_alloc);
	}
	scratch->count[TFP_TAG_alloc] = count;
	scratch->changed[field->offset] = 1;
	put_field(out, scratch, areas, records, field, index);
	scratch->count[TFP_TAG_alloc] = 0;
}

/* The bytes of a column's first value where all rows are the same: its bytes, and then `rest` times or zeros; else 0. */
static size_t bytes_of_same(const uint8_t *start, const uint8_t *end, uint32_t count, int is_delta)
{
	size_t first = 1;

	while (start[first - 1] & 0x80)
		first++;
	if ((size_t)(end - start) != (is_delta ? first + count - 1 : first * count))
		return 0;
	for (const uint8_t *at = start + first; at < end; at++)
		if (*at != (is_delta ? 0 : at[-(ptrdiff_t)first]))
			return 0;
	return first;
}

static void put_written(struct tfp_output *out, uint8_t index, const uint8_t *start, const uint8_t *end, uint32_t count, int is_delta)
{
	struct tfp_column_header header = {.tag = TFP_TAG_alloc, .field = index, .value_count = count};
	size_t same = bytes_of_same(start, end, count, is_delta);

	header.encoding = is_delta ? TFP_ENCODE_DELTA : TFP_ENCODE_VARINT;
	if (same && is_delta) { /* the first row is a difference to 0 */
		uint64_t value = 0;
		for (size_t i = 0; i < same; i++)
			value |= (uint64_t)(start[i] & 0x7f) << 7 * i;
		uint8_t *data = out->at + sizeof header;
		header.encoding = TFP_ENCODE_CONST;
		tfp_end_column(out, out->at, header, tfp_put_varint(data, value >> 1));
		return;
	}
	if (same)
		header.encoding = TFP_ENCODE_CONST;
	tfp_put_ready(out, header, start, same ? start + same : end);
}

void tfp_put_alloc_fields(struct tfp_output *out, struct tfp_scratch *scratch, const struct tfp_areas *areas,
			  const uint8_t *records, size_t bytes, const struct tfp_found *found)
{
	struct tfp_column_header slack = {TFP_TAG_alloc, 3, TFP_ENCODE_SPARSE_SLACK, {0}, found->allocs, 0};
	struct tfp_column_header function = {TFP_TAG_alloc, 4, TFP_ENCODE_SPARSE, {0}, found->allocs, 0};

	if (!found->allocs)
		return;
	put_written(out, 1, areas->sizes, found->sizes_end, found->allocs, 0);
	put_written(out, 2, areas->stacks, found->stacks_end, found->allocs, 1);
	if (found->slacks_end <= areas->slacks + found->allocs / 16)
		tfp_put_ready(out, slack, areas->slacks, found->slacks_end);
	else
		put_alloc_field(out, scratch, areas, records, bytes, &slack_field, 3);
	if (found->functions_end > areas->functions + found->allocs / 16) {
		put_alloc_field(out, scratch, areas, records, bytes, &function_field, 4);
		return;
	}
	/* The usual one, then the others. One value alone is the same in both encodings. */
	uint8_t *data = out->at + sizeof function, *at = tfp_put_varint(data, found->function);
	size_t unusual = (size_t)(found->functions_end - areas->functions);
	tfp_copy(at, areas->functions, unusual);
	function.encoding = unusual ? TFP_ENCODE_SPARSE : TFP_ENCODE_CONST;
	tfp_end_column(out, out->at, function, at + unusual);
}

/*
 * Places of the other kinds, sorted: by_kind[next[tag] - count[tag] .. next[tag]) afterwards. In the child of a handler that
 * forked in the middle of this the records are zeros (writer/pages.c): then no kind has its number, and none has fields.
 */
void tfp_sort_by_kind(struct tfp_scratch *scratch, struct tfp_areas *areas, const uint8_t *records, uint32_t others)
{
	uint32_t start = 0;
	tfp_place *by_kind = areas->by_kind;
	const tfp_place *places = areas->others;

	for (unsigned tag = 0; tag < TFP_ENCODE_TAGS; tag++) {
		scratch->next[tag] = start;
		start += tag == TFP_TAG_alloc ? 0 : scratch->count[tag];
	}
	if (others && scratch->count[*tfp_at(records, places[0])] == others) { /* one kind alone is sorted */
		areas->by_kind = areas->others;
		scratch->next[*tfp_at(records, places[0])] = others;
		return;
	}
	for (uint32_t i = 0; i < others; i++)
		by_kind[scratch->next[*tfp_at(records, places[i])]++] = places[i];
	start = 0;
	for (unsigned tag = 0; tag < TFP_ENCODE_TAGS; tag++) {
		start += tag == TFP_TAG_alloc ? 0 : scratch->count[tag];
		if (__builtin_expect(scratch->next[tag] != start, 0))
			tfp_fill(scratch->count, 0, sizeof scratch->count);
	}
}

void tfp_put_fields(struct tfp_output *out, struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records)
{
#define TFP_EVENT(tag, name, help) \
	if (scratch->count[tag]) { \
		typedef struct tfp_record_##name record; \
		enum { kind = tag }; \
		uint8_t index = 0; \
		find_changes(scratch->changed, records, places_of(scratch, areas, kind), scratch->count[tag], sizeof(record));
#define TFP_FIELD(name, type, unit, transform, help) \
	{ \
		static const struct field field = {kind, sizeof(((record *)0)->name), T_##transform, offsetof(record, name)}; \
		if (T_##transform != T_heap) \
			put_field(out, scratch, areas, records, &field, index); \
		index++; \
	}
#define TFP_END() \
	(void)index, (void)sizeof(record); \
	}
#define TFP_FACT(tag, name, help) \
	if (0) { \
		typedef struct tfp_fact_##name record; \
		enum { kind = 0 }; \
		uint8_t index = 0;
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FIELD
#undef TFP_END
#undef TFP_FACT
}
