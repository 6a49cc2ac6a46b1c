/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor's checks of GPUs: driver, device files, variables, every CUPTI here, and one kernel recorded for a trial.
 *
 * Rule: driver and CUPTI are called in child processes alone, and CUPTI only where the driver has a device: some releases
 * recurse to death without one. A machine without a driver is no fault.
 */
#include "launcher/doctor.h"
#include "launcher/doctor_cuda.h"
#include "launcher/say.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 20      /* a driver that takes longer to answer is stuck */
#define LIBRARIES 64    /* places looked at */
#define PATH 512
#define LINKS 4         /* a program's name may be a link to a link */

/* What a child found out; shared memory. */
struct answer {
	int is_done, has_driver, init, count, version; /* version: 13000 = CUDA 13.0 */
	char device[128];
	int cupti_result; /* of cuptiGetVersion; -1 = could not be opened */
	unsigned cupti_version;
	const char *tool; /* of NVIDIA's, that is in the process once CUDA is; NULL = none */
};

static struct answer *ask(void (*question)(struct answer *, const char *), const char *argument)
{
	struct answer *answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	if (answer == MAP_FAILED)
		say_die("out of memory");
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(SECONDS);
		question(answer, argument);
		answer->is_done = 1;
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	return answer;
}

/* A tool of NVIDIA's that this very call of doctor runs under: it puts its library into each process. */
static int note_tool(struct dl_phdr_info *info, size_t bytes, void *into)
{
	static const char *const libraries[][2] = {
#define TFP_CUPTI_TOOL_LIBRARY(library, tool) {library, tool},
#define TFP_CUPTI_TOOL_PROGRAM(name)
#include "collectors/tables/cupti_tools.def"
#undef TFP_CUPTI_TOOL_LIBRARY
#undef TFP_CUPTI_TOOL_PROGRAM
	};
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)bytes;
	base = base ? base + 1 : info->dlpi_name;
	for (size_t i = 0; base && i < sizeof libraries / sizeof *libraries; i++)
		if (!strncmp(base, libraries[i][0], strlen(libraries[i][0])))
			*(const char **)into = libraries[i][1];
	return 0;
}

static void ask_driver(struct answer *answer, const char *unused)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned), (*version)(int *), (*count)(int *), (*name)(char *, int, int);

	(void)unused;
	if (!driver)
		return;
	init = (int (*)(unsigned))dlsym(driver, "cuInit");
	version = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
	count = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
	name = (int (*)(char *, int, int))dlsym(driver, "cuDeviceGetName");
	if (!init || !version || !count || !name)
		return;
	answer->has_driver = 1;
	version(&answer->version);
	answer->init = init(0);
	dl_iterate_phdr(note_tool, &answer->tool);
	if (!answer->init && !count(&answer->count) && answer->count)
		name(answer->device, sizeof answer->device, 0);
}

static void ask_cupti(struct answer *answer, const char *path)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library;
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
	int (*version)(unsigned *);

	answer->cupti_result = -1;
	if (!init || init(0))
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	version = library ? (int (*)(unsigned *))dlsym(library, "cuptiGetVersion") : NULL;
	if (version)
		answer->cupti_result = version(&answer->cupti_version);
}

static int is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static void check_variables(struct doctor *doctor)
{
	const char *injection = getenv("CUDA_INJECTION64_PATH"), *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (injection && *injection && !strstr(injection, "libtfprof"))
		doctor_say(doctor, DOCTOR_LOSS, "gpu", "CUDA_INJECTION64_PATH names another tool",
			   "programs with a CUDA runtime linked in statically show nothing of their GPU work; unset it");
	if (visible && (!*visible || !strcmp(visible, "-1")))
		doctor_say(doctor, DOCTOR_LOSS, "gpu", "CUDA_VISIBLE_DEVICES hides every device", "unset it, or name a device");
	if (is_set("CUDA_LAUNCH_BLOCKING"))
		doctor_say(doctor, DOCTOR_NOTE, "gpu", "CUDA_LAUNCH_BLOCKING is set: each launch waits for its kernel",
			   "times are those of a program without overlap; unset it");
	if (is_set("NSYS_PROFILING_SESSION_ID") || is_set("NVPROF_TMPDIR"))
		doctor_say(doctor, DOCTOR_LOSS, "gpu", "another profiler of NVIDIA's is at work in this session",
			   "CUPTI serves one of the two: device times go to the first to come");
}

