/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of preload/tfprof.h, behind its weak names. Rule: any thread, any context; never fails aloud. */
#include "collectors/ranges.h"
#include "collectors/window.h"
#include "preload/real.h"

#include "writer/poison.h"

TFP_EXPORT void tfprof_api_start(void);
TFP_EXPORT void tfprof_api_stop(void);
TFP_EXPORT void tfprof_api_step(uint64_t number);
TFP_EXPORT void tfprof_api_push(const char *name);
TFP_EXPORT void tfprof_api_pop(void);
TFP_EXPORT uint64_t tfprof_api_begin(const char *name);
TFP_EXPORT void tfprof_api_end(uint64_t range);
TFP_EXPORT void tfprof_api_mark(const char *name);

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
	tfp_step_mark(number);
}

void tfprof_api_push(const char *name)
{
	struct tfp_range_name range = {.text = name ? name : ""};

	tfp_range_push(TFP_FROM_api, 0, &range, NULL);
}

void tfprof_api_pop(void)
{
	tfp_range_pop(TFP_FROM_api, 0);
}

uint64_t tfprof_api_begin(const char *name)
{
	struct tfp_range_name range = {.text = name ? name : ""};

	return tfp_range_start(TFP_FROM_api, 0, &range, NULL);
}

void tfprof_api_end(uint64_t range)
{
	tfp_range_end(range);
}

void tfprof_api_mark(const char *name)
{
	struct tfp_range_name range = {.text = name ? name : ""};

	tfp_range_mark(TFP_FROM_api, 0, &range, NULL);
}
