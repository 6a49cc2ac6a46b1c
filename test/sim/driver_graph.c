/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of graphs.
 *
 * Rule: thin; what happens, happens in the core.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* CUDA_KERNEL_NODE_PARAMS, version 2; version 1 ends before kernel. */
struct kernel_parameters {
	void *function;
	unsigned grid[3], block[3], shared;
	void **parameters, **extra;
	void *kernel, *context;
};
/* CUDA_MEMSET_NODE_PARAMS */
struct set_parameters {
	uint64_t address;
	size_t pitch;
	unsigned value, element;
	size_t width, height;
};
/* CUDA_HOST_NODE_PARAMS */
struct host_parameters {
	void (*function)(void *);
	void *data;
};

#define NODES(list) ((struct sim_node *const *)(list))

int do_cuGraphCreate(void **graph, unsigned flags)
{
	return graph && !flags ? sim_graph_new((struct sim_graph **)graph) : SIM_INVALID_VALUE;
}

int do_cuGraphDestroy(void *graph)
{
	return sim_graph_destroy(graph);
}

int do_cuGraphClone(void **clone, void *graph)
{
	return sim_graph_clone(graph, (struct sim_graph **)clone, NULL);
}

static int fill_launch(struct sim_launch *launch, const struct kernel_parameters *from)
{
	struct sim_context *context;
	int result = sim_here(&context);

	*launch = (struct sim_launch){.function = sim_driver_function(from->function ? from->function : from->kernel),
				      .shared = from->shared};
	memcpy(launch->grid, from->grid, sizeof launch->grid);
	memcpy(launch->block, from->block, sizeof launch->block);
	if (result)
		return result;
	return launch->function ? sim_launch_check(context, launch) : SIM_INVALID_HANDLE;
}

int do_cuGraphAddKernelNode_v2(void **made, void *graph, void **dependencies, size_t count, void *parameters)
{
	struct sim_launch launch;
	struct sim_node *node;
	int result = made && parameters ? fill_launch(&launch, parameters) : SIM_INVALID_VALUE;

	result = result ? result : sim_graph_add(graph, 0, NODES(dependencies), count, &node);
	if (!result) {
		node->launch = launch;
		*made = node;
	}
	return result;
}

int do_cuGraphKernelNodeGetParams_v2(void *handle, void *parameters)
{
	const struct sim_node *node = handle;
	struct kernel_parameters *to = parameters;

	if (!sim_node_is_live(node) || node->type != 0)
		return SIM_INVALID_VALUE;
	*to = (struct kernel_parameters){.function = node->launch.function, .shared = node->launch.shared};
	memcpy(to->grid, node->launch.grid, sizeof to->grid);
	memcpy(to->block, node->launch.block, sizeof to->block);
	return SIM_OK;
}

int do_cuGraphKernelNodeSetParams_v2(void *handle, void *parameters)
{
	struct sim_node *node = handle;

	if (!sim_node_is_live(node) || node->type != 0 || !parameters)
		return SIM_INVALID_VALUE;
	return fill_launch(&node->launch, parameters);
}

/* CUDA_MEMCPY3D as in driver_copy.c: the sides begin at 0 and 88 bytes, then width, height, depth. */
struct deep_side {
	size_t x, y, z, level;
	int kind;
	void *host;
	uint64_t device;
	struct sim_array *array;
	void *reserved;
	size_t pitch, height;
};
struct deep_copy {
	struct deep_side from, to;
	size_t width, height, depth;
};

static struct sim_side side_of(const struct deep_side *from, const struct deep_copy *copy)
{
	return (struct sim_side){.address = from->kind == 1 ? (uint64_t)(uintptr_t)from->host : from->device,
				 .array = from->kind == 3 ? from->array : NULL, .pitch = from->pitch ? from->pitch : copy->width,
				 .height = from->height ? from->height : copy->height, .x = from->x, .y = from->y, .z = from->z};
}

