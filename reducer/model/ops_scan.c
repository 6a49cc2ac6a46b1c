/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of frameworks and their allocators, from the records of the log. See scan.h, ops.h.
 *
 * Rule: what an op is comes from the records alone; memory goes to the op that the framework names for it, else to the
 * innermost op open on the thread.
 */
#include "reducer/base/index.h"
#include "reducer/model/number_map.h"
#include "reducer/model/op_typed.h"
#include "reducer/model/ops_blocks.h"
#include "reducer/model/ops_stacks.h"
#include "reducer/model/places.h"
#include "reducer/model/round.h"
#include "reducer/model/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536u /* as in ops_stacks.c */
#define UNFORWARD (OPS_NONE - 1)

/* A block_detail whose block comes next in the stream. */
struct detail {
	int is_there;
	uint64_t requested;
	uint32_t op;
};

struct taken {
	struct scan *scan;
	const char *names[NAMES_MAX];
	uint8_t ranges[NAMES_MAX]; /* by name, see is_range: 1 = no, 2 = yes; 0 = not asked yet */
	uint32_t typed[NAMES_MAX]; /* of a node's name without its type: the name with it, + 1; 0 = not looked for yet */
	struct number_map nodes;       /* names with a type, by the part before it */
	struct op_stacks stacks;
	size_t *stack_of; /* by stream */
	struct detail *details;
	struct blocks *blocks;
	struct scan_ops before; /* whom to ask for a range that began later than our op */
	struct op_numbers numbers; /* by sum */
	struct places places;
};

static void take_name(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	uint64_t id = fact_number(fact, fields[0]);
	const struct fact_value *text = fact_text(fact, fields[1]);

	if (id < NAMES_MAX && text != NULL)
		taken->names[id] = run_text(taken->scan->run, text->text, text->length);
	else
		return;
	if (op_is_typed(taken->names[id])) {
		size_t length = strcspn(taken->names[id], ":");
		if (number_map_set(&taken->nodes, base_hash(BASE_HASH, taken->names[id], length), length, (uint32_t)id) != 0)
			taken->stacks.is_short = 1;
	}
}

static void take_place(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	uint64_t id = fact_number(fact, fields[0]);
	char name[PLACE_ROOM];

	if (id >= NAMES_MAX || taken->names[id] == NULL)
		return;
	places_name(&taken->places, taken->scan, (uint32_t)fact_number(fact, fields[1]), taken->names[id], name, sizeof name);
	taken->names[id] = run_text(taken->scan->run, name, strlen(name));
}

static const char *name_of(const struct taken *taken, uint64_t id)
{
	return id < NAMES_MAX && taken->names[id] != NULL ? taken->names[id] : "";
}

static const char *name_for_others(void *state, uint64_t id)
{
	return name_of(state, id);
}

static void take_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct op_frame frame = {.key = batch_value(batch, i, fields[1]), .begin = batch->times[i],
				 .source = (uint8_t)batch_value(batch, i, fields[2]),
				 .scope = (uint8_t)batch_value(batch, i, fields[3])};

	op_stacks_push(&taken->stacks, taken->stack_of[stream], (uint32_t)batch_value(batch, i, fields[0]), frame);
}

static void take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	op_stacks_pop(&taken->stacks, taken->stack_of[stream], batch_value(batch, i, fields[0]),
		      (uint8_t)batch_value(batch, i, fields[1]), batch->times[i]);
}

static void take_link(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	op_stacks_link(&taken->stacks, taken->stack_of[stream], batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]));
}

static void take_thread(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	taken->stacks.stacks[taken->stack_of[stream]].framework_id = batch_value(batch, i, fields[0]);
}

static void take_detail(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	taken->details[stream] = (struct detail){.is_there = 1, .requested = batch_value(batch, i, fields[0]),
						 .op = (uint32_t)batch_value(batch, i, fields[1])};
}

/* The framework names the node alone; ops are called node:Type. The id of that name, or of the node's where there is none. */
static uint32_t typed_name(struct taken *taken, uint32_t node)
{
	const char *name = name_of(taken, node);

	if (node >= NAMES_MAX || *name == 0)
		return node;
	if (taken->typed[node] == 0) {
		size_t length = strlen(name);
		uint32_t found = number_map_find(&taken->nodes, base_hash(BASE_HASH, name, length), length);
		taken->typed[node] = (found == NUMBER_MAP_NONE ? node : found) + 1;
	}
	return taken->typed[node] - 1;
}

/* The op that a block is for: what the framework says, else the innermost one open. An index + 1, or 0. */
static uint32_t owner_of(struct taken *taken, size_t stream, const struct detail *detail)
{
	uint32_t top = op_stacks_top(&taken->stacks, taken->stack_of[stream]), op = top;

	if (detail->is_there && detail->op != 0 && (top == OPS_NONE || taken->stacks.sums[top].name != detail->op))
		op = op_stacks_sum(&taken->stacks, typed_name(taken, detail->op), SOURCE_annotation, 0);
	return op == OPS_NONE ? 0 : op + 1;
}

