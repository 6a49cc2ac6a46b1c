/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about what the machine gave the program: processors.
 *
 * Rule: see rules.h. Each tells of what was kept from the program, not of what the program did.
 */
#include "reducer/rules/rule.h"
#include "reducer/tables/busy.h"

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
