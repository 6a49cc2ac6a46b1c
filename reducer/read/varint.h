/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of 7 bits a byte, low ones first, as columns hold them.
 *
 * Rule: the caller has counted that each number ends before it takes one; bits beyond 64 are dropped.
 */
#ifndef REDUCER_READ_VARINT_H
#define REDUCER_READ_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VARINT_HIGH_BITS UINT64_C(0x8080808080808080) /* of eight bytes: set where a varint goes on */
#define VARINT_PAIRS UINT64_C(0x0080008000800080)     /* the same where eight bytes are four varints of two */

/* Bytes below 128: each ends a varint. Eight at a time; the sums of up to 255 words fit their bytes. */
static inline size_t varint_ends(const uint8_t *at, size_t bytes)
{
	size_t going_on = 0, left = bytes;

	while (left >= 8) {
		size_t words = left / 8 < 255 ? left / 8 : 255;
		uint64_t sums = 0, word;

		for (size_t i = 0; i < words; i++) {
			memcpy(&word, at + 8 * i, 8);
			sums += (word & VARINT_HIGH_BITS) >> 7;
		}
		for (; sums != 0; sums >>= 8)
			going_on += sums & 255;
		at += 8 * words;
		left -= 8 * words;
	}
	for (size_t i = 0; i < left; i++)
		going_on += at[i] >> 7;
	return bytes - going_on;
}

/* The varint at *at; bits beyond 64 are dropped. The caller knows that it ends. */
static inline uint64_t varint_take(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned shift = 0;
	const uint8_t *byte = *at;

	for (; *byte >= 128; byte++, shift += 7)
		value |= shift < 64 ? (uint64_t)(*byte & 127) << shift : 0;
	value |= shift < 64 ? (uint64_t)*byte << shift : 0;
	*at = byte + 1;
	return value;
}

/* A varint that has eight bytes left to read: most have one, two or three. */
static inline const uint8_t *varint_take_near(const uint8_t *at, uint64_t word, uint64_t *to)
{
	if (!(word & 0x80)) {
		*to = word & 0x7f;
		return at + 1;
	}
	if (!(word & 0x8000)) {
		*to = (word & 0x7f) | (word >> 1 & 0x3f80);
		return at + 2;
	}
	if (!(word & 0x800000)) {
		*to = (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000);
		return at + 3;
	}
	*to = varint_take(&at);
	return at;
}

#endif
