/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about what the machine gave the program: processors, memory, the devices' clocks.
 *
 * Rule: see rules.h. Each tells of what was kept from the program, not of what the program did.
 */
#include "reducer/rules/rule.h"
#include "reducer/tables/busy.h"
#include "reducer/tables/machine.h"

#include <math.h>

#define NO_READING "too little of it was read while the steps ran (TFPROF_SYS)"

/* Percent of the time that a thread which matters was ready and had no processor; negative = not known. */
static double waiting_percent(const struct rule_facts *facts)
{
	double launching = rule_percent(facts_value(facts, FACT_launch_delay_ns), facts_value(facts, FACT_whole_ns)),
	       stepping = rule_percent(facts_value(facts, FACT_step_delay_ns), facts_value(facts, FACT_step_time_ns));

	if (!facts_known(facts, FACT_launch_delay_ns) && !facts_known(facts, FACT_step_delay_ns))
		return -1;
	return launching > stepping ? launching : stepping;
}

/* Whether it was the control group's limit that left threads without a processor, rather than who else ran. */
static bool is_limited(const struct rule_facts *facts, const struct finding *finding)
{
	double limited = facts_value(facts, FACT_limited_percent);

	return facts_value(facts, FACT_limit_processors) > 0 && limited >= BUSY_LIMITED * finding->measured &&
	       limited >= finding_limit(finding, LIMIT_processor_limit);
}

void rule_delayed_launches(const struct rule_facts *facts, struct finding *finding)
{
	double delay = facts_value(facts, FACT_launch_delay_ns), whole = facts_value(facts, FACT_whole_ns);
	double idle = facts_value(facts, FACT_split_launch) + facts_value(facts, FACT_split_host) +
		      facts_value(facts, FACT_split_other);

	if (!finding_needs(finding, facts_known(facts, FACT_launch_delay_ns),
			   "how long threads waited for a processor was not recorded") ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN) || !finding_needs(finding, whole > 0, RULE_NO_STEPS))
		return;
	finding_measure(finding, rule_percent(delay, whole));
	finding_excuse(finding, rule_percent(idle, whole) < finding_limit(finding, LIMIT_delayed_launches_waiting),
		       "the device hardly waits for the host");
	finding_excuse(finding, is_limited(facts, finding), "the control group's limit is the reason: processor_limit");
	text_format(&finding->title, "The thread that launches was ready, but had no processor, for at least %.1f %% of the %s time.",
		    finding->measured, rule_unit_word(facts));
	text_string(&finding->remedy, "Other threads take its processor: use fewer threads for input, or pin them elsewhere.");
	if (facts_known(facts, FACT_private_threads) && facts_value(facts, FACT_private_threads) == 0)
		text_string(&finding->remedy, RULE_PRIVATE_THREADS);
	finding_prove(finding, facts, FACT_launch_delay_ns);
	finding_gain(finding, facts, delay < idle ? delay : idle, "the thread always runs at once, and the device waits for it");
}

/* Who it was that had the processors: the machine's time in programs and in the kernel against that of the run's processes. */
static void put_who(struct finding *finding, const struct rule_facts *facts)
{
	double all = facts_value(facts, FACT_machine_busy_ns), own = facts_value(facts, FACT_own_busy_ns);

	if (all <= 0) {
		text_string(&finding->remedy, "Other programs, or more threads of this one than processors (loader workers, "
					      "OMP_NUM_THREADS), ran instead of it: -t host_usage tells which of its threads did.");
		return;
	}
	text_format(&finding->remedy, "Of the processor time that the machine spent meanwhile this program had %.0f %%: ",
		    rule_percent(own, all));
	if (own >= BUSY_MOSTLY * all)
		text_string(&finding->remedy, "its own threads are more than there are processors for (loader workers, OMP_NUM_THREADS): "
					      "-t host_usage tells which ran.");
	else if (own <= (1 - BUSY_MOSTLY) * all)
		text_string(&finding->remedy, "other programs ran instead of it.");
	else
		text_string(&finding->remedy, "other programs ran, or more threads of its own than there were processors for (loader "
					      "workers, OMP_NUM_THREADS; -t host_usage tells which).");
	finding_prove(finding, facts, FACT_machine_busy_ns);
	finding_prove(finding, facts, FACT_own_busy_ns);
}

