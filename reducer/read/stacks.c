/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and code addresses of a log, as two arrays. See stacks.h. */
#include "reducer/read/stacks.h"

#include "reducer/read/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (UINT32_C(1) << 26) /* 512 MiB of nodes; believed only as far as the file holds them */
#define PCS_MAX (UINT32_C(1) << 24)

/* Reads a varint of at most 32 bits; returns what follows it, NULL where there is none. */
static const uint8_t *take_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
		*value |= (uint64_t)(*at & 127) << shift;
		if (*at++ < 128)
			return *value <= UINT32_MAX ? at : NULL;
	}
	return NULL;
}

uint64_t *packed_nodes(const uint8_t *payload, size_t bytes, uint64_t first, size_t *count)
{
	uint32_t head[2];
	const uint8_t *parents = payload + sizeof head, *pcs, *end = payload + bytes;
	uint64_t *words, back, pc;

	if (bytes < sizeof head)
		return NULL;
	memcpy(head, payload, sizeof head);
	if (head[1] > bytes - sizeof head || head[0] > head[1] || head[0] > bytes - sizeof head - head[1])
		return NULL;
	words = malloc(((size_t)head[0] + 1) * sizeof *words);
	pcs = parents + head[1];
	for (uint32_t i = 0; words != NULL && i < head[0]; i++) {
		parents = take_varint(parents, payload + sizeof head + head[1], &back);
		pcs = parents != NULL ? take_varint(pcs, end, &pc) : NULL;
		if (pcs == NULL || back >= first + i) { /* a parent comes before its child */
			free(words);
			return NULL;
		}
		words[i] = (first + i - 1 - back) << 32 | pc;
	}
	*count = head[0];
	return words;
}

/* Entries of `type` blocks, `entry` bytes each, into an array that grows as far as the file has entries. */
struct gather {
	const struct log *log;
	unsigned type;
	size_t entry;
	uint64_t most;
	uint8_t *array;
	uint64_t count, capacity; /* entries */
	int is_out_of_memory;
};

static int grow(struct gather *gather, uint64_t count)
{
	uint64_t capacity = gather->capacity == 0 ? 1024 : gather->capacity;
	uint8_t *array;

	while (capacity < count)
		capacity *= 2;
	if (capacity != gather->capacity) {
		array = realloc(gather->array, capacity * gather->entry);
		if (array == NULL) {
			gather->is_out_of_memory = 1;
			return -1;
		}
		memset(array + gather->capacity * gather->entry, 0, (capacity - gather->capacity) * gather->entry);
		gather->array = array;
		gather->capacity = capacity;
	}
	if (count > gather->count)
		gather->count = count;
	return 0;
}

static int is_empty(const uint8_t *entry, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (entry[i] != 0)
			return 0;
	return 1;
}

/* Two threads that made the same block at once leave one of them empty, so empty entries never overwrite. */
static int put_piece(struct gather *gather, uint64_t index, const uint8_t *piece, size_t bytes)
{
	for (size_t at = 0; at + gather->entry <= bytes; at += gather->entry, index++) {
		if (is_empty(piece + at, gather->entry))
			continue;
		if (index >= gather->most || grow(gather, index + 1) != 0)
			return -1;
		memcpy(gather->array + index * gather->entry, piece + at, gather->entry);
	}
	return 0;
}

static void take_block(struct gather *gather, const struct log_block *block)
{
	uint8_t piece[4096];
	uint64_t index = block->header.first_index;

	/* An index that lies far beyond what all blocks hold together would be a hole of that size: not believed. */
	if (index > gather->log->bytes / gather->entry) {
		diag_add(gather->log->diags, DIAG_DAMAGE, gather->log->path, block->offset, "",
			 "the block begins at an impossible index");
		return;
	}
	for (uint64_t done = 0; done < block->payload_bytes && index < gather->most;) {
		uint64_t left = block->payload_bytes - done;
		size_t got = log_pread(gather->log, block->payload + done, piece, left < sizeof piece ? left : sizeof piece);

		if (got == 0)
			break;
		if (put_piece(gather, index, piece, got) != 0) {
			diag_add(gather->log->diags, DIAG_DAMAGE, gather->log->path, block->payload + done, "",
				 "more entries than this program takes in; the rest of the block is skipped");
			break;
		}
		done += got;
		index += got / gather->entry;
	}
}

static void gather_all(struct gather *gather)
{
	for (size_t i = 0; i < gather->log->block_count; i++)
		if (gather->log->blocks[i].header.type == gather->type)
			take_block(gather, &gather->log->blocks[i]);
}

/* Whether the live block holds all that a packed one which cannot be read should have held. */
static int is_there(const struct gather *nodes, const struct tfp_block_header *packed)
{
	for (uint64_t i = packed->first_index; i < packed->first_index + packed->records; i++)
		if (i != 0 && (i >= nodes->count || ((uint64_t *)(void *)nodes->array)[i] == 0))
			return 0;
	return 1;
}