/* The number of a sum's name among those that others use. */
static uint32_t number_of(struct taken *taken, uint32_t sum)
{
	uint32_t *number = op_numbers_at(&taken->numbers, sum);

	if (number != NULL && *number == 0)
		*number = op_names_number(taken->scan->op_names, name_of(taken, taken->stacks.sums[sum].name)) + 1;
	return number != NULL ? *number - 1 : 0;
}

/* The allocator of a framework had no memory for a block. `op`: index + 1. */
static void refuse(struct taken *taken, size_t stream, const struct batch *batch, size_t i, const char *allocator, uint64_t bytes,
		   uint32_t op)
{
	const struct scan_ops *ops = &taken->scan->ops;

	refused_add(taken->scan, &(const struct refused){
		.time_ns = (int64_t)batch->times[i],
		.requested_bytes = bytes,
		.call = "",
		.allocator = allocator,
		.stack = scan_stack(taken->scan, stream, batch->times[i], 0),
		.op = op != 0 ? number_of(taken, op - 1) : ops->current == NULL ? 0 : ops->current(ops->state, stream, NULL),
		.stream = (uint32_t)stream,
	});
}

static void take_block(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint64_t address = batch_value(batch, i, fields[0]), bytes = batch_value(batch, i, fields[1]);
	const char *allocator = name_of(taken, batch_value(batch, i, fields[2]));
	uint64_t operation = batch_value(batch, i, fields[3]);
	struct detail detail = taken->details[stream];

	taken->details[stream].is_there = 0;
	if (operation == 1 || operation == 2)
		blocks_told(taken->blocks, allocator, batch_value(batch, i, fields[4]), bytes, operation == 2);
	if (operation == 3) {
		refuse(taken, stream, batch, i, allocator, bytes, owner_of(taken, stream, &detail));
	} else if (operation == 2) {
		blocks_remove(taken->blocks, allocator, address, bytes, batch->times[i]);
	} else if (operation == 1) {
		uint32_t op = owner_of(taken, stream, &detail);
		uint32_t native = fields[5] < 0 ? 0 : (uint32_t)batch_value(batch, i, fields[5]);
		blocks_add(taken->blocks, allocator, address, bytes, detail.is_there ? detail.requested : bytes, batch->times[i],
			   scan_stack(taken->scan, stream, batch->times[i], native));
		if (op != 0) {
			taken->stacks.sums[op - 1].allocations++;
			taken->stacks.sums[op - 1].allocated_bytes += bytes;
		}
	}
}

/* Is what is told under that name, when it is over, a range and no op? Asked once a name. */
static int is_range(struct taken *taken, uint64_t id)
{
	const char *name = name_of(taken, id);

	if (id >= NAMES_MAX)
		return 1;
	if (taken->ranges[id] == 0)
		taken->ranges[id] = !op_is_typed(name) && op_iterator_rest(name) == NULL ? 2 : 1;
	return taken->ranges[id] == 2;
}

static void take_trace(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct op_span span = {.start = batch_value(batch, i, fields[1]), .duration = batch_value(batch, i, fields[2])};
	uint64_t name = batch_value(batch, i, fields[0]);

	if (batch_value(batch, i, fields[4]) == 0) /* a whole one */
		op_stacks_trace(&taken->stacks, taken->stack_of[stream], (uint32_t)name, (unsigned)batch_value(batch, i, fields[3]),
				is_range(taken, name), span);
}

/* What a thread is in the middle of: the op, or the range of somebody else, that began last. */
static uint32_t current(void *state, size_t stream, uint64_t *since)
{
	struct taken *taken = state;
	uint64_t other = 0, begin = 0;
	uint32_t sum = op_stacks_innermost(&taken->stacks, taken->stack_of[stream], &begin);
	uint32_t number = taken->before.current == NULL ? 0 : taken->before.current(taken->before.state, stream, &other);

	if (sum != OPS_NONE && (number == 0 || begin >= other)) {
		number = number_of(taken, sum);
		other = begin;
	}
	if (since != NULL)
		*since = other;
	return number;
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	(void)stream;
	if (batch_value(batch, i, fields[0]) != 0)
		op_stacks_clear(&taken->stacks);
	else
		blocks_forget(taken->blocks, batch->times[i]);
}

static void take_nothing(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)state, (void)stream, (void)batch, (void)i, (void)fields;
}

static const struct scan_record records[] = {
	{"op_begin", take_begin, NULL, {"name", "key", "source", "scope"}},
	{"op_end", take_end, NULL, {"key", "source"}},
	{"op_link", take_link, NULL, {"sequence", "forward_thread"}},
	{"op_inputs", take_nothing, NULL, {NULL}},
	{"trace", take_trace, NULL, {"name", "start", "duration", "source", "kind"}},
	{"trace_number", take_nothing, NULL, {NULL}},
	{"block", take_block, NULL, {"address", "bytes", "allocator", "operation", "total", "stack"}},
	{"block_detail", take_detail, NULL, {"requested", "op"}},
	{"block_room", take_nothing, NULL, {NULL}},
	{"device_step", take_nothing, NULL, {NULL}},
	{"framework_thread", take_thread, NULL, {"id"}},
	{"framework_session", take_nothing, NULL, {NULL}},
	{"window", take_window, NULL, {"is_open"}},
};

