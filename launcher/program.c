/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program file is.
 *
 * Rule: read only, by pread, every offset checked against the file; a file that makes no sense is PROGRAM_UNKNOWN, never
 * an error. It judges the file, not a running process.
 */
#include "launcher/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS 5 /* that the kernel follows (fs/exec.c: exec_binprm gives up behind the fifth) */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

const char *program_reason(enum program_obstacle obstacle)
{
	switch (obstacle) {
	case PROGRAM_MISSING:
		return "it cannot be found or is not executable; check its name and PATH";
	case PROGRAM_PRIVILEGED:
		return "it is set-user-ID or has file capabilities, and the system ignores LD_PRELOAD for such programs; run a "
		       "copy of it without them";
	case PROGRAM_STATIC:
		return "it is linked statically, so it reads no LD_PRELOAD; link it dynamically to record it";
	case PROGRAM_GO:
		return "it is a Go program, whose runtime takes memory from the kernel by itself; use Go's own pprof";
	case PROGRAM_OTHER_CLASS:
		return "it is built for another machine or word size than libtfprof.so; build tfprof for that one";
	case PROGRAM_OTHER_LIBC:
		return "it uses another C library than glibc (musl?), where the library stands aside; record a build against glibc";
	case PROGRAM_SANITIZER:
		return "it is built with a sanitizer, which owns malloc; the library stands aside: record a build without it";
	case PROGRAM_PASSED_OVER:
		return "the settings ONLY and SKIP pass it over (by default shells, compilers and the like; children are "
		       "recorded); to record it use --skip=, and name it in --only where that is set";
	case PROGRAM_UNKNOWN:
		return "its file is no ELF program that could be read";
	case PROGRAM_FINE:
		break;
	}
	return "";
}

static int is_executable(const char *path)
{
	struct stat facts;

	return !stat(path, &facts) && S_ISREG(facts.st_mode) && !access(path, X_OK);
}

/* As execvp: a name with a slash is a path, others are looked up. Returns 0, or -1 when there is none. */
static int find(const char *name, char path[PROGRAM_PATH])
{
	const char *folder = getenv("PATH"), *end;

	if (!folder)
		folder = "/bin:/usr/bin"; /* execvp(3) */
	path[0] = 0;
	if (strchr(name, '/') && strlen(name) < PROGRAM_PATH) {
		strcpy(path, name);
		return is_executable(path) ? 0 : -1;
	}
	for (; *name; folder = end + 1) {
		size_t length;

		end = strchrnul(folder, ':');
		length = (size_t)(end - folder);
		if (length + strlen(name) + 2 < PROGRAM_PATH) {
			memcpy(path, length ? folder : ".", length ? length : 1);
			path[length ? length : 1] = '/';
			strcpy(path + (length ? length : 1) + 1, name);
			if (is_executable(path))
				return 0;
		}
		if (!*end)
			break;
	}
	return -1;
}

/* Reads exactly `bytes`. */
static int read_at(int file, void *to, size_t bytes, uint64_t offset)
{
	return pread(file, to, bytes, (off_t)offset) == (ssize_t)bytes ? 0 : -1;
}

struct elf {
	int file;
	Elf64_Ehdr header;
	int has_interpreter, is_glibc;
	Elf64_Phdr dynamic;
};

#define NAME_MAX_BYTES 256 /* of a loader's path or a needed library: longer ones are none we know */

static void read_interpreter(struct elf *elf, const Elf64_Phdr *segment)
{
	char name[NAME_MAX_BYTES] = "";
	size_t bytes = segment->p_filesz < sizeof name ? segment->p_filesz : sizeof name - 1;

	elf->has_interpreter = 1;
	if (!read_at(elf->file, name, bytes, segment->p_offset))
		elf->is_glibc = strstr(name, "ld-linux") != NULL;
}

#define SEGMENTS_MAX 64 /* programs have about 13 */

static int read_segments(struct elf *elf)
{
	Elf64_Phdr segment;
	unsigned i;

	if (elf->header.e_phentsize != sizeof segment || elf->header.e_phnum > SEGMENTS_MAX)
		return -1;
	for (i = 0; i < elf->header.e_phnum; i++) {
		if (read_at(elf->file, &segment, sizeof segment, elf->header.e_phoff + i * sizeof segment))
			return -1;
		if (segment.p_type == PT_INTERP)
			read_interpreter(elf, &segment);
		if (segment.p_type == PT_DYNAMIC)
			elf->dynamic = segment;
	}
	return 0;
}

#define SECTIONS_MAX 4096 /* programs have about 40 */

/* Whether the section table has a section of that name. A stripped table means no. */
static int has_section(const struct elf *elf, const char *wanted)
{
	char name[NAME_MAX_BYTES];
	Elf64_Shdr names, section;
	unsigned i;

	if (elf->header.e_shentsize != sizeof section || elf->header.e_shnum > SECTIONS_MAX ||
	    read_at(elf->file, &names, sizeof names, elf->header.e_shoff + elf->header.e_shstrndx * sizeof names))
		return 0;
	for (i = 0; i < elf->header.e_shnum; i++) {
		if (read_at(elf->file, &section, sizeof section, elf->header.e_shoff + i * sizeof section))
			return 0;
		if (!read_at(elf->file, name, strlen(wanted) + 1, names.sh_offset + section.sh_name) &&
		    !memcmp(name, wanted, strlen(wanted) + 1))
			return 1;
	}
	return 0;
}

