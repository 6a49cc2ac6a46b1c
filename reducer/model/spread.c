/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions. See spread.h. */
#include "reducer/model/spread.h"

#include "reducer/model/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8 /* values; most distinct things occur a few times */

/* Middle of a class. */
static uint64_t class_value(unsigned octave, unsigned class)
{
	uint64_t width = octave == 0 ? 1 : UINT64_C(1) << (octave - 6);

	return octave == 0 ? class : (UINT64_C(1) << octave) + class * width + width / 2;
}

static void add_class(struct spread *spread, uint64_t value, uint32_t count)
{
	unsigned octave = spread_octave(value), class = spread_class(value, octave);

	if (spread->octaves[octave] == NULL)
		spread->octaves[octave] = calloc(SPREAD_CLASSES, sizeof **spread->octaves);
	if (spread->octaves[octave] == NULL)
		spread->is_cut = 1;
	else
		spread->octaves[octave][class] += count;
}

/* From values to classes. */
static void begin_classes(struct spread *spread)
{
	double scale = spread->scale == 0 ? 1 : spread->scale;

	spread->octaves = calloc(64, sizeof *spread->octaves);
	spread->is_classed = 1;
	spread->is_cut |= spread->octaves == NULL;
	for (uint64_t i = 0; i < spread->count && !spread->is_cut && spread->values != NULL; i++)
		add_class(spread, round_u64((double)spread->values[i] / scale), 1);
	free(spread->values);
	spread->values = NULL;
}

static int widen(struct spread *spread)
{
	size_t room = spread->count == 0 ? FIRST_ROOM : spread->count * 2;
	uint64_t *values;

	if (spread->count != 0 && (spread->count < FIRST_ROOM || (spread->count & (spread->count - 1)) != 0))
		return 0;
	values = realloc(spread->values, room * sizeof *values);
	if (values == NULL)
		return -1;
	spread->values = values;
	return 0;
}

void spread_keep(struct spread *spread, uint64_t value)
{
	if (spread->is_cut)
		return;
	if (!spread->is_classed && spread->count >= SPREAD_EXACT)
		begin_classes(spread);
	if (spread->is_classed) {
		if (!spread->is_cut)
			add_class(spread, spread->scale == 0 ? value : round_u64((double)value / spread->scale), 1);
	} else if (widen(spread) == 0) {
		spread->values[spread->count] = value;
	} else {
		spread->is_cut = 1;
	}
}

static double scale_of(const struct spread *spread)
{
	return spread->scale == 0 ? 1 : spread->scale;
}

/* Classes are of values before they were scaled, which each machine's clock does in its own way. */
static void merge_classes(struct spread *to, const struct spread *from)
{
	double factor = scale_of(from) / scale_of(to);

	for (unsigned octave = 0; octave < 64; octave++)
		for (unsigned class = 0; from->octaves[octave] != NULL && class < SPREAD_CLASSES; class++) {
			uint64_t value = class_value(octave, class);

			if (from->octaves[octave][class] != 0)
				add_class(to, factor == 1 ? value : round_u64((double)value * factor), from->octaves[octave][class]);
		}
	to->count += from->count;
	to->sum += from->sum;
}

/* Of values with these sums, how far they lie from their mean, squared and added up. */
static double apart_of_sums(uint64_t count, uint64_t sum, spread_squares squares)
{
	spread_squares whole = (spread_squares)sum * (sum / count); /* first what is exact: what is left may be small beside the two */
	long double apart;

	if (squares < whole) /* they came round */
		return 0;
	apart = (long double)(squares - whole) - (long double)sum * (long double)(sum % count) / (long double)count;
	return apart > 0 ? (double)apart : 0;
}

static double apart_of(const struct spread *spread)
{
	if (spread->count == 0)
		return 0;
	return spread->is_settled ? spread->apart : apart_of_sums(spread->count, spread->sum, spread->squares);
}

/* Likewise of both together (Chan, Golub, LeVeque 1979). */
static double apart_of_both(const struct spread *one, const struct spread *other)
{
	double count = (double)one->count, more = (double)other->count, means;

	if (one->count == 0)
		return apart_of(other);
	means = (double)one->sum / count - (double)other->sum / more;
	return apart_of(one) + apart_of(other) + means * means * count * more / (count + more);
}

void spread_merge(struct spread *to, const struct spread *from)
{
	double apart;

	if (from->count == 0)
		return;
	apart = apart_of_both(to, from);
	if (to->count == 0)
		to->scale = from->scale;
	if (from->is_cut || (from->is_classed && from->octaves == NULL)) {
		to->is_cut = 1;
		to->count += from->count;
		to->sum += from->sum;
	} else if (from->is_classed) {
		if (!to->is_classed)
			begin_classes(to);
		if (!to->is_cut)
			merge_classes(to, from);
	} else {
		for (uint64_t i = 0; i < from->count; i++)
			spread_add(to, from->values[i]);
	}
	if (to->count == from->count || from->least < to->least)
		to->least = from->least;
	if (from->most > to->most)
		to->most = from->most;
	to->apart = apart;
	to->is_settled = 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static uint64_t scaled(uint64_t value, double scale)
{
	return scale == 0 ? value : round_u64((double)value * scale);
}

void spread_scale(struct spread *spread, double factor)
{
	spread->apart = apart_of(spread) * factor * factor;
	spread->is_settled = 1;
	spread->scale = factor;
	spread->sum = scaled(spread->sum, factor);
	spread->least = scaled(spread->least, factor);
	spread->most = scaled(spread->most, factor);
	for (uint64_t i = 0; i < spread->count && spread->values != NULL; i++)
		spread->values[i] = scaled(spread->values[i], factor);
}

/* What stands for the values of a class: none was below the least or above the most. */
static uint64_t class_middle(const struct spread *spread, unsigned octave, unsigned class)
{
	uint64_t value = scaled(class_value(octave, class), spread->scale);

	return value < spread->least ? spread->least : value > spread->most ? spread->most : value;
}

static uint64_t classed_percentile(const struct spread *spread, uint64_t rank)
{
	uint64_t seen = 0;

	for (unsigned octave = 0; octave < 64; octave++)
		for (unsigned class = 0; spread->octaves[octave] != NULL && class < SPREAD_CLASSES; class++) {
			seen += spread->octaves[octave][class];
			if (seen >= rank)
				return class_middle(spread, octave, class);
		}
	return spread->most;
}

uint64_t spread_percentile(const struct spread *spread, unsigned percent)
{
	uint64_t rank = (spread->count * percent + 99) / 100;

	if (spread->count == 0 || spread->is_cut)
		return 0;
	if (rank == 0)
		rank = 1;
	if (spread->is_classed)
		return classed_percentile(spread, rank);
	qsort(spread->values, spread->count, sizeof *spread->values, by_value);
	return spread->values[rank - 1];
}

double spread_deviation_of(uint64_t count, uint64_t sum, spread_squares squares)
{
	return count < 2 ? NAN : sqrt(apart_of_sums(count, sum, squares) / (double)(count - 1));
}

double spread_deviation(const struct spread *spread)
{
	return spread->count < 2 ? NAN : sqrt(apart_of(spread) / (double)(spread->count - 1));
}

void spread_free(struct spread *spread)
{
	for (unsigned octave = 0; octave < 64 && spread->octaves != NULL; octave++)
		free(spread->octaves[octave]);
	free(spread->octaves);
	free(spread->values);
	*spread = (struct spread){0};
}
