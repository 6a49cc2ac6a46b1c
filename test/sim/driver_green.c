/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of green contexts: contexts on a part of a device's multiprocessors.
 *
 * Rule: a green context is a context with an id and streams of its own; its memory is its device's. What it may use of the device
 * changes no duration here.
 */
#include <string.h>

#include "driver.h"

/* CUdevResource: the type (1 multiprocessors), then at 96 their number, the least of a part, their alignment; CUDA 13 adds more. */
struct resource {
	int type;
	char hidden[92];
	unsigned count, least, alignment;
	char more[36];
};
/* CUdevResourceDesc */
struct resources {
	uint32_t magic;
	unsigned count;
};

static int describe(struct resource *to, unsigned count, int type)
{
	if (!to || type != 1)
		return SIM_INVALID_VALUE;
	memset(to, 0, sizeof *to);
	to->type = 1;
	to->count = count;
	to->least = to->alignment = 8;
	return SIM_OK;
}

static unsigned count_of(const struct sim_context *context)
{
	return context->sm_count ? context->sm_count : (unsigned)context->machine->facts.sm_count;
}

int do_cuDeviceGetDevResource(int device, void *resource, int type)
{
	struct sim_machine *machine = sim_machine_at(device);

	return machine ? describe(resource, (unsigned)machine->facts.sm_count, type) : SIM_INVALID_DEVICE;
}

int do_cuCtxGetDevResource(void *context, void *resource, int type)
{
	return sim_context_is_live(context) ? describe(resource, count_of(context), type) : SIM_INVALID_CONTEXT;
}

int do_cuGreenCtxGetDevResource(void *context, void *resource, int type)
{
	return do_cuCtxGetDevResource(context, resource, type);
}

int do_cuDevSmResourceSplitByCount(void *result, unsigned *groups, void *input, void *remaining, unsigned flags, unsigned least)
{
	const struct resource *from = input;
	unsigned part, count;

	(void)flags;
	if (!groups || !from || from->type != 1)
		return SIM_INVALID_VALUE;
	part = least < 8 ? 8 : (least + 7) / 8 * 8;
	count = from->count / part;
	count = result && *groups < count ? *groups : count;
	for (unsigned i = 0; result && i < count; i++)
		describe((struct resource *)result + i, part, 1);
	if (remaining)
		describe(remaining, from->count - count * part, 1);
	*groups = count;
	return SIM_OK;
}

int do_cuDevResourceGenerateDesc(void **made, void *from, unsigned count)
{
	struct resources *resources;

	if (!made || !from || !count)
		return SIM_INVALID_VALUE;
	resources = sim_object_new(sizeof *resources);
	resources->magic = SIM_MAGIC_RESOURCES;
	for (unsigned i = 0; i < count; i++)
		resources->count += ((struct resource *)from)[i].count;
	*made = resources;
	return SIM_OK;
}

/* CU_GREEN_CTX_DEFAULT_STREAM is 1, and required. */
int do_cuGreenCtxCreate(void **made, void *from, int device, unsigned flags)
{
	const struct resources *resources = from;
	struct sim_machine *machine = sim_machine_at(device);
	struct sim_context *context;
	int result;

	if (!made || flags != 1 || !sim_is_object(resources, SIM_MAGIC_RESOURCES))
		return SIM_INVALID_VALUE;
	if (!machine)
		return SIM_INVALID_DEVICE;
	result = sim_context_new(machine, 0, false, &context);
	if (!result) {
		context->sm_count = resources->count;
		*made = context;
	}
	return result;
}

static bool is_green(const void *context)
{
	return sim_context_is_live(context) && ((const struct sim_context *)context)->sm_count;
}

int do_cuGreenCtxDestroy(void *context)
{
	return is_green(context) ? sim_context_destroy(context) : SIM_INVALID_VALUE;
}

int do_cuCtxFromGreenCtx(void **context, void *green)
{
	if (!context || !is_green(green))
		return SIM_INVALID_VALUE;
	*context = green;
	return SIM_OK;
}

int do_cuGreenCtxGetId(void *green, uint64_t *id)
{
	if (!id || !is_green(green))
		return SIM_INVALID_VALUE;
	*id = sim_context_id(green);
	return SIM_OK;
}

int do_cuGreenCtxStreamCreate(void **stream, void *green, unsigned flags, int priority)
{
	if (!stream || !is_green(green) || flags != 1)
		return SIM_INVALID_VALUE;
	return sim_stream_new(green, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority, (struct sim_stream **)stream);
}

int do_cuStreamGetGreenCtx(void *handle, void **green)
{
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (result || !green)
		return result ? result : SIM_INVALID_VALUE;
	*green = stream->context->sm_count ? stream->context : NULL;
	return SIM_OK;
}

/* Recorded when all work of the context so far has ended. */
int do_cuCtxRecordEvent(void *handle, void *event)
{
	struct sim_context *context = handle;

	if (!sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	sim_lock();
	sim_stream_extend_locked(context->legacy, context->tail);
	sim_unlock();
	return sim_event_record(event, context->legacy);
}

int do_cuCtxWaitEvent(void *handle, void *event)
{
	struct sim_context *context = handle;
	int result = SIM_OK;

	if (!sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	for (struct sim_stream *stream = context->streams; stream && !result; stream = stream->next)
		result = sim_event_wait(stream, event);
	return result;
}

int do_cuGreenCtxRecordEvent(void *green, void *event)
{
	return is_green(green) ? do_cuCtxRecordEvent(green, event) : SIM_INVALID_VALUE;
}

int do_cuGreenCtxWaitEvent(void *green, void *event)
{
	return is_green(green) ? do_cuCtxWaitEvent(green, event) : SIM_INVALID_VALUE;
}
