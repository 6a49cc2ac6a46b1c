/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a log: header, live words, and the bytes of a block. The index is made in scan.c. See log.h. */
#include "reducer/read/log.h"

#include "reducer/read/crc32c.h"
#include "reducer/read/moment.h"
#include "reducer/read/overlay.h"
#include "reducer/read/scan.h"
#include "reducer/read/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER_BYTES_LEAST (offsetof(struct tfp_file_header, header_crc) + 4) /* of format 1.0; later fields follow */
#define HEADER_BYTES_MOST 1024 /* the live words begin there */
#define TRIES 5                /* a block is written by one call, some 0.1 ms */
#define TRY_AGAIN_NS 2000000
#define WAITS_MOST 250 /* of one log, half a second: that many blocks are not being written; the others are damaged */

struct log_file {
	atomic_int waits; /* left, see WAITS_MOST */
	int overlay; /* the shared memory beside the log, -1 = none; stays open */
	int descriptor; /* -1 = closed */
	int is_kept;    /* there is no name to open it by again */
	dev_t device;   /* of the file that was opened first: a path can come to name another */
	ino_t inode;
};

/* The descriptor, opened again after log_rest. -1 when the file is gone. */
static int descriptor_of(const struct log *log)
{
	struct log_file *file = log->file;
	struct stat status;

	if (file->descriptor >= 0)
		return file->descriptor;
	file->descriptor = open(log->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->descriptor >= 0 &&
	    (fstat(file->descriptor, &status) != 0 || status.st_dev != file->device || status.st_ino != file->inode))
		log_rest(log);
	return file->descriptor;
}

void log_rest(const struct log *log)
{
	if (log->file->is_kept)
		return;
	if (log->file->descriptor >= 0)
		close(log->file->descriptor);
	log->file->descriptor = -1;
}

int log_view(const struct log *log, struct diag_list *diags, struct log *view)
{
	struct log_file *file = malloc(sizeof *file);

	if (file == NULL)
		return -1;
	*file = (struct log_file){.waits = WAITS_MOST, .overlay = log->file->overlay, .is_kept = log->file->is_kept,
				  .descriptor = log->file->is_kept ? log->file->descriptor : -1,
				  .device = log->file->device, .inode = log->file->inode};
	*view = *log;
	view->file = file;
	view->diags = diags;
	return 0;
}

void log_view_end(struct log *view)
{
	log_rest(view);
	free(view->file);
}

size_t log_pread(const struct log *log, uint64_t offset, void *to, size_t bytes)
{
	size_t done = 0;
	int descriptor = descriptor_of(log);

	if (descriptor < 0 || offset > INT64_MAX - bytes)
		return 0;
	while (done < bytes) {
		ssize_t got = pread(descriptor, (char *)to + done, bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (log->file->overlay >= 0)
		done = overlay_apply(log->file->overlay, log->header.page_bytes, offset, to, bytes, done);
	return done;
}

uint64_t log_skip_hole(const struct log *log, uint64_t offset)
{
	if (log->file->overlay >= 0)
		return offset; /* what is a hole here may stand there */
	int descriptor = descriptor_of(log);
	off_t data = descriptor < 0 ? -1 : lseek(descriptor, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return log->bytes;
	return (uint64_t)data > offset ? (uint64_t)data & ~UINT64_C(7) : offset;
}

uint64_t log_size_now(const struct log *log)
{
	int descriptor = descriptor_of(log);
	struct stat status;

	return descriptor < 0 || fstat(descriptor, &status) != 0 ? 0 : (uint64_t)status.st_size;
}

static int refuse(struct log *log, uint64_t offset, const char *remedy, const char *reason)
{
	diag_add(log->diags, DIAG_FATAL, log->path, offset, remedy, "%s", reason);
	return -1;
}

/* What it is that begins so, where it is no log. */
static int refuse_other(struct log *log, const uint8_t *bytes, size_t got)
{
	static const struct {
		const char *bytes, *reason, *remedy;
		size_t length;
	} heads[] = {
#define HEAD(bytes, reason, remedy) {bytes, reason, remedy, sizeof(bytes) - 1},
#include "reducer/read/heads.def"
#undef HEAD
	};

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (got >= heads[i].length && memcmp(bytes, heads[i].bytes, heads[i].length) == 0)
			return refuse(log, 0, heads[i].remedy, heads[i].reason);
	if (memmem(bytes, got, "\xef\xbf\xbd", 3) != NULL && bytes[0] != '{' && bytes[0] != '[')
		return refuse(log, 0, "fetch the file again, byte for byte",
			      "bytes of this file were replaced (U+FFFD), as happens to what is no text and is written as text");
	if (bytes[0] == '{' || bytes[0] == '[')
		return refuse(log, 0, "name what torch.profiler's export_chrome_trace wrote, or a trace in Chrome's format",
			      "this is JSON, but no trace that tfprof reads: it has no \"traceEvents\", and is no list of events");
	return refuse(log, 0, "name files that end in .tfp, .xplane.pb or .json, or their directory",
		      "this is not a tfprof log, nor a trace that tfprof reads");
}

static int check_header(struct log *log, const uint8_t *bytes, size_t got)
{
	struct tfp_file_header *header = &log->header;

	if (got == 0)
		return refuse(log, 0, "the program was killed before its first record, or the disk was full", "the file is empty");
	if (got < 8 || memcmp(bytes, TFP_FILE_MAGIC, 8) != 0)
		return refuse_other(log, bytes, got);
	if (got < HEADER_BYTES_LEAST)
		return refuse(log, got, "", "the file ends inside its header");
	memcpy(header, bytes, HEADER_BYTES_LEAST);
	if (header->byte_order != TFP_BYTE_ORDER)
		return refuse(log, offsetof(struct tfp_file_header, byte_order), "",
			      "the file was written on a machine of another byte order");
	if (header->major != TFP_FORMAT_MAJOR)
		return refuse(log, offsetof(struct tfp_file_header, major), "use the tfprof-reduce of the tfprof that wrote it",
			      "the format is of another major version");
	if (header->header_bytes < HEADER_BYTES_LEAST || header->header_bytes > HEADER_BYTES_MOST)
		return refuse(log, offsetof(struct tfp_file_header, header_bytes), "", "the file header has an impossible size");
	if (crc32c(bytes, offsetof(struct tfp_file_header, header_crc)) != header->header_crc)
		return refuse(log, 0, "use another copy of the file", "the file header is damaged (checksum)");
	if (header->features_incompat != 0)
		return refuse(log, offsetof(struct tfp_file_header, features_incompat), "use a newer tfprof-reduce",
			      "the file needs features that this program does not know");
	return 0;
}

void log_read_live(struct log *log)
{
	size_t bytes = log->header.live_bytes < sizeof log->live ? log->header.live_bytes : sizeof log->live;
	size_t got = log_pread(log, log->header.live_offset, &log->live, bytes);

	if (got < bytes)
		diag_add(log->diags, DIAG_DAMAGE, log->path, log->bytes, "", "the file ends inside its live words");
}

/* Whether the log may be being written. It is asked before the live words are read: what ends later has not ended for this reading. */
static int begin_moment(struct log *log)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) == 0)
		log->opened_raw_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	log->alive = alive_find(&log->header);
	log_read_live(log);
	if (log->alive == ALIVE_NO || (log->alive == ALIVE_UNKNOWN && log->live.end_kind != TFP_END_NONE))
		return 0;
	log->is_running = log->alive == ALIVE_YES;
	log->moment = moment_make();
	return log->moment == NULL ? -1 : 0;
}

