/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of a root waited for; see reducer/analysis/pipelines.h. Rule: a call is looked at when the next one has ended. */
#include "reducer/analysis/pipelines_calls.h"

#include <stdlib.h>
#include <string.h>

static uint64_t overlap(struct call a, struct call b)
{
	int64_t from = a.start > b.start ? a.start : b.start, to = a.end < b.end ? a.end : b.end;

	return to > from ? (uint64_t)(to - from) : 0;
}

static uint64_t length(struct call call)
{
	return (uint64_t)(call.end - call.start);
}

/* Zero-length calls overlap where they lie. */
static bool touches(struct call a, struct call b)
{
	return a.start < b.end ? b.start < a.end : a.start == b.start;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->end < other->end ? -1 : one->end > other->end;
}

/* The first of sorted calls, whose ends rise too (`is_union`), that ends after `time`. */
static size_t first_after(const struct call *calls, size_t count, int64_t time)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (calls[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sorted calls made disjoint, in place. Returns how many are left. */
static size_t unite(struct call *calls, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (used && calls[i].start <= calls[used - 1].end)
			calls[used - 1].end = calls[i].end > calls[used - 1].end ? calls[i].end : calls[used - 1].end;
		else
			calls[used++] = calls[i];
	}
	return used;
}

static bool touches_any(const struct call *united, size_t count, struct call call)
{
	size_t at = first_after(united, count, call.start);

	return (at > 0 && touches(united[at - 1], call)) || (at < count && touches(united[at], call));
}

/* Fills node->blocking with its calls that overlap blocking calls of the node above, cut to the root's call. */
static void find_blocking(struct live_node *node, struct call root, const struct call *above, size_t above_count)
{
	node->blocking_count = 0;
	for (size_t i = 0; i < node->count; i++) {
		if (!touches_any(above, above_count, node->calls[i]))
			continue;
		node->blocking =
			base_grow(node->blocking, &node->blocking_room, node->blocking_count + 1, sizeof(*node->blocking));
		struct call *call = &node->blocking[node->blocking_count++];
		*call = node->calls[i];
		call->start = call->start < root.start ? root.start : call->start;
		call->end = call->end > root.end ? root.end : call->end;
	}
	if (node->blocking_count)
		qsort(node->blocking, node->blocking_count, sizeof(*node->blocking), compare_calls);
}

/* The time of `calls` in which something of `united` went on. */
static uint64_t covered(const struct call *calls, size_t count, const struct call *united, size_t united_count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t u = first_after(united, united_count, calls[i].start);
		     u < united_count && united[u].start < calls[i].end; u++)
			sum += overlap(calls[i], united[u]);
	return sum;
}

/* What one look at a root's call has found. */
struct look {
	struct pipelines_pass *pass;
	struct call call;
	bool is_slow, is_longest;
	uint32_t bottleneck; /* the node with the most own time so far */
	uint64_t most;
};

/* Own time of a node in the root's call; `below`: the calls of all its children, made disjoint. */
static void add_own(struct look *look, uint32_t place, const struct call *calls, size_t count, const struct call *below,
		    size_t below_count)
{
	struct live_node *node = &look->pass->nodes[place];
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all += length(calls[i]);
	uint64_t own = all - covered(calls, count, below, below_count);
	node->row.self_ns += own;
	node->row.blocking_calls += count;
	node->row.slow_ns += look->is_slow ? own : 0;
	if (look->is_longest)
		node->row.longest_ns = own;
	if (look->bottleneck == NODE_NONE || own > look->most) {
		look->bottleneck = place;
		look->most = own;
	}
}

#define DEEP 100 /* iterators above one another; the TensorFlow Profiler's limit */

/* Looks at a node whose blocking calls are known, and at those below it. */
static void look_at(struct look *look, uint32_t place, const struct call *calls, size_t count, unsigned depth)
{
	struct live_node *nodes = look->pass->nodes;
	struct call *united = base_alloc(count + 1, sizeof(*united)), *below = NULL;
	size_t united_count = count, below_count = 0, room = 0;

	if (count)
		memcpy(united, calls, count * sizeof(*united));
	united_count = unite(united, united_count);
	for (uint32_t child = nodes[place].child; child != NODE_NONE && depth < DEEP; child = nodes[child].sibling) {
		find_blocking(&nodes[child], look->call, united, united_count);
		if (!nodes[child].blocking_count)
			continue;
		below = base_grow(below, &room, below_count + nodes[child].blocking_count, sizeof(*below));
		memcpy(below + below_count, nodes[child].blocking, nodes[child].blocking_count * sizeof(*below));
		below_count += nodes[child].blocking_count;
	}
	if (below_count)
		qsort(below, below_count, sizeof(*below), compare_calls);
	add_own(look, place, calls, count, below, unite(below, below_count));
	for (uint32_t child = nodes[place].child; child != NODE_NONE && depth < DEEP; child = nodes[child].sibling)
		if (nodes[child].blocking_count)
			look_at(look, child, nodes[child].blocking, nodes[child].blocking_count, depth + 1);
	free(united);
	free(below);
}