/* The file offset of a virtual address, 0 = not in the file. */
static uint64_t offset_of(const struct elf *elf, uint64_t address)
{
	Elf64_Phdr segment;
	unsigned i;

	for (i = 0; i < elf->header.e_phnum; i++) {
		if (read_at(elf->file, &segment, sizeof segment, elf->header.e_phoff + i * sizeof segment))
			return 0;
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return segment.p_offset + (address - segment.p_vaddr);
	}
	return 0;
}

#define DYNAMIC_MAX 1024 /* entries of a dynamic section looked at; programs have about 30 */

/* Whether the program needs a sanitizer's runtime: libasan, libtsan, libubsan alone does not own malloc. */
static int needs_sanitizer(const struct elf *elf)
{
	static const char *const runtimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan"};
	uint64_t strings = 0, needed[DYNAMIC_MAX];
	unsigned count = 0, i, j;
	char name[NAME_MAX_BYTES];
	Elf64_Dyn entry;

	for (i = 0; i < DYNAMIC_MAX; i++) {
		if (read_at(elf->file, &entry, sizeof entry, elf->dynamic.p_offset + i * sizeof entry) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			strings = offset_of(elf, entry.d_un.d_ptr);
		if (entry.d_tag == DT_NEEDED)
			needed[count++] = entry.d_un.d_val;
	}
	for (i = 0; strings && i < count; i++) {
		ssize_t length = pread(elf->file, name, sizeof name - 1, (off_t)(strings + needed[i]));

		name[length > 0 ? length : 0] = 0;
		for (j = 0; j < sizeof runtimes / sizeof runtimes[0]; j++)
			if (!strncmp(name, runtimes[j], strlen(runtimes[j])))
				return 1;
	}
	return 0;
}

static enum program_obstacle judge_elf(int file)
{
	struct elf elf = {.file = file};

	if (read_at(file, &elf.header, sizeof elf.header, 0) || memcmp(elf.header.e_ident, ELFMAG, SELFMAG))
		return PROGRAM_UNKNOWN;
	if (elf.header.e_ident[EI_CLASS] != ELFCLASS64 || elf.header.e_machine != OUR_MACHINE)
		return PROGRAM_OTHER_CLASS;
	if (read_segments(&elf))
		return PROGRAM_UNKNOWN;
	if (has_section(&elf, ".note.go.buildid"))
		return PROGRAM_GO;
	if (!elf.has_interpreter)
		return PROGRAM_STATIC;
	if (!elf.is_glibc)
		return PROGRAM_OTHER_LIBC;
	return needs_sanitizer(&elf) || has_section(&elf, "asan_globals") ? PROGRAM_SANITIZER : PROGRAM_FINE;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Fills `interpreter` from a #! line; `#!/usr/bin/env NAME` means NAME. Returns 1 when the file is a script. */
static int read_script(int file, char interpreter[PROGRAM_PATH])
{
	char line[257] = ""; /* the kernel reads 256 bytes (BINPRM_BUF_SIZE) */
	char *rest = line + 2, *word, *argument;

	if (pread(file, line, sizeof line - 1, 0) < 3 || line[0] != '#' || line[1] != '!')
		return 0;
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(rest, " \t", &rest);
	argument = strtok_r(rest, " \t", &rest);
	strcpy(interpreter, word ? word : "");
	if (word && !strcmp(file_name(word), "env") && argument && argument[0] != '-')
		find(argument, interpreter);
	return 1;
}

/* Under both its names, as the library asks: what it is called as, and the file's (python3 is a link to python3.11). */
static int is_named(const char *list, const char *path)
{
	char file[PATH_MAX];

	return tfp_settings_names_program(list, file_name(path)) ||
	       (realpath(path, file) && tfp_settings_names_program(list, file_name(file)));
}

static int is_passed_over(const char *path, const struct tfp_settings *settings)
{
	if (settings->only[0] && !is_named(settings->only, path))
		return 1;
	return is_named(settings->skip, path);
}

/* Whether executing it changes our rights, which makes the kernel set AT_SECURE. */
static int is_privileged(int file, const struct stat *facts)
{
	if ((facts->st_mode & S_ISUID) && facts->st_uid != getuid())
		return 1;
	if ((facts->st_mode & S_ISGID) && facts->st_gid != getgid())
		return 1;
	return getuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0;
}

/* A script's interpreter may be a script itself (a shim), to SCRIPTS of them; `interpreter` is that of the first. */
static enum program_obstacle judge(const char *path, const struct tfp_settings *settings, char *interpreter, unsigned scripts)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	enum program_obstacle obstacle = PROGRAM_UNKNOWN;
	char next[PROGRAM_PATH] = "";
	struct stat facts;

	if (file < 0)
		return obstacle;
	if (scripts < SCRIPTS && read_script(file, next)) {
		close(file);
		if (!scripts)
			strcpy(interpreter, next);
		return judge(next, settings, interpreter, scripts + 1);
	}
	obstacle = judge_elf(file);
	if (!fstat(file, &facts) && is_privileged(file, &facts))
		obstacle = PROGRAM_PRIVILEGED;
	close(file);
	if (obstacle == PROGRAM_FINE && is_passed_over(path, settings))
		obstacle = PROGRAM_PASSED_OVER;
	return obstacle;
}

void program_examine(const char *name, const struct tfp_settings *settings, struct program *program)
{
	program->interpreter[0] = 0;
	program->obstacle = PROGRAM_MISSING;
	if (!find(name, program->path))
		program->obstacle = judge(program->path, settings, program->interpreter, 0);
}
