/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the limit of all logs of a directory (TFPROF_MAX_TOTAL_BYTES) kept out of it.
 *
 * Rule: the file tells of a directory and of all runs that wrote there; it is asked for runs that one of these was in.
 */
#include "reducer/model/internal.h"

#include "writer/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the file's name stands behind the directory of `path`; NULL without memory. */
static char *beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name;

	if (asprintf(&name, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, TFP_TOTAL_NAME) < 0)
		return NULL;
	return name;
}

static void ask(struct process *process, const char *name, uint64_t since_ns)
{
	struct tfp_total total;
	int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (file < 0)
		return;
	if (read(file, &total, sizeof total) == sizeof total && !memcmp(total.magic, TFP_TOTAL_MAGIC, sizeof total.magic)) {
		process->logs_refused = total.refused_ns >= since_ns ? total.refused : 0;
		process->logs_removed = total.removed_ns >= since_ns ? total.removed : 0;
	}
	close(file);
}

void total_ask(struct run *run)
{
	char **names = NULL;
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		char *name = beside(run->processes[i].path), **wider;
		size_t known = 0;

		while (name && known < count && strcmp(names[known], name))
			known++;
		wider = name && known == count ? model_room(names, count, sizeof *names) : NULL;
		if (wider == NULL) {
			free(name);
			continue;
		}
		names = wider;
		names[count++] = name;
		ask(&run->processes[i], name, (uint64_t)run->realtime_ns);
	}
	while (count)
		free(names[--count]);
	free(names);
}