/* Below a node: nothing of the longest call so far counts any more. */
static void forget_longest(struct pipelines_pass *pass, uint32_t place, unsigned depth)
{
	pass->nodes[place].row.longest_ns = 0;
	for (uint32_t child = pass->nodes[place].child; child != NODE_NONE && depth < DEEP; child = pass->nodes[child].sibling)
		forget_longest(pass, child, depth + 1);
}

/* Calls that ended before `time` are of no later call of the root. */
static void forget_calls(struct pipelines_pass *pass, uint32_t place, int64_t time, unsigned depth)
{
	for (uint32_t child = pass->nodes[place].child; child != NODE_NONE && depth < DEEP; child = pass->nodes[child].sibling) {
		struct live_node *node = &pass->nodes[child];
		size_t gone = first_after(node->calls, node->count, time);
		node->count -= gone;
		if (gone)
			memmove(node->calls, node->calls + gone, node->count * sizeof(*node->calls));
		forget_calls(pass, child, time, depth + 1);
	}
}

/* A slow call of the root, for which the node took most of the time. */
static void add_bottleneck(struct pipeline_node *node, const struct look *look)
{
	node->bottleneck_calls++;
	if (node->wait_count == WAITS_MOST)
		return;
	node->waits = base_grow(node->waits, &node->wait_room, node->wait_count + 1, sizeof(*node->waits));
	node->waits[node->wait_count++] = (struct pipeline_wait){look->call.start, look->most};
}

static void look_at_root(struct pipelines_pass *pass, uint32_t place, struct call call)
{
	struct live_node *root = &pass->nodes[place];
	struct look look = {.pass = pass,
			    .call = call,
			    .is_slow = length(call) > PIPELINE_SLOW_NS,
			    .is_longest = length(call) > root->longest || root->row.slow_calls + root->row.blocking_calls == 0,
			    .bottleneck = NODE_NONE};

	if (look.is_longest) {
		root->longest = length(call);
		forget_longest(pass, place, 0);
	}
	look_at(&look, place, &call, 1, 0);
	root->row.slow_calls += look.is_slow;
	if (look.is_slow)
		add_bottleneck(&pass->nodes[look.bottleneck].row, &look);
	forget_calls(pass, place, call.end, 0);
}

/* Keeps the calls in the order of their ends: those of several threads may come a little late. */
static void keep(struct live_node *node, struct call call)
{
	if (node->count == CALLS_MOST) {
		memmove(node->calls, node->calls + CALLS_MOST / 2, CALLS_MOST / 2 * sizeof(*node->calls));
		node->count -= CALLS_MOST / 2;
		node->row.forgotten += CALLS_MOST / 2;
	}
	node->calls = base_grow(node->calls, &node->room, node->count + 1, sizeof(*node->calls));
	size_t at = node->count++;
	for (; at > 0 && node->calls[at - 1].end > call.end; at--)
		node->calls[at] = node->calls[at - 1];
	node->calls[at] = call;
}

void pipelines_call(struct pipelines_pass *pass, uint32_t place, struct call call)
{
	struct live_node *node = &pass->nodes[place];
	struct pipeline_node *row = &node->row;

	row->min_ns = row->calls == 0 || length(call) < row->min_ns ? length(call) : row->min_ns;
	row->max_ns = length(call) > row->max_ns ? length(call) : row->max_ns;
	row->first_ns = row->calls == 0 || call.start < row->first_ns ? call.start : row->first_ns;
	row->calls++;
	row->total_ns += length(call);
	keep(node, call);
	if (row->is_root && node->count > 1) {
		look_at_root(pass, place, node->calls[0]);
		node = &pass->nodes[place];
		memmove(node->calls, node->calls + 1, --node->count * sizeof(*node->calls));
	}
}

void pipelines_settle(struct pipelines_pass *pass)
{
	for (uint32_t n = 0; n < pass->count; n++)
		while (pass->nodes[n].row.is_root && pass->nodes[n].count) {
			struct call call = pass->nodes[n].calls[0];
			memmove(pass->nodes[n].calls, pass->nodes[n].calls + 1, --pass->nodes[n].count * sizeof(call));
			look_at_root(pass, n, call);
		}
}
