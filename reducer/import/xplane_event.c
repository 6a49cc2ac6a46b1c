/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of an XPlane, and stats: those of events, of names, of planes.
 *
 * Rule: an event that is in memory as a whole is read where it lies, any other one (too long, odd, cut off) field by field from
 * the file. Both ways share what a field means.
 */
#include "reducer/import/xplane.h"

#include <string.h>

/* Values. */

static inline void put_in_value(const struct wire_field *field, struct xplane_value *value, uint64_t *id)
{
	if (field->number == STAT_NAME) {
		*id = field->value;
	} else if (field->number >= STAT_DOUBLE && field->number <= STAT_REFERENCE) {
		value->kind = field->number;
		value->value = field->value;
		value->bytes = field->type == WIRE_BYTES ? field->bytes : (struct stretch){0, 0};
	}
}

/* Counts the value behind the last one in, unless it has no name or holds nothing. */
static inline void end_value(struct xplane *xplane, uint64_t id, struct xplane_value *value, size_t *count,
			     const struct xplane_value **known)
{
	value->name = xplane_find_name(&xplane->stats, id);
	if (!value->name || !value->kind)
		return;
	value->stat = value->name->stat;
	if (value->stat != XPLANE_OTHER && !known[value->stat])
		known[value->stat] = value;
	++*count;
}

static void add_value(struct xplane *xplane, const struct wire_field *field, struct xplane_value *values, size_t *count,
		      const struct xplane_value **known)
{
	struct stretch stat = field->bytes;
	struct wire_field inner;
	uint64_t id = 0;

	if (field->type != WIRE_BYTES || *count == XPLANE_VALUES)
		return;
	values[*count] = (struct xplane_value){0};
	while (wire_next(xplane->source, &stat, &inner) > 0)
		put_in_value(&inner, &values[*count], &id);
	end_value(xplane, id, &values[*count], count, known);
}

void xplane_take_values(struct xplane *xplane, struct stretch message, unsigned number, struct xplane_value *values, size_t *count,
			const struct xplane_value **known)
{
	struct wire_field field;

	while (wire_next(xplane->source, &message, &field) > 0)
		if (field.number == number)
			add_value(xplane, &field, values, count, known);
}

const char *xplane_value_text(struct xplane *xplane, const struct xplane_value *value, size_t *length)
{
	const struct xplane_name *name =
		value && value->kind == STAT_REFERENCE ? xplane_find_name(&xplane->stats, value->value) : NULL;

	*length = 0;
	text_clear(&xplane->scratch);
	if (name) {
		text_put(&xplane->scratch, xplane_text(xplane, name), name->length);
	} else if (value && (value->kind == STAT_TEXT || value->kind == STAT_BYTES)) {
		size_t got;
		const char *text = wire_text(xplane->source, &value->bytes, SOURCE_LONGEST, &got);
		text_put(&xplane->scratch, text, got);
	}
	text_string(&xplane->scratch, "");
	*length = xplane->scratch.length;
	return *length ? xplane->scratch.bytes : "";
}

uint32_t xplane_value_name(struct xplane *xplane, const struct xplane_value *value)
{
	size_t length;
	const char *text;

	if (!value)
		return 0;
	if (value->kind == STAT_REFERENCE)
		return xplane_name_number(xplane, xplane_find_name(&xplane->stats, value->value));
	text = xplane_value_text(xplane, value, &length);
	return sink_name(xplane->sink, text, length);
}

uint64_t xplane_number(const struct xplane_value *value)
{
	double real;

	if (!value)
		return 0;
	if (value->kind == STAT_UNSIGNED || value->kind == STAT_SIGNED)
		return value->value;
	if (value->kind != STAT_DOUBLE)
		return 0;
	memcpy(&real, &value->value, sizeof(real));
	return real >= 0 && real < 1.8e19 ? (uint64_t)real : 0;
}

/* Events. */

/* When an event was, in ps as the file says it. */
struct when {
	int64_t offset, duration;
	int is_sum; /* of many, without a place in time */
};

