/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions of graphs.
 *
 * Rule: thin; parameters of nodes are put into the driver's form.
 */
#include <string.h>

#include "runtime.h"

/* cudaKernelNodeParams */
struct kernel_node {
	void *function;
	struct sim_dim3 grid, block;
	unsigned shared;
	void **arguments, **extra;
};
/* CUDA_KERNEL_NODE_PARAMS, version 2 */
struct driver_kernel_node {
	void *function;
	struct sim_dim3 grid, block;
	unsigned shared;
	void **arguments, **extra;
	void *kernel, *context;
};
/* CUDA_MEMCPY3D of two addresses, one row. */
struct deep_side {
	size_t x, y, z, level;
	int kind;
	void *host;
	uint64_t device;
	void *array;
	void *reserved;
	size_t pitch, height;
};
struct deep_copy {
	struct deep_side from, to;
	size_t width, height, depth;
};

int do_cudaGraphCreate(void **graph, unsigned flags)
{
	return sim_cu.cuGraphCreate(graph, flags);
}

int do_cudaGraphDestroy(void *graph)
{
	return sim_cu.cuGraphDestroy(graph);
}

int do_cudaGraphClone(void **clone, void *graph)
{
	return sim_cu.cuGraphClone(clone, graph);
}

static int kernel_of(const struct kernel_node *from, struct driver_kernel_node *to)
{
	*to = (struct driver_kernel_node){.shared = from->shared, .arguments = from->arguments, .extra = from->extra,
					  .grid = from->grid, .block = from->block};
	return sim_runtime_kernel(from->function, &to->function);
}

int do_cudaGraphAddKernelNode(void **node, void *graph, void **dependencies, size_t count, void *parameters)
{
	struct driver_kernel_node driver;
	int result = parameters ? kernel_of(parameters, &driver) : SIM_INVALID_VALUE;

	return result ? result : sim_cu.cuGraphAddKernelNode_v2(node, graph, dependencies, count, &driver);
}

int do_cudaGraphKernelNodeGetParams(void *node, void *parameters)
{
	struct driver_kernel_node driver;
	int result = sim_cu.cuGraphKernelNodeGetParams_v2(node, &driver);

	if (!result)
		*(struct kernel_node *)parameters = (struct kernel_node){driver.function, driver.grid, driver.block, driver.shared,
									 driver.arguments, driver.extra};
	return result;
}

int do_cudaGraphKernelNodeSetParams(void *node, void *parameters)
{
	struct driver_kernel_node driver;
	int result = parameters ? kernel_of(parameters, &driver) : SIM_INVALID_VALUE;

	return result ? result : sim_cu.cuGraphKernelNodeSetParams_v2(node, &driver);
}

int do_cudaGraphExecKernelNodeSetParams(void *exec, void *node, void *parameters)
{
	struct driver_kernel_node driver;
	int result = parameters ? kernel_of(parameters, &driver) : SIM_INVALID_VALUE;

	return result ? result : sim_cu.cuGraphExecKernelNodeSetParams_v2(exec, node, &driver);
}

static struct deep_copy one_row(void *to, void *from, size_t bytes)
{
	return (struct deep_copy){.from = {.kind = 4, .device = (uintptr_t)from, .pitch = bytes, .height = 1},
				  .to = {.kind = 4, .device = (uintptr_t)to, .pitch = bytes, .height = 1},
				  .width = bytes, .height = 1, .depth = 1};
}

int do_cudaGraphAddMemcpyNode1D(void **node, void *graph, void **dependencies, size_t count, void *to, void *from, size_t bytes, int kind)
{
	struct deep_copy copy = one_row(to, from, bytes);

	(void)kind;
	return sim_cu.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, NULL);
}

int do_cudaGraphExecMemcpyNodeSetParams1D(void *exec, void *node, void *to, void *from, size_t bytes, int kind)
{
	struct deep_copy copy = one_row(to, from, bytes);

	(void)kind;
	return sim_cu.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, NULL);
}

/* cudaMemcpy3DParms between addresses. */
struct runtime_side {
	void *array;
	struct sim_extent position;
	struct sim_pitched place;
};
struct runtime_copy {
	struct runtime_side from, to;
	struct sim_extent extent;
	int kind;
};

static struct deep_side deep(const struct runtime_side *side)
{
	return (struct deep_side){.x = side->position.width, .y = side->position.height, .z = side->position.depth,
				  .kind = side->array ? 3 : 4, .array = side->array, .device = (uintptr_t)side->place.pointer,
				  .pitch = side->place.pitch, .height = side->place.height};
}

static int copy_of(const struct runtime_copy *from, struct deep_copy *copy)
{
	if (!from)
		return SIM_INVALID_VALUE;
	*copy = (struct deep_copy){.from = deep(&from->from), .to = deep(&from->to), .width = from->extent.width,
				   .height = from->extent.height, .depth = from->extent.depth};
	return SIM_OK;
}

int do_cudaGraphAddMemcpyNode(void **node, void *graph, void **dependencies, size_t count, void *parameters)
{
	struct deep_copy copy;
	int result = copy_of(parameters, &copy);

	return result ? result : sim_cu.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, NULL);
}

