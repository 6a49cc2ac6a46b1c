/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the system; see collectors/system_files.h. */
#include "collectors/system_files.h"

#include "collectors/system_group.h"
#include "writer/log.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define RULES 8
#define STATM 0		      /* place of the one file that counts in pages */
#define KEPT_FOR_THREADS 2    /* of what may be kept: the list of threads, and the file of the one that opens them (system_threads.c) */
#define NS_PER_TICK 10000000u /* of /proc/stat: USER_HZ is 100 on every machine that we run on */

enum reading {
#define TFP_READING(number, name, subject, kind, unit, help) READ_##name = (number),
#include "collectors/tables/readings.def"
#undef TFP_READING
};

enum place { PLAIN = -1, MEMORY = TFP_GROUP_MEMORY, CPU = TFP_GROUP_CPU, ACCOUNT = TFP_GROUP_ACCOUNT, IO = TFP_GROUP_IO };

struct file {
	const char *path;
	int place;   /* enum place: the folder it lies in */
	int version; /* of control groups; 0 = no matter */
	int is_slow; /* read once a second: the kernel has to add something up */
	tfp_system_filter *filter;
	struct tfp_system_rule rules[RULES];
};

static const struct file files[] = {
	[STATM] = {"/proc/self/statm",
		   PLAIN,
		   0,
		   0,
		   NULL, /* in pages */
		   {{READ_virtual, "", NULL, 1, 1}, {READ_resident, "", NULL, 2, 1}, {READ_resident_shared, "", NULL, 4, 1}}},
	{"/proc/self/io",
	 PLAIN,
	 0,
	 0,
	 NULL,
	 {{READ_read_asked, "rchar:", NULL, 2, 1},
	  {READ_write_asked, "wchar:", NULL, 2, 1},
	  {READ_read_calls, "syscr:", NULL, 2, 1},
	  {READ_write_calls, "syscw:", NULL, 2, 1},
	  {READ_storage_read, "read_bytes:", NULL, 2, 1},
	  {READ_storage_written, "write_bytes:", NULL, 2, 1}}},
	{"/memory.current", MEMORY, 2, 0, NULL, {{READ_group_memory, "", NULL, 1, 1}}},
	{"/memory.max", MEMORY, 2, 1, NULL, {{READ_group_memory_limit, "", NULL, 1, 1}}},
	{"/memory.swap.current", MEMORY, 2, 1, NULL, {{READ_group_swap, "", NULL, 1, 1}}},
	{"/memory.events",
	 MEMORY,
	 2,
	 1,
	 NULL,
	 {{READ_group_slowed, "high", NULL, 2, 1},
	  {READ_group_limit_hits, "max", NULL, 2, 1},
	  {READ_group_oom_kills, "oom_kill", NULL, 2, 1}}},
	{"/memory.pressure",
	 MEMORY,
	 2,
	 1,
	 NULL,
	 {{READ_group_memory_stall, "some", "total=", 0, 1000}, {READ_group_memory_full_stall, "full", "total=", 0, 1000}}},
	{"/cpu.pressure", CPU, 2, 1, NULL, {{READ_group_cpu_stall, "some", "total=", 0, 1000}}},
	{"/io.pressure", IO, 2, 1, NULL, {{READ_group_io_stall, "some", "total=", 0, 1000}}},
	{"/cpu.stat",
	 CPU,
	 2,
	 1,
	 NULL,
	 {{READ_group_cpu, "usage_usec", NULL, 2, 1000},
	  {READ_group_throttles, "nr_throttled", NULL, 2, 1},
	  {READ_group_throttled, "throttled_usec", NULL, 2, 1000}}},
	{"/cpu.max", CPU, 2, 1, NULL, {{READ_group_cpu_quota, "", NULL, 1, 1000}, {READ_group_cpu_period, "", NULL, 2, 1000}}},
	{"/io.stat",
	 IO,
	 2,
	 1,
	 NULL,
	 {{READ_group_storage_read, NULL, "rbytes=", 0, 1}, {READ_group_storage_written, NULL, "wbytes=", 0, 1}}},
	{"/memory.usage_in_bytes", MEMORY, 1, 0, NULL, {{READ_group_memory, "", NULL, 1, 1}}},
	{"/memory.limit_in_bytes", MEMORY, 1, 1, NULL, {{READ_group_memory_limit, "", NULL, 1, 1}}},
	{"/memory.failcnt", MEMORY, 1, 1, NULL, {{READ_group_limit_hits, "", NULL, 1, 1}}},
	{"/memory.oom_control", MEMORY, 1, 1, NULL, {{READ_group_oom_kills, "oom_kill", NULL, 2, 1}}},
	{"/cpuacct.usage", ACCOUNT, 1, 1, NULL, {{READ_group_cpu, "", NULL, 1, 1}}},
	{"/cpu.stat",
	 CPU,
	 1,
	 1,
	 NULL,
	 {{READ_group_throttles, "nr_throttled", NULL, 2, 1}, {READ_group_throttled, "throttled_time", NULL, 2, 1}}},
	{"/cpu.cfs_quota_us", CPU, 1, 1, NULL, {{READ_group_cpu_quota, "", NULL, 1, 1000}}},
	{"/cpu.cfs_period_us", CPU, 1, 1, NULL, {{READ_group_cpu_period, "", NULL, 1, 1000}}},
	{"/blkio.throttle.io_service_bytes",
	 IO,
	 1,
	 1,
	 NULL,
	 {{READ_group_storage_read, NULL, " Read ", 0, 1}, {READ_group_storage_written, NULL, " Write ", 0, 1}}},
	{"/proc/stat",
	 PLAIN,
	 0,
	 1,
	 NULL, /* cpu user nice system idle iowait irq softirq steal */
	 {{READ_host_user, "cpu", NULL, 1 << 1 | 1 << 2, NS_PER_TICK},
	  {READ_host_system, "cpu", NULL, 1 << 3 | 1 << 6 | 1 << 7, NS_PER_TICK},
	  {READ_host_idle, "cpu", NULL, 1 << 4, NS_PER_TICK},
	  {READ_host_iowait, "cpu", NULL, 1 << 5, NS_PER_TICK},
	  {READ_host_stolen, "cpu", NULL, 1 << 8, NS_PER_TICK}}},
	{"/proc/meminfo",
	 PLAIN,
	 0,
	 1,
	 NULL,
	 {{READ_host_available, "MemAvailable:", NULL, 2, 1024}, {READ_host_swap_free, "SwapFree:", NULL, 2, 1024}}},
	{"/proc/pressure/memory", PLAIN, 0, 1, NULL, {{READ_host_memory_stall, "some", "total=", 0, 1000}}},
	{"/proc/pressure/cpu", PLAIN, 0, 1, NULL, {{READ_host_cpu_stall, "some", "total=", 0, 1000}}},
	{"/proc/pressure/io", PLAIN, 0, 1, NULL, {{READ_host_io_stall, "some", "total=", 0, 1000}}},
	{"/proc/self/net/dev",
	 PLAIN,
	 0,
	 1,
	 tfp_system_is_interface, /* name: received bytes, packets, errors, drop, ... from word 9: sent */
	 {{READ_host_received, NULL, NULL, 1 << 1, 1},
	  {READ_host_sent, NULL, NULL, 1 << 9, 1},
	  {READ_host_dropped, NULL, NULL, 1 << 4 | 1 << 12, 1}}},
	{"/proc/diskstats",
	 PLAIN,
	 0,
	 1,
	 tfp_system_is_disk, /* of 512 bytes: words 5 and 9; with work, ms: word 12 */
	 {{READ_host_disk_read, NULL, NULL, 1 << 5, 512},
	  {READ_host_disk_written, NULL, NULL, 1 << 9, 512},
	  {READ_host_disk_busy, NULL, NULL, 1 << 12, 1000000}}},
};
#define FILES (sizeof files / sizeof files[0])

