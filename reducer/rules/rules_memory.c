/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about memory.
 *
 * Rule: see rules.h.
 */
#include "reducer/rules/rule.h"

#include <math.h>

void rule_memory_full(const struct rule_facts *facts, struct finding *finding)
{
	if (!finding_needs(finding, facts_known(facts, FACT_device_memory_percent), "no device memory was recorded"))
		return;
	finding_measure(finding, facts_value(facts, FACT_device_memory_percent));
	text_format(&finding->title, "%.1f %% of a device's memory was in use at the peak.", finding->measured);
	text_string(&finding->remedy,
		    "A little more and allocations fail: see -t memory.peak for what was live, and use a smaller batch, "
		    "16-bit types or recomputation.");
	finding_prove(finding, facts, FACT_device_memory_percent);
}

/* An estimate shows no more digits than it has. */
static double two_digits(double number)
{
	double last = number < 10 ? 1 : pow(10, floor(log10(number)) - 1);

	return round(number / last) * last;
}

/* For how many more steps, or minutes, memory lasts, if it goes on like that. */
static void put_last_steps(struct finding *finding, const struct rule_facts *facts)
{
	bool has_steps = facts_known(facts, FACT_leak_step_bytes);
	double room = facts_value(facts, FACT_leak_room_bytes);
	double each = facts_value(facts, has_steps ? FACT_leak_step_bytes : FACT_leak_minute_bytes);

	if (room <= 0 || each < 1)
		return;
	if (room < each) {
		text_string(&finding->remedy, "No more than ");
		text_size(&finding->remedy, (int64_t)room);
		text_format(&finding->remedy, " were still to be had, not enough for another %s. ",
			    has_steps ? rule_unit_word(facts) : "minute");
		return;
	}
	text_string(&finding->remedy, "At that rate the ");
	text_size(&finding->remedy, (int64_t)room);
	text_format(&finding->remedy, " that were still to be had last for about %.0f more %ss. ", two_digits(room / each),
		    has_steps ? rule_unit_word(facts) : "minute");
}

static void put_leak_rate(struct finding *finding, const struct rule_facts *facts)
{
	bool has_steps = facts_known(facts, FACT_leak_step_bytes);
	double each = facts_value(facts, has_steps ? FACT_leak_step_bytes : FACT_leak_minute_bytes);

	text_string(&finding->title, facts_known(facts, FACT_leak_minute_bytes) ? ", steadily, all the while"
									       : ", steadily, while the steps went on");
	if (each > 0) {
		text_string(&finding->title, ": some ");
		text_size(&finding->title, (int64_t)each);
		text_format(&finding->title, " a %s", has_steps ? rule_unit_word(facts) : "minute");
	}
	text_char(&finding->title, '.');
}

void rule_memory_leak(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *leak = &facts->facts[FACT_leak_bytes];

	if (!finding_needs(finding, facts_known(facts, FACT_leak_percent),
			   "no curve of live memory is long enough: of steps, or of a process that lived for 30 s"))
		return;
	finding_measure(finding, facts_value(facts, FACT_leak_percent));
	finding_excuse(finding, leak->value < finding_limit(finding, LIMIT_memory_leak_bytes), "it grew by little");
	text_format(&finding->title, "Live memory of %s grew by at least ", leak->label[0] ? leak->label : "an allocator");
	text_size(&finding->title, (int64_t)leak->value);
	put_leak_rate(finding, facts);
	if (facts_known(facts, FACT_leak_site_bytes)) /* in the title: a first screen has no room for each remedy */
		text_format(&finding->title, " About as much was live %s.", facts->facts[FACT_leak_site_bytes].label);
	if (facts_known(facts, FACT_leak_refused)) {
		double refused = facts_value(facts, FACT_leak_refused);
		text_format(&finding->title, " It ran out: %.0f allocation%s failed (-t memory.refused).", refused,
			    refused > 1 ? "s" : "");
	}
	put_last_steps(finding, facts);
	text_string(&finding->remedy,
		    facts_known(facts, FACT_leak_minute_bytes)
			    ? "Where it is no data that is read all along, look for what is kept: a cache without a bound, a list of "
			      "results, a missing free (-t memory.sites: by call stack)."
			    : "Look for what is kept from step to step: a list of losses with their graphs, a cache, an optimizer's "
			      "history, a missing free (-t memory.peak: by op; -t memory.sites: by call stack).");
	finding_prove(finding, facts, FACT_leak_bytes);
	if (facts_known(facts, FACT_leak_site_bytes))
		finding_prove(finding, facts, FACT_leak_site_bytes);
	if (facts_known(facts, FACT_leak_room_bytes))
		finding_prove(finding, facts, FACT_leak_room_bytes);
	if (facts_known(facts, FACT_leak_refused))
		finding_prove(finding, facts, FACT_leak_refused);
}

void rule_memory_fragmented(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *worst = &facts->facts[FACT_fragmentation];

	if (!finding_needs(finding, worst->is_known, "no allocator told its largest free block"))
		return;
	finding_measure(finding, 100 * worst->value);
	finding_excuse(finding,
		       facts_known(facts, FACT_fragmented_free_percent) &&
			       facts_value(facts, FACT_fragmented_free_percent) <
				       finding_limit(finding, LIMIT_memory_fragmented_free),
		       "little was free anyway");
	text_format(&finding->title, "At its worst %.1f %% of the free memory of %s lay outside its largest free block.",
		    finding->measured, worst->label);
	text_string(&finding->remedy,
		    "Large allocations can fail although enough is free: allocate large buffers first and keep them, use "
		    "few sizes, or an allocator that maps pages (expandable_segments, cudaMallocAsync).");
	finding_prove(finding, facts, FACT_fragmentation);
}

void rule_memory_held_unused(const struct rule_facts *facts, struct finding *finding)
{
	const struct rule_fact *bytes = &facts->facts[FACT_unused_bytes];

	if (!finding_needs(finding, facts_known(facts, FACT_unused_percent), "no allocator told what it holds"))
		return;
	finding_measure(finding, facts_value(facts, FACT_unused_percent));
	finding_excuse(finding, bytes->value < finding_limit(finding, LIMIT_memory_held_unused_bytes), "it is little");
	text_format(&finding->title,
		    "%s held %.0f MiB more than was ever in use at once: its free blocks did not fit what was asked for.",
		    bytes->label[0] ? bytes->label : "An allocator", bytes->value / (1 << 20));
	text_string(&finding->remedy,
		    "That is fragmentation: use few sizes (fixed shapes), allocate the largest first, or an allocator "
		    "that maps pages (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, TF_GPU_ALLOCATOR=cuda_malloc_async).");
	finding_prove(finding, facts, FACT_unused_bytes);
}
