/* SPDX-License-Identifier: Apache-2.0 */
/* Entering by CUDA's injection or by a hooked call; see preload/injection.h. */
#include "preload/injection.h"

#include "collectors/cupti_tools.h"
#include "collectors/loader.h"
#include "collectors/process.h"
#include "preload/cuda_hooks.h"
#include "preload/dynamic.h"
#include "preload/environment.h"
#include "preload/settings.h"
#include "writer/records.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#pragma weak dladdr /* guard.h says why */

#define CUDA_VARIABLE "CUDA_INJECTION64_PATH"
#define NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define PATH_BYTES 4096 /* PATH_MAX of Linux with its terminator */

TFP_CUDA_ROW(TFP_CUDA_NUMBER_cuInit, cuInit, TFP_GPU_IN_driver, context, "")
TFP_EXPORT int cuInit(unsigned flags);
TFP_EXPORT int InitializeInjection(void);

/* What is known of the driver; only forward. Kept across fork: a child of a process that has CUDA has none. */
enum { NOTHING = 0, AWAITED = 1, STARTING = 2, DECIDED = 3 };
static _Atomic int phase;

/* Written by the constructor. */
static char own_path[PATH_BYTES];

/* The path by which the loader knows us, made absolute: the host may change its directory before CUDA looks. */
static void find_own_path(void)
{
	size_t used = 0;
	Dl_info ours;

	if (!dladdr((const void *)&tfp_injection_offer, &ours) || !ours.dli_fname)
		return;
	size_t length = tfp_length(ours.dli_fname);
	if (ours.dli_fname[0] != '/') {
		long got = tfp_sys(SYS_getcwd, (long)own_path, PATH_BYTES, 0, 0, 0, 0); /* counts the terminator */
		used = got > 1 && own_path[0] == '/' ? (size_t)got : 0;
		if (used)
			own_path[used - 1] = '/';
	}
	if ((ours.dli_fname[0] == '/' || used) && used + length < PATH_BYTES)
		tfp_copy(own_path + used, ours.dli_fname, length + 1);
	else
		own_path[0] = 0;
}

static const char *const both[] = {NVTX_VARIABLE, CUDA_VARIABLE, NULL};

static enum tool { NO_TOOL, CALLED_LIKE_ONE, STARTED_BY_ONE, HAS_ITS_LIBRARY } tool; /* by the constructor, first of all */

/* Why neither variable is set. */
static const char *const tool_words[] = {
	[CALLED_LIKE_ONE] = "The program is called as a tool of NVIDIA's is, which starts nothing where " CUDA_VARIABLE " or " NVTX_VARIABLE
			    " names us: no NVTX ranges are recorded.",
	[STARTED_BY_ONE] = "A tool of NVIDIA's has started this program, or one that did, and takes " CUDA_VARIABLE " and " NVTX_VARIABLE
			   " for its own: no NVTX ranges are recorded.",
	[HAS_ITS_LIBRARY] = "A tool of NVIDIA's has put its library into this process, and has " CUDA_VARIABLE " and " NVTX_VARIABLE
			    " for itself: no NVTX ranges are recorded.",
};

/*
 * By the name that it was started by, a script's included: the shell that a tool's script is would hand the variables on. Or a program
 * that such a tool has started: its library, whose constructor may come behind ours, sets the variable, or refuses where another has.
 * The list of what was preloaded says so without a call of the loader, which a start is none to make.
 */
static enum tool tool_here(void)
{
	const char *program = (const char *)getauxval(AT_EXECFN);

	if (program && tfp_cupti_is_tool(program))
		return CALLED_LIKE_ONE;
	if (tfp_cupti_names_tool(tfp_environment_get("LD_PRELOAD")))
		return HAS_ITS_LIBRARY;
	return tfp_environment_get(TFP_TOOL_VARIABLE) ? STARTED_BY_ONE : NO_TOOL;
}

void tfp_injection_withdraw(void)
{
	static const char *const told[] = {TFP_TOOL_VARIABLE, NULL};

	tool = tool_here();
	if (!tool)
		return;
	find_own_path();
	tfp_environment_withdraw(both, own_path);
	tfp_environment_offer(told, "1"); /* Nsight Compute has helpers of other names start the program */
}

void tfp_injection_offer(void)
{
	static const char *const only_nvtx[] = {NVTX_VARIABLE, NULL};

	if (tool) {
		tfp_fact_pair(TFP_TAG_note, "variables_left", tool_words[tool]);
		return;
	}
	find_own_path();
	tfp_environment_offer(tfp_settings.cuda == TFP_CUDA_OFF ? only_nvtx : both, own_path);
}

