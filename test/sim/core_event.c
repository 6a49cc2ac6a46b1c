/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: a place in a stream, with its time; streams and hosts wait for it.
 *
 * Rule: an event that was never recorded counts as finished.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

static uint32_t last_id;	/* under the lock */
static uint64_t last_sync_id;

bool sim_event_is_live(const struct sim_event *event)
{
	return sim_is_object(event, SIM_MAGIC_EVENT);
}

uint32_t sim_event_id(struct sim_event *event)
{
	return sim_event_is_live(event) ? event->id : SIM_NONE;
}

int sim_event_new(unsigned flags, struct sim_event **made)
{
	struct sim_event *event = sim_object_new(sizeof *event);

	*event = (struct sim_event){.magic = SIM_MAGIC_EVENT, .flags = flags, .context = sim_context_current()};
	sim_lock();
	event->id = ++last_id;
	sim_unlock();
	*made = event;
	return SIM_OK;
}

int sim_event_destroy(struct sim_event *event)
{
	if (!sim_event_is_live(event))
		return SIM_INVALID_HANDLE;
	sim_lock();
	event->magic = SIM_MAGIC_DEAD;
	sim_unlock();
	return SIM_OK;
}

/* Of an event that another process recorded last. */
static void look(struct sim_event *event)
{
	uint64_t time = event->shared ? event->shared->time : 0;

	if (time) {
		event->time = time;
		event->is_recorded = true;
	}
}

int sim_event_record(struct sim_event *event, struct sim_stream *stream)
{
	struct sim_piece *piece;
	struct sim_work copy;

	if (!sim_event_is_live(event))
		return SIM_INVALID_HANDLE;
	if (sim_capture_status(stream))
		return sim_capture_record(stream, event);
	piece = sim_piece_new(SIM_EVENT_RECORD);
	sim_lock();
	piece->work.event = (struct sim_event_work){event->id, ++last_sync_id, !(event->flags & 2)};
	event->time = sim_submit_locked(stream, piece, SIM_NO_ENGINE, 0, 0);
	event->is_recorded = true;
	event->stream = stream;
	event->context = stream->context;
	event->sync_id = last_sync_id;
	event->node = NULL;
	event->capture = NULL;
	if (event->shared)
		event->shared->time = event->time;
	copy = piece->work;
	sim_unlock();
	sim_after_submit(&copy);
	return SIM_OK;
}

int sim_event_wait(struct sim_stream *stream, struct sim_event *event)
{
	struct sim_wait wait = {.kind = 2, .context_id = stream->context->id, .stream_id = stream->id, .start = sim_clock_now()};

	if (!sim_event_is_live(event))
		return SIM_INVALID_HANDLE;
	if (event->capture || sim_capture_status(stream))
		return sim_capture_wait(stream, event);
	sim_lock();
	look(event);
	if (event->is_recorded)
		sim_stream_extend_locked(stream, event->time);
	wait.event_id = event->id;
	wait.event_sync_id = event->sync_id;
	sim_unlock();
	wait.end = sim_clock_now();
	sim_tell_wait(&wait);
	return SIM_OK;
}

int sim_event_synchronize(struct sim_event *event)
{
	struct sim_wait wait = {.kind = 1, .stream_id = SIM_NONE, .start = sim_clock_now()};
	int error;

	if (!sim_event_is_live(event))
		return SIM_INVALID_HANDLE;
	if (event->capture)
		return SIM_CAPTURE_UNSUPPORTED;
	look(event);
	if (event->is_recorded)
		sim_wait_until(event->time);
	error = event->context ? event->context->error : SIM_OK;
	wait.context_id = event->context ? event->context->id : 0;
	wait.stream_id = event->stream ? event->stream->id : SIM_NONE;
	wait.event_id = event->id;
	wait.event_sync_id = event->sync_id;
	wait.end = sim_clock_now();
	wait.result = error;
	sim_tell_wait(&wait);
	return error;
}

int sim_event_query(struct sim_event *event)
{
	if (!sim_event_is_live(event))
		return SIM_INVALID_HANDLE;
	if (event->capture)
		return SIM_CAPTURE_UNSUPPORTED;
	if (event->context && event->context->error)
		return event->context->error;
	look(event);
	return !event->is_recorded || sim_is_retired(event->time) ? SIM_OK : SIM_NOT_READY;
}

int sim_event_elapsed(float *ms, struct sim_event *from, struct sim_event *to)
{
	int result;

	if (!ms)
		return SIM_INVALID_VALUE;
	if (!sim_event_is_live(from) || !sim_event_is_live(to) || !from->is_recorded || !to->is_recorded ||
	    (from->flags & 2) || (to->flags & 2))
		return SIM_INVALID_HANDLE;
	result = sim_event_query(from);
	result = result ? result : sim_event_query(to);
	if (!result)
		*ms = (float)((double)(int64_t)(sim_clock_device(0, to->time) - sim_clock_device(0, from->time)) / 1e6);
	return result;
}
