/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign file, read in pieces. See source.h. */
#include "reducer/import/source.h"

#include "reducer/base/base.h"
#include "reducer/base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SOURCE_LEAST (16u << 10) /* bytes read at a place that is not the next one */
#define DAMAGE_MOST 20 /* sentences about one file */
/* What a packed file may unpack to: traces become 10 to 40 times as large, gzip can make it 1,030 times, which fills a disk. */
#define UNPACKED_TIMES 100u
#define UNPACKED_ANYWAY (UINT64_C(256) << 20) /* bytes: a small file may be as alike as it likes */

/* A gzip file while it is unpacked. */
struct packed {
	z_stream stream;
	int descriptor, result; /* result: the last one of zlib */
	uint64_t at;		/* read up to here */
	uint8_t *input, *output;
};

/* Fills the input where it is used up. Returns 0 where the file ends. */
static int fill(struct packed *packed)
{
	if (packed->stream.avail_in)
		return 1;
	packed->stream.avail_in = (unsigned)spool_read(packed->descriptor, packed->at, packed->input, SOURCE_WINDOW);
	packed->stream.next_in = packed->input;
	packed->at += packed->stream.avail_in;
	return packed->stream.avail_in > 0;
}

/* Behind one part, and the zeros with which tapes and archives fill up: does another part begin? */
static int goes_on(struct packed *packed)
{
	z_stream *stream = &packed->stream;

	while (fill(packed) && !stream->next_in[0]) {
		stream->next_in++;
		stream->avail_in--;
	}
	return stream->avail_in && stream->next_in[0] == 0x1f && inflateReset(stream) == Z_OK;
}

/* The next bytes, at most a window of them; 0 = the file is over, or packed->result says why not. */
static size_t unpack_more(struct packed *packed)
{
	z_stream *stream = &packed->stream;

	stream->next_out = packed->output;
	stream->avail_out = SOURCE_WINDOW;
	while (stream->avail_out && fill(packed)) {
		if (packed->result == Z_STREAM_END && !goes_on(packed))
			break; /* what follows is no further part */
		packed->result = inflate(stream, Z_NO_FLUSH);
		if (packed->result != Z_OK && packed->result != Z_STREAM_END)
			break;
	}
	return SOURCE_WINDOW - stream->avail_out;
}

static void say_too_much(struct source *source, uint64_t bytes)
{
	char reason[160];

	snprintf(reason, sizeof(reason),
		 "more than %u times what is packed was unpacked, which no trace needs; behind the first %" PRIu64 " MiB nothing was read",
		 UNPACKED_TIMES, bytes >> 20);
	source_damage(source, DIAG_NO_OFFSET, "if it is meant, unpack it (gunzip) and name the unpacked file", reason);
}

/* Unpacks what the descriptor holds, `bytes` in all, from its start. Returns the spool. */
static int unpack(struct source *source, uint64_t bytes, uint64_t most)
{
	uint64_t borne = UNPACKED_ANYWAY + (bytes < UINT64_MAX / 2 / UNPACKED_TIMES ? bytes * UNPACKED_TIMES : UINT64_MAX / 2);
	struct packed packed = {.descriptor = source->descriptor, .result = Z_STREAM_END};
	int spool = spool_open();
	uint64_t end = 0;
	size_t got = 0;

	packed.input = base_alloc(1, SOURCE_WINDOW);
	packed.output = base_alloc(1, SOURCE_WINDOW);
	if (inflateInit2(&packed.stream, 15 + 16) != Z_OK) /* the largest window; gzip's wrapper */
		packed.result = Z_MEM_ERROR;
	while (packed.result != Z_MEM_ERROR && end < most && end < borne && (got = unpack_more(&packed)) > 0) {
		spool_write(spool, end, packed.output, got);
		end += got;
	}
	if (!got && packed.result != Z_STREAM_END)
		source_damage(source, DIAG_NO_OFFSET, "use another copy of the file", "the packed file ends early or is damaged");
	else if (!got && packed.stream.avail_in)
		source_damage(source, DIAG_NO_OFFSET, "", "what stands behind the packed data is no gzip file and was not read");
	else if (got && end < most)
		say_too_much(source, end);
	inflateEnd(&packed.stream);
	free(packed.input);
	free(packed.output);
	source->bytes = end;
	source->is_unpacked = 1;
	return spool;
}