/* Whether CUDA is told to come to us: our own path, or one that somebody gave for us. */
static int is_awaited(void)
{
	const char *path = tfp_environment_get(CUDA_VARIABLE);

	return path && own_path[0] && tfp_same_text(path, own_path);
}

/* The driver works and nobody has told CUPTI's collector yet. */
static void enter(void)
{
	const struct tfp_gpu_engine *engine = tfp_gpu_engine();

	if (__atomic_exchange_n((int *)&phase, DECIDED, __ATOMIC_ACQ_REL) == DECIDED)
		return;
	tfp_gpu_attend(0);
	if (engine && tfp_settings.cuda == TFP_CUDA_CUPTI)
		engine->enter();
}

/* With what `driver` is: 0 = no device, or none that works. */
static int has_device(int (*count_devices)(int *))
{
	int count = 0;

	return count_devices && count_devices(&count) == 0 && count > 0;
}

/*
 * Road (b). Either the driver is known to serve this process, and is found without the loader's lock, which somebody may hold who waits for
 * the call that is about to be made; or that call would open libcuda next, and take the lock, as we do. A driver is never called because
 * it is loaded: it stands in the loader's list from when it is mapped, before it has its addresses, let alone its constructors' work.
 */
static void start_driver(int has_served)
{
	static struct tfp_cuda_slot of_start, of_count;
	int (*start)(unsigned) = NULL, (*count)(int *) = NULL, works;

	if (has_served) {
		start = (int (*)(unsigned))tfp_cuda_driver(&of_start, "cuInit");
		count = (int (*)(int *))tfp_cuda_driver(&of_count, "cuDeviceGetCount");
	}
	void *driver = start ? NULL : tfp_loader_open("libcuda.so.1", RTLD_LAZY);
	if (driver) {
		start = (int (*)(unsigned))tfp_loader_symbol(driver, "cuInit");
		count = (int (*)(int *))tfp_loader_symbol(driver, "cuDeviceGetCount");
	}
	works = start && start(0) == 0 && has_device(count);
	if (works)
		enter();
	__atomic_store_n((int *)&phase, DECIDED, __ATOMIC_RELEASE);
	tfp_gpu_attend(0);
}

static int changes_to(int from, int to)
{
	return __atomic_compare_exchange_n((int *)&phase, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void tfp_injection_attend(void)
{
	int error = errno, seen = phase, has_served = tfp_gpu_has_served();

	if (seen == DECIDED)
		tfp_gpu_attend(0);
	else if (seen == NOTHING && is_awaited())
		changes_to(NOTHING, AWAITED); /* the call about to be made brings CUDA to us; once one was served we look whether it did */
	else if ((seen == NOTHING || (seen == AWAITED && has_served)) && changes_to(seen, STARTING))
		start_driver(has_served);
	errno = error;
}

int cuInit(unsigned flags)
{
	int (*real)(unsigned) = (int (*)(unsigned))TFP_CUDA_REAL(cuInit);
	struct tfp_gpu_call call;

	if (!real)
		return TFP_CUDA_NO_DRIVER;
	if (!tfp_gpu_is_asked(TFP_GPU_KIND_context))
		return real(flags);
	call.function = &function_cuInit;
	call.caller = *TFP_CALLER;
	tfp_gpu_enter(&call);
	int result = real(flags);
	if (call.thread)
		tfp_gpu_leave(&call, (uint32_t)result);
	if (result == 0 && phase != DECIDED && tfp_settings.cuda == TFP_CUDA_CUPTI) {
		int error = errno;
		if (has_device((int (*)(int *))tfp_cuda_sibling((const void *)real, "cuDeviceGetCount")))
			enter();
		errno = error;
	}
	return result;
}

/* Loaded by CUDA alone, in a program that lost LD_PRELOAD: the log says what it cannot hold. */
static void note_alone(void)
{
	if (!tfp_dynamic_is_preloaded())
		tfp_fact_pair(TFP_TAG_note, "injected_only",
			      "The library was loaded by CUDA, not preloaded: host memory and calls by symbol are not recorded.");
}

int InitializeInjection(void)
{
	int error = errno;

	if (tfp_thread_start() && tfp_settings.cuda != TFP_CUDA_OFF) {
		note_alone();
		enter();
	}
	errno = error;
	return 1; /* what the driver takes for success */
}
