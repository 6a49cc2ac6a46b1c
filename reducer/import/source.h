/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A foreign file, read in pieces: bytes by offset, protocol-buffer fields, and sentences about what is wrong.
 *
 * Rule: the file is hostile. Nothing is believed before it was compared with what is there; bytes are taken with pread,
 * 256 KiB at a time, so memory does not depend on the file. A file packed by gzip is unpacked into a spool first; offsets
 * are then those of the unpacked bytes, and the sentences say so.
 */
#ifndef REDUCER_IMPORT_SOURCE_H
#define REDUCER_IMPORT_SOURCE_H

#include "reducer/read/diag.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SOURCE_WINDOW (256u << 10)
#define SOURCE_LONGEST (64u << 10) /* bytes that source_at promises at once */
#define SOURCE_BEHIND 16u /* bytes behind a window that may be read, whatever they are: a varint is looked at as a whole */

#define SOURCE_PLACES 4u /* places of the file that are read in turns, each with a window of its own */

struct source {
	const char *path;
	struct diag_list *diags;
	int descriptor;
	int is_unpacked;
	uint64_t bytes;	 /* of the file, or of what was unpacked */
	uint8_t *window; /* the one used last */
	uint64_t window_at;
	size_t window_bytes;
	struct source_window {
		uint8_t *bytes;
		uint64_t at;
		size_t length;
	} others[SOURCE_PLACES - 1]; /* the one used last comes first */
	unsigned damage;	     /* sentences so far: the rest is only counted */
};

/*
 * Opens a file; of a packed one at most `most` bytes are unpacked. Returns 0, or -1 where it is none or cannot be read (no
 * sentence: the caller knows whether it matters).
 */
int source_open(struct source *source, const char *path, uint64_t most, struct diag_list *diags);
void source_close(struct source *source);

/* Up to `wanted` bytes (at most SOURCE_LONGEST) at `offset`; *got of them are there. Valid until the next call. */
const uint8_t *source_at(struct source *source, uint64_t offset, size_t wanted, size_t *got);

/* One thing is wrong; the rest of the file is read all the same. */
void source_damage(struct source *source, uint64_t offset, const char *remedy, const char *reason);

/* So many events were left out because of their times: a sentence, unless there are none. */
void source_out_of_time(struct source *source, uint64_t events);

/* Protocol buffers. A message is a stretch of the file. */
struct stretch {
	uint64_t at, end;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;	      /* of the three numeric types */
	struct stretch bytes; /* of WIRE_BYTES */
};

/*
 * The next field of a message; its start moves on. Returns 1, 0 at the end, -1 where the bytes make no sense or reach
 * beyond the message (one sentence is added; the message ends there).
 */
int wire_next_slow(struct source *source, struct stretch *message, struct wire_field *field);

#define WIRE_LONGEST 20u /* a key and a varint */

/* A varint of bytes that are in memory; returns what stands behind it, NULL where it does not end within 10 bytes. */
static inline const uint8_t *wire_varint(const uint8_t *bytes, uint64_t *value)
{
	uint64_t all = *bytes & 127;

	for (unsigned i = 1; *bytes++ >= 128; i++) {
		if (i == 10)
			return NULL;
		all |= (uint64_t)(*bytes & 127) << (7 * i);
	}
	*value = all;
	return bytes;
}

