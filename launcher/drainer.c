/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log, drained from outside.
 *
 *   chunk states:  FREE -> FILLING -> FULL -> (we, by compare-and-swap) DRAINING -> FREE
 *
 * Rule: the log belongs to a running program: space is taken by adding to file_end as its own threads do, a chunk is
 * freed only after its block was written in full, and a chunk that cannot be written is left FULL with its records.
 */
#include "launcher/drainer.h"

#include "writer/clock.h"
#include "writer/crc32c.h"
#include "writer/encode.h"
#include "writer/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A chunk's block, mapped on its own. */
struct part {
	struct tfp_block_header *block;
	struct tfp_chunk *chunk; /* behind the header */
	uint64_t offset;
	size_t bytes;
};

struct drainer {
	struct tfp_file_header header;
	struct tfp_file_live *live;
	uint8_t *first;      /* the mapped beginning that holds `live` */
	int file;
	uint64_t max_bytes;  /* setting MAX_BYTES, 0 = none */
	uint64_t spare_bytes, spare_end; /* as in struct tfp_log */
	uint64_t scanned;    /* blocks below this offset are known */
	uint64_t hole, hole_since_ns; /* where nothing whole was found at the last look, and since when (CLOCK_MONOTONIC) */
	uint64_t asked_ns;   /* CLOCK_MONOTONIC when the process was last looked for */
	int has_process;
	uint32_t time_shift; /* for blocks of heap records alone, as the program itself takes it (preload/start.c) */
	struct part *parts;
	size_t count, room;
	int is_refused;      /* a write failed or the limit is reached: the rest is the program's to count */
	void *scratch;
	size_t scratch_bytes;
};

#define CHUNKS_MAX 4096 /* of one log: a busy process has three a thread */
#define PATIENCE_NS UINT64_C(1000000000) /* a block not whole after this long is a hole: its writer failed or died */
#define ASK_NS UINT64_C(100000000)       /* between two questions whether the process is there */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int read_header(int file, struct tfp_file_header *header)
{
	if (pread(file, header, sizeof *header, 0) != (ssize_t)sizeof *header || memcmp(header->magic, TFP_FILE_MAGIC, 8))
		return -1;
	if (header->major != TFP_FORMAT_MAJOR || header->header_bytes < sizeof *header)
		return -1;
	if (header->page_bytes < 4096 || (header->page_bytes & (header->page_bytes - 1)))
		return -1;
	if (header->flags & (TFP_FILE_NOT_KILL_SAFE | TFP_FILE_SHADOWED))
		return -1; /* its chunks are memory of the program, and what the file has of them is a copy, as is the end that it names */
	return tfp_crc32c(0, header, offsetof(struct tfp_file_header, header_crc)) == header->header_crc ? 0 : -1;
}

/* The largest shift with 2^shift ticks <= 1 us. */
static uint32_t shift_of(const struct tfp_file_header *header)
{
	uint64_t ticks = (header->clock_hz ? header->clock_hz : UINT64_C(2000000000)) / 1000000; /* as preload/start.c */
	uint32_t shift = 0;

	while ((UINT64_C(2) << shift) <= ticks)
		shift++;
	return shift;
}

struct drainer *drainer_open(const char *path, const uint8_t job_id[16], const struct tfp_settings *settings)
{
	struct drainer *drainer = calloc(1, sizeof *drainer);
	const size_t bytes = TFP_LIVE_OFFSET + sizeof(struct tfp_file_live);
	void *first = MAP_FAILED;
	struct stat facts;

	if (!drainer)
		return NULL;
	drainer->file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (drainer->file >= 0 && !fstat(drainer->file, &facts) && S_ISREG(facts.st_mode) && (size_t)facts.st_size >= bytes &&
	    !read_header(drainer->file, &drainer->header) && !memcmp(drainer->header.job_id, job_id, 16))
		first = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, drainer->file, 0);
	if (first == MAP_FAILED) {
		if (drainer->file >= 0)
			close(drainer->file);
		free(drainer);
		return NULL;
	}
	drainer->first = first;
	drainer->live = (struct tfp_file_live *)(drainer->first + TFP_LIVE_OFFSET);
	drainer->max_bytes = settings->max_bytes;
	drainer->spare_bytes = tfp_spare_bytes(drainer->file, settings->keep_free);
	drainer->time_shift = shift_of(&drainer->header);
	drainer->scanned = drainer->header.page_bytes;
	drainer->has_process = 1;
	return drainer;
}

void drainer_close(struct drainer *drainer)
{
	size_t i;

	for (i = 0; i < drainer->count; i++)
		munmap(drainer->parts[i].block, drainer->parts[i].bytes);
	munmap(drainer->first, TFP_LIVE_OFFSET + sizeof(struct tfp_file_live));
	close(drainer->file);
	free(drainer->parts);
	free(drainer->scratch);
	free(drainer);
}