/* Where no device works: with one, what matters is whether it waits (delayed_launches). */
void rule_busy_machine(const struct rule_facts *facts, struct finding *finding)
{
	double delay = facts_value(facts, FACT_step_delay_ns), whole = facts_value(facts, FACT_step_time_ns);

	if (!finding_needs(finding, whole > 0, "no steps were recorded") ||
	    !finding_needs(finding, facts_known(facts, FACT_step_delay_ns),
			   "how long threads waited for a processor was not recorded"))
		return;
	finding_measure(finding, rule_percent(delay, whole));
	finding_excuse(finding, facts_value(facts, FACT_kernel_count) > 0, "devices work here: delayed_launches looks at that");
	finding_excuse(finding, is_limited(facts, finding), "the control group's limit is the reason: processor_limit");
	text_format(
		&finding->title,
		"For at least %.1f %% of the step time the thread that runs the steps was ready, but had no processor: the "
		"machine was busy.",
		finding->measured);
	put_who(finding, facts);
	text_string(&finding->remedy,
		    " Times of steps of this run say little of the program: compare by step_cpu or step_undelayed.");
	finding_prove(finding, facts, FACT_step_delay_ns);
	finding_gain(finding, facts, delay, "the thread always runs at once");
}

/* What shares of readings are of: "step time", or where nothing repeats "time". */
static void put_time(struct text *text, const struct rule_facts *facts)
{
	if (facts_known(facts, FACT_whole_ns))
		text_format(text, "%s ", rule_unit_word(facts));
	text_string(text, "time");
}

/* Time of the steps in which devices do not compute: what the host's speed decides. */
static double host_time(const struct rule_facts *facts)
{
	return facts_value(facts, FACT_whole_ns) - facts_value(facts, FACT_split_compute) / rule_devices_each(facts);
}

void rule_processor_limit(const struct rule_facts *facts, struct finding *finding)
{
	double waiting = waiting_percent(facts), processors = facts_value(facts, FACT_limit_processors);

	if (!finding_needs(finding, facts_known(facts, FACT_limited_percent),
			   "no limit of the control group's processor time is known, or " NO_READING))
		return;
	finding_measure(finding, facts_value(facts, FACT_limited_percent));
	finding_excuse(finding, waiting >= 0 && waiting < finding_limit(finding, LIMIT_processor_limit_waiting),
		       "the threads that step or launch hardly waited for a processor");
	finding_excuse(finding, rule_percent(host_time(facts), facts_value(facts, FACT_whole_ns)) <
					finding_limit(finding, LIMIT_processor_limit_waiting),
		       "the devices compute all the while");
	text_string(&finding->title, "The control group (container) may use ");
	machine_put_processors(&finding->title, processors);
	text_format(&finding->title,
		    ", and in %.0f %% of the periods of its limit it had used them up, so that its threads had to stand still.",
		    finding->measured);
	text_format(&finding->remedy,
		    "Raise the limit (docker run --cpus, limits.cpu of a pod), or run fewer threads at once: OMP_NUM_THREADS, "
		    "torch.set_num_threads() and loader workers are often chosen by the processors of the machine, not by the %.3g that "
		    "may be used. -t host_usage tells which threads ran.",
		    processors);
	finding_prove(finding, facts, FACT_limited_percent);
	finding_prove(finding, facts, facts_known(facts, FACT_step_delay_ns) ? FACT_step_delay_ns : FACT_launch_delay_ns);
	if (waiting >= 0)
		finding_gain(finding, facts, fmin(waiting / 100 * facts_value(facts, FACT_whole_ns), host_time(facts)),
			     "no thread that steps or launches waits for a processor");
}

