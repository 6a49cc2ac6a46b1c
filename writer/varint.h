/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LEB128 varints and zig-zag, as the columns use them.
 *
 * Rule: no branch depends on whether a value takes one byte or two; in data those follow each other at random. Therefore
 * bytes behind the value may be written, up to 8 from its first: room is counted for the largest value, and 8 more.
 */
#ifndef TFP_WRITER_VARINT_H
#define TFP_WRITER_VARINT_H

#include <stdint.h>

static inline uint64_t tfp_zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

/* The lower 56 bits as 8 bytes of 7 bits each. */
static inline uint64_t tfp_spread_sevens(uint64_t value)
{
	value = (value & UINT64_C(0x000000000fffffff)) | (value & UINT64_C(0x00fffffff0000000)) << 4;
	value = (value & UINT64_C(0x00003fff00003fff)) | (value & UINT64_C(0x0fffc0000fffc000)) << 2;
	return (value & UINT64_C(0x007f007f007f007f)) | (value & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* Three bytes and more; out of line to keep the usual case small. All at once: names are hashes, of ten bytes each. */
static __attribute__((noinline, unused)) uint8_t *tfp_put_long_varint(uint8_t *out, uint64_t value)
{
	uint64_t bytes = tfp_spread_sevens(value), goes_on = UINT64_C(0x8080808080808080);
	uint64_t rest = value >> 56;

	if (rest) {
		bytes |= goes_on;
		__builtin_memcpy(out, &bytes, sizeof bytes);
		out[8] = (uint8_t)rest; /* its bit 7 is bit 63: one more byte */
		out[9] = 1;
		return out + 9 + (rest >> 7);
	}
	unsigned count = (70 - (unsigned)__builtin_clzll(value | 1)) / 7; /* of bytes, 1 to 8 */
	bytes |= goes_on & ((UINT64_C(1) << 8 * (count - 1)) - 1);
	__builtin_memcpy(out, &bytes, sizeof bytes);
	return out + count;
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

/* By the number of the highest bit: what varints of up to four bytes have in bits 7, and their bytes. */
struct tfp_varint_size {
	uint32_t goes_on, bytes;
};
#define TFP_VARINT_SEVEN(...) {__VA_ARGS__}, {__VA_ARGS__}, {__VA_ARGS__}, {__VA_ARGS__}, {__VA_ARGS__}, {__VA_ARGS__}, {__VA_ARGS__}
static const struct tfp_varint_size tfp_varint_sizes[28] __attribute__((unused)) = {
	TFP_VARINT_SEVEN(0, 1),
	TFP_VARINT_SEVEN(0x80, 2),
	TFP_VARINT_SEVEN(0x8080, 3),
	TFP_VARINT_SEVEN(0x808080, 4),
};
#undef TFP_VARINT_SEVEN

/* The same for data in which values of three and four bytes are as usual: one branch, before the fifth byte. */
static inline __attribute__((always_inline)) uint8_t *tfp_put_any_varint(uint8_t *out, uint64_t value)
{
	if (__builtin_expect(value >= 1 << 28, 0))
		return tfp_put_long_varint(out, value);
	uint32_t bytes = (uint32_t)value;
	const struct tfp_varint_size *size = &tfp_varint_sizes[31 ^ __builtin_clz(bytes | 1)];
	bytes += bytes & ~UINT32_C(0x7f);
	bytes += bytes & ~UINT32_C(0x7fff);
	bytes += bytes & ~UINT32_C(0x7fffff);
	bytes |= size->goes_on;
	__builtin_memcpy(out, &bytes, sizeof bytes);
	return out + size->bytes;
}

#endif