static int fill_copy(struct sim_copy *copy, const struct deep_copy *from)
{
	*copy = (struct sim_copy){.to = side_of(&from->to, from), .from = side_of(&from->from, from), .width = from->width,
				  .height = from->height, .depth = from->depth, .is_async = true};
	return from->width && from->height && from->depth ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuGraphAddMemcpyNode(void **made, void *graph, void **dependencies, size_t count, void *parameters, void *context)
{
	struct sim_copy copy;
	struct sim_node *node;
	int result = made && parameters ? fill_copy(&copy, parameters) : SIM_INVALID_VALUE;

	(void)context;
	result = result ? result : sim_graph_add(graph, 1, NODES(dependencies), count, &node);
	if (!result) {
		node->copy = copy;
		*made = node;
	}
	return result;
}

static int fill_set(struct sim_set *set, const struct set_parameters *from)
{
	*set = (struct sim_set){.address = from->address, .pitch = from->height > 1 ? from->pitch : from->width * from->element,
				.width = from->width, .height = from->height, .element = from->element, .value = from->value,
				.is_async = true};
	return from->width && from->height && (from->element == 1 || from->element == 2 || from->element == 4) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuGraphAddMemsetNode(void **made, void *graph, void **dependencies, size_t count, void *parameters, void *context)
{
	struct sim_set set;
	struct sim_node *node;
	int result = made && parameters ? fill_set(&set, parameters) : SIM_INVALID_VALUE;

	(void)context;
	result = result ? result : sim_graph_add(graph, 2, NODES(dependencies), count, &node);
	if (!result) {
		node->set = set;
		*made = node;
	}
	return result;
}

int do_cuGraphAddHostNode(void **made, void *graph, void **dependencies, size_t count, void *parameters)
{
	const struct host_parameters *from = parameters;
	struct sim_node *node;
	int result = made && from && from->function ? sim_graph_add(graph, 3, NODES(dependencies), count, &node) : SIM_INVALID_VALUE;

	if (!result) {
		node->host = from->function;
		node->host_data = from->data;
		*made = node;
	}
	return result;
}

int do_cuGraphAddEmptyNode(void **made, void *graph, void **dependencies, size_t count)
{
	return made ? sim_graph_add(graph, 5, NODES(dependencies), count, (struct sim_node **)made) : SIM_INVALID_VALUE;
}

int do_cuGraphAddChildGraphNode(void **made, void *graph, void **dependencies, size_t count, void *child)
{
	struct sim_node *node;
	int result = made && sim_graph_is_live(child) ? sim_graph_add(graph, 4, NODES(dependencies), count, &node) : SIM_INVALID_VALUE;

	if (result)
		return result;
	*made = node;
	return sim_graph_clone(child, &node->child, NULL);
}

static int add_event(void **made, void *graph, void **dependencies, size_t count, void *event, uint32_t type)
{
	struct sim_node *node;
	int result = made && sim_event_is_live(event) ? sim_graph_add(graph, type, NODES(dependencies), count, &node) : SIM_INVALID_VALUE;

	if (!result) {
		node->event = event;
		*made = node;
	}
	return result;
}

int do_cuGraphAddEventRecordNode(void **made, void *graph, void **dependencies, size_t count, void *event)
{
	return add_event(made, graph, dependencies, count, event, 7);
}

int do_cuGraphAddEventWaitNode(void **made, void *graph, void **dependencies, size_t count, void *event)
{
	return add_event(made, graph, dependencies, count, event, 6);
}

/* CUDA_MEM_ALLOC_NODE_PARAMS: pool properties (88 bytes), access list and count, bytes at 104, address at 112. */
int do_cuGraphAddMemAllocNode(void **made, void *graph, void **dependencies, size_t count, void *parameters)
{
	struct sim_location location;
	struct sim_machine *machine;
	struct sim_node *node;
	size_t bytes;
	int result;

	if (!made || !parameters)
		return SIM_INVALID_VALUE;
	memcpy(&location, (char *)parameters + 8, sizeof location);
	memcpy(&bytes, (char *)parameters + 104, sizeof bytes);
	machine = sim_machine_at(location.id);
	if (!machine || !bytes)
		return SIM_INVALID_VALUE;
	result = sim_graph_add(graph, 10, NODES(dependencies), count, &node);
	result = result ? result : sim_pool_alloc(sim_pool_default(machine), NULL, bytes, &node->address);
	if (!result) {
		node->bytes = bytes;
		memcpy((char *)parameters + 112, &node->address, sizeof node->address);
		*made = node;
	}
	return result;
}

int do_cuGraphAddMemFreeNode(void **made, void *graph, void **dependencies, size_t count, uint64_t address)
{
	struct sim_node *node;
	int result = made ? sim_graph_add(graph, 11, NODES(dependencies), count, &node) : SIM_INVALID_VALUE;

	if (!result) {
		node->address = address;
		*made = node;
	}
	return result;
}

int do_cuGraphAddDependencies_v2(void *graph, void **from, void **to, void *edges, size_t count)
{
	int result = sim_graph_is_live(graph) ? SIM_OK : SIM_INVALID_VALUE;

	(void)edges;
	for (size_t i = 0; i < count && !result; i++)
		result = sim_graph_depend(to[i], from[i]);
	return result;
}

/* Lists nodes into an array of *count places, or counts them when there is none. */
static int list_nodes(const struct sim_graph *graph, void **nodes, size_t *count, bool roots_only)
{
	size_t found = 0;

	if (!sim_graph_is_live(graph) || !count)
		return SIM_INVALID_VALUE;
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		if (roots_only && node->dependency_count)
			continue;
		if (nodes && found < *count)
			nodes[found] = node;
		found++;
	}
	*count = nodes && found > *count ? *count : found;
	return SIM_OK;
}

int do_cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
	return list_nodes(graph, nodes, count, false);
}

