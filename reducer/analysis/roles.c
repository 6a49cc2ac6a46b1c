/* SPDX-License-Identifier: Apache-2.0 */
/* What each stream did; see reducer/analysis/roles.h. */
#include "reducer/analysis/roles.h"

#include "reducer/analysis/phases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROLES_ALIKE 256u /* a power of two */

const char *stream_role_name(enum stream_role role)
{
	static const char *const names[STREAM_ROLES] = {"compute",	    "collectives", "copies in", "copies out",
							"copies on device", "memsets",	   "graphs"};

	return names[role];
}

static void *begin(const struct analysis_input *input)
{
	struct roles *roles = base_alloc(1, sizeof(*roles));

	roles->input = input;
	roles->alikes = input ? base_alloc(ROLES_ALIKE, sizeof(*roles->alikes)) : NULL;
	roles->turns = input ? base_alloc(ROLE_TURNS, sizeof(*roles->turns)) : NULL;
	return roles;
}

/* By the kernel's name, looked at once for each name that the log numbers. */
static bool is_collective(struct roles *roles, const struct span *span)
{
	size_t place = span->shape ? span->shape->kernel : SIZE_MAX;

	if (place >= NUMBER_MAP_MAX)
		return phases_is_collective(span->name);
	roles->kernels = base_reach(roles->kernels, &roles->kernel_room, place, 1);
	if (!roles->kernels[place])
		roles->kernels[place] = phases_is_collective(span->name) ? 2 : 1;
	return roles->kernels[place] == 2;
}

static enum stream_role role_of(struct roles *roles, const struct span *span)
{
	if (span->what == SPAN_KERNEL)
		return span->phase == PHASE_COMMUNICATION || is_collective(roles, span) ? ROLE_COLLECTIVE : ROLE_COMPUTE;
	if (span->what == SPAN_SET)
		return ROLE_SET;
	if (span->what == SPAN_GRAPH)
		return ROLE_GRAPH;
	if (span->copy_kind == 1 || span->copy_kind == 3)
		return ROLE_COPY_IN;
	return span->copy_kind == 2 || span->copy_kind == 4 ? ROLE_COPY_OUT : ROLE_COPY_ON;
}

static int compare_rows(const void *a, const void *b)
{
	const struct stream_row *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	if (one->context != other->context)
		return one->context < other->context ? -1 : 1;
	return one->stream < other->stream ? -1 : one->stream > other->stream;
}

static uint64_t hash_of(const struct stream_row *row)
{
	return base_mix(base_mix(row->log_id ^ (uint64_t)row->device << 32 ^ row->context) ^ row->stream);
}

static bool is_row(const void *context, const void *key, uint32_t number)
{
	return compare_rows(&((const struct roles *)context)->rows[number], key) == 0;
}

/* Most processes have few streams; one that makes one for each request has as many as those. */
static size_t row_of(struct roles *roles, const struct stream_row *key)
{
	uint32_t place = base_index_find(&roles->places, hash_of(key), is_row, roles, key);

	if (place != UINT32_MAX)
		return place;
	roles->rows = base_grow(roles->rows, &roles->room, roles->count + 1, sizeof(*roles->rows));
	roles->rows[roles->count] = *key;
	base_index_add(&roles->places, hash_of(key), (uint32_t)roles->count);
	return roles->count++;
}

static uint32_t place_of(struct roles *roles, uint32_t device)
{
	uint32_t place = number_map_find(&roles->devices, 0, device);

	if (place != NUMBER_MAP_NONE)
		return place;
	place = roles->devices.count;
	place = number_map_set(&roles->devices, 0, device, place) == 0 ? place : 0; /* without memory all are one */
	roles->lasts = base_reach(roles->lasts, &roles->last_room, place, sizeof(*roles->lasts));
	return place;
}

static struct role_alike find_alike(struct roles *roles, const struct span *span)
{
	struct stream_row key = {.log_id = roles->input->process->log_id,
				 .device = span->device,
				 .context = span->context,
				 .stream = span->stream,
				 .first_thread = span->thread,
				 .first_ns = INT64_MAX,
				 .last_ns = INT64_MIN,
				 .place = place_of(roles, span->device)};

	return (struct role_alike){span->alike, row_of(roles, &key), role_of(roles, span)};
}

static int by_start(const void *a, const void *b)
{
	const struct role_turn *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return one->row < other->row ? -1 : one->row > other->row;
}

/* The first `count` of those that wait. A device's work is told buffer by buffer, and each thread may have buffers of its own. */
static void take_turns(struct roles *roles, size_t count)
{
	if (roles->is_mixed)
		qsort(roles->turns, roles->turn_count, sizeof(*roles->turns), by_start);
	roles->is_mixed = false;
	for (size_t i = 0; i < count; i++) {
		uint32_t row = roles->turns[i].row, *last = &roles->lasts[roles->rows[row].place];

		roles->rows[row].switches += *last && *last != row + 1;
		*last = row + 1;
	}
	roles->turn_count -= count;
	memmove(roles->turns, roles->turns + count, roles->turn_count * sizeof(*roles->turns));
}

