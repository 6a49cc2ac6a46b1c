/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about input: reading it, and bringing it to the device.
 *
 * Rule: see rules.h.
 */
#include "reducer/rules/rule.h"

void rule_input_bound(const struct rule_facts *facts, struct finding *finding)
{
	double input = facts_value(facts, FACT_split_input), share;

	if (!finding_needs(finding, facts_known(facts, FACT_split_input), RULE_NO_STEPS))
		return;
	share = rule_percent(input, facts_value(facts, FACT_whole_ns));
	finding_measure(finding, share);
	finding_grade(finding, LIMIT_input_bound_high);
	text_format(&finding->title, "%.1f %% of the %s time goes to waiting for input.", share, rule_unit_word(facts));
	if (facts->facts[FACT_input_stage].label[0])
		text_format(&finding->title, " Most of that it waits for: %s.", facts->facts[FACT_input_stage].label);
	text_string(&finding->remedy,
		    facts->facts[FACT_input_remedy].label[0]
			    ? facts->facts[FACT_input_remedy].label
			    : "Let the input pipeline work ahead of the training step: prefetch, read and map in "
			      "parallel, cache what stays the same.");
	finding_prove(finding, facts, FACT_split_input);
	finding_prove(finding, facts, FACT_input_stage);
	finding_prove(finding, facts, FACT_input_host);
	finding_prove(finding, facts, FACT_copies_in_ns);
	finding_gain(finding, facts, input, "input is always there in time, and the rest of the step stays as it is");
}

void rule_pageable_copies(const struct rule_facts *facts, struct finding *finding)
{
	double ns = facts_value(facts, FACT_pageable_ns), bytes = facts_value(facts, FACT_pageable_bytes);
	double pinned = facts_value(facts, FACT_pinned_bytes), gain = ns / 2;

	if (!finding_needs(finding, facts_known(facts, FACT_pageable_ns), RULE_NO_COPIES) ||
	    !finding_needs(finding, facts_value(facts, FACT_whole_ns) > 0, RULE_NO_STEPS))
		return;
	finding_measure(finding, rule_percent(ns, rule_device_time(facts)));
	text_format(&finding->title, "%.1f %% of the %s time goes to copies of %.1f MiB from or to pageable memory.",
		    finding->measured, rule_unit_word(facts), bytes / (1 << 20));
	text_string(&finding->remedy,
		    "Allocate the host buffers of these copies as pinned memory (cudaMallocHost, pin_memory=True, "
		    "the framework's dataset API instead of arrays that are fed), and copy asynchronously.");
	finding_prove(finding, facts, FACT_pageable_ns);
	finding_prove(finding, facts, FACT_pageable_bytes);
	if (pinned > 0 && ns > 0) {
		gain = ns - bytes * facts_value(facts, FACT_pinned_ns) / pinned;
		finding_prove(finding, facts, FACT_pinned_bytes);
	}
	finding_gain(finding, facts, gain / rule_devices_each(facts),
		     pinned > 0 ? "pinned copies are as fast as this run's own, and nothing hides them"
				: "pinned copies take half as long, and nothing hides them");
}
