/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor's checks of the recording itself: the library, the settings, the output directory, a trial, the program.
 *
 * Rule: what the trial makes, it removes; nothing else in the output directory is touched.
 */
#include "launcher/child.h"
#include "launcher/doctor.h"
#include "launcher/environment.h"
#include "launcher/logs.h"
#include "launcher/options.h"
#include "launcher/program.h"
#include "launcher/say.h"
#include "writer/spare.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

void doctor_library(struct doctor *doctor)
{
	char *path = environment_library(), *fact;

	if (!path) {
		doctor_say(doctor, DOCTOR_BLOCKED, "library", "libtfprof.so is neither beside this program nor in ../lib",
			   "run `make`, or `make install` again");
		return;
	}
	fact = say_text("%s", path);
	doctor_say(doctor, DOCTOR_FINE, "library", fact, "");
	free(fact);
	free(path);
}

void doctor_settings(struct doctor *doctor)
{
	const char *existing = getenv("LD_PRELOAD");

	if (options_environment(&doctor->settings))
		doctor_say(doctor, DOCTOR_LOSS, "settings", "the TFPROF_ variables named above are wrong",
			   "the library would take their defaults and note it in the log; tfprof run refuses them");
	else
		doctor_say(doctor, DOCTOR_FINE, "settings", "every TFPROF_ variable in the environment is good", "");
	if (existing && *existing && !strstr(existing, "libtfprof"))
		doctor_say(doctor, DOCTOR_NOTE, "settings", "LD_PRELOAD holds other libraries",
			   "tfprof run stands in front of them and passes every call on");
}

/* File systems whose pages live in this machine: a killed process, even a killed container, loses nothing (statfs(2)). */
static const struct file_system {
	long magic;
	const char *name;
	int is_local;
} file_systems[] = {
	{0xef53, "ext", 1},         {0x58465342, "xfs", 1},       {0x9123683e, "btrfs", 1}, {0x01021994, "tmpfs", 1},
	{0x794c7630, "overlay", 1}, {0x2fc12fc1, "zfs", 1},       {0xf2f52010, "f2fs", 1},  {0x6969, "nfs", 0},
	{0x65735546, "fuse", 0},    {0x0bd00bd0, "lustre", 0},    {0xfe534d42, "smb", 0},   {0xff534d42, "cifs", 0},
	{0x01021997, "9p", 0},      {0x47504653, "gpfs", 0},      {0x00c36400, "ceph", 0},
};

static const struct file_system *file_system_of(const char *path)
{
	struct statfs facts;
	size_t i;

	if (statfs(path, &facts))
		return NULL;
	for (i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++)
		if ((unsigned long)file_systems[i].magic == ((unsigned long)facts.f_type & 0xffffffffu))
			return &file_systems[i];
	return NULL;
}

#define LITTLE_SPACE (UINT64_C(100) << 20) /* bytes; a sampled run of a large program fits, a full one does not */

/* The directory that a path is in; malloc'ed. */
static char *parent_of(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length && path[length - 1] != '/')
		length--;
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length ? say_text("%.*s", (int)length, path) : say_text(".");
}

void doctor_output(struct doctor *doctor)
{
	const char *path = doctor->settings.out;
	char *parent = parent_of(path);
	const char *existing = access(path, F_OK) ? parent : path; /* where it would be made */
	const struct file_system *system;
	struct statvfs space;
	uint64_t free_bytes = 0, kept_bytes = 0;
	char *fact;

	if (!statvfs(existing, &space)) {
		free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
		kept_bytes = tfp_spare_part(doctor->settings.keep_free, (uint64_t)space.f_blocks * space.f_frsize);
	}
	system = file_system_of(existing);
	fact = say_text("%s, file system %s, %.1f GB free", path, system ? system->name : "unknown", (double)free_bytes / 1e9);
	if (access(existing, W_OK | X_OK))
		doctor_say(doctor, DOCTOR_BLOCKED, "output", fact,
			   existing == path ? "it cannot be written to; set TFPROF_OUT to another directory"
			   : errno == ENOENT ? "it cannot be made: its parent is missing; make that, or set TFPROF_OUT"
					     : "it cannot be made: its parent cannot be written to; set TFPROF_OUT to another directory");
	else if (!system || !system->is_local)
		doctor_say(doctor, DOCTOR_LOSS, "output", fact,
			   "no local disk for certain: the last records of a killed container may be lost; set TFPROF_OUT to one");
	else if (free_bytes < LITTLE_SPACE + kept_bytes)
		doctor_say(doctor, DOCTOR_LOSS, "output", fact,
			   "little room, of which a log leaves TFPROF_KEEP_FREE to the program: free some, or set TFPROF_OUT or that");
	else
		doctor_say(doctor, DOCTOR_FINE, "output", fact, "");
	free(parent);
	free(fact);
}