/* Fields 3 and 22 of /proc/PID/stat: a zombie fills no chunk any more, another start time is another process. */
static int exists(const struct drainer *drainer)
{
	unsigned long long start = 0;
	char path[64], text[1024], *rest;
	size_t length;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)drainer->header.pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[length] = 0;
	rest = strrchr(text, ')');
	if (!rest || rest[1] != ' ' || rest[2] == 'Z' ||
	    sscanf(rest + 3, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &start) != 1)
		return 0;
	return !drainer->header.process_start || start == drainer->header.process_start;
}

int drainer_has_process(struct drainer *drainer)
{
	uint64_t now = now_ns();

	if (drainer->has_process && now - drainer->asked_ns >= ASK_NS) {
		drainer->asked_ns = now;
		drainer->has_process = exists(drainer);
	}
	return drainer->has_process;
}

static int is_known(const struct drainer *drainer, uint64_t offset)
{
	size_t i;

	for (i = drainer->count; i > 0; i--)
		if (drainer->parts[i - 1].offset == offset)
			return 1;
	return 0;
}

/* Room for one more part. */
static struct part *new_part(struct drainer *drainer)
{
	struct part *parts;

	if (drainer->count == CHUNKS_MAX)
		return NULL;
	if (drainer->count < drainer->room)
		return &drainer->parts[drainer->count];
	parts = realloc(drainer->parts, (drainer->room + 64) * sizeof *parts);
	if (!parts)
		return NULL;
	drainer->parts = parts;
	drainer->room += 64;
	return &parts[drainer->count];
}

static void add_chunk(struct drainer *drainer, uint64_t offset, const struct tfp_block_header *header)
{
	struct part *part = is_known(drainer, offset) ? NULL : new_part(drainer);

	if (!part)
		return;
	part->offset = offset;
	part->bytes = sizeof *header + header->encoded_bytes;
	part->block = mmap(NULL, part->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, drainer->file, (off_t)offset);
	part->chunk = (struct tfp_chunk *)(part->block + 1);
	drainer->count += part->block != MAP_FAILED;
}

/* Reads a whole block header at `offset`; -1 where there is none (yet). */
static int read_block(const struct drainer *drainer, uint64_t offset, struct tfp_block_header *header)
{
	if (pread(drainer->file, header, sizeof *header, (off_t)offset) != (ssize_t)sizeof *header)
		return -1;
	if (header->sync != TFP_BLOCK_SYNC || header->header_bytes != sizeof *header || header->encoded_bytes > TFP_RAW_MAX)
		return -1;
	return tfp_crc32c(0, header, offsetof(struct tfp_block_header, header_crc)) == header->header_crc ? 0 : -1;
}

/* Live blocks begin at a page, so up to a page before them is nobody's. */
static int is_gap(const struct drainer *drainer, uint64_t at, uint64_t boundary)
{
	struct tfp_block_header header;

	return at % drainer->header.page_bytes && !read_block(drainer, boundary, &header) && header.is_live;
}

/* Nothing whole at `hole`: it is looked at again each time, until it is whole or has been a hole for too long. */
static void wait_for_hole(struct drainer *drainer, uint64_t hole, uint64_t next)
{
	drainer->scanned = hole;
	if (drainer->hole != hole) {
		drainer->hole = hole;
		drainer->hole_since_ns = now_ns();
	} else if (next && now_ns() - drainer->hole_since_ns > PATIENCE_NS) {
		drainer->scanned = next;
	}
}

/*
 * Blocks follow each other. Where nothing whole begins, somebody is still writing there, or failed to: what lies behind
 * is looked for at the pages that follow.
 */
static void scan(struct drainer *drainer)
{
	const uint64_t page = drainer->header.page_bytes;
	uint64_t end = __atomic_load_n(&drainer->live->file_end, __ATOMIC_ACQUIRE), at = drainer->scanned, hole = 0, next = 0;
	struct tfp_block_header header;
	struct stat facts;

	if (at + sizeof header > end || fstat(drainer->file, &facts))
		return; /* most looks end here */
	if (end > (uint64_t)facts.st_size)
		end = (uint64_t)facts.st_size; /* space taken and not written yet */
	while (at + sizeof header <= end) {
		if (read_block(drainer, at, &header)) {
			uint64_t boundary = (at + page) & ~(page - 1);

			if (!hole && !is_gap(drainer, at, boundary))
				hole = at;
			at = boundary;
			continue;
		}
		if (hole && !next)
			next = at;
		if (header.type == TFP_BLOCK_CHUNK && header.encoded_bytes > sizeof(struct tfp_chunk) &&
		    at + sizeof header + header.encoded_bytes <= end)
			add_chunk(drainer, at, &header);
		at = (at + sizeof header + header.encoded_bytes + 7) & ~UINT64_C(7);
		if (!hole)
			drainer->scanned = at;
	}
	if (hole)
		wait_for_hole(drainer, hole, next);
}

