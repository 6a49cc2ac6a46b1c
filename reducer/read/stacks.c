/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and code addresses of a log, as two arrays. See stacks.h. */
#include "reducer/read/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (UINT32_C(1) << 26) /* 512 MiB of nodes; believed only as far as the file holds them */
#define PCS_MAX (UINT32_C(1) << 24)

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

/* Drops nodes that break the rule parent < child, or name a code address that is not there. */
static void check_nodes(const struct log *log, struct stacks *stacks)
{
	uint64_t bad = 0;

	for (uint32_t i = 1; i < stacks->node_count; i++) {
		uint32_t parent = (uint32_t)(stacks->nodes[i] >> 32), pc = (uint32_t)stacks->nodes[i];
		int is_good = parent < i && pc < stacks->pc_count && (stacks->pcs[pc].flags & TFP_PC_WRITTEN) &&
			      (parent == 0 || stacks->nodes[parent] != 0);

		if (stacks->nodes[i] == 0 || is_good)
			continue;
		stacks->nodes[i] = 0;
		bad++;
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
	gather_all(&pcs);
	log_rest(log);
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
	size_t count = 0;

	while (stack != 0 && stack < stacks->node_count && stacks->nodes[stack] != 0) {
		if (count < room)
			frames[count] = &stacks->pcs[(uint32_t)stacks->nodes[stack]];
		count++;
		stack = (uint32_t)(stacks->nodes[stack] >> 32);
	}
	return count;
}
