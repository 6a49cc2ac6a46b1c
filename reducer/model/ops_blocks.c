/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of frameworks' allocators; see reducer/model/ops_blocks.h. */
#include "reducer/model/ops_blocks.h"

#include "reducer/model/accounts.h"
#include "reducer/model/live.h"
#include "reducer/model/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATORS_MAX 256 /* of one process; each device of each framework is one */

struct allocator {
	const char *name;
	struct live_table live;
	struct tally tally;
	uint64_t told_before, told_peak;
	int is_told; /* told_before is known */
	int has_stacks, has_stackless;
	uint64_t frees, unknown_frees, unknown_freed_bytes, replaced;
};

struct blocks {
	struct allocator *items[ALLOCATORS_MAX];
	size_t count;
	uint64_t nowhere, strange; /* blocks without an address; what was told of allocators beyond ALLOCATORS_MAX */
	int is_short;		   /* of memory */
};

struct blocks *blocks_begin(void)
{
	return calloc(1, sizeof(struct blocks));
}

void blocks_free(struct blocks *blocks)
{
	if (blocks == NULL)
		return;
	for (size_t i = 0; i < blocks->count; i++) {
		live_free(&blocks->items[i]->live);
		tally_free(&blocks->items[i]->tally);
		free(blocks->items[i]);
	}
	free(blocks);
}

/* NULL: no memory, or ALLOCATORS_MAX others are there. */
static struct allocator *find(struct blocks *blocks, const char *name)
{
	struct allocator *made;

	for (size_t i = 0; i < blocks->count; i++)
		if (blocks->items[i]->name == name || strcmp(blocks->items[i]->name, name) == 0)
			return blocks->items[i];
	if (blocks->count == ALLOCATORS_MAX)
		return NULL;
	made = calloc(1, sizeof *made);
	if (made == NULL) {
		blocks->is_short = 1;
		return NULL;
	}
	made->name = name;
	tally_begin(&made->tally, 1);
	blocks->items[blocks->count++] = made;
	return made;
}

static struct amount amount_of(const struct live_block *block)
{
	return (struct amount){.blocks = 1, .bytes = block->usable, .requested = block->usable - block->slack};
}

void blocks_forget(struct blocks *blocks, uint64_t time)
{
	for (size_t i = 0; i < blocks->count; i++) {
		tally_forget(&blocks->items[i]->tally, time);
		live_free(&blocks->items[i]->live);
	}
}

void blocks_add(struct blocks *blocks, const char *name, uint64_t address, uint64_t bytes, uint64_t requested, uint64_t time,
		uint32_t stack)
{
	struct allocator *allocator = find(blocks, name);
	uint64_t slack = requested <= bytes ? bytes - requested : 0;
	struct live_block block = {.address = address, .time = time, .usable = bytes, .stack = stack,
				   .slack = slack > UINT32_MAX ? UINT32_MAX : (uint32_t)slack};
	struct live_entry *old;

	if (allocator == NULL) {
		blocks->strange += blocks->count == ALLOCATORS_MAX;
		return;
	}
	*(stack != 0 ? &allocator->has_stacks : &allocator->has_stackless) = 1;
	old = live_find(&allocator->live, address);
	if (old != NULL) { /* its release is not in the log: it went in a closed window, or was lost */
		struct live_block before = live_get(&allocator->live, old);
		struct amount gone = amount_of(&before);
		tally_take(&allocator->tally, before.stack, time, &gone);
		live_remove(&allocator->live, old);
		allocator->replaced++;
	}
	struct amount amount = amount_of(&block);
	tally_add(&allocator->tally, stack, time, &amount);
	if (address == 0)
		blocks->nowhere++;
	else if (live_put(&allocator->live, &block) != 0)
		blocks->is_short = 1;
}