/* Whether KEEP_FREE forbids that the log, which ends at `old`, grows by so much. Pairs with tfp_spare_forbids. */
static int is_crowded(struct drainer *drainer, uint64_t old, uint64_t bytes)
{
	uint64_t end = old + bytes;

	if (!drainer->spare_bytes || end <= drainer->spare_end)
		return 0;
	if (tfp_spare_is_short("", drainer->file, drainer->spare_bytes + bytes))
		return 1;
	drainer->spare_end = end + tfp_spare_step(drainer->spare_bytes);
	return 0;
}

/* Takes `bytes` at the end of the log; 0 where MAX_BYTES or KEEP_FREE forbids it. Pairs with reserve() of writer/file.c. */
static uint64_t reserve(struct drainer *drainer, uint64_t bytes)
{
	uint64_t old = __atomic_load_n(&drainer->live->file_end, __ATOMIC_RELAXED), start;

	if (is_crowded(drainer, old, bytes))
		return 0;
	do {
		start = (old + 7) & ~UINT64_C(7);
		if (drainer->max_bytes && start + bytes > drainer->max_bytes)
			return 0;
	} while (!__atomic_compare_exchange_n(&drainer->live->file_end, &old, start + bytes, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return start;
}

static int write_all(int file, const uint8_t *from, size_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t done = pwrite(file, from, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		from += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return 0;
}

/* Memory to encode a chunk of that size in. */
static int need_scratch(struct drainer *drainer, size_t chunk_bytes)
{
	size_t bytes = tfp_scratch_bytes(chunk_bytes);

	if (bytes <= drainer->scratch_bytes)
		return 0;
	free(drainer->scratch);
	drainer->scratch = calloc(1, bytes);
	drainer->scratch_bytes = drainer->scratch ? bytes : 0;
	return drainer->scratch ? 0 : -1;
}

/* Writes the chunk's records as an events block. */
static int seal(struct drainer *drainer, const struct part *part)
{
	const struct tfp_chunk *chunk = part->chunk;
	struct tfp_block_header header;
	uint64_t offset, bytes;
	uint8_t *space;

	if (!chunk->used)
		return 0;
	if (chunk->used > part->bytes - sizeof header - sizeof *chunk || need_scratch(drainer, chunk->used))
		return -1;
	memset(&header, 0, sizeof header);
	header.type = TFP_BLOCK_EVENTS;
	header.thread = chunk->thread;
	header.lane = chunk->lane;
	header.sequence = chunk->sequence;
	space = tfp_encode(drainer->scratch, drainer->scratch_bytes, (const uint8_t *)(chunk + 1), chunk->used,
			   drainer->time_shift, &header);
	bytes = (sizeof header + header.encoded_bytes + 7) & ~UINT64_C(7);
	memset(space + sizeof header + header.encoded_bytes, 0, bytes - sizeof header - header.encoded_bytes);
	header.sync = TFP_BLOCK_SYNC;
	header.header_bytes = sizeof header;
	header.payload_crc = tfp_crc32c(0, space + sizeof header, header.encoded_bytes);
	header.header_crc = tfp_crc32c(0, &header, offsetof(struct tfp_block_header, header_crc));
	memcpy(space, &header, sizeof header);
	offset = reserve(drainer, bytes);
	if (!offset || write_all(drainer->file, space, bytes, offset))
		return -1;
	__atomic_fetch_add(&drainer->live->drained_bytes, bytes, __ATOMIC_RELAXED);
	return 0;
}

/* Takes the chunk if it is full. Returns 1 when it was written. */
static size_t drain(struct drainer *drainer, const struct part *part)
{
	struct tfp_chunk *chunk = part->chunk;
	uint64_t full = TFP_CHUNK_FULL;

	/* Pairs with the release store in tfp_drain_hand_over: the records are seen whole. */
	if (!__atomic_compare_exchange_n(&chunk->state, &full, TFP_CHUNK_DRAINING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	if (seal(drainer, part)) {
		drainer->is_refused = 1;
		__atomic_store_n(&chunk->state, TFP_CHUNK_FULL, __ATOMIC_RELEASE);
		return 0;
	}
	__atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE); /* a reader must not take these records for the next ones */
	__atomic_store_n(&chunk->state, TFP_CHUNK_FREE, __ATOMIC_RELEASE);
	return 1;
}

size_t drainer_look(struct drainer *drainer)
{
	size_t i, written = 0;

	if (drainer->is_refused)
		return 0; /* no beat: the program drains itself, fails itself, and counts it */
	tfp_clock_kind = drainer->header.clock_kind; /* one thread, and tfp_ticks is called nowhere else here */
	__atomic_store_n(&drainer->live->helper_beat, tfp_ticks(), __ATOMIC_RELEASE); /* read by tfp_drain_is_running */
	scan(drainer);
	for (i = 0; i < drainer->count && !drainer->is_refused; i++)
		written += drain(drainer, &drainer->parts[i]);
	return written;
}
