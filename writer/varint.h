/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LEB128 varints and zig-zag, as the columns use them.
 *
 * Rule: no branch depends on whether a value takes one byte or two; in data those follow each other at random. Therefore
 * one byte more than the value needs may be written: room is counted for the largest value.
 */
#ifndef TFP_WRITER_VARINT_H
#define TFP_WRITER_VARINT_H

#include <stdint.h>

static inline uint64_t tfp_zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

/* Three bytes and more; out of line to keep the usual case small. */
static __attribute__((noinline, unused)) uint8_t *tfp_put_long_varint(uint8_t *out, uint64_t value)
{
	while (value >= 128) {
		*out++ = (uint8_t)(value | 128);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	return out;
}

/* Writes a varint of at most 10 bytes; returns its end. */
static inline __attribute__((always_inline)) uint8_t *tfp_put_varint(uint8_t *out, uint64_t value)
{
	if (__builtin_expect(value >= 1 << 14, 0))
		return tfp_put_long_varint(out, value);
	uint64_t is_two = value >= 128;
	out[0] = (uint8_t)(value | is_two << 7);
	out[1] = (uint8_t)(value >> 7);
	return out + 1 + is_two;
}

#endif
