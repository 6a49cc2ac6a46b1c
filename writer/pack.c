/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of stack nodes; see writer/pack.h and docs/format.md, "packed nodes". Rule: as there. */
#include "writer/pack.h"

#include "writer/file.h"
#include "writer/state.h"
#include "writer/store.h"
#include "writer/sys.h"
#include "writer/varint.h"

#include <lz4.h>

#include "writer/poison.h"

#define PIECE 2048u       /* nodes of one packed block: what the least scratch memory has room for */
#define COLUMNS_MOST (8 + 2 * 5 * PIECE + 8) /* a varint of 32 bits is at most 5 bytes; one byte more may be written */

/* Where in the scratch what lies. */
struct areas {
	void *lz4_state;
	uint8_t *columns;
	uint8_t *space; /* header and payload */
};

static size_t round_up(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

static struct areas lay_out(uint8_t *scratch)
{
	struct areas areas = {.lz4_state = scratch};

	areas.columns = scratch + round_up(sizeof(LZ4_stream_t));
	areas.space = areas.columns + round_up(COLUMNS_MOST);
	return areas;
}

static size_t bytes_needed(void)
{
	return round_up(sizeof(LZ4_stream_t)) + round_up(COLUMNS_MOST) + sizeof(struct tfp_block_header) +
	       (size_t)LZ4_COMPRESSBOUND(COLUMNS_MOST) + 16;
}

/* Two columns: how far back the parent is, and the code address. Returns their end. */
static uint8_t *put_columns(uint8_t *columns, const uint64_t *words, uint64_t first_index, uint32_t count)
{
	uint8_t *at = columns + 8;

	for (uint32_t i = 0; i < count; i++)
		at = tfp_put_varint(at, first_index + i - 1 - (words[i] >> 32)); /* a parent comes before its child */
	uint32_t head[2] = {count, (uint32_t)(at - columns - 8)};
	__builtin_memcpy(columns, head, sizeof head);
	for (uint32_t i = 0; i < count; i++)
		at = tfp_put_varint(at, (uint32_t)words[i]);
	return at;
}

static enum tfp_loss seal_piece(const struct areas *areas, const uint64_t *words, uint64_t first_index, uint32_t count)
{
	struct tfp_block_header header = {.type = TFP_BLOCK_PACKED_NODES, .first_index = first_index, .records = count};
	uint8_t *payload = areas->space + sizeof header;
	size_t bytes = (size_t)(put_columns(areas->columns, words, first_index, count) - areas->columns);
	int packed = LZ4_compress_fast_extState(areas->lz4_state, (const char *)areas->columns, (char *)payload, (int)bytes,
						(int)LZ4_COMPRESSBOUND(COLUMNS_MOST), 1);

	header.raw_bytes = bytes;
	header.codec = packed > 0 ? TFP_CODEC_LZ4 : TFP_CODEC_NONE;
	header.encoded_bytes = packed > 0 ? (uint64_t)packed : bytes;
	if (packed <= 0)
		tfp_copy(payload, areas->columns, bytes);
	return tfp_file_seal(&header, areas->space);
}

/* Whether every entry stands; one may be missing for long, where its thread is held up, or for good. */
static int is_whole(const uint64_t *words, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (!__atomic_load_n(&words[i], __ATOMIC_ACQUIRE)) /* pairs with the store in tfp_store_node */
			return 0;
	return 1;
}

/* Packs segment `k`. Returns 1 when it is done with, 0 = not yet, -1 = packing is of no use here. */
static int pack_segment(struct tfp_segments *nodes, unsigned k, uint8_t *scratch)
{
	uint64_t *words = (uint64_t *)(void *)__atomic_load_n((unsigned char **)&nodes->base[k], __ATOMIC_ACQUIRE);
	uint64_t offset = __atomic_load_n((uint64_t *)&nodes->offset[k], __ATOMIC_ACQUIRE);
	uint64_t count = tfp_segment_entries(TFP_NODES_FIRST, k), first = 0;
	struct areas areas = lay_out(scratch);

	if (!words || !offset)
		return 0;
	if (!tfp_file_can_detach(offset))
		return 1; /* the first ones lie in the part of the log that is mapped as a whole */
	if (!is_whole(words, count))
		return 0;
	for (unsigned before = 0; before < k; before++)
		first += tfp_segment_entries(TFP_NODES_FIRST, before);
	for (uint64_t at = 0; at < count; at += PIECE)
		if (seal_piece(&areas, words + at, first + at, PIECE))
			return -1;
	return tfp_file_detach(words, count * sizeof *words, offset) ? -1 : 1;
}

int tfp_pack_is_due(void)
{
	uint32_t k = __atomic_load_n(&tfp_state->packer.segment, __ATOMIC_ACQUIRE);

	/* A segment is looked at once the next one is there: before, it is not full. */
	return k + 1 < TFP_SEGMENTS && tfp_state->nodes.base[k + 1] != NULL;
}

void tfp_pack_nodes(void *scratch, size_t scratch_bytes)
{
	struct tfp_packer *packer = &tfp_state->packer;
	struct tfp_segments *nodes = &tfp_state->nodes;
	uint32_t none = 0;

	if (!tfp_pack_is_due() || scratch_bytes < bytes_needed())
		return;
	/* A thread that a handler left by longjmp keeps this for good: nothing more is packed then. */
	if (!__atomic_compare_exchange_n(&packer->is_busy, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	uint32_t k = packer->segment;
	int done = tfp_pack_is_due() ? pack_segment(nodes, k, scratch) : 0;
	if (done)
		__atomic_store_n(&packer->segment, done > 0 ? k + 1 : TFP_SEGMENTS, __ATOMIC_RELEASE);
	__atomic_store_n(&packer->is_busy, 0, __ATOMIC_RELEASE);
}
