/* SPDX-License-Identifier: Apache-2.0 */
/* The use of the machine; see collectors/system.h. */
#include "collectors/system.h"

#include "collectors/window.h"
#include "writer/sys.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "writer/poison.h"

static uint32_t period_ms; /* written at start-up, kept across fork */

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
		.minor_faults = (uint64_t)use.ru_minflt, .major_faults = (uint64_t)use.ru_majflt,
		.waits = (uint64_t)use.ru_nvcsw, .preemptions = (uint64_t)use.ru_nivcsw);
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
		.minor_faults = (uint64_t)use.ru_minflt, .major_faults = (uint64_t)use.ru_majflt,
		.waits = (uint64_t)use.ru_nvcsw, .preemptions = (uint64_t)use.ru_nivcsw,
		.peak_resident = (uint64_t)use.ru_maxrss * 1024, .blocks_read = (uint64_t)use.ru_inblock,
		.blocks_written = (uint64_t)use.ru_oublock, .load = machine.loads[0], .memory = machine.totalram * unit,
		.memory_free = machine.freeram * unit);
}

void tfp_system_look(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	if (!period_ms || !tfp_is_open || tfp_sys_is_sealed() || now < thread->system_next)
		return;
	uint64_t period = tfp_state->second_ticks / 1000 * period_ms, due = tfp_state->system_next;

	thread->system_next = now + period;
	put_thread(thread, lane, now);
	if (now >= due && __atomic_compare_exchange_n((uint64_t *)&tfp_state->system_next, &due, now + period, 0, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED))
		put_process(thread, lane, now);
}

void tfp_system_end(struct tfp_thread *thread, struct tfp_lane *lane)
{
	uint64_t now = tfp_now();

	if (!period_ms || !tfp_is_open || tfp_sys_is_sealed())
		return;
	put_thread(thread, lane, now);
	put_process(thread, lane, now);
}
