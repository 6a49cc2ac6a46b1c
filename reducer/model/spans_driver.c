/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of what the driver and CUPTI did themselves: compiling, loading, their own time; see spans.h. */
#include "reducer/model/spans_internal.h"

static void tell_driver(struct spans *spans, enum span_what what, const char *name, uint64_t device_start, uint64_t duration,
			uint64_t correlation)
{
	const struct gpu *gpu = spans->scan->process->gpu;
	struct span span = {.kind = SPAN_WHOLE,
			    .what = what,
			    .on = SPAN_PROCESS,
			    .name = name,
			    .duration_ns = duration,
			    .depth = SPAN_NO_DEPTH,
			    .source = SPAN_NO_SOURCE,
			    .called_ns = TIME_UNKNOWN,
			    .device = GPU_NONE,
			    .context = GPU_NONE,
			    .stream = GPU_NONE};
	const struct span_call *call = awaited_find(&spans->awaited, correlation);

	if (gpu == NULL || device_start == 0 || (int64_t)duration < 0)
		return;
	span.start_ns = spans_device_ns(spans, device_start);
	if (call != NULL)
		spans_set_call(spans, &span, call);
	spans_tell(spans, &span);
}

void spans_take_jit(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	tell_driver(state, SPAN_COMPILE, SPANS_VALUE(3) == 2 ? "NVVM IR to PTX" : "PTX to cubin", SPANS_VALUE(0), SPANS_VALUE(1),
		    SPANS_VALUE(2));
}

/* Kinds as in records_gpu.def: 1 the compiler; in units of 65536: 4, 5 loading of code. */
void spans_take_overhead(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	static const char *const kinds[] = {"",
					    "CUPTI: buffer flush",
					    "CUPTI: instrumentation",
					    "CUPTI: resources",
					    "module load",
					    "lazy function load",
					    "command queue full",
					    "CUPTI: buffer request",
					    "managed memory set-up"};
	uint64_t kind = SPANS_VALUE(3), high = kind / 65536;
	int is_loading = kind % 65536 == 0 && (high == 4 || high == 5);
	const char *name = kind == 1 ? "driver compiler" : "driver or CUPTI: other";

	(void)stream;
	if (kind % 65536 == 0 && high > 0 && high < sizeof kinds / sizeof *kinds)
		name = kinds[high];
	tell_driver(state, kind == 1 || is_loading ? SPAN_COMPILE : SPAN_OVERHEAD, name, SPANS_VALUE(0), SPANS_VALUE(1),
		    SPANS_VALUE(2));
}