/* The same, inline for what lies in the window and is right; all else is looked at again. */
static inline int wire_next(struct source *source, struct stretch *message, struct wire_field *field)
{
	uint64_t offset = message->at - source->window_at, value;
	const uint8_t *start = source->window + offset, *bytes = start + 1;

	if (message->at >= message->end)
		return 0;
	if (message->at < source->window_at || offset + WIRE_LONGEST > source->window_bytes || *start >= 128 || *start < 8 ||
	    ((*start & 7) != WIRE_VARINT && (*start & 7) != WIRE_BYTES))
		return wire_next_slow(source, message, field);
	bytes = wire_varint(bytes, &value);
	if (!bytes || (uint64_t)(bytes - start) > message->end - message->at)
		return wire_next_slow(source, message, field);
	uint64_t at = message->at + (uint64_t)(bytes - start);
	field->number = *start >> 3;
	field->type = (enum wire_type)(*start & 7);
	field->value = value;
	message->at = at;
	if (field->type == WIRE_VARINT)
		return 1;
	if (value > message->end - at || message->end > source->bytes) {
		message->at = at - (uint64_t)(bytes - start);
		return wire_next_slow(source, message, field);
	}
	field->bytes = (struct stretch){at, at + value};
	message->at = at + value;
	return 1;
}

/* A message that is in memory as a whole: what may be read there before the next call of source. */
struct wire_here {
	const uint8_t *at, *end;
};

/* Brings a message into memory as a whole. Returns 0 where it is too long for that, or the file ends inside it. */
static inline int wire_hold(struct source *source, const struct stretch *message, struct wire_here *here)
{
	uint64_t length = message->end - message->at;
	size_t got = (size_t)length;
	const uint8_t *bytes = source->window + (message->at - source->window_at);

	if (length > SOURCE_LONGEST)
		return 0;
	if (message->at < source->window_at || message->end > source->window_at + source->window_bytes)
		bytes = source_at(source, message->at, (size_t)length, &got);
	*here = (struct wire_here){bytes, bytes + got};
	return got == length;
}

/* The low seven bits of eight bytes, the first byte's lowest. */
static inline uint64_t wire_sevens(uint64_t bytes)
{
	bytes = (bytes & UINT64_C(0x007f007f007f007f)) | (bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
	bytes = (bytes & UINT64_C(0x00003fff00003fff)) | (bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (bytes & UINT64_C(0x000000000fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* wire_varint, eight bytes at once: times are six or seven long. Some more may be read behind the last (SOURCE_BEHIND). */
static inline const uint8_t *wire_varint_here(const uint8_t *bytes, uint64_t *value)
{
	uint64_t eight, ends;

	if (*bytes < 128) {
		*value = *bytes;
		return bytes + 1;
	}
	memcpy(&eight, bytes, sizeof(eight));
	ends = ~eight & UINT64_C(0x8080808080808080);
	if (!ends)
		return wire_varint(bytes, value);
	*value = wire_sevens(eight & (ends ^ (ends - 1)));
	return bytes + __builtin_ctzll(ends) / 8 + 1;
}

/*
 * wire_next of a message in memory, which need not look where the window ends; of a message inside it *inside tells the place too.
 * Returns 1, 0 at the end, -1 at what is not as it should be: nothing is said, wire_next says it.
 */
static inline int wire_next_here(const struct source *source, struct wire_here *message, struct wire_field *field,
				 struct wire_here *inside)
{
	const uint8_t *at = message->at, *end = message->end;
	unsigned key = at < end ? *at++ : 0;

	if (at == end || key < 8 || key >= 128 || ((key & 7) != WIRE_VARINT && (key & 7) != WIRE_BYTES))
		return message->at == end ? 0 : -1;
	field->number = key >> 3;
	field->type = (enum wire_type)(key & 7);
	at = wire_varint_here(at, &field->value);
	if (!at || at > end)
		return -1;
	message->at = at;
	if (field->type == WIRE_VARINT)
		return 1;
	if (field->value > (uint64_t)(end - at))
		return -1;
	*inside = (struct wire_here){at, message->at = at + field->value};
	field->bytes.at = source->window_at + (uint64_t)(at - source->window);
	field->bytes.end = field->bytes.at + field->value;
	return 1;
}

/* The bytes of a field, at most `most` (of SOURCE_LONGEST); *length of them. Valid until the next call of source. */
const char *wire_text(struct source *source, const struct stretch *bytes, size_t most, size_t *length);

#endif