/* Removes the trial's directory and the logs in it. Nothing else is in there, and its name was ours alone. */
static void remove_directory(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

/* Runs `tfprof --version` under the library in a process of its own, its output thrown away. Returns the wait status. */
static int record_ourselves(const struct tfp_settings *settings, uint8_t job_id[16], pid_t *pid)
{
	static char self[] = "/proc/self/exe", version[] = "--version";
	struct tfp_settings *own = malloc(sizeof *own);
	char *before = getenv("LD_PRELOAD") ? strdup(getenv("LD_PRELOAD")) : NULL;
	int status = -1;

	if (!own)
		say_die("out of memory");
	*own = *settings;
	unsetenv(TFP_JOB_VARIABLE);
	unsetenv(TFP_PARENT_VARIABLE);
	unsetenv(TFP_SETTING_PREFIX "ONLY");
	unsetenv(TFP_SETTING_PREFIX "SKIP");
	setenv(TFP_SETTING_PREFIX "MALLOC", "full", 1);
	setenv(TFP_SETTING_PREFIX "WINDOW", "all", 1);
	environment_prepare(own, job_id);
	free(own);
	*pid = fork();
	if (!*pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(SAY_FAILED);
		execl(self, "tfprof", version, (char *)NULL);
		_exit(SAY_FAILED);
	}
	if (before) /* what doctor starts from here on is started as it was before */
		setenv("LD_PRELOAD", before, 1);
	else
		unsetenv("LD_PRELOAD");
	free(before);
	if (*pid > 0)
		waitpid(*pid, &status, 0);
	return status;
}

/* What the trial showed. */
static void judge_trial(struct doctor *doctor, const char *directory, int status, const uint8_t job_id[16], pid_t pid)
{
	struct logs logs = logs_find(directory, job_id, 0, pid, 0);
	const struct logs_end end = {.pid = pid, .wait_status = status};

	if (status)
		doctor_say(doctor, DOCTOR_BLOCKED, "trial", "a program under the library did not end well",
			   "this is a fault of tfprof: report it with this output");
	else if (!logs.program)
		doctor_say(doctor, DOCTOR_BLOCKED, "trial", "a program under the library left no log", "see the findings above");
	else if (logs_append_end(logs.program, &end, 1))
		doctor_say(doctor, DOCTOR_LOSS, "trial", "a log was made, but the end of the program could not be added",
			   strerror(errno));
	else
		doctor_say(doctor, DOCTOR_FINE, "trial", "a short program was recorded and left a whole log", "");
	logs_free(&logs);
}

#define TRIAL_DIRECTORY "/doctor-XXXXXX"

void doctor_trial(struct doctor *doctor)
{
	struct tfp_settings *settings = malloc(sizeof *settings);
	char *library = environment_library();
	uint8_t job_id[16];
	int status, made;
	pid_t pid;

	if (!settings)
		say_die("out of memory");
	*settings = doctor->settings;
	made = !mkdir(settings->out, 0777);
	errno = ENAMETOOLONG;
	if (!library || strlen(settings->out) + sizeof TRIAL_DIRECTORY > sizeof settings->out ||
	    !mkdtemp(strcat(settings->out, TRIAL_DIRECTORY))) {
		doctor_say(doctor, DOCTOR_BLOCKED, "trial", library ? strerror(errno) : "there is no library to try",
			   "see the findings above");
	} else {
		status = record_ourselves(settings, job_id, &pid);
		judge_trial(doctor, settings->out, status, job_id, pid);
		remove_directory(settings->out);
	}
	if (made)
		rmdir(doctor->settings.out);
	free(library);
	free(settings);
}

void doctor_program(struct doctor *doctor)
{
	struct program program;
	char *fact;

	if (!doctor->program)
		return;
	program_examine(doctor->program, &doctor->settings, &program);
	if (program.interpreter[0])
		fact = say_text("%s, a script for %s", program.path, program.interpreter);
	else
		fact = say_text("%s", program.path[0] && !access(program.path, F_OK) ? program.path : doctor->program);
	if (program.obstacle == PROGRAM_FINE)
		doctor_say(doctor, DOCTOR_FINE, "program", fact, "");
	else
		doctor_say(doctor, program.obstacle == PROGRAM_PASSED_OVER ? DOCTOR_LOSS : DOCTOR_BLOCKED, "program", fact,
			   program_reason(program.obstacle));
	free(fact);
}
