/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the process of a log runs now. See alive.h. */
#include "reducer/read/alive.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The kernel's number of this boot. Returns 0, or -1 where it cannot be read. */
static int read_boot(uint8_t id[16])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[40] = "";
	size_t digits = 0;

	if (file == NULL)
		return -1;
	if (fgets(text, sizeof text, file) == NULL)
		text[0] = 0;
	fclose(file);
	memset(id, 0, 16);
	for (const char *at = text; *at != 0 && digits < 32; at++)
		if (*at != '-' && *at != '\n') {
			id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (*at <= '9' ? *at - '0' : *at - 'a' + 10));
			digits++;
		}
	return digits == 32 ? 0 : -1;
}

static int is_visible(const struct tfp_file_header *header)
{
	struct stat space;
	uint8_t boot[16];

	if (read_boot(boot) != 0 || memcmp(boot, header->boot_id, sizeof boot) != 0)
		return 0;
	return header->pid_namespace == 0 ||
	       (stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == header->pid_namespace);
}

/* Field 22 of /proc/PID/stat, in clock ticks; 0 where there is no such process, or one that has ended and nobody waited for. */
static unsigned long long start_of(uint32_t pid)
{
	unsigned long long start = 0;
	char path[64], line[1024] = "", state;
	long threads;
	const char *at;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	at = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
	fclose(file);
	/* The word behind the last ')' is field 3. */
	if (at == NULL || sscanf(at + 1,
				 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu",
				 &state, &threads, &start) != 3)
		return 0;
	if ((state == 'Z' || state == 'X') && threads <= 1) /* its first thread alone may have ended */
		return 0;
	return start;
}

enum alive alive_find(const struct tfp_file_header *header)
{
	if (header->process_start == 0 || !is_visible(header))
		return ALIVE_UNKNOWN;
	return start_of(header->pid) == header->process_start ? ALIVE_YES : ALIVE_NO;
}