void rule_stolen_processors(const struct rule_facts *facts, struct finding *finding)
{
	if (!finding_needs(finding, facts_known(facts, FACT_stolen_percent), NO_READING))
		return;
	finding_measure(finding, facts_value(facts, FACT_stolen_percent));
	text_format(&finding->title,
		    "Of the time that this virtual machine wanted processors, it did not get them for %.1f %% (steal).",
		    finding->measured);
	text_string(&finding->remedy,
		    "The host beneath has other machines to run, or limits this one: burstable instances (with credits) are slowed so. Ask "
		    "for dedicated processors, another host or type. Times of this run say little of the program.");
	finding_prove(finding, facts, FACT_stolen_percent);
	finding_gain(finding, facts, finding->measured / 100 * host_time(facts), "the host's work is not interrupted");
}

void rule_memory_stall(const struct rule_facts *facts, struct finding *finding)
{
	const char *whose = facts->facts[FACT_memory_stall_percent].label;

	if (!finding_needs(finding, facts_known(facts, FACT_memory_stall_percent),
			   "the kernel tells nothing of waiting for memory (PSI), or " NO_READING))
		return;
	finding_measure(finding, facts_value(facts, FACT_memory_stall_percent));
	text_format(&finding->title, "For %.1f %% of the ", finding->measured);
	put_time(&finding->title, facts);
	text_format(&finding->title,
		    " some task of the %s waited for memory: pages were read back from swap or files, or others had to be given up first.",
		    whose[0] ? whose : "machine");
	text_string(&finding->remedy,
		    "More memory (the control group's limit counts cached files, too), fewer loader workers, smaller buffers of shuffle, "
		    "prefetch and cache: -t memory.peak and memory.sites tell what the program holds, -t host_usage how near the limit "
		    "was.");
	finding_prove(finding, facts, FACT_memory_stall_percent);
	finding_gain(finding, facts, finding->measured / 100 * host_time(facts), "it was the thread that steps that waited");
}

void rule_clocks_lowered(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *reasons = &facts->facts[FACT_clock_reasons];

	if (!finding_needs(finding, facts_known(facts, FACT_clock_lost_percent),
			   "too few readings of a device's clocks lie in the steps"))
		return;
	finding_measure(finding, facts_value(facts, FACT_clock_lost_percent));
	text_format(&finding->title, "In %.0f %% of the ", facts_value(facts, FACT_clock_lowered_percent));
	put_time(&finding->title, facts);
	text_format(&finding->title, " the clocks of device %s were lowered (%s): %.0f of at most %.0f MHz, on average.",
		    facts->facts[FACT_clock_lost_percent].label, reasons->label, facts_value(facts, FACT_clock_mhz),
		    facts_value(facts, FACT_clock_most_mhz));
	text_string(&finding->remedy, (uint64_t)reasons->value == MACHINE_POWER_CAP
					      ? "It drew all the power that it may: usual under large products of matrices, else see "
						"nvidia-smi -q -d POWER whether the limit was set below the device's default."
					      : "Too hot, or short of power: look at the cooling, the fans, the neighbours and the power "
						"supply (nvidia-smi -q -d TEMPERATURE,PERFORMANCE), or take another device.");
	text_string(&finding->remedy, " -t device_usage shows clocks, power and temperature over time.");
	finding_prove(finding, facts, FACT_clock_lost_percent);
	finding_prove(finding, facts, FACT_clock_reasons);
	finding_gain(finding, facts, finding->measured / 100 * facts_value(facts, FACT_split_compute) / rule_devices_each(facts),
		     "kernels are as much faster as the clock is higher");
}

void rule_device_shared(const struct rule_facts *facts, struct finding *finding)
{
	if (!finding_needs(finding, facts_known(facts, FACT_device_shared_percent),
			   "too few readings of who used a device lie in the steps"))
		return;
	finding_measure(finding, facts_value(facts, FACT_device_shared_percent));
	text_format(&finding->title, "In %.0f %% of the ", finding->measured);
	put_time(&finding->title, facts);
	text_format(&finding->title, " device %s was used by more processes than this run is known to have there.",
		    facts->facts[FACT_device_shared_percent].label);
	text_string(&finding->remedy,
		    "See who they are (-t device_usage, column users; nvidia-smi), and take a device of your own (CUDA_VISIBLE_DEVICES). "
		    "They may have rested, which costs memory alone, or be children of the run of which there is no log.");
	finding_prove(finding, facts, FACT_device_shared_percent);
}
