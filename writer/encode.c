/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column encoding of a chunk; see writer/encode.h and docs/format.md. One pass over the records for kinds, times and heap
 * addresses, which also lists where the records of each kind lie; then a pass a field.
 * Rule: every byte written stands in memory that tfp_scratch_bytes accounted for.
 *
 *   scratch: | struct tfp_scratch | lists of records | times | heap codes, their memory | LZ4 state | columns | header, payload |
 */
#include "writer/encode_parts.h"

#include "writer/sys.h"
#include "writer/times.h"
#include "writer/varint.h"

#include <lz4.h>
#include <stddef.h>

enum { AHEAD = 512 }; /* bytes that are asked for before they are read: two to ten records */

#define TFP_FACT(tag, name, help)
#define TFP_END()
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_EVENT(tag, name, help) [tag] = sizeof(struct tfp_record_##name),
const uint8_t tfp_record_bytes[256] = {
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FIELD
/* How many records of so many bytes 2^16 bytes may hold, rounded up. */
#define SHARE(bytes) ((1u << 16) / (bytes) + 1)
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_EVENT(tag, name, help) [tag] = SHARE(sizeof(struct tfp_record_##name)),
static const uint16_t shares[TFP_ENCODE_TAGS] = {
#include "writer/records.def"
};
#undef TFP_EVENT
#define TFP_EVENT(tag, name, help) \
	_Static_assert(sizeof(struct tfp_record_##name) % TFP_PLACE_UNIT == 0, "a record is whole words");
#include "writer/records.def"
#undef TFP_EVENT
#define TFP_EVENT(tag, name, help) +SHARE(sizeof(struct tfp_record_##name))
enum { ALL_SHARES = 0
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FIELD
#define TFP_EVENT(tag, name, help)
#define TFP_FIELD(name, type, unit, transform, help) +1
enum { MOST_COLUMNS = 3
#include "writer/records.def"
};
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END

_Static_assert(TFP_TAG_alloc == 1 && TFP_TAG_free == 2, "passes tell heap records by one comparison");
_Static_assert(sizeof(struct tfp_record_free) == 16, "free has one field, its address; put_fields relies on it");

/* Columns of n raw bytes: a varint is at most 10 bytes for 8 of u64, 3 for 2 of u16, 2 for 1 of u8: at most double. */
static size_t column_bytes(size_t bytes)
{
	return 16 + bytes * 2 + tfp_most_records(bytes) * 11 + MOST_COLUMNS * sizeof(struct tfp_column_header);
}

static uint8_t *align(uint8_t *at)
{
	return (uint8_t *)(((uintptr_t)at + 15) & ~(uintptr_t)15);
}

/* Lists of the records of each kind, every one with room for a chunk of that kind alone: only pages that are written to exist. */
static size_t most_by_kind(size_t bytes)
{
	return (bytes * ALL_SHARES >> 16) + TFP_ENCODE_TAGS;
}

static struct tfp_areas lay_out(uint8_t *scratch, size_t bytes)
{
	struct tfp_areas areas;

	areas.allocs = (tfp_place *)(void *)(scratch + sizeof(struct tfp_scratch));
	areas.others = areas.allocs + tfp_most_allocs(bytes);
	areas.by_kind = areas.others + tfp_most_records(bytes);
	areas.times = (uint8_t *)(areas.by_kind + most_by_kind(bytes));
	areas.codes = areas.times + tfp_most_records(bytes) * TFP_STEPS_MOST;
	areas.sizes = areas.codes + tfp_most_heap_records(bytes) * TFP_HEAPCODE_CODE_MAX;
	areas.stacks = areas.sizes + tfp_most_allocs(bytes) * 10 + 8; /* a varint is at most 10 bytes, of 33 bits 5 */
	areas.slacks = areas.stacks + tfp_most_allocs(bytes) * 5 + 8;
	areas.functions = areas.slacks + tfp_most_unusual(bytes) + 32; /* one more may be written: two varints */
	areas.heap_memory = align(areas.functions + tfp_most_unusual(bytes) + 32);
	areas.lz4_state = align((uint8_t *)areas.heap_memory + tfp_heapcode_memory(tfp_most_heap_records(bytes)));
	areas.columns = (uint8_t *)areas.lz4_state + sizeof(LZ4_stream_t);
	areas.end = areas.columns + column_bytes(bytes);
	return areas;
}

size_t tfp_scratch_bytes(size_t chunk_bytes)
{
	uint8_t *begin = (uint8_t *)(uintptr_t)4096; /* any aligned address: nothing is read there */
	size_t before = (size_t)(lay_out(begin, chunk_bytes).end - begin);

	return before + sizeof(struct tfp_block_header) + (size_t)LZ4_COMPRESSBOUND(column_bytes(chunk_bytes)) + 64;
}

/* The address of an alloc or free record. */
static inline __attribute__((always_inline)) void put_heap(struct tfp_heapcode *heap, const uint8_t *record)
{
	if (*record == TFP_TAG_alloc) {
		const struct tfp_record_alloc *alloc = (const void *)record;
		tfp_heapcode_alloc(heap, alloc->address, tfp_heapcode_chunk(alloc->requested));
	} else {
		tfp_heapcode_free(heap, ((const struct tfp_record_free *)(const void *)record)->address);
	}
}

/* Out of line, where heap records are few: the loop keeps its registers. */
static __attribute__((noinline)) void put_rare_heap(struct tfp_heapcode *heap, const uint8_t *record)
{
	put_heap(heap, record);
}

/* The first one of the chunk. Out of line for the sake of the stack, too. */
static __attribute__((noinline)) void begin_rare_heap(struct tfp_heapcode *heap, const struct tfp_areas *areas, size_t bytes)
{
	*heap = tfp_heapcode_begin(areas->heap_memory, tfp_most_heap_records(bytes), areas->codes);
}

void tfp_found_finish(struct tfp_found *found, const uint8_t *records, uint32_t count, uint64_t last_word)
{
	found->first_time = count ? tfp_load(records, 8) >> TFP_TAG_BITS : 0;
	found->last_time = last_word >> TFP_TAG_BITS;
	found->frees = count - found->allocs - found->others;
}

/*
 * From a record to the next one. Two sizes are tried before the one that its tag says: the processor then guesses where the
 * next record lies, as kinds mostly come in a pattern, and need not wait until this one's tag has been read.
 */
static inline __attribute__((always_inline)) const uint8_t *after(const uint8_t *record, size_t size, size_t likely[2])
{
	size_t differs = size ^ likely[0], also = size ^ likely[1];

	/* The compiler must not know what 0 says of them: it would take `size`, which has to be waited for, in their place. */
	__asm__("" : "+r"(differs), "+r"(also));
	if (__builtin_expect(!differs, 1))
		return record + likely[0];
	if (!also)
		return record + likely[1];
	likely[1] = likely[0];
	likely[0] = size;
	return record + size;
}

static void begin_lists(struct tfp_scratch *scratch, size_t bytes)
{
	uint32_t start = 0;

	for (unsigned tag = 0; tag < TFP_ENCODE_TAGS; tag++) {
		scratch->next[tag] = scratch->count[tag] = start;
		start += (uint32_t)(bytes * shares[tag] >> 16) + 1;
	}
}

/*
 * As tfp_sort_by_kind leaves them. In the child of a handler that forked in the middle they are zeros (writer/pages.c), but perhaps
 * for one that was just counted: then no kind has its number, and none has fields.
 */
static void end_lists(struct tfp_scratch *scratch, uint32_t others)
{
	uint32_t count = 0;

	for (unsigned tag = 0; tag < TFP_ENCODE_TAGS; tag++) {
		scratch->count[tag] = scratch->next[tag] - scratch->count[tag];
		count += scratch->count[tag];
	}
	if (__builtin_expect(count != others, 0))
		tfp_fill(scratch->count, 0, sizeof scratch->count);
}

/* The same with times as differences, for chunks of which other records than the heap's are a good part; sorts them by kind. */
static __attribute__((noinline)) uint32_t pass_with_differences(struct tfp_scratch *scratch, const struct tfp_areas *areas,
								const uint8_t *records, size_t bytes, uint8_t *tags,
								struct tfp_found *found)
{
	struct tfp_heapcode heap = {.out = areas->codes};
	tfp_place *by_kind = areas->by_kind;
	uint32_t frees = 0;
	uint8_t *times = areas->times, *tag_at = tags;
	const uint8_t *record = records, *end = records + bytes;
	uint64_t word = 0, before = 0;
	size_t likely[2] = {0, 0};

	begin_lists(scratch, bytes);
	*found = (struct tfp_found){0};
	while ((size_t)(end - record) >= sizeof word) {
		uint64_t first = tfp_load(record, 8);
		uint8_t tag = (uint8_t)first;
		size_t size = tfp_record_bytes[tag];

		if (__builtin_expect(!size || (size_t)(end - record) < size, 0))
			break;
		__builtin_prefetch(record + AHEAD);
		word = first;
		if (__builtin_expect(tag <= TFP_TAG_free, 0)) {
			areas->allocs[found->allocs] = tfp_place_of(records, record);
			found->allocs += tag == TFP_TAG_alloc;
			frees += tag == TFP_TAG_free;
			if (!heap.blocks)
				begin_rare_heap(&heap, areas, bytes);
			put_rare_heap(&heap, record);
		} else {
			by_kind[scratch->next[tag]++] = tfp_place_of(records, record);
		}
		*tag_at++ = tag;
		times = tfp_put_varint(times, tfp_zigzag((word >> TFP_TAG_BITS) - before));
		before = word >> TFP_TAG_BITS;
		record = after(record, size, likely);
	}
	found->others = (uint32_t)(tag_at - tags) - found->allocs - frees;
	found->times_end = times;
	found->codes_end = heap.out;
	end_lists(scratch, found->others);
	scratch->count[TFP_TAG_alloc] = found->allocs;
	tfp_found_finish(found, records, (uint32_t)(tag_at - tags), word);
	return (uint32_t)(tag_at - tags);
}

/* The bits of their times that the shift cut off, of all records but alloc and free. */
static void put_low_times(struct tfp_output *out, const struct tfp_areas *areas, const uint8_t *records, uint32_t others, uint32_t shift)
{
	struct tfp_column_header header = {.field = 2, .encoding = TFP_ENCODE_VARINT, .value_count = others};
	uint8_t *start = out->at, *at = start + sizeof header;

	for (uint32_t i = 0; i < others; i++)
		at = tfp_put_varint(at, tfp_load(tfp_at(records, areas->others[i]), 8) >> TFP_TAG_BITS & ((UINT64_C(1) << shift) - 1));
	tfp_end_column(out, start, header, at);
}

static int is_heap_only(const struct tfp_scratch *scratch, uint32_t others)
{
	return scratch->count[TFP_TAG_free_undo] + scratch->count[TFP_TAG_usable] == others;
}

#define PEEKED 64u /* records; a chunk that begins otherwise than it goes on is encoded as well, in a few bytes more */

/* Whether more than a quarter of the first records are of no heap: then their exact times are cheaper as differences. */
static int is_mostly_other(const uint8_t *records, size_t bytes)
{
	uint32_t seen = 0, others = 0;

	for (size_t at = 0; at < bytes && seen < PEEKED; seen++) {
		uint8_t tag = records[at];
		if (!tfp_record_bytes[tag])
			break;
		others += tag != TFP_TAG_alloc && tag != TFP_TAG_free && tag != TFP_TAG_free_undo && tag != TFP_TAG_usable;
		at += tfp_record_bytes[tag];
	}
	return others > seen / 4;
}

static void put_columns(struct tfp_output *out, struct tfp_scratch *scratch, struct tfp_areas *areas, const uint8_t *records,
			size_t bytes, uint32_t heap_time_shift, struct tfp_block_header *header)
{
	struct tfp_column_header tags = {.encoding = TFP_ENCODE_BYTES}, times = {.field = 1};
	struct tfp_column_header codes = {.tag = TFP_TAG_alloc, .encoding = TFP_ENCODE_LISTS};
	uint8_t *start = out->at, *tags_at = start + sizeof tags;
	struct tfp_found found;
	int has_steps = !is_mostly_other(records, bytes);
	uint32_t count = has_steps ? tfp_encode_heap(scratch, areas, records, bytes, heap_time_shift, tags_at, &found) : 0;

	times.encoding = TFP_ENCODE_STEPS;
	header->time_shift = (uint16_t)heap_time_shift;
	int is_exact = !has_steps || !is_heap_only(scratch, found.others);
	if (!has_steps || (is_exact && found.others > count / 4)) { /* cheaper than in two parts */
		is_exact = header->time_shift = 0;
		times.encoding = TFP_ENCODE_DELTA;
		count = pass_with_differences(scratch, areas, records, bytes, tags_at, &found);
	} else {
		tfp_sort_by_kind(scratch, areas, records, found.others);
	}
	header->first_time = found.first_time;
	header->last_time = found.last_time;
	header->records = tags.value_count = times.value_count = count;
	codes.value_count = found.allocs + found.frees;
	tfp_end_column(out, start, tags, tags_at + count);
	tfp_put_ready(out, times, areas->times, found.times_end);
	if (is_exact)
		put_low_times(out, areas, records, found.others, heap_time_shift);
	if (codes.value_count)
		tfp_put_ready(out, codes, areas->codes, found.codes_end);
	if (found.has_alloc_fields)
		tfp_put_alloc_fields(out, scratch, areas, records, bytes, &found);
	tfp_put_fields(out, scratch, areas, records);
}

void *tfp_encode(struct tfp_scratch *scratch, size_t scratch_bytes, const uint8_t *records, size_t bytes,
		 uint32_t heap_time_shift, struct tfp_block_header *header)
{
	bytes = bytes < TFP_ENCODE_MOST ? bytes : TFP_ENCODE_MOST;
	struct tfp_areas areas = lay_out((uint8_t *)scratch, bytes);
	uint8_t *columns = areas.columns;
	struct tfp_output out = {.at = columns + 8};

	put_columns(&out, scratch, &areas, records, bytes, heap_time_shift, header);
	uint32_t counts[2] = {header->records, out.columns};
	__builtin_memcpy(columns, counts, sizeof counts);

	uint8_t *space = (uint8_t *)(((uintptr_t)out.at + 7) & ~(uintptr_t)7);
	uint8_t *payload = space + sizeof *header;
	size_t room = (size_t)((uint8_t *)scratch + scratch_bytes - 8 - payload);
	header->raw_bytes = (uint64_t)(out.at - columns);
	int packed = LZ4_compress_fast_extState(areas.lz4_state, (const char *)columns, (char *)payload, (int)header->raw_bytes,
						(int)room, 1);
	header->codec = packed > 0 ? TFP_CODEC_LZ4 : TFP_CODEC_NONE;
	header->encoded_bytes = packed > 0 ? (uint64_t)packed : header->raw_bytes;
	if (packed <= 0)
		tfp_copy(payload, columns, header->raw_bytes);
	return space;
}
