/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays in the log; see writer/segments.h. */
#include "writer/segments.h"

#include "writer/file.h"

#include "writer/poison.h"

static uint64_t entries_of(const struct tfp_segment_kind *kind, unsigned segment)
{
	return (uint64_t)kind->first << (segment < TFP_SEGMENT_DOUBLINGS ? segment : TFP_SEGMENT_DOUBLINGS);
}

static unsigned char *make_segment(_Atomic(unsigned char *) *place, const struct tfp_segment_kind *kind, uint64_t entries,
				   uint64_t first_index)
{
	struct tfp_block_header header = {.type = (uint16_t)kind->type, .first_index = first_index};
	enum tfp_loss why;
	size_t room;
	unsigned char *mine = tfp_file_live_block(&header, entries * kind->entry_bytes, &room, &why);
	unsigned char *other = NULL;

	if (!mine)
		return NULL;
	/* Pairs with the acquire load in tfp_segment_entry. */
	if (__atomic_compare_exchange_n((unsigned char **)place, &other, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mine;
	return other;
}

void *tfp_segment_entry(struct tfp_segments *segments, const struct tfp_segment_kind *kind, uint64_t index)
{
	uint64_t first = 0;

	for (unsigned k = 0; k < TFP_SEGMENTS; k++) {
		uint64_t entries = entries_of(kind, k);
		if (index - first >= entries) {
			first += entries;
			continue;
		}
		unsigned char *base = __atomic_load_n((unsigned char **)&segments->base[k], __ATOMIC_ACQUIRE);
		if (!base)
			base = make_segment(&segments->base[k], kind, entries, first);
		return base ? base + (index - first) * kind->entry_bytes : NULL;
	}
	return NULL;
}
