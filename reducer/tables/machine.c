/* SPDX-License-Identifier: Apache-2.0 */
/* Totals between two readings, and devices' levels in the time before each reading; see machine.h. */
#include "reducer/tables/machine.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/around.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define OUTSIDE_MOST 0.5 /* of the time asked for: how much longer the time between the readings around it may be */
#define READINGS_LEAST 3 /* of a device, in the time asked for */
#define LOWERED (REASON_power_cap | REASON_hardware | REASON_temperature | REASON_hardware_temperature | REASON_power_brake)
#define CLOCK_LOW 0.98 /* of the highest: from there on down it is lower */

/* nvmlClocksEventReasons of nvml.h. */
enum {
	REASON_power_cap = MACHINE_POWER_CAP,
	REASON_hardware = 0x8,
	REASON_temperature = 0x20,
	REASON_hardware_temperature = 0x40,
	REASON_power_brake = 0x80,
};
static const struct {
	uint64_t bit;
	const char *word;
} reasons[] = {
	{0x1, "idle"},
	{0x2, "clocks set"},
	{REASON_power_cap, "power cap"},
	{REASON_hardware, "hardware slowdown"},
	{0x10, "sync boost"},
	{REASON_temperature, "temperature"},
	{REASON_hardware_temperature, "hardware temperature"},
	{REASON_power_brake, "power brake"},
	{0x100, "display clocks"},
};

void machine_put_reasons(struct text *words, uint64_t bits)
{
	const char *between = "";

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		if (bits & reasons[i].bit) {
			text_format(words, "%s%s", between, reasons[i].word);
			between = ", ";
		}
		bits &= ~reasons[i].bit;
	}
	if (bits)
		text_format(words, "%s0x%" PRIx64, between, bits);
}

void machine_put_processors(struct text *words, double processors)
{
	text_format(words, "%.3g processor%s", processors, processors == 1 ? "" : "s");
}

/* A stretch of the time of a process. */
struct stretch {
	const struct process *process;
	int64_t from_ns, to_ns;
};

/* How much a total of the process, group or machine grew between the readings around the time, *over_ns apart; negative = not known. */
static double grown(const struct stretch *stretch, uint16_t kind, double *over_ns)
{
	const struct use_rows *use = &stretch->process->use;
	struct around around = {.from_ns = stretch->from_ns, .to_ns = stretch->to_ns};
	uint64_t value;

	for (size_t i = 0; i < use->count && !around_is_whole(&around); i++)
		if (use->samples[i].of == USE_OF_PROCESS && use_value(use, &use->samples[i], kind, &value))
			around_add(&around, use->samples[i].time_ns, (double)value);
	*over_ns = (double)(around.last_ns - around.first_ns);
	if (!around_is_known(&around) || around.last < around.first ||
	    *over_ns > (1 + OUTSIDE_MOST) * (double)(stretch->to_ns - stretch->from_ns))
		return -1;
	return around.last - around.first;
}

/* The last level that was read until the end of the time; 0 = none. */
static double level(const struct stretch *stretch, uint16_t kind)
{
	const struct use_rows *use = &stretch->process->use;
	uint64_t value = 0, last = 0;

	for (size_t i = 0; i < use->count && use->samples[i].time_ns <= stretch->to_ns; i++)
		if (use->samples[i].of == USE_OF_PROCESS && use_value(use, &use->samples[i], kind, &value))
			last = value;
	return (double)last;
}

/* A total of ns by the time that it grew in. */
static double share(const struct stretch *stretch, uint16_t kind)
{
	double over = 0, ns = grown(stretch, kind, &over);

	return ns < 0 ? -1 : ns / over;
}

struct machine_kept machine_kept_from(const struct process *process, int64_t from_ns, int64_t to_ns)
{
	struct stretch stretch = {process, from_ns, to_ns};
	double period = level(&stretch, USE_group_cpu_period), quota = level(&stretch, USE_group_cpu_quota), over = 0;
	double throttles = grown(&stretch, USE_group_throttles, &over), user = share(&stretch, USE_host_user),
	       system = share(&stretch, USE_host_system), stolen = share(&stretch, USE_host_stolen);
	struct machine_kept kept = {.limited = -1, .stolen = -1, .memory_stall = share(&stretch, USE_group_memory_stall)};

