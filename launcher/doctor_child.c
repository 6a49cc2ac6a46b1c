/* SPDX-License-Identifier: Apache-2.0 */
/* Trials in processes of their own; see launcher/doctor_child.h. */
#include "launcher/doctor_child.h"

#include "launcher/environment.h"
#include "launcher/say.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: nothing to read, all output into the pipe. */
static void become(char *const *arguments, int out, unsigned seconds)
{
	if (!freopen("/dev/null", "r", stdin))
		_exit(SAY_FAILED);
	dup2(out, 1);
	dup2(out, 2);
	close(out);
	alarm(seconds);
	execvp(arguments[0], arguments);
	_exit(127);
}

/* Reads to the end, so that the writer never waits. */
static void read_all(int in, char *to, size_t room)
{
	char rest[4096];
	size_t used = 0;
	ssize_t got;

	do {
		int is_full = used + 1 >= room;
		got = is_full ? read(in, rest, sizeof rest) : read(in, to + used, room - 1 - used);
		used += got > 0 && !is_full ? (size_t)got : 0;
	} while (got > 0);
	to[used] = 0;
}

static int run_with(char *const *arguments, char *to, size_t room, unsigned seconds, struct tfp_settings *settings)
{
	int ends[2], status = -1;
	uint8_t job_id[16];

	to[0] = 0;
	if (pipe(ends))
		return -1;
	pid_t child = fork();
	if (!child) {
		close(ends[0]);
		if (settings) {
			setenv(TFP_SETTING_PREFIX "WINDOW", "all", 1);
			unsetenv(TFP_SETTING_PREFIX "ONLY");
			unsetenv(TFP_SETTING_PREFIX "SKIP");
			setenv(TFP_SETTING_PREFIX "OPS", "on", 1);
			setenv(TFP_SETTING_PREFIX "MALLOC", "off", 1);
			setenv(TFP_SETTING_PREFIX "IO", "0", 1);
			environment_prepare(settings, job_id);
		}
		become(arguments, ends[1], seconds);
	}
	close(ends[1]);
	read_all(ends[0], to, room);
	close(ends[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	return status;
}

int doctor_run(char *const *arguments, char *to, size_t room, unsigned seconds)
{
	return run_with(arguments, to, room, seconds, NULL);
}

int doctor_record(const struct doctor *doctor, const char *folder, char *const *arguments, char *to, size_t room)
{
	struct tfp_settings *settings = malloc(sizeof *settings);

	if (!settings)
		say_die("out of memory");
	*settings = doctor->settings;
	snprintf(settings->out, sizeof settings->out, "%s", folder);
	int status = run_with(arguments, to, room, DOCTOR_RUN_PATIENCE, settings);
	free(settings);
	return status;
}

int doctor_table(const char *folder, const char *table, char *text, size_t room)
{
	char reducer[PATH_MAX], format[] = "csv", t[] = "-t", f[] = "-f", dump[] = "--dump";
	ssize_t length = readlink("/proc/self/exe", reducer, sizeof reducer - 16);
	char *name = strdup(table), *path = strdup(folder);
	char *as_table[] = {reducer, t, name, f, format, path, NULL}, *as_dump[] = {reducer, dump, path, NULL};
	int status = -1;

	text[0] = 0;
	if (length > 0 && name && path) {
		reducer[length] = 0;
		strcat(reducer, "-reduce");
		status = doctor_run(strcmp(table, "dump") ? as_table : as_dump, text, room, DOCTOR_RUN_PATIENCE);
	}
	free(name);
	free(path);
	return status;
}

char *doctor_folder(void)
{
	const char *const places[] = {getenv("TMPDIR"), "/tmp"}; /* of a batch job the first may name what is not there */

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char *folder = say_text("%s/tfprof-doctor-XXXXXX", places[i] && *places[i] ? places[i] : "/tmp");
		if (mkdtemp(folder))
			return folder;
		free(folder);
	}
	return NULL;
}

void doctor_remove(const char *folder)
{
	DIR *open_folder = opendir(folder);
	struct dirent *entry;

	while (open_folder && (entry = readdir(open_folder)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(open_folder), entry->d_name, 0);
	if (open_folder)
		closedir(open_folder);
	rmdir(folder);
}
