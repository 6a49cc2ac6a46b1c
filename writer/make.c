/* SPDX-License-Identifier: Apache-2.0 */
/* Making the log file at start-up: name, file system, first mapping, header. Rule: a failure leaves no file half made. */
#include "writer/crc32c.h"
#include "writer/file.h"
#include "writer/log.h"
#include "writer/signals.h"
#include "writer/spare.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "writer/poison.h"

/* f_type of statfs where a mapped, fallocated file never faults for good: local, and no copy on write after fallocate. */
static const struct {
	uint64_t magic;
	int needs_nocow;
} local_systems[] = {
	{0xef53, 0},     /* ext2, ext3, ext4 */
	{0x58465342, 0}, /* xfs */
	{0x01021994, 0}, /* tmpfs */
	{0x858458f6, 0}, /* ramfs */
	{0x794c7630, 0}, /* overlayfs */
	{0xf2f52010, 0}, /* f2fs */
	{0x3153464a, 0}, /* jfs */
	{0x9123683e, 1}, /* btrfs */
};

static char *add_text(char *at, char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

static char *add_number(char *at, char *end, uint64_t value, unsigned base, unsigned digits)
{
	char text[24];
	unsigned count = 0;

	do
		text[count++] = "0123456789abcdef"[value % base];
	while ((value /= base) || count < digits);
	while (count && at < end)
		*at++ = text[--count];
	return at;
}

/* An absolute path, so that the host's chdir does not lose the log. 0, or -1 when it does not fit. */
static int make_path(struct tfp_log *log, const struct tfp_file_options *options, const struct tfp_file_header *header)
{
	char *at = log->path, *end = log->path + sizeof log->path - 1;

	if (options->directory[0] != '/') {
		long got = tfp_sys(SYS_getcwd, (long)log->path, (long)sizeof log->path, 0, 0, 0, 0);
		if (got <= 1 || log->path[0] != '/')
			return -1;
		at += got - 1;
		at = at[-1] == '/' ? at : add_text(at, end, "/");
	}
	at = add_text(at, end, options->directory);
	*at = 0;
	tfp_sys(SYS_mkdirat, AT_FDCWD, (long)log->path, 0777, 0, 0, 0); /* it may exist; the open below tells */
	if ((size_t)(at - log->path) < sizeof log->total.directory)
		tfp_copy(log->total.directory, log->path, (size_t)(at - log->path));
	at = add_text(at, end, "/");
	at = add_text(at, end, options->host);
	at = add_text(at, end, ".");
	at = add_number(at, end, header->pid, 10, 1);
	at = add_text(at, end, ".");
	at = add_number(at, end, header->log_id, 16, 16);
	at = add_text(at, end, ".tfp");
	*at = 0;
	if (at >= end)
		return -1;
	tfp_copy(log->unborn, log->path, sizeof log->path);
	tfp_copy(log->unborn + (at - log->path) - 3, "new", 3);
	return 0;
}

int tfp_file_is_mappable(long descriptor)
{
	struct statfs system;

	if (tfp_sys(SYS_fstatfs, descriptor, (long)&system, 0, 0, 0, 0) < 0)
		return 0;
	for (size_t i = 0; i < sizeof local_systems / sizeof *local_systems; i++) {
		if ((uint64_t)(uint32_t)system.f_type != local_systems[i].magic)
			continue;
		int flags = 0;
		if (!local_systems[i].needs_nocow)
			return 1;
		if (tfp_sys(SYS_ioctl, descriptor, FS_IOC_GETFLAGS, (long)&flags, 0, 0, 0) < 0)
			return 0;
		flags |= FS_NOCOW_FL;
		return tfp_sys(SYS_ioctl, descriptor, FS_IOC_SETFLAGS, (long)&flags, 0, 0, 0) == 0;
	}
	return 0;
}

/* Past RLIMIT_FSIZE a write or fallocate raises SIGXFSZ, which kills: ask first. */
int tfp_file_fits(uint64_t end)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	tfp_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
	return end <= limit.rlim_cur;
}

#define STOPS_MOST 8 /* SIGSTOP and debuggers cannot be held back */

/* Before Linux 6.18 tmpfs gives up, and all of it, where a signal of the host waits to be delivered: then with none delivered meanwhile. */
long tfp_file_allocate(long descriptor, uint64_t offset, uint64_t bytes)
{
	struct tfp_signals signals;
	long done = tfp_sys(SYS_fallocate, descriptor, 0, (long)offset, (long)bytes, 0, 0);

	if (done != -EINTR)
		return done;
	tfp_signals_block(&signals);
	for (int tries = 0; done == -EINTR && tries < STOPS_MOST; tries++)
		done = tfp_sys(SYS_fallocate, descriptor, 0, (long)offset, (long)bytes, 0, 0);
	tfp_signals_restore(&signals);
	return done;
}

/* Maps the first part, or puts private memory in its place. NULL: neither could be had. */
static void *map_first(struct tfp_log *log, long descriptor)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	tfp_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
	if (limit.rlim_cur < log->first_bytes)
		return NULL;
	if (tfp_file_is_mappable(descriptor)) {
		long done = tfp_file_allocate(descriptor, 0, log->first_bytes);
		if (done == -ENOSPC || done == -EDQUOT)
			return NULL;
		void *start = done < 0 ? NULL : tfp_pages_share(descriptor, 0, log->first_bytes);
		if (start)
			return start;
	}
	log->is_shadow = 1;
	return tfp_shadow_begin(log);
}

