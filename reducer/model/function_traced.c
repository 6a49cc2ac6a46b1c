/* SPDX-License-Identifier: Apache-2.0 */
/* What was traced for a call; see reducer/model/function_traced.h. */
#include "reducer/model/function_traced.h"

#include "reducer/model/round.h"

#include <string.h>

#define RATE_OFF 0.001 /* the log's estimate is far better than that */

static size_t find(const struct function_traced *traced, uint32_t function)
{
	size_t at = 0;

	while (at < traced->count && traced->items[at].function != function)
		at++;
	return at;
}

static void take_out(struct function_traced *traced, size_t at)
{
	memmove(&traced->items[at], &traced->items[at + 1], (--traced->count - at) * sizeof *traced->items);
}

/* What comes at that time belongs to the tracing: not later than that took. */
static int is_soon(const struct function_tracing *tracing, uint64_t time)
{
	return time >= tracing->end && time - tracing->end <= tracing->end - tracing->begin;
}

void function_traced_add(struct function_traced *traced, uint32_t function, uint64_t begin, uint64_t end)
{
	size_t at = find(traced, function);
	struct function_tracing tracing = {.begin = begin < end ? begin : end, .end = end, .function = function};

	if (at < traced->count) {
		if (is_soon(&traced->items[at], tracing.begin))
			tracing.begin = traced->items[at].begin;
		take_out(traced, at);
	}
	if (traced->count == FUNCTION_TRACED_MOST)
		take_out(traced, 0);
	traced->items[traced->count++] = tracing;
}

uint64_t function_traced_begin(struct function_traced *traced, uint32_t function, uint64_t call)
{
	size_t at = find(traced, function);
	struct function_tracing tracing;

	if (at == traced->count)
		return call;
	tracing = traced->items[at];
	take_out(traced, at);
	return is_soon(&tracing, call) ? tracing.begin : call;
}

void function_traced_leave(struct function_traced *traced)
{
	traced->count = 0;
}

void function_clock_read(struct function_clock *clock, uint64_t ticks, uint64_t realtime_ns, uint64_t hz)
{
	double told = (double)hz, found = 0;

	if (realtime_ns == 0)
		return;
	if (clock->realtime_ns == 0) {
		clock->first_ticks = ticks;
		clock->first_realtime_ns = realtime_ns;
	} else if (realtime_ns > clock->first_realtime_ns) {
		found = (double)(ticks - clock->first_ticks) / (double)(realtime_ns - clock->first_realtime_ns) * 1e9;
	}
	clock->ticks = ticks;
	clock->realtime_ns = realtime_ns;
	clock->hz = found > told * (1 - RATE_OFF) && found < told * (1 + RATE_OFF) ? found : told; /* else the time of day was set */
}

uint64_t function_clock_ticks(const struct function_clock *clock, uint64_t realtime_ns)
{
	double ticks = (double)clock->ticks + (double)(int64_t)(realtime_ns - clock->realtime_ns) * 1e-9 * clock->hz;

	return round_u64(clock->realtime_ns == 0 ? 0 : ticks);
}