int do_cuGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
	return list_nodes(graph, nodes, count, true);
}

int do_cuGraphGetEdges_v2(void *handle, void **from, void **to, void *edges, size_t *count)
{
	const struct sim_graph *graph = handle;
	size_t found = 0;

	(void)edges;
	if (!sim_graph_is_live(graph) || !count)
		return SIM_INVALID_VALUE;
	for (struct sim_node *node = graph->nodes; node; node = node->next)
		for (int i = 0; i < node->dependency_count; i++, found++)
			if (from && to && found < *count) {
				from[found] = node->dependencies[i];
				to[found] = node;
			}
	*count = found;
	return SIM_OK;
}

int do_cuGraphNodeGetDependencies_v2(void *handle, void **nodes, void *edges, size_t *count)
{
	const struct sim_node *node = handle;

	(void)edges;
	if (!sim_node_is_live(node) || !count)
		return SIM_INVALID_VALUE;
	for (int i = 0; nodes && i < node->dependency_count && (size_t)i < *count; i++)
		nodes[i] = node->dependencies[i];
	*count = (size_t)node->dependency_count;
	return SIM_OK;
}

int do_cuGraphNodeGetType(void *node, void *type)
{
	if (!sim_node_is_live(node) || !type)
		return SIM_INVALID_VALUE;
	*(unsigned *)type = ((struct sim_node *)node)->type;
	return SIM_OK;
}

int do_cuGraphNodeFindInClone(void **found, void *original, void *clone)
{
	if (!sim_graph_is_live(clone) || !found)
		return SIM_INVALID_VALUE;
	for (struct sim_node *node = ((struct sim_graph *)clone)->nodes; node; node = node->next)
		if (node->original == original) {
			*found = node;
			return SIM_OK;
		}
	return SIM_INVALID_VALUE;
}

int do_cuGraphDestroyNode(void *node)
{
	return sim_node_destroy(node);
}

int do_cuGraphInstantiateWithFlags(void **exec, void *graph, uint64_t flags)
{
	return sim_exec_new(graph, (unsigned)flags, (struct sim_graph_exec **)exec);
}

/* CUDA_GRAPH_INSTANTIATE_PARAMS: flags at 0, upload stream at 8, error node at 16, result at 24. */
int do_cuGraphInstantiateWithParams(void **exec, void *graph, void *parameters)
{
	uint64_t flags;
	int result;

	if (!parameters)
		return SIM_INVALID_VALUE;
	memcpy(&flags, parameters, sizeof flags);
	result = sim_exec_new(graph, (unsigned)flags, (struct sim_graph_exec **)exec);
	memset((char *)parameters + 16, 0, 8);
	memcpy((char *)parameters + 24, &(int){result ? 1 : 0}, sizeof(int));
	return result;
}

int do_cuGraphExecDestroy(void *exec)
{
	return sim_exec_destroy(exec);
}

int do_cuGraphLaunch(void *exec, void *handle)
{
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	return result ? result : sim_exec_launch(exec, stream);
}