static struct tfp_kept kept[FILES]; /* written by who has the role in system.c; a fork child closes them */

uint32_t tfp_kept_most(void)
{
	struct rlimit limit = {0, 0};

	tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (limit.rlim_cur < 256)
		return 0;
	return limit.rlim_cur < 4096 ? (uint32_t)limit.rlim_cur / 32 : 128;
}

/* Apart, so that the stack of what opens stays small: what is known again of the file by its number. */
static __attribute__((noinline)) int identify(struct tfp_kept *file, long number)
{
	struct stat status;

	if (tfp_sys(SYS_fstat, number, (long)&status, 0, 0, 0, 0) != 0)
		return 0;
	*file = (struct tfp_kept){(int)number + 1, status.st_dev, status.st_ino};
	return 1;
}

static _Atomic uint32_t kept_now; /* files; a fork child closes what it inherited */

uint32_t tfp_kept_room(uint32_t more)
{
	uint32_t most = tfp_kept_most(), used = kept_now + more;

	return most > used ? most - used : 0;
}

int tfp_kept_is_home(void)
{
	return !tfp_sys_is_sealed() && tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) == (long)tfp_state->pid;
}

long tfp_kept_open(struct tfp_kept *file, const struct tfp_kept *folder, const char *path, long flags)
{
	long low = tfp_sys(SYS_openat, folder ? folder->number - 1 : AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | flags, 0, 0, 0);

	if (low < 0)
		return low;
	long high = tfp_file_raise(low);
	tfp_sys(SYS_close, low, 0, 0, 0, 0, 0);
	if (high < 0)
		return -EMFILE;
	if (identify(file, high)) {
		kept_now++;
		return 0;
	}
	tfp_sys(SYS_close, high, 0, 0, 0, 0, 0);
	return -EMFILE;
}

