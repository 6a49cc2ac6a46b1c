/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of devices, pinned and managed memory: from the host's calls, and from CUPTI's records, each by itself.
 *
 * Rule: what the hooks saw makes the account, because it has call stacks and exact times; CUPTI's records, with what calls mapped, make
 * it where no hook saw the others (static runtime, driver calls through pointers), or not all. Both sums are kept, to be compared.
 */
#include "reducer/model/gpu_scan.h"

#include "reducer/model/accounts.h"
#include "reducer/model/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(f) batch_value(batch, i, fields[f])
#define GRAIN_NS 10000000.0 /* records of several buffers may stand that far out of order */

enum { FLAVOUR_DEVICE = 1, FLAVOUR_MANAGED = 2, FLAVOUR_PINNED = 3, FLAVOUR_REGISTERED = 4, FLAVOUR_ORDERED = 5, FLAVOUR_MAPPED = 6 };
enum { FLAVOUR_IMPORTED = 8, FLAVOUR_HOST_MAPPED = 9 };
enum { POOL_IS_IMPORTED = 4 }; /* device_memory.flags */
enum { ALLOCATED = 1, RELEASED = 2 };
enum { POOL_DESTROYED = 2, POOL_TRIMMED = 3, POOL_LOCAL = 1 }; /* device_pool.operation, .kind */
enum { CAPTURED = 4 }; /* gpu_call.flags */

static const char *name_of(uint32_t flavour, uint32_t device, char text[32])
{
	if (flavour == FLAVOUR_MANAGED)
		return "managed";
	if (flavour == FLAVOUR_PINNED)
		return "pinned";
	if (flavour == FLAVOUR_REGISTERED)
		return "registered";
	if (flavour == FLAVOUR_IMPORTED)
		return "imported";
	if (device == GPU_NONE)
		return GPU_PLACELESS;
	snprintf(text, 32, "device:%u", device);
	return text;
}

/* Stream ordered, mapped and array memory lie on the device like any other. */
static uint32_t plain_flavour(uint64_t flavour)
{
	if (flavour == FLAVOUR_HOST_MAPPED)
		return FLAVOUR_PINNED;
	if ((flavour >= FLAVOUR_MANAGED && flavour <= FLAVOUR_REGISTERED) || flavour == FLAVOUR_IMPORTED)
		return (uint32_t)flavour;
	return FLAVOUR_DEVICE;
}

static int begin_pairs(struct gpu_scan *scan, struct pairs *pairs)
{
	const struct process *process = scan->scan->process;
	double ns_per_tick = process->clock->ns_per_tick > 0 ? process->clock->ns_per_tick : 1;
	size_t streams = process->log->stream_count < 3 ? 3 : process->log->stream_count;

	if (pairs_begin(pairs, streams, 1 / ns_per_tick, 0) != 0)
		return -1;
	pairs->grain = (uint64_t)(GRAIN_NS / ns_per_tick);
	return 0;
}

/* The blocks of an allocator, made when it is new; NULL where there are too many. */
static struct gpu_blocks *blocks_of(struct gpu_scan *scan, uint32_t flavour, uint32_t device)
{
	struct gpu_blocks *wider, *blocks;
	const char *name;
	char text[32];

	if (flavour != FLAVOUR_DEVICE)
		device = GPU_NONE;
	for (size_t i = 0; i < scan->block_count; i++)
		if (scan->blocks[i].flavour == flavour && scan->blocks[i].device == device)
			return &scan->blocks[i];
	wider = scan->block_count >= GPU_DEVICES_MAX ? NULL : model_room(scan->blocks, scan->block_count, sizeof *wider);
	if (wider == NULL) {
		scan->gpu->counts.left_out++;
		return NULL;
	}
	scan->blocks = wider;
	blocks = &wider[scan->block_count];
	if (begin_pairs(scan, &blocks->calls) != 0 || begin_pairs(scan, &blocks->cupti) != 0) {
		pairs_free(&blocks->calls);
		pairs_free(&blocks->cupti);
		return NULL;
	}
	scan->block_count++;
	blocks->flavour = flavour;
	blocks->device = device;
	name = name_of(flavour, device, text);
	blocks->name = run_text(scan->scan->run, name, strlen(name));
	return blocks;
}

