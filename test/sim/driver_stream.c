/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of streams and events.
 *
 * Rule: thin; what happens, happens in the core.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define FIND(handle) \
	struct sim_stream *stream; \
	int found = sim_stream_find(handle, &stream); \
\
	if (found) \
	return found

int do_cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!stream || flags > 1)
		return SIM_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	return sim_stream_new(context, flags, priority, (struct sim_stream **)stream);
}

int do_cuStreamCreate(void **stream, unsigned flags)
{
	return do_cuStreamCreateWithPriority(stream, flags, 0);
}

int do_cuStreamDestroy_v2(void *stream)
{
	return sim_stream_destroy(stream);
}

int do_cuStreamSynchronize(void *handle)
{
	FIND(handle);
	if (sim_capture_status(stream))
		return sim_capture_forbids(stream);
	return sim_stream_wait(stream);
}

int do_cuStreamQuery(void *handle)
{
	FIND(handle);
	if (sim_capture_status(stream))
		return sim_capture_forbids(stream);
	return sim_stream_query(stream);
}

int do_cuStreamWaitEvent(void *handle, void *event, unsigned flags)
{
	FIND(handle);
	return flags > 1 ? SIM_INVALID_VALUE : sim_event_wait(stream, event);
}

int do_cuStreamGetFlags(void *handle, unsigned *flags)
{
	if (!flags)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*flags = stream->flags;
	return SIM_OK;
}

int do_cuStreamGetPriority(void *handle, int *priority)
{
	if (!priority)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*priority = stream->priority;
	return SIM_OK;
}

int do_cuStreamGetId(void *handle, uint64_t *id)
{
	if (!id)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*id = stream->id;
	return SIM_OK;
}

int do_cuStreamGetCtx(void *handle, void **context)
{
	if (!context)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*context = stream->context;
	return SIM_OK;
}

int do_cuStreamGetDevice(void *handle, int *device)
{
	if (!device)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*device = stream->context->machine->facts.ordinal;
	return SIM_OK;
}

struct callback {
	void (*function)(void *stream, int status, void *data);
	void *stream, *data;
};

static void run_callback(void *user)
{
	struct callback *callback = user;

	callback->function(callback->stream, SIM_OK, callback->data);
	free(callback);
}

int do_cuStreamAddCallback(void *handle, void *function, void *data, unsigned flags)
{
	struct callback *callback;

	FIND(handle);
	if (flags || !function)
		return SIM_INVALID_VALUE;
	if (sim_capture_status(stream))
		return sim_capture_forbids(stream);
	callback = sim_allocate(sizeof *callback);
	memcpy(&callback->function, &function, sizeof function);
	callback->stream = handle;
	callback->data = data;
	return sim_stream_host_function(stream, run_callback, callback);
}

int do_cuLaunchHostFunc(void *handle, void *function, void *data)
{
	void (*plain)(void *);

	FIND(handle);
	memcpy(&plain, &function, sizeof plain);
	return sim_stream_host_function(stream, plain, data);
}

int do_cuStreamAttachMemAsync(void *handle, uint64_t address, size_t bytes, unsigned flags)
{
	struct sim_place place;

	FIND(handle);
	(void)bytes;
	(void)flags;
	sim_place_of(address, &place);
	return place.kind == 5 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuStreamBeginCapture_v2(void *handle, int mode)
{
	FIND(handle);
	return sim_capture_begin(stream, mode, NULL, NULL, 0);
}

int do_cuStreamBeginCaptureToGraph(void *handle, void *graph, void **dependencies, void *data, size_t count, int mode)
{
	FIND(handle);
	(void)data;
	return graph ? sim_capture_begin(stream, mode, graph, (struct sim_node **)dependencies, count) : SIM_INVALID_VALUE;
}

int do_cuStreamEndCapture(void *handle, void **graph)
{
	FIND(handle);
	struct sim_graph *made;
	int result = sim_capture_end(stream, &made);

	if (graph) /* 0: the program has it, it captured into it */
		*graph = made;
	return result;
}

int do_cuStreamIsCapturing(void *handle, void *status)
{
	if (!status)
		return SIM_INVALID_VALUE;
	FIND(handle);
	*(int *)status = sim_capture_status(stream);
	return SIM_OK;
}

int do_cuStreamGetCaptureInfo_v3(void *handle, void *status, uint64_t *id, void **graph, void **nodes, void **edges, size_t *count)
{
	FIND(handle);
	if (!status)
		return SIM_INVALID_VALUE;
	*(int *)status = sim_capture_status(stream);
	if (*(int *)status != 1)
		return SIM_OK;
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = stream->capture->graph;
	if (nodes)
		*(struct sim_node ***)nodes = stream->front.nodes;
	if (edges)
		*edges = NULL;
	if (count)
		*count = (size_t)stream->front.count;
	return SIM_OK;
}

/* flags: 0 adds to the nodes that the next one depends on, 1 replaces them. */
int do_cuStreamUpdateCaptureDependencies_v2(void *handle, void **nodes, void *edges, size_t count, unsigned flags)
{
	FIND(handle);
	(void)edges;
	if (sim_capture_status(stream) != 1)
		return SIM_ILLEGAL_STATE;
	if (flags & 1)
		stream->front.count = 0;
	for (size_t i = 0; i < count && stream->front.count < 64; i++)
		stream->front.nodes[stream->front.count++] = nodes[i];
	return SIM_OK;
}

int do_cuThreadExchangeStreamCaptureMode(void *mode)
{
	static __thread int mine;
	int before = mine;

	if (!mode)
		return SIM_INVALID_VALUE;
	mine = *(int *)mode;
	*(int *)mode = before;
	return SIM_OK;
}

int do_cuEventCreate(void **event, unsigned flags)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	return event && flags <= 7 && (!(flags & 4) || flags & 2) ? sim_event_new(flags, (struct sim_event **)event) : SIM_INVALID_VALUE;
}

int do_cuEventDestroy_v2(void *event)
{
	return sim_event_destroy(event);
}

int do_cuEventRecord(void *event, void *handle)
{
	FIND(handle);
	return sim_event_record(event, stream);
}

int do_cuEventRecordWithFlags(void *event, void *handle, unsigned flags)
{
	FIND(handle);
	return flags > 1 ? SIM_INVALID_VALUE : sim_event_record(event, stream);
}

int do_cuEventSynchronize(void *event)
{
	return sim_event_synchronize(event);
}

int do_cuEventQuery(void *event)
{
	return sim_event_query(event);
}

int do_cuEventElapsedTime_v2(float *ms, void *from, void *to)
{
	return sim_event_elapsed(ms, from, to);
}

int do_cuEventElapsedTime(float *ms, void *from, void *to)
{
	return sim_event_elapsed(ms, from, to);
}

/* CUstreamAttrID: 4 priority, others are taken and mean nothing here. */
int do_cuStreamSetAttribute(void *handle, int attribute, void *value)
{
	FIND(handle);
	return stream && attribute > 0 && value ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuStreamGetAttribute(void *handle, int attribute, void *value)
{
	FIND(handle);
	if (!stream || attribute <= 0 || !value)
		return SIM_INVALID_VALUE;
	memset(value, 0, 64); /* of the union CUlaunchAttributeValue */
	return SIM_OK;
}

int do_cuStreamCopyAttributes(void *to, void *from)
{
	FIND(to);
	return stream ? sim_stream_find(from, &stream) : SIM_INVALID_HANDLE;
}