	if (period > 0 && quota > 0)
		kept.processors = quota / period;
	if (throttles >= 0)
		kept.limited = kept.processors > 0 ? fmin(throttles * period / over, 1) : 0;
	if (user >= 0 && system >= 0 && stolen >= 0 && user + system + stolen > 0)
		kept.stolen = stolen / (user + system + stolen);
	kept.is_groups_stall = kept.memory_stall >= 0;
	if (!kept.is_groups_stall)
		kept.memory_stall = share(&stretch, USE_host_memory_stall);
	kept.memory_stall = fmin(kept.memory_stall, 1);
	return kept;
}

/* When processes of the run that have to do with a device began and ended, each sorted; how many did until a moment that only grows. */
struct users {
	int64_t *starts, *ends;
	size_t count, started, ended;
};

static int by_time(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return (one > other) - (one < other);
}

static bool has_device(const struct process *other, const struct process *process, uint32_t device)
{
	for (size_t d = 0; other != process && d < other->gpu->device_count; d++)
		if (gpu_has_to_do(other, other->gpu->devices[d].id) &&
		    gpu_is_one_device(other, other->gpu->devices[d].id, process, device))
			return true;
	return other == process;
}

static struct users users_find(const struct run *run, const struct process *process, uint32_t device)
{
	struct users users = {.starts = base_alloc(run->process_count + 1, sizeof(int64_t)),
			      .ends = base_alloc(run->process_count + 1, sizeof(int64_t))};

	for (size_t p = 0; p < run->process_count; p++) {
		if (!run->processes[p].gpu || !has_device(&run->processes[p], process, device))
			continue;
		users.starts[users.count] = run->processes[p].start_ns;
		users.ends[users.count++] = run->processes[p].gone_ns;
	}
	qsort(users.starts, users.count, sizeof(int64_t), by_time);
	qsort(users.ends, users.count, sizeof(int64_t), by_time);
	return users;
}

static uint64_t users_at(struct users *users, int64_t time_ns)
{
	while (users->started < users->count && users->starts[users->started] <= time_ns)
		users->started++;
	while (users->ended < users->count && users->ends[users->ended] < time_ns)
		users->ended++;
	return users->started - users->ended;
}

/* A reading speaks of the time since the one before. False: too few lie in the time. */
static bool find_device(struct machine_device *found, const struct run *run, const struct stretch *stretch)
{
	const struct use_rows *use = &stretch->process->use;
	struct users users = users_find(run, stretch->process, found->device);
	double all = 0, lowered = 0, clock = 0, shared = 0, lost = 0, clock_all = 0, clock_ns = 0;
	int64_t before_ns = INT64_MIN;
	size_t count = 0;

	for (size_t i = 0; i < use->count && use->samples[i].time_ns <= stretch->to_ns; i++) {
		const struct use_sample *sample = &use->samples[i];
		uint64_t bits = 0, now = 0, most = 0, computing = 0;
		if (sample->of != USE_OF_DEVICE || sample->subject != found->device)
			continue;
		double ns = (double)(sample->time_ns - (before_ns > stretch->from_ns ? before_ns : stretch->from_ns));
		bool is_first = before_ns == INT64_MIN;
		before_ns = sample->time_ns;
		if (is_first || ns <= 0)
			continue;
		count++;
		all += ns;
		if (use_value(use, sample, USE_processes, &computing) && computing > users_at(&users, sample->time_ns))
			shared += ns;
		if (use_value(use, sample, USE_sm_clock, &now)) {
			clock_all += ns * (double)now;
			clock_ns += ns;
		}
		if (!use_value(use, sample, USE_throttle_reasons, &bits) || !use_value(use, sample, USE_sm_clock, &now) ||
		    !use_value(use, sample, USE_sm_clock_max, &most) || !(bits & LOWERED) || !most ||
		    (double)now > CLOCK_LOW * (double)most)
			continue;
		lowered += ns;
		clock += ns * (double)now;
		lost += ns * (1 - (double)now / (double)most);
		found->clock_most = (double)most;
		found->reasons |= bits & LOWERED;
	}
	free(users.starts);
	free(users.ends);
	if (count < READINGS_LEAST)
		return false;
	found->lowered = lowered / all;
	found->clock = lowered > 0 ? clock / lowered : 0;
	found->clock_mean = clock_ns > 0 ? clock_all / clock_ns : 0;
	found->lost = lost / all;
	found->shared = shared / all;
	return true;
}