/* A block goes that may have been made where nothing was recorded: its size, as the release tells it, was in the sum at the opening. */
static void release_unseen(struct tally *tally, int64_t before, uint64_t bytes, uint64_t time)
{
	if (!tally->has_base || before < (int64_t)bytes)
		return;
	tally->base = before - (int64_t)bytes - (int64_t)tally->live;
	tally_curve(tally, time);
}

/* cudaFree takes managed memory too: whoever holds the address, the named flavour first. `bytes`: of the block, 0 = not told. */
static void release(struct gpu_scan *scan, const struct gpu_call *call, uint64_t address, uint32_t flavour, uint64_t bytes)
{
	struct gpu_blocks *blocks = NULL;

	for (size_t i = 0; i < scan->block_count; i++)
		if (live_find(&scan->blocks[i].calls.live, address) != NULL && (blocks == NULL || scan->blocks[i].flavour == flavour))
			blocks = &scan->blocks[i];
	for (size_t i = 0; i < scan->block_count && blocks == NULL; i++) /* another thread has had the address, and given it back, since */
		if (pairs_is_late(&scan->blocks[i].calls, address))
			blocks = &scan->blocks[i];
	if (blocks == NULL) /* from before, or its allocation stands a little later in the log */
		for (size_t i = 0; i < scan->block_count && blocks == NULL; i++)
			if (scan->blocks[i].flavour == flavour)
				blocks = &scan->blocks[i];
	if (blocks == NULL)
		blocks = blocks_of(scan, flavour, GPU_NONE);
	if (blocks == NULL)
		return;
	if (gpu_mapped_is(blocks, address))
		gpu_mapped_note(scan, blocks, &(struct live_block){.address = address, .time = call->begin}, 1);
	int64_t before = (int64_t)blocks->calls.tally.live + blocks->calls.tally.base;
	pairs_release(&blocks->calls, call->stream, address, call->begin);
	if (bytes != 0)
		release_unseen(&blocks->calls.tally, before, bytes, call->begin);
	gpu_owner_forget(blocks, address);
}

/* The bytes that are mapped at an address; 0 = none are known. */
static uint64_t mapped_at(const struct gpu_scan *scan, uint64_t address)
{
	for (size_t i = 0; i < scan->block_count; i++) {
		const struct live_table *live = &scan->blocks[i].calls.live;
		const struct live_entry *entry = live_find(live, address);
		if (entry != NULL)
			return live_get(live, entry).usable;
	}
	return 0;
}

/* A call may unmap several mappings that lie behind one another: `bytes` are those of all. */
static void release_mapped(struct gpu_scan *scan, const struct gpu_call *call, uint64_t address, uint32_t flavour, uint64_t bytes)
{
	uint64_t mapped = mapped_at(scan, address), done = mapped;

	release(scan, call, address, flavour, 0);
	for (; mapped != 0 && done < bytes && done >= mapped; done += mapped) {
		mapped = mapped_at(scan, address + done);
		if (mapped != 0)
			release(scan, call, address + done, flavour, 0);
	}
}

uint32_t gpu_device_of_call(struct gpu_scan *scan, const struct gpu_call *call, uint32_t device)
{
	uint32_t place = call->context == 0 ? NUMBER_MAP_NONE : number_map_find(&scan->context_of, 0, call->context);

	if (device != GPU_NONE)
		return device;
	if (place != NUMBER_MAP_NONE)
		return scan->gpu->contexts[place].device;
	return scan->gpu->device_count == 1 ? scan->gpu->devices[0].id : GPU_NONE;
}

