/* SPDX-License-Identifier: Apache-2.0 */
/* The rare roads of the encoder of the heap address column. See heapcode.h, which holds the rule. */
#include "writer/heapcode.h"

#include "writer/sys.h"

#include "writer/poison.h"

static unsigned index_bits(uint32_t events)
{
	unsigned bits = 6;

	while (bits < 18 && (UINT32_C(1) << bits) < events + events / 2)
		bits++;
	return bits;
}

static uint32_t most_blocks(uint32_t events)
{
	return TFP_HEAPCODE_CLASSES + 1 + events;
}

size_t tfp_heapcode_memory(uint32_t events)
{
	return sizeof(struct tfp_heapcode) + most_blocks(events) * sizeof(struct tfp_heapcode_block) +
	       (sizeof(uint32_t) << index_bits(events));
}

uint32_t *tfp_heapcode_clear(struct tfp_heapcode_block *blocks, uint32_t events, uint32_t *mask)
{
	uint32_t *index = (uint32_t *)(void *)(blocks + most_blocks(events)), slots = UINT32_C(1) << index_bits(events);

	for (uint32_t i = 0; i <= TFP_HEAPCODE_CLASSES; i++) {
		uint32_t itself = i * TFP_HEAPCODE_STEP;
		blocks[i] = (struct tfp_heapcode_block){.key = TFP_HEAPCODE_NO_KEY, .above = itself, .below = itself};
	}
	tfp_fill(index, 0, sizeof *index * slots);
	*mask = slots - 1;
	return index;
}

void tfp_heapcode_alloc_odd(struct tfp_heapcode *code, uint64_t address, uint64_t chunk)
{
	tfp_heapcode_alloc_as(code, address, chunk, 0);
}

void tfp_heapcode_free_odd(struct tfp_heapcode *code, uint64_t address)
{
	tfp_heapcode_free_as(code, address, 0);
}
