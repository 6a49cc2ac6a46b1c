/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks: true time (CLOCK_REALTIME, or a virtual clock) and what the devices' clocks make of it.
 *
 * Rule: sim_clock_device is a pure function of the true time, so that start and end of work are settled in advance.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inner.h"

#define STEPS_MAX 16
#define SPIN_NS 60000	/* a timer wakes this late at worst on a busy machine; the rest is spun */

static struct {
	uint64_t at;	/* true time */
	int64_t by;	/* ns */
} steps[STEPS_MAX];	/* written by sim_clock_start */
static int step_count;
static uint64_t origin;
static int64_t drift_ppb, offset_ns;
static uint64_t granularity;
static bool is_virtual;
static _Atomic uint64_t virtual_now;	/* only grows; moved by any thread */

static uint64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_step(const char *value, void *user)
{
	long long at_ms, by_ns;

	(void)user;
	if (step_count < STEPS_MAX && sscanf(value, "%lld %lld", &at_ms, &by_ns) == 2) {
		steps[step_count].at = origin + (uint64_t)at_ms * 1000000u;
		steps[step_count++].by = by_ns;
	}
}

void sim_clock_start(void)
{
	origin = realtime();
	is_virtual = !strcmp(sim_setting_text("time", "paced"), "virtual");
	if (is_virtual)
		origin = sim_setting("virtual_start", origin);
	virtual_now = origin;
	drift_ppb = (int64_t)sim_setting("drift_ppb", 0);
	offset_ns = (int64_t)sim_setting("offset_ns", 0);
	granularity = sim_setting("granularity_ns", 1);
	granularity = granularity ? granularity : 1;
	sim_scenario_each("step", add_step, NULL);
}

bool sim_clock_is_virtual(void)
{
	return is_virtual;
}

uint64_t sim_clock_now(void)
{
	return is_virtual ? atomic_load(&virtual_now) : realtime();
}

void sim_clock_pass(uint64_t ns)
{
	if (is_virtual)
		atomic_fetch_add(&virtual_now, ns);
}

uint64_t sim_clock_device(int device, uint64_t true_ns)
{
	int64_t passed = (int64_t)(true_ns - origin);
	int64_t moved = offset_ns + (int64_t)((__int128)passed * drift_ppb / 1000000000);

	(void)device;
	for (int i = 0; i < step_count; i++)
		if (true_ns >= steps[i].at)
			moved += steps[i].by;
	true_ns += (uint64_t)moved;
	return true_ns - true_ns % granularity;
}

void sim_clock_sleep_until(uint64_t true_ns)
{
	uint64_t now = sim_clock_now();

	if (is_virtual) {
		while (now < true_ns && !atomic_compare_exchange_weak(&virtual_now, &now, true_ns))
			;
		return;
	}
	while (now < true_ns) {
		if (true_ns - now > SPIN_NS) {
			struct timespec wake = {.tv_sec = (time_t)((true_ns - SPIN_NS) / 1000000000u),
						.tv_nsec = (long)((true_ns - SPIN_NS) % 1000000000u)};

			syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 1 /* TIMER_ABSTIME */, &wake, NULL);
		}
		now = realtime();
	}
}

static uint32_t generation = 1;	/* counted by fork children, before they have threads */

void sim_thread_forget(void)
{
	generation++;
}

uint32_t sim_thread_id(void)
{
	static __thread uint32_t id, known;

	if (known != generation) {
		known = generation;
		id = (uint32_t)syscall(SYS_gettid);
	}
	return id;
}
