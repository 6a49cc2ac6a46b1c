/* SPDX-License-Identifier: Apache-2.0 */
/* Live GPU blocks; see collectors/gpu_blocks.h. */
#include "collectors/gpu_blocks.h"

#include "collectors/gpu_calls.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define SLOTS 65536u /* 1.5 MiB of which only touched pages exist; frameworks hold hundreds of blocks, few programs more than 10,000 */
#define PROBES 64u   /* slots looked at before the table counts as full */
#define GONE 1u      /* a slot that was used and is free again: later ones may lie behind it */
#define BYTES_MASK (UINT64_MAX >> 12) /* of `size`: the flavour stands in the top 4 bits, the device below it */
#define DEVICE_MASK 255u              /* all ones: unknown, or beyond what 8 bits hold */
#define HANDLE 15u                    /* in the place of a flavour: no block, but a handle of memory of others */
#define AS_HANDLE(handle) ((handle) | UINT64_C(1) << 63) /* an address that no block has */

struct slot {
	_Atomic uint64_t address; /* 0 = never used */
	_Atomic uint64_t size;    /* flavour, device and bytes */
	_Atomic uint64_t context; /* handle, 0 = unknown or none */
};

/* In pages that a fork child finds empty: CUDA does not live on in it. */
struct tfp_gpu_blocks {
	struct total {
		_Atomic uint64_t blocks, bytes;
		_Atomic uint32_t is_used; /* had blocks, if it has none now */
	} totals[DEVICE_MASK + 1][HANDLE + 1]; /* by device and flavour; of which few rows are ever touched */
	_Atomic uint32_t is_told; /* of by records already */
	struct slot slots[SLOTS];
};

static struct tfp_gpu_blocks *table(void)
{
	struct tfp_gpu_blocks *none = NULL, *blocks = __atomic_load_n(&tfp_state->gpu_blocks, __ATOMIC_ACQUIRE);