static void check_files(struct doctor *doctor)
{
	static const char *const files[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"};
	char line[256];
	FILE *parameters = fopen("/proc/driver/nvidia/params", "re");
	size_t i;
	char *fact;

	for (i = 0; i < sizeof files / sizeof files[0]; i++) {
		if (access(files[i], F_OK) || !access(files[i], R_OK | W_OK))
			continue;
		fact = say_text("%s may not be opened", files[i]);
		doctor_say(doctor, DOCTOR_LOSS, "gpu", fact, "the program will find no GPU: ask for the group that owns it");
		free(fact);
	}
	while (parameters && fgets(line, sizeof line, parameters))
		if (!strncmp(line, "RmProfilingAdminOnly: 1", 23))
			doctor_say(doctor, DOCTOR_NOTE, "gpu", "hardware counters are for administrators alone on this machine",
				   "tfprof uses none; a driver that refuses kernels too says so below: "
				   "options nvidia NVreg_RestrictProfilingToAdminUsers=0");
	if (parameters)
		fclose(parameters);
}

/* What is wrong with a CUPTI beside a driver that serves CUDA `major`; NULL = nothing known. */
static const char *known_trouble(unsigned version, unsigned soname_major, unsigned major)
{
	if (soname_major > major)
		return "newer than the driver: it is not used; install the one of the driver's CUDA, or a newer driver";
	if (version && version < 17)
		return "older than 11.7: its records are not known, and it is not used";
	if (version >= 130200 && version < 130300)
		return "13.2 recurses to death where the driver has no device; tfprof waits for a device before it calls it";
	if (version < 130300)
		return "before 13.3 recording nodes of CUDA graphs may use up device memory in long runs; TFPROF_CUDA_GRAPH=graph "
		       "avoids it";
	return NULL;
}

/* One library: what it is, whether it fits. Returns whether it would be used. */
static int check_cupti(struct doctor *doctor, const char *path, const struct answer *driver)
{
	const char *number = strstr(path, "libcupti.so.");
	unsigned major = number ? (unsigned)strtoul(number + 12, NULL, 10) : 0;
	struct answer *answer;
	const char *trouble;
	int is_usable;
	char *fact;

	if (!driver->count) {
		fact = say_text("%s, not called: no device", path);
		doctor_say(doctor, DOCTOR_FINE, "cupti", fact, "");
		free(fact);
		return 1;
	}
	answer = ask(ask_cupti, path);
	trouble = known_trouble(answer->cupti_version, major, (unsigned)driver->version / 1000);
	is_usable = answer->is_done && !answer->cupti_result && major <= (unsigned)driver->version / 1000;
	if (!answer->is_done)
		fact = say_text("%s dies when it is asked for its version", path);
	else
		fact = say_text("%s, version %u, result %d", path, answer->cupti_version, answer->cupti_result);
	doctor_say(doctor, trouble || !is_usable ? DOCTOR_NOTE : DOCTOR_FINE, "cupti", fact, trouble ? trouble : "");
	free(fact);
	munmap(answer, sizeof *answer);
	return is_usable;
}

/* The toolkit that the library looks in first: CUDA_HOME, or else CUDA_PATH. */
static void find_in_toolkit(glob_t *found)
{
	static const char *const inside[] = {"extras/CUPTI/lib64", "lib64", "lib"};
	const char *home = getenv("CUDA_HOME"), *toolkit = home && *home ? home : getenv("CUDA_PATH");
	char pattern[PATH];

	for (size_t i = 0; toolkit && *toolkit && i < sizeof inside / sizeof inside[0]; i++) {
		snprintf(pattern, sizeof pattern, "%.400s/%s/libcupti.so.1[1-9]*", toolkit, inside[i]);
		glob(pattern, GLOB_APPEND, NULL, found);
	}
}

/* Around a program of the search path, and what its name is a link to. */
static void find_around(glob_t *found, const char *program, const char *const *inside)
{
	char path[PATH], target[PATH], pattern[2 * PATH];
	ssize_t length;
	int links;

	snprintf(path, sizeof path, "%s", program);
	for (links = 0; links < LINKS && !access(path, F_OK); links++) {
		const char *end = strrchr(path, '/');
		const char *const *one;
		for (one = inside; *one; one++) {
			snprintf(pattern, sizeof pattern, "%.*s%s/libcupti.so.1[1-9]*", (int)(end - path), path, *one);
			glob(pattern, GLOB_APPEND, NULL, found);
		}
		length = readlink(path, target, sizeof target - 1);
		if (length <= 0)
			break;
		target[length] = 0;
		snprintf(pattern, sizeof pattern, "%.*s%s", *target == '/' ? 0 : (int)(end + 1 - path), path, target);
		snprintf(path, sizeof path, "%.*s", PATH - 1, pattern);
	}
}

/* The toolkit of nvcc, the packages of Python: the library looks there, too. */
static void find_on_path(glob_t *found)
{
	static const char *const toolkit[] = {"/../extras/CUPTI/lib64", "/../lib64", "/../lib", NULL};
	static const char *const packages[] = {"/../lib/python3.*/*-packages/nvidia/*/lib",
					       "/../local/lib/python3.*/*-packages/nvidia/*/lib", NULL};
	static const char *const names[] = {"nvcc", "python3", "python"};
	const char *search;
	char program[PATH];
	size_t i, length;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		for (search = getenv("PATH"); search && *search; search += length + (search[length] == ':')) {
			length = strcspn(search, ":");
			if (*search != '/' || length > PATH - 16)
				continue;
			snprintf(program, sizeof program, "%.*s/%s", (int)length, search, names[i]);
			find_around(found, program, i ? packages : toolkit);
		}
	}
}

