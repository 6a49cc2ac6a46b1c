/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes and their dependencies, clones.
 *
 * Rule: ids of graphs and nodes are never used again; a clone's nodes have ids of their own and know their originals.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

static uint32_t last_graph_id;	/* under the lock */
static uint64_t last_node_id;

bool sim_graph_is_live(const struct sim_graph *graph)
{
	return sim_is_object(graph, SIM_MAGIC_GRAPH);
}

bool sim_node_is_live(const struct sim_node *node)
{
	return sim_is_object(node, SIM_MAGIC_NODE);
}

uint32_t sim_graph_id(struct sim_graph *graph)
{
	return sim_graph_is_live(graph) ? graph->id : SIM_NONE;
}

uint64_t sim_node_id(struct sim_node *node)
{
	return sim_node_is_live(node) ? node->id : 0;
}

static struct sim_graph *make(void)
{
	struct sim_graph *graph = sim_object_new(sizeof *graph);

	graph->magic = SIM_MAGIC_GRAPH;
	graph->tail = &graph->nodes;
	sim_lock();
	graph->id = ++last_graph_id;
	sim_unlock();
	return graph;
}

int sim_graph_new(struct sim_graph **graph)
{
	*graph = make();
	sim_tell_resource(&(struct sim_resource){.kind = SIM_GRAPH_CREATED, .context = sim_context_current(), .graph = *graph});
	return SIM_OK;
}

int sim_graph_destroy(struct sim_graph *graph)
{
	if (!sim_graph_is_live(graph))
		return SIM_INVALID_VALUE;
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_DESTROY_STARTING, .context = sim_context_current(),
							 .graph = graph, .node = node, .node_type = node->type});
		node->magic = SIM_MAGIC_DEAD;
	}
	sim_tell_resource(&(struct sim_resource){.kind = SIM_GRAPH_DESTROY_STARTING, .context = sim_context_current(),
		.graph = graph});
	graph->magic = SIM_MAGIC_DEAD;
	sim_user_graph_ends(graph);
	return SIM_OK;
}

static struct sim_node *add_node(struct sim_graph *graph, uint32_t type)
{
	struct sim_node *node = sim_object_new(sizeof *node);

	node->magic = SIM_MAGIC_NODE;
	node->type = type;
	node->graph = graph;
	node->context = sim_context_current();
	sim_lock();
	node->id = ++last_node_id;
	*graph->tail = node;
	graph->tail = &node->next;
	graph->node_count++;
	sim_unlock();
	return node;
}

int sim_graph_depend(struct sim_node *node, struct sim_node *on)
{
	if (!sim_node_is_live(node) || !sim_node_is_live(on) || node->graph != on->graph)
		return SIM_INVALID_VALUE;
	node->dependencies = realloc(node->dependencies, (size_t)(node->dependency_count + 1) * sizeof *node->dependencies);
	if (!node->dependencies)
		abort();
	node->dependencies[node->dependency_count++] = on;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_DEPENDENCY_CREATED, .context = sim_context_current(),
		.graph = node->graph,
						 .node = node, .dependency = on, .node_type = node->type});
	return SIM_OK;
}

int sim_graph_add(struct sim_graph *graph, uint32_t type, struct sim_node *const *dependencies, size_t count,
		struct sim_node **made)
{
	struct sim_node *node;

	if (!sim_graph_is_live(graph) || (count && !dependencies))
		return SIM_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sim_node_is_live(dependencies[i]) || dependencies[i]->graph != graph)
			return SIM_INVALID_VALUE;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_CREATE_STARTING, .context = sim_context_current(), .graph = graph,
						 .node_type = type});
	node = add_node(graph, type);
	sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_CREATED, .context = sim_context_current(), .graph = graph,
		.node = node,
						 .node_type = type});
	for (size_t i = 0; i < count; i++)
		sim_graph_depend(node, dependencies[i]);
	*made = node;
	return SIM_OK;
}

int sim_node_destroy(struct sim_node *node)
{
	struct sim_graph *graph;

	if (!sim_node_is_live(node))
		return SIM_INVALID_VALUE;
	graph = node->graph;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_DESTROY_STARTING, .context = sim_context_current(),
		.graph = graph,
						 .node = node, .node_type = node->type});
	sim_lock();
	for (struct sim_node **at = &graph->nodes; *at; at = &(*at)->next)
		if (*at == node) {
			*at = node->next;
			break;
		}
	for (graph->tail = &graph->nodes; *graph->tail; graph->tail = &(*graph->tail)->next)
		for (int i = 0; i < (*graph->tail)->dependency_count; i++)
			if ((*graph->tail)->dependencies[i] == node)
				(*graph->tail)->dependencies[i--] = (*graph->tail)->dependencies[--(*graph->tail)->dependency_count];
	graph->node_count--;
	node->magic = SIM_MAGIC_DEAD;
	sim_unlock();
	return SIM_OK;
}

static struct sim_node *clone_of(struct sim_graph *clone, const struct sim_node *original)
{
	struct sim_node *node = clone->nodes;

	while (node && node->original != original)
		node = node->next;
	return node;
}

/* What a node does, copied from its original; identity and edges stay. */
static void copy_body(struct sim_node *to, struct sim_node *from)
{
	struct sim_node keep = *to;

	*to = *from;
	to->id = keep.id;
	to->graph = keep.graph;
	to->next = keep.next;
	to->original = from;
	to->dependencies = NULL;
	to->dependency_count = 0;
	to->end = 0;
	if (from->child)
		sim_graph_clone(from->child, &to->child, NULL);
	if (from->body_count)
		to->bodies = sim_allocate(from->body_count * sizeof *to->bodies);
	for (unsigned i = 0; i < from->body_count; i++)
		sim_graph_clone(from->bodies[i], &to->bodies[i], NULL);
}

/* exec: the clone is an executable graph's own, and the subscriber hears of its nodes as cloned. */
int sim_graph_clone(struct sim_graph *from, struct sim_graph **to, struct sim_graph_exec *exec)
{
	struct sim_graph *clone;

	if (!sim_graph_is_live(from))
		return SIM_INVALID_VALUE;
	clone = make();
	clone->original = from;
	if (!exec)
		sim_tell_resource(&(struct sim_resource){.kind = SIM_GRAPH_CLONED, .context = sim_context_current(), .graph = clone,
							 .original_graph = from});
	for (struct sim_node *node = from->nodes; node; node = node->next) {
		struct sim_node *copy = add_node(clone, node->type);

		copy_body(copy, node);
		sim_tell_resource(&(struct sim_resource){.kind = SIM_NODE_CLONED, .context = sim_context_current(), .graph = clone,
							 .original_graph = from, .node = copy, .original_node = node,
							 .node_type = node->type, .exec = exec});
	}
	for (struct sim_node *node = from->nodes, *copy = clone->nodes; node; node = node->next, copy = copy->next) {
		copy->dependencies = sim_allocate((size_t)(node->dependency_count + 1) * sizeof *copy->dependencies);
		for (int i = 0; i < node->dependency_count; i++)
			copy->dependencies[copy->dependency_count++] = clone_of(clone, node->dependencies[i]);
	}
	sim_user_clone(clone, from);
	*to = clone;
	return SIM_OK;
}
