/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about several devices.
 *
 * Rule: see rules.h.
 */
#include "reducer/rules/rule.h"

#define SMALL_REDUCTION (1 << 20) /* bytes; below, latency counts more than the link */

/* Percent of a step that ranks wait on average for one that always comes late; 0 where they are late in turn. */
static double waiting_share(const struct rule_facts *facts)
{
	double wait = facts_value(facts, FACT_rank_wait_ns);

	return wait > facts_value(facts, FACT_rank_turns_ns) ? rule_percent(wait, facts_value(facts, FACT_rank_step_ns)) : 0;
}

void rule_communication_bound(const struct rule_facts *facts, struct finding *finding)
{
	bool is_of_devices = facts_value(facts, FACT_kernel_count) > 0 && facts_value(facts, FACT_split_communication) <=
										 facts_value(facts, FACT_split_collectives);
	double share;

	if (!finding_needs(finding, is_of_devices || facts_value(facts, FACT_split_communication) > 0,
			   "no process and no device exchanged data"))
		return;
	share = rule_part(facts, finding, is_of_devices ? FACT_split_collectives : FACT_split_communication,
			  "all communication is hidden behind compute");
	if (share < 0)
		return;
	finding_excuse(finding,
		       waiting_share(facts) >= finding_limit(finding, LIMIT_late_rank) && waiting_share(facts) >= share / 2,
		       "most of it waits for a rank that is late");
	finding_grade(finding, LIMIT_communication_bound_high);
	text_format(&finding->title, "In %.1f %% of the %s time %s only communicate.", share, rule_unit_word(facts),
		    is_of_devices ? "devices" : "processes or replicas");
	text_string(&finding->remedy,
		    "A larger batch makes the step longer and not its traffic; let the reduction of gradients overlap the "
		    "backward pass, and send them in 16 bit.");
	if (!is_of_devices)
		return;
	finding_prove(finding, facts, FACT_collective_ns);
	finding_prove(finding, facts, FACT_reductions);
}

void rule_late_rank(const struct rule_facts *facts, struct finding *finding)
{
	double wait = facts_value(facts, FACT_rank_wait_ns), step = facts_value(facts, FACT_rank_step_ns);
	const char *part = facts->facts[FACT_rank_late_part].label;

	if (!finding_needs(finding, facts_known(facts, FACT_rank_step_ns) && step > 0,
			   "no two processes of the run exchanged data in their steps") ||
	    !finding_needs(finding, facts_known(facts, FACT_rank_wait_ns), "the processes are not of one job"))
		return;
	finding_measure(finding, rule_percent(wait, step));
	finding_excuse(finding, wait <= facts_value(facts, FACT_rank_turns_ns), "ranks are late in turn, none of them always");
	text_format(&finding->title, "The ranks wait %.1f %% of the step time on average for %s, which comes last.",
		    finding->measured, facts->facts[FACT_rank_late].label);
	if (part[0])
		text_format(&finding->remedy, "It takes longer than the others in %s: see -t ranks. ", part);
	text_string(&finding->remedy,
		    "Give every rank the same work (batches, metrics, logging, checkpoints on one rank alone), and look at its machine.");
	finding_prove(finding, facts, FACT_rank_wait_ns);
	finding_prove(finding, facts, FACT_rank_late);
	finding_gain(finding, facts, facts_value(facts, FACT_whole_ns) * wait / step, "that rank is as fast as the others");
}

void rule_small_collectives(const struct rule_facts *facts, struct finding *finding)
{
	double count = facts_value(facts, FACT_reductions), bytes = facts_value(facts, FACT_reduced_bytes);
	double steps = facts_value(facts, FACT_all_steps); /* calls are counted over the whole run */

	if (!finding_needs(finding, count > 0, "no reductions of NCCL were recorded") ||
	    !finding_needs(finding, steps > 0, RULE_NO_STEPS))
		return;
	finding_measure(finding, count / steps / rule_devices_each(facts));
	finding_excuse(finding, bytes / count >= SMALL_REDUCTION, "they are large");
	text_format(&finding->title, "Each device takes part in %.0f reductions a step, of %.0f bytes on average.",
		    finding->measured, bytes / count);
	text_string(&finding->remedy,
		    "Each of them synchronises all devices: pack gradients together (bucket_cap_mb, one call for all), and "
		    "drop reductions of numbers that nobody reads.");
	finding_prove(finding, facts, FACT_reductions);
	finding_prove(finding, facts, FACT_reduced_bytes);
	if (facts_known(facts, FACT_split_collectives))
		finding_gain(finding, facts, facts_value(facts, FACT_split_collectives) / 2, "packed, they take half as long");
}

void rule_slow_collectives(const struct rule_facts *facts, struct finding *finding)
{
	double best = facts_value(facts, FACT_reduce_best_rate), mean = facts_value(facts, FACT_reduce_mean_rate);

	if (!finding_needs(finding, mean > 0, "no large reductions of NCCL with their times were recorded"))
		return;
	finding_measure(finding, best / mean);
	text_format(&finding->title, "Reductions of 1 MiB and more move %.2f GB/s, the fastest of them %.2f.", mean / 1e9,
		    best / 1e9);
	text_string(&finding->remedy,
		    "Expected is bytes / bandwidth of the link: where most take much longer, devices wait for each other "
		    "(see uneven replicas), or share a link.");
	finding_prove(finding, facts, FACT_reduce_mean_rate);
	finding_prove(finding, facts, FACT_reduce_best_rate);
	if (facts_known(facts, FACT_split_collectives))
		finding_gain(finding, facts, facts_value(facts, FACT_split_collectives) * (1 - mean / best),
			     "all reductions are as fast as the fastest");
}

