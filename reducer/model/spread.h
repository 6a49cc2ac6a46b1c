/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values are distributed, while they stream by: count, sum, least, most, deviation, percentiles.
 *
 * Rule: percentiles are exact while there are at most SPREAD_EXACT values; beyond that they come from classes whose middle
 * is at most 1/128 off, and `is_classed` says so. All else is always exact. What was scaled or merged gets no more values.
 */
#ifndef REDUCER_MODEL_SPREAD_H
#define REDUCER_MODEL_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#define SPREAD_EXACT 512      /* values kept as they are: 4 KiB */
#define SPREAD_CLASSES 64     /* of each power of two */

typedef unsigned __int128 spread_squares;

struct spread {
	uint64_t count, sum, least, most;
	spread_squares squares; /* of the values, until it is settled */
	double apart;           /* from then on: the sum of the squared distances from the mean */
	uint64_t *values;     /* room is a power of two, at most SPREAD_EXACT; NULL once classed */
	uint32_t **octaves;   /* [64], each SPREAD_CLASSES counts or NULL; NULL while exact */
	int is_classed;
	int is_cut;           /* no memory: percentiles are unknown */
	int is_settled;       /* it was scaled or merged */
	double scale;         /* of the classes' values, after spread_scale; 0 = 1 */
};

/* Class of a value: its highest bit, and the SPREAD_CLASSES equal parts of that octave. Below SPREAD_CLASSES it is exact. */
static inline unsigned spread_octave(uint64_t value)
{
	return value < SPREAD_CLASSES ? 0 : 63 - (unsigned)__builtin_clzll(value);
}

static inline unsigned spread_class(uint64_t value, unsigned octave)
{
	return octave == 0 ? (unsigned)value : (unsigned)(value >> (octave - 6) & (SPREAD_CLASSES - 1));
}

/* The rare part of spread_add: keeps the value for the percentiles. */
void spread_keep(struct spread *spread, uint64_t value);

static inline void spread_add(struct spread *spread, uint64_t value)
{
	unsigned octave = spread_octave(value);
	uint32_t *classes = spread->octaves == NULL || spread->scale != 0 ? NULL : spread->octaves[octave];

	if (spread->count == 0 || value < spread->least)
		spread->least = value;
	if (value > spread->most)
		spread->most = value;
	if (classes != NULL)
		classes[spread_class(value, octave)]++;
	else
		spread_keep(spread, value);
	spread->count++;
	spread->sum += value;
	spread->squares += (spread_squares)value * value;
}

/* Multiplies every value, once, after the last was added. */
void spread_scale(struct spread *spread, double factor);

/* Adds all of `from`. What was scaled differently may be twice as far off: in both classes. */
void spread_merge(struct spread *to, const struct spread *from);

/* The smallest value that at least `percent` of a hundred are not above (nearest rank). 0 without values. */
uint64_t spread_percentile(const struct spread *spread, unsigned percent);
/* Standard deviation of a sample from its sums; NAN with fewer than two values. */
double spread_deviation_of(uint64_t count, uint64_t sum, spread_squares squares);
/* Standard deviation of a sample. NAN with fewer than two values. */
double spread_deviation(const struct spread *spread);
void spread_free(struct spread *spread);

#endif
