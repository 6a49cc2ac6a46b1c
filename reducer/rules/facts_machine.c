/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about what the machine kept from the steps: processors, memory, the devices' clocks.
 *
 * Rule: of each process from its first judged step to its last; of several processes, and devices, the one that lost most.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/tables/machine.h"
#include "reducer/tables/step_values.h"

#include <stdio.h>

/* Whether that is more than what was found before. */
static bool is_most(const struct rule_facts *facts, enum fact_id id, double value)
{
	return value >= 0 && (!facts_known(facts, id) || value > facts_value(facts, id));
}

static void take_kept(struct rule_facts *facts, const struct process *process, const struct machine_kept *kept)
{
	if (is_most(facts, FACT_limited_percent, 100 * kept->limited)) {
		facts_own(facts, FACT_limited_percent, 100 * kept->limited, "host_usage", "group_throttles", "process=%u", process->pid);
		facts_own(facts, FACT_limit_processors, kept->processors, "host_usage", "group_cpu_quota_ns", "process=%u", process->pid);
	}
	if (is_most(facts, FACT_stolen_percent, 100 * kept->stolen))
		facts_own(facts, FACT_stolen_percent, 100 * kept->stolen, "host_usage", "host_stolen_ns", "process=%u", process->pid);
	if (is_most(facts, FACT_memory_stall_percent, 100 * kept->memory_stall)) {
		facts_own(facts, FACT_memory_stall_percent, 100 * kept->memory_stall, "host_usage",
			  kept->is_groups_stall ? "group_memory_stall_ns" : "host_memory_stall_ns", "process=%u", process->pid);
		snprintf(facts->facts[FACT_memory_stall_percent].label, FACT_LABEL, "%s",
			 kept->is_groups_stall ? "control group" : "machine");
	}
}

/* By its number and, where several processes take steps, each of which may have one of that number, whose it is. */
static void name_device(char *label, const struct process *process, const struct machine_device *device, bool are_several)
{
	if (are_several)
		snprintf(label, FACT_LABEL, "%u of process %s", device->device, process->called);
	else
		snprintf(label, FACT_LABEL, "%u", device->device);
}

static void take_device(struct rule_facts *facts, const struct process *process, const struct machine_device *device, bool are_several)
{
	struct text words = {0};

	machine_put_reasons(&words, device->reasons);
	if (is_most(facts, FACT_clock_lost_percent, 100 * device->lost)) {
		facts_own(facts, FACT_clock_lost_percent, 100 * device->lost, "device_usage", "sm_clock", "process=%u,device=%u",
			  process->pid, device->device);
		facts_own(facts, FACT_clock_lowered_percent, 100 * device->lowered, "device_usage", "throttle_reasons",
			  "process=%u,device=%u", process->pid, device->device);
		facts_own(facts, FACT_clock_mhz, device->clock, "device_usage", "sm_clock", "process=%u,device=%u", process->pid,
			  device->device);
		facts_own(facts, FACT_clock_most_mhz, device->clock_most, "device_usage", "sm_clock_max", "process=%u,device=%u",
			  process->pid, device->device);
		facts_own(facts, FACT_clock_reasons, (double)device->reasons, "device_usage", "throttle_reasons",
			  "process=%u,device=%u", process->pid, device->device);
		name_device(facts->facts[FACT_clock_lost_percent].label, process, device, are_several);
		snprintf(facts->facts[FACT_clock_reasons].label, FACT_LABEL, "%s", words.length ? words.bytes : "");
	}
	if (is_most(facts, FACT_device_shared_percent, 100 * device->shared)) {
		facts_own(facts, FACT_device_shared_percent, 100 * device->shared, "device_usage", "processes", "process=%u,device=%u",
			  process->pid, device->device);
		name_device(facts->facts[FACT_device_shared_percent].label, process, device, are_several);
	}
	text_free(&words);
}

static void take_process(struct rule_facts *facts, const struct request *request, size_t process, int64_t from, int64_t to,
			 bool are_several)
{
	struct machine_kept kept = machine_kept_from(&request->run->processes[process], from, to);
	struct machine_device devices[MACHINE_DEVICES];
	size_t count = machine_devices(devices, request->run, process, from, to);

	take_kept(facts, &request->run->processes[process], &kept);
	for (size_t i = 0; i < count; i++)
		take_device(facts, &request->run->processes[process], &devices[i], are_several);
}

void facts_gather_machine(struct rule_facts *facts, const struct request *request)
{
	struct step_rows rows;
	int64_t from, to;

	step_rows_find(&rows, request);
	for (size_t i = 0, end; i < rows.count; i = end)
		if (step_rows_ran(&rows, rows.items[i]->process, &end, &from, &to))
			take_process(facts, request, rows.items[i]->process, from, to, rows.processes > 1);
	step_rows_free(&rows);
}