void blocks_remove(struct blocks *blocks, const char *name, uint64_t address, uint64_t bytes, uint64_t time)
{
	struct allocator *allocator = find(blocks, name);
	struct live_entry *entry = allocator == NULL ? NULL : live_find(&allocator->live, address);

	if (allocator == NULL) {
		blocks->strange += blocks->count == ALLOCATORS_MAX;
		return;
	}
	if (entry == NULL) {
		allocator->unknown_frees++;
		allocator->unknown_freed_bytes += bytes;
		return;
	}
	struct live_block block = live_get(&allocator->live, entry);
	struct amount amount = amount_of(&block);
	allocator->frees++;
	tally_take(&allocator->tally, block.stack, time, &amount);
	live_remove(&allocator->live, entry);
}

void blocks_told(struct blocks *blocks, const char *name, uint64_t total, uint64_t bytes, int is_release)
{
	struct allocator *allocator = total == 0 ? NULL : find(blocks, name);

	if (allocator == NULL)
		return;
	if (!allocator->is_told)
		allocator->told_before = is_release ? total + bytes : total > bytes ? total - bytes : 0;
	allocator->is_told = 1;
	allocator->told_peak = total > allocator->told_peak ? total : allocator->told_peak;
}

static int finish_one(struct allocator *allocator, struct account *account)
{
	struct tally *tally = &allocator->tally;

	if (account == NULL)
		return -1;
	*account = (struct account){
		.allocator = allocator->name, .kind = ACCOUNT_EVENTS,
		.allocations = tally->allocations, .frees = allocator->frees,
		.requested_bytes = tally->requested_bytes, .allocated_bytes = tally->allocated_bytes,
		.freed_bytes = tally->freed_bytes, .unknown_frees = allocator->unknown_frees,
		.unknown_freed_bytes = allocator->unknown_freed_bytes,
		.event_allocations = tally->allocations, .event_frees = allocator->frees,
		.event_requested_bytes = tally->requested_bytes, .event_allocated_bytes = tally->allocated_bytes,
		.event_freed_bytes = tally->freed_bytes, .event_unknown_frees = allocator->unknown_frees,
		.told_before_bytes = allocator->told_before, .told_peak_bytes = allocator->told_peak,
		.has_gaps = tally->forgotten_time != 0, .is_leak_unknown = tally->forgotten_time != 0,
		.has_chosen_stacks = allocator->has_stacks && allocator->has_stackless,
		.event_replaced = allocator->replaced, .live_bytes = tally->live, .live_blocks = tally->live_blocks,
		.peak_bytes = tally->peak, .peak_time_ns = tally->peak == 0 ? TIME_UNKNOWN : (int64_t)tally->peak_time,
		.requested_peak_bytes = tally->requested_peak,
		.requested_peak_time_ns = tally->requested_peak == 0 ? TIME_UNKNOWN : (int64_t)tally->requested_peak_time,
	};
	if (accounts_take_curve(&tally->curve, &account->timeline) != 0)
		return -1;
	tally_finish(tally, account);
	return 0;
}

static void say_left_out(const struct blocks *blocks, const struct log *log)
{
	if (blocks->nowhere != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "",
			 "%" PRIu64 " block%s of frameworks' allocators %s no address: no release was found, they count as live to the end",
			 blocks->nowhere, blocks->nowhere == 1 ? "" : "s", blocks->nowhere == 1 ? "has" : "have");
	if (blocks->strange != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "",
			 "the process has more than %d allocators of frameworks: what %" PRIu64 " records tell of the others was left out",
			 ALLOCATORS_MAX, blocks->strange);
}

int blocks_finish(struct blocks *blocks, struct process *process)
{
	for (size_t i = 0; i < blocks->count; i++) {
		blocks->is_short |= blocks->items[i]->tally.is_out_of_memory;
		if (finish_one(blocks->items[i], process_add_account(process, blocks->items[i]->name)) != 0)
			return -1;
	}
	say_left_out(blocks, process->log);
	if (blocks->is_short)
		diag_no_room(process->log->diags, process->log->path, "live blocks of the frameworks' allocators");
	return 0;
}