/* 1: the call is about memory of a graph, which it takes when it runs: captured, or a release of what a captured call was given. */
static int is_of_graph(struct gpu_scan *scan, const struct gpu_call *call, const uint64_t *values)
{
	int is_captured = (call->flags & CAPTURED) != 0, is_release = call->kind == GPU_FREE;
	struct live_entry *known = live_find(&scan->graph_memory, values[0]);
	uint64_t sum = 0;

	if (is_captured && !is_release) {
		scan->gpu->counts.graph_allocations++;
		scan->gpu->counts.graph_bytes += values[1];
		if (known == NULL)
			live_settle(&scan->graph_memory, values[0], values[1], 0, &sum);
	} else if (!is_captured && !is_release && known != NULL) { /* the address is another block's now */
		live_remove(&scan->graph_memory, known);
	}
	return is_captured || (is_release && known != NULL);
}

void gpu_memory_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	const uint64_t *values = arguments->values;
	struct live_block block = {.time = call->end, .stack = call->stack};
	struct gpu_blocks *blocks;

	if (arguments->kind != call->kind || call->result != 0 || values[0] == 0)
		return;
	if (is_of_graph(scan, call, values))
		return;
	if (call->kind == GPU_FREE && (values[2] == FLAVOUR_MAPPED || values[2] == FLAVOUR_HOST_MAPPED)) {
		release_mapped(scan, call, values[0], plain_flavour(values[2]), values[3]);
		return;
	}
	if (call->kind == GPU_FREE) {
		release(scan, call, values[0], plain_flavour(values[2]), values[3]);
		return;
	}
	blocks = blocks_of(scan, plain_flavour(values[5]), gpu_device_of_call(scan, call, (uint32_t)values[4]));
	if (blocks == NULL)
		return;
	block.address = values[0];
	block.usable = values[1];
	pairs_alloc(&blocks->calls, call->stream, &block);
	if (values[5] == FLAVOUR_MAPPED || values[5] == FLAVOUR_HOST_MAPPED)
		gpu_mapped_note(scan, blocks, &block, 0);
	gpu_owner_note(scan, blocks, block.address, values[6], gpu_device_of_call(scan, call, (uint32_t)values[4]));
	if (values[3] != 0 && (uint32_t)values[4] != GPU_NONE)
		number_map_set(&scan->pool_devices, 0, values[3], (uint32_t)values[4]);
}

/* A pool's memory lies on the pool's device, not on that of the thread's context: known by what it handed out before, else not. */
static uint32_t device_refused(struct gpu_scan *scan, const struct gpu_call *call, const uint64_t *values)
{
	uint32_t device = (uint32_t)values[4];

	if (device != GPU_NONE || values[5] != FLAVOUR_ORDERED || values[3] == 0 || scan->gpu->device_count == 1)
		return gpu_device_of_call(scan, call, device);
	return number_map_find(&scan->pool_devices, 0, values[3]); /* NUMBER_MAP_NONE is GPU_NONE */
}

/* What such a call returns is another call's failure. */
static int tells_last_error(const char *function)
{
	return strcmp(function, "cudaGetLastError") == 0 || strcmp(function, "cudaPeekAtLastError") == 0;
}

/* A call that returned "out of memory". One inside of it that failed first is the same failure: the outermost call is named. */
void gpu_memory_refused(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	const uint64_t *values = arguments->values;
	int is_sized = arguments->kind == GPU_ALLOC, is_made = arguments->is_object && call->kind == GPU_ALLOC;
	uint32_t device = is_sized ? device_refused(scan, call, values) : gpu_device_of_call(scan, call, GPU_NONE);
	uint64_t bytes = is_sized || is_made ? values[1] : 0;
	struct refused *inner = refused_since(scan->scan, (uint32_t)call->stream, call->begin);
	const char *name, *function = call->function == GPU_NONE ? "" : scan->gpu->functions[call->function].name;
	char text[32];

	if (tells_last_error(function))
		return;
	name = name_of(is_sized ? plain_flavour(values[5]) : FLAVOUR_DEVICE, device, text);
	const struct refused row = {
		.time_ns = (int64_t)call->end,
		.requested_bytes = bytes != 0 ? bytes : inner != NULL ? inner->requested_bytes : UINT64_MAX,
		.call = function,
		.allocator = run_text(scan->scan->run, name, strlen(name)),
		.stack = call->stack,
		.op = call->op,
		.stream = (uint32_t)call->stream,
	};
	if (inner == NULL) {
		refused_add(scan->scan, &row);
	} else {
		uint32_t thread = inner->thread;
		*inner = row;
		inner->thread = thread;
	}
}

