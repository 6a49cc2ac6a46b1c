/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines of tf.data; see reducer/analysis/pipelines.h.
 *
 * Rule: where the log has iterator facts, nodes are those; else an iterator's TraceMe says its own id and that above it.
 */
#include "reducer/analysis/pipelines.h"

#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/pipelines_calls.h"
#include "reducer/base/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 65536u /* of one process; further ones are not looked at */

static char *copy_of(const char *text)
{
	return base_copy(text, strlen(text));
}

static uint32_t place_of(const struct pipelines_pass *pass, uint64_t key)
{
	uint32_t place = number_map_find(&pass->places, 0, key);

	return place == NUMBER_MAP_NONE ? NODE_NONE : place;
}

static void link_to(struct pipelines_pass *pass, uint32_t place, uint32_t parent)
{
	struct live_node *node = &pass->nodes[place];

	node->parent = parent;
	node->sibling = pass->nodes[parent].child;
	pass->nodes[parent].child = place;
}

static uint32_t add_node(struct pipelines_pass *pass, uint64_t key, uint64_t parent, const char *name, const char *parameters)
{
	const struct process *process = pass->input->process;
	uint32_t place = (uint32_t)pass->count;

	if (place == NODES_MOST || number_map_set(&pass->places, 0, key, place) != 0)
		return NODE_NONE;
	pass->nodes = base_grow(pass->nodes, &pass->room, pass->count + 1, sizeof(*pass->nodes));
	pass->nodes[pass->count++] = (struct live_node){.key = key,
							.parent_key = parent,
							.parent = NODE_NONE,
							.child = NODE_NONE,
							.sibling = NODE_NONE,
							.row = {.log_id = process->log_id,
								.process = pass->input->index,
								.name = copy_of(name),
								.parameters = copy_of(parameters),
								.is_root = parent == 0,
								.made = parent == 0}};
	if (parent && place_of(pass, parent) != NODE_NONE)
		link_to(pass, place, place_of(pass, parent));
	for (uint32_t n = 0; n < place && !pass->has_facts; n++) /* TraceMe tells the innermost first */
		if (pass->nodes[n].parent == NODE_NONE && pass->nodes[n].parent_key == key)
			link_to(pass, n, place);
	return place;
}

/* Which iterators are a loop, above the one that its body asks: what those do is no input. To be freed. */
static bool *find_loops(const struct process *process)
{
	bool *is_loop = base_alloc(process->iterator_count + 1, sizeof(*is_loop));

	for (size_t i = 0; i < process->iterator_count; i++) {
		size_t above = i;
		for (unsigned depth = 0; depth < 100 && input_is_asked_by_loop(process->iterators[i].name); depth++) {
			uint64_t parent = process->iterators[above].parent;
			for (above = 0; above < process->iterator_count && process->iterators[above].node != parent; above++)
				;
			if (above == process->iterator_count)
				break;
			is_loop[above] = true;
		}
	}
	return is_loop;
}

/* What the log's facts say. */
static void add_known(struct pipelines_pass *pass, const struct process *process)
{
	bool *is_loop = find_loops(process);

	for (size_t i = 0; i < process->iterator_count; i++) {
		const struct iterator *from = &process->iterators[i];
		if (!is_loop[i])
			add_node(pass, from->node, input_is_asked_by_loop(from->name) ? 0 : from->parent, from->name, from->parameters);
	}
	free(is_loop);
}

static void *begin(const struct analysis_input *input)
{
	struct pipelines *pipelines = base_alloc(1, sizeof(*pipelines));

	if (!input)
		return pipelines;
	pipelines->pass = base_alloc(1, sizeof(*pipelines->pass));
	pipelines->pass->input = input;
	pipelines->pass->has_facts = input->process->iterator_count > 0;
	add_known(pipelines->pass, input->process);
	return pipelines;
}

/* The long name without the numbers of elements and epochs. */
static char *folded(const char *name)
{
	char *text = copy_of(name), *to = text;

	for (const char *at = text; *at;) {
		size_t number = *at == '[' ? 1 + strspn(at + 1, "0123456789") : 0;
		if (number > 1 && at[number] == ']')
			at += number + 1;
		else
			*to++ = *at++;
	}
	*to = 0;
	return text;
}

static uint64_t argument(const struct span *span, const char *name)
{
	for (size_t i = 0; i < span->argument_count; i++)
		if (strcmp(span->arguments[i].name, name) == 0 && !span->arguments[i].text)
			return span->arguments[i].number;
	return 0;
}

/* An iterator that a TraceMe names. */
static uint32_t traced(struct pipelines_pass *pass, const struct span *span)
{
	uint64_t id = argument(span, "id"), parent = argument(span, "parent_id");
	uint32_t place = id ? place_of(pass, id) : NODE_NONE;

	if (place != NODE_NONE || !id)
		return place;
	char *name = folded(span->name);
	place = add_node(pass, id, parent, name, "");
	free(name);
	return place;
}

