/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's dumps beside the logs; see xla_files.h. */
#include "reducer/tables/xla_files.h"

#include "reducer/analysis/words.h"
#include "reducer/tables/notes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder of a path, with a slash behind; "" where it has none. */
static void folder_of(struct text *folder, const char *path)
{
	const char *slash = strrchr(path, '/');

	text_clear(folder);
	text_put(folder, path, slash ? (size_t)(slash - path) + 1 : 0);
	text_string(folder, "xla");
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length >= tail && strcmp(name + length - tail, end) == 0;
}

static void add(struct xla_files *files, const char *folder, const char *file)
{
	const char *name = strchr(file, '.'), *end;
	struct text path = {0};
	struct stat status;

	if (strncmp(file, "module_", 7) != 0 || !name || !ends_with(file, "after_optimizations.hlo.pb"))
		return;
	end = strchr(++name, '.');
	text_format(&path, "%s/%s", folder, file);
	if (!end || stat(path.bytes, &status) != 0 || !S_ISREG(status.st_mode)) {
		text_free(&path);
		return;
	}
	files->list = base_grow(files->list, &files->room, files->count + 1, sizeof(*files->list));
	files->list[files->count++] = (struct xla_file){.path = path.bytes,
							.name = base_copy(name, (size_t)(end - name)),
							.number = (uint32_t)strtoul(file + 7, NULL, 10),
							.bytes = (uint64_t)status.st_size};
}

static void read_folder(struct xla_files *files, const char *folder)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)) != NULL)
		add(files, folder, entry->d_name);
	if (entries)
		closedir(entries);
}

static int by_name(const void *a, const void *b)
{
	const struct xla_file *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = x->number < y->number ? -1 : x->number > y->number;
	return order ? order : strcmp(x->path, y->path);
}

struct xla_files xla_files_find(const struct request *request)
{
	struct xla_files files = {0};
	struct words read = {0}; /* folders */
	struct text folder = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || strcmp(process_setting(process, "XLA_DUMP"), "1") != 0)
			continue;
		files.was_asked = true;
		folder_of(&folder, process->path);
		size_t known = read.count;
		if (words_number(&read, folder.bytes) == known) /* one folder for all logs of a run */
			read_folder(&files, folder.bytes);
	}
	if (files.count)
		qsort(files.list, files.count, sizeof(*files.list), by_name);
	text_free(&folder);
	words_free(&read);
	return files;
}

void xla_files_free(struct xla_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->list[i].path);
		free(files->list[i].name);
	}
	free(files->list);
}

void xla_files_note_none(struct table *table, const struct request *request, const struct xla_files *files)
{
	if (notes_not_in_file(table, request))
		return;
	table_note(table, NOTE_INFO, "%s",
		   files->was_asked ? "TFPROF_XLA_DUMP=1 was set and XLA wrote no module: it compiled nothing, or its XLA_FLAGS were set "
				      "already (see the notes of run_env)."
				    : "XLA's modules are written only with TFPROF_XLA_DUMP=1.");
}
