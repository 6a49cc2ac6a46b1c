/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor's kernel and the trial with it; see launcher/doctor_cuda.h. */
#include "launcher/doctor_cuda.h"

#include "launcher/doctor_child.h"
#include "launcher/environment.h"
#include "launcher/say.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* For every device that a driver of today serves; it is compiled when it is loaded. */
static const char kernel_text[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry tfprof_doctor() { ret; }\n";

#define CALL(type, name, ...)                                                                                                    \
	do {                                                                                                                     \
		int(*name) type = (int(*) type)dlsym(driver, #name);                                                             \
		int result = name ? name(__VA_ARGS__) : -1;                                                                      \
		if (result) {                                                                                                    \
			printf("%s %d\n", #name, result);                                                                        \
			return result;                                                                                           \
		}                                                                                                                \
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
	CALL((void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
	     cuLaunchKernel, kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	CALL((void), cuCtxSynchronize);
	return 0;
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
	char *folder = doctor_folder(), said[256], *launches = malloc(1 << 16);
	struct tfp_settings *settings = malloc(sizeof *settings);
	uint8_t job_id[16];
	int status = -1;

	if (!launches || !settings)
		say_die("out of memory");
	launches[0] = 0;
	if (folder) {
		*settings = doctor->settings;
		snprintf(settings->out, sizeof settings->out, "%s", folder);
		pid_t child = fork();
		if (!child) {
			setenv(TFP_SETTING_PREFIX "WINDOW", "all", 1);
			unsetenv(TFP_SETTING_PREFIX "ONLY");
			unsetenv(TFP_SETTING_PREFIX "SKIP");
			environment_prepare(settings, job_id);
			_exit(doctor_run(arguments, said, sizeof said, DOCTOR_RUN_PATIENCE) ? 1 : 0);
		}
		if (child > 0)
			waitpid(child, &status, 0);
		doctor_table(folder, "launches", launches, 1 << 16);
		doctor_remove(folder);
	}
	judge(doctor, status, "see tfprof doctor --kernel", launches);
	free(folder);
	free(settings);
	free(launches);
}
