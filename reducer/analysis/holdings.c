/* SPDX-License-Identifier: Apache-2.0 */
/* What the frameworks' allocators held; see reducer/analysis/holdings.h. */
#include "reducer/analysis/holdings.h"

#include "reducer/analysis/phases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct holder_pass {
	struct live_table live; /* `stack` of a block: its holding */
	struct base_index index;
	uint64_t peaks; /* new ones so far */
	uint64_t own;	/* bytes of live blocks */
};

const char *region_name(enum region region)
{
	static const char *const names[REGIONS] = {"", "temporary", "output", "persistent"};

	return names[region];
}

const char *holding_type_name(uint32_t type)
{
	static const char *const names[] = {
		NULL,	      "float32", "float64",  "int32",	"uint8",  "int16",    "int8",	     "string",	     "complex64",
		"int64",      "bool",	 "qint8",    "quint8",	"qint32", "bfloat16", "qint16",	     "quint16",	     "uint16",
		"complex128", "float16", "resource", "variant", "uint32", "uint64",   "float8_e5m2", "float8_e4m3fn"};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static void *begin(const struct analysis_input *input)
{
	return allocators_begin(input, sizeof(struct holder));
}

static struct holder *holder_of(struct allocator_list *all, const char *allocator)
{
	bool is_new;
	struct holder *holder = allocators_of(all, allocator, &is_new);

	if (is_new) {
		holder->peak_ns = TIME_UNKNOWN;
		holder->pass = base_alloc(1, sizeof(*holder->pass));
	}
	return holder;
}

/* TensorFlow says "output", "temp", "persist/dynamic" and the like. */
static enum region region_of(const char *said)
{
	if (strncmp(said, "temp", 4) == 0)
		return REGION_TEMPORARY;
	if (strncmp(said, "output", 6) == 0)
		return REGION_OUTPUT;
	return strncmp(said, "persist", 7) == 0 ? REGION_PERSISTENT : REGION_UNKNOWN;
}

static int64_t first_step_ns(const struct process *process)
{
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen)
			return process->steps[i].time_ns;
	return INT64_MAX;
}

/*
 * Where nobody says it: what is made before the first step begins, or by the optimiser, stays, but for what that gives back itself
 * (settle); what the forward and backward pass make are activations and gradients.
 */
static enum region inferred_region(const struct allocator_list *all, const struct span *span)
{
	int64_t first = first_step_ns(all->input->process);

	if (first != INT64_MAX && span->start_ns < first)
		return REGION_PERSISTENT;
	switch (span->phase) {
	case PHASE_OPTIMISER:
		return REGION_PERSISTENT;
	case PHASE_FORWARD:
	case PHASE_BACKWARD:
		return REGION_OUTPUT;
	default:
		return REGION_UNKNOWN;
	}
}

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct holding *have = &((const struct holder *)context)->holdings[number], *want = key;

	return have->op == want->op && have->region_said == want->region_said && have->shape == want->shape &&
	       have->type == want->type && have->region == want->region && have->is_inferred == want->is_inferred;
}

/* The holding of that key, or a new one. */
static uint32_t holding_like(struct holder *holder, const struct holding *key)
{
	uint64_t hash = base_mix((uint64_t)key->op << 32 | key->shape) ^
			base_mix((uint64_t)key->region_said << 16 | key->type << 3 | key->region);
	uint32_t number = base_index_find(&holder->pass->index, hash, is_same, holder, key);

	if (number == UINT32_MAX) {
		number = (uint32_t)holder->holding_count++;
		holder->holdings =
			base_grow(holder->holdings, &holder->holding_room, holder->holding_count, sizeof(*holder->holdings));
		holder->holdings[number] = *key;
		base_index_add(&holder->pass->index, hash, number);
	}
	return number;
}

