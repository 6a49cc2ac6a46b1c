/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the rules: each is fired by facts at its threshold and silent just below it, and by what excuses it.
 *
 * Rule: each expectation stands in the test; facts are those of a made-up run of 100 steps that take 1 s.
 */
#include "reducer/rules/facts_own.h"
#include "reducer/rules/rules.h"
#include "reducer/rules/select.h"
#include "test/unit/rules_made.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What makes a rule speak: facts at its threshold; the first of them decides, and `below` silences it. */
struct scenario {
	const char *rule;
	double below;
	struct given given[6];
	const char *with; /* a second rule that the same facts may fire; NULL = none */
};

#define END                                                                                                                      \
	{                                                                                                                        \
		FACT_COUNT_ALL, 0                                                                                                \
	}
static const struct scenario scenarios[] = {
	{"memory_ran_out", 0, {{FACT_refused, 1}, {FACT_refused_kind, 2}, END}, NULL},
	{"work_failed", 0, {{FACT_faults, 1}, {FACT_fault_result, 700}, END}, NULL},
	{"launches_failed", 0, {{FACT_bad_launches, 1}, {FACT_bad_launch_result, 9}, END}, NULL},
	{"input_bound", 0.0499 * SECOND, {{FACT_split_input, 0.05 * SECOND}, END}, NULL},
	{"pageable_copies", 0.0299 * SECOND, {{FACT_pageable_ns, 0.03 * SECOND}, {FACT_pageable_bytes, 1e8}, END}, NULL},
	{"launch_bound", 0.0299 * SECOND, {{FACT_split_launch, 0.03 * SECOND}, END}, NULL},
	{"host_bound", 0.1499 * SECOND, {{FACT_split_host, 0.15 * SECOND}, END}, NULL},
	{"output_bound", 0.0499 * SECOND, {{FACT_split_output, 0.05 * SECOND}, END}, NULL},
	{"small_reads", 399, {{FACT_small_reads, 400}, {FACT_split_host, 0.026 * SECOND}, END}, NULL},
	{"many_copies", 3099, {{FACT_copies_in, 3100}, {FACT_copies_in_ns, 0.05 * SECOND}, END}, NULL},
	{"unexplained_idle", 0.1499 * SECOND, {{FACT_split_other, 0.15 * SECOND}, END}, NULL},
	{"device_not_worth",
	 0.0199 * SECOND,
	 {{FACT_launch_ns, 0.02 * SECOND}, {FACT_steady_kernel_ns, 0.01 * SECOND}, {FACT_copies_in_ns, 0.1 * SECOND}, END},
	 NULL},
	{"small_batch", 0.489 * SECOND, {{FACT_partial_grid_ns, 0.491 * SECOND}, {FACT_device_memory_percent, 49}, END}, NULL},
	{"delayed_launches",
	 0.0499 * SECOND,
	 {{FACT_launch_delay_ns, 0.05 * SECOND}, {FACT_split_other, 0.02 * SECOND}, END},
	 NULL},
	{"busy_machine", 0.0999 * SECOND, {{FACT_step_delay_ns, 0.1 * SECOND}, {FACT_kernel_count, 0}, END}, NULL},
	{"garbage_collection", 4.99, {{FACT_collecting_percent, 5}, {FACT_collecting_ns, 0.05 * SECOND}, END}, NULL},
	{"python_lock", 9.99, {{FACT_python_lock_percent, 10}, {FACT_python_lock_ns, 0.1 * SECOND}, END}, NULL},
	{"processor_limit",
	 9.9,
	 {{FACT_limited_percent, 10},
	  {FACT_limit_processors, 2},
	  {FACT_step_delay_ns, 0.05 * SECOND},
	  {FACT_split_compute, 0.95 * SECOND},
	  END},
	 NULL},
	{"stolen_processors", 9.9, {{FACT_stolen_percent, 10}, END}, NULL},
	{"memory_stall", 9.9, {{FACT_memory_stall_percent, 10}, END}, NULL},
	{"clocks_lowered", 14.9, {{FACT_clock_lost_percent, 15}, {FACT_clock_reasons, 32}, END}, NULL},
	{"device_shared", 49.9, {{FACT_device_shared_percent, 50}, END}, NULL},
	{"rare_work", 0.0999 * SECOND, {{FACT_rare_ns, 0.1 * SECOND}, END}, NULL},
	{"ops_on_host", 9980, {{FACT_ops_host, 9990}, END}, NULL},
	{"layout_changes", 0.0489 * SECOND, {{FACT_layout_ns, 0.0491 * SECOND}, END}, NULL},
	{"split_batch_norm", 0.0489 * SECOND, {{FACT_norm_part_ns, 0.0491 * SECOND}, END}, NULL},
	{"preprocessing_on_device", 0.0489 * SECOND, {{FACT_image_ns, 0.0491 * SECOND}, END}, NULL},
	{"old_libraries", 0, {{FACT_old_libraries, 1}, END}, NULL},
	{"memory_full", 89.9, {{FACT_device_memory_percent, 90}, END}, NULL},
	{"memory_leak", 9.9, {{FACT_leak_percent, 10}, {FACT_leak_bytes, 16777216}, END}, NULL},
	{"memory_fragmented", 0.499, {{FACT_fragmentation, 0.5}, {FACT_fragmented_free_percent, 10}, END}, NULL},
	{"memory_held_unused", 29.9, {{FACT_unused_percent, 30}, {FACT_unused_bytes, 268435456}, END}, NULL},
	{"compile_bound", 0.0499 * SECOND, {{FACT_split_compilation, 0.05 * SECOND}, END}, NULL},
	{"retraced_function", 4, {{FACT_traced_versions, 5}, END}, NULL},
	{"single_precision", 0.0979 * SECOND, {{FACT_wide_product_ns, 0.0981 * SECOND}, END}, NULL},
	{"missed_tensor_cores", 0.0489 * SECOND, {{FACT_narrow_missed_ns, 0.0491 * SECOND}, END}, NULL},
	{"odd_shapes", 0.0489 * SECOND, {{FACT_odd_shape_ns, 0.0491 * SECOND}, END}, NULL},
	{"low_flops", 89.9, {{FACT_peak_unused_percent, 90}, {FACT_peak_known_percent, 80}, {FACT_peak_lost_ns, 1e8}, END}, NULL},
	{"eager_ops", 0.099 * SECOND, {{FACT_eager_ns, 0.1 * SECOND}, {FACT_op_ns, SECOND}, END}, NULL},
	{"greedy_compiler", 89.9, {{FACT_device_memory_percent, 90}, {FACT_aggressive_xla, 1}, END}, "memory_full"},
	{"communication_bound", 0.0299 * SECOND, {{FACT_split_collectives, 0.03 * SECOND}, END}, NULL},
	{"late_rank", 0.0499 * SECOND, {{FACT_rank_wait_ns, 0.05 * SECOND}, {FACT_rank_step_ns, SECOND}, END}, NULL},
	{"small_collectives",
	 3199,
	 {{FACT_reductions, 3200}, {FACT_reduced_bytes, 3200e5}, {FACT_compute_narrow_ns, 0}, END},
	 NULL},
	{"slow_collectives", 29.9e9, {{FACT_reduce_best_rate, 30e9}, {FACT_reduce_mean_rate, 10e9}, END}, NULL},
	{"wide_gradients",
	 0.49e9,
	 {{FACT_reduced_wide_bytes, 0.5e9}, {FACT_reduced_bytes, 1e9}, {FACT_reductions, 100}, END},
	 NULL},
	{"device_copies", 0.0499 * SECOND, {{FACT_split_device_to_device, 0.05 * SECOND}, END}, NULL},
	{"uneven_replicas",
	 1.09 * SECOND,
	 {{FACT_busiest_ns, 1.11 * SECOND}, {FACT_mean_busy_ns, SECOND}, {FACT_devices, 2}, END},
	 NULL},
	{"devices_in_turn",
	 0.49 * SECOND,
	 {{FACT_alone_ns, 0.5 * SECOND},
	  {FACT_any_ns, SECOND},
	  {FACT_devices, 2},
	  {FACT_busiest_ns, 0.5 * SECOND},
	  {FACT_mean_busy_ns, 0.49 * SECOND},
	  END},
	 NULL},
	{"shared_launch_thread",
	 0.0299 * SECOND,
	 {{FACT_split_launch, 0.03 * SECOND}, {FACT_devices, 2}, {FACT_shared_launch_threads, 1}, END},
	 NULL},
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void apply(struct rule_facts *facts, const struct scenario *scenario)
{
	healthy(facts);
	for (size_t i = 0; i < 6 && scenario->given[i].id != FACT_COUNT_ALL; i++)
		facts_set(facts, scenario->given[i].id, scenario->given[i].value);
}

/* The names of the rules that fired, joined by blanks. */
static void names_of(const struct findings *findings, char names[512])
{
	names[0] = 0;
	for (size_t i = 0; i < findings->count; i++) {
		if (i)
			strcat(names, " ");
		strcat(names, findings->list[i].rule->name);
	}
}

static void test_every_rule_has_a_scenario(void **state)
{
	(void)state;
	assert_int_equal(SCENARIOS, rule_count);
	for (size_t i = 0; i < rule_count; i++) {
		size_t k = 0;
		while (k < SCENARIOS && strcmp(scenarios[k].rule, rules[i].name) != 0)
			k++;
		if (k == SCENARIOS)
			fail_msg("nobody fires %s", rules[i].name);
	}
}

/* At the threshold a rule speaks, with a title, a remedy and proof, and no other does; just below it nobody does. */
static void test_rules_fire_at_their_threshold_and_not_below(void **state)
{
	struct rule_facts facts;

	(void)state;
	for (size_t i = 0; i < SCENARIOS; i++) {
		const struct finding *finding;
		struct findings *findings;
		char names[512], wanted[128];
		apply(&facts, &scenarios[i]);
		findings = findings_from(&facts, NULL);
		finding = finding_of(findings, scenarios[i].rule);
		if (finding->state != RULE_FIRED)
			fail_msg("%s: %s (%s), measured %g of %g", scenarios[i].rule, rule_state_name(finding->state),
				 finding->why ? finding->why : "", finding->measured, finding->threshold);
		names_of(findings, names);
		snprintf(wanted, sizeof(wanted), "%s%s%s", scenarios[i].with ? scenarios[i].with : "",
			 scenarios[i].with ? " " : "", scenarios[i].rule);
		assert_string_equal(names, wanted);
		assert_true(finding->title.length > 10 && finding->remedy.length > 10 && finding->proof_count > 0);
		findings_free(findings);

		facts_set(&facts, scenarios[i].given[0].id, scenarios[i].below);
		findings = findings_from(&facts, NULL);
		names_of(findings, names);
		if (names[0])
			fail_msg("below the threshold of %s fires: %s", scenarios[i].rule, names);
		assert_int_equal(finding_of(findings, scenarios[i].rule)->state, RULE_BELOW);
		findings_free(findings);
	}
}

/* What a rare call into XLA, or item(), waits for may be work of other steps; what compiles, or a range, is rare work. */
static void test_rare_work_may_be_a_wait(void **state)
{
	static const struct {
		const char *name;
		bool may_wait;
	} tops[] = {{"XLA call: <module> (train.py, line 28) in _value +0x38ea098", true},
		    {"aten::item", true},
		    {"XLA call: <module> (train.py, line 28) in backend_compile_and_load +0x390b13e", false},
		    {"validate", false},
		    {"aten::items", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		const struct finding *finding;
		struct rule_facts facts;
		struct findings *findings;
		healthy(&facts);
		facts_set(&facts, FACT_rare_ns, 0.2 * SECOND);
		snprintf(facts.facts[FACT_rare_top].label, sizeof(facts.facts[FACT_rare_top].label), "%s", tops[i].name);
		findings = findings_from(&facts, NULL);
		finding = finding_of(findings, "rare_work");
		assert_int_equal(finding->state, RULE_FIRED);
		assert_int_equal(strstr(finding->remedy.bytes, "dispatched") != NULL, tops[i].may_wait);
		assert_int_equal(strstr(finding->assumption, "no wait") != NULL, tops[i].may_wait);
		assert_null(strstr(finding->title.bytes, "+0x"));
		findings_free(findings);
	}
}

static void test_all_is_well(void **state)
{
	struct rule_facts facts;
	struct findings *findings;
	char names[512];

	(void)state;
	healthy(&facts);
	findings = findings_from(&facts, NULL);
	names_of(findings, names);
	assert_string_equal(names, "");
	findings_free(findings);
}

/* A program without GPU and steps: nothing to say, and nothing about GPUs is claimed to be below anything. */
static void test_nothing_known_nothing_said(void **state)
{
	struct rule_facts facts = {0};
	struct findings *findings = findings_from(&facts, NULL);

	(void)state;
	assert_int_equal(findings->count, 0);
	for (size_t i = 0; i < rule_count; i++) {
		assert_int_equal(findings->all[i].state, RULE_BLIND);
		assert_non_null(findings->all[i].why);
	}
	findings_free(findings);
}

/* Of records that were lost follows no upper bound: a device that seems empty may be full. */
static void test_lost_records_of_memory(void **state)
{
	struct rule_facts facts;
	struct findings *findings;

	(void)state;
	for (size_t k = 0; k < SCENARIOS; k++)
		if (strcmp(scenarios[k].rule, "small_batch") == 0)
			apply(&facts, &scenarios[k]);
	facts_set(&facts, FACT_device_memory_least, 1);
	findings = findings_from(&facts, NULL);
	assert_int_equal(finding_of(findings, "small_batch")->state, RULE_BLIND);
	findings_free(findings);
}

/* What speaks against a rule silences it: the facts of its scenario, and one more. */
static void test_excuses(void **state)
{
	static const struct {
		const char *rule;
		struct given given;
	} excuses[] = {
		{"small_reads", {FACT_split_host, 0}},
		{"many_copies", {FACT_copies_in_ns, 0.01 * SECOND}},
		{"device_not_worth", {FACT_whole_ns, 0.09 * SECOND}},
		{"small_batch", {FACT_device_memory_percent, 50}},
		{"small_batch", {FACT_refused, 1}},
		{"launches_failed", {FACT_faults, 1}},
		{"memory_leak", {FACT_leak_bytes, 16777215}},
		{"memory_fragmented", {FACT_fragmented_free_percent, 9.9}},
		{"memory_held_unused", {FACT_unused_bytes, 268435455}},
		{"single_precision", {FACT_split_compute, 0.29 * SECOND}},
		{"late_rank", {FACT_rank_turns_ns, 0.05 * SECOND}},
		{"small_collectives", {FACT_reduced_bytes, 3200.0 * (1 << 20)}},
		{"wide_gradients", {FACT_compute_narrow_ns, 0.4 * SECOND}},
		{"devices_in_turn", {FACT_busiest_ns, 0.8 * SECOND}},
		{"shared_launch_thread", {FACT_shared_launch_threads, 0}},
		{"delayed_launches", {FACT_split_other, 0.01 * SECOND}},
		{"busy_machine", {FACT_kernel_count, 1000}},
		{"processor_limit", {FACT_step_delay_ns, 0.049 * SECOND}},
		{"processor_limit", {FACT_split_compute, 0.96 * SECOND}},
		{"eager_ops", {FACT_whole_ns, 1.1 * SECOND}},
		{"low_flops", {FACT_split_compute, 0.49 * SECOND}},
		{"unexplained_idle", {FACT_split_launch, 0.03 * SECOND}},
		{"launch_bound", {FACT_COUNT_ALL, 0}},
	};
	struct rule_facts facts;

	(void)state;
	for (size_t i = 0; i < sizeof(excuses) / sizeof(excuses[0]); i++) {
		struct findings *findings;
		for (size_t k = 0; k < SCENARIOS; k++)
			if (strcmp(scenarios[k].rule, excuses[i].rule) == 0)
				apply(&facts, &scenarios[k]);
		if (excuses[i].given.id == FACT_COUNT_ALL) {
			facts_set(&facts, FACT_devices, 2);
			facts_set(&facts, FACT_shared_launch_threads, 1);
		} else {
			facts_set(&facts, excuses[i].given.id, excuses[i].given.value);
			if (excuses[i].given.id == FACT_split_launch) /* of launches that take as long as the gaps between them */
				facts_set(&facts, FACT_launch_ns, 0.16 * SECOND);
		}
		findings = findings_from(&facts, NULL);
		if (finding_of(findings, excuses[i].rule)->state != RULE_EXCUSED)
			fail_msg("%s is not excused", excuses[i].rule);
		assert_non_null(finding_of(findings, excuses[i].rule)->why);
		findings_free(findings);
	}
}

/* Compiling is one finding, that names of what there are many versions; none of it is rare work, or a finding beside it. */
static void test_compiling_is_told_once(void **state)
{
	static const struct {
		enum fact_id versions;
		const char *top, *remedy;
	} kinds[] = {{FACT_traced_versions, "compiling", "input_signature"},
		     {FACT_compiled_versions, "XLA call: f (t.py, line 2) in backend_compile_and_load +0x3", "recompiles"},
		     {FACT_compiled_versions, "_compile.compile_inner (dynamo_timed)", "recompiles"},
		     {FACT_compiled_versions, "OutputGraph.call_user_compiler (dynamo_timed)", "recompiles"}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int other = 0; other < 2; other++) {
			struct rule_facts facts;
			struct findings *findings;
			char names[512];
			healthy(&facts);
			facts_set(&facts, FACT_split_compilation, 0.7 * SECOND);
			facts_set(&facts, kinds[i].versions, 56);
			strcpy(facts.facts[kinds[i].versions].label, "f");
			facts_set(&facts, FACT_rare_ns, 0.7 * SECOND);
			facts_set(&facts, FACT_rare_top, other ? 0.5 * SECOND : 0.68 * SECOND);
			strcpy(facts.facts[FACT_rare_top].label, kinds[i].top);
			findings = findings_from(&facts, NULL);
			names_of(findings, names);
			assert_string_equal(names, other ? "rare_work compile_bound" : "compile_bound");
			assert_non_null(strstr(finding_of(findings, "compile_bound")->title.bytes,
					       "compiling; of f there are 56 versions in all."));
			assert_non_null(strstr(finding_of(findings, "compile_bound")->remedy.bytes, kinds[i].remedy));
			assert_int_equal(finding_of(findings, "retraced_function")->state, RULE_EXCUSED);
			findings_free(findings);
		}
}

/* A wait behind each small launch is recorded, and is what makes the device rest: it is named where it takes most of that time. */
static void test_waits_behind_each_launch(void **state)
{
	static const struct {
		double waits, ns;
		bool is_named;
	} kinds[] = {{1600, 0.1 * SECOND, true}, {1599, 0.1 * SECOND, false}, {1600, 0.09 * SECOND, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct finding *finding;
		struct rule_facts facts;
		struct findings *findings;
		healthy(&facts); /* of 100 steps */
		facts_set(&facts, FACT_split_other, 0.2 * SECOND);
		facts_set(&facts, FACT_device_waits, kinds[i].waits);
		facts_set(&facts, FACT_device_wait_ns, kinds[i].ns);
		findings = findings_from(&facts, NULL);
		finding = finding_of(findings, "unexplained_idle");
		assert_int_equal(finding->state, RULE_FIRED);
		assert_int_equal(strstr(finding->title.bytes, "waits for it 16 times, 1.00 ms in all.") != NULL, kinds[i].is_named);
		assert_int_equal(strstr(finding->remedy.bytes, "Behind such a wait") != NULL, kinds[i].is_named);
		findings_free(findings);
	}
}

/* A server has no steps: it grows by the minute. Where no room is left, it does not last for 0 more steps. */
static void test_growth_in_words(void **state)
{
	static const struct {
		enum fact_id rate;
		double room;
		const char *title, *remedy;
	} kinds[] = {
		{FACT_leak_step_bytes, 10 << 20, "while the steps went on: some 1.00 MiB a step.", "for about 10 more steps."},
		{FACT_leak_step_bytes, 57344, "while the steps went on: some 1.00 MiB a step.", "not enough for another step."},
		{FACT_leak_minute_bytes, 10 << 20, "steadily, all the while: some 1.00 MiB a minute.", "for about 10 more minutes."},
		{FACT_leak_minute_bytes, 57344, "steadily, all the while: some 1.00 MiB a minute.", "a cache without a bound"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct finding *finding;
		struct rule_facts facts;
		struct findings *findings;
		healthy(&facts);
		facts_set(&facts, FACT_leak_percent, 50);
		facts_set(&facts, FACT_leak_bytes, 64 << 20);
		facts_set(&facts, kinds[i].rate, 1 << 20);
		facts_set(&facts, FACT_leak_room_bytes, kinds[i].room);
		findings = findings_from(&facts, NULL);
		finding = finding_of(findings, "memory_leak");
		assert_non_null(strstr(finding->title.bytes, kinds[i].title));
		assert_non_null(strstr(finding->remedy.bytes, kinds[i].remedy));
		findings_free(findings);
	}
}

/* What failed first, then input before one device before precision before many devices, the machine last; within an area by gain. */
static void test_rank(void **state)
{
	struct rule_facts facts;
	struct findings *findings;
	char names[512];

	(void)state;
	healthy(&facts);
	facts_set(&facts, FACT_split_input, 0.05 * SECOND);
	facts_set(&facts, FACT_split_launch, 0.1 * SECOND);
	facts_set(&facts, FACT_split_output, 0.2 * SECOND);
	facts_set(&facts, FACT_split_collectives, 0.5 * SECOND);
	facts_set(&facts, FACT_wide_product_ns, 0.5 * SECOND);
	facts_set(&facts, FACT_device_memory_percent, 95);
	facts_set(&facts, FACT_refused, 1);
	facts_set(&facts, FACT_clock_lost_percent, 90);
	facts_set(&facts, FACT_clock_reasons, 32);
	findings = findings_from(&facts, NULL);
	names_of(findings, names);
	assert_string_equal(names, "memory_ran_out input_bound output_bound launch_bound memory_full single_precision communication_bound "
				   "clocks_lowered");
	assert_false(findings->list[1].is_high);
	assert_true(findings->list[2].is_high); /* 20 % */
	assert_true(fabs(findings->list[2].gain_share - 0.2) < 1e-9);
	assert_true(fabs(findings->list[2].gain_ns - 0.2 * SECOND) < 1);
	assert_non_null(findings->list[2].assumption);
	findings_free(findings);
}

static void test_thresholds_are_changed_by_name(void **state)
{
	struct rule_limits limits = rule_limits_default;
	struct rule_facts facts;
	struct findings *findings;

	(void)state;
	healthy(&facts);
	facts_set(&facts, FACT_split_input, 0.3 * SECOND);
	rule_limits_set(&limits, "threshold", "input_bound=31");
	findings = findings_from(&facts, &limits);
	assert_int_equal(findings->count, 0);
	findings_free(findings);
	rule_limits_set(&limits, "threshold", "input_bound=2.5%");
	rule_limits_set(&limits, "threshold", "input_bound.high=31");
	findings = findings_from(&facts, &limits);
	assert_int_equal(findings->count, 1);
	assert_true(findings->list[0].can_be_high && !findings->list[0].is_high);
	findings_free(findings);
	rule_limits_set(&limits, "threshold", "input_bound=off");
	findings = findings_from(&facts, &limits);
	assert_int_equal(findings->count, 0);
	findings_free(findings);
}

static void test_every_fact_names_cells_that_exist(void **state)
{
	char text[256];
	const char *mistake = facts_mistake(text, sizeof(text));

	(void)state;
	if (mistake)
		fail_msg("%s", mistake);
}

/* Where too many launches have no record of the device nobody says when it waited. */
static void test_no_waiting_of_devices_that_nobody_saw(void **state)
{
	static const struct given waits[] = {{FACT_split_launch, 0.3 * SECOND},
					     {FACT_split_host, 0.3 * SECOND},
					     {FACT_split_other, 0.3 * SECOND},
					     {FACT_small_reads, 5000},
					     {FACT_launch_delay_ns, 0.3 * SECOND}};
	struct rule_facts facts;

	(void)state;
	for (int is_much = 0; is_much < 2; is_much++) {
		struct findings *findings;
		healthy(&facts);
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
			facts_set(&facts, waits[i].id, waits[i].value);
		facts_set(&facts, FACT_unseen_launches_percent, is_much ? 5.1 : 5);
		findings = findings_from(&facts, NULL);
		for (size_t i = 0; i < rule_count; i++) {
			const struct finding *finding = finding_of(findings, rules[i].name);
			bool is_of_waiting = finding->title.length && strstr(finding->title.bytes, "the device waits") != NULL;
			assert_false(is_much && finding->state == RULE_FIRED && is_of_waiting);
		}
		assert_int_equal(finding_of(findings, "launch_bound")->state, is_much ? RULE_BLIND : RULE_FIRED);
		assert_int_equal(finding_of(findings, "host_bound")->state, is_much ? RULE_BLIND : RULE_FIRED);
		if (!is_much) /* what the verdict says of it: ops that feed the device are the host's work, too */
			assert_non_null(strstr(finding_of(findings, "host_bound")->remedy.bytes, "a larger batch"));
		assert_int_equal(finding_of(findings, "unexplained_idle")->state, is_much ? RULE_BLIND : RULE_FIRED);
		assert_int_equal(finding_of(findings, "small_reads")->state, is_much ? RULE_BLIND : RULE_FIRED);
		assert_int_equal(finding_of(findings, "delayed_launches")->state, is_much ? RULE_BLIND : RULE_FIRED);
		findings_free(findings);
	}
}

static void test_evidence_in_words(void **state)
{
	struct rule_facts facts;
	struct findings *findings;
	struct text words = {0};

	(void)state;
	healthy(&facts);
	facts.facts[FACT_pageable_ns].proof = (struct proof){
		.how = PROOF_FOLLOWS, .table = "copy_stats", .column = "total_ns", .rows = "kind=HtoD", .unit = UNIT_NS};
	facts_set(&facts, FACT_pageable_ns, 0.03 * SECOND);
	facts_own(&facts, FACT_device_memory_percent, 12.5, "memory.summary", "peak_bytes", "%s", "");
	facts.facts[FACT_pageable_bytes].proof =
		(struct proof){.how = PROOF_MOST, .table = "copy_stats", .column = "bytes", .value = 7, .unit = UNIT_BYTES};
	findings = findings_from(&facts, NULL);
	finding_prove(&findings->list[0], &facts, FACT_device_memory_percent);
	finding_prove(&findings->list[0], &facts, FACT_pageable_bytes);
	finding_put_evidence(&words, &findings->list[0]);
	assert_non_null(strstr(words.bytes, "copy_stats[kind=HtoD].total_ns = 30000000 ns"));
	assert_non_null(strstr(words.bytes, "; memory.summary.peak_bytes gives 12.5 %"));
	assert_non_null(strstr(words.bytes, "; the greatest copy_stats.bytes = 7 bytes"));
	text_free(&words);
	findings_free(findings);
}

enum { NUMBER, NAME, COLUMNS };
static const struct table_column columns[] = {
	[NUMBER] = {"number", "number", TABLE_INTEGER, UNIT_COUNT, 0, "a number"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "a text"},
};
static const struct table_kind kind = {.id = "test", .title = "Test", .help = "", .columns = columns, .column_count = COLUMNS};

static void test_selectors(void **state)
{
	static const struct {
		const char *words;
		unsigned rows; /* a bit for each row that is chosen */
	} selections[] = {{"", 7},	   {"name=a", 1},	   {"name!=a", 2},  {"number>=3", 2},
			  {"number<3", 5}, {"number=1,name=a", 1}, {"number!=1", 6}};
	struct table *table = table_make(&kind);
	struct selector selector;

	(void)state;
	table_row(table);
	table_integer(table, NUMBER, 1);
	table_string(table, NAME, "a");
	table_row(table);
	table_integer(table, NUMBER, 3);
	table_string(table, NAME, "ab");
	table_row(table);
	table_integer(table, NUMBER, 2); /* its name is not known: no condition on it holds */
	for (size_t i = 0; i < sizeof(selections) / sizeof(selections[0]); i++) {
		unsigned rows = 0;
		assert_true(select_parse(&selector, &kind, selections[i].words));
		for (size_t row = 0; row < 3; row++)
			rows |= (unsigned)select_takes(&selector, table, row) << row;
		if (rows != selections[i].rows)
			fail_msg("'%s' takes %u, not %u", selections[i].words, rows, selections[i].rows);
	}
	assert_false(select_parse(&selector, &kind, "nmae=a"));
	assert_false(select_parse(&selector, &kind, "name"));
	table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_rule_has_a_scenario),
		cmocka_unit_test(test_rules_fire_at_their_threshold_and_not_below),
		cmocka_unit_test(test_rare_work_may_be_a_wait),
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_nothing_known_nothing_said),
		cmocka_unit_test(test_lost_records_of_memory),
		cmocka_unit_test(test_excuses),
		cmocka_unit_test(test_compiling_is_told_once),
		cmocka_unit_test(test_waits_behind_each_launch),
		cmocka_unit_test(test_growth_in_words),
		cmocka_unit_test(test_rank),
		cmocka_unit_test(test_thresholds_are_changed_by_name),
		cmocka_unit_test(test_every_fact_names_cells_that_exist),
		cmocka_unit_test(test_no_waiting_of_devices_that_nobody_saw),
		cmocka_unit_test(test_evidence_in_words),
		cmocka_unit_test(test_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
