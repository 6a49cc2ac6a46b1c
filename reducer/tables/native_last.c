/* SPDX-License-Identifier: Apache-2.0 */
/* Where native code of each thread was last; see native_looks.h. */
#include "reducer/tables/native_looks.h"

#include "reducer/base/base.h"

#include <stdlib.h>

#define LATE_NS INT64_C(5000000000) /* before the end: an idle thread is told of each half second, where looks are dear less often */

struct native_last {
	const struct request *request;
	size_t process, count;
	struct native_look *looks; /* by thread */
};

static int by_thread(const void *a, const void *b)
{
	const struct native_look *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->time_ns > other->time_ns ? 1 : -(one->time_ns < other->time_ns);
}

struct native_last *native_last_make(const struct request *request, size_t number, int64_t end_ns)
{
	const struct process *process = &request->run->processes[number];
	struct native_last *last = base_alloc(1, sizeof(*last));
	size_t count = 0;

	*last = (struct native_last){.request = request, .process = number};
	last->looks = base_alloc(process->native.look_count + 1, sizeof(*last->looks));
	for (size_t i = 0; i < process->native.look_count; i++)
		if (process->native.looks[i].time_ns >= end_ns - LATE_NS)
			last->looks[count++] = process->native.looks[i];
	if (count)
		qsort(last->looks, count, sizeof(*last->looks), by_thread);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && last->looks[i + 1].thread == last->looks[i].thread)
			continue;
		last->looks[last->count++] = last->looks[i];
		if (last->looks[last->count - 1].stack)
			frames_want(request->frames, number, last->looks[last->count - 1].stack);
	}
	frames_resolve(request->frames);
	return last;
}

void native_last_free(struct native_last *last)
{
	free(last->looks);
	free(last);
}

struct naming {
	struct text *text;
	bool is_own;
};

/* The innermost frame, until one comes that is not the runtime's. */
static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct naming *naming = context;

	if (naming->is_own || frames_is_marker(frame))
		return;
	naming->is_own = !native_is_runtime(frame);
	if (naming->text->length && !naming->is_own)
		return;
	text_free(naming->text);
	text_format(naming->text, "%s%s%s%s", frame->is_named || frame->is_near ? frame->function : "[code without a name]",
		    frame->module[0] ? " [" : "", frame->module, frame->module[0] ? "]" : "");
}

bool native_last_of(const struct native_last *last, uint32_t tid, struct text *function, const char **waits_in)
{
	const struct process *process = &last->request->run->processes[last->process];
	struct naming naming = {function, false};
	const struct native_look *look = NULL;

	for (size_t i = 0; i < last->count && look == NULL; i++)
		if (last->looks[i].thread == tid)
			look = &last->looks[i];
	if (look == NULL)
		return false;
	*waits_in = look->is_wait ? wait_kind_name(wait_kind_of(process->log->header.architecture, look->call)) : NULL;
	if (look->stack)
		frames_walk(last->request->frames, last->process, look->stack, take_frame, &naming);
	return true;
}
