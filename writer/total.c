/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of all logs of a directory; see writer/total.h. Rule: a mapped page is allocated first, so that no store faults. */
#include "writer/total.h"

#include "writer/clock.h"
#include "writer/log.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/poison.h"

#define START_BYTES (UINT64_C(1) << 19) /* least room to begin with: a Python that ends at once writes 0.4 MB */
#define PAGE_ENTRIES (TFP_TOTAL_LIST / (uint32_t)sizeof(struct tfp_total_entry))
#define LOOKS 16u /* pages of entries looked at for one log: 3 us each where all are free, 70 where none is */
#define TRIES 8u  /* entries; those that are taken are of processes that live longer than 16,000 others */

_Static_assert(sizeof(struct tfp_total_entry) == 128, "entries do not cross pages");
_Static_assert(sizeof(struct tfp_total) <= TFP_TOTAL_LIST, "the list begins behind the sum");

static int is_over(const struct tfp_total_share *share, uint64_t bytes)
{
	int64_t sum = (int64_t)__atomic_load_n(&share->sum->bytes, __ATOMIC_RELAXED);

	return (uint64_t)(sum < 0 ? 0 : sum) + bytes > share->limit;
}

/* `bytes` of the file from `offset` on, in one page, allocated and mapped; the other words of that page come with them. */
static void *map_at(const struct tfp_log *log, long file, uint64_t offset, uint64_t bytes)
{
	uint64_t start = offset & ~(log->page_bytes - 1);

	if (!tfp_file_fits(offset + bytes) || tfp_file_allocate(file, offset, bytes) < 0)
		return NULL;
	char *page = tfp_pages_share(file, start, log->page_bytes);
	return page ? page + (offset - start) : NULL;
}

static void unmap(const struct tfp_log *log, void *part)
{
	if (part)
		tfp_pages_put((void *)((uintptr_t)part & ~(log->page_bytes - 1)), log->page_bytes);
}

static uint64_t offset_of(uint64_t index)
{
	return TFP_TOTAL_LIST + index % TFP_TOTAL_LOGS * sizeof(struct tfp_total_entry);
}

static long open_directory(const struct tfp_log *log)
{
	return tfp_sys(SYS_openat, AT_FDCWD, (long)log->total.directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
}

/* Ours alone: another user could cut it short under us. */
static long open_sum(long directory, int flags)
{
	struct stat status;
	long file = tfp_sys(SYS_openat, directory, (long)TFP_TOTAL_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666, 0, 0);

	if (file < 0)
		return file;
	if (tfp_sys(SYS_fstat, file, (long)&status, 0, 0, 0, 0) == 0 && S_ISREG(status.st_mode) &&
	    (long)status.st_uid == tfp_sys(SYS_geteuid, 0, 0, 0, 0, 0, 0) && tfp_file_is_mappable(file))
		return file;
	tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	return -1;
}

static int is_there(const char *path)
{
	long found = tfp_sys(SYS_openat, AT_FDCWD, (long)path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);

	if (found < 0)
		return found != -ENOENT;
	tfp_sys(SYS_close, found, 0, 0, 0, 0, 0);
	return 1;
}

/* Our pid namespace. 0: /proc tells nothing, or counts processes otherwise than we do. */
static uint32_t own_space(void)
{
	char self[16] = "", own[16];
	struct stat status;

	*tfp_write_number(own, tfp_state->pid, 10) = 0;
	if (tfp_sys(SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)self, sizeof self - 1, 0, 0) < 1 ||
	    !tfp_same(self, own, tfp_length(own) + 1) ||
	    tfp_sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&status, 0, 0, 0) < 0)
		return 0;
	return (uint32_t)status.st_ino;
}

/* In doubt it is. A number that another process has by now counts as alive until that one ends. */
static int is_alive(const struct tfp_total_share *share, const struct tfp_total_entry *copy)
{
	char path[24] = "/proc/";

	if (!share->space || copy->space != share->space)
		return 1;
	*tfp_write_number(path + 6, copy->pid, 10) = 0;
	return is_there(path) || !is_there("/proc/self");
}

/* A file that may be removed: the list may have been written by anybody of this user. */
static int is_log_name(const char *name, size_t room)
{
	size_t length = 0;

	while (length < room && name[length] && name[length] != '/')
		length++;
	return length > 4 && length < room && !name[length] &&
	       (tfp_same(name + length - 4, ".tfp", 4) || tfp_same(name + length - 4, ".new", 4));
}