/* After the live blocks: a writer that died while it packed left those as they were. */
static void take_packed(struct gather *nodes, const struct log_block *block)
{
	uint64_t *words = NULL, first = block->header.first_index;
	size_t bytes = 0, count = 0;
	uint8_t *payload = log_sealed_quietly(nodes->log, block, &bytes);

	/* The pages that the nodes had before are in the file, too, if only as a hole. */
	if (payload != NULL && first <= nodes->log->bytes / nodes->entry)
		words = packed_nodes(payload, bytes, first, &count);
	if (words != NULL)
		put_piece(nodes, first, (uint8_t *)words, count * sizeof *words);
	else if (!is_there(nodes, &block->header))
		diag_add(nodes->log->diags, DIAG_DAMAGE, nodes->log->path, block->offset, "",
			 "packed stack nodes cannot be read; stacks that need them are unknown");
	free(words);
	free(payload);
}

static void gather_packed(struct gather *nodes)
{
	for (size_t i = 0; i < nodes->log->block_count; i++)
		if (nodes->log->blocks[i].header.type == TFP_BLOCK_PACKED_NODES)
			take_packed(nodes, &nodes->log->blocks[i]);
}

static int by_offset(const void *offset, const void *block)
{
	uint64_t left = *(const uint64_t *)offset, right = ((const struct log_block *)block)->offset;

	return left < right ? -1 : left > right;
}

static int is_indexed(const struct log *log, uint64_t offset)
{
	return log->block_count != 0 && bsearch(&offset, log->blocks, log->block_count, sizeof *log->blocks, by_offset) != NULL;
}

/* Nodes that were packed since the log was opened: the blocks that were read before may have been empty by then. */
static void gather_packed_later(struct gather *nodes)
{
	struct log now = *nodes->log;
	uint64_t offset = nodes->log->moment->later_from, gap;
	struct log_block block;
	int is_zero;

	if (log_size_now(&now) > now.bytes)
		now.bytes = log_size_now(&now);
	while (log_block_next(&now, &offset, &block, &gap, &is_zero))
		if (block.header.type == TFP_BLOCK_PACKED_NODES && !is_indexed(&now, block.offset))
			take_packed(nodes, &block);
}

/* The nodes that were there with the records of this log: all of them, unless others were made since. */
static uint64_t nodes_known(const struct log *log)
{
	struct log now = *log;

	if (log->moment == NULL)
		return UINT64_MAX;
	log_read_live(&now);
	return now.live.nodes_count > log->moment->nodes_count ? log->moment->nodes_count : UINT64_MAX;
}

/*
 * Drops nodes that break the rule parent < child, or name a code address that is not there. Where the program goes on the newest may
 * name one that is newer than the blocks that were found; no record of this log names those.
 */
static void check_nodes(const struct log *log, struct stacks *stacks)
{
	uint64_t bad = 0, known = nodes_known(log);

	for (uint32_t i = 1; i < stacks->node_count; i++) {
		uint32_t parent = (uint32_t)(stacks->nodes[i] >> 32), pc = (uint32_t)stacks->nodes[i];
		int is_good = parent < i && pc < stacks->pc_count && (stacks->pcs[pc].flags & TFP_PC_WRITTEN) &&
			      (parent == 0 || stacks->nodes[parent] != 0);

		if (stacks->nodes[i] == 0 || is_good)
			continue;
		stacks->nodes[i] = 0;
		bad += i <= known;
	}
	if (bad != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "",
			 "%" PRIu64 " stack nodes refer to what is not in the log; their stacks are unknown", bad);
}

struct stacks *stacks_load(const struct log *log)
{
	struct gather nodes = {.log = log, .type = TFP_BLOCK_NODES, .entry = sizeof(uint64_t), .most = NODES_MAX};
	struct gather pcs = {.log = log, .type = TFP_BLOCK_PCS, .entry = sizeof(struct tfp_pc), .most = PCS_MAX};
	struct stacks *stacks = calloc(1, sizeof *stacks);

	gather_all(&nodes);
	gather_packed(&nodes);
	if (log->moment != NULL)
		gather_packed_later(&nodes);
	gather_all(&pcs);
	if (stacks == NULL || nodes.is_out_of_memory || pcs.is_out_of_memory) {
		free(nodes.array);
		free(pcs.array);
		free(stacks);
		return NULL;
	}
	stacks->nodes = (uint64_t *)(void *)nodes.array;
	stacks->node_count = (uint32_t)nodes.count;
	stacks->pcs = (struct tfp_pc *)(void *)pcs.array;
	stacks->pc_count = (uint32_t)pcs.count;
	check_nodes(log, stacks);
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (stacks == NULL)
		return;
	free(stacks->nodes);
	free(stacks->pcs);
	free(stacks);
}

size_t stacks_frames(const struct stacks *stacks, uint32_t stack, const struct tfp_pc **frames, size_t room)
{
	uint32_t pc;
	size_t count = 0;

	for (; count < room && stacks_step(stacks, &stack, &pc); count++)
		frames[count] = &stacks->pcs[pc];
	return count;
}
