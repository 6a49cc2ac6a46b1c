/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program will find in its environment.
 *
 * Rule: only our own three variables are touched, and nothing of the person's is removed from LD_PRELOAD.
 */
#include "launcher/environment.h"

#include "launcher/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libtfprof.so"

char *environment_find(const char *file, const char *folder)
{
	char self[PATH_MAX], *path;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length <= 0)
		return NULL;
	self[length] = 0;
	*strrchr(self, '/') = 0;
	path = say_text("%s/%s", self, file);
	if (!access(path, R_OK))
		return path;
	free(path);
	if (strrchr(self, '/'))
		*strrchr(self, '/') = 0;
	path = say_text("%s/%s/%s", self, folder, file);
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

char *environment_library(void)
{
	return environment_find(LIBRARY, "lib");
}

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		say_die("the environment cannot hold %s: %s", name, strerror(errno));
}

/* Whether `path` is one of the entries of an LD_PRELOAD list; ld.so(8) separates them by spaces or colons. */
static int is_listed(const char *list, const char *path)
{
	const size_t length = strlen(path);
	const char *at;

	for (at = list; (at = strstr(at, path)); at++)
		if ((at == list || strchr(": ", at[-1])) && strchr(": ", at[length]))
			return 1;
	return 0;
}

static void preload(void)
{
	const char *existing = getenv("LD_PRELOAD");
	char *library = environment_library(), *list;

	if (!library)
		say_die(LIBRARY " is neither beside this program nor in ../lib; run `make`, or `make install` again");
	if (strpbrk(library, ": \t\n"))
		say_die("%s: a path with blanks or colons cannot stand in LD_PRELOAD; move tfprof to another directory",
			library);
	if (!existing || !*existing || is_listed(existing, library))
		list = say_text("%s", existing && *existing ? existing : library);
	else
		list = say_text("%s:%s", library, existing);
	set("LD_PRELOAD", list);
	free(list);
	free(library);
}

/* A directory and those above it, where there are none. Returns -1 with errno where it cannot. */
static int make_path(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; i < sizeof part && path[i]; i++) {
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		mkdir(part, 0777); /* it may exist; the last one tells */
	}
	return mkdir(path, 0777) && errno != EEXIST ? -1 : 0;
}

/* Makes settings->out absolute and the directory exist. */
static void make_directory(struct tfp_settings *settings)
{
	char absolute[PATH_MAX];
	struct stat facts;

	if (make_path(settings->out))
		say_die("cannot make the output directory %s: %s; choose another with -o DIR", settings->out,
			strerror(errno));
	if (!realpath(settings->out, absolute))
		say_die("cannot use the output directory %s: %s; choose another with -o DIR", settings->out,
			strerror(errno));
	if (stat(absolute, &facts) == 0 && !S_ISDIR(facts.st_mode))
		say_die("the output directory %s is a file; choose another with -o DIR", absolute);
	if (access(absolute, W_OK | X_OK))
		say_die("cannot write to the output directory %s: %s; choose another with -o DIR", absolute,
			strerror(errno));
	if (strlen(absolute) >= sizeof settings->out)
		say_die("the path of the output directory %s is too long; choose another with -o DIR", absolute);
	strcpy(settings->out, absolute);
	set(TFP_SETTING_PREFIX "OUT", absolute);
}

/* Returns 0 when `text` begins with 32 hexadecimal digits. */
static int read_id(const char *text, uint8_t id[16])
{
	unsigned byte;
	int i;

	if (!text || strspn(text, "0123456789abcdefABCDEF") != 32)
		return -1;
	for (i = 0; i < 16; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		id[i] = (uint8_t)byte;
	}
	return 0;
}

static void set_job(uint8_t id[16])
{
	char text[33];
	int i;

	/* inside a recorded job: one job id for all of it; the library believes its parent first */
	if (!read_id(getenv(TFP_PARENT_VARIABLE), id) || !read_id(getenv(TFP_JOB_VARIABLE), id))
		return;
	if (getrandom(id, 16, 0) != 16)
		say_die("no random numbers for the job id: %s", strerror(errno));
	for (i = 0; i < 16; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	set(TFP_JOB_VARIABLE, text);
}

void environment_prepare(struct tfp_settings *settings, uint8_t job_id[16])
{
	preload();
	make_directory(settings);
	set_job(job_id);
}
