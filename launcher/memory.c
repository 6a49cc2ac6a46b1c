/* SPDX-License-Identifier: Apache-2.0 */
/* Kills for want of memory; see launcher/memory.h. */
#include "launcher/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROOM 65536		     /* bytes of a file of /proc: a container has hundreds of mounts */
#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 says "none" by a number near 2^63 */

/* Whole of a small text file at `to`, terminated; see tfp_group_text. */
static long read_text(const char *path, char *to, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t length;

	if (!file)
		return -errno;
	length = fread(to, 1, room - 1, file);
	fclose(file);
	to[length] = 0;
	return (long)length;
}

/* The number behind a word that begins a line; an empty word: the first one. 0 where there is none. */
static uint64_t number_of(const char *folder, const char *name, const char *word)
{
	char path[TFP_GROUP_PATH + 64], text[TEXT_ROOM];
	const size_t length = strlen(word);

	snprintf(path, sizeof path, "%s%s", folder, name);
	if (read_text(path, text, sizeof text) < 0)
		return 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, word, length) && (!length || line[length] == ' '))
			return strtoull(line + length, NULL, 10);
	return 0;
}

static uint64_t kills_of(const struct tfp_group *group)
{
	if (!group->version)
		return 0;
	return number_of(group->folder, group->version == 2 ? "/memory.events" : "/memory.oom_control", "oom_kill");
}

static uint64_t limit_of(const struct tfp_group *group)
{
	uint64_t limit;

	if (!group->version)
		return 0;
	limit = number_of(group->folder, group->version == 2 ? "/memory.max" : "/memory.limit_in_bytes", "");
	return limit < NO_LIMIT ? limit : 0;
}

struct memory_watch memory_begin(void)
{
	struct memory_watch watch = {.machine_kills = number_of("/proc", "/vmstat", "oom_kill")};
	char membership[TEXT_ROOM], mounts[TEXT_ROOM], room[TFP_GROUP_PATH + 64];
	struct tfp_group groups[TFP_GROUP_KINDS];

	if (read_text("/proc/self/cgroup", membership, sizeof membership) < 0 ||
	    read_text("/proc/self/mountinfo", mounts, sizeof mounts) < 0)
		return watch;
	tfp_group_find(membership, mounts, read_text, room, groups);
	watch.group = groups[TFP_GROUP_MEMORY];
	watch.kills = kills_of(&watch.group);
	return watch;
}

struct memory_end memory_since(const struct memory_watch *watch)
{
	const uint64_t kills = kills_of(&watch->group), machine = number_of("/proc", "/vmstat", "oom_kill");

	return (struct memory_end){
		.limit_bytes = limit_of(&watch->group),
		.kills = kills > watch->kills ? kills - watch->kills : 0,
		.machine_kills = machine > watch->machine_kills ? machine - watch->machine_kills : 0,
	};
}
