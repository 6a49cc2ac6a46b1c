/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about what failed.
 *
 * Rule: see rules.h. No gain: a run that fails is not made faster.
 */
#include "reducer/rules/rule.h"

#include "reducer/model/gpu_fault.h"
#include "reducer/tables/memory_out.h"

void rule_memory_ran_out(const struct rule_facts *facts, struct finding *finding)
{
	static const char *const remedies[] = {
		[OUT_UNKNOWN] = "See what held it (-t memory.sites, memory.peak) and who else used the device (-t device_usage); then a "
				"smaller batch, 16-bit types, recomputation.",
		[OUT_BEFORE] = "A smaller batch, shorter sequences, 16-bit types, recomputation; and see who else had of it "
			       "(-t device_usage, host_usage).",
		[OUT_GREW] = "A smaller batch only delays that: look for what is kept from step to step, a list of losses with their "
			     "graphs, a cache, a missing free (-t memory.sites).",
		[OUT_STEP] = "Look at what that step was given: bound the length or size of a batch (bucket, truncate, split it), or make "
			     "room for the largest one first.",
		[OUT_HOST] = "See what held it (-t memory.sites, memory.peak), and since when (-t memory.timeline): a cache, a list, a log "
			     "that only grows, or one request for more than there is; then smaller pieces, or a higher limit."};
	const struct rule_fact *refused = &facts->facts[FACT_refused];
	size_t kind = (size_t)facts_value(facts, FACT_refused_kind);

	if (!finding_needs(finding, refused->is_known, "what failed for want of memory was not recorded"))
		return;
	finding_measure(finding, refused->value);
	text_format(&finding->title, "Memory ran out: %s", refused->label);
	text_string(&finding->remedy, remedies[kind < sizeof(remedies) / sizeof(remedies[0]) ? kind : OUT_UNKNOWN]);
	finding_prove(finding, facts, FACT_refused);
}

/* Of a result that a fact tells; "" where it tells none. */
static const char *remedy_of(const struct gpu_result *result)
{
	return result ? gpu_result_remedy(result) : "";
}

void rule_work_failed(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *faults = &facts->facts[FACT_faults];

	if (!finding_needs(finding, faults->is_known, "no device was used"))
		return;
	finding_measure(finding, faults->value);
	text_format(&finding->title, "Work on a device failed: %s. -t overview.verdict says where.", faults->label);
	text_string(&finding->remedy, remedy_of(gpu_fault_of((uint32_t)facts_value(facts, FACT_fault_result))));
	finding_prove(finding, facts, FACT_faults);
}

void rule_launches_failed(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *bad = &facts->facts[FACT_bad_launches];

	if (!finding_needs(finding, bad->is_known, "no device was used"))
		return;
	finding_measure(finding, bad->value);
	finding_excuse(finding, facts_value(facts, FACT_faults) > 0, "they came of work that had failed");
	text_format(&finding->title, "%.0f call%s that should have given a device work returned an error and did nothing%s%s.", bad->value,
		    bad->value == 1 ? "" : "s", bad->label[0] ? ", the first: " : "", bad->label);
	text_string(&finding->remedy, remedy_of(gpu_bad_launch_of((uint32_t)facts_value(facts, FACT_bad_launch_result))));
	text_string(&finding->remedy, " A program that does not ask for errors goes on with wrong results.");
	finding_prove(finding, facts, FACT_bad_launches);
}