static struct gpu_pool *pool_at(struct gpu_scan *scan, uint64_t address, uint32_t device)
{
	uint32_t place = number_map_find(&scan->pool_rows, device, address);
	struct gpu_pool *pool;

	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->pools[place];
	pool = GPU_ROOM(scan, pools, pool_count);
	if (pool == NULL)
		return NULL;
	*pool = (struct gpu_pool){.address = address, .device = device};
	number_map_set(&scan->pool_rows, device, address, (uint32_t)scan->gpu->pool_count - 1);
	return pool;
}

#define SIZE_UNSAID UINT64_MAX

/* A pool's size as it is now, and what its device holds with it. */
static void set_pool(struct gpu_scan *scan, struct gpu_blocks *blocks, struct gpu_pool *pool, uint64_t bytes, uint64_t used,
		     uint64_t time)
{
	if (bytes == SIZE_UNSAID) /* at least what is handed out */
		bytes = pool->bytes > used ? pool->bytes : used;
	blocks->reserved += bytes - pool->bytes;
	pool->bytes = bytes;
	pool->used = used;
	pool->most_bytes = bytes > pool->most_bytes ? bytes : pool->most_bytes;
	pool->most_used = used > pool->most_used ? used : pool->most_used;
	if (curve_add(&blocks->held, time, blocks->reserved + blocks->plain) != 0)
		scan->gpu->counts.left_out++;
}

/* What is handed out of a pool after one more event, where the record does not say it. */
static uint64_t used_after(const struct gpu_pool *pool, uint64_t bytes, int is_release)
{
	if (is_release)
		return pool->used > bytes ? pool->used - bytes : 0;
	return pool->used + bytes;
}

static uint32_t stack_of(struct gpu_scan *scan, uint64_t correlation)
{
	const struct gpu_flight *flight = gpu_pair_find(scan, correlation);

	return flight != NULL && flight->has & FLIGHT_CALL ? flight->stack : 0;
}

void gpu_take_device_memory(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint64_t timestamp = VALUE(0), kind = VALUE(5), flags = VALUE(6), bytes = VALUE(3);
	uint32_t plain = kind == 5 || kind == 7 ? FLAVOUR_MANAGED : kind == 2 ? FLAVOUR_PINNED : FLAVOUR_DEVICE;
	uint32_t flavour = flags & POOL_IS_IMPORTED ? FLAVOUR_IMPORTED : plain;
	uint64_t time = timestamp == 0 ? batch->times[i] : gpu_clock_ticks(scan->clock, timestamp, NULL);
	struct gpu_blocks *blocks = kind == 1 ? NULL : blocks_of(scan, flavour, (uint32_t)VALUE(7));
	struct gpu_pool *pool = blocks != NULL && flags & 2 && VALUE(8) != 0 ? pool_at(scan, VALUE(8), blocks->device) : NULL;
	const struct live_block block = {.address = VALUE(2), .time = time, .usable = bytes, .stack = stack_of(scan, VALUE(1))};
	int is_release = VALUE(4) == RELEASED;

	(void)stream;
	scan->any = 1;
	if (blocks == NULL || block.address == 0)
		return;
	gpu_mapped_feed(scan, time);
	/* Two numbers of streams, so that a release and an allocation that cross are settled like those of two threads. */
	blocks->variables += !is_release && (kind == 6 || kind == 7);
	if (is_release)
		pairs_release(&blocks->cupti, 1, block.address, time);
	else
		pairs_alloc(&blocks->cupti, 0, &block);
	if (pool != NULL) {
		set_pool(scan, blocks, pool, VALUE(9) != 0 ? VALUE(9) : SIZE_UNSAID,
			 VALUE(10) != 0 ? VALUE(10) : used_after(pool, bytes, is_release), time);
		return;
	}
	blocks->plain = is_release ? blocks->plain - (bytes < blocks->plain ? bytes : blocks->plain) : blocks->plain + bytes;
	if (curve_add(&blocks->held, time, blocks->reserved + blocks->plain) != 0)
		scan->gpu->counts.left_out++;
}

