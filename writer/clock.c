/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and reads the clocks; see writer/clock.h. Rule: a counter is used only where the kernel itself trusts it. */
#include "writer/clock.h"

#include "writer/sys.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

uint32_t tfp_clock_kind = TFP_CLOCK_MONOTONIC;

/* Where the counter was left; hz 0: it was not. Written by tfp_clock_leave_counter, before the kind that makes others read it. */
static struct {
	uint64_t ticks, ns, hz;
	enum tfp_clock_kind kind;
} bridge;

static _Atomic uint64_t stopped_at; /* ticks; 0: time runs. Written by tfp_clock_stop; kept across fork, as the filter is */

static uint64_t system_clock_ns(clockid_t id)
{
	struct timespec now = {0, 0};

	tfp_sys(SYS_clock_gettime, id, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t tfp_clock_monotonic_ns(void)
{
	return system_clock_ns(CLOCK_MONOTONIC);
}

uint64_t tfp_clock_realtime_ns(void)
{
	return system_clock_ns(CLOCK_REALTIME);
}

enum tfp_clock_kind tfp_clock_log_kind(void)
{
	return bridge.hz ? bridge.kind : (enum tfp_clock_kind)tfp_clock_kind;
}

uint64_t tfp_clock_slow_ticks(void)
{
	uint64_t stopped = stopped_at;

	if (stopped)
		return stopped;
	uint64_t now = tfp_clock_monotonic_ns();
	return bridge.hz ? bridge.ticks + (uint64_t)((unsigned __int128)(now - bridge.ns) * bridge.hz / 1000000000u) : now;
}

#define RATE_LEAST_NS 1000000 /* a reading is bracketed to about 100 ns: the rate is good to 1 in 10^4 at worst */

void tfp_clock_leave_counter(const struct tfp_clock_set *from)
{
	struct tfp_clock_set now;

	if (tfp_clock_kind == TFP_CLOCK_MONOTONIC)
		return;
	do
		tfp_clock_read(&now);
	while (now.monotonic_ns - from->monotonic_ns < RATE_LEAST_NS);
	bridge.kind = (enum tfp_clock_kind)tfp_clock_kind;
	bridge.hz = tfp_clock_hz(from, &now);
	bridge.ticks = now.ticks;
	bridge.ns = now.monotonic_ns;
	__atomic_store_n(&tfp_clock_kind, TFP_CLOCK_MONOTONIC, __ATOMIC_RELEASE);
}

void tfp_clock_stop(int is_stopped)
{
	stopped_at = is_stopped ? tfp_ticks() : 0;
}

#if defined __x86_64__
/* 1: the kernel keeps time with the TSC; 0: with something else; -1: it does not say (no sysfs). */
static int kernel_uses_tsc(void)
{
	char name[8] = "";
	long file = tfp_sys(SYS_openat, AT_FDCWD, (long)"/sys/devices/system/clocksource/clocksource0/current_clocksource",
			    O_RDONLY | O_CLOEXEC, 0, 0, 0);

	if (file < 0)
		return -1;
	long got = tfp_sys(SYS_read, file, (long)name, sizeof name - 1, 0, 0, 0);
	tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	return got >= 4 && tfp_same(name, "tsc\n", 4);
}

static int tsc_is_invariant(void)
{
	uint32_t a = 0x80000007u, b, c = 0, d; /* each processor with long mode has leaves up to 0x80000008 */

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return (int)(d >> 8 & 1); /* advanced power management information, bit 8: invariant TSC */
}

/* Where sysfs does not tell, the counter must keep step with CLOCK_MONOTONIC_RAW over 2 x 50 us to 1 %. */
static int tsc_keeps_step(void)
{
	uint64_t rate[2];

	for (int round = 0; round < 2; round++) {
		uint32_t low, high;
		uint64_t from_ns = system_clock_ns(CLOCK_MONOTONIC_RAW), to_ns;

		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		uint64_t from = (uint64_t)high << 32 | low;
		do
			to_ns = system_clock_ns(CLOCK_MONOTONIC_RAW);
		while (to_ns - from_ns < 50000);
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		rate[round] = (((uint64_t)high << 32 | low) - from) * 1000 / (to_ns - from_ns);
	}
	uint64_t difference = rate[0] > rate[1] ? rate[0] - rate[1] : rate[1] - rate[0];
	return rate[0] > 100 && difference < rate[0] / 100;
}
#endif

void tfp_clock_choose(void)
{
#if defined __x86_64__
	int allowed = 0;
	int by_kernel = kernel_uses_tsc();

	if (tfp_sys(SYS_prctl, PR_GET_TSC, (long)&allowed, 0, 0, 0, 0) < 0 || allowed != PR_TSC_ENABLE)
		return;
	if (tsc_is_invariant() && (by_kernel > 0 || (by_kernel < 0 && tsc_keeps_step())))
		tfp_clock_kind = TFP_CLOCK_TSC;
#elif defined __aarch64__
	tfp_clock_kind = TFP_CLOCK_CNTVCT;
#endif
}

#define WIDE_TICKS 8192 /* some us on x86-64: more than three calls take, so something came between in each round */

void tfp_clock_read(struct tfp_clock_set *set)
{
	set->width_ticks = UINT64_MAX;
	for (int round = 0; round < 3 || (round < 12 && set->width_ticks > WIDE_TICKS); round++) {
		uint64_t before = tfp_ticks();
		uint64_t raw = system_clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t monotonic = system_clock_ns(CLOCK_MONOTONIC);
		uint64_t realtime = system_clock_ns(CLOCK_REALTIME);
		uint64_t after = tfp_ticks();

		if (after - before >= set->width_ticks)
			continue;
		set->width_ticks = after - before;
		set->ticks = before + (after - before) / 2;
		set->raw_ns = raw;
		set->monotonic_ns = monotonic;
		set->realtime_ns = realtime;
	}
}

uint64_t tfp_clock_hz(const struct tfp_clock_set *from, const struct tfp_clock_set *to)
{
#if defined __aarch64__
	if (tfp_clock_kind == TFP_CLOCK_CNTVCT) {
		uint64_t hz;

		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
		return hz;
	}
#endif
	if (tfp_clock_log_kind() == TFP_CLOCK_MONOTONIC)
		return UINT64_C(1000000000);
	uint64_t ns = to->raw_ns - from->raw_ns;
	return ns < 10000 ? 0 : (uint64_t)((unsigned __int128)(to->ticks - from->ticks) * 1000000000u / ns);
}

/* As clock_getcpuclockid would name its clock: ~tid, "one thread", "scheduler". */
uint64_t tfp_clock_thread_ns(uint32_t tid)
{
	struct timespec time;

	if (tfp_sys(SYS_clock_gettime, (int)(~tid << 3 | 4 | 2), (long)&time, 0, 0, 0, 0) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