static uint32_t holding_of(struct allocator_list *all, struct holder *holder, const struct span *span)
{
	const struct span_block *block = span->block;
	const char *said = block->region ? block->region : "";
	enum region region = region_of(said);
	struct holding key = {.op = words_lasting(&all->words, block->op ? block->op : span->op),
			      .region_said = words_lasting(&all->words, said),
			      .shape = words_lasting(&all->words, block->shape),
			      .type = block->type,
			      .region = (uint8_t)region};

	if (!said[0]) {
		key.region = (uint8_t)inferred_region(all, span);
		key.is_inferred = key.region != REGION_UNKNOWN;
	}
	return holding_like(holder, &key);
}

/* Before a holding changes: what it was at the last peak is kept. */
static struct amounts *changing(struct holder *holder, uint32_t number)
{
	struct holding *holding = &holder->holdings[number];

	if (holding->mark != holder->pass->peaks) {
		holding->peak = holding->live;
		holding->mark = holder->pass->peaks;
	}
	return &holding->live;
}

/* A block that the optimiser made and gives back was no state of its: at the peak, if it was there, it was temporary. */
static void settle(struct allocator_list *all, struct holder *holder, const struct live_entry *entry)
{
	struct live_block block = live_get(&holder->pass->live, entry);
	struct holding key = holder->holdings[block.stack];
	struct amounts *peak;

	if (!key.is_inferred || key.region != REGION_PERSISTENT || (int64_t)block.time < first_step_ns(all->input->process) ||
	    holder->peak_ns == TIME_UNKNOWN || (int64_t)block.time > holder->peak_ns)
		return;
	changing(holder, block.stack);
	peak = &holder->holdings[block.stack].peak;
	if (!peak->blocks || peak->bytes < block.usable)
		return; /* times are kept to 64 ns: it was made right behind the peak */
	*peak = (struct amounts){peak->blocks - 1, peak->requested - (block.usable - block.slack), peak->bytes - block.usable};
	key.region = REGION_TEMPORARY;
	key.live = key.peak = (struct amounts){0};
	key.mark = 0;
	uint32_t number = holding_like(holder, &key);
	changing(holder, number);
	peak = &holder->holdings[number].peak;
	*peak = (struct amounts){peak->blocks + 1, peak->requested + block.usable - block.slack, peak->bytes + block.usable};
}

static void forget(struct holder *holder, struct live_entry *entry)
{
	struct live_block block = live_get(&holder->pass->live, entry);
	struct amounts *live = changing(holder, block.stack);

	live->blocks--;
	live->bytes -= block.usable;
	live->requested -= block.usable - block.slack;
	holder->pass->own -= block.usable;
	live_remove(&holder->pass->live, entry);
}

/* A window closes: which blocks are released from here on is not recorded, so that none of these counts as live any more. */
static void forget_all(struct allocator_list *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct holder *holder = allocators_at(all, i);
		for (size_t h = 0; h < holder->holding_count && holder->pass->live.count; h++)
			*changing(holder, (uint32_t)h) = (struct amounts){0};
		live_free(&holder->pass->live);
		holder->pass->own = 0;
	}
}

static void take_block(struct allocator_list *all, struct holder *holder, const struct span *span)
{
	uint64_t address = span->block->address, requested = span->block->requested ? span->block->requested : span->bytes;
	struct live_entry *entry = address ? live_find(&holder->pass->live, address) : NULL;
	struct live_block block = {.address = address, .usable = span->bytes, .time = span->start_ns > 0 ? (uint64_t)span->start_ns : 0};
	uint64_t slack = requested < span->bytes ? span->bytes - requested : 0;
	struct amounts *live;

	if (entry && span->block->is_release && span->phase == PHASE_OPTIMISER)
		settle(all, holder, entry);
	if (entry)
		forget(holder, entry); /* its release is not in the log */
	if (span->block->is_release) {
		holder->releases++;
		holder->unknown_releases += !entry;
		return;
	}
	holder->allocations++;
	block.slack = slack > UINT32_MAX ? UINT32_MAX : (uint32_t)slack;
	block.stack = holding_of(all, holder, span);
	if (!address || live_put(&holder->pass->live, &block) != 0)
		return;
	live = changing(holder, block.stack);
	live->blocks++;
	live->bytes += block.usable;
	live->requested += block.usable - block.slack;
	holder->pass->own += block.usable;
}

