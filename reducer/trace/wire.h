/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a protocol buffer's message, written where they come by the million; all else is written by protobuf-c.
 *
 * Rule: each function writes one field at `to` and returns where the next begins; fields come by rising number, so that the bytes
 * are those of protobuf-c. The caller has the room: at most 2 bytes of key (fields below 2048), 10 of a number, 8 of a fixed one.
 */
#ifndef REDUCER_TRACE_WIRE_H
#define REDUCER_TRACE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_FIELD 20 /* bytes that a field takes at most, without those of a text or message */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static inline uint8_t *wire_varint(uint8_t *to, uint64_t value)
{
	for (; value > 127; value >>= 7)
		*to++ = (uint8_t)value | 128;
	*to++ = (uint8_t)value;
	return to;
}

static inline uint8_t *wire_number(uint8_t *to, unsigned field, uint64_t value)
{
	return wire_varint(wire_varint(to, field << 3 | WIRE_VARINT), value);
}

/* Of 64 bits as they lie in memory: this machine's order is the format's. */
static inline uint8_t *wire_fixed64(uint8_t *to, unsigned field, const void *value)
{
	to = wire_varint(to, field << 3 | WIRE_FIXED64);
	memcpy(to, value, 8);
	return to + 8;
}

/* In front of `length` bytes of a text or message. */
static inline uint8_t *wire_head(uint8_t *to, unsigned field, uint64_t length)
{
	return wire_varint(wire_varint(to, field << 3 | WIRE_BYTES), length);
}

static inline uint8_t *wire_text(uint8_t *to, unsigned field, const char *text, size_t length)
{
	to = wire_head(to, field, length);
	memcpy(to, text, length);
	return to + length;
}

/*
 * A message in a field below 16: its own fields are written from wire_open on; wire_close, which is given the same place, puts its head in
 * front of them and returns the new end. Only a message of 128 bytes or more, whose head is longer, moves back: the caller has WIRE_FIELD
 * bytes of room for that.
 */
#define WIRE_SHORT 2 /* bytes of the head of a shorter one */
static inline uint8_t *wire_open(uint8_t *at)
{
	return at + WIRE_SHORT;
}

static inline uint8_t *wire_close(uint8_t *at, unsigned field, uint8_t *end)
{
	uint8_t *from = at + WIRE_SHORT, head[WIRE_FIELD];
	size_t length = (size_t)(end - from), used;

	if (length < 128) {
		at[0] = (uint8_t)(field << 3 | WIRE_BYTES);
		at[1] = (uint8_t)length;
		return end;
	}
	used = (size_t)(wire_head(head, field, length) - head);
	memmove(at + used, from, length);
	memcpy(at, head, used);
	return at + used + length;
}

#endif
