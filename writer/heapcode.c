/* SPDX-License-Identifier: Apache-2.0 */
/* The rare roads of the encoder of the heap address column. See heapcode.h, which holds the rule. */
#include "writer/heapcode.h"

#include "writer/sys.h"

#include "writer/poison.h"

unsigned tfp_heapcode_index_bits(uint32_t events)
{
	unsigned bits = 6;

	while (bits < 24 && (UINT32_C(1) << bits) < events + events / 2)
		bits++;
	return bits;
}

size_t tfp_heapcode_memory(uint32_t events)
{
	return sizeof(struct tfp_heapcode_state) + ((size_t)events + 1) * sizeof(struct tfp_heapcode_block) +
	       (sizeof(uint32_t) << tfp_heapcode_index_bits(events));
}

void tfp_heapcode_clear(struct tfp_heapcode_state *state, uint32_t *index, unsigned index_bits)
{
	state->blocks[0] = (struct tfp_heapcode_block){.address = UINT64_MAX, .allocation = 1}; /* no address is its */
	tfp_fill(state, 0, sizeof *state);
	tfp_fill(index, 0, sizeof *index << index_bits);
}

/* Takes the block out of its stack and returns its place from the top; -1 when it is deeper than `ranks`. */
static int take(struct tfp_heapcode_block *blocks, uint32_t *stacks, uint32_t number, unsigned class, int ranks)
{
	uint32_t at = stacks[class], above = 0;

	for (int rank = 0; rank < ranks && at != 0; rank++) {
		uint32_t below = blocks[at].below >> 8;
		if (at == number) {
			if (above)
				blocks[above].below = below << 8 | class;
			else
				stacks[class] = below;
			return rank;
		}
		above = at;
		at = below;
	}
	return -1;
}

int tfp_heapcode_place(struct tfp_heapcode_block *blocks, uint32_t *stacks, uint32_t number, unsigned class)
{
	unsigned of = blocks[number].below & (TFP_HEAPCODE_CLASSES - 1);

	if (of == class)
		return take(blocks, stacks, number, class, TFP_HEAPCODE_RANKS);
	if (of != 0)
		return -1;
	int rank = take(blocks, stacks, number, 0, TFP_HEAPCODE_STRAYS);
	return rank < 0 ? -1 : TFP_HEAPCODE_RANKS + rank;
}

/* The difference shifted right by 4 with its sign. */
static uint64_t sixteenth(uint64_t difference)
{
	return (difference >> 4) | ((0 - (difference >> 63)) << 60);
}

uint8_t *tfp_heapcode_far_alloc(uint8_t *out, uint64_t difference)
{
	if (difference & 15)
		return tfp_put_varint(tfp_put_varint(out, TFP_HEAPCODE_EXACT), tfp_zigzag(difference));
	return tfp_put_varint(out, TFP_HEAPCODE_FAR + tfp_zigzag(sixteenth(difference)));
}

uint8_t *tfp_heapcode_far_free(uint8_t *out, uint64_t difference)
{
	if (difference & 15)
		return tfp_put_varint(tfp_put_varint(out, 0), tfp_zigzag(difference));
	return tfp_put_varint(out, 2 * tfp_zigzag(sixteenth(difference)) + 1);
}