int source_open(struct source *source, const char *path, uint64_t most, struct diag_list *diags)
{
	struct stat status;
	uint8_t head[2] = {0};

	*source = (struct source){.path = path, .diags = diags};
	source->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (source->descriptor < 0)
		return -1;
	if (fstat(source->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(source->descriptor);
		return -1;
	}
	source->bytes = (uint64_t)status.st_size;
	if (spool_read(source->descriptor, 0, head, 2) == 2 && head[0] == 0x1f && head[1] == 0x8b) {
		int packed = source->descriptor;
		source->descriptor = unpack(source, source->bytes, most);
		close(packed);
	}
	source->window = base_alloc(1, SOURCE_WINDOW + SOURCE_BEHIND);
	return 0;
}

void source_close(struct source *source)
{
	free(source->window);
	for (size_t i = 0; i < SOURCE_PLACES - 1; i++)
		free(source->others[i].bytes);
	close(source->descriptor);
}

static int holds(uint64_t at, size_t length, uint64_t offset, size_t need)
{
	return offset >= at && offset + need <= at + length;
}

/* Where the file is read in order a whole window at once; elsewhere little, since the next place may be far away. */
static void read_window(struct source *source, uint64_t offset, size_t need)
{
	int goes_on = offset >= source->window_at && offset <= source->window_at + source->window_bytes;
	size_t wanted = goes_on || !source->window_bytes ? SOURCE_WINDOW : need < SOURCE_LEAST ? SOURCE_LEAST : need;

	source->window_at = offset;
	source->window_bytes = spool_read(source->descriptor, offset, source->window, wanted);
}

/* Makes another window the one in use; the oldest is the one that is filled anew. */
static void turn_to(struct source *source, uint64_t offset, size_t need)
{
	struct source_window used = {source->window, source->window_at, source->window_bytes}, *others = source->others;
	size_t place = 0;

	if (offset >= used.at && offset <= used.at + used.length) {
		read_window(source, offset, need);
		return;
	}
	while (place < SOURCE_PLACES - 2 && !holds(others[place].at, others[place].length, offset, need))
		place++;
	struct source_window found = others[place];
	memmove(others + 1, others, place * sizeof(*others));
	others[0] = used;
	source->window = found.bytes ? found.bytes : base_alloc(1, SOURCE_WINDOW + SOURCE_BEHIND);
	source->window_at = found.at;
	source->window_bytes = found.length;
	if (!holds(found.at, found.length, offset, need))
		read_window(source, offset, need);
}

const uint8_t *source_at(struct source *source, uint64_t offset, size_t wanted, size_t *got)
{
	uint64_t left = offset < source->bytes ? source->bytes - offset : 0;
	size_t need = left < wanted ? (size_t)left : wanted;

	if (!holds(source->window_at, source->window_bytes, offset, need))
		turn_to(source, offset, need);
	uint64_t have = source->window_at + source->window_bytes;
	*got = offset >= have ? 0 : have - offset < need ? (size_t)(have - offset) : need;
	return source->window + (*got ? offset - source->window_at : 0);
}

void source_damage(struct source *source, uint64_t offset, const char *remedy, const char *reason)
{
	if (source->damage++ < DAMAGE_MOST)
		diag_add(source->diags, DIAG_DAMAGE, source->path, offset, remedy, "%s%s", reason,
			 source->is_unpacked && offset != DIAG_NO_OFFSET ? " (offset in the unpacked file)" : "");
	else
		source->diags->damage++;
}

void source_out_of_time(struct source *source, uint64_t events)
{
	char reason[160];

	if (!events)
		return;
	snprintf(reason, sizeof(reason),
		 "%" PRIu64 " event%s left out: the time is negative, too large, no number, or years from that of the others", events,
		 events == 1 ? " was" : "s were");
	source_damage(source, DIAG_NO_OFFSET, "", reason);
}

/* A varint. Returns its length, 0 where it does not end within 10 bytes or the `got` there are. */
static size_t take_varint(const uint8_t *bytes, size_t got, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < got && i < 10; i++) {
		*value |= (uint64_t)(bytes[i] & 127) << (7 * i);
		if (bytes[i] < 128)
			return i + 1;
	}
	return 0;
}

static int broken(struct source *source, struct stretch *message, const char *reason)
{
	source_damage(source, message->at, "use another copy of the file", reason);
	message->at = message->end;
	return -1;
}

int wire_next_slow(struct source *source, struct stretch *message, struct wire_field *field)
{
	size_t got, used, more;
	uint64_t key;
	const uint8_t *bytes;

	if (message->at >= message->end)
		return 0;
	bytes = source_at(source, message->at, message->end - message->at < 20 ? (size_t)(message->end - message->at) : 20, &got);
	used = take_varint(bytes, got, &key);
	if (!used || key >> 3 == 0 || key >> 3 > 536870911)
		return broken(source, message,
			      got ? "these bytes are no field of a protocol buffer" : "the file ends inside a message");
	field->number = (uint32_t)(key >> 3);
	field->type = (enum wire_type)(key & 7);
	field->value = 0;
	if (field->type == WIRE_VARINT || field->type == WIRE_BYTES) {
		more = take_varint(bytes + used, got - used, &field->value);
	} else if (field->type == WIRE_FIXED64 || field->type == WIRE_FIXED32) {
		more = field->type == WIRE_FIXED64 ? 8 : 4;
		more = more <= got - used ? more : 0;
		memcpy(&field->value, bytes + used, more);
	} else {
		return broken(source, message, "this field is of an unknown kind");
	}
	if (!more)
		return broken(source, message, message->at + got >= source->bytes ? "the file ends inside this field"
										  : "this field is cut off");
	if (field->type != WIRE_BYTES) {
		message->at += used + more;
		return 1;
	}
	field->bytes = (struct stretch){message->at + used + more, message->at + used + more + field->value};
	if (field->value > message->end - field->bytes.at || field->bytes.end > source->bytes)
		return broken(source, message,
			      field->value > message->end - field->bytes.at && message->end < source->bytes
				      ? "this field is longer than the message that holds it"
				      : "the file ends inside this field");
	message->at = field->bytes.end;
	return 1;
}

const char *wire_text(struct source *source, const struct stretch *bytes, size_t most, size_t *length)
{
	uint64_t have = bytes->end - bytes->at;

	return (const char *)source_at(source, bytes->at, have < most ? (size_t)have : most, length);
}
