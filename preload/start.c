/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up: from the first hooked call of a process (or a fork child) to a log that can be written.
 *
 * Rule: everything here may fail, and then the hooks forward and do nothing else. It runs inside malloc, before main,
 * before libc's constructors, or in a fork child; it waits for nobody but another thread's start-up (WAIT_NS at most).
 */
#include "preload/start.h"

#include "collectors/gpu_calls.h"
#include "collectors/cupti.h"
#include "collectors/heap.h"
#include "collectors/io.h"
#include "collectors/names.h"
#include "collectors/nvml.h"
#include "collectors/system.h"
#include "collectors/process.h"
#include "collectors/native_time.h"
#include "collectors/python_time.h"
#include "collectors/pytorch.h"
#include "collectors/repeats.h"
#include "collectors/slow.h"
#include "collectors/window.h"
#include "preload/cuda_hooks.h"
#include "preload/cupti.h"
#include "preload/environment.h"
#include "preload/facts.h"
#include "preload/guard.h"
#include "preload/injection.h"
#include "preload/python.h"
#include "preload/real.h"
#include "preload/settings.h"
#include "preload/xla.h"
#include "writer/drain.h"
#include "writer/file.h"
#include "writer/records.h"
#include "writer/schema.h"
#include "writer/signals.h"
#include "writer/stream.h"
#include "writer/sys.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#pragma weak on_exit /* guard.h says why */

int (*const tfp_start_process)(void) = tfp_start;

#define CUDA_BUFFER_BYTES (4u << 20) /* where the setting is 0: 19,000 kernels */
#define NVML_MS 500u /* least between two readings of devices: the driver takes a lock and some 100 us for each */
#define WAIT_NS 50000000u /* 50 ms: longer than any start-up seen, shorter than a person notices */

static _Atomic int is_loaded; /* settings, real functions and clock are ready; kept across fork */

/* The host's program is one we leave alone; decided once, kept across fork. */
static int is_passed_over;

static void forward_only(void)
{
	tfp_heap_set_mode(TFP_MODE_PASS);
	tfp_gpu_mask = 0;
}

static int is_zero(const uint8_t *bytes, size_t count)
{
	while (count--)
		if (*bytes++)
			return 0;
	return 1;
}

/*
 * The program keeps no log, but what it starts may: it hands on what it was told. Told nothing, or something stale, it
 * names its own parent; where that keeps a log, the reducer finds it by pid and start time.
 */
static void pass_on(void)
{
	struct tfp_descent descent;

	tfp_environment_descent(&descent);
	if (!descent.parent_log_id && !descent.parent_pid) {
		descent.parent_pid = (uint32_t)tfp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0);
		descent.parent_start = tfp_facts_start_of(descent.parent_pid);
	}
	if (is_zero(descent.job_id, sizeof descent.job_id)) /* what it starts is one job */
		tfp_sys(SYS_getrandom, (long)descent.job_id, sizeof descent.job_id, 1 /* GRND_NONBLOCK */, 0, 0, 0);
	tfp_environment_pass_on(&descent);
}

/* What is done once per program: a fork child inherits it. */
static int load_once(void)
{
	if (is_loaded)
		return is_passed_over ? -1 : 0;
	if (tfp_resolve())
		return -1;
	tfp_settings_load();
	tfp_environment_allow(tfp_settings.env);
	is_passed_over = tfp_guard_stands_aside();
	if (is_passed_over)
		pass_on();
	else
		tfp_clock_choose();
	is_loaded = 1;
	return is_passed_over ? -1 : 0;
}

/* glibc's; of the first to register, the handler before a fork is the last one and that in the child the first. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
	__attribute__((weak));

static void before_fork(void)
{
	if (!tfp_state || tfp_state->phase != TFP_STATE_READY)
		tfp_facts_place_unknown();
	tfp_process_forking();
	tfp_pytorch_forking();
}

static void in_fork_child(void)
{
	tfp_pages_wipe();
	tfp_pytorch_in_child();
}

/* Also for forks inside of libc (daemon, forkpty), which reach no hook. Once per program, the handlers are kept across fork. */
static int attend_forks(void)
{
	static int is_attended;

	if (!is_attended && &__register_atfork)
		is_attended = __register_atfork(before_fork, tfp_pytorch_forked, in_fork_child, NULL) == 0;
	return is_attended;
}