size_t machine_devices(struct machine_device devices[MACHINE_DEVICES], const struct run *run, size_t process, int64_t from_ns,
		       int64_t to_ns)
{
	const struct gpu *gpu = run->processes[process].gpu;
	struct stretch stretch = {&run->processes[process], from_ns, to_ns};
	uint32_t seen[MACHINE_DEVICES];
	size_t count = 0, seen_count = 0;

	for (size_t q = 0; gpu && q < gpu->queue_count && seen_count < MACHINE_DEVICES; q++) {
		struct machine_device found = {.device = gpu->queues[q].device};
		size_t i = 0;
		while (i < seen_count && seen[i] != found.device)
			i++;
		if (i < seen_count || found.device == GPU_NONE)
			continue;
		seen[seen_count++] = found.device;
		if (find_device(&found, run, &stretch))
			devices[count++] = found;
	}
	return count;
}

#define SLOWER 0.9	/* of the clock before: from there on down it is worth a word */
#define KEPT_FROM 0.1	/* of the time */
#define KEPT_TIMES 2.0	/* as much as before */

static bool has_grown(double before, double now)
{
	return now >= KEPT_FROM && now >= KEPT_TIMES * before;
}

static void say_clocks(struct text *text, const struct machine_device *before, const struct machine_device *now)
{
	text_format(text, " Meanwhile device %" PRIu32 " ran at %.0f MHz, before at %.0f (", now->device, now->clock_mean,
		    before->clock_mean);
	machine_put_reasons(text, now->reasons);
	text_string(text, ").");
}

void machine_say_since(struct text *text, const struct run *run, size_t process, struct machine_stretch before,
		       struct machine_stretch now)
{
	struct machine_kept kept[2] = {machine_kept_from(&run->processes[process], before.from_ns, before.to_ns),
				       machine_kept_from(&run->processes[process], now.from_ns, now.to_ns)};
	struct machine_device earlier[MACHINE_DEVICES], later[MACHINE_DEVICES];
	size_t earlier_count = machine_devices(earlier, run, process, before.from_ns, before.to_ns);
	size_t later_count = machine_devices(later, run, process, now.from_ns, now.to_ns);

	for (size_t i = 0; i < later_count; i++)
		for (size_t k = 0; k < earlier_count; k++)
			if (earlier[k].device == later[i].device && later[i].reasons && later[i].clock_mean > 0 &&
			    later[i].clock_mean <= SLOWER * earlier[k].clock_mean)
				say_clocks(text, &earlier[k], &later[i]);
	if (kept[0].limited >= 0 && has_grown(kept[0].limited, kept[1].limited)) {
		text_string(text, " Meanwhile the control group had used up its limit, ");
		machine_put_processors(text, kept[1].processors);
		text_format(text, ", in %.0f %% of the periods, before in %.0f %%.", 100 * kept[1].limited, 100 * kept[0].limited);
	}
	if (kept[0].memory_stall >= 0 && has_grown(kept[0].memory_stall, kept[1].memory_stall))
		text_format(text, " Meanwhile some task waited for memory %.0f %% of the time, before %.0f %%.",
			    100 * kept[1].memory_stall, 100 * kept[0].memory_stall);
	if (kept[0].stolen >= 0 && has_grown(kept[0].stolen, kept[1].stolen))
		text_format(text,
			    " Meanwhile %.0f %% of the time that was wanted of processors was not given to this virtual machine, before "
			    "%.0f %%.",
			    100 * kept[1].stolen, 100 * kept[0].stolen);
}
