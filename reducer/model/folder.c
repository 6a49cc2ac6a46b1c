/* SPDX-License-Identifier: Apache-2.0 */
/* Logs by the names of files in a folder; see folder.h. */
#include "reducer/model/folder.h"

#include "reducer/model/internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct paths {
	char **list;
	size_t count;
};

static int is_log_name(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".tfp") == 0;
}

static int is_folder_name(const char *name)
{
	return name[0] != '.';
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the path of each entry whose name is wanted. */
static void list_entries(struct paths *paths, const char *folder, int (*is_wanted)(const char *name))
{
	DIR *directory = opendir(folder);

	for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
		char **wider = is_wanted(entry->d_name) ? model_room(paths->list, paths->count, sizeof *paths->list) : NULL;
		if (wider == NULL)
			continue;
		paths->list = wider;
		if (asprintf(&paths->list[paths->count], "%s/%s", folder, entry->d_name) >= 0)
			paths->count++;
	}
	if (directory != NULL)
		closedir(directory);
}

size_t folder_logs(const char *path, char ***names)
{
	struct paths logs = {NULL, 0}, folders = {NULL, 0};

	list_entries(&logs, path, is_log_name);
	if (logs.count == 0)
		list_entries(&folders, path, is_folder_name);
	for (size_t i = 0; i < folders.count; i++) {
		list_entries(&logs, folders.list[i], is_log_name);
		free(folders.list[i]);
	}
	free(folders.list);
	if (logs.count != 0)
		qsort(logs.list, logs.count, sizeof *logs.list, by_name);
	*names = logs.list;
	return logs.count;
}
