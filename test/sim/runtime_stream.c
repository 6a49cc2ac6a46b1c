/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions of streams and events.
 *
 * Rule: thin; each makes the driver call that the real runtime makes.
 */
#include "runtime.h"

int do_cudaStreamCreate(void **stream)
{
	return sim_cu.cuStreamCreate(stream, 0);
}

int do_cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
	return sim_cu.cuStreamCreate(stream, flags);
}

int do_cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	return sim_cu.cuStreamCreateWithPriority(stream, flags, priority);
}

int do_cudaStreamDestroy(void *stream)
{
	return sim_cu.cuStreamDestroy_v2(stream);
}

int do_cudaStreamSynchronize(void *stream)
{
	return sim_cu.cuStreamSynchronize(sim_runtime_stream(stream));
}

int do_cudaStreamQuery(void *stream)
{
	return sim_cu.cuStreamQuery(sim_runtime_stream(stream));
}

int do_cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	return sim_cu.cuStreamWaitEvent(sim_runtime_stream(stream), event, flags);
}

int do_cudaStreamAddCallback(void *stream, void *function, void *data, unsigned flags)
{
	return sim_cu.cuStreamAddCallback(sim_runtime_stream(stream), function, data, flags);
}

int do_cudaStreamAttachMemAsync(void *stream, void *address, size_t bytes, unsigned flags)
{
	return sim_cu.cuStreamAttachMemAsync(sim_runtime_stream(stream), (uintptr_t)address, bytes, flags);
}

int do_cudaStreamGetFlags(void *stream, unsigned *flags)
{
	return sim_cu.cuStreamGetFlags(sim_runtime_stream(stream), flags);
}

int do_cudaStreamGetPriority(void *stream, int *priority)
{
	return sim_cu.cuStreamGetPriority(sim_runtime_stream(stream), priority);
}

int do_cudaStreamGetId(void *stream, uint64_t *id)
{
	return sim_cu.cuStreamGetId(sim_runtime_stream(stream), id);
}

int do_cudaStreamGetDevice(void *stream, int *device)
{
	return sim_cu.cuStreamGetDevice(sim_runtime_stream(stream), device);
}

int do_cudaStreamBeginCapture(void *stream, int mode)
{
	return sim_cu.cuStreamBeginCapture_v2(sim_runtime_stream(stream), mode);
}

int do_cudaStreamBeginCaptureToGraph(void *stream, void *graph, void **dependencies, void *data, size_t count, int mode)
{
	return sim_cu.cuStreamBeginCaptureToGraph(sim_runtime_stream(stream), graph, dependencies, data, count, mode);
}

int do_cudaStreamEndCapture(void *stream, void **graph)
{
	return sim_cu.cuStreamEndCapture(sim_runtime_stream(stream), graph);
}

int do_cudaStreamIsCapturing(void *stream, int *status)
{
	return sim_cu.cuStreamIsCapturing(sim_runtime_stream(stream), status);
}

int do_cudaStreamGetCaptureInfo(void *stream, int *status, uint64_t *id, void **graph, void **nodes, void **edges, size_t *count)
{
	return sim_cu.cuStreamGetCaptureInfo_v3(sim_runtime_stream(stream), status, id, graph, nodes, edges, count);
}

int do_cudaStreamUpdateCaptureDependencies(void *stream, void **nodes, void *edges, size_t count, unsigned flags)
{
	return sim_cu.cuStreamUpdateCaptureDependencies_v2(sim_runtime_stream(stream), nodes, edges, count, flags);
}

int do_cudaEventCreate(void **event)
{
	return sim_cu.cuEventCreate(event, 0);
}

int do_cudaEventCreateWithFlags(void **event, unsigned flags)
{
	return sim_cu.cuEventCreate(event, flags);
}

int do_cudaEventDestroy(void *event)
{
	return sim_cu.cuEventDestroy_v2(event);
}

int do_cudaEventElapsedTime(float *ms, void *from, void *to)
{
	return sim_cu.cuEventElapsedTime_v2(ms, from, to);
}

int do_cudaEventQuery(void *event)
{
	return sim_cu.cuEventQuery(event);
}

int do_cudaEventRecord(void *event, void *stream)
{
	return sim_cu.cuEventRecord(event, sim_runtime_stream(stream));
}

int do_cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
	return sim_cu.cuEventRecordWithFlags(event, sim_runtime_stream(stream), flags);
}

int do_cudaEventSynchronize(void *event)
{
	return sim_cu.cuEventSynchronize(event);
}

int do_cudaStreamSetAttribute(void *stream, int attribute, void *value)
{
	return sim_cu.cuStreamSetAttribute(sim_runtime_stream(stream), attribute, value);
}

int do_cudaStreamGetAttribute(void *stream, int attribute, void *value)
{
	return sim_cu.cuStreamGetAttribute(sim_runtime_stream(stream), attribute, value);
}

int do_cudaStreamCopyAttributes(void *to, void *from)
{
	return sim_cu.cuStreamCopyAttributes(sim_runtime_stream(to), sim_runtime_stream(from));
}
