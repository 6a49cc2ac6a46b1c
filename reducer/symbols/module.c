/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the path and build id that a log holds to an open file.
 *
 * Rule: a file is used only if its build id is the recorded one; a wrong name is worse than none. Runs in the worker's
 * child. It is not a symbol table.
 */
#include "reducer/symbols/internal.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum candidate { CANDIDATE_GOOD, CANDIDATE_MISSING, CANDIDATE_OTHER_BUILD, CANDIDATE_NOT_ELF };

static char *debuginfo_path; /* set by module_open before libdwfl reads it; libdwfl wants its address in the callbacks */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

static enum candidate check_build_id(int descriptor, const struct lookup_module *module)
{
	enum candidate verdict = CANDIDATE_NOT_ELF;
	const void *id = NULL;
	ssize_t length;
	Elf *elf;

	elf_version(EV_CURRENT); /* libelf refuses to work before it was asked */
	elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return verdict;
	if (elf_kind(elf) == ELF_K_ELF) {
		length = dwelf_elf_gnu_build_id(elf, &id);
		verdict = CANDIDATE_GOOD;
		if (module->build_id_length)
			if (length != (ssize_t)module->build_id_length || memcmp(id, module->build_id, (size_t)length))
				verdict = CANDIDATE_OTHER_BUILD;
	}
	elf_end(elf);
	return verdict;
}

/* Opens `path` when it is a regular ELF file of the right build. */
static enum candidate candidate_open(const char *path, const struct lookup_module *module, int *descriptor)
{
	enum candidate verdict = CANDIDATE_NOT_ELF;
	struct stat status;

	*descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0)
		return CANDIDATE_MISSING;
	if (fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode))
		verdict = check_build_id(*descriptor, module);
	if (verdict != CANDIDATE_GOOD) {
		close(*descriptor);
		*descriptor = -1;
	}
	return verdict;
}

/* FOLDER/.build-id/xx/yyyy[.debug] */
static void build_id_path(struct text *path, const char *folder, size_t folder_length, const struct lookup_module *module,
			  const char *suffix)
{
	text_clear(path);
	text_put(path, folder, folder_length);
	text_string(path, "/.build-id/");
	for (size_t i = 0; i < module->build_id_length; i++)
		text_format(path, i ? "%02x" : "%02x/", (unsigned char)module->build_id[i]);
	text_string(path, suffix);
}

/* Tries one folder of debug files: by build id, then by file name where is_plain. */
static int try_folder(const char *folder, size_t length, const struct lookup_module *module, bool is_plain)
{
	static const char *const suffixes[] = {"", ".debug"};
	const char *name = strrchr(module->path, '/');
	struct text path = {0};
	int descriptor = -1;

	for (size_t i = 0; i < 2 && descriptor < 0 && module->build_id_length > 1; i++) {
		build_id_path(&path, folder, length, module, suffixes[i]);
		candidate_open(path.bytes, module, &descriptor);
	}
	for (size_t i = 0; i < 2 && descriptor < 0 && is_plain; i++) {
		text_clear(&path);
		text_put(&path, folder, length);
		text_format(&path, "/%s%s", name ? name + 1 : module->path, suffixes[i]);
		candidate_open(path.bytes, module, &descriptor);
	}
	text_free(&path);
	return descriptor;
}

static int try_folders(const char *folders, const struct lookup_module *module)
{
	int descriptor = -1;

	while (folders && *folders && descriptor < 0) {
		size_t length = strcspn(folders, ":");
		if (length)
			descriptor = try_folder(folders, length, module, true);
		folders += length + (folders[length] == ':');
	}
	return descriptor;
}

/* The file at the recorded path, or the debug file of its build. */
static int try_recorded(const struct lookup_module *module, const char *sysroot, struct text *problem)
{
	static const char debug[] = "/usr/lib/debug";
	struct text path = {0};
	enum candidate verdict;
	int descriptor;

	text_format(&path, "%s%s", sysroot ? sysroot : "", module->path);
	verdict = candidate_open(path.bytes, module, &descriptor);
	if (verdict == CANDIDATE_MISSING)
		text_format(problem, errno == ENOENT || errno == ENOTDIR ? "the file is gone (%s)" : "the file cannot be opened (%s)",
			    strerror(errno));
	else if (verdict == CANDIDATE_NOT_ELF)
		text_string(problem, "the file is no longer an ELF file");
	else if (verdict == CANDIDATE_OTHER_BUILD)
		text_string(problem, "the file is another build than the one that ran");
	if (descriptor < 0) {
		text_clear(&path);
		text_format(&path, "%s%s", sysroot ? sysroot : "", debug);
		descriptor = try_folder(path.bytes, path.length, module, false);
		if (descriptor >= 0)
			text_clear(problem);
	}
	text_free(&path);
	return descriptor;
}

static bool dwfl_take(struct module_file *file, int descriptor, const char *name)
{
	file->dwfl = dwfl_begin(&callbacks);
	if (file->dwfl)
		file->module = dwfl_report_offline(file->dwfl, name, name, descriptor);
	if (file->module)
		return dwfl_report_end(file->dwfl, NULL, NULL) == 0;
	text_format(&file->problem, "the file cannot be read: %s", dwfl_errmsg(-1));
	close(descriptor);
	return false;
}

bool module_open(struct module_file *file, const struct lookup_module *module, const struct symbols_options *options)
{
	struct text folders = {0};
	int descriptor;

	*file = (struct module_file){0};
	if (module->path[0] != '/') {
		text_string(&file->problem, module->path[0] == '[' ? "made by the kernel, there is no file" : "its path is not known");
		return false;
	}
	text_format(&folders, "%s%s:.debug:%s/usr/lib/debug", options->path ? ":" : "", options->path ? options->path : "",
		    options->sysroot ? options->sysroot : "");
	free(debuginfo_path);
	debuginfo_path = base_copy(folders.bytes, folders.length);
	text_free(&folders);
	descriptor = try_folders(options->path, module);
	if (descriptor < 0)
		descriptor = try_recorded(module, options->sysroot, &file->problem);
	if (descriptor < 0)
		return false;
	if (!module->build_id_length)
		text_string(&file->problem, "no build id: names are those of the file that is there now");
	return dwfl_take(file, descriptor, module->path);
}

void module_close(struct module_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	text_free(&file->problem);
}
