/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to the log; see writer/file.h. Rule: a failure is a loss kind, never an error of the host. */
#include "writer/file.h"

#include "writer/crc32c.h"
#include "writer/log.h"
#include "writer/signals.h"
#include "writer/spare.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define ROOM_TRIES 64u   /* for room that other threads take as fast as it is made */
#define LIVE_PART 4u     /* of a limit, for live blocks that could be smaller or fewer: the rest is for what was recorded */
#define SYNC_MOST 8388608u /* bytes of live blocks copied to a network disk each second: as many as outlive the process (shadow.c) */
#define ABOVE 256u       /* descriptors: those of 200 threads' readings and the log */
#define ABOVE_MOST 4096u /* a higher number makes the table of descriptors large, which each fork copies: 8 bytes a number */

static int is_our_file(const struct tfp_log *log, long descriptor)
{
	struct stat status;

	return tfp_sys(SYS_fstat, descriptor, (long)&status, 0, 0, 0, 0) == 0 && status.st_dev == log->device &&
	       status.st_ino == log->inode;
}

/* With the limit wider by ABOVE at most for this one call, as a process that another thread starts in it would keep that. */
static long raise_within(long descriptor, const struct rlimit *limit)
{
	static struct rlimit wide, found; /* not on the stack, of which hooks have little: the caller is alone here */

	wide = (struct rlimit){limit->rlim_cur + ABOVE, limit->rlim_max};
	if (wide.rlim_max == limit->rlim_cur) /* root may */
		wide.rlim_max = wide.rlim_cur;
	else if (wide.rlim_cur > wide.rlim_max)
		wide.rlim_cur = wide.rlim_max;
	if (tfp_is_error(tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&wide, 0, 0, 0)))
		return -1;
	found = wide;
	long high = tfp_sys(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, (long)limit->rlim_cur, 0, 0, 0);
	tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)limit, (long)&found, 0, 0);
	if (found.rlim_cur != wide.rlim_cur || found.rlim_max != wide.rlim_max) /* the host's, set just now */
		tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&found, 0, 0, 0);
	return high;
}

/*
 * Above the soft limit no number is the host's: it has as many descriptors as without us. One thread of ours at a time, or the
 * second would restore what the first has widened. -1: somebody is at it, the number would be too high, the kernel says no.
 */