static void take(void *result, const struct span *span)
{
	struct allocator_list *all = result;
	const struct span_block *said = span->block;
	struct holder *holder;
	uint64_t heap, held;

	if (span->what == SPAN_WINDOW && !span->number)
		forget_all(all);
	if (!said)
		return;
	holder = holder_of(all, span->name);
	take_block(all, holder, span);
	heap = said->total || said->has_room ? said->total : holder->pass->own;
	held = heap + said->stack;
	holder->has_total |= said->total != 0;
	holder->lifetime_peak = said->peak > holder->lifetime_peak ? said->peak : holder->lifetime_peak;
	if (all->input->options->wants_time && !all->input->options->wants_time(all->input->options->context, span))
		return;
	if (held < holder->peak_bytes || (holder->peak_ns != TIME_UNKNOWN && !held))
		return;
	holder->pass->peaks++;
	holder->peak_bytes = held;
	holder->peak_ns = span->start_ns;
	holder->heap = heap;
	holder->stack = said->stack;
	holder->free = said->free;
	holder->reserved = said->reserved;
	holder->fragmentation = said->fragmentation;
	holder->has_room = said->has_room;
	holder->known = holder->pass->own;
}

static void drop_pass(struct holder *holder)
{
	if (!holder->pass)
		return;
	live_free(&holder->pass->live);
	base_index_free(&holder->pass->index);
	free(holder->pass);
	holder->pass = NULL;
}

static void end(void *result)
{
	struct allocator_list *all = result;

	for (size_t i = 0; i < all->count; i++) {
		struct holder *holder = allocators_at(all, i);
		size_t kept = 0;
		for (size_t h = 0; h < holder->holding_count; h++) {
			changing(holder, (uint32_t)h);
			holder->holdings[h].mark = 0;
			if (holder->holdings[h].peak.blocks)
				holder->holdings[kept++] = holder->holdings[h];
		}
		holder->holding_count = kept;
		drop_pass(holder);
	}
	allocators_sort(all);
}

static void own(struct allocator_list *into, const struct allocator_list *from, void *copy)
{
	struct holder *holder = copy;
	const struct holding *holdings = holder->holdings;

	holder->holding_room = holder->holding_count;
	holder->holdings = base_alloc(holder->holding_count + 1, sizeof(*holder->holdings));
	for (size_t h = 0; h < holder->holding_count; h++) {
		struct holding *one = &holder->holdings[h];
		*one = holdings[h];
		one->op = allocators_word(into, from, one->op);
		one->region_said = allocators_word(into, from, one->region_said);
		one->shape = allocators_word(into, from, one->shape);
	}
}

static void merge(void *into, const void *from)
{
	allocators_merge(into, from, own);
}

static void print(const void *result, struct text *text)
{
	const struct allocator_list *all = result;

	for (size_t i = 0; i < all->count; i++) {
		const struct holder *holder = allocators_at(all, i);
		text_format(text,
			    "%" PRIx64 " %s: %" PRIu64 " %" PRIu64 " %" PRIu64 " peak %" PRIu64 " at %" PRId64 " of %" PRIu64
			    "\n",
			    holder->of.log_id, allocators_name(all, i), holder->allocations, holder->releases,
			    holder->unknown_releases, holder->peak_bytes, holder->peak_ns, holder->known);
		for (size_t h = 0; h < holder->holding_count; h++) {
			const struct holding *one = &holder->holdings[h];
			text_format(text, "  %s %u %s %u: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", all->words.items[one->op],
				    one->region, all->words.items[one->shape], one->type, one->peak.blocks, one->peak.requested,
				    one->peak.bytes);
		}
	}
}

static void drop_item(void *item)
{
	struct holder *holder = item;

	drop_pass(holder);
	free(holder->holdings);
}

static void drop(void *result)
{
	allocators_free(result, drop_item);
}

const struct analysis_kind analysis_holdings = {
	.name = "holdings",
	.wants = SPAN_BIT(SPAN_BLOCK) | SPAN_BIT(SPAN_WINDOW),
	.is_of_all_times = true,
	.is_of_all_places = true,
	.begin = begin,
	.span = take,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
