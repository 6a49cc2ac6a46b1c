/* SPDX-License-Identifier: Apache-2.0 */
/* The use of the machine; see collectors/system.h. */
#include "collectors/system.h"

#include "collectors/system_threads.h"
#include "collectors/title.h"
#include "collectors/window.h"
#include "writer/sys.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "writer/poison.h"

#define OPENINGS 4  /* of the files, in the life of a process */
#define ROOM 16384u /* for a file's text: 250 network interfaces or disks */

/* In pages that a fork child finds empty. */
struct tfp_system {
	uint32_t is_busy; /* somebody opens or reads; never waited for */
	uint32_t is_open, opened;
	uint64_t slow_next; /* when all files are due */
	char room[ROOM];
};

static uint32_t period_ms; /* written at start-up, kept across fork */
static _Atomic uint32_t
	opener; /* pid of the process that opened the files, 0 = closed; written with the role, and in a fork child */

void tfp_system_begin(uint32_t milliseconds)
{
	period_ms = milliseconds;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void put_thread(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	struct rusage use;

	if (tfp_sys(SYS_getrusage, RUSAGE_THREAD, (long)&use, 0, 0, 0, 0) < 0)
		return;
	TFP_PUT(thread, lane, now, thread_use, .user = ns_of(&use.ru_utime), .system = ns_of(&use.ru_stime),
		.minor_faults = (uint64_t)use.ru_minflt, .major_faults = (uint64_t)use.ru_majflt, .waits = (uint64_t)use.ru_nvcsw,
		.preemptions = (uint64_t)use.ru_nivcsw);
}

static void put_process(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	struct rusage use;
	struct sysinfo machine;

	if (tfp_sys(SYS_getrusage, RUSAGE_SELF, (long)&use, 0, 0, 0, 0) < 0 ||
	    tfp_sys(SYS_sysinfo, (long)&machine, 0, 0, 0, 0, 0) < 0)
		return;
	uint64_t unit = machine.mem_unit ? machine.mem_unit : 1;
	TFP_PUT(thread, lane, now, process_use, .user = ns_of(&use.ru_utime), .system = ns_of(&use.ru_stime),
		.minor_faults = (uint64_t)use.ru_minflt, .major_faults = (uint64_t)use.ru_majflt, .waits = (uint64_t)use.ru_nvcsw,
		.preemptions = (uint64_t)use.ru_nivcsw, .peak_resident = (uint64_t)use.ru_maxrss * 1024,
		.blocks_read = (uint64_t)use.ru_inblock, .blocks_written = (uint64_t)use.ru_oublock, .load = machine.loads[0],
		.memory = machine.totalram * unit, .memory_free = machine.freeram * unit);
}

enum reading {
#define TFP_READING(number, name, subject, kind, unit, help) READ_##name = (number),
#include "collectors/tables/readings.def"
#undef TFP_READING
};

/* The role of whoever opens or reads: its state, which a fork child finds empty. NULL: another thread has it, or no memory. */
static struct tfp_system *take_role(void)
{
	struct tfp_system *system = __atomic_load_n(&tfp_state->system, __ATOMIC_ACQUIRE), *none = NULL;
	uint32_t is_free = 0;

	if (!system) {
		system = tfp_pages_get(sizeof *system, 1);
		if (!system)
			return NULL;
		if (!__atomic_compare_exchange_n(&tfp_state->system, &none, system, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			tfp_pages_put(system, sizeof *system);
			system = none;
		}
	}
	return __atomic_compare_exchange_n(&system->is_busy, &is_free, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? system : NULL;
}

static void leave_role(struct tfp_system *system)
{
	__atomic_store_n(&system->is_busy, 0, __ATOMIC_RELEASE);
}

static void open_files(struct tfp_system *system)
{
	if (system->opened == OPENINGS || system->is_open)
		return;
	system->opened++;
	system->is_open = 1;
	opener = tfp_state->pid;
	tfp_system_files_open();
	tfp_system_threads_open();
}

static void close_files(void)
{
	opener = 0;
	tfp_system_files_close();
	tfp_system_threads_close();
}

void tfp_system_threading(void)
{
	if (!period_ms || !tfp_state || tfp_state->phase != TFP_STATE_READY || !tfp_is_open || opener == tfp_state->pid ||
	    !tfp_kept_is_home())
		return;
	struct tfp_system *system = take_role();
	if (!system)
		return;
	open_files(system);
	leave_role(system);
}

void tfp_system_forked(void)
{
	if (opener)
		close_files();
}

/* What stands in files. Where one is gone the host has closed it, often all: they are opened again, a few times. */
static void put_files(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, int is_last)
{
	struct tfp_system *system = take_role();
	uint64_t from = tfp_ticks();

	if (!system)
		return;
	open_files(system);
	int is_all = is_last || now >= system->slow_next;
	uint32_t failed = tfp_system_files_read(thread, lane, now, is_all, system->room, sizeof system->room);
	if (is_all) {
		system->slow_next = now + tfp_state->second_ticks;
		failed += system->is_open && tfp_system_threads_read(thread, lane, now, system->room, sizeof system->room);
	}
	if (failed) {
		TFP_PUT(thread, lane, now, reading, .value = failed, .kind = READ_unread);
		close_files();
		system->is_open = 0;
	}
	uint64_t ticks = tfp_ticks() - from, second = tfp_state->second_ticks;
	TFP_PUT(thread, lane, now, reading, .value = (uint64_t)((unsigned __int128)ticks * 1000000000u / second),
		.kind = READ_reading);
	leave_role(system);
}

void tfp_system_look(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	/* The use of a vfork child is its own, whatever it does on this thread's records. */
	if (!period_ms || !tfp_is_open || now < thread->system_next || !tfp_kept_is_home())
		return;
	uint64_t period = tfp_state->second_ticks / 1000 * period_ms, due = tfp_state->system_next;

	thread->system_next = now + period;
	if (!thread->is_own)
		put_thread(thread, lane, now);
	if (now < due ||
	    !__atomic_compare_exchange_n((uint64_t *)&tfp_state->system_next, &due, now + period, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	put_process(thread, lane, now);
	tfp_title_look(now, 0);
	if (due) /* the first look comes at once: a process that ends within a period opens nothing until then */
		put_files(thread, lane, now, 0);
}

void tfp_system_end(struct tfp_thread *thread, struct tfp_lane *lane)
{
	uint64_t now = tfp_now();

	if (!period_ms || !tfp_is_open || !tfp_kept_is_home())
		return;
	put_thread(thread, lane, now);
	put_process(thread, lane, now);
	if (opener == tfp_state->pid)
		put_files(thread, lane, now, 1);
}