int do_cuGraphUpload(void *exec, void *handle)
{
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	return result ? result : sim_exec_is_live(exec) ? SIM_OK : SIM_INVALID_VALUE;
}

/* CUgraphExecUpdateResultInfo: result at 0, node at 8, from node at 16. */
int do_cuGraphExecUpdate_v2(void *exec, void *graph, void *info)
{
	struct sim_node *bad;
	int why, result;

	if (!sim_exec_is_live(exec) || !sim_graph_is_live(graph) || !info)
		return SIM_INVALID_VALUE;
	result = sim_exec_update(exec, graph, &why, &bad);
	memcpy(info, &why, sizeof why);
	memcpy((char *)info + 8, &bad, sizeof bad);
	memset((char *)info + 16, 0, 8);
	return result;
}

int do_cuGraphExecKernelNodeSetParams_v2(void *exec, void *original, void *parameters)
{
	struct sim_node *node = sim_exec_is_live(exec) ? sim_exec_node(exec, original) : NULL;

	return node && node->type == 0 && parameters ? fill_launch(&node->launch, parameters) : SIM_INVALID_VALUE;
}

int do_cuGraphExecMemcpyNodeSetParams(void *exec, void *original, void *parameters, void *context)
{
	struct sim_node *node = sim_exec_is_live(exec) ? sim_exec_node(exec, original) : NULL;

	(void)context;
	return node && node->type == 1 && parameters ? fill_copy(&node->copy, parameters) : SIM_INVALID_VALUE;
}

int do_cuGraphExecMemsetNodeSetParams(void *exec, void *original, void *parameters, void *context)
{
	struct sim_node *node = sim_exec_is_live(exec) ? sim_exec_node(exec, original) : NULL;

	(void)context;
	return node && node->type == 2 && parameters ? fill_set(&node->set, parameters) : SIM_INVALID_VALUE;
}

int do_cuGraphChildGraphNodeGetGraph(void *node, void **graph)
{
	if (!sim_node_is_live(node) || ((struct sim_node *)node)->type != 4)
		return SIM_INVALID_VALUE;
	*graph = ((struct sim_node *)node)->child;
	return SIM_OK;
}

int do_cuGraphNodeSetEnabled(void *exec, void *original, unsigned is_enabled)
{
	struct sim_node *node = sim_exec_is_live(exec) ? sim_exec_node(exec, original) : NULL;

	if (!node || node->type > 2)
		return SIM_INVALID_VALUE;
	node->is_disabled = !is_enabled;
	return SIM_OK;
}

int do_cuGraphNodeGetEnabled(void *exec, void *original, unsigned *is_enabled)
{
	struct sim_node *node = sim_exec_is_live(exec) ? sim_exec_node(exec, original) : NULL;

	if (!node)
		return SIM_INVALID_VALUE;
	*is_enabled = !node->is_disabled;
	return SIM_OK;
}

int do_cuGraphDebugDotPrint(void *handle, const char *path, unsigned flags)
{
	const struct sim_graph *graph = handle;
	FILE *file = sim_graph_is_live(graph) && path ? fopen(path, "w") : NULL;

	(void)flags;
	if (!file)
		return SIM_INVALID_VALUE;
	fprintf(file, "digraph g%u {\n", graph->id);
	for (struct sim_node *node = graph->nodes; node; node = node->next)
		for (int i = 0; i < node->dependency_count; i++)
			fprintf(file, "n%llu -> n%llu\n", (unsigned long long)node->dependencies[i]->id, (unsigned long long)node->id);
	fprintf(file, "}\n");
	return fclose(file) ? SIM_UNKNOWN : SIM_OK;
}

int do_cuGraphMemcpyNodeSetParams(void *handle, void *parameters)
{
	struct sim_node *node = handle;

	return sim_node_is_live(node) && node->type == 1 && parameters ? fill_copy(&node->copy, parameters) : SIM_INVALID_VALUE;
}

int do_cuGraphMemsetNodeSetParams(void *handle, void *parameters)
{
	struct sim_node *node = handle;

	return sim_node_is_live(node) && node->type == 2 && parameters ? fill_set(&node->set, parameters) : SIM_INVALID_VALUE;
}