int do_cudaGraphAddMemsetNode(void **node, void *graph, void **dependencies, size_t count, void *parameters)
{
	return sim_cu.cuGraphAddMemsetNode(node, graph, dependencies, count, parameters, NULL);
}

int do_cudaGraphExecMemsetNodeSetParams(void *exec, void *node, void *parameters)
{
	return sim_cu.cuGraphExecMemsetNodeSetParams(exec, node, parameters, NULL);
}

int do_cudaGraphAddHostNode(void **node, void *graph, void **dependencies, size_t count, void *parameters)
{
	return sim_cu.cuGraphAddHostNode(node, graph, dependencies, count, parameters);
}

int do_cudaGraphAddEmptyNode(void **node, void *graph, void **dependencies, size_t count)
{
	return sim_cu.cuGraphAddEmptyNode(node, graph, dependencies, count);
}

int do_cudaGraphAddChildGraphNode(void **node, void *graph, void **dependencies, size_t count, void *child)
{
	return sim_cu.cuGraphAddChildGraphNode(node, graph, dependencies, count, child);
}

int do_cudaGraphAddEventRecordNode(void **node, void *graph, void **dependencies, size_t count, void *event)
{
	return sim_cu.cuGraphAddEventRecordNode(node, graph, dependencies, count, event);
}

int do_cudaGraphAddEventWaitNode(void **node, void *graph, void **dependencies, size_t count, void *event)
{
	return sim_cu.cuGraphAddEventWaitNode(node, graph, dependencies, count, event);
}

int do_cudaGraphAddMemAllocNode(void **node, void *graph, void **dependencies, size_t count, void *parameters)
{
	return sim_cu.cuGraphAddMemAllocNode(node, graph, dependencies, count, parameters);
}

int do_cudaGraphAddMemFreeNode(void **node, void *graph, void **dependencies, size_t count, void *address)
{
	return sim_cu.cuGraphAddMemFreeNode(node, graph, dependencies, count, (uintptr_t)address);
}

int do_cudaGraphAddDependencies(void *graph, void **from, void **to, void *edges, size_t count)
{
	return sim_cu.cuGraphAddDependencies_v2(graph, from, to, edges, count);
}

int do_cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
	return sim_cu.cuGraphGetNodes(graph, nodes, count);
}

int do_cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
	return sim_cu.cuGraphGetRootNodes(graph, nodes, count);
}

int do_cudaGraphGetEdges(void *graph, void **from, void **to, void *edges, size_t *count)
{
	return sim_cu.cuGraphGetEdges_v2(graph, from, to, edges, count);
}

int do_cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges, size_t *count)
{
	return sim_cu.cuGraphNodeGetDependencies_v2(node, nodes, edges, count);
}

int do_cudaGraphNodeGetType(void *node, int *type)
{
	return sim_cu.cuGraphNodeGetType(node, type);
}

int do_cudaGraphNodeFindInClone(void **node, void *original, void *clone)
{
	return sim_cu.cuGraphNodeFindInClone(node, original, clone);
}

int do_cudaGraphDestroyNode(void *node)
{
	return sim_cu.cuGraphDestroyNode(node);
}

int do_cudaGraphInstantiate(void **exec, void *graph, uint64_t flags)
{
	return sim_cu.cuGraphInstantiateWithFlags(exec, graph, flags);
}

int do_cudaGraphInstantiateWithFlags(void **exec, void *graph, uint64_t flags)
{
	return sim_cu.cuGraphInstantiateWithFlags(exec, graph, flags);
}

int do_cudaGraphInstantiateWithParams(void **exec, void *graph, void *parameters)
{
	return sim_cu.cuGraphInstantiateWithParams(exec, graph, parameters);
}

int do_cudaGraphExecDestroy(void *exec)
{
	return sim_cu.cuGraphExecDestroy(exec);
}

int do_cudaGraphLaunch(void *exec, void *stream)
{
	return sim_cu.cuGraphLaunch(exec, sim_runtime_stream(stream));
}

int do_cudaGraphUpload(void *exec, void *stream)
{
	return sim_cu.cuGraphUpload(exec, sim_runtime_stream(stream));
}

int do_cudaGraphExecUpdate(void *exec, void *graph, void *info)
{
	return sim_cu.cuGraphExecUpdate_v2(exec, graph, info);
}

int do_cudaGraphChildGraphNodeGetGraph(void *node, void **graph)
{
	return sim_cu.cuGraphChildGraphNodeGetGraph(node, graph);
}

int do_cudaGraphNodeSetEnabled(void *exec, void *node, unsigned is_enabled)
{
	return sim_cu.cuGraphNodeSetEnabled(exec, node, is_enabled);
}

int do_cudaGraphNodeGetEnabled(void *exec, void *node, unsigned *is_enabled)
{
	return sim_cu.cuGraphNodeGetEnabled(exec, node, is_enabled);
}

int do_cudaGraphDebugDotPrint(void *graph, const char *path, unsigned flags)
{
	return sim_cu.cuGraphDebugDotPrint(graph, path, flags);
}

