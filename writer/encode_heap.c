/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one pass over a chunk that holds mostly the heap's records: kinds, times, addresses and the fields of allocations at once.
 *
 * Rule: as in encode.c. What a column turned out to be (constant, usual) is asked of what was written, not of the records again.
 */
#include "writer/encode_parts.h"

#include "writer/sys.h"
#include "writer/times.h"
#include "writer/varint.h"

#define INLINE static inline __attribute__((always_inline))

/* Where the pass is. Copied by value, so that the compiler keeps in registers what it can. */
struct pass {
	struct tfp_heapcode heap;
	struct tfp_steps times;
	uint64_t floor, unit; /* first words of records from floor to floor + unit have the time of the record before */
	unsigned shift;	      /* of times */
	uint8_t *tags, *sizes, *stacks;
	uint64_t stack; /* of the allocation before */
	uint8_t function; /* of the first allocation */
};

/* What few rows have. Apart from the pass: what others are given the address of cannot stay in registers. */
struct rows {
	struct tfp_unusual slacks, functions;
};

/* Another time than that of the record before, or so many of one time that they take a byte of their own. */
INLINE void put_time(struct pass *pass, uint64_t word)
{
	if (word - pass->floor < pass->unit && pass->times.kept < TFP_STEPS_KEPT - 1) {
		pass->times.kept++;
		return;
	}
	uint64_t time = word >> TFP_TAG_BITS >> pass->shift;
	tfp_steps_put(&pass->times, time);
	pass->floor = time << pass->shift << TFP_TAG_BITS;
}

/* The value of allocation `row` is not the usual one. Where the list is too long already it ends. */
static __attribute__((noinline)) void put_unusual(struct tfp_unusual *list, uint32_t row, uint64_t value)
{
	if (list->end > list->most)
		return;
	list->end = tfp_put_varint(tfp_put_varint(list->end, row - list->row), value);
	list->row = row + 1;
}

INLINE void put_alloc(struct pass *pass, struct rows *rows, const struct tfp_record_alloc *alloc)
{
	uint64_t requested = alloc->requested, chunk = tfp_heapcode_chunk(requested);
	uint64_t beyond = alloc->slack - (chunk - 8 - requested); /* tfp_usual_slack */
	uint64_t stack = alloc->stack;

	tfp_heapcode_alloc(&pass->heap, alloc->address, chunk);
	pass->sizes = tfp_put_varint(pass->sizes, requested);
	pass->stacks = tfp_put_varint(pass->stacks, tfp_zigzag(stack - pass->stack));
	pass->stack = stack;
	if (__builtin_expect(beyond != 0, 0))
		put_unusual(&rows->slacks, pass->heap.allocations - 1, tfp_zigzag(beyond));
	if (__builtin_expect(alloc->function != pass->function, 0))
		put_unusual(&rows->functions, pass->heap.allocations - 1, alloc->function);
}

/* A record of another kind. Returns its bytes, or 0 where it is none. */
INLINE size_t put_other(struct tfp_scratch *scratch, tfp_place **others, const uint8_t *records, const uint8_t *record,
			const uint8_t *end)
{
	size_t size = tfp_record_bytes[*record];

	if (!size || (size_t)(end - record) < size)
		return 0;
	*(*others)++ = tfp_place_of(records, record);
	scratch->count[*record]++;
	return size;
}

/* Whether a heap's record may lie there whole: all of them are as long as an allocation's, but for the last ones. */
INLINE int has_record(const uint8_t *record, const uint8_t *end)
{
	size_t left = (size_t)(end - record);

	return __builtin_expect(left >= sizeof(struct tfp_record_alloc), 1) || (left >= 8 && tfp_record_bytes[*record] <= left);
}

static uint8_t first_function(const uint8_t *records, size_t bytes)
{
	const uint8_t *record = records, *const end = records + bytes;

	for (; record < end && tfp_record_bytes[*record]; record += tfp_record_bytes[*record])
		if (*record == TFP_TAG_alloc && has_record(record, end))
			return ((const struct tfp_record_alloc *)(const void *)record)->function;
	return 0;
}

static struct tfp_unusual list_at(uint8_t *at, size_t bytes)
{
	return (struct tfp_unusual){.end = at, .most = at + tfp_most_unusual(bytes)};
}

uint32_t tfp_encode_heap(struct tfp_scratch *scratch, const struct tfp_areas *areas, const uint8_t *records, size_t bytes,
			 unsigned shift, uint8_t *tags, struct tfp_found *found)
{
	struct pass pass = {.heap = tfp_heapcode_begin(areas->heap_memory, tfp_most_heap_records(bytes), areas->codes),
			    .times = {.out = areas->times},
			    .unit = UINT64_C(1) << shift << TFP_TAG_BITS,
			    .shift = shift,
			    .tags = tags,
			    .sizes = areas->sizes,
			    .stacks = areas->stacks,
			    .function = first_function(records, bytes)};
	struct rows rows = {list_at(areas->slacks, bytes), list_at(areas->functions, bytes)};
	const uint8_t *record = records, *const end = records + bytes;
	const uint8_t *last = records;
	tfp_place *others = areas->others;
	size_t size;

	tfp_fill(scratch, 0, sizeof *scratch);
	for (; has_record(record, end); record += size) {
		uint64_t word = tfp_load(record, sizeof word);
		uint8_t tag = (uint8_t)word;

		if (tag == TFP_TAG_free) {
			size = sizeof(struct tfp_record_free);
			tfp_heapcode_free(&pass.heap, ((const struct tfp_record_free *)(const void *)record)->address);
		} else if (tag == TFP_TAG_alloc) {
			size = sizeof(struct tfp_record_alloc);
			put_alloc(&pass, &rows, (const struct tfp_record_alloc *)(const void *)record);
		} else if ((size = put_other(scratch, &others, records, record, end)) == 0) {
			break;
		}
		*pass.tags++ = tag;
		put_time(&pass, word);
		last = record;
	}
	uint32_t count = (uint32_t)(pass.tags - tags);
	*found = (struct tfp_found){.allocs = pass.heap.allocations,
				    .others = (uint32_t)(others - areas->others),
				    .times_end = pass.times.out,
				    .codes_end = pass.heap.out,
				    .sizes_end = pass.sizes,
				    .stacks_end = pass.stacks,
				    .slacks_end = rows.slacks.end,
				    .functions_end = rows.functions.end,
				    .function = pass.function,
				    .has_alloc_fields = 1};
	tfp_found_finish(found, records, count, count ? tfp_load(last, 8) : 0);
	return count;
}
