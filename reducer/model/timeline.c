/* SPDX-License-Identifier: Apache-2.0 */
/* Finished live curves: fewer points, sums. See heap.h. */
#include "reducer/model/heap.h"

#include <stdlib.h>
#include <string.h>

uint64_t heap_size_limit(unsigned size_class)
{
	return UINT64_C(1) << size_class;
}

uint64_t heap_life_limit(unsigned life_class)
{
	uint64_t limit = 1000; /* 1 us */

	if (life_class >= HEAP_LIFE_CLASSES - 2)
		return UINT64_MAX;
	while (life_class-- > 0)
		limit *= 10;
	return limit;
}

void timeline_free(struct timeline *timeline)
{
	free(timeline->points);
	*timeline = (struct timeline){0};
}

static void join(struct timeline_point *into, const struct timeline_point *next)
{
	into->live = next->live;
	if (next->max > into->max) {
		into->max = next->max;
		into->max_time_ns = next->max_time_ns;
	}
}

int timeline_reduce(const struct timeline *from, size_t points, struct timeline *to)
{
	int64_t start, span;

	*to = (struct timeline){0};
	if (from->count == 0)
		return 0;
	to->points = malloc((points < from->count ? points : from->count) * sizeof *to->points + sizeof *to->points);
	if (to->points == NULL)
		return -1;
	start = from->points[0].time_ns;
	span = from->points[from->count - 1].time_ns - start;
	for (size_t i = 0; i < from->count; i++) {
		const struct timeline_point *point = &from->points[i];
		/* Stretches of equal length; where there are few points each keeps its own. */
		size_t slot = from->count <= points ? i
						    : (size_t)((double)(point->time_ns - start) / ((double)span + 1) *
							       (double)points);
		size_t before = i == 0 ? SIZE_MAX
				       : from->count <= points ? i - 1
							       : (size_t)((double)(point[-1].time_ns - start) /
									  ((double)span + 1) * (double)points);

		if (slot == before)
			join(&to->points[to->count - 1], point);
		else
			to->points[to->count++] = *point;
	}
	return 0;
}

/* One change of one curve: at `time_ns` its live bytes become `live`, and some time before the next change reach `max`. */
struct change {
	int64_t time_ns, max_time_ns;
	uint64_t live, max;
	size_t curve;
};

static int by_time(const void *a, const void *b)
{
	const struct change *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->curve < right->curve ? -1 : left->curve > right->curve;
}

static size_t list_changes(const struct timeline *const *from, const int64_t *ends_ns, size_t count, struct change *changes)
{
	size_t listed = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < from[i]->count; k++) {
			const struct timeline_point *point = &from[i]->points[k];

			changes[listed++] = (struct change){point->time_ns, point->max_time_ns, point->live, point->max, i};
		}
		if (from[i]->count > 0 && ends_ns[i] != TIME_UNKNOWN) {
			int64_t last = from[i]->points[from[i]->count - 1].time_ns;
			int64_t end = ends_ns[i] > last ? ends_ns[i] : last;

			changes[listed++] = (struct change){.time_ns = end, .max_time_ns = end, .curve = i};
		}
	}
	return listed;
}

/* Of one curve: where it stands, and the most it can have been since its last change. */
struct standing {
	uint64_t live, max;
};

/* Adds up changes in order of time into points, one a change. Maxima are added up too, so that the sum is a bound: where a
 * curve was within its stretch when another one peaked is not known. */
static void add_up(const struct change *changes, size_t count, struct standing *of, struct timeline *to)
{
	struct standing sum = {0};

	for (size_t i = 0; i < count; i++) {
		const struct change *change = &changes[i];

		sum.live += change->live - of[change->curve].live;
		sum.max += change->max - of[change->curve].max;
		of[change->curve] = (struct standing){change->live, change->max};
		to->points[to->count++] = (struct timeline_point){.time_ns = change->time_ns,
								  .max_time_ns = change->max_time_ns,
								  .live = sum.live, .max = sum.max};
	}
}

int timeline_sum(const struct timeline *const *from, const int64_t *ends_ns, size_t count, struct timeline *to)
{
	struct timeline all = {0};
	struct change *changes;
	struct standing *standing;
	size_t total = 0;
	int result = -1;

	*to = (struct timeline){0};
	for (size_t i = 0; i < count; i++)
		total += from[i]->count + 1;
	changes = malloc((total + 1) * sizeof *changes);
	standing = calloc(count + 1, sizeof *standing);
	all.points = malloc((total + 1) * sizeof *all.points);
	if (changes != NULL && standing != NULL && all.points != NULL) {
		total = list_changes(from, ends_ns, count, changes);
		qsort(changes, total, sizeof *changes, by_time);
		add_up(changes, total, standing, &all);
		result = timeline_reduce(&all, TIMELINE_POINTS, to);
	}
	free(changes);
	free(standing);
	timeline_free(&all);
	return result;
}
