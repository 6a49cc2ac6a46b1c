/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as the kernel lists them; see collectors/tasks.h. */
#include "collectors/tasks.h"

#include "writer/sys.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "writer/poison.h"

/* struct linux_dirent64 up to its name. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

long tfp_tasks_open(struct tfp_kept *list)
{
	return tfp_kept_open(list, NULL, "/proc/self/task", O_DIRECTORY);
}

int tfp_tasks_each(struct tfp_kept *list, char *room, size_t bytes, tfp_tasks_visit *visit, void *context)
{
	long number = tfp_kept_number(list), got;
	uint64_t tid;

	if (number < 0)
		return -1;
	tfp_sys(SYS_lseek, number, 0, SEEK_SET, 0, 0, 0);
	while ((got = tfp_sys(SYS_getdents64, number, (long)room, (long)bytes, 0, 0, 0)) > 0)
		for (const char *at = room; at < room + got; at += ((const struct entry *)(const void *)at)->bytes) {
			const char *name = ((const struct entry *)(const void *)at)->name;
			if (tfp_system_number(name, name + tfp_length(name), &tid) == 0 && visit(context, (uint32_t)tid, name))
				return 0;
		}
	return 1;
}