/* A process that was killed before its log had its name leaves no log, but its pages on the disk. 0: it may still be at it. */
static int clear_unborn(const struct tfp_total_share *share, struct tfp_total_entry *copy, long directory)
{
	char *suffix = copy->name + tfp_length(copy->name) - 3;

	if (!tfp_same(suffix, "new", 3))
		return 1;
	if (is_alive(share, copy))
		return 0;
	tfp_sys(SYS_unlinkat, directory, (long)copy->name, 0, 0, 0, 0);
	tfp_copy(suffix, "tfp", 3); /* it was killed just after that */
	return 1;
}

/* Whether the entry's log is gone, or has just been removed. Only a copy is trusted: the entry may be another's by now. */
static int is_gone(const struct tfp_total_share *share, struct tfp_total_entry *copy, long directory)
{
	if (!copy->log_id) /* not written yet, or whoever gave it back was killed meanwhile */
		return !is_alive(share, copy);
	if (!is_log_name(copy->name, sizeof copy->name) || !clear_unborn(share, copy, directory))
		return 0;
	if (tfp_sys(SYS_faccessat, directory, (long)copy->name, F_OK, 0, 0, 0) == -ENOENT)
		return 1;
	if (!share->is_wrapping || is_alive(share, copy) || tfp_sys(SYS_unlinkat, directory, (long)copy->name, 0, 0, 0, 0) < 0)
		return 0;
	__atomic_fetch_add(&share->sum->removed, 1, __ATOMIC_RELAXED);
	share->sum->removed_ns = tfp_clock_realtime_ns();
	return 1;
}