	if (blocks)
		return blocks;
	blocks = tfp_pages_get(sizeof *blocks, 1);
	if (blocks && !__atomic_compare_exchange_n(&tfp_state->gpu_blocks, &none, blocks, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(blocks, sizeof *blocks);
		blocks = none;
	}
	return blocks;
}

/* Of the block in a slot, by its `size`. */
static struct total *total_of(struct tfp_gpu_blocks *blocks, uint64_t size)
{
	return &blocks->totals[size >> 52 & DEVICE_MASK][size >> 60];
}

/* Blocks are aligned to 256 bytes and more: multiply (golden ratio), take the top bits. */
static uint32_t place_of(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

void tfp_gpu_block_add(struct tfp_thread *thread, const struct tfp_gpu_block *block)
{
	struct tfp_gpu_blocks *blocks = block->address > GONE ? table() : NULL;

	for (uint32_t i = 0; blocks && i < PROBES; i++) {
		struct slot *slot = &blocks->slots[(place_of(block->address) + i) % SLOTS];
		uint64_t there = slot->address;
		if (there > GONE || !__atomic_compare_exchange_n((uint64_t *)&slot->address, &there, block->address, 0, __ATOMIC_ACQ_REL,
								 __ATOMIC_RELAXED))
			continue;
		uint64_t size = (uint64_t)block->flavour << 60 | (uint64_t)(block->device & DEVICE_MASK) << 52 |
				(block->bytes & BYTES_MASK);
		slot->context = block->context;
		slot->size = size;
		total_of(blocks, size)->blocks++;
		total_of(blocks, size)->bytes += block->bytes;
		total_of(blocks, size)->is_used = 1;
		return;
	}
	if (block->address > GONE)
		tfp_loss_add(thread, TFP_LOSS_gpu_blocks, 1, tfp_now());
}

/* Frees the slot that holds the block. 0: somebody else released it too, and has done so. */
static int take_out(struct tfp_gpu_blocks *blocks, struct slot *slot, uint64_t address, uint64_t size)
{
	if (!__atomic_compare_exchange_n((uint64_t *)&slot->address, &address, GONE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	total_of(blocks, size)->blocks--;
	total_of(blocks, size)->bytes -= size & BYTES_MASK;
	return 1;
}

/* All blocks of the device, or, where a context is given, of that. */
static void drop(uint32_t device, uint64_t context)
{
	struct tfp_gpu_blocks *blocks = tfp_state->gpu_blocks;

	for (uint32_t i = 0; blocks && i < SLOTS; i++) {
		struct slot *slot = &blocks->slots[i];
		uint64_t address = slot->address, size = slot->size;
		int is_meant = context ? slot->context == context : (size >> 52 & DEVICE_MASK) == (device & DEVICE_MASK);
		if (address > GONE && size >> 60 != HANDLE && is_meant)
			take_out(blocks, slot, address, size);
	}
}

void tfp_gpu_blocks_drop(uint32_t device)
{
	drop(device, 0);
}

void tfp_gpu_blocks_drop_context(uint64_t context)
{
	if (context)
		drop(0, context);
}

int tfp_gpu_block_remove(struct tfp_gpu_block *block)
{
	struct tfp_gpu_blocks *blocks = block->address > GONE ? tfp_state->gpu_blocks : NULL;

	for (uint32_t i = 0; blocks && i < PROBES; i++) {
		struct slot *slot = &blocks->slots[(place_of(block->address) + i) % SLOTS];
		uint64_t there = slot->address;
		if (!there)
			break;
		if (there != block->address)
			continue;
		uint64_t size = slot->size, context = slot->context, device = size >> 52 & DEVICE_MASK;
		if (!take_out(blocks, slot, block->address, size))
			break;
		block->flavour = (uint32_t)(size >> 60);
		block->device = device == DEVICE_MASK ? UINT32_MAX : (uint32_t)device;
		block->bytes = size & BYTES_MASK;
		block->context = context;
		return 1;
	}
	return 0;
}

void tfp_gpu_handle_note(struct tfp_thread *thread, uint64_t handle, int is_of_others)
{
	struct tfp_gpu_block block = {.address = AS_HANDLE(handle)};

	tfp_gpu_block_remove(&block);
	block = (struct tfp_gpu_block){.address = AS_HANDLE(handle), .flavour = HANDLE, .device = UINT32_MAX};
	if (is_of_others)
		tfp_gpu_block_add(thread, &block);
}

int tfp_gpu_handle_is_of_others(uint64_t handle)
{
	struct tfp_gpu_blocks *blocks = tfp_state->gpu_blocks;
	uint64_t there = UINT64_MAX;

	for (uint32_t i = 0; blocks && i < PROBES && there; i++) {
		there = blocks->slots[(place_of(AS_HANDLE(handle)) + i) % SLOTS].address;
		if (there == AS_HANDLE(handle))
			return 1;
	}
	return 0;
}

/* The flavour whose account a block is in: all that lies on a device is in one, and all that is pinned. */
static const uint8_t account_of[TFP_GPU_FLAVOURS] = {
	[TFP_GPU_FLAVOUR_DEVICE] = TFP_GPU_FLAVOUR_DEVICE,         [TFP_GPU_FLAVOUR_ORDERED] = TFP_GPU_FLAVOUR_DEVICE,
	[TFP_GPU_FLAVOUR_MAPPED] = TFP_GPU_FLAVOUR_DEVICE,         [TFP_GPU_FLAVOUR_ARRAY] = TFP_GPU_FLAVOUR_DEVICE,
	[TFP_GPU_FLAVOUR_MANAGED] = TFP_GPU_FLAVOUR_MANAGED,       [TFP_GPU_FLAVOUR_REGISTERED] = TFP_GPU_FLAVOUR_REGISTERED,
	[TFP_GPU_FLAVOUR_PINNED] = TFP_GPU_FLAVOUR_PINNED,         [TFP_GPU_FLAVOUR_HOST_MAPPED] = TFP_GPU_FLAVOUR_PINNED,
	[TFP_GPU_FLAVOUR_IMPORTED] = TFP_GPU_FLAVOUR_IMPORTED,
};

struct sum {
	uint64_t blocks, bytes;
	uint32_t is_due;
};

static void put(struct tfp_thread *thread, struct tfp_lane *lane, const struct sum *sum, uint32_t flavour, uint32_t device)
{
	if (sum->is_due)
		TFP_PUT(thread, lane, tfp_now(), gpu_live, .blocks = sum->blocks, .bytes = sum->bytes, .flavour = (uint8_t)flavour,
			.device = device);
}

/* That an account is empty is news where a window before this one may have left it otherwise. */
void tfp_gpu_blocks_note(struct tfp_thread *thread, struct tfp_lane *lane)
{
	struct tfp_gpu_blocks *blocks = tfp_state->gpu_blocks;
	struct sum sums[TFP_GPU_FLAVOURS] = {{0}};
	uint32_t was_told = blocks && __atomic_exchange_n((uint32_t *)&blocks->is_told, 1, __ATOMIC_RELAXED);

	for (uint32_t device = 0; blocks && device <= DEVICE_MASK; device++) {
		for (uint32_t flavour = 1; flavour < TFP_GPU_FLAVOURS; flavour++) {
			const struct total *total = &blocks->totals[device][flavour];
			struct sum *sum = &sums[account_of[flavour]];
			sum->blocks += total->blocks;
			sum->bytes += total->bytes;
			sum->is_due |= total->blocks || (was_told && total->is_used);
		}
		put(thread, lane, &sums[TFP_GPU_FLAVOUR_DEVICE], TFP_GPU_FLAVOUR_DEVICE, device == DEVICE_MASK ? UINT32_MAX : device);
		sums[TFP_GPU_FLAVOUR_DEVICE] = (struct sum){0};
	}
	for (uint32_t flavour = 1; flavour < TFP_GPU_FLAVOURS; flavour++)
		put(thread, lane, &sums[flavour], flavour, UINT32_MAX);
}
