/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real numbers to whole ones. Rule: what does not fit becomes the nearest number that does; damaged logs hold any number.
 */
#ifndef REDUCER_MODEL_ROUND_H
#define REDUCER_MODEL_ROUND_H

#include <stdint.h>

/* Half and more go up; not a number is 0. */
static inline uint64_t round_u64(double value)
{
	if (!(value > 0))
		return 0;
	return value + 0.5 >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)(value + 0.5);
}

static inline int64_t round_i64(double value)
{
	uint64_t size = round_u64(value < 0 ? -value : value);
	int64_t most = size > INT64_MAX ? INT64_MAX : (int64_t)size;

	return value < 0 ? -most : most;
}

#endif