static long raise_above(long descriptor)
{
	static _Atomic int is_raising;
	static struct rlimit limit;
	int none = 0;
	long high = -1;

	if (!__atomic_compare_exchange_n((int *)&is_raising, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -1;
	if (!tfp_is_error(tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0)) && limit.rlim_cur <= ABOVE_MOST)
		high = raise_within(descriptor, &limit);
	__atomic_store_n((int *)&is_raising, 0, __ATOMIC_RELEASE);
	return high;
}

/*
 * Puts the descriptor where the host's own will not be: above its soft limit, or, where the hard one forbids that, near the
 * soft limit and below 1024; and then under a limit of 64 none is kept.
 */
long tfp_file_raise(long descriptor)
{
	struct rlimit limit = {1024, 1024};
	long above = raise_above(descriptor);

	if (above >= 0)
		return above;
	tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (limit.rlim_cur < 64)
		return -1;
	uint64_t top = limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
	for (uint64_t low = top - 8; low > 16; low /= 2) {
		long high = tfp_sys(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, (long)low, 0, 0, 0);
		if (high >= 0)
			return high;
	}
	return -1;
}

long tfp_file_borrow(struct tfp_log *log, int *is_kept)
{
	int known = __atomic_load_n(&tfp_origin.descriptor, __ATOMIC_ACQUIRE);
	long descriptor = known;

	*is_kept = 1;
	if (descriptor >= 0 && is_our_file(log, descriptor))
		return descriptor;
	descriptor = tfp_sys(SYS_openat, AT_FDCWD, (long)log->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
	if (descriptor < 0)
		return tfp_sys_is_sealed() ? -TFP_LOSS_sealed_process : -TFP_LOSS_output_gone;
	if (!is_our_file(log, descriptor)) {
		tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
		return -TFP_LOSS_output_gone;
	}
	/* A vfork child has its own descriptor table but our memory: what it opens must not become the parent's number. */
	long high = tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) == (long)tfp_state->pid ? tfp_file_raise(descriptor) : -1;
	if (high < 0) {
		*is_kept = 0;
		return descriptor;
	}
	tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
	/* Another thread, or a handler that came between, may have reopened it too: then this one is for once. */
	*is_kept = __atomic_compare_exchange_n(&tfp_origin.descriptor, &known, (int)high, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return high;
}

void tfp_file_give_back(long descriptor, int is_kept)
{
	if (!is_kept)
		tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
}

/* Hands out `bytes` at a multiple of `alignment`; *before: where the log ended. 0 when a limit, less what is kept free, forbids it. */
static uint64_t reserve(struct tfp_log *log, uint64_t bytes, uint64_t alignment, uint64_t kept_free, uint64_t *before)
{
	uint64_t old = __atomic_load_n(&log->live->file_end, __ATOMIC_RELAXED), start;

	if (kept_free && tfp_spare_forbids(log, old, bytes, tfp_origin.descriptor))
		return 0;
	do {
		start = (old + alignment - 1) & ~(alignment - 1);
		if ((log->max_bytes && start + bytes + kept_free - log->dropped_bytes > log->max_bytes) ||
		    tfp_total_forbids(log, start + bytes, kept_free))
			return 0;
	} while (!__atomic_compare_exchange_n(&log->live->file_end, &old, start + bytes, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*before = old;
	tfp_total_follow(log);
	return start;
}

/* Why nothing was handed out. */
static enum tfp_loss limit_of(const struct tfp_log *log)
{
	return __atomic_load_n(&log->is_crowded, __ATOMIC_RELAXED) ? TFP_LOSS_kept_free : TFP_LOSS_output_limit;
}

/* What was handed out up to `end` and could not be used goes back, unless somebody was handed the next piece. */
static void unreserve(struct tfp_log *log, uint64_t before, uint64_t end)
{
	__atomic_compare_exchange_n(&log->live->file_end, &end, before, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	tfp_total_follow(log);
}

static void finish_header(struct tfp_block_header *header, const void *payload)
{
	header->sync = TFP_BLOCK_SYNC;
	header->header_bytes = sizeof *header;
	header->payload_crc = payload ? tfp_crc32c(0, payload, header->encoded_bytes) : 0;
	header->header_crc = tfp_crc32c(0, header, offsetof(struct tfp_block_header, header_crc));
}

/* Maps [offset, offset + bytes) of the log, space on disk assured. NULL with *why set. */
static void *map_part(struct tfp_log *log, uint64_t offset, uint64_t bytes, enum tfp_loss *why)
{
	*why = TFP_LOSS_memory;
	if (offset + bytes <= log->first_bytes)
		return log->first + offset;
	if (log->is_shadow) {
		int is_kill_safe;
		uint32_t index = log->shadow_count < TFP_SHADOWS ? __atomic_fetch_add(&log->shadow_count, 1, __ATOMIC_RELAXED)
								 : TFP_SHADOWS;
		void *memory = index < TFP_SHADOWS ? tfp_shadow_map(log, offset, bytes, &is_kill_safe) : NULL;

		if (!memory)
			return NULL;
		if (!is_kill_safe)
			tfp_loss_note(TFP_LOSS_not_kill_safe);
		log->shadows[index].offset = offset;
		log->shadows[index].bytes = bytes;
		__atomic_store_n(&log->shadows[index].memory, memory, __ATOMIC_RELEASE); /* read by tfp_file_sync of any thread */
		return memory;
	}
	*why = TFP_LOSS_output_write;
	if (!tfp_file_fits(offset + bytes))
		return NULL;
	int is_kept;
	long descriptor = tfp_file_borrow(log, &is_kept);
	if (descriptor < 0) {
		*why = (enum tfp_loss)-descriptor;
		return NULL;
	}
	void *start = NULL;
	if (!tfp_is_error(tfp_file_allocate(descriptor, offset, bytes))) {
		*why = TFP_LOSS_memory;
		start = tfp_pages_share(descriptor, offset, bytes);
	}
	tfp_file_give_back(descriptor, is_kept);
	return start;
}

/* *written: the bytes that are in the file, also after a failure. */
static enum tfp_loss write_at(struct tfp_log *log, const void *from, uint64_t bytes, uint64_t offset, uint64_t *written)
{
	const char *data = from;
	int is_kept;

	*written = 0;
	if (!tfp_file_fits(offset + bytes))
		return TFP_LOSS_output_write;
	long descriptor = tfp_file_borrow(log, &is_kept);
	if (descriptor < 0)
		return (enum tfp_loss)-descriptor;
	while (bytes) {
		long done = tfp_sys(SYS_pwrite64, descriptor, (long)data, (long)bytes, (long)offset, 0, 0);
		if (done == -EINTR)
			continue;
		if (done <= 0)
			break;
		data += done;
		*written += (uint64_t)done;
		offset += (uint64_t)done;
		bytes -= (uint64_t)done;
	}
	tfp_file_give_back(descriptor, is_kept);
	return bytes ? TFP_LOSS_output_write : TFP_LOSS_NONE;
}

/*
 * A full disk takes the first pages of a block: they are made zeros again before the space goes back, because the next who is
 * handed it may be a live block, which counts on zeros. Where that cannot be done the space stays taken, and the torn block seen.
 */
static void take_back(struct tfp_log *log, uint64_t before, uint64_t start, uint64_t bytes, uint64_t written)
{
	long result = 0;
	int is_kept;

	if (written) {
		long descriptor = tfp_file_borrow(log, &is_kept);
		if (descriptor < 0)
			return;
		result = tfp_sys(SYS_fallocate, descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)start,
				 (long)written, 0, 0);
		tfp_file_give_back(descriptor, is_kept);
	}
	if (!tfp_is_error(result))
		unreserve(log, before, start + bytes);
}

/* Reserves; with FULL=wrap room is made for it, again where other threads took that. 0 = there is none. */
static uint64_t reserve_over_oldest(struct tfp_log *log, uint64_t bytes, uint64_t alignment, uint64_t kept_free, uint64_t *before)
{
	uint64_t whole = (bytes + alignment - 1) & ~(alignment - 1), offset = 0;

	if (!log->is_wrapping)
		return reserve(log, bytes, alignment, kept_free, before);
	for (unsigned tries = 0; !offset && tries < ROOM_TRIES; tries++) {
		int is_made = tfp_wrap_make_room(log, whole);
		offset = reserve(log, bytes, alignment, kept_free, before);
		if (!is_made)
			break;
	}
	return offset;
}

static void *make_live_block(const struct tfp_block_header *header, size_t payload_bytes, struct tfp_live_place *place,
			     enum tfp_loss *why)
{
	struct tfp_log *log = tfp_state->log;
	uint64_t bytes = (sizeof *header + payload_bytes + log->page_bytes - 1) & ~(log->page_bytes - 1);
	uint64_t before, kept_free = header->type == TFP_BLOCK_THREADS ? 0 : TFP_COUNTERS_BYTES;

	/* With FULL=wrap, else a thread that begins now would record nothing, nor those that take over its state. */
	uint64_t offset = reserve_over_oldest(log, bytes, log->page_bytes, kept_free, &before);
	if (!offset) {
		*why = limit_of(log);
		return NULL;
	}
	struct tfp_block_header *block = map_part(log, offset, bytes, why);
	if (!block) {
		unreserve(log, before, offset + bytes);
		return NULL;
	}
	if (!log->is_shadow) /* before anything is in it */
		tfp_log_raise(&log->live->mapped_end, offset + bytes);
	__atomic_fetch_add(&log->live_bytes, bytes, __ATOMIC_RELAXED);
	*place = (struct tfp_live_place){.room = bytes - sizeof *header, .offset = offset};
	struct tfp_block_header mine = *header;
	mine.is_live = 1;
	mine.encoded_bytes = mine.raw_bytes = place->room;
	finish_header(&mine, NULL);
	tfp_copy(block, &mine, sizeof mine);
	return block + 1;
}

/* A handler that leaves in here by longjmp would leave room of the log that nobody writes. */
void *tfp_file_live_block(const struct tfp_block_header *header, size_t payload_bytes, struct tfp_live_place *place,
			  enum tfp_loss *why)
{
	struct tfp_signals signals;

	if (tfp_file_is_remote())
		return make_live_block(header, payload_bytes, place, why);
	tfp_signals_block(&signals);
	void *block = make_live_block(header, payload_bytes, place, why);
	tfp_signals_restore(&signals);
	return block;
}

int tfp_file_may_grow(uint64_t bytes)
{
	const struct tfp_log *log = tfp_state->log;
	uint64_t limit = log->max_bytes ? log->max_bytes : log->total.sum ? log->total.limit : 0;

	return !limit || __atomic_load_n(&log->live_bytes, __ATOMIC_RELAXED) + bytes <= limit / LIVE_PART;
}

enum tfp_loss tfp_file_seal(struct tfp_block_header *header, void *space)
{
	struct tfp_log *log = tfp_state->log;
	uint64_t bytes = (sizeof *header + header->encoded_bytes + 7) & ~UINT64_C(7);
	uint64_t alignment = log->is_wrapping ? log->page_bytes : 8; /* holes are punched in whole pages */
	uint64_t whole = (bytes + alignment - 1) & ~(alignment - 1);

	if (tfp_total_forbids(log, tfp_wrap_end(log, whole), TFP_COUNTERS_BYTES))
		tfp_total_reclaim(log, whole + TFP_COUNTERS_BYTES);
	uint64_t before, offset = reserve_over_oldest(log, bytes, alignment, TFP_COUNTERS_BYTES, &before);
	if (!offset)
		return limit_of(log);
	tfp_fill((char *)space + sizeof *header + header->encoded_bytes, 0, bytes - sizeof *header - header->encoded_bytes);
	finish_header(header, (char *)space + sizeof *header);
	tfp_copy(space, header, sizeof *header);
	if (offset + bytes <= log->first_bytes) {
		tfp_copy(log->first + offset, space, bytes);
	} else {
		uint64_t written;
		enum tfp_loss why = write_at(log, space, bytes, offset, &written);
		if (why) {
			take_back(log, before, offset, bytes, written);
			return why;
		}
	}
	__atomic_fetch_add(&log->live->drained_bytes, bytes, __ATOMIC_RELAXED);
	if (log->is_wrapping && header->type == TFP_BLOCK_EVENTS)
		tfp_wrap_remember(log, offset, bytes, header->records);
	return TFP_LOSS_NONE;
}

enum tfp_loss tfp_file_seal_apart(struct tfp_block_header *header, const void *payload)
{
	struct tfp_log *log = tfp_state->log;
	uint64_t bytes = (header->encoded_bytes + 7) & ~UINT64_C(7), whole = sizeof *header + bytes, written = 0;
	uint64_t before, offset = reserve(log, whole, log->is_wrapping ? log->page_bytes : 8, TFP_COUNTERS_BYTES, &before);

	if (!offset)
		return limit_of(log);
	finish_header(header, payload);
	if (log->is_shadow && offset + whole <= log->first_bytes) {
		tfp_copy(log->first + offset, header, sizeof *header);
		tfp_copy(log->first + offset + sizeof *header, payload, header->encoded_bytes);
	} else {
		enum tfp_loss why = write_at(log, header, sizeof *header, offset, &written);
		if (!why)
			why = write_at(log, payload, header->encoded_bytes, offset + sizeof *header, &written);
		if (why) {
			take_back(log, before, offset, whole, sizeof *header + written);
			return why;
		}
	}
	__atomic_fetch_add(&log->live->drained_bytes, whole, __ATOMIC_RELAXED);
	return TFP_LOSS_NONE;
}

int tfp_file_can_detach(uint64_t offset)
{
	const struct tfp_log *log = tfp_state->log;

	return !log->is_shadow && offset >= log->first_bytes;
}

/* Puts private memory with the same content in the place of mapped pages. There is no instant without it. */
static int make_private(char *pages, uint64_t bytes)
{
	long copy = tfp_sys(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (tfp_is_error(copy))
		return -1;
	tfp_copy((void *)copy, pages, bytes);
	/* A fork child finds nothing there, as before (tfp_pages_share). */
	if (!tfp_is_error(tfp_sys(SYS_madvise, copy, (long)bytes, MADV_DONTFORK, 0, 0, 0)) &&
	    !tfp_is_error(tfp_sys(SYS_mremap, copy, (long)bytes, (long)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (long)pages, 0)))
		return 0;
	tfp_sys(SYS_munmap, copy, (long)bytes, 0, 0, 0, 0);
	return -1;
}

int tfp_file_detach(void *payload, size_t bytes, uint64_t offset)
{
	struct tfp_log *log = tfp_state->log;
	uint64_t page = log->page_bytes, whole = (sizeof(struct tfp_block_header) + bytes + page - 1) & ~(page - 1);
	int is_kept;
	long descriptor = tfp_file_borrow(log, &is_kept);

	if (descriptor < 0)
		return -1;
	int result = make_private((char *)payload - sizeof(struct tfp_block_header) + page, whole - page);
	if (!result)
		result = tfp_is_error(tfp_sys(SYS_fallocate, descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  (long)(offset + page), (long)(whole - page), 0, 0)) ? -1 : 0;
	if (!result)
		__atomic_fetch_add(&log->dropped_bytes, whole - page, __ATOMIC_RELAXED);
	tfp_total_follow(log);
	tfp_file_give_back(descriptor, is_kept);
	return result;
}

int tfp_file_is_counted(void)
{
	return tfp_state->log->total.sum != NULL;
}

int tfp_file_is_remote(void)
{
	return tfp_state->log->is_shadow;
}

int tfp_file_descriptor(void)
{
	return tfp_origin.descriptor;
}

int tfp_file_is_at(int descriptor)
{
	struct stat status;

	if (descriptor < 0 || descriptor != tfp_origin.descriptor)
		return 0;
	if (tfp_sys(SYS_fstat, descriptor, (long)&status, 0, 0, 0, 0) == 0 && status.st_dev == tfp_origin.device &&
	    status.st_ino == tfp_origin.inode)
		return 1;
	/* It was closed behind our back and the number is the host's now. */
	__atomic_compare_exchange_n(&tfp_origin.descriptor, &descriptor, -1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return 0;
}

void tfp_file_abandon(void)
{
	struct tfp_log *log = tfp_state->log;
	int descriptor = tfp_origin.descriptor;

	if (tfp_file_is_at(descriptor))
		tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
	tfp_origin.descriptor = -1;
	log->path[0] = log->shadow_path[0] = 0;
	log->inode = 0;
	log->total.sum = NULL;
}

void tfp_file_move(void)
{
	int old = tfp_origin.descriptor;

	/* A vfork child has descriptors of its own: what it puts at the number does not touch ours. */
	if (old < 0 || (tfp_state && tfp_state->pid && tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid))
		return;
	long high = tfp_file_raise(old);
	if (__atomic_compare_exchange_n(&tfp_origin.descriptor, &old, (int)high, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		tfp_sys(SYS_close, old, 0, 0, 0, 0, 0);
	else if (high >= 0)
		tfp_sys(SYS_close, high, 0, 0, 0, 0, 0);
}

void tfp_file_end(void)
{
	tfp_file_sync();
	if (tfp_state->log->is_shadow)
		tfp_shadow_end(tfp_state->log);
}

/* The first part and blocks in turn, from where the last time ended, until `most` bytes of them are written. */
static void write_shadows(struct tfp_log *log, uint64_t most)
{
	uint32_t count = log->shadow_count < TFP_SHADOWS ? log->shadow_count : TFP_SHADOWS;
	uint32_t from = __atomic_load_n(&log->shadow_next, __ATOMIC_RELAXED), i;
	uint64_t written, all = 0;

	write_at(log, log->first, log->first_bytes, 0, &written);
	for (i = 0; i < count && all < most; i++) {
		const struct tfp_shadow *shadow = &log->shadows[(from + i) % count];
		const void *memory = __atomic_load_n(&shadow->memory, __ATOMIC_ACQUIRE);
		if (!memory)
			continue;
		write_at(log, memory, shadow->bytes, shadow->offset, &written);
		all += shadow->bytes;
	}
	__atomic_store_n(&log->shadow_next, from + i, __ATOMIC_RELAXED);
}

void tfp_file_sync(void)
{
	if (tfp_state->log->is_shadow)
		write_shadows(tfp_state->log, UINT64_MAX);
}

void tfp_file_sync_some(void)
{
	if (tfp_state->log->is_shadow)
		write_shadows(tfp_state->log, SYNC_MOST);
}
