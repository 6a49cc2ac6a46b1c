/* SPDX-License-Identifier: Apache-2.0 */
/* Entering by CUDA's injection or by a hooked call; see preload/injection.h. */
#include "preload/injection.h"

#include "collectors/cupti_tools.h"
#include "collectors/loader.h"
#include "collectors/process.h"
#include "preload/cuda_hooks.h"
#include "preload/dynamic.h"
#include "preload/environment.h"
#include "preload/objects.h"
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
#define LOOKS 64u /* calls of a program without a driver that look whether one has come */
#define PATH_BYTES 4096 /* PATH_MAX of Linux with its terminator */

TFP_CUDA_ROW(TFP_CUDA_NUMBER_cuInit, cuInit, TFP_GPU_IN_driver, context, "")
TFP_EXPORT int cuInit(unsigned flags);
TFP_EXPORT int InitializeInjection(void);

/* What is known of the driver; forward, but from STARTING to AWAITED. Kept across fork: a child of a process that has CUDA has none. */
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

/* Road (b). The host's own call would open libcuda and initialise it next; both take a second call well. One thread at a time. */
static void start_driver(void)
{
	static struct tfp_cuda_slot of_start, of_count;
	int (*start)(unsigned) = (int (*)(unsigned))tfp_cuda_driver(&of_start, "cuInit");
	int (*count)(int *) = start ? (int (*)(int *))tfp_cuda_driver(&of_count, "cuDeviceGetCount") : NULL, works;

	void *driver = start ? NULL : tfp_loader_open("libcuda.so.1", RTLD_LAZY);
	if (driver) {
		start = (int (*)(unsigned))tfp_loader_symbol(driver, "cuInit");
		count = (int (*)(int *))tfp_loader_symbol(driver, "cuDeviceGetCount");
	}
	if (start && !tfp_object_is_relocated((const void *)(uintptr_t)start)) { /* somebody is at opening it */
		__atomic_store_n((int *)&phase, AWAITED, __ATOMIC_RELEASE);
		return;
	}
	works = start && start(0) == 0 && has_device(count);
	if (works)
		enter();
	__atomic_store_n((int *)&phase, DECIDED, __ATOMIC_RELEASE);
	tfp_gpu_attend(0);
}

/*
 * Whether CUDA was started since it was told to come to us, as far as a look at the loaded objects tells. Not by opening the driver: the
 * loader's lock may be with somebody who waits for the call that is about to be made. Who was not seen to start it for so long is asked.
 */
static int may_be_started(void)
{
	static _Atomic unsigned long long changes;
	static _Atomic unsigned looks;
	unsigned long long seen = changes;
	struct tfp_object driver;

	if (looks >= LOOKS)
		return 1;
	looks++;
	int count = tfp_object_exporting("cuInit", &driver, 1, &seen);
	changes = seen;
	return count > 0;
}

/*
 * Whether another thread is in a call that may be opening the driver: it is mapped then, and in the loader's list, but has neither its
 * addresses nor what its constructors make. To be asked after may_be_started: a call that opens what that saw was entered before. Who has
 * asked for so long has a program some thread of which is always in a call.
 */
#define OPENING_S 10u
static int is_on_its_way(void)
{
	static _Atomic uint64_t since; /* ticks of the first question; 0 = none yet */
	const struct tfp_thread *thread = tfp_state->threads;
	uint64_t now = tfp_ticks(), none = 0;

	if (!__atomic_compare_exchange_n((uint64_t *)&since, &none, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    now - none > tfp_state->second_ticks * OPENING_S)
		return 0;
	for (; thread; thread = thread->next)
		if (thread != tfp_self && __atomic_load_n(&thread->gpu.depth, __ATOMIC_ACQUIRE) != 0)
			return 1;
	return 0;
}

static int changes_to(int from, int to)
{
	return __atomic_compare_exchange_n((int *)&phase, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void tfp_injection_attend(void)
{
	int error = errno, seen = phase;

	if (seen == DECIDED) {
		tfp_gpu_attend(0);
	} else if (seen == NOTHING && is_awaited()) {
		changes_to(NOTHING, AWAITED); /* the call about to be made brings CUDA to us; the next one looks whether it did */
	} else if ((seen == NOTHING || (seen == AWAITED && may_be_started())) && !is_on_its_way()) {
		if (changes_to(seen, STARTING))
			start_driver();
	}
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
