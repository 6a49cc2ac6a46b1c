/* SPDX-License-Identifier: Apache-2.0 */
/* Open ops by thread; see reducer/model/ops_stacks.h. */
#include "reducer/model/ops_stacks.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536u  /* ids are below; the library gives at most half as many */
#define SOURCES_MAX 16u   /* rows of range_sources.def that mark ops are below */
#define SPANS_MAX 65536u  /* ranges known at their end, kept for one that may come around them */
#define SEVERAL (OPS_NONE - 1)
#define BACKWARD 1 /* RecordScope::BACKWARD_FUNCTION */
#define FUNCTION 0

int op_stacks_begin(struct op_stacks *ops, const uint32_t *threads, size_t count)
{
	ops->sum_of = calloc((size_t)NAMES_MAX * SOURCES_MAX * 2, sizeof *ops->sum_of);
	ops->stacks = calloc(count + 1, sizeof *ops->stacks);
	ops->sequences = calloc(OPS_SEQUENCES, sizeof *ops->sequences);
	open_keys_begin(&ops->open);
	if (ops->sum_of == NULL || ops->stacks == NULL || ops->sequences == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		ops->stacks[ops->stack_count++].thread = threads[i];
	return 0;
}

void op_stacks_free(struct op_stacks *ops)
{
	for (size_t i = 0; i < ops->stack_count; i++)
		free(ops->stacks[i].frames), free(ops->stacks[i].spans), free(ops->stacks[i].ranges), free(ops->stacks[i].last_range);
	free(ops->stacks);
	free(ops->sums);
	free(ops->sum_of);
	free(ops->sequences);
	open_keys_free(&ops->open);
}

uint32_t op_stacks_sum(struct op_stacks *ops, uint32_t name, unsigned source, int is_range)
{
	uint32_t *place;

	if (name >= NAMES_MAX || source >= SOURCES_MAX)
		return OPS_NONE;
	place = &ops->sum_of[((size_t)name * SOURCES_MAX + source) * 2 + (is_range != 0)];
	if (*place != 0)
		return *place - 1;
	if (ops->sum_count == ops->sum_room) {
		size_t room = ops->sum_room == 0 ? 256 : ops->sum_room * 2;
		struct op_sum *sums = realloc(ops->sums, room * sizeof *sums);
		if (sums == NULL) {
			ops->is_short = 1;
			return OPS_NONE;
		}
		ops->sums = sums;
		ops->sum_room = room;
	}
	ops->sums[ops->sum_count] = (struct op_sum){.name = name, .source = source, .is_range = is_range, .forward = OPS_NONE};
	*place = (uint32_t)++ops->sum_count;
	return *place - 1;
}

static int make_room(struct op_stack *stack)
{
	size_t room = stack->room == 0 ? 32 : stack->room * 2;
	struct op_frame *frames;

	if (stack->count < stack->room)
		return 0;
	frames = realloc(stack->frames, room * sizeof *frames);
	if (frames == NULL)
		return -1;
	stack->frames = frames;
	stack->room = room;
	return 0;
}

static int is_open(const struct op_stack *stack, uint32_t op)
{
	for (size_t i = stack->count; i-- > 0;)
		if (stack->frames[i].op == op)
			return 1;
	return 0;
}

void op_stacks_push(struct op_stacks *ops, size_t at, uint32_t name, struct op_frame frame)
{
	struct op_stack *stack = &ops->stacks[at];
	/* What PyTorch calls the user's scope, and everything that is not an op by its source, is a range. */
	int is_range = frame.scope == 7 || frame.scope == 23;

	frame.op = op_stacks_sum(ops, name, frame.source, is_range);
	if (stack->count >= OPS_DEPTH_MAX) {
		ops->too_deep++;
		return;
	}
	if (frame.op == OPS_NONE || make_room(stack) != 0) {
		ops->is_short = 1;
		return;
	}
	ops->nameless += name == 0;
	frame.is_inner = ops->sums[frame.op].open != 0 && is_open(stack, frame.op);
	ops->sums[frame.op].open++;
	stack->frames[stack->count++] = frame;
	open_keys_change(&ops->open, frame.source, frame.key, 1);
	ops->changes++;
}

/* The place of the innermost open op of that key and source, or SIZE_MAX. */
static size_t find(const struct op_stack *stack, uint64_t key, uint8_t source)
{
	for (size_t i = stack->count; i-- > 0;)
		if (stack->frames[i].source == source && (key == 0 || stack->frames[i].key == key))
			return i;
	return SIZE_MAX;
}

static void add_time(struct op_sum *sum, uint64_t duration)
{
	sum->least = sum->occurrences == 0 || duration < sum->least ? duration : sum->least;
	sum->most = duration > sum->most ? duration : sum->most;
	sum->occurrences++;
}

static void close_frame(struct op_stacks *ops, struct op_stack *stack, size_t place, uint64_t time, int is_crossed)
{
	struct op_frame frame = stack->frames[place];
	struct op_sum *sum = &ops->sums[frame.op];
	uint64_t duration = time > frame.begin ? time - frame.begin : 0;

	ops->overlapped += !is_crossed && place + 1 != stack->count;
	for (size_t i = place + 1; i < stack->count; i++)
		stack->frames[i - 1] = stack->frames[i];
	stack->count--;
	open_keys_change(&ops->open, frame.source, frame.key, -1);
	ops->changes++;
	sum->open--;
	add_time(sum, duration);
	sum->nested += frame.is_inner;
	sum->total += frame.is_inner ? 0 : duration;
	sum->self += duration > frame.children ? duration - frame.children : 0;
	/* One that ended elsewhere, or under a later one, took no time of the op below it that the others did not take too. */
	if (place > 0 && place == stack->count && !is_crossed)
		stack->frames[place - 1].children += duration;
}

void op_stacks_pop(struct op_stacks *ops, size_t at, uint64_t key, uint8_t source, uint64_t time)
{
	size_t place = SIZE_MAX;

	if (!open_keys_may(&ops->open, source, key)) {
		ops->unbegun++;
		return;
	}
	place = find(&ops->stacks[at], key, source);
	if (place != SIZE_MAX) {
		close_frame(ops, &ops->stacks[at], place, time, 0);
		return;
	}
	for (size_t i = 0, looks = 0; key != 0 && i < ops->stack_count && looks < OPS_ELSEWHERE_LOOKS; i++) {
		looks += 1 + ops->stacks[i].count;
		place = find(&ops->stacks[i], key, source);
		if (place == SIZE_MAX)
			continue;
		ops->crossed++;
		close_frame(ops, &ops->stacks[i], place, time, 1);
		return;
	}
	ops->unbegun++;
}

void op_stacks_link(struct op_stacks *ops, size_t at, uint64_t sequence, uint64_t forward_thread)
{
	struct op_stack *stack = &ops->stacks[at];
	const struct op_frame *frame = stack->count == 0 ? NULL : &stack->frames[stack->count - 1];
	struct op_sequence *place = &ops->sequences[sequence % OPS_SEQUENCES];

	if (frame == NULL)
		return;
	if ((frame->scope & 15) == FUNCTION && forward_thread == 0)
		*place = (struct op_sequence){.sequence = sequence, .thread = stack->framework_id, .op = frame->op + 1};
	if ((frame->scope & 15) != BACKWARD)
		return;
	if (place->op == 0 || place->sequence != sequence || place->thread != forward_thread) {
		ops->unjoined++;
		return;
	}
	struct op_sum *sum = &ops->sums[frame->op];
	sum->joined++;
	sum->forward = sum->forward == OPS_NONE || sum->forward == place->op - 1 ? place->op - 1 : SEVERAL;
}

uint32_t op_stacks_top(const struct op_stacks *ops, size_t at)
{
	const struct op_stack *stack = &ops->stacks[at];

	for (size_t i = stack->count; i-- > 0;)
		if (!ops->sums[stack->frames[i].op].is_range)
			return stack->frames[i].op;
	return OPS_NONE;
}

uint32_t op_stacks_innermost(const struct op_stacks *ops, size_t at, uint64_t *begin)
{
	const struct op_stack *stack = &ops->stacks[at];
	const struct op_frame *found = stack->count == 0 ? NULL : &stack->frames[stack->count - 1];

	for (size_t i = stack->count; i-- > 0;)
		if (!ops->sums[stack->frames[i].op].is_range) {
			found = &stack->frames[i];
			break;
		}
	if (found == NULL)
		return OPS_NONE;
	*begin = found->begin;
	return found->op;
}

/* Room for one more span; where there are too many the older half is taken for outermost ones. */
static int make_span_room(struct op_stack *stack)
{
	size_t room = stack->span_room == 0 ? 64 : stack->span_room * 2;
	struct op_span *spans;

	if (stack->span_count < stack->span_room)
		return 0;
	if (room > SPANS_MAX) {
		size_t kept = stack->span_count / 2;
		memmove(stack->spans, stack->spans + stack->span_count - kept, kept * sizeof *stack->spans);
		stack->span_count = kept;
		return 0;
	}
	spans = realloc(stack->spans, room * sizeof *spans);
	if (spans == NULL)
		return -1;
	stack->spans = spans;
	stack->span_room = room;
	return 0;
}

/* The place + 1 of the last outermost range of a sum; NULL without memory. */
static uint64_t *last_range(struct op_stack *stack, uint32_t number)
{
	size_t room = stack->last_room == 0 ? 256 : stack->last_room;
	uint64_t *last;

	if (number < stack->last_room)
		return &stack->last_range[number];
	while (room <= number)
		room *= 2;
	last = realloc(stack->last_range, room * sizeof *last);
	if (last == NULL)
		return NULL;
	memset(last + stack->last_room, 0, (room - stack->last_room) * sizeof *last);
	stack->last_range = last;
	stack->last_room = room;
	return &last[number];
}

/* NULL: there is none, or it is forgotten. */
static const struct op_range *range_at(const struct op_stack *stack, uint64_t place)
{
	if (place == 0 || place + SPANS_MAX <= stack->range_count)
		return NULL;
	return &stack->ranges[(place - 1) % SPANS_MAX];
}

static int add_range(struct op_stack *stack, struct op_range range)
{
	if (stack->range_count == stack->range_room && stack->range_room < SPANS_MAX) {
		size_t room = stack->range_room == 0 ? 64 : stack->range_room * 2;
		struct op_range *ranges = realloc(stack->ranges, room * sizeof *ranges);
		if (ranges == NULL)
			return -1;
		stack->ranges = ranges;
		stack->range_room = room;
	}
	stack->ranges[stack->range_count++ % SPANS_MAX] = range;
	return 0;
}

/* What its total grows by: nothing inside another one; less what those of its name took that lie in it. Negative as a complement. */
static uint64_t outermost_time(struct op_stacks *ops, struct op_stack *stack, uint32_t number, struct op_span span)
{
	uint64_t *last = last_range(stack, number), grows = span.duration;
	const struct op_range *range;

	if (last == NULL) {
		ops->is_short = 1;
		return grows;
	}
	for (; (range = range_at(stack, *last)) != NULL && range->span.start >= span.start; *last = range->before) {
		ops->sums[number].nested++;
		grows -= range->span.duration;
	}
	if (range != NULL && range->span.start + range->span.duration >= span.start + span.duration) {
		ops->sums[number].nested++; /* both end at one time, and the outer one was told first */
		return grows - span.duration;
	}
	if (add_range(stack, (struct op_range){.span = span, .before = *last}) != 0)
		ops->is_short = 1;
	else
		*last = stack->range_count;
	return grows;
}

void op_stacks_trace(struct op_stacks *ops, size_t at, uint32_t name, unsigned source, int is_range, struct op_span span)
{
	struct op_stack *stack = &ops->stacks[at];
	uint32_t number = op_stacks_sum(ops, name, source, is_range);
	uint64_t inside = 0;
	size_t count = stack->span_count;

	while (count > 0 && stack->spans[count - 1].start >= span.start)
		inside += stack->spans[--count].duration;
	/* A range takes no time from an op around it: what lies in it stays for that one. */
	if (!is_range)
		stack->span_count = count;
	if (number == OPS_NONE || make_span_room(stack) != 0) {
		ops->is_short = 1;
		return;
	}
	if (!is_range)
		stack->spans[stack->span_count++] = span;
	ops->nameless += name == 0;
	ops->sums[number].is_ns = 1;
	add_time(&ops->sums[number], span.duration);
	ops->sums[number].total += is_range ? outermost_time(ops, stack, number, span) : span.duration;
	ops->sums[number].self += span.duration > inside ? span.duration - inside : 0;
}

void op_stacks_clear(struct op_stacks *ops)
{
	ops->changes++;
	for (size_t i = 0; i < ops->stack_count; i++) {
		struct op_stack *stack = &ops->stacks[i];

		ops->unfinished += stack->count;
		for (; stack->count > 0; stack->count--)
			open_keys_change(&ops->open, stack->frames[stack->count - 1].source, stack->frames[stack->count - 1].key, -1);
	}
	for (size_t i = 0; i < ops->sum_count; i++)
		ops->sums[i].open = 0;
}