static void store_header(struct tfp_log *log, struct tfp_file_header *header)
{
	tfp_copy(header->magic, TFP_FILE_MAGIC, sizeof header->magic);
	header->major = TFP_FORMAT_MAJOR;
	header->minor = TFP_FORMAT_MINOR;
	header->header_bytes = sizeof *header;
	header->byte_order = TFP_BYTE_ORDER;
	header->page_bytes = (uint32_t)log->page_bytes;
	header->live_offset = TFP_LIVE_OFFSET;
	header->live_bytes = sizeof(struct tfp_file_live);
	header->thread_slot_bytes = sizeof(struct tfp_thread_slot);
	header->loss_count = TFP_LOSS_SLOTS;
	header->flags |= !log->is_shadow ? 0 : log->shadow_path[0] ? TFP_FILE_SHADOWED : TFP_FILE_NOT_KILL_SAFE;
	header->header_crc = tfp_crc32c(0, header, offsetof(struct tfp_file_header, header_crc));
	tfp_copy(log->first, header, sizeof *header);
}

/* Whether the place is what forbids the file, not a want of something. */
static int is_refusal(long error)
{
	return error == -EACCES || error == -EPERM || error == -ENOENT || error == -ENOTDIR || error == -EROFS || error == -ELOOP;
}

/* Opens the new file; its first part mapped. Returns the descriptor, or a negative loss kind. */
static long open_log(struct tfp_log *log)
{
	struct stat status;
	long descriptor = tfp_sys(SYS_openat, AT_FDCWD, (long)log->unborn, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				  0666, 0, 0);

	if (descriptor < 0)
		return is_refusal(descriptor) ? -TFP_LOSS_output_none : -TFP_LOSS_output_write;
	if (tfp_sys(SYS_fstat, descriptor, (long)&status, 0, 0, 0, 0) == 0) {
		log->device = status.st_dev;
		log->inode = status.st_ino;
		log->first = map_first(log, descriptor);
	}
	if (log->first)
		return descriptor;
	tfp_sys(SYS_unlinkat, AT_FDCWD, (long)log->unborn, 0, 0, 0, 0);
	tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
	return -TFP_LOSS_output_write;
}

/* The header stands, also in the file itself where that is not mapped: the file gets its name. */
static void name_log(struct tfp_log *log, long descriptor, const struct tfp_file_header *header)
{
	if (log->is_shadow)
		tfp_sys(SYS_pwrite64, descriptor, (long)header, sizeof *header, 0, 0, 0);
	if (tfp_sys(SYS_renameat, AT_FDCWD, (long)log->unborn, AT_FDCWD, (long)log->path, 0, 0) < 0)
		tfp_copy(log->path, log->unborn, sizeof log->path);
}

/* The new file where it may be: its descriptor, or a negative loss kind. */
static long find_place(struct tfp_log *log, const struct tfp_file_options *options, const struct tfp_file_header *header)
{
	if (make_path(log, options, header))
		return -TFP_LOSS_output_none;
	enum tfp_loss why = log->total.limit ? tfp_total_join(log) : TFP_LOSS_NONE;
	return why ? -(long)why : open_log(log);
}

enum tfp_loss tfp_file_make(const struct tfp_file_options *options, struct tfp_file_header *header)
{
	struct tfp_log *log = tfp_pages_get(sizeof *log, 1);

	if (!log)
		return TFP_LOSS_memory;
	uint64_t page = getauxval(AT_PAGESZ);
	log->id = header->log_id;
	log->page_bytes = page ? page : 4096;
	log->first_bytes = (TFP_FIRST_BYTES + log->page_bytes - 1) & ~(log->page_bytes - 1);
	log->max_bytes = options->max_bytes;
	log->total.limit = options->max_total_bytes;
	log->total.is_wrapping = options->is_wrapping;
	long descriptor = find_place(log, options, header);
	if (descriptor < 0) {
		tfp_total_leave(log);
		tfp_pages_put(log, sizeof *log);
		return (enum tfp_loss)-descriptor;
	}
	log->is_wrapping = options->is_wrapping && (log->max_bytes || log->total.sum);
	if (log->is_wrapping) {
		log->events = tfp_pages_get(TFP_EVENT_BLOCKS * sizeof *log->events, 1);
		log->is_wrapping = log->events != NULL;
	}
	log->spare_bytes = tfp_spare_bytes(descriptor, options->keep_free);
	log->spare_end = log->first_bytes; /* the disk has them */
	log->live = (struct tfp_file_live *)(log->first + TFP_LIVE_OFFSET);
	log->live->file_end = log->page_bytes;
	store_header(log, header);
	name_log(log, descriptor, header);
	tfp_total_enter(log);
	long high = tfp_file_raise(descriptor);
	tfp_sys(SYS_close, descriptor, 0, 0, 0, 0, 0);
	tfp_origin.descriptor = (int)high;
	tfp_origin.device = log->device;
	tfp_origin.inode = log->inode;
	tfp_origin.is_mapped = !log->is_shadow;
	tfp_state->log = log;
	tfp_state->live = log->live;
	return TFP_LOSS_NONE;
}

#define LIVE_END (TFP_LIVE_OFFSET + sizeof(struct tfp_file_live))

struct tfp_file_live *tfp_file_inherited(void)
{
	struct stat status;

	if (!tfp_origin.is_mapped || tfp_origin.descriptor < 0 ||
	    tfp_sys(SYS_fstat, tfp_origin.descriptor, (long)&status, 0, 0, 0, 0) < 0 || status.st_dev != tfp_origin.device ||
	    status.st_ino != tfp_origin.inode || (uint64_t)status.st_size < LIVE_END)
		return NULL;
	char *start = tfp_pages_share(tfp_origin.descriptor, 0, LIVE_END);
	return start ? (struct tfp_file_live *)(start + TFP_LIVE_OFFSET) : NULL;
}

void tfp_file_inherited_done(struct tfp_file_live *live)
{
	tfp_pages_put((char *)live - TFP_LIVE_OFFSET, LIVE_END);
}