static void add_turn(struct roles *roles, int64_t start_ns, size_t row)
{
	if (roles->turn_count == ROLE_TURNS)
		take_turns(roles, ROLE_TURNS / 2);
	if (roles->turn_count && roles->turns[roles->turn_count - 1].start_ns > start_ns)
		roles->is_mixed = true;
	roles->turns[roles->turn_count++] = (struct role_turn){start_ns, (uint32_t)row};
}

/* Work at these times that says what `span` does. */
static void add(struct roles *roles, const struct span *span, int64_t start_ns, uint64_t duration_ns)
{
	struct role_alike *alike = &roles->alikes[span->alike % ROLES_ALIKE];
	int64_t end = start_ns + (int64_t)duration_ns;
	struct stream_row *row;

	if (!span->alike || alike->alike != span->alike)
		*alike = find_alike(roles, span);
	row = &roles->rows[alike->row];
	add_turn(roles, start_ns, alike->row);
	row->counts[alike->role]++;
	row->ns[alike->role] += duration_ns;
	row->bytes += span->bytes;
	if (!row->first_thread)
		row->first_thread = span->thread;
	row->other_threads += span->thread && span->thread != row->first_thread;
	row->first_ns = start_ns < row->first_ns ? start_ns : row->first_ns;
	row->last_ns = end > row->last_ns ? end : row->last_ns;
}

static void take(void *result, const struct span *span)
{
	add(result, span, span->start_ns, span->duration_ns);
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].like->on == SPAN_QUEUE)
			add(result, spans[i].like, spans[i].start_ns, spans[i].duration_ns);
}

/* What only the pass needs. */
static void drop_passing(struct roles *roles)
{
	free(roles->alikes);
	free(roles->turns);
	free(roles->lasts);
	number_map_free(&roles->devices);
	roles->alikes = NULL;
	roles->turns = NULL;
	roles->lasts = NULL;
	roles->last_room = 0;
	roles->devices = (struct number_map){0};
}

static void end(void *result)
{
	struct roles *roles = result;

	if (roles->turn_count)
		take_turns(roles, roles->turn_count);
	if (roles->count)
		qsort(roles->rows, roles->count, sizeof(*roles->rows), compare_rows);
	drop_passing(roles);
	base_index_free(&roles->places);
	roles->places = (struct base_index){0};
	for (size_t i = 0; i < roles->count; i++)
		base_index_add(&roles->places, hash_of(&roles->rows[i]), (uint32_t)i);
}

static void merge(void *into, const void *from)
{
	struct roles *roles = into;
	const struct roles *more = from;

	for (size_t i = 0; i < more->count; i++) {
		const struct stream_row *add = &more->rows[i];
		struct stream_row key = *add;
		size_t before = roles->count, at = row_of(roles, &key);
		struct stream_row *row = &roles->rows[at];
		if (roles->count > before)
			continue;
		for (size_t r = 0; r < STREAM_ROLES; r++) {
			row->counts[r] += add->counts[r];
			row->ns[r] += add->ns[r];
		}
		row->bytes += add->bytes;
		row->first_thread = add->first_thread < row->first_thread ? add->first_thread : row->first_thread;
		row->other_threads += add->other_threads;
		row->first_ns = add->first_ns < row->first_ns ? add->first_ns : row->first_ns;
		row->last_ns = add->last_ns > row->last_ns ? add->last_ns : row->last_ns;
		row->switches += add->switches;
	}
	end(roles);
}

static void print(const void *result, struct text *text)
{
	const struct roles *roles = result;

	for (size_t i = 0; i < roles->count; i++) {
		const struct stream_row *row = &roles->rows[i];
		text_format(text, "%" PRIx64 " %u %u %u:", row->log_id, row->device, row->context, row->stream);
		for (size_t r = 0; r < STREAM_ROLES; r++)
			text_format(text, " %" PRIu64 "/%" PRIu64, row->counts[r], row->ns[r]);
		text_format(text, " %" PRIu64 " %u+%" PRIu64 " %" PRId64 "..%" PRId64 " %" PRIu64 "\n", row->bytes,
			    row->first_thread, row->other_threads, row->first_ns, row->last_ns, row->switches);
	}
}

static void drop(void *result)
{
	struct roles *roles = result;

	base_index_free(&roles->places);
	free(roles->rows);
	free(roles->kernels);
	drop_passing(roles);
	free(roles);
}

const struct analysis_kind analysis_roles = {
	.name = "roles",
	.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH),
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
