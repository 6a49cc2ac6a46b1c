/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs that a run has left.
 *
 * Rule: a log is found by what its header says, never by its name alone. The one
 * thing written is the END block, at an offset taken from the log's own atomic file_end, as any writer of the log does.
 */
#include "launcher/logs.h"

#include "launcher/say.h"
#include "writer/crc32c.h"
#include "writer/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns 0 when `descriptor` begins with a whole header of a version we know. */
static int read_header(int descriptor, struct tfp_file_header *header)
{
	if (pread(descriptor, header, sizeof *header, 0) != (ssize_t)sizeof *header)
		return -1;
	if (memcmp(header->magic, TFP_FILE_MAGIC, sizeof header->magic) || header->byte_order != TFP_BYTE_ORDER)
		return -1;
	if (header->major != TFP_FORMAT_MAJOR || header->header_bytes < sizeof *header)
		return -1;
	return header->header_crc == tfp_crc32c(0, header, offsetof(struct tfp_file_header, header_crc)) ? 0 : -1;
}

/* Whether the log is of that process, whatever job it believes to be in. */
static int is_of(const struct tfp_file_header *header, pid_t pid, uint64_t start)
{
	return header->pid == (uint32_t)pid && (!start || !header->process_start || header->process_start == start);
}

static void take_first(struct logs *logs, const char *path, const struct tfp_file_header *header)
{
	if (logs->first && header->origin.realtime_ns >= logs->first_start_ns)
		return;
	free(logs->first);
	logs->first = say_text("%s", path);
	logs->first_start_ns = header->origin.realtime_ns;
}

static void take(struct logs *logs, const char *path, const struct stat *facts, const struct tfp_file_header *header,
		 const uint8_t job_id[16], int is_program)
{
	if (!is_program && memcmp(header->job_id, job_id, sizeof header->job_id))
		return;
	logs->count++;
	logs->disk_bytes += (uint64_t)facts->st_blocks * 512; /* st_blocks: stat(2) */
	take_first(logs, path, header);
	if (!is_program || (logs->program && header->exec_count < logs->program_exec_count))
		return;
	free(logs->program);
	logs->program = say_text("%s", path);
	logs->program_exec_count = header->exec_count;
}

struct logs logs_find(const char *directory, const uint8_t job_id[16], int64_t since_s, pid_t pid, uint64_t start)
{
	struct logs logs = {0};
	DIR *folder = opendir(directory);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		const char *suffix = strrchr(entry->d_name, '.');
		struct tfp_file_header header;
		struct stat facts;
		char *path;
		int descriptor;

		if (!suffix || strcmp(suffix, ".tfp"))
			continue;
		path = say_text("%s/%s", directory, entry->d_name);
		descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (descriptor >= 0 && !fstat(descriptor, &facts) && S_ISREG(facts.st_mode) &&
		    facts.st_mtime >= since_s && !read_header(descriptor, &header))
			take(&logs, path, &facts, &header, job_id, is_of(&header, pid, start));
		if (descriptor >= 0)
			close(descriptor);
		free(path);
	}
	if (folder)
		closedir(folder);
	return logs;
}

void logs_free(struct logs *logs)
{
	free(logs->program);
	free(logs->first);
	logs->program = logs->first = NULL;
}

struct end_block {
	struct tfp_block_header header;
	struct tfp_end_payload payload;
};

static void fill_end(struct end_block *block, const struct logs_end *end)
{
	struct timespec now;

	memset(block, 0, sizeof *block);
	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now) == 0) /* as the log's own: no library that fakes times */
		block->payload.raw_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	clock_gettime(CLOCK_REALTIME, &now);
	block->payload.realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	block->payload.wait_status = end->wait_status;
	block->payload.pid = (uint32_t)end->pid;
	block->payload.memory_limit_bytes = end->memory.limit_bytes;
	block->payload.memory_kills = end->memory.kills;
	block->payload.machine_memory_kills = end->memory.machine_kills;
	block->header.sync = TFP_BLOCK_SYNC;
	block->header.header_bytes = sizeof block->header;
	block->header.type = TFP_BLOCK_END;
	block->header.codec = TFP_CODEC_NONE;
	block->header.encoded_bytes = block->header.raw_bytes = sizeof block->payload;
	block->header.payload_crc = tfp_crc32c(0, &block->payload, sizeof block->payload);
	block->header.header_crc = tfp_crc32c(0, &block->header, offsetof(struct tfp_block_header, header_crc));
}

