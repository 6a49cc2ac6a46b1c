/* SPDX-License-Identifier: Apache-2.0 */
/* What each stream did; see reducer/analysis/roles.h. */
#include "reducer/analysis/roles.h"

#include "reducer/analysis/phases.h"
#include "reducer/model/number_map.h"

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
	roles->last = SIZE_MAX;
	roles->alikes = input ? base_alloc(ROLES_ALIKE, sizeof(*roles->alikes)) : NULL;
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

static struct role_alike find_alike(struct roles *roles, const struct span *span)
{
	struct stream_row key = {.log_id = roles->input->process->log_id,
				 .device = span->device,
				 .context = span->context,
				 .stream = span->stream,
				 .first_thread = span->thread,
				 .first_ns = INT64_MAX,
				 .last_ns = INT64_MIN};

	return (struct role_alike){span->alike, row_of(roles, &key), role_of(roles, span)};
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
	row->switches +=
		roles->last != SIZE_MAX && roles->last != alike->row && roles->rows[roles->last].device == row->device;
	roles->last = alike->row;
	row->counts[alike->role]++;
	row->ns[alike->role] += duration_ns;
	row->bytes += span->bytes;
	row->other_threads += span->thread != row->first_thread;
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

static void end(void *result)
{
	struct roles *roles = result;

	if (roles->count)
		qsort(roles->rows, roles->count, sizeof(*roles->rows), compare_rows);
	free(roles->alikes);
	roles->alikes = NULL;
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
	free(roles->alikes);
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