/* One that was trimmed may have nothing left; of an imported one no size is told. */
static uint64_t pool_size(uint64_t operation, uint64_t kind, uint64_t bytes, uint64_t used)
{
	int is_told = bytes != 0 || (operation == POOL_TRIMMED && kind == POOL_LOCAL && used == 0);

	return is_told ? bytes : SIZE_UNSAID;
}

void gpu_take_device_pool(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t device = (uint32_t)VALUE(2);
	struct gpu_pool *pool = pool_at(scan, VALUE(0), device);
	struct gpu_blocks *blocks = blocks_of(scan, FLAVOUR_DEVICE, device);

	(void)stream;
	scan->any = 1;
	if (pool == NULL || blocks == NULL)
		return;
	pool->threshold = VALUE(5);
	pool->trims += VALUE(1) == POOL_TRIMMED;
	pool->is_destroyed = VALUE(1) == POOL_DESTROYED;
	set_pool(scan, blocks, pool, pool->is_destroyed ? 0 : pool_size(VALUE(1), VALUE(7), VALUE(3), VALUE(4)),
		 pool->is_destroyed ? 0 : VALUE(4), VALUE(6) == 0 ? batch->times[i] : gpu_clock_ticks(scan->clock, VALUE(6), NULL));
}

static void add_answers(struct gpu_device *device, uint64_t answers, uint64_t least_free, uint64_t total)
{
	if (answers != 0 && (device->answers == 0 || least_free < device->least_free))
		device->least_free = least_free;
	if (answers != 0)
		device->total = total;
	device->answers += answers;
}

void gpu_take_device_room(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t id = (uint32_t)VALUE(0);
	struct gpu_device *device = id == GPU_NONE ? &scan->unnamed : gpu_device_at(scan, id);

	(void)stream;
	scan->any = 1;
	if (device != NULL && VALUE(2) != 0)
		add_answers(device, 1, VALUE(1), VALUE(2));
}

/* What is live when recording goes on is told as a sum (gpu_live): of which blocks, nobody saw. */
static void forget(struct pairs *pairs, uint64_t time)
{
	tally_forget(&pairs->tally, time);
	pairs->tally.base = 0;
}

void gpu_take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;

	(void)stream;
	for (size_t k = 0; k < scan->block_count && !VALUE(0); k++) {
		forget(&scan->blocks[k].calls, batch->times[i]);
		forget(&scan->blocks[k].cupti, batch->times[i]);
		scan->blocks[k].plain = 0; /* pools tell their own size again */
	}
}

void gpu_take_live(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint32_t device = fields[3] >= 0 ? (uint32_t)VALUE(3) : scan->gpu->device_count == 1 ? scan->gpu->devices[0].id : GPU_NONE;
	struct gpu_blocks *blocks = blocks_of(scan, plain_flavour(VALUE(0)), device);

	(void)stream;
	if (blocks == NULL)
		return;
	/* From here on, what is live and not known stands below the curve of what is known. */
	blocks->calls.tally.base = (int64_t)(VALUE(2) - blocks->calls.tally.live);
	blocks->calls.tally.has_base |= blocks->calls.tally.base != 0;
	if (curve_add(&blocks->calls.tally.curve, batch->times[i], VALUE(2)) != 0)
		scan->gpu->counts.left_out++;
}

