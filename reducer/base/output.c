/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files under temporary names. See output.h.
 *
 * Rule: the list that the signal handler reads changes only while the signals are blocked.
 */
#include "reducer/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What ends a program that somebody gave up on. */
static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
#define FATAL (sizeof(fatal) / sizeof(fatal[0]))

/* A file under its temporary name, or a folder that was made (`name` NULL). */
struct pending {
	char *part, *name;
};

static struct {
	struct pending *list;
	size_t count, room;
	pid_t owner; /* children that are forked must not tidy up */
	bool is_ready;
} pending;

void output_claim_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return; /* no such file: as well as can be */
}

/* Only calls that a signal handler may make. Folders stand before the files in them. */
static void drop_all(void)
{
	if (getpid() != pending.owner)
		return;
	for (size_t i = pending.count; i-- > 0;)
		if (pending.list[i].name)
			unlink(pending.list[i].part);
		else
			rmdir(pending.list[i].part); /* fails, as it should, when something else lies there */
}

static void on_fatal(int number)
{
	drop_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void block(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < FATAL; i++)
		sigaddset(&set, fatal[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

/* A signal that our caller ignores (nohup) stays ignored. */
static void prepare(void)
{
	struct sigaction action = {.sa_handler = on_fatal}, before;

	if (pending.is_ready)
		return;
	pending.is_ready = true;
	pending.owner = getpid();
	atexit(drop_all);
	for (size_t i = 0; i < FATAL; i++)
		if (sigaction(fatal[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(fatal[i], &action, NULL);
}

/* Takes both strings. `part` must not exist for others. */
static void add(char *part, char *name)
{
	pending.list = base_grow(pending.list, &pending.room, pending.count + 1, sizeof(*pending.list));
	pending.list[pending.count++] = (struct pending){part, name};
}

/* A name beside `path` that is short whatever `path` is. */
static char *part_of(const char *path)
{
	static unsigned number;
	const char *slash = strrchr(path, '/');
	struct text part = {0};

	text_put(&part, path, slash ? (size_t)(slash - path) + 1 : 0);
	text_format(&part, ".tfprof-reduce.%ld.%u.part", (long)getpid(), number++);
	return part.bytes;
}

static _Noreturn void die(const char *path)
{
	base_die("cannot write %s: %s%s", path, strerror(errno), errno == ENOENT ? "; make its folder first" : "");
}

static FILE *open_directly(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		die(path);
	return file;
}

/* Where the folder takes no new file but the file itself can be written, that is done. */
static FILE *open_part(const char *path, const struct stat *old)
{
	char *part = part_of(path), *name = base_copy(path, strlen(path));
	sigset_t before;
	int descriptor, error;

	block(&before);
	descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	error = errno;
	if (descriptor >= 0)
		add(part, name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (descriptor >= 0) {
		if (old)
			fchmod(descriptor, old->st_mode & 07777);
		return fdopen(descriptor, "w");
	}
	free(part);
	free(name);
	errno = error;
	if (!old || (error != EACCES && error != EPERM && error != EROFS))
		die(path);
	return open_directly(path);
}

static const char *const *inputs;
static size_t input_count;

void output_keep(const char *const *paths, size_t count)
{
	inputs = paths;
	input_count = count;
}

/* A slip of the hand (`-o` before the log's name) would cost a recording that cannot be made again. */
static void refuse_input(const char *path, const struct stat *file)
{
	char begin[8] = "";
	FILE *old = fopen(path, "r");
	bool is_log = old && fread(begin, 1, sizeof begin, old) == sizeof begin && memcmp(begin, "\x89TFP\r\n\x1a\n", sizeof begin) == 0;

	if (old)
		fclose(old);
	for (size_t i = 0; i < input_count && !is_log; i++) {
		struct stat input;
		is_log = stat(inputs[i], &input) == 0 && input.st_dev == file->st_dev && input.st_ino == file->st_ino;
	}
	if (is_log)
		base_die("%s: this is a log, or what is read: it is not overwritten; choose another name for the output", path);
}

bool output_names_folder(const char *path)
{
	return path && ((path[0] && path[strlen(path) - 1] == '/') || output_is_folder(path));
}

FILE *output_open(const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL; /* NULL = is not there yet, or a link to nowhere */
	struct stat old;
	FILE *file;

	if (!path)
		return stdout;
	if (output_names_folder(path))
		base_die("cannot write %s: this is a directory, and what is written one file: give its name, as -o %s%sNAME", path, path,
			 path[strlen(path) - 1] == '/' ? "" : "/");
	prepare();
	if (!real && lstat(path, &old) == 0) /* a link to nowhere is written through */
		return open_directly(path);
	if (!real)
		return open_part(path, NULL);
	if (stat(real, &old) != 0)
		die(path);
	if (S_ISREG(old.st_mode))
		refuse_input(real, &old);
	if (!S_ISREG(old.st_mode) || access(real, W_OK) != 0)
		file = open_directly(path);
	else
		file = open_part(real, &old);
	free(real);
	return file;
}

bool output_is_folder(const char *path)
{
	struct stat there;

	return path && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

void output_folder(const char *path)
{
	sigset_t before;
	int status, error;

	prepare();
	block(&before);
	status = mkdir(path, 0777);
	error = errno;
	if (status == 0)
		add(base_copy(path, strlen(path)), NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (status == 0)
		return;
	if (error != EEXIST)
		base_die("cannot make the directory %s: %s%s", path, strerror(error), error == ENOENT ? "; make its folder first" : "");
	if (!output_is_folder(path))
		base_die("%s is a file; several files need a directory: give another -o DIR", path);
}

void output_close(FILE *file, const char *path)
{
	bool failed = ferror(file) != 0;

	if (file == stdout ? fflush(file) != 0 : fclose(file) != 0)
		failed = true;
	if (failed)
		die(path ? path : "the output");
}

void output_commit(void)
{
	sigset_t before;

	block(&before);
	for (size_t i = 0; i < pending.count; i++) {
		struct pending *one = &pending.list[i];
		if (one->name && rename(one->part, one->name) != 0)
			die(one->name);
		free(one->part);
		free(one->name);
		*one = (struct pending){(char *)"", (char *)""};
	}
	pending.count = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
}
