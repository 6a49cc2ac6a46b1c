/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of graphs that came later: nodes by one function for all, conditional nodes, user objects, parameters of nodes.
 *
 * Rule: thin; what happens, happens in the core.
 */
#include <string.h>

#include "driver.h"

int do_cuUserObjectCreate(void **object, void *data, void *destroy, unsigned count, unsigned flags)
{
	return flags == 1 ? sim_user_new(data, (void (*)(void *))destroy, count, (struct sim_user **)object) : SIM_INVALID_VALUE;
}

int do_cuUserObjectRetain(void *object, unsigned count)
{
	return sim_user_retain(object, count);
}

int do_cuUserObjectRelease(void *object, unsigned count)
{
	return sim_user_release(object, count);
}

/* CU_GRAPH_USER_OBJECT_MOVE is 1. */
int do_cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags)
{
	return flags > 1 ? SIM_INVALID_VALUE : sim_user_hold(graph, object, count, flags == 1);
}

int do_cuGraphReleaseUserObject(void *graph, void *object, unsigned count)
{
	return sim_user_let_go(graph, object, count);
}

/* CU_GRAPH_COND_ASSIGN_DEFAULT is 1: the value is set at each launch. */
int do_cuGraphConditionalHandleCreate(uint64_t *handle, void *graph, void *context, unsigned value, unsigned flags)
{
	struct sim_condition *condition;

	(void)context;
	if (!handle || !sim_graph_is_live(graph) || flags > 1)
		return SIM_INVALID_VALUE;
	condition = sim_object_new(sizeof *condition);
	*condition = (struct sim_condition){SIM_MAGIC_CONDITION, value, flags == 1};
	*handle = (uintptr_t)condition;
	return SIM_OK;
}

/* CUDA_CONDITIONAL_NODE_PARAMS */
struct conditional {
	uint64_t handle;
	unsigned type, size;
	void **bodies;
	void *context;
};

static int add_conditional(void **made, void *graph, void **dependencies, size_t count, struct conditional *parameters)
{
	struct sim_condition *condition = (struct sim_condition *)(uintptr_t)parameters->handle;
	struct sim_node *node;
	int result = SIM_INVALID_VALUE;

	if (made && sim_is_object(condition, SIM_MAGIC_CONDITION) && parameters->type <= 2 && parameters->size &&
	    (parameters->type != 1 || parameters->size == 1) && (parameters->type || parameters->size <= 2))
		result = sim_graph_add(graph, 13, (struct sim_node *const *)dependencies, count, &node);
	if (result)
		return result;
	node->condition = condition;
	node->condition_type = parameters->type;
	node->bodies = sim_allocate(parameters->size * sizeof *node->bodies);
	for (; node->body_count < parameters->size; node->body_count++)
		sim_graph_new(&node->bodies[node->body_count]);
	parameters->bodies = (void **)node->bodies;
	*made = node;
	return SIM_OK;
}

/* CUgraphNodeParams: the type, then at 16 what the type's own function takes. */
int do_cuGraphAddNode_v2(void **made, void *graph, void **dependencies, void *edges, size_t count, void *parameters)
{
	char *inner = (char *)parameters + 16;
	uint64_t word;

	(void)edges;
	if (!parameters)
		return SIM_INVALID_VALUE;
	memcpy(&word, inner, sizeof word);
	switch (*(int *)parameters) {
	case 0:
		return do_cuGraphAddKernelNode_v2(made, graph, dependencies, count, inner);
	case 1: /* flags and the context stand before the copy */
		return do_cuGraphAddMemcpyNode(made, graph, dependencies, count, inner + 16, NULL);
	case 2:
		return do_cuGraphAddMemsetNode(made, graph, dependencies, count, inner, NULL);
	case 3:
		return do_cuGraphAddHostNode(made, graph, dependencies, count, inner);
	case 4:
		return do_cuGraphAddChildGraphNode(made, graph, dependencies, count, (void *)(uintptr_t)word);
	case 5:
		return do_cuGraphAddEmptyNode(made, graph, dependencies, count);
	case 6:
		return do_cuGraphAddEventWaitNode(made, graph, dependencies, count, (void *)(uintptr_t)word);
	case 7:
		return do_cuGraphAddEventRecordNode(made, graph, dependencies, count, (void *)(uintptr_t)word);
	case 10:
		return do_cuGraphAddMemAllocNode(made, graph, dependencies, count, inner);
	case 11:
		return do_cuGraphAddMemFreeNode(made, graph, dependencies, count, word);
	case 13:
		return add_conditional(made, graph, dependencies, count, (struct conditional *)inner);
	default:
		return SIM_NOT_SUPPORTED;
	}
}

static struct sim_node *node_of(void *handle, uint32_t type)
{
	struct sim_node *node = handle;

	return sim_node_is_live(node) && node->type == type ? node : NULL;
}

