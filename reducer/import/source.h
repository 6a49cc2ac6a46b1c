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

#define SOURCE_WINDOW (256u << 10)
#define SOURCE_LONGEST (64u << 10) /* bytes that source_at promises at once */

struct source {
	const char *path;
	struct diag_list *diags;
	int descriptor;
	int is_unpacked;
	uint64_t bytes; /* of the file, or of what was unpacked */
	uint8_t *window;
	uint64_t window_at;
	size_t window_bytes;
	unsigned damage; /* sentences so far: the rest is only counted */
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
int wire_next(struct source *source, struct stretch *message, struct wire_field *field);

/* The bytes of a field, at most `most` (of SOURCE_LONGEST); *length of them. Valid until the next call of source. */
const char *wire_text(struct source *source, const struct stretch *bytes, size_t most, size_t *length);

#endif