static int read_header(struct log *log)
{
	uint8_t bytes[HEADER_BYTES_MOST] = {0};
	size_t got = log_pread(log, 0, bytes, sizeof bytes);

	if (check_header(log, bytes, got) != 0)
		return -1;
	if (log->header.features_warn != 0)
		diag_add(log->diags, DIAG_NOTE, log->path, 0, "use a newer tfprof-reduce",
			 "the file uses features that this program does not know; it can be read without them");
	if (log->header.page_bytes < 512 || log->header.page_bytes > 1u << 20 || log->header.page_bytes % 8 != 0)
		return refuse(log, offsetof(struct tfp_file_header, page_bytes), "", "the page size is impossible");
	log->file->overlay = overlay_open(&log->header);
	if (log->file->overlay >= 0 && overlay_end(log->file->overlay) > log->bytes)
		log->bytes = overlay_end(log->file->overlay);
	return begin_moment(log);
}

static int open_file(struct log *log)
{
	struct stat status;
	int descriptor = log->file->is_kept ? log->file->descriptor : open(log->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	log->file->descriptor = descriptor;
	if (descriptor < 0 || fstat(descriptor, &status) != 0) {
		const char *remedy =
			errno == ENOENT ? "if a program should have left its logs there: tfprof doctor PROGRAM says why not" : "";

		diag_add(log->diags, DIAG_FATAL, log->path, DIAG_NO_OFFSET, remedy, "cannot be opened: %s", strerror(errno));
		return -1;
	}
	if (!S_ISREG(status.st_mode))
		return refuse(log, DIAG_NO_OFFSET, "copy what it gives into a file, and name that", "this is not a regular file");
	log->file->device = status.st_dev;
	log->file->inode = status.st_ino;
	log->bytes = (uint64_t)status.st_size;
	return 0;
}

struct log *log_open(const char *path, struct diag_list *diags)
{
	return log_open_descriptor(-1, path, diags);
}

struct log *log_open_descriptor(int descriptor, const char *path, struct diag_list *diags)
{
	struct log *log = calloc(1, sizeof *log);

	if (log == NULL) {
		if (descriptor >= 0)
			close(descriptor);
		return NULL;
	}
	log->diags = diags;
	log->path = strdup(path);
	log->file = calloc(1, sizeof *log->file);
	if (log->file != NULL)
		*log->file = (struct log_file){.descriptor = descriptor, .waits = WAITS_MOST, .overlay = -1, .is_kept = descriptor >= 0};
	if (log->path == NULL || log->file == NULL || open_file(log) != 0 || read_header(log) != 0 || scan_blocks(log) != 0) {
		log_close(log);
		return NULL;
	}
	return log;
}

void log_close(struct log *log)
{
	if (log == NULL)
		return;
	if (log->file != NULL) {
		log->file->is_kept = 0;
		log_rest(log);
	}
	if (log->file != NULL && log->file->overlay >= 0)
		close(log->file->overlay);
	free(log->file);
	for (size_t i = 0; i < log->stream_count; i++)
		free(log->streams[i].parts);
	free(log->streams);
	free(log->stream_index);
	free(log->blocks);
	schema_free(log->schema);
	moment_free(log->moment);
	free(log->path);
	free(log);
}

/* The payload as it stands in the file, checksum compared; NULL with *reason set. */
static uint8_t *read_encoded_once(const struct log *log, const struct log_block *block, const char **reason)
{
	uint64_t bytes = block->header.encoded_bytes;
	uint8_t *encoded;

	*reason = "the block is cut off";
	if (block->payload_bytes < bytes)
		return NULL;
	*reason = "the block claims an impossible size";
	if (bytes > TFP_RAW_MAX + TFP_RAW_MAX / 128)
		return NULL;
	*reason = "no memory for the block";
	encoded = malloc(bytes + 1);
	if (encoded == NULL)
		return NULL;
	*reason = "the block cannot be read";
	if (log_pread(log, block->payload, encoded, bytes) != bytes) {
		free(encoded);
		return NULL;
	}
	*reason = "the block is damaged (checksum)";
	if (crc32c(encoded, bytes) != block->header.payload_crc) {
		free(encoded);
		return NULL;
	}
	return encoded;
}

/* Until the process has gone on a little. Returns 0 where it does not run, or was waited for often enough. */
static int wait_a_little(const struct log *log)
{
	if (!log->is_running || atomic_load(&log->file->waits) <= 0)
		return 0;
	atomic_fetch_sub(&log->file->waits, 1);
	nanosleep(&(struct timespec){.tv_nsec = TRY_AGAIN_NS}, NULL);
	return 1;
}

static int is_dropped_now(const struct log *log, uint64_t offset)
{
	struct log now = *log;

	if (!log->is_running)
		return 0;
	log_read_live(&now);
	return offset < now.live.dropped_from;
}

/* The same; a block whose header stands already may be in the middle of being written. */
static uint8_t *read_encoded(const struct log *log, const struct log_block *block, const char **reason)
{
	uint8_t *encoded = read_encoded_once(log, block, reason);

	for (int i = 0; encoded == NULL && i < TRIES && !is_dropped_now(log, block->offset) && wait_a_little(log); i++)
		encoded = read_encoded_once(log, block, reason);
	return encoded;
}

int log_is_given_up(const struct log *log, uint64_t offset)
{
	int is_dropped = is_dropped_now(log, offset);

	/* The writer gives the room back before it says so. */
	for (int i = 0; !is_dropped && i < TRIES && wait_a_little(log); i++)
		is_dropped = is_dropped_now(log, offset);
	return is_dropped;
}

/* Decompresses; takes `encoded`. NULL with *reason set. */
static uint8_t *decompress(const struct log_block *block, uint8_t *encoded, const char **reason)
{
	uint64_t raw_bytes = block->header.raw_bytes, bytes = block->header.encoded_bytes;
	uint8_t *raw = NULL;

	*reason = "the block claims an impossible size";
	if (block->header.codec == TFP_CODEC_NONE && raw_bytes == bytes)
		return encoded;
	/* LZ4 never expands more than 255 times, so a small block cannot ask for much. */
	if (block->header.codec == TFP_CODEC_LZ4 && raw_bytes <= TFP_RAW_MAX && raw_bytes / 255 <= bytes)
		raw = malloc(raw_bytes + 1);
	else if (block->header.codec != TFP_CODEC_NONE && block->header.codec != TFP_CODEC_LZ4)
		*reason = "the block is compressed in a way that this program does not know";
	if (raw != NULL &&
	    LZ4_decompress_safe((char *)encoded, (char *)raw, (int)bytes, (int)raw_bytes) != (int)raw_bytes) {
		*reason = "the block is damaged (compression)";
		free(raw);
		raw = NULL;
	}
	free(encoded);
	return raw;
}

static uint8_t *read_sealed(const struct log *log, const struct log_block *block, size_t *bytes, const char **reason)
{
	uint8_t *raw = read_encoded(log, block, reason);

	*bytes = block->header.raw_bytes;
	return raw != NULL ? decompress(block, raw, reason) : NULL;
}

uint8_t *log_sealed(const struct log *log, const struct log_block *block, size_t *bytes)
{
	const char *reason;
	uint8_t *raw = read_sealed(log, block, bytes, &reason);

	if (raw == NULL)
		diag_add(log->diags, DIAG_DAMAGE, log->path, block->offset, "", "%s", reason);
	return raw;
}

uint8_t *log_sealed_quietly(const struct log *log, const struct log_block *block, size_t *bytes)
{
	const char *reason;

	return read_sealed(log, block, bytes, &reason);
}