static int append(int descriptor, struct tfp_file_live *live, const struct logs_end *end, int is_own)
{
	const uint64_t bytes = (sizeof(struct end_block) + 7) & ~UINT64_C(7);
	struct end_block block;
	uint64_t offset;
	ssize_t length;

	/* pairs with the writer's own fetch-add of file_end: its helper may still write, and where it is not its own log, the process */
	offset = __atomic_fetch_add(&live->file_end, bytes, __ATOMIC_ACQ_REL);
	fill_end(&block, end);
	length = pwrite(descriptor, &block, sizeof block, (off_t)offset);
	if (length != (ssize_t)sizeof block) {
		if (length >= 0)
			errno = ENOSPC;
		return -1;
	}
	if (is_own && live->end_kind == TFP_END_NONE) {
		live->end_status = (uint64_t)(uint32_t)end->wait_status;
		__atomic_store_n(&live->end_kind, TFP_END_WAITED, __ATOMIC_RELEASE); /* readers of a live log: status first */
	}
	return 0;
}

#define LIVE_BYTES (TFP_LIVE_OFFSET + sizeof(struct tfp_file_live))

/* The begin of a log or of the memory that stands in for it, mapped; MAP_FAILED: it has none. */
static uint8_t *map_begin(int descriptor)
{
	struct stat facts;

	if (fstat(descriptor, &facts) || (size_t)facts.st_size < LIVE_BYTES)
		return MAP_FAILED;
	return mmap(NULL, LIVE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

/* Shared memory that stands in for a log on no local disk, and outlived its process. MAP_FAILED: there is none, or it is another log's. */
static uint8_t *map_shadow(const struct tfp_file_header *header)
{
	char *path = say_text("%s/tfprof.%016" PRIx64, TFP_SHADOW_DIRECTORY, header->log_id);
	int descriptor = header->flags & TFP_FILE_SHADOWED ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	uint8_t *begin = MAP_FAILED;
	struct tfp_file_header other;

	free(path);
	if (descriptor < 0)
		return MAP_FAILED;
	if (!read_header(descriptor, &other) && other.log_id == header->log_id &&
	    !memcmp(other.boot_id, header->boot_id, sizeof other.boot_id))
		begin = map_begin(descriptor);
	close(descriptor);
	return begin;
}

/*
 * A log on no local disk says in its own begin what was so when that was last written, up to a second ago: blocks lie behind the end
 * that it names. Where nothing else stands in for it (its process ended, and its memory is gone) the file's own end is taken.
 */
static int find_end(int descriptor, struct tfp_file_live *live, int is_own)
{
	struct stat facts;

	/* Its process may go on, and nobody else knows what it handed out. */
	if (!is_own && live->end_kind == TFP_END_NONE) {
		errno = EBUSY;
		return -1;
	}
	if (fstat(descriptor, &facts))
		return -1;
	if (live->file_end < (uint64_t)facts.st_size)
		live->file_end = ((uint64_t)facts.st_size + 7) & ~UINT64_C(7);
	return 0;
}

static int append_to(int descriptor, uint8_t *begin, const struct tfp_file_header *header, const struct logs_end *end, int is_own)
{
	uint8_t *shadow = map_shadow(header);
	int result;

	if (shadow != MAP_FAILED) {
		result = append(descriptor, (struct tfp_file_live *)(shadow + TFP_LIVE_OFFSET), end, is_own);
		munmap(shadow, LIVE_BYTES);
		return result;
	}
	if (header->flags & (TFP_FILE_SHADOWED | TFP_FILE_NOT_KILL_SAFE) &&
	    find_end(descriptor, (struct tfp_file_live *)(begin + TFP_LIVE_OFFSET), is_own))
		return -1;
	return append(descriptor, (struct tfp_file_live *)(begin + TFP_LIVE_OFFSET), end, is_own);
}

int logs_append_end(const char *path, const struct logs_end *end, int is_own)
{
	int result = -1, descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct tfp_file_header header;
	uint8_t *begin;

	if (descriptor < 0)
		return -1;
	begin = read_header(descriptor, &header) ? MAP_FAILED : map_begin(descriptor);
	if (begin != MAP_FAILED) {
		result = append_to(descriptor, begin, &header, end, is_own);
		munmap(begin, LIVE_BYTES);
	}
	close(descriptor);
	return result;
}
