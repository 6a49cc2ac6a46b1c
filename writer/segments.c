/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays in the log; see writer/segments.h. */
#include "writer/segments.h"

#include "writer/file.h"

#include "writer/poison.h"

static unsigned char *make_segment(struct tfp_segments *segments, const struct tfp_segment_kind *kind, unsigned segment,
				   uint64_t first_index)
{
	struct tfp_block_header header = {.type = (uint16_t)kind->type, .first_index = first_index};
	struct tfp_live_place place;
	enum tfp_loss why;
	unsigned char *mine = tfp_file_live_block(&header, tfp_segment_entries(kind->first, segment) * kind->entry_bytes, &place,
						  &why);
	unsigned char *other = NULL;

	if (!mine)
		return NULL;
	/* Pairs with the acquire load in segment_entry. */
	if (!__atomic_compare_exchange_n((unsigned char **)&segments->base[segment], &other, mine, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return other;
	__atomic_store_n((uint64_t *)&segments->offset[segment], place.offset, __ATOMIC_RELEASE);
	return mine;
}

static void *segment_entry(struct tfp_segments *segments, const struct tfp_segment_kind *kind, uint64_t index)
{
	uint64_t start;
	unsigned segment = tfp_segment_of(kind->first, index, &start);

	if (segment >= TFP_SEGMENTS)
		return NULL;
	unsigned char *base = __atomic_load_n((unsigned char **)&segments->base[segment], __ATOMIC_ACQUIRE);
	if (!base)
		base = make_segment(segments, kind, segment, start);
	return base ? base + (index - start) * kind->entry_bytes : NULL;
}

void *tfp_segment_take(struct tfp_segments *segments, const struct tfp_segment_kind *kind, uint64_t *count, uint32_t first,
		       uint32_t *index)
{
	uint64_t taken = __atomic_load_n(count, __ATOMIC_RELAXED);
	void *entry;

	do
		entry = first + taken <= UINT32_MAX ? segment_entry(segments, kind, first + taken) : NULL;
	while (entry && !__atomic_compare_exchange_n(count, &taken, taken + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*index = (uint32_t)(first + taken);
	return entry;
}