/* Any field but a stat. */
static inline void put_in_event(struct xplane *xplane, const struct wire_field *field, struct xplane_event *event, struct when *when)
{
	if (field->number == EVENT_NAME)
		event->name = xplane_find_name(&xplane->events, field->value);
	else if (field->number == EVENT_OFFSET)
		when->offset = (int64_t)field->value;
	else if (field->number == EVENT_DURATION)
		when->duration = (int64_t)field->value;
	else if (field->number == EVENT_TIMES)
		when->is_sum = 1;
}

static struct when empty_event(struct xplane_event *event)
{
	for (size_t i = 0; i < event->value_count; i++)
		event->known[event->values[i].stat] = NULL;
	event->name = NULL;
	event->value_count = 0;
	return (struct when){0};
}

/* A stat that lies in memory. Returns -1 where something is odd. */
static int add_value_here(struct xplane *xplane, struct wire_here stat, struct xplane_event *event)
{
	struct xplane_value *value = &event->values[event->value_count];
	struct wire_here inside;
	struct wire_field field;
	uint64_t id = 0;
	int got;

	if (event->value_count == XPLANE_VALUES)
		return 0;
	value->kind = 0;
	while ((got = wire_next_here(xplane->source, &stat, &field, &inside)) > 0)
		put_in_value(&field, value, &id);
	if (got == 0)
		end_value(xplane, id, value, &event->value_count, event->known);
	return got;
}

/* Returns 0 where the event is not in memory, or odd: it has to be read again. */
static int take_here(struct xplane *xplane, const struct stretch *message, struct xplane_event *event, struct when *when)
{
	struct wire_here here, inside;
	struct wire_field field;
	int got;

	if (!wire_hold(xplane->source, message, &here))
		return 0;
	while ((got = wire_next_here(xplane->source, &here, &field, &inside)) > 0) {
		if (field.number != EVENT_STAT)
			put_in_event(xplane, &field, event, when);
		else if (field.type == WIRE_BYTES && add_value_here(xplane, inside, event) != 0)
			return 0;
	}
	return got == 0;
}

static void take_from_file(struct xplane *xplane, struct stretch message, struct xplane_event *event, struct when *when)
{
	struct wire_field field;

	while (wire_next(xplane->source, &message, &field) > 0) {
		if (field.number != EVENT_STAT)
			put_in_event(xplane, &field, event, when);
		else
			add_value(xplane, &field, event->values, &event->value_count, event->known);
	}
}

/* ps of the file as ns of CLOCK_REALTIME. Returns -1 where that is no time. */
static int set_times(const struct xplane *xplane, const struct xplane_line *line, const struct when *when, struct xplane_event *event)
{
	uint64_t base_ns = (uint64_t)line->time_ns + xplane->base_ns, length_ps = (uint64_t)when->duration;

	if (when->duration < 0)
		return -1;
	event->duration_ns = length_ps / 1000;
	/* As nearly all are: without 128 bits. */
	if (line->time_ns >= 0 && (uint64_t)line->time_ns < XPLANE_LATEST_NS && when->offset >= 0) {
		event->begin_ns = base_ns + (uint64_t)when->offset / 1000;
		return base_ns + ((uint64_t)when->offset + length_ps) / 1000 < XPLANE_LATEST_NS ? 0 : -1;
	}
	__int128 begin_ps = (__int128)line->time_ns * 1000 + when->offset + (__int128)xplane->base_ns * 1000;
	if (begin_ps < 0 || (begin_ps + length_ps) / 1000 >= (__int128)XPLANE_LATEST_NS)
		return -1;
	event->begin_ns = (uint64_t)(begin_ps / 1000);
	return 0;
}

int xplane_take_event(struct xplane *xplane, const struct xplane_line *line, struct stretch message, struct xplane_event *event)
{
	struct when when = empty_event(event);

	if (!take_here(xplane, &message, event, &when)) {
		when = empty_event(event);
		take_from_file(xplane, message, event, &when);
	}
	if (when.is_sum || set_times(xplane, line, &when, event) != 0 ||
	    !sink_has_place(xplane->sink, event->begin_ns, event->duration_ns)) {
		xplane->aggregated += (uint64_t)when.is_sum;
		xplane->out_of_time += !when.is_sum;
		return -1;
	}
	if (event->name && event->name->stats.at)
		xplane_take_values(xplane, event->name->stats, NAMED_STAT, event->values, &event->value_count, event->known);
	xplane->event_count++;
	return 0;
}