static const struct scan_fact facts[] = {
	{"op_name", take_name, {"id", "text"}},
	{"op_place", take_place, {"id", "stack"}},
};

static void drop(void *state)
{
	struct taken *taken = state;

	if (taken == NULL)
		return;
	op_stacks_free(&taken->stacks);
	blocks_free(taken->blocks);
	number_map_free(&taken->nodes);
	free(taken->stack_of);
	free(taken->details);
	free(taken->numbers.items);
	places_free(&taken->places);
	free(taken);
}

/* The stack of each stream: both lanes of a thread share one. */
static int find_threads(struct taken *taken)
{
	const struct log *log = taken->scan->process->log;
	uint32_t *threads = calloc(log->stream_count + 1, sizeof *threads);
	size_t count = 0;
	int result = -1;

	for (size_t s = 0; threads != NULL && s < log->stream_count; s++) { /* streams are sorted by thread */
		if (count == 0 || threads[count - 1] != log->streams[s].thread)
			threads[count++] = log->streams[s].thread;
		taken->stack_of[s] = count - 1;
	}
	if (threads != NULL)
		result = op_stacks_begin(&taken->stacks, threads, count);
	free(threads);
	return result;
}

static void *begin(struct scan *scan)
{
	struct taken *taken = calloc(1, sizeof *taken);
	size_t streams = scan->process->log->stream_count + 1;

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	taken->stack_of = calloc(streams, sizeof *taken->stack_of);
	taken->details = calloc(streams, sizeof *taken->details);
	taken->blocks = blocks_begin();
	if (taken->stack_of == NULL || taken->details == NULL || taken->blocks == NULL || find_threads(taken) != 0) {
		drop(taken);
		return NULL;
	}
	taken->before = scan->ops;
	scan->ops.state = taken;
	scan->ops.changes[1] = &taken->stacks.changes;
	scan->ops.current = current;
	scan->ops.name_state = taken;
	scan->ops.name = name_for_others;
	return taken;
}

static int finish(void *state)
{
	struct taken *taken = state;
	struct process *process = taken->scan->process;
	struct op_stacks *stacks = &taken->stacks;
	struct ops *ops = &process->ops;

	op_stacks_clear(stacks);
	ops->items = calloc(stacks->sum_count + 1, sizeof *ops->items);
	if (ops->items == NULL)
		return -1;
	for (size_t i = 0; i < stacks->sum_count; i++) {
		const struct op_sum *sum = &stacks->sums[i];
		const char *forward = sum->forward < UNFORWARD ? name_of(taken, stacks->sums[sum->forward].name) : NULL;
		ops->items[ops->count++] = (struct op){
			.name = name_of(taken, sum->name), .source = sum->source, .is_range = sum->is_range,
			.occurrences = sum->occurrences, .nested = sum->nested,
			.total_ns = (int64_t)sum->total, .self_ns = (int64_t)sum->self,
			.least_ns = (int64_t)sum->least, .most_ns = (int64_t)sum->most,
			.allocations = sum->allocations, .allocated_bytes = sum->allocated_bytes, .forward = forward,
			.joined = sum->joined, .is_ns = sum->is_ns};
	}
	ops->unfinished = stacks->unfinished;
	ops->unbegun = stacks->unbegun > stacks->too_deep ? stacks->unbegun - stacks->too_deep : 0;
	ops->crossed = stacks->crossed;
	ops->overlapped = stacks->overlapped;
	ops->nameless = stacks->nameless;
	ops->unjoined = stacks->unjoined;
	if (stacks->too_deep)
		diag_add(process->log->diags, DIAG_DAMAGE, process->log->path, DIAG_NO_OFFSET, "",
			 "%" PRIu64 " ops were not followed: they began while %u others of their thread had not ended",
			 stacks->too_deep, OPS_DEPTH_MAX);
	if (stacks->is_short)
		diag_no_room(process->log->diags, process->log->path, "ops");
	return blocks_finish(taken->blocks, process);
}

static void times(struct process *process)
{
	double rate = process_rate(process);

	for (size_t i = 0; i < process->ops.count; i++) {
		struct op *op = &process->ops.items[i];
		if (op->is_ns)
			continue;
		op->total_ns = round_i64((double)op->total_ns * rate);
		op->self_ns = round_i64((double)op->self_ns * rate);
		op->least_ns = round_i64((double)op->least_ns * rate);
		op->most_ns = round_i64((double)op->most_ns * rate);
	}
}

static void close_process(struct process *process)
{
	free(process->ops.items);
}

const struct scan_subject ops_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.times = times,
	.close = close_process,
};