/* Pages that a fork child finds empty, also where the kernel cannot do that. */
static void *get_state_pages(size_t bytes)
{
	int is_attended = attend_forks();
	void *pages = tfp_pages_get(bytes, 1);

	if (pages || !is_attended || !tfp_pages_need_hand())
		return pages;
	tfp_pages_by_hand();
	return tfp_pages_get(bytes, 1);
}

/* The one state of this process: emptied by a fork, made by the first caller. NULL: somebody else is at it, or none. */
static struct tfp_state *claim_state(void)
{
	struct tfp_state *state = tfp_state;
	uint32_t cold = TFP_STATE_COLD;

	if (!state) {
		struct tfp_state *none = NULL;
		state = get_state_pages(sizeof *state);
		if (!state)
			return NULL;
		if (!__atomic_compare_exchange_n(&tfp_state, &none, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			tfp_pages_put(state, sizeof *state);
			state = none;
		}
		tfp_signals_begin(&state->masked);
	}
	if (!__atomic_compare_exchange_n((uint32_t *)&state->phase, &cold, TFP_STATE_STARTING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return NULL;
	return state;
}

/* A window that a setting opens with the process. */
static int is_open_at_start(void)
{
	const struct tfp_window *window = &tfp_settings.window;

	for (uint32_t i = 0; i < window->count; i++)
		if (window->entries[i].unit == TFP_WINDOW_BUDGET)
			return 1;
	return window->kind == TFP_WINDOW_ALL;
}

static int is_configured; /* once per program, by start_state; kept across fork */

/* Who we are and whose child. A fork child's parent is the process whose tfp_origin it inherited. */
static void begin_origin(struct tfp_file_header *header)
{
	struct tfp_descent descent;
	uint64_t random[3] = {0, 0, 0};

	tfp_sys(SYS_getrandom, (long)random, sizeof random, 1 /* GRND_NONBLOCK */, 0, 0, 0);
	for (int i = 0; i < 3; i++) /* early at boot there is none: time and place must do */
		random[i] ^= random[i] ? 0 : (tfp_ticks() * UINT64_C(0x9e3779b97f4a7c15)) ^ header->pid;
	if (tfp_origin.log_id) {
		tfp_origin.parent_log_id = tfp_origin.log_id;
		tfp_origin.is_fork_child = 1;
		int is_open = is_configured ? tfp_is_open != 0 : is_open_at_start(); /* not yet: its parent could make no log */
		header->flags |= TFP_FILE_FORKED | (is_open ? TFP_FILE_WINDOW_OPEN : TFP_FILE_WINDOW_CLOSED);
	} else {
		if (tfp_settings.window.kind == TFP_WINDOW_LIST && is_open_at_start())
			header->flags |= TFP_FILE_WINDOW_OPEN;
		tfp_environment_descent(&descent);
		tfp_origin.parent_log_id = descent.parent_log_id;
		tfp_origin.exec_count = descent.exec_count;
		if (descent.parent_pid) {
			header->parent_pid = descent.parent_pid;
			header->parent_start = descent.parent_start;
		} else if (!descent.parent_log_id) {
			header->parent_start = tfp_facts_start_of(header->parent_pid);
		}
		tfp_copy(tfp_origin.job_id, descent.job_id, sizeof tfp_origin.job_id);
		if (is_zero(tfp_origin.job_id, sizeof tfp_origin.job_id))
			tfp_copy(tfp_origin.job_id, random + 1, sizeof tfp_origin.job_id);
		tfp_origin.job_ticks = header->origin.ticks;
	}
	tfp_origin.log_id = random[0] | 1;
	tfp_origin.ticks = header->origin.ticks;
	header->log_id = tfp_origin.log_id;
	header->parent_log_id = tfp_origin.parent_log_id;
	header->exec_count = tfp_origin.is_fork_child ? 0 : tfp_origin.exec_count;
	tfp_copy(header->job_id, tfp_origin.job_id, sizeof header->job_id);
}

/* The parent's log is not ours: its descriptor came with the fork and is closed, if it still is that file. */
static void leave_parent_log(const struct tfp_origin *parent)
{
	struct stat status;

	if (parent->descriptor >= 0 && tfp_sys(SYS_fstat, parent->descriptor, (long)&status, 0, 0, 0, 0) == 0 &&
	    status.st_dev == parent->device && status.st_ino == parent->inode)
		tfp_sys(SYS_close, parent->descriptor, 0, 0, 0, 0, 0);
}

static void set_intervals(struct tfp_state *state, uint64_t hz)
{
	state->clock_hz = hz;
	state->second_ticks = hz ? hz : UINT64_C(2000000000);
	state->point_ticks = state->second_ticks / 1000; /* a millisecond */
	while ((UINT64_C(2) << state->time_shift) <= state->second_ticks / 1000000)
		state->time_shift++;
	state->clock_step = state->second_ticks / 1000;
	state->clock_next = state->clock_step; /* readings at 1, 11, 111 ms, then each second: short programs have some too */
}

/*
 * Once more without the parent's descriptor, which may have been the one too many. A child that can make no log (it has changed its
 * user or its root, or is out of something) says so in its parent's: nobody else would ever know that there was anything to record.
 */
static enum tfp_loss make_alone(const struct tfp_file_options *options, struct tfp_file_header *header)
{
	struct tfp_file_live *parent = tfp_file_inherited();

	leave_parent_log(&tfp_origin);
	tfp_origin.descriptor = -1;
	enum tfp_loss why = tfp_file_make(options, header);
	if (!parent)
		return why;
	if (why)
		__atomic_fetch_add(why == TFP_LOSS_output_none ? &parent->children_refused : &parent->children_unmade, 1, __ATOMIC_RELAXED);
	tfp_file_inherited_done(parent);
	return why;
}

/* The header is stored, the first blocks follow. Returns 0, or a loss kind. */
static enum tfp_loss make_log(struct tfp_state *state, struct tfp_file_header *header)
{
	char host[65];
	struct tfp_clock_set now;

	tfp_facts_identity(header, host, sizeof host);
	begin_origin(header);
	const struct tfp_origin inherited = tfp_origin;
	tfp_clock_read(&now);
	header->clock_hz = tfp_origin.clock_hz ? tfp_origin.clock_hz : tfp_clock_hz(&header->origin, &now);
	set_intervals(state, header->clock_hz);
	struct tfp_file_options options = {
		.directory = tfp_settings_out(),
		.host = host,
		.max_bytes = tfp_settings.max_bytes,
		.max_total_bytes = tfp_settings.max_total_bytes,
		.keep_free = tfp_settings.keep_free,
		.is_wrapping = tfp_settings.full == TFP_FULL_WRAP,
	};
	enum tfp_loss why = tfp_file_make(&options, header);
	if (!why || why == TFP_LOSS_output_limit)
		leave_parent_log(&inherited);
	else if (tfp_origin.is_fork_child)
		why = make_alone(&options, header);
	return why ? why : tfp_schema_store();
}

/* on_exit: CUDA still works, as its own handlers, registered before this one, have not run. */
static void before_cuda_ends(int status, void *unused)
{
	(void)status;
	(void)unused;
	tfp_cupti_end();
}

#define EXIT_HANDLERS 3 /* when a window opens, and once contexts exist: CUDA may have registered more meanwhile */

/* Kept across fork, as the handlers are. */
static void register_before_cuda(void)
{
	static _Atomic uint32_t registered;

	if (registered < EXIT_HANDLERS && __atomic_fetch_add((uint32_t *)&registered, 1, __ATOMIC_RELAXED) < EXIT_HANDLERS)
		on_exit(before_cuda_ends, NULL);
}

/* The driver may call us all the same. */
static int are_devices_hidden(void)
{
	const char *visible = tfp_environment_get("CUDA_VISIBLE_DEVICES");

	return visible && (!visible[0] || (visible[0] == '-' && visible[1] == '1'));
}

static void configure_cupti(void)
{
	const char *home = tfp_environment_get("CUDA_HOME"), *toolkit = home && *home ? home : tfp_environment_get("CUDA_PATH");
	const char *search = tfp_environment_get("PATH");
	const struct tfp_cupti_options options = {
		.buffer_bytes = tfp_settings.cuda_buffer ? tfp_settings.cuda_buffer : CUDA_BUFFER_BYTES,
		.flush_ms = (uint32_t)tfp_settings.cuda_flush,
		.is_graph_level = tfp_settings.cuda_graph == TFP_CUDA_GRAPH_GRAPH,
		.is_all_api = tfp_settings.cuda_api,
		.is_without_devices = are_devices_hidden(),
		.places = {.toolkit = toolkit ? toolkit : "", .search = search ? search : ""},
		.create = tfp_real.pthread_create,
		.release = tfp_real.free,
		.at_exit = register_before_cuda,
		.opened = tfp_cupti_opened,
		.behind = tfp_cupti_unsigned,
		.describe = tfp_cuda_devices_note,
	};

	tfp_cupti_watch();
	tfp_cupti_begin(&options);
}

static uint64_t ticks_of(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * tfp_state->second_ticks / 1000000000u);
}

/* Settings into what the collectors read. Once per program; the sampler's table is made anew by nobody (a child finds it empty). */
static void configure(void)
{
	tfp_heap.usable_size = tfp_guard_usable_size();
	tfp_heap.reads_glibc = tfp_heap.usable_size && tfp_guard_allocator_is_glibc();
	if (tfp_heap.first_block)
		tfp_heap_prove(tfp_heap.first_block);
	tfp_heap.batch = tfp_settings.totals == TFP_TOTALS_EXACT ? 0 : TFP_BUDGET_BYTES;
	tfp_heap.interval = tfp_settings.heap.sample_bytes;
	tfp_drain_allow_thread(tfp_settings.drain == TFP_DRAIN_THREAD ||
			       (tfp_settings.drain == TFP_DRAIN_AUTO && tfp_settings.heap.mode == TFP_MODE_FULL));
	if (tfp_settings.step_range[0])
		tfp_pattern_make(&tfp_step_pattern, tfp_settings.step_range); /* the parser has seen that it is good */
	tfp_system_begin(tfp_settings.sys);
	tfp_nvml_begin(tfp_settings.sys && tfp_settings.sys < NVML_MS ? NVML_MS : tfp_settings.sys);
	tfp_io_is_wanted = (uint32_t)tfp_settings.io;
	enum tfp_mode mode = tfp_settings.heap.mode;
	if (mode == TFP_MODE_SAMPLE && tfp_sampler_make(tfp_heap.interval))
		mode = TFP_MODE_TOTALS;
	static const uint8_t causes[] = {[TFP_WINDOW_TIME] = TFP_CAUSE_TIME, [TFP_WINDOW_STEP] = TFP_CAUSE_STEP,
					 [TFP_WINDOW_LAUNCH] = TFP_CAUSE_LAUNCH, [TFP_WINDOW_SLOW] = TFP_CAUSE_SLOW,
					 [TFP_WINDOW_BUDGET] = TFP_CAUSE_BUDGET};
	struct tfp_window_plan plan = {.open_mode = mode};
	plan.is_open_at_start = is_open_at_start();
	plan.closed_mode = mode > TFP_MODE_TOTALS ? TFP_MODE_TOTALS : mode;
	if (tfp_settings.window.kind == TFP_WINDOW_OFF)
		plan.closed_mode = TFP_MODE_PASS;
	for (uint32_t i = 0; i < tfp_settings.window.count && i < TFP_WINDOWS; i++) {
		const struct tfp_window_entry *entry = &tfp_settings.window.entries[i];
		struct tfp_window_range *range = &plan.ranges[plan.count++];
		int is_time = entry->unit == TFP_WINDOW_TIME;
		range->unit = causes[entry->unit];
		range->from = is_time ? ticks_of(entry->from) : entry->from;
		range->to = is_time ? ticks_of(entry->to) : entry->to;
		range->every = is_time ? ticks_of(entry->every) : entry->every;
	}
	tfp_window_begin(&plan);
	tfp_repeats_begin();
}

/* CUDA runs, so the process has threads of its driver: one of ours may drain. */
static void gpu_work_began(void)
{
	if (tfp_settings.drain == TFP_DRAIN_AUTO)
		tfp_drain_allow_thread(1);
	tfp_drain_start(tfp_real.pthread_create);
	const struct tfp_gpu_engine *engine = tfp_gpu_engine();
	if (!engine || engine->is_recording() <= 0) /* else its records tell, or it asks for them */
		tfp_cuda_devices_note();
}

static void configure_gpu(void)
{
	int wants_cupti = tfp_settings.cuda == TFP_CUDA_CUPTI;
	struct tfp_gpu_plan plan = {
		.is_on = tfp_settings.cuda != TFP_CUDA_OFF,
		.wants_cupti = wants_cupti,
		.records_all = tfp_settings.cuda_api,
		.follows_closed = tfp_settings.window.kind != TFP_WINDOW_OFF,
		.attend = tfp_injection_attend,
		.work_began = gpu_work_began,
		.place = tfp_cuda_place,
	};

	if (wants_cupti)
		configure_cupti();
	tfp_gpu_begin(&plan);
	tfp_gpu_attend(wants_cupti);
}

/*
 * Whether we run in the memory of our parent, which has not started: what begins now would bear the number of a process that is gone in a
 * moment.
 */
static int is_lent(void)
{
	if (!tfp_origin.log_id || !tfp_thread_is_lent())
		return 0;
	long parent = tfp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0);
	return tfp_sys(SYS_kcmp, tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0), parent, KCMP_VM, 0, 0, 0) == 0;
}

