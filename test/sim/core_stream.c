/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: the legacy default one, each thread's own, and those that programs make; waiting for them; host functions.
 *
 * Rule: the legacy stream waits for all blocking streams of its context and they for it; non-blocking ones ignore it.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

static uint32_t last_id = 6;	/* the first stream has id 7, as CUPTI shows it for the default stream; under the lock */

bool sim_stream_is_live(const struct sim_stream *stream)
{
	return sim_is_object(stream, SIM_MAGIC_STREAM);
}

/* flags: SIM_NONE makes the legacy stream, SIM_NONE - 1 the calling thread's own. */
int sim_stream_new(struct sim_context *context, unsigned flags, int priority, struct sim_stream **made)
{
	struct sim_stream *stream = sim_object_new(sizeof *stream);

	*stream = (struct sim_stream){.magic = SIM_MAGIC_STREAM, .context = context, .priority = priority};
	stream->kind = flags == SIM_NONE ? 1 : flags == SIM_NONE - 1 ? 2 : 0;
	stream->flags = stream->kind ? 0 : flags;
	stream->thread = stream->kind == 2 ? sim_thread_id() : 0;
	sim_lock();
	stream->id = ++last_id;
	stream->next = context->streams;
	context->streams = stream;
	sim_unlock();
	*made = stream;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_STREAM_CREATED, .context = context, .stream = stream});
	return SIM_OK;
}

int sim_stream_destroy(struct sim_stream *stream)
{
	struct sim_context *context;

	if (!sim_stream_is_live(stream) || stream->kind)
		return SIM_INVALID_HANDLE;
	context = stream->context;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_STREAM_DESTROY_STARTING, .context = context, .stream = stream});
	sim_lock();
	for (struct sim_stream **at = &context->streams; *at; at = &(*at)->next)
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	stream->magic = SIM_MAGIC_DEAD;
	sim_unlock();
	return SIM_OK;
}

static struct sim_stream *own_stream(struct sim_context *context, bool may_make)
{
	struct sim_stream *stream;

	sim_lock();
	for (stream = context->streams; stream; stream = stream->next)
		if (stream->kind == 2 && stream->thread == sim_thread_id())
			break;
	sim_unlock();
	if (!stream && may_make)
		sim_stream_new(context, SIM_NONE - 1, 0, &stream);
	return stream;
}

int sim_stream_find(void *handle, struct sim_stream **stream)
{
	struct sim_call *call = sim_call_current();
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!handle)
		handle = call && call->is_per_thread ? SIM_PER_THREAD : SIM_LEGACY;
	if (handle == SIM_LEGACY)
		*stream = context->legacy;
	else if (handle == SIM_PER_THREAD)
		*stream = own_stream(context, true);
	else
		*stream = handle;
	if (!sim_stream_is_live(*stream))
		return SIM_INVALID_HANDLE;
	return (*stream)->context->error;
}

uint32_t sim_stream_id(struct sim_context *context, void *handle, bool is_per_thread)
{
	struct sim_stream *stream = handle;

	if (!handle)
		handle = is_per_thread ? SIM_PER_THREAD : SIM_LEGACY;
	if (handle == SIM_LEGACY || handle == SIM_PER_THREAD) {
		context = context ? context : sim_context_current();
		if (!sim_context_is_live(context))
			return SIM_NONE;
		stream = handle == SIM_LEGACY ? context->legacy : own_stream(context, false);
	}
	return sim_stream_is_live(stream) ? stream->id : SIM_NONE;
}

/* A wait for the legacy stream waits for the blocking ones too. */
static uint64_t tail_of(struct sim_stream *stream)
{
	uint64_t tail;

	sim_lock();
	tail = sim_stream_ready_locked(stream);
	sim_unlock();
	return tail;
}

int sim_stream_wait(struct sim_stream *stream)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_context *context = stream->context;
	struct sim_wait wait = {.kind = 3, .context_id = context->id, .stream_id = stream->id, .event_id = SIM_NONE,
		.start = sim_clock_now()};

	sim_wait_until(tail_of(stream));
	sim_pool_settle(context->machine);
	wait.end = sim_clock_now();
	wait.result = context->error;
	if (!context->error && subscriber && subscriber->waiting)
		subscriber->waiting(context, stream, true);
	sim_tell_wait(&wait);
	return context->machine->is_lost ? SIM_DEVICE_LOST : context->error;
}

int sim_stream_query(struct sim_stream *stream)
{
	if (stream->context->error)
		return stream->context->error;
	return sim_is_retired(tail_of(stream)) ? SIM_OK : SIM_NOT_READY;
}

static void run_host_function(struct sim_piece *piece)
{
	void (*function)(void *);

	memcpy(&function, &piece->target, sizeof function);
	sim_in_host_function = true;
	function(piece->user);
	sim_in_host_function = false;
}

int sim_stream_host_function(struct sim_stream *stream, void (*function)(void *), void *data)
{
	struct sim_piece *piece;
	struct sim_node *node;
	int result;

	if (!function)
		return SIM_INVALID_VALUE;
	if (sim_capture_status(stream)) {
		result = sim_capture_add(stream, 3, &node);
		if (!result) {
			node->host = function;
			node->host_data = data;
		}
		return result;
	}
	piece = sim_piece_new(SIM_HOST_FUNCTION);
	memcpy(&piece->target, &function, sizeof function);
	piece->user = data;
	piece->act = run_host_function;
	piece->wants_own_thread = true;
	sim_submit(stream, piece, SIM_NO_ENGINE, SIM_NUMBER("host_function_ns", 5000));
	return SIM_OK;
}
