/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of an XPlane's host threads: API calls, steps, allocations, ranges.
 *
 * Rule: a call is what names a correlation id and is no op by its name; an allocation is what bears the name; all else is a
 * trace, as TensorFlow's TraceMe events are in our own logs.
 */
#include "reducer/import/calls.h"
#include "reducer/import/xplane.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACEME 3	   /* row of range_sources.def */
#define SEEN_BY_CALLBACK 2 /* gpu_call.flags */

/* TensorFlow's ops are "name:Type"; JAX's "name:type"; "::" and ": " are other things. */
static int is_op_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon != name && colon[1] != ':' && colon[1] != ' ' &&
	       (colon[1] == '_' || isalpha((unsigned char)colon[1]));
}

/* Roots that TensorFlow's own runs are, beside those that a program marks: no steps, as in xprof. */
static int is_implicit(const char *name)
{
	static const char *const names[] = {"FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return 1;
	return 0;
}

/* What a name says. */
enum { ASKED = 1, OP = 2, IMPLICIT = 4, CONTEXT = 8, ALLOCATION = 16, RELEASE = 32 };

static unsigned kind_of(const struct xplane *xplane, struct xplane_name *name)
{
	const char *text = xplane_text(xplane, name);

	if (!name || name->kind)
		return name ? name->kind : ASKED;
	name->kind = (uint8_t)(ASKED | (is_op_name(text) ? OP : 0) | (is_implicit(text) ? IMPLICIT : 0) |
			       (strcmp(text, "TraceContext") == 0 ? CONTEXT : 0) |
			       (strcmp(text, "MemoryAllocation") == 0 ? ALLOCATION : 0) |
			       (strcmp(text, "MemoryDeallocation") == 0 ? RELEASE : 0));
	return name->kind;
}

static struct sink_time at_begin(const struct xplane_event *event)
{
	return (struct sink_time){event->begin_ns, event->begin_ns, event->begin_ns + event->duration_ns, .is_end = 0};
}

static struct sink_time at_end(const struct xplane_event *event)
{
	return (struct sink_time){event->begin_ns + event->duration_ns, event->begin_ns, event->begin_ns + event->duration_ns,
				  .is_end = 1};
}

static void put_group(struct xplane *xplane, const struct xplane_line *line, struct sink_time when)
{
	sink_put(xplane->sink, line->thread, &when, xplane->group.bytes, xplane->group.used);
	xplane->group.used = 0;
}

static uint32_t function_of(struct xplane *xplane, struct xplane_name *name)
{
	if (!name)
		return calls_function(&xplane->calls, xplane->sink, "");
	if (!name->function)
		name->function = calls_function(&xplane->calls, xplane->sink, xplane_text(xplane, name));
	return name->function;
}

static void put_call(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event)
{
	SINK_ADD(&xplane->group, gpu_call, .duration = event->duration_ns,
		   .correlation = xplane_number(event->known[XPLANE_CORRELATION]),
		   .function = function_of(xplane, event->name), .flags = SEEN_BY_CALLBACK);
	put_group(xplane, line, at_end(event));
}

/* The allocator: its name, else the number of its device, as xprof calls it. */
static uint32_t allocator_of(struct xplane *xplane, const struct xplane_event *event)
{
	const struct xplane_value *number = event->known[XPLANE_INDEX_ON_HOST];
	char text[32];

	if (event->known[XPLANE_ALLOCATOR])
		return xplane_value_name(xplane, event->known[XPLANE_ALLOCATOR]);
	number = number ? number : event->known[XPLANE_DEVICE_ORDINAL];
	snprintf(text, sizeof(text), number ? "allocator %llu" : "allocator", (unsigned long long)xplane_number(number));
	return sink_name(xplane->sink, text, strlen(text));
}

static void put_block(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event, int is_release)
{
	const struct xplane_value *const *known = event->known;
	uint64_t bytes = xplane_number(known[XPLANE_ALLOCATION]);

	if (known[XPLANE_AVAILABLE] || known[XPLANE_PEAK] || known[XPLANE_RESERVED])
		SINK_ADD(&xplane->group, block_room, .free = xplane_number(known[XPLANE_AVAILABLE]),
			   .stack = xplane_number(known[XPLANE_RESERVED]), .peak = xplane_number(known[XPLANE_PEAK]),
			   .fragmentation = known[XPLANE_FRAGMENTATION] && known[XPLANE_FRAGMENTATION]->kind == STAT_DOUBLE
						    ? known[XPLANE_FRAGMENTATION]->value
						    : 0);
	if (!is_release)
		SINK_ADD(&xplane->group, block_detail,
			   .requested = known[XPLANE_REQUESTED] ? xplane_number(known[XPLANE_REQUESTED]) : bytes,
			   .step = xplane_number(known[XPLANE_ID]), .op = xplane_value_name(xplane, known[XPLANE_TF_OP]),
			   .region = xplane_value_name(xplane, known[XPLANE_REGION]),
			   .shape = xplane_value_name(xplane, known[known[XPLANE_SHAPE] ? XPLANE_SHAPE : XPLANE_TENSOR_SHAPES]),
			   .type = (uint32_t)xplane_number(known[XPLANE_DATA_TYPE]));
	SINK_ADD(&xplane->group, block, .address = xplane_number(known[XPLANE_ADDRESS]), .bytes = bytes,
		   .total = xplane_number(known[XPLANE_ALLOCATED]), .allocator = allocator_of(xplane, event),
		   .operation = is_release ? 2 : 1);
	put_group(xplane, line, at_begin(event));
}

/* The texts among an event's stats, as TensorFlow's own events spell them: key=value,key=value. */
static uint32_t arguments_of(struct xplane *xplane, const struct xplane_event *event)
{
	struct text *all = &xplane->arguments;

	if (!event->value_count)
		return 0;
	text_clear(all);
	for (size_t i = 0; i < event->value_count; i++) {
		const struct xplane_value *value = &event->values[i];
		size_t length;
		const char *text;
		if (value->kind == STAT_UNSIGNED || value->kind == STAT_SIGNED || value->kind == STAT_BYTES)
			continue;
		text_format(all, "%s%s=", all->length ? "," : "", xplane_text(xplane, value->name));
		if (value->kind == STAT_DOUBLE) {
			double real;
			memcpy(&real, &value->value, sizeof(real));
			text_format(all, "%.17g", real);
			continue;
		}
		text = xplane_value_text(xplane, value, &length);
		text_put(all, text, length);
	}
	return all->length ? sink_name(xplane->sink, all->bytes, all->length) : 0;
}

static void put_trace(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event)
{
	SINK_ADD(&xplane->group, trace, .name = xplane_name_number(xplane, event->name), .start = event->begin_ns,
		   .duration = event->duration_ns, .arguments = arguments_of(xplane, event), .source = TRACEME);
	for (size_t i = 0; i < event->value_count; i++)
		if (event->values[i].kind == STAT_UNSIGNED || event->values[i].kind == STAT_SIGNED)
			SINK_ADD(&xplane->group, trace_number,
				   .name = xplane_name_number(xplane,
							      (struct xplane_name *)(void *)(uintptr_t)event->values[i].name),
				   .value = event->values[i].value);
	put_group(xplane, line, at_end(event));
}

static void add_step(struct xplane *xplane, const struct xplane_line *line, const struct xplane_event *event, uint64_t step)
{
	xplane->step_count++;
	SINK_ADD(&xplane->group, step, .number = step, .source = TRACEME);
	put_group(xplane, line, at_begin(event));
	SINK_ADD(&xplane->group, step_end, .number = step);
	put_group(xplane, line, at_end(event));
}

/* A root that is not inside another one of its thread begins a step. */
static void put_step(struct xplane *xplane, struct xplane_line *line, const struct xplane_event *event)
{
	const struct xplane_value *number = event->known[XPLANE_STEP_NUMBER];

	uint64_t end_ns = event->begin_ns + event->duration_ns;

	if ((event->begin_ns < line->step_end_ns && end_ns <= line->step_end_ns) || xplane->is_grouped)
		return;
	line->step_end_ns = end_ns;
	add_step(xplane, line, event, number ? xplane_number(number) : xplane->step_count);
}

void xplane_grouped_step(struct xplane *xplane, const struct xplane_line *line, struct xplane_event *event)
{
	const struct xplane_value *group = event->known[XPLANE_GROUP];

	xplane->group.used = 0;
	add_step(xplane, line, event, group ? xplane_number(group) : strtoull(xplane_text(xplane, event->name), NULL, 10));
}

void xplane_host_event(struct xplane *xplane, struct xplane_line *line, struct xplane_event *event)
{
	unsigned kind = kind_of(xplane, event->name);

	xplane->group.used = 0;
	if (kind & (ALLOCATION | RELEASE)) {
		put_block(xplane, line, event, (kind & RELEASE) != 0);
		return;
	}
	if (event->known[XPLANE_CORRELATION] && !(kind & OP)) {
		put_call(xplane, line, event);
		return;
	}
	if ((event->known[XPLANE_ROOT] && xplane_number(event->known[XPLANE_ROOT]) > 0 && !(kind & IMPLICIT)) || kind & CONTEXT)
		put_step(xplane, line, event);
	put_trace(xplane, line, event);
}