/* Log, stacks, and once per program the settings: then the hooks may record. Returns -1 where there is no log. */
static int start_state(struct tfp_state *state)
{
	struct tfp_file_header header = {.clock_kind = tfp_clock_log_kind()};

	if (tfp_guard_has_own_allocator())
		header.flags |= TFP_FILE_STATIC_ALLOCATOR;
	tfp_clock_read(&header.origin);
	state->pid = (uint32_t)tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (tfp_origin.log_id) { /* a fork child, log or none: its parent's memory is not its user's to read */
		tfp_system_forked();
		tfp_python_time_forked();
		tfp_native_time_forked();
		tfp_repeats_forked();
		tfp_slow_forked();
	}
	if (make_log(state, &header))
		return -1;
	tfp_origin.start = header.origin;
	if (tfp_origin.is_fork_child) {
		state->live->inherited_bytes = tfp_origin.inherited_bytes;
		state->live->live_bytes = state->live->peak_bytes = tfp_origin.inherited_bytes;
		tfp_window_forked();
	}
	if (tfp_settings.stacks)
		state->stacks = tfp_stacks_make(tfp_settings.stacks);
	if (!is_configured)
		configure();
	if (!is_configured)
		configure_gpu();
	is_configured = 1;
	state->live->heap_mode = tfp_mode_now;
	__atomic_store_n((uint32_t *)&state->phase, TFP_STATE_READY, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Another thread is starting us at this moment (0.2 ms, a slow disk apart): its calls and ours should both be recorded, so
 * wait for it, but not for ever; calls that come meanwhile in this very thread do not get here (tfp_thread_start).
 */
static int wait_for_start(void)
{
	uint64_t begin = tfp_clock_monotonic_ns();

	while (tfp_state && tfp_state->phase == TFP_STATE_STARTING && tfp_clock_monotonic_ns() - begin < WAIT_NS)
		if (tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0) < 0)
			break;
	return tfp_state && tfp_state->phase == TFP_STATE_READY ? 0 : -1;
}

int tfp_start(void)
{
	if (load_once()) {
		if (is_loaded) {
			forward_only();
			tfp_threads_never_start();
		}
		return -1;
	}
	if ((!tfp_state || tfp_state->phase == TFP_STATE_COLD) && is_lent())
		return -1;
	struct tfp_state *state = claim_state();
	if (!state && !tfp_state) { /* no pages to be had: each call would ask the kernel anew, and for each signal first */
		forward_only();
		tfp_threads_never_start();
		return -1;
	}
	if (!state)
		return wait_for_start();
	if (start_state(state)) {
		state->phase = TFP_STATE_FAILED;
		forward_only();
		return -1;
	}
	tfp_facts_process();
	tfp_settings_note();
	tfp_file_sync();
	if (tfp_settings.max_total_bytes && !tfp_file_is_counted())
		tfp_fact_pair(TFP_TAG_note, "no_total_limit",
			      "TFPROF_MAX_TOTAL_BYTES could not be kept: " TFP_TOTAL_NAME " in the output directory is "
			      "not this user's, or lies on no local file system.");
	if (!tfp_heap.usable_size)
		tfp_fact_pair(TFP_TAG_note, "no_usable_size",
			      "The allocator has no malloc_usable_size: sizes are those requested, and released bytes are not known.");
	return 0;
}

/* on_exit: the handlers of the host have run, its destructors have not. */
static void at_exit(int status, void *unused)
{
	(void)unused;
	tfp_cupti_end();
	tfp_process_ending(TFP_END_EXIT, status);
}

__attribute__((constructor)) static void begin(void)
{
	int error = errno;

	tfp_thread_start();
	tfp_injection_withdraw();
	if (tfp_state && tfp_state->phase == TFP_STATE_READY) {
		on_exit(at_exit, NULL);
		tfp_settings_hand_on();
		tfp_injection_offer();
		tfp_guard_signal();
		tfp_xla_ask();
		tfp_python_find();
		tfp_native_time_begin((uint32_t)tfp_settings.native_time);
	}
	errno = error; /* 0 when main begins */
}