static struct sim_node *ready_node_of(void *exec, void *original, uint32_t type)
{
	return sim_exec_is_live(exec) ? node_of(sim_exec_node(exec, original), type) : NULL;
}

/* CUDA_HOST_NODE_PARAMS: function, data. */
static int set_host(struct sim_node *node, void *const *parameters)
{
	if (!node || !parameters || !parameters[0])
		return SIM_INVALID_VALUE;
	memcpy(&node->host, &parameters[0], sizeof node->host);
	node->host_data = parameters[1];
	return SIM_OK;
}

int do_cuGraphHostNodeSetParams(void *node, void *parameters)
{
	return set_host(node_of(node, 3), parameters);
}

int do_cuGraphExecHostNodeSetParams(void *exec, void *original, void *parameters)
{
	return set_host(ready_node_of(exec, original, 3), parameters);
}

int do_cuGraphHostNodeGetParams(void *handle, void *parameters)
{
	struct sim_node *node = node_of(handle, 3);

	if (!node || !parameters)
		return SIM_INVALID_VALUE;
	memcpy(parameters, &node->host, sizeof node->host);
	((void **)parameters)[1] = node->host_data;
	return SIM_OK;
}

int do_cuGraphExecChildGraphNodeSetParams(void *exec, void *original, void *child)
{
	struct sim_node *node = ready_node_of(exec, original, 4);

	return node && sim_graph_is_live(child) ? sim_graph_clone(child, &node->child, NULL) : SIM_INVALID_VALUE;
}

int do_cuGraphKernelNodeSetAttribute(void *node, int attribute, void *value)
{
	return node_of(node, 0) && attribute > 0 && value ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuGraphKernelNodeCopyAttributes(void *to, void *from)
{
	return node_of(to, 0) && node_of(from, 0) ? SIM_OK : SIM_INVALID_VALUE;
}

/* As do_cuGraphAddMemAllocNode takes them. */
int do_cuGraphMemAllocNodeGetParams(void *handle, void *parameters)
{
	struct sim_node *node = node_of(handle, 10);

	if (!node || !parameters)
		return SIM_INVALID_VALUE;
	memset(parameters, 0, 120);
	memcpy((char *)parameters + 104, &node->bytes, sizeof node->bytes);
	memcpy((char *)parameters + 112, &node->address, sizeof node->address);
	return SIM_OK;
}

int do_cuGraphMemFreeNodeGetParams(void *handle, uint64_t *address)
{
	struct sim_node *node = node_of(handle, 11);

	if (!node || !address)
		return SIM_INVALID_VALUE;
	*address = node->address;
	return SIM_OK;
}

/* CUgraphMem_attribute: 0 used, 1 most used, 2 reserved, 3 most reserved. Memory of graphs lies in the device's default pool here. */
int do_cuDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!machine || !value || attribute < 0 || attribute > 3)
		return SIM_INVALID_VALUE;
	*(uint64_t *)value = 0;
	return SIM_OK;
}

int do_cuDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
	return sim_machine_at(device) && value && (attribute == 1 || attribute == 3) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuDeviceGraphMemTrim(int device)
{
	return sim_machine_at(device) ? SIM_OK : SIM_INVALID_DEVICE;
}

/* CUgraphNodeParams of a node that is there: the type, which stays, then at 16 what the type's own function takes. */
int do_cuGraphNodeSetParams(void *node, void *parameters)
{
	char *inner = (char *)parameters + 16;

	if (!parameters)
		return SIM_INVALID_VALUE;
	switch (*(int *)parameters) {
	case 0:
		return do_cuGraphKernelNodeSetParams_v2(node, inner);
	case 1: /* flags and the context stand before the copy */
		return do_cuGraphMemcpyNodeSetParams(node, inner + 16);
	case 2:
		return do_cuGraphMemsetNodeSetParams(node, inner);
	case 3:
		return do_cuGraphHostNodeSetParams(node, inner);
	default:
		return SIM_NOT_SUPPORTED;
	}
}

int do_cuGraphExecNodeSetParams(void *exec, void *node, void *parameters)
{
	char *inner = (char *)parameters + 16;
	uint64_t word;

	if (!parameters)
		return SIM_INVALID_VALUE;
	memcpy(&word, inner, sizeof word);
	switch (*(int *)parameters) {
	case 0:
		return do_cuGraphExecKernelNodeSetParams_v2(exec, node, inner);
	case 1:
		return do_cuGraphExecMemcpyNodeSetParams(exec, node, inner + 16, NULL);
	case 2:
		return do_cuGraphExecMemsetNodeSetParams(exec, node, inner, NULL);
	case 3:
		return do_cuGraphExecHostNodeSetParams(exec, node, inner);
	case 4:
		return do_cuGraphExecChildGraphNodeSetParams(exec, node, (void *)(uintptr_t)word);
	default:
		return SIM_NOT_SUPPORTED;
	}
}