long tfp_kept_number(struct tfp_kept *file)
{
	struct stat status;

	if (!file->number)
		return -1;
	if (tfp_sys(SYS_fstat, file->number - 1, (long)&status, 0, 0, 0, 0) == 0 && status.st_dev == file->device &&
	    status.st_ino == file->inode)
		return file->number - 1;
	file->number = 0;
	kept_now--;
	return -1;
}

void tfp_kept_close(struct tfp_kept *file)
{
	long number = tfp_kept_number(file);

	if (number < 0)
		return;
	tfp_sys(SYS_close, number, 0, 0, 0, 0, 0);
	file->number = 0;
	kept_now--;
}

long tfp_kept_read(struct tfp_kept *file, void *to, size_t room)
{
	long number = tfp_kept_number(file);

	return number < 0 ? -EBADF : tfp_sys(SYS_pread64, number, (long)to, (long)room, 0, 0, 0);
}

static long read_once(const char *path, char *to, size_t room)
{
	long file = tfp_sys(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0), got = 0;
	size_t used = 0;

	if (file < 0)
		return file;
	while (used + 1 < room && (got = tfp_sys(SYS_read, file, (long)(to + used), (long)(room - 1 - used), 0, 0, 0)) > 0)
		used += (size_t)got;
	tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	to[used] = 0;
	return got < 0 ? got : (long)used;
}

static void note(const char *path, long error)
{
	struct tfp_fact_field fields[2] = {{.is_text = 1, .text = {path, tfp_length(path)}}, {.number = (uint64_t)error}};

	tfp_store_fact(TFP_TAG_system_file, fields, 2);
}

struct finding {
	struct tfp_group groups[TFP_GROUP_KINDS];
	char room[TFP_GROUP_PATH + 64];
	char path[TFP_GROUP_PATH + 64];
	char membership[8192];
	char mounts[512 << 10]; /* a machine full of containers has a few hundred KiB; what is cut off has no group */
};

static void find_groups(struct finding *finding)
{
	if (read_once("/proc/self/cgroup", finding->membership, sizeof finding->membership) > 0 &&
	    read_once("/proc/self/mountinfo", finding->mounts, sizeof finding->mounts) > 0)
		tfp_group_find(finding->membership, finding->mounts, read_once, finding->room, finding->groups);
}

/* The file's path, or NULL where this machine has no such folder. */
static const char *path_of(struct finding *finding, const struct file *file)
{
	if (file->place == PLAIN)
		return file->path;
	const struct tfp_group *group = &finding->groups[file->place];
	if (group->version != file->version)
		return NULL;
	size_t length = tfp_length(group->folder);
	tfp_copy(finding->path, group->folder, length);
	tfp_copy(finding->path + length, file->path, tfp_length(file->path) + 1);
	return finding->path;
}

void tfp_system_files_open(void)
{
	struct finding *finding = tfp_pages_get(sizeof *finding, 0);
	uint32_t most = tfp_kept_most(), count = 0;

	if (!finding)
		return;
	most -= most < KEPT_FOR_THREADS ? most : KEPT_FOR_THREADS;
	find_groups(finding);
	for (size_t i = 0; i < FILES; i++) {
		const char *path = path_of(finding, &files[i]);
		if (!path)
			continue;
		long error = count < most ? tfp_kept_open(&kept[i], NULL, path, 0) : -EMFILE;
		note(path, -error);
		count += !error;
	}
	tfp_pages_put(finding, sizeof *finding);
}

void tfp_system_files_close(void)
{
	for (size_t i = 0; i < FILES; i++)
		tfp_kept_close(&kept[i]);
}

uint32_t tfp_system_files_count(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < FILES; i++)
		count += kept[i].number != 0;
	return count;
}

uint32_t tfp_system_files_read(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, int is_all, char *room,
			       size_t bytes)
{
	uint64_t page = tfp_state->log->page_bytes;
	uint32_t failed = 0;

	for (size_t i = 0; i < FILES; i++) {
		if (!kept[i].number || (files[i].is_slow && !is_all))
			continue;
		long got = tfp_kept_read(&kept[i], room, bytes);
		failed += got < 0;
		for (const struct tfp_system_rule *rule = files[i].rules;
		     got > 0 && rule < files[i].rules + RULES && rule->reading; rule++) {
			uint64_t value;
			if (!tfp_system_figure(room, (size_t)got, (size_t)got == bytes, rule, files[i].filter, &value))
				TFP_PUT(thread, lane, now, reading, .value = i == STATM ? value * page : value,
					.kind = rule->reading);
		}
	}
	return failed;
}
