/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of preload/tfprof.h, behind its weak names. Rule: any thread, any context; never fails aloud. */
#include "collectors/process.h"
#include "collectors/window.h"
#include "preload/real.h"
#include "writer/stream.h"

#include <errno.h>

#include "writer/poison.h"

TFP_EXPORT void tfprof_api_start(void);
TFP_EXPORT void tfprof_api_stop(void);
TFP_EXPORT void tfprof_api_step(uint64_t number);
TFP_EXPORT void tfprof_api_push(const char *name);
TFP_EXPORT void tfprof_api_pop(void);

/* The thread and the lane to write to; NULL where nothing can be recorded. Pairs with leave. */
static struct tfp_thread *enter(struct tfp_lane **lane)
{
	struct tfp_thread *thread = tfp_self && tfp_self->is_ready == 1 ? tfp_self : tfp_thread_start();

	return thread ? tfp_thread_enter_lane(thread, lane) : NULL;
}

void tfprof_api_start(void)
{
	tfp_window_change(1, TFP_CAUSE_API, 0);
}

void tfprof_api_stop(void)
{
	tfp_window_change(0, TFP_CAUSE_API, 0);
}

void tfprof_api_step(uint64_t number)
{
	struct tfp_lane *lane;

	tfp_window_step(number);
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), step, .number = number);
	tfp_thread_leave(thread);
}

void tfprof_api_push(const char *name)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), range_push, .name = tfp_string_id(name ? name : ""));
	tfp_thread_leave(thread);
}

void tfprof_api_pop(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), range_pop, .word = 0);
	tfp_thread_leave(thread);
}