/* Of all who saw it gone one gives it back: who takes the log's id out. */
static void give_back(struct tfp_total *sum, struct tfp_total_entry *entry, struct tfp_total_entry *copy)
{
	if (!__atomic_compare_exchange_n(&entry->log_id, &copy->log_id, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_sub(&sum->bytes, __atomic_exchange_n(&entry->bytes, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&entry->pid, &copy->pid, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Not inlined: the copy would stand on the stack of what maps pages, too. */
__attribute__((noinline)) static void look_at(struct tfp_log *log, struct tfp_total_entry *entries, uint64_t bytes, long directory)
{
	const struct tfp_total_share *share = &log->total;

	for (uint32_t i = 0; i < PAGE_ENTRIES && is_over(share, bytes); i++) {
		if (!__atomic_load_n(&entries[i].pid, __ATOMIC_ACQUIRE) || entries[i].log_id == log->id)
			continue;
		struct tfp_total_entry copy = entries[i];
		if (is_gone(share, &copy, directory))
			give_back(share->sum, &entries[i], &copy);
	}
}

static void reclaim(struct tfp_log *log, uint64_t bytes, long directory, long file)
{
	struct tfp_total *sum = log->total.sum;

	for (uint32_t look = 0; look < LOOKS && is_over(&log->total, bytes); look++) {
		uint64_t hand = __atomic_load_n(&sum->hand, __ATOMIC_RELAXED);
		uint64_t at = hand >= __atomic_load_n(&sum->next, __ATOMIC_RELAXED) || hand >= TFP_TOTAL_LOGS ? 0 : hand;
		at -= at % PAGE_ENTRIES;
		struct tfp_total_entry *entries = map_at(log, file, offset_of(at), TFP_TOTAL_LIST);
		if (!entries)
			return;
		look_at(log, entries, bytes, directory);
		unmap(log, entries);
		if (is_over(&log->total, bytes)) /* else there may be more for the next one */
			__atomic_compare_exchange_n(&sum->hand, &hand, at + PAGE_ENTRIES, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void tfp_total_reclaim(struct tfp_log *log, uint64_t bytes)
{
	long directory = open_directory(log), file = directory < 0 ? -1 : open_sum(directory, 0);

	if (file >= 0) {
		reclaim(log, bytes, directory, file);
		tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	}
	if (directory >= 0)
		tfp_sys(SYS_close, directory, 0, 0, 0, 0, 0);
}

static struct tfp_total_entry *take_entry(const struct tfp_log *log, long file)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t index = __atomic_fetch_add(&log->total.sum->next, 1, __ATOMIC_RELAXED);
		struct tfp_total_entry *entry = map_at(log, file, offset_of(index), sizeof *entry);
		uint32_t none = 0;
		if (!entry)
			return NULL;
		if (__atomic_compare_exchange_n(&entry->pid, &none, tfp_state->pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return entry;
		unmap(log, entry);
	}
	return NULL;
}

/* Before the log is made, so that what is left of it is found, should we be killed in between. */
static void publish(struct tfp_log *log)
{
	struct tfp_total_entry *entry = log->total.entry;
	const char *name = tfp_base_name(log->unborn);

	entry->space = log->total.space;
	size_t length = tfp_length(name);
	tfp_copy(entry->name, name, length < sizeof entry->name ? length + 1 : 0);
	__atomic_store_n(&entry->log_id, log->id, __ATOMIC_RELEASE);
	__atomic_store_n(&entry->bytes, log->first_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&log->total.sum->bytes, log->first_bytes, __ATOMIC_RELAXED);
}

/* The sum is mapped: finds room and an entry. */
static enum tfp_loss join(struct tfp_log *log, long directory, long file)
{
	struct tfp_total *sum = log->total.sum;

	log->total.space = own_space();
	if (is_over(&log->total, START_BYTES))
		reclaim(log, START_BYTES, directory, file);
	if (!is_over(&log->total, START_BYTES))
		log->total.entry = take_entry(log, file);
	if (log->total.entry) {
		publish(log);
		return TFP_LOSS_NONE;
	}
	__atomic_fetch_add(&sum->refused, 1, __ATOMIC_RELAXED);
	sum->refused_ns = tfp_clock_realtime_ns();
	unmap(log, sum);
	log->total.sum = NULL;
	return TFP_LOSS_output_limit;
}

static int is_ours(struct tfp_total *sum)
{
	static const char none[8] = {0};

	if (tfp_same(sum->magic, none, sizeof none))
		tfp_copy(sum->magic, TFP_TOTAL_MAGIC, sizeof sum->magic);
	return tfp_same(sum->magic, TFP_TOTAL_MAGIC, sizeof sum->magic);
}

enum tfp_loss tfp_total_join(struct tfp_log *log)
{
	long directory = open_directory(log), file = directory < 0 ? -1 : open_sum(directory, O_CREAT);
	enum tfp_loss why = TFP_LOSS_NONE;

	if (file >= 0) {
		log->total.sum = map_at(log, file, 0, TFP_TOTAL_LIST);
		if (log->total.sum && !is_ours(log->total.sum)) {
			unmap(log, log->total.sum);
			log->total.sum = NULL;
		}
		if (log->total.sum)
			why = join(log, directory, file);
		tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	}
	if (directory >= 0)
		tfp_sys(SYS_close, directory, 0, 0, 0, 0, 0);
	return why;
}

void tfp_total_enter(struct tfp_log *log)
{
	struct tfp_total_entry *entry = log->total.entry;

	if (!entry)
		return;
	size_t length = tfp_length(entry->name), whole = tfp_length(log->path);
	if (length > 3 && entry->log_id == log->id)
		tfp_copy(entry->name + length - 3, log->path + whole - 3, 3);
	tfp_total_follow(log);
}

void tfp_total_leave(struct tfp_log *log)
{
	struct tfp_total_entry *entry = log->total.entry;

	if (entry) {
		__atomic_store_n(&entry->log_id, 0, __ATOMIC_RELEASE);
		__atomic_fetch_sub(&log->total.sum->bytes, __atomic_exchange_n(&entry->bytes, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		__atomic_store_n(&entry->pid, 0, __ATOMIC_RELEASE);
	}
	unmap(log, entry);
	unmap(log, log->total.sum);
	log->total.entry = NULL;
	log->total.sum = NULL;
}

static uint64_t counted(const struct tfp_log *log, uint64_t end)
{
	return (end < log->first_bytes ? log->first_bytes : end) - log->dropped_bytes;
}

int tfp_total_forbids(const struct tfp_log *log, uint64_t end, uint64_t spare)
{
	if (!log->total.sum)
		return 0;
	int64_t more = (int64_t)(counted(log, end) - log->total.entry->bytes);
	return more > 0 && is_over(&log->total, (uint64_t)more + spare);
}

void tfp_total_follow(struct tfp_log *log)
{
	struct tfp_total_entry *entry = log->total.entry;

	if (!log->total.sum || entry->log_id != log->id)
		return;
	uint64_t now = counted(log, __atomic_load_n(&log->live->file_end, __ATOMIC_RELAXED));
	uint64_t was = __atomic_exchange_n(&entry->bytes, now, __ATOMIC_RELAXED);
	if (was != now)
		__atomic_fetch_add(&log->total.sum->bytes, now - was, __ATOMIC_RELAXED);
}