static void take(void *result, const struct span *span)
{
	struct pipelines_pass *pass = ((struct pipelines *)result)->pass;
	uint32_t place = NODE_NONE;

	if (span->what == SPAN_OP && span->source == SOURCE_iterator)
		place = place_of(pass, span->key);
	else if (span->what == SPAN_TRACE && !pass->has_facts && strncmp(span->name, "Iterator::", 10) == 0)
		place = traced(pass, span);
	if (place == NODE_NONE)
		return;
	pass->nodes[place].row.thread_self_ns += span->self_ns;
	pipelines_call(pass, place, (struct call){span->start_ns, span->start_ns + (int64_t)span->duration_ns});
}

static int compare_nodes(const void *a, const void *b)
{
	const struct pipeline_node *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	if (one->pipeline != other->pipeline)
		return one->pipeline < other->pipeline ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void free_node(struct pipeline_node *node)
{
	free(node->name);
	free(node->parameters);
	free(node->waits);
}

static void add_waits(struct pipeline_node *into, const struct pipeline_node *from)
{
	size_t room = WAITS_MOST - into->wait_count, count = from->wait_count < room ? from->wait_count : room;

	if (!count)
		return;
	into->waits = base_grow(into->waits, &into->wait_room, into->wait_count + count, sizeof(*into->waits));
	memcpy(into->waits + into->wait_count, from->waits, count * sizeof(*from->waits));
	into->wait_count += count;
}

/* Takes over what `from` says; its texts stay its own. */
static void add_to(struct pipeline_node *into, const struct pipeline_node *from)
{
	into->min_ns = into->calls == 0 || (from->calls && from->min_ns < into->min_ns) ? from->min_ns : into->min_ns;
	into->first_ns = into->calls == 0 || (from->calls && from->first_ns < into->first_ns) ? from->first_ns : into->first_ns;
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
	into->longest_ns = from->longest_ns > into->longest_ns ? from->longest_ns : into->longest_ns;
	into->calls += from->calls;
	into->total_ns += from->total_ns;
	into->thread_self_ns += from->thread_self_ns;
	into->self_ns += from->self_ns;
	into->blocking_calls += from->blocking_calls;
	into->slow_ns += from->slow_ns;
	into->bottleneck_calls += from->bottleneck_calls;
	into->forgotten += from->forgotten;
	into->slow_calls += from->slow_calls;
	into->made += from->made;
	add_waits(into, from);
	if (strcmp(from->parameters, into->parameters) > 0) {
		free(into->parameters);
		into->parameters = copy_of(from->parameters);
	}
}

/* Sorts, and makes one of rows with equal keys. */
static void tidy(struct pipelines *pipelines)
{
	size_t used = 0;

	if (pipelines->count)
		qsort(pipelines->nodes, pipelines->count, sizeof(*pipelines->nodes), compare_nodes);
	for (size_t i = 0; i < pipelines->count; i++) {
		struct pipeline_node *node = &pipelines->nodes[i];
		if (used && compare_nodes(&pipelines->nodes[used - 1], node) == 0) {
			add_to(&pipelines->nodes[used - 1], node);
			free_node(node);
		} else {
			pipelines->nodes[used++] = *node;
		}
	}
	pipelines->count = used;
}

/* What tells one pipeline from another: the names below a root, in any order. */
static uint64_t sign(const struct pipelines_pass *pass, uint32_t place, unsigned depth)
{
	const struct live_node *node = &pass->nodes[place];
	uint64_t sum = base_hash(BASE_HASH, node->row.name, strlen(node->row.name));

	for (uint32_t child = node->child; child != NODE_NONE && depth < 100; child = pass->nodes[child].sibling)
		sum += sign(pass, child, depth + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

static uint32_t top_of(const struct pipelines_pass *pass, uint32_t place)
{
	for (unsigned depth = 0; pass->nodes[place].parent != NODE_NONE && depth < 100; depth++)
		place = pass->nodes[place].parent;
	return place;
}

static bool is_device_below(const struct pipelines_pass *pass, uint32_t place, unsigned depth)
{
	if (input_is_device(pass->nodes[place].row.name))
		return true;
	for (uint32_t child = pass->nodes[place].child; child != NODE_NONE && depth < 100; child = pass->nodes[child].sibling)
		if (is_device_below(pass, child, depth + 1))
			return true;
	return false;
}

static void end(void *result)
{
	struct pipelines *pipelines = result;
	struct pipelines_pass *pass = pipelines->pass;

	pipelines_settle(pass);
	for (uint32_t n = 0; n < pass->count; n++) {
		struct live_node *node = &pass->nodes[n];
		uint32_t top = top_of(pass, n);
		node->row.pipeline = sign(pass, top, 0);
		node->row.is_device = is_device_below(pass, top, 0);
		free(node->calls);
		free(node->blocking);
		if (node->row.calls) {
			pipelines->nodes =
				base_grow(pipelines->nodes, &pipelines->room, pipelines->count + 1, sizeof(*pipelines->nodes));
			pipelines->nodes[pipelines->count++] = node->row;
		}
	}
	for (uint32_t n = 0; n < pass->count; n++)
		if (!pass->nodes[n].row.calls)
			free_node(&pass->nodes[n].row);
	free(pass->nodes);
	number_map_free(&pass->places);
	free(pass);
	pipelines->pass = NULL;
	tidy(pipelines);
}

static void merge(void *into, const void *from)
{
	struct pipelines *pipelines = into;
	const struct pipelines *more = from;

	pipelines->nodes =
		base_grow(pipelines->nodes, &pipelines->room, pipelines->count + more->count + 1, sizeof(*pipelines->nodes));
	for (size_t i = 0; i < more->count; i++) {
		struct pipeline_node *node = &pipelines->nodes[pipelines->count++];
		*node = more->nodes[i];
		node->name = copy_of(node->name);
		node->parameters = copy_of(node->parameters);
		node->waits = NULL;
		node->wait_count = node->wait_room = 0;
		add_waits(node, &more->nodes[i]);
	}
	tidy(pipelines);
}

static void print(const void *result, struct text *text)
{
	const struct pipelines *pipelines = result;

	for (size_t i = 0; i < pipelines->count; i++) {
		const struct pipeline_node *node = &pipelines->nodes[i];
		text_format(text, "%" PRIx64 " %" PRIx64 " %s %s: %" PRIu64 " %" PRIu64 " %" PRIu64 "..%" PRIu64 " at %" PRId64,
			    node->log_id, node->pipeline, node->name, node->parameters, node->calls, node->total_ns, node->min_ns,
			    node->max_ns, node->first_ns);
		text_format(text, " own %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " slow %" PRIu64 "\n",
			    node->self_ns, node->slow_ns, node->longest_ns, node->blocking_calls, node->bottleneck_calls,
			    node->slow_calls);
	}
}

static void drop(void *result)
{
	struct pipelines *pipelines = result;

	for (size_t i = 0; i < pipelines->count; i++)
		free_node(&pipelines->nodes[i]);
	free(pipelines->nodes);
	free(pipelines);
}

static bool is_same(const struct pipeline_node *a, const struct pipeline_node *b)
{
	return a->log_id == b->log_id && a->pipeline == b->pipeline;
}

const struct pipeline_node *pipelines_root(const struct pipelines *pipelines, const struct pipeline_node *node)
{
	for (size_t i = 0; i < pipelines->count; i++)
		if (pipelines->nodes[i].is_root && is_same(&pipelines->nodes[i], node))
			return &pipelines->nodes[i];
	return NULL;
}

const struct pipeline_node *pipelines_above(const struct pipelines *pipelines, const struct pipeline_node *node)
{
	size_t length = (size_t)(input_iterator_name(node->name) - node->name);

	for (size_t i = 0; i < pipelines->count; i++) {
		const char *name = pipelines->nodes[i].name;
		size_t plain = strcspn(name, "[");
		if (!is_same(&pipelines->nodes[i], node) || node->is_root)
			continue;
		if ((strlen(name) + 2 == length && strncmp(name, node->name, length - 2) == 0) ||
		    (plain + 2 < length && strncmp(name, node->name, plain) == 0 && node->name[plain] == '[' &&
		     strcspn(node->name + plain, "]") + 1 + plain + 2 == length))
			return &pipelines->nodes[i];
	}
	return NULL;
}

static const struct pipeline_node *most(const struct pipelines *pipelines, const struct pipeline_node *root, bool is_longest)
{
	const struct pipeline_node *found = NULL;
	uint64_t best = 0;

	for (size_t i = 0; i < pipelines->count; i++) {
		const struct pipeline_node *node = &pipelines->nodes[i];
		uint64_t time = is_longest ? node->longest_ns : node->slow_ns;
		if (is_same(node, root) && time > best) {
			found = node;
			best = time;
		}
	}
	return found;
}

const struct pipeline_node *pipelines_bottleneck(const struct pipelines *pipelines, const struct pipeline_node *root)
{
	return most(pipelines, root, false);
}

const struct pipeline_node *pipelines_longest(const struct pipelines *pipelines, const struct pipeline_node *root)
{
	return most(pipelines, root, true);
}

const struct analysis_kind analysis_pipelines = {
	.name = "pipelines",
	.wants = SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE),
	.begin = begin,
	.span = take,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