int do_cudaUserObjectCreate(void **object, void *data, void *destroy, unsigned count, unsigned flags)
{
	return sim_cu.cuUserObjectCreate(object, data, destroy, count, flags);
}

int do_cudaUserObjectRetain(void *object, unsigned count)
{
	return sim_cu.cuUserObjectRetain(object, count);
}

int do_cudaUserObjectRelease(void *object, unsigned count)
{
	return sim_cu.cuUserObjectRelease(object, count);
}

int do_cudaGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags)
{
	return sim_cu.cuGraphRetainUserObject(graph, object, count, flags);
}

int do_cudaGraphReleaseUserObject(void *graph, void *object, unsigned count)
{
	return sim_cu.cuGraphReleaseUserObject(graph, object, count);
}

int do_cudaGraphConditionalHandleCreate(uint64_t *handle, void *graph, unsigned value, unsigned flags)
{
	return sim_cu.cuGraphConditionalHandleCreate(handle, graph, sim_context_current(), value, flags);
}

/* cudaGraphNodeParams: the driver's, but for kernels and copies. */
int do_cudaGraphAddNode(void **node, void *graph, void **dependencies, void *edges, size_t count, void *parameters)
{
	int type = parameters ? *(int *)parameters : 0;
	void *inner = (char *)parameters + 16;

	if (!parameters)
		return SIM_INVALID_VALUE;
	if (type == 0)
		return do_cudaGraphAddKernelNode(node, graph, dependencies, count, inner);
	if (type == 1)
		return do_cudaGraphAddMemcpyNode(node, graph, dependencies, count, (char *)inner + 16);
	return sim_cu.cuGraphAddNode_v2(node, graph, dependencies, edges, count, parameters);
}

int do_cudaGraphNodeSetParams(void *node, void *parameters)
{
	int type = parameters ? *(int *)parameters : 0;
	void *inner = (char *)parameters + 16;

	if (!parameters)
		return SIM_INVALID_VALUE;
	if (type == 0)
		return do_cudaGraphKernelNodeSetParams(node, inner);
	if (type == 1)
		return do_cudaGraphMemcpyNodeSetParams(node, (char *)inner + 16);
	return sim_cu.cuGraphNodeSetParams(node, parameters);
}

int do_cudaGraphExecNodeSetParams(void *exec, void *node, void *parameters)
{
	int type = parameters ? *(int *)parameters : 0;
	void *inner = (char *)parameters + 16;

	if (!parameters)
		return SIM_INVALID_VALUE;
	if (type == 0)
		return do_cudaGraphExecKernelNodeSetParams(exec, node, inner);
	if (type == 1)
		return do_cudaGraphExecMemcpyNodeSetParams(exec, node, (char *)inner + 16);
	return sim_cu.cuGraphExecNodeSetParams(exec, node, parameters);
}

int do_cudaGraphExecHostNodeSetParams(void *exec, void *node, void *parameters)
{
	return sim_cu.cuGraphExecHostNodeSetParams(exec, node, parameters);
}

int do_cudaGraphHostNodeGetParams(void *node, void *parameters)
{
	return sim_cu.cuGraphHostNodeGetParams(node, parameters);
}

int do_cudaGraphHostNodeSetParams(void *node, void *parameters)
{
	return sim_cu.cuGraphHostNodeSetParams(node, parameters);
}

int do_cudaGraphMemcpyNodeSetParams(void *node, void *parameters)
{
	struct deep_copy copy;
	int result = copy_of(parameters, &copy);

	return result ? result : sim_cu.cuGraphMemcpyNodeSetParams(node, &copy);
}

int do_cudaGraphMemcpyNodeSetParams1D(void *node, void *to, void *from, size_t bytes, int kind)
{
	struct deep_copy copy = one_row(to, from, bytes);

	(void)kind;
	return sim_cu.cuGraphMemcpyNodeSetParams(node, &copy);
}

int do_cudaGraphExecMemcpyNodeSetParams(void *exec, void *node, void *parameters)
{
	struct deep_copy copy;
	int result = copy_of(parameters, &copy);

	return result ? result : sim_cu.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, NULL);
}

int do_cudaGraphMemsetNodeSetParams(void *node, void *parameters)
{
	return sim_cu.cuGraphMemsetNodeSetParams(node, parameters);
}

int do_cudaGraphKernelNodeSetAttribute(void *node, int attribute, void *value)
{
	return sim_cu.cuGraphKernelNodeSetAttribute(node, attribute, value);
}

int do_cudaGraphKernelNodeCopyAttributes(void *to, void *from)
{
	return sim_cu.cuGraphKernelNodeCopyAttributes(to, from);
}

int do_cudaGraphExecChildGraphNodeSetParams(void *exec, void *node, void *child)
{
	return sim_cu.cuGraphExecChildGraphNodeSetParams(exec, node, child);
}

int do_cudaGraphMemAllocNodeGetParams(void *node, void *parameters)
{
	return sim_cu.cuGraphMemAllocNodeGetParams(node, parameters);
}

int do_cudaGraphMemFreeNodeGetParams(void *node, void *address)
{
	return sim_cu.cuGraphMemFreeNodeGetParams(node, address);
}
