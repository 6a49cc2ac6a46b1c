/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor's kernel and the trial with it; see launcher/doctor_cuda.h. */
#include "launcher/doctor_cuda.h"
#include "launcher/environment.h"
#include "launcher/say.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* For every device that a driver of today serves; it is compiled when it is loaded. */
static const char kernel_text[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry tfprof_doctor() { ret; }\n";

#define CALL(type, name, ...) \
	do { \
		int(*name) type = (int(*) type)dlsym(driver, #name); \
		int result = name ? name(__VA_ARGS__) : -1; \
		if (result) { \
			printf("%s %d\n", #name, result); \
			return result; \
		} \
	} while (0)

int doctor_kernel(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel;
	int device;

	if (!driver)
		return -1;
	CALL((unsigned), cuInit, 0);
	CALL((int *, int), cuDeviceGet, &device, 0);
	CALL((void **, int), cuDevicePrimaryCtxRetain, &context, device);
	CALL((void *), cuCtxSetCurrent, context);
	CALL((void **, const void *), cuModuleLoadData, &module, kernel_text);
	CALL((void **, void *, const char *), cuModuleGetFunction, &kernel, module, "tfprof_doctor");
	CALL((void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), cuLaunchKernel,
	     kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	CALL((void), cuCtxSynchronize);
	return 0;
}

/* Runs a program with its output into `to`; its wait status. */
static int run(char *const *arguments, char *to, size_t room)
{
	int ends[2], status = -1;
	size_t used = 0;
	ssize_t got;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(arguments[0], arguments);
		_exit(127);
	}
	close(ends[1]);
	while (used < room - 1 && (got = read(ends[0], to + used, room - 1 - used)) > 0)
		used += (size_t)got;
	to[used] = 0;
	close(ends[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	return status;
}

static void remove_logs(const char *folder)
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

/* "launches" of the log as CSV, by the reducer beside us. */
static int read_launches(const char *folder, char *text, size_t room)
{
	char reducer[PATH_MAX], format[] = "csv", table[] = "launches", t[] = "-t", f[] = "-f";
	ssize_t length = readlink("/proc/self/exe", reducer, sizeof reducer - 16);
	char *arguments[] = {reducer, t, table, f, format, NULL, NULL};

	if (length <= 0)
		return -1;
	reducer[length] = 0;
	strcat(reducer, "-reduce");
	arguments[5] = strdup(folder);
	int status = run(arguments, text, room);
	free(arguments[5]);
	return status;
}

static void judge(struct doctor *doctor, int status, const char *said, const char *launches)
{
	char *fact;

	if (status) {
		fact = say_text("a kernel of one thread block could not be run: %.80s", said[0] ? said : "no answer");
		doctor_say(doctor, DOCTOR_LOSS, "gpu trial", fact, "see whether it runs without tfprof: tfprof doctor --kernel");
		free(fact);
	} else if (strstr(launches, "paired") && strstr(launches, "tfprof_doctor")) {
		doctor_say(doctor, DOCTOR_FINE, "gpu trial", "one kernel was launched, and recorded with its device times", "");
	} else if (strstr(launches, "host-only")) {
		doctor_say(doctor, DOCTOR_LOSS, "gpu trial", "one kernel was launched, and recorded without device times",
			   "CUPTI is missing, refused or taken: see the lines above, and the log's notes");
	} else {
		doctor_say(doctor, DOCTOR_LOSS, "gpu trial", "one kernel was launched, and nothing of it was recorded",
			   "CUPTI is missing or refuses (see above), or CUDA_INJECTION64_PATH names another tool");
	}
}

void doctor_gpu_trial(struct doctor *doctor)
{
	static char self[] = "/proc/self/exe", word[] = "doctor", option[] = "--kernel";
	char *arguments[] = {self, word, option, NULL};
	char folder[] = "/tmp/tfprof-doctor-XXXXXX", said[256], *launches = malloc(1 << 16);
	struct tfp_settings *settings = malloc(sizeof *settings);
	uint8_t job_id[16];
	int status = -1;

	if (!launches || !settings)
		say_die("out of memory");
	launches[0] = 0;
	if (mkdtemp(folder)) {
		*settings = doctor->settings;
		snprintf(settings->out, sizeof settings->out, "%s", folder);
		pid_t child = fork();
		if (!child) {
			setenv(TFP_SETTING_PREFIX "WINDOW", "all", 1);
			unsetenv(TFP_SETTING_PREFIX "ONLY");
			unsetenv(TFP_SETTING_PREFIX "SKIP");
			environment_prepare(settings, job_id);
			_exit(run(arguments, said, sizeof said) ? 1 : 0);
		}
		if (child > 0)
			waitpid(child, &status, 0);
		read_launches(folder, launches, 1 << 16);
		remove_logs(folder);
	}
	judge(doctor, status, "see tfprof doctor --kernel", launches);
	free(settings);
	free(launches);
}
