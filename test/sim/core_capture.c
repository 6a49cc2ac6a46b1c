/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: what is submitted to a capturing stream becomes nodes of a graph; events carry the capture to others.
 *
 * Rule: a stream stands at the nodes that its next one will depend on (its front); waiting for an event adds the event's.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

static uint64_t last_id;	/* under the lock */

int sim_capture_status(struct sim_stream *stream)
{
	return !stream->capture ? 0 : stream->capture->is_invalid ? 2 : 1;
}

int sim_capture_forbids(struct sim_stream *stream)
{
	if (!stream->capture)
		return SIM_OK;
	stream->capture->is_invalid = true;
	return SIM_CAPTURE_UNSUPPORTED;
}

/* Work of the legacy stream waits for all blocking streams of its context, and a capture has nothing that could be waited for. */
int sim_capture_implicit(struct sim_stream *stream)
{
	int result = SIM_OK;

	if (stream->kind != 1)
		return SIM_OK;
	sim_lock();
	for (struct sim_stream *other = stream->context->streams; other; other = other->next)
		if (other->capture && !other->kind && !(other->flags & 1)) {
			other->capture->is_invalid = true;
			result = SIM_CAPTURE_IMPLICIT;
		}
	sim_unlock();
	return result;
}

int sim_capture_forbids_in(struct sim_context *context)
{
	int result = SIM_OK;

	sim_lock();
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
		if (stream->capture)
			result = sim_capture_forbids(stream);
	sim_unlock();
	return result;
}

int sim_capture_begin(struct sim_stream *stream, int mode, struct sim_graph *into, struct sim_node *const *dependencies, size_t count)
{
	struct sim_capture *capture;

	if (stream->capture || count > 64)
		return SIM_ILLEGAL_STATE;
	if (stream->kind == 1)
		return SIM_CAPTURE_UNSUPPORTED;
	capture = sim_allocate(sizeof *capture);
	*capture = (struct sim_capture){.origin = stream, .mode = mode, .thread = sim_thread_id(), .graph = into};
	if (!into)
		sim_graph_new(&capture->graph);
	sim_lock();
	capture->id = ++last_id;
	stream->front.count = (int)count;
	for (size_t i = 0; i < count; i++)
		stream->front.nodes[i] = dependencies[i];
	stream->capture = capture;
	sim_unlock();
	return SIM_OK;
}

void sim_capture_leave(struct sim_stream *stream)
{
	stream->capture = NULL;
	stream->front.count = 0;
}

/* Takes every stream out of the capture. Returns whether one that joined has work its origin does not wait for. */
static bool dissolve(struct sim_capture *capture)
{
	struct sim_stream *origin = capture->origin;
	bool is_unjoined = false;

	sim_lock();
	for (struct sim_stream *stream = origin->context->streams; stream; stream = stream->next) {
		if (stream->capture != capture || stream == origin)
			continue;
		for (int i = 0; i < stream->front.count; i++) {
			bool is_reached = false;

			for (struct sim_node *node = capture->graph->nodes; node && !is_reached; node = node->next)
				for (int j = 0; j < node->dependency_count; j++)
					is_reached |= node->dependencies[j] == stream->front.nodes[i];
			for (int j = 0; j < origin->front.count; j++)
				is_reached |= origin->front.nodes[j] == stream->front.nodes[i];
			is_unjoined |= !is_reached;
		}
		sim_capture_leave(stream);
	}
	sim_capture_leave(origin);
	sim_unlock();
	return is_unjoined;
}

int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph)
{
	struct sim_capture *capture = stream->capture;
	bool is_unjoined;
	int result;

	*graph = NULL;
	if (!capture)
		return SIM_ILLEGAL_STATE;
	if (capture->origin != stream)
		return SIM_CAPTURE_UNMATCHED;
	is_unjoined = dissolve(capture);
	result = capture->is_invalid ? SIM_CAPTURE_INVALIDATED : is_unjoined ? SIM_CAPTURE_UNJOINED : SIM_OK;
	if (!result)
		*graph = capture->graph;
	return result;
}

int sim_capture_add(struct sim_stream *stream, uint32_t type, struct sim_node **node)
{
	struct sim_capture *capture = stream->capture;
	int result;

	if (capture->is_invalid)
		return SIM_CAPTURE_INVALIDATED;
	result = sim_graph_add(capture->graph, type, stream->front.nodes, (size_t)stream->front.count, node);
	if (result)
		return result;
	(*node)->context = stream->context;
	(*node)->priority = stream->priority;
	stream->front.nodes[0] = *node;
	stream->front.count = 1;
	return SIM_OK;
}

/* An event's place in a capture is a node without work, so that many may be waited for. */
int sim_capture_record(struct sim_stream *stream, struct sim_event *event)
{
	if (stream->capture->is_invalid)
		return SIM_CAPTURE_INVALIDATED;
	event->capture = stream->capture;
	event->is_recorded = true;
	event->node = stream->front.count ? stream->front.nodes[stream->front.count - 1] : NULL;
	event->stream = stream;
	event->context = stream->context;
	return SIM_OK;
}

int sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
	if (!event->capture || (stream->capture && stream->capture != event->capture)) {
		if (stream->capture)
			stream->capture->is_invalid = true;
		return stream->capture ? SIM_CAPTURE_UNSUPPORTED : SIM_OK;
	}
	if (event->capture->origin->capture != event->capture)
		return SIM_OK;
	if (stream->kind == 1)
		return SIM_CAPTURE_UNSUPPORTED;
	stream->capture = event->capture;
	for (int i = 0; event->node && i < stream->front.count; i++)
		if (stream->front.nodes[i] == event->node)
			return SIM_OK;
	if (event->node && stream->front.count < 64)
		stream->front.nodes[stream->front.count++] = event->node;
	return SIM_OK;
}
