/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: primary ones and those that programs make, the stack of current ones of each thread, waiting for all work.
 *
 * Rule: an error that breaks a context stays with it until it is destroyed or its device is reset.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"

#define STACK_DEPTH 64

static struct sim_context *contexts;	/* live ones; under the lock */
static uint32_t last_id;
static __thread struct {
	struct sim_context *stack[STACK_DEPTH];
	int depth;
} mine;

bool sim_context_is_live(const struct sim_context *context)
{
	return sim_is_object(context, SIM_MAGIC_CONTEXT);
}

struct sim_context *sim_context_current(void)
{
	return mine.depth ? mine.stack[mine.depth - 1] : NULL;
}

uint32_t sim_context_id(struct sim_context *context)
{
	return sim_context_is_live(context) ? context->id : SIM_NONE;
}

int sim_context_device(struct sim_context *context)
{
	return sim_context_is_live(context) ? context->machine->facts.ordinal : -1;
}

struct sim_context *sim_context_by_id(uint32_t id)
{
	struct sim_context *context;

	sim_lock();
	for (context = contexts; context && context->id != id; context = context->next)
		;
	sim_unlock();
	return context;
}

int sim_context_new(struct sim_machine *machine, unsigned flags, bool is_primary, struct sim_context **made)
{
	struct sim_context *context = sim_object_new(sizeof *context);

	if (machine->is_lost)
		return SIM_DEVICE_LOST;
	*context = (struct sim_context){.magic = SIM_MAGIC_CONTEXT, .machine = machine, .flags = flags, .is_primary = is_primary,
					.limits = {1024, 1048576, 8388608, 2, 2048, 128, 0, 0}};
	sim_lock();
	context->id = ++last_id;
	context->next = contexts;
	contexts = context;
	sim_unlock();
	*made = context;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_CONTEXT_CREATED, .context = context});
	return sim_stream_new(context, SIM_NONE, 0, &context->legacy);
}

static void unlink_context(struct sim_context *context)
{
	sim_lock();
	for (struct sim_context **at = &contexts; *at; at = &(*at)->next)
		if (*at == context) {
			*at = context->next;
			break;
		}
	context->magic = SIM_MAGIC_DEAD;
	sim_unlock();
}

int sim_context_destroy(struct sim_context *context)
{
	if (!sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	if (!context->error)
		sim_wait_until(context->tail);
	else
		sim_drop_work(context->machine, context);
	sim_tell_resource(&(struct sim_resource){.kind = SIM_CONTEXT_DESTROY_STARTING, .context = context});
	while (context->streams) {
		struct sim_stream *stream = context->streams;

		sim_tell_resource(&(struct sim_resource){.kind = SIM_STREAM_DESTROY_STARTING, .context = context,
			.stream = stream});
		context->streams = stream->next;
		stream->magic = SIM_MAGIC_DEAD;
	}
	sim_memory_drop_context(context);
	unlink_context(context);
	if (sim_context_current() == context)
		mine.depth--;
	return SIM_OK;
}

int sim_context_set_current(struct sim_context *context)
{
	if (context && !sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	if (mine.depth)
		mine.depth--;
	if (context)
		mine.stack[mine.depth++] = context;
	return SIM_OK;
}

int sim_context_push(struct sim_context *context)
{
	if (!sim_context_is_live(context) || mine.depth == STACK_DEPTH)
		return SIM_INVALID_CONTEXT;
	mine.stack[mine.depth++] = context;
	return SIM_OK;
}

int sim_context_pop(struct sim_context **context)
{
	if (!mine.depth)
		return SIM_INVALID_CONTEXT;
	*context = mine.stack[--mine.depth];
	return SIM_OK;
}

int sim_here(struct sim_context **context)
{
	struct sim_context *current = sim_context_current();

	if (!current)
		return SIM_INVALID_CONTEXT;
	if (current->magic != SIM_MAGIC_CONTEXT)
		return SIM_CONTEXT_DESTROYED;
	*context = current;
	return current->machine->is_lost ? SIM_DEVICE_LOST : current->error;
}

int sim_context_wait(struct sim_context *context)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_wait wait = {.kind = 4, .context_id = context->id, .stream_id = SIM_NONE, .event_id = SIM_NONE,
		.start = sim_clock_now()};
	uint64_t tail;

	sim_lock();
	tail = context->tail;
	sim_unlock();
	sim_wait_until(tail);
	sim_pool_settle(context->machine);
	wait.end = sim_clock_now();
	wait.result = context->error;
	if (!context->error && subscriber && subscriber->waiting)
		subscriber->waiting(context, NULL, false);
	sim_tell_wait(&wait);
	return context->machine->is_lost ? SIM_DEVICE_LOST : context->error;
}

/* Recursive, because a subscriber that hears of the new context may ask for it. */
static pthread_mutex_t primary_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int sim_primary_retain(struct sim_machine *machine, struct sim_context **context)
{
	int result = SIM_OK;

	pthread_mutex_lock(&primary_lock);
	if (!sim_context_is_live(machine->primary)) {
		result = sim_context_new(machine, machine->primary_flags, true, &machine->primary);
		machine->primary_count = 0;
	}
	if (!result)
		machine->primary_count++;
	*context = result ? NULL : machine->primary;
	pthread_mutex_unlock(&primary_lock);
	return result;
}

int sim_primary_release(struct sim_machine *machine, bool is_reset)
{
	struct sim_context *gone = NULL;
	int result;

	pthread_mutex_lock(&primary_lock);
	if (!is_reset && !machine->primary_count) {
		pthread_mutex_unlock(&primary_lock);
		return SIM_INVALID_CONTEXT;
	}
	if (is_reset || --machine->primary_count <= 0) {
		gone = machine->primary;
		machine->primary = NULL;
		machine->primary_count = 0;
	}
	pthread_mutex_unlock(&primary_lock);
	if (!sim_context_is_live(gone))
		return SIM_OK;
	result = sim_context_destroy(gone);
	sim_pool_drop(machine);
	return result;
}

void sim_context_break(struct sim_context *context, int error)
{
	if (!context->error) {
		context->error = error;
		sim_drop_work(context->machine, context);
		sim_tell_error(error, "the context is broken");
	}
}

void sim_each_context(void (*each)(const struct sim_context_info *, void *), void *user)
{
	struct sim_context_info list[256];
	int count = 0;

	sim_lock();
	for (struct sim_context *at = contexts; at && count < 256; at = at->next)
		list[count++] = (struct sim_context_info){at->id, at->machine->facts.ordinal, at->legacy ? at->legacy->id : 0, at};
	sim_unlock();
	while (count--)
		each(&list[count], user);
}

void sim_each_stream(void (*each)(const struct sim_stream_info *, void *), void *user)
{
	static struct sim_stream_info list[65536];	/* too large for a stack; under list_lock */
	static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
	int count = 0;

	pthread_mutex_lock(&list_lock);
	sim_lock();
	for (struct sim_context *context = contexts; context; context = context->next)
		for (struct sim_stream *at = context->streams; at && count < 65536; at = at->next)
			list[count++] = (struct sim_stream_info){at->id, context->id, at->priority, at->flags & 1, at->kind,
				context, at};
	sim_unlock();
	while (count--)
		each(&list[count], user);
	pthread_mutex_unlock(&list_lock);
}
