/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was used of the machine, as counters of the time line; see spans.h.
 *
 * Rule: a level is told as it is, a total as its rate since the reading before: per second, or, of times, how many at once. A
 * value that stays as it was is not told again, and a figure that is never anything but 0 not at all.
 */
#include "reducer/model/spans_internal.h"

#include <stdio.h>

enum { IS_TOTAL = 1, IS_TIME = 2, IS_BYTES = 4 };
#define KIND_LEVEL 0
#define KIND_TOTAL IS_TOTAL
#define UNIT_NS IS_TIME
#define UNIT_BYTES IS_BYTES
#define UNIT_COUNT 0
#define UNIT_NONE 0
#define UNIT_MILLIWATTS 0
#define UNIT_MILLIJOULES 0
#define UNIT_MEGAHERTZ 0
#define UNIT_CELSIUS 0

static const struct {
	const char *name;
	unsigned flags;
} figures[USE_READINGS] = {
#define TFP_READING(number, name, subject, kind, unit, help) [number] = {#name, KIND_##kind | UNIT_##unit},
#include "collectors/tables/readings.def"
#undef TFP_READING
};

/* The last reading of one figure of one subject. */
struct last {
	int64_t time_ns;
	uint64_t value;
	double told;
	bool is_known;
};

static void tell(struct spans *spans, const char *name, struct last *last, int64_t time_ns, double value)
{
	struct span span = {
		.kind = SPAN_COUNTER, .what = SPAN_USE, .on = SPAN_PROCESS, .name = name, .start_ns = time_ns, .value = value};

	if (value == last->told)
		return;
	last->told = value;
	spans_tell(spans, &span);
}

static void take(struct spans *spans, struct last *last, const struct use_sample *sample, uint16_t kind, uint64_t value)
{
	unsigned flags = figures[kind].flags;
	bool is_total = flags & IS_TOTAL;
	const char *unit = flags & IS_TIME    ? is_total ? " at once" : " ns"
			   : flags & IS_BYTES ? is_total ? " bytes/s" : " bytes"
			   : is_total	      ? " /s"
					      : "";
	char name[96], device[32] = "";
	int64_t length = sample->time_ns - last->time_ns;

	if (sample->of == USE_OF_DEVICE)
		snprintf(device, sizeof device, "device %u: ", sample->subject);
	snprintf(name, sizeof name, "%s%s%s", device, figures[kind].name, unit);
	if (!is_total)
		tell(spans, name, last, sample->time_ns, (double)value);
	else if (last->is_known && length > 0 && value >= last->value)
		tell(spans, name, last, sample->time_ns,
		     (double)(value - last->value) / (double)length * (flags & IS_TIME ? 1 : 1e9));
	last->is_known = true;
	last->time_ns = sample->time_ns;
	last->value = value;
}

/* The samples of one subject, one after the other. */
static void tell_subject(struct spans *spans, const struct use_rows *use, enum use_of of, uint32_t subject)
{
	struct last lasts[USE_READINGS] = {{0}}, processors = {0};

	for (size_t i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		if (sample->of != of || sample->subject != subject)
			continue;
		uint64_t used = sample->user_ns + sample->system_ns;
		int64_t length = sample->time_ns - processors.time_ns;
		if (sample->has_use && processors.is_known && length > 0 && used >= processors.value)
			tell(spans, "processors busy", &processors, sample->time_ns,
			     (double)(used - processors.value) / (double)length);
		if (sample->has_use) {
			processors.is_known = true;
			processors.time_ns = sample->time_ns;
			processors.value = used;
		}
		for (uint32_t at = sample->readings; at != 0; at = use->readings[at - 1].next)
			take(spans, &lasts[use->readings[at - 1].kind], sample, use->readings[at - 1].kind,
			     use->readings[at - 1].value);
	}
}

void spans_use(struct spans *spans)
{
	const struct use_rows *use = &spans->scan->process->use;

	if (!(spans->options->wants & SPAN_BIT(SPAN_USE)))
		return;
	tell_subject(spans, use, USE_OF_PROCESS, 0);
	for (size_t i = 0; i < use->device_count; i++)
		tell_subject(spans, use, USE_OF_DEVICE, use->devices[i].number);
}