/* Places where CUPTI lies: toolkits, wheels of the active Python environment, the loader's path. */
static size_t find_libraries(glob_t *found)
{
	static const char *const patterns[] = {
		"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[1-9]*",
		"/usr/local/cuda*/lib64/libcupti.so.1[1-9]*",
		"/usr/lib/*-linux-gnu/libcupti.so.1[1-9]*",
	};
	const char *environment = getenv("VIRTUAL_ENV"), *folders = getenv("LD_LIBRARY_PATH");
	char pattern[PATH];
	size_t i;

	glob("/nonexistent", 0, NULL, found);
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		snprintf(pattern, sizeof pattern, "%.*s/libcupti.so.1[1-9]*", (int)(length < 400 ? length : 400), folders);
		glob(pattern, GLOB_APPEND, NULL, found);
		folders += length + (folders[length] == ':');
	}
	find_in_toolkit(found);
	for (i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		glob(patterns[i], GLOB_APPEND, NULL, found);
	find_on_path(found);
	if (environment && strlen(environment) < 400) {
		snprintf(pattern, sizeof pattern, "%s/lib/python*/site-packages/nvidia/*/lib/libcupti.so.1[1-9]*", environment);
		glob(pattern, GLOB_APPEND, NULL, found);
	}
	return found->gl_pathc;
}

static void check_libraries(struct doctor *doctor, const struct answer *driver)
{
	char *seen[LIBRARIES];
	glob_t found = {0};
	size_t count = find_libraries(&found), distinct = 0, i, k;
	int usable = 0;

	for (i = 0; i < count && distinct < LIBRARIES; i++) {
		char place[PATH_MAX];
		char *real = realpath(found.gl_pathv[i], place) ? strdup(place) : NULL; /* see older_libc.c */
		for (k = 0; real && k < distinct && strcmp(seen[k], real); k++)
			;
		if (!real || k < distinct) {
			free(real);
			continue;
		}
		seen[distinct++] = real;
		usable |= check_cupti(doctor, found.gl_pathv[i], driver);
	}
	if (driver->count && !usable)
		doctor_say(doctor, DOCTOR_LOSS, "cupti", "no CUPTI that this driver serves was found",
			   "only the host's calls are recorded, unless the program brings one; install the toolkit's "
			   "(cuda-cupti) or pip's (nvidia-cuda-cupti)");
	while (distinct)
		free(seen[--distinct]);
	globfree(&found);
}

void doctor_gpu(struct doctor *doctor)
{
	struct answer *driver = ask(ask_driver, NULL);
	char *fact;

	if (!driver->is_done) {
		doctor_say(doctor, DOCTOR_LOSS, "gpu", "the CUDA driver dies or hangs when it is started", "nvidia-smi may say why");
	} else if (!driver->has_driver) {
		doctor_say(doctor, DOCTOR_NOTE, "gpu", "no CUDA driver (libcuda.so.1): nothing will be recorded of GPUs",
			   "no fault on a machine without one; in a container start it with --gpus all");
	} else if (driver->init || !driver->count) {
		fact = say_text("CUDA driver %d.%d, cuInit answers %d, %d devices", driver->version / 1000, driver->version % 1000 / 10,
				driver->init, driver->count);
		doctor_say(doctor, DOCTOR_LOSS, "gpu", fact, "the program will find no GPU; nvidia-smi may say why");
		free(fact);
	} else {
		fact = say_text("CUDA driver %d.%d, %d device%s, the first %s", driver->version / 1000, driver->version % 1000 / 10,
				driver->count, driver->count == 1 ? "" : "s", driver->device);
		doctor_say(doctor, DOCTOR_FINE, "gpu", fact, "");
		free(fact);
	}
	if (driver->tool) {
		fact = say_text("this runs under %s", driver->tool);
		doctor_say(doctor, DOCTOR_LOSS, "gpu", fact,
			   "CUPTI cannot be used beside it: only the host's calls are recorded; for device times run without it");
		free(fact);
	}
	check_files(doctor);
	check_variables(doctor);
	check_libraries(doctor, driver);
	if (driver->count && doctor->settings.cuda != TFP_CUDA_CUPTI)
		doctor_say(doctor, DOCTOR_NOTE, "gpu", "TFPROF_CUDA is not cupti: no device times will be recorded", "");
	else if (driver->count)
		doctor_gpu_trial(doctor);
	munmap(driver, sizeof *driver);
}