void rule_wide_gradients(const struct rule_facts *facts, struct finding *finding)
{
	double bytes = facts_value(facts, FACT_reduced_bytes), wide = facts_value(facts, FACT_reduced_wide_bytes);
	double narrow = rule_percent(facts_value(facts, FACT_compute_narrow_ns), facts_value(facts, FACT_split_compute));

	if (!finding_needs(finding, bytes > 0, "no reductions of NCCL with their types were recorded") ||
	    !finding_needs(finding, facts_known(facts, FACT_compute_narrow_ns), "the number formats of kernels are not known"))
		return;
	finding_measure(finding, rule_percent(wide, bytes));
	finding_excuse(finding, narrow < 50, "most compute is not 16-bit");
	text_format(&finding->title, "%.1f %% of the reduced bytes are 32-bit although %.1f %% of the compute is 16-bit.",
		    finding->measured, narrow);
	text_string(&finding->remedy,
		    "Send gradients in 16 bit (fp16_compress_hook, or a cast around the reduction): half the traffic.");
	finding_prove(finding, facts, FACT_reduced_wide_bytes);
	finding_prove(finding, facts, FACT_reduced_bytes);
	if (facts_known(facts, FACT_split_collectives))
		finding_gain(finding, facts, facts_value(facts, FACT_split_collectives) * wide / bytes / 2,
			     "half the bytes take half the time");
}

void rule_device_copies(const struct rule_facts *facts, struct finding *finding)
{
	double share;

	if (!finding_needs(finding, facts_value(facts, FACT_kernel_count) > 0, RULE_NO_GPU))
		return;
	share = rule_part(facts, finding, FACT_split_device_to_device, "none of these copies is needed");
	if (share < 0)
		return;
	text_format(&finding->title, "%.1f %% of the %s time goes to copies on and between devices.", share,
		    rule_unit_word(facts));
	text_string(&finding->remedy,
		    "Packing gradients for a reduction and unpacking them can be spared (gradient_as_bucket_view); keep "
		    "what a device needs on that device.");
	finding_prove(finding, facts, FACT_device_copy_ns);
	finding_prove(finding, facts, FACT_peer_copy_ns);
}

void rule_uneven_replicas(const struct rule_facts *facts, struct finding *finding)
{
	double busiest = facts_value(facts, FACT_busiest_ns), mean = facts_value(facts, FACT_mean_busy_ns);

	if (!finding_needs(finding, rule_devices(facts) > 1 && mean > 0, RULE_ONE_DEVICE))
		return;
	finding_measure(finding, rule_percent(busiest - mean, mean));
	text_format(&finding->title, "Device %s computes %.1f %% longer than the devices on average; the others wait for it.",
		    facts->facts[FACT_busiest_ns].label, finding->measured);
	text_string(&finding->remedy,
		    "Give every replica the same work: look for ops that only this device runs (metrics, the last layers, "
		    "variables placed on it), and for uneven batches.");
	finding_prove(finding, facts, FACT_busiest_ns);
	finding_gain(finding, facts, busiest - mean, "the work is shared evenly");
}

void rule_devices_in_turn(const struct rule_facts *facts, struct finding *finding)
{
	double alone = facts_value(facts, FACT_alone_ns), any = facts_value(facts, FACT_any_ns);

	if (!finding_needs(finding, rule_devices(facts) > 1, RULE_ONE_DEVICE) ||
	    !finding_needs(finding, any > 0, "when devices computed was not recorded"))
		return;
	finding_measure(finding, rule_percent(alone, any));
	/* One device that works much longer than the others leaves it alone without any turn-taking: that is uneven_replicas. */
	finding_excuse(finding, facts_value(facts, FACT_busiest_ns) > 1.2 * facts_value(facts, FACT_mean_busy_ns),
		       "one device does most of the work");
	text_format(&finding->title, "In %.1f %% of the time that any device computes, only one does: they work in turn.",
		    finding->measured);
	text_string(&finding->remedy,
		    "Something makes one device wait for another: control dependencies between replicas, a lock, or one "
		    "thread that waits for each device before it feeds the next.");
	finding_prove(finding, facts, FACT_alone_ns);
	finding_prove(finding, facts, FACT_any_ns);
	finding_gain(finding, facts, alone - alone / rule_devices(facts), "they work at the same time");
}

void rule_shared_launch_thread(const struct rule_facts *facts, struct finding *finding)
{
	double share;

	if (!finding_needs(finding, rule_devices(facts) > 1, RULE_ONE_DEVICE) ||
	    !finding_needs(finding, facts_known(facts, FACT_shared_launch_threads), "no launches were recorded"))
		return;
	share = rule_part(facts, finding, FACT_split_launch, "a thread for each device launches ahead of it");
	if (share < 0)
		return;
	finding_excuse(finding, facts_value(facts, FACT_shared_launch_threads) == 0, "each device has a thread of its own");
	text_format(&finding->title,
		    "In %.1f %% of the %s time devices wait for launches of a thread that serves several of them.", share,
		    rule_unit_word(facts));
	text_string(&finding->remedy, "Let a process or a thread of its own launch for each device.");
	if (facts_known(facts, FACT_private_threads) && facts_value(facts, FACT_private_threads) == 0)
		text_string(&finding->remedy,
			    " TF_GPU_THREAD_MODE=gpu_private does that, two threads a device (TF_GPU_THREAD_COUNT).");
	finding_prove(finding, facts, FACT_shared_launch_threads);
}