static void check(struct gpu_scan *scan, const struct gpu_blocks *blocks, int is_from_cupti)
{
	struct gpu_memory_check *row = GPU_ROOM(scan, memory_checks, memory_check_count);
	const struct tally *calls = &blocks->calls.tally, *cupti = &blocks->cupti.tally;

	if (row == NULL)
		return;
	*row = (struct gpu_memory_check){
		.allocator = blocks->name, .call_allocations = calls->allocations, .call_frees = calls->frees,
		.call_bytes = calls->allocated_bytes, .call_peak = calls->peak, .call_live = calls->live,
		.call_unknown_frees = blocks->calls.unknown_frees, .cupti_allocations = cupti->allocations,
		.cupti_frees = cupti->frees, .cupti_bytes = cupti->allocated_bytes, .cupti_peak = cupti->peak,
		.mappings = blocks->mappings,
		.cupti_live = cupti->live, .cupti_unknown_frees = blocks->cupti.unknown_frees, .is_from_cupti = is_from_cupti};
}

/* The highest point of a curve that stands on something unknown, or lower than what is known: what went while nobody recorded. */
static void peak_of_curve(struct account *account)
{
	account->peak_bytes = 0;
	for (size_t i = 0; i < account->timeline.count; i++) {
		if (account->timeline.points[i].max <= account->peak_bytes)
			continue;
		account->peak_bytes = account->timeline.points[i].max;
		account->peak_time_ns = account->timeline.points[i].max_time_ns;
	}
}

/* Whether CUPTI's records are the better account: of calls that no hook saw (functions found through pointers, runtimes of libraries). */
static int knows_more(const struct gpu_blocks *blocks)
{
	const struct tally *calls = &blocks->calls.tally, *cupti = &blocks->cupti.tally;

	if (cupti->allocations <= blocks->mappings) /* it told of none */
		return 0;
	if (calls->allocations <= blocks->mappings)
		return 1;
	return calls->base == 0 && blocks->cupti.replaced == 0 && cupti->allocations - blocks->variables > calls->allocations &&
	       cupti->frees >= calls->frees;
}

static int make_account(struct gpu_scan *scan, struct gpu_blocks *blocks)
{
	int is_from_cupti = knows_more(blocks);
	struct pairs *pairs = is_from_cupti ? &blocks->cupti : &blocks->calls;
	struct account *account = process_add_account(scan->scan->process, blocks->name);

	if (account == NULL)
		return -1;
	check(scan, blocks, is_from_cupti);
	if (accounts_take_pairs(pairs, account) != 0)
		return -1;
	if (pairs->tally.has_base)
		peak_of_curve(account);
	return blocks->held.count == 0 ? 0 : accounts_take_curve(&blocks->held, &account->reserved);
}

int gpu_memory_finish(struct gpu_scan *scan)
{
	if (scan->gpu->device_count == 1) /* of several it may be any */
		add_answers(&scan->gpu->devices[0], scan->unnamed.answers, scan->unnamed.least_free, scan->unnamed.total);
	gpu_mapped_feed(scan, UINT64_MAX);
	for (size_t i = 0; i < scan->block_count; i++)
		if (make_account(scan, &scan->blocks[i]) != 0)
			return -1;
	return 0;
}

void gpu_memory_free(struct gpu_scan *scan)
{
	for (size_t i = 0; i < scan->block_count; i++) {
		pairs_free(&scan->blocks[i].calls);
		pairs_free(&scan->blocks[i].cupti);
		curve_free(&scan->blocks[i].held);
		live_free(&scan->blocks[i].owners);
		live_free(&scan->blocks[i].mapped);
	}
	live_free(&scan->graph_memory);
	number_map_free(&scan->owner_places);
	number_map_free(&scan->pool_devices);
	for (size_t i = 0; i < scan->owner_count; i++)
		free(scan->owners[i].own);
	free(scan->owners);
	free(scan->mapped);
	free(scan->blocks);
}
