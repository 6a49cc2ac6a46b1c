/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what rules say where more is known: launches and copies, pinned memory, graphs, who had the processors; what compiles.
 *
 * Rule: each expectation stands in the test; facts are those of rules_made.h.
 */
#include "test/unit/rules_made.h"

/* Where launches take little of the time in calls that start work they are not blamed for it. */
static void test_copies_are_no_launches(void **state)
{
	struct rule_facts facts;
	struct findings *findings;
	const char *title;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		healthy(&facts);
		facts_set(&facts, FACT_split_launch, 0.4 * SECOND);
		facts_set(&facts, FACT_launch_ns, (i == 0 ? 0.2 : 0.199) * SECOND);
		findings = findings_from(&facts, NULL);
		title = finding_of(findings, "launch_bound")->title.bytes;
		assert_int_equal(strstr(title, "waits for launches") != NULL, i == 0);
		assert_int_equal(strstr(title, "most of it in copies and sets: launches take at most 19.9 %") != NULL, i == 1);
		findings_free(findings);
	}
}

/* Of pinned copies nobody is told to pin them; of kernels in graphs nobody that each is launched. */
static void test_pinned_copies_and_graphs_are_known(void **state)
{
	struct rule_facts facts;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct findings *findings;
		const struct finding *finding;

		healthy(&facts);
		facts_set(&facts, FACT_split_launch, 0.4 * SECOND);
		facts_set(&facts, FACT_launch_ns, i == 2 ? 0.4 * SECOND : 0.1 * SECOND);
		facts_set(&facts, FACT_in_bytes, 1e9);
		facts_set(&facts, FACT_in_pinned_bytes, i ? 0.95e9 : 0.5e9);
		facts_set(&facts, FACT_graph_kernels, facts_value(&facts, FACT_kernel_count) * 0.9);
		facts_set(&facts, FACT_graph_launches, 7);
		findings = findings_from(&facts, NULL);
		finding = finding_of(findings, "launch_bound");
		assert_int_equal(finding->state, RULE_FIRED);
		assert_int_equal(strstr(finding->remedy.bytes, "pin_memory") != NULL, i == 0);
		assert_int_equal(strstr(finding->title.bytes, "in 7 launches of CUDA graphs") != NULL, i == 2);
		assert_null(strstr(finding->title.bytes, "shorter than that"));
		findings_free(findings);
	}
}

/* Where nearly all copies read a few bytes back it is these that are to be spared, not their memory to be pinned. */
static void test_small_reads_are_no_matter_of_pinning(void **state)
{
	struct rule_facts facts;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct findings *findings;
		const char *remedy;

		healthy(&facts);
		facts_set(&facts, FACT_split_launch, 0.4 * SECOND);
		facts_set(&facts, FACT_launch_ns, 0.01 * SECOND);
		facts_set(&facts, FACT_copies_in, 25);
		facts_set(&facts, FACT_copies_out, 75);
		facts_set(&facts, FACT_small_reads, i ? 75 : 74);
		findings = findings_from(&facts, NULL);
		remedy = finding_of(findings, "launch_bound")->remedy.bytes;
		assert_int_equal(strstr(remedy, "75 of 100 copies read at most 64 bytes back") != NULL, i == 1);
		assert_int_equal(strstr(remedy, "pin_memory") != NULL, i == 0);
		findings_free(findings);
	}
}

static void test_a_busy_machine_is_told_from_a_busy_program(void **state)
{
	static const struct {
		double own;
		const char *said;
	} cases[] = {{0.75, "this program had 75 %: its own threads are more"},
		     {0.74, "this program had 74 %: other programs ran, or more threads of its own"},
		     {0.25, "this program had 25 %: other programs ran instead of it."}};
	struct rule_facts facts;
	struct findings *findings;

	(void)state;
	healthy(&facts);
	facts_set(&facts, FACT_kernel_count, 0);
	facts_set(&facts, FACT_step_delay_ns, 0.2 * SECOND);
	findings = findings_from(&facts, NULL);
	assert_non_null(strstr(finding_of(findings, "busy_machine")->remedy.bytes, "Other programs, or more threads of this one"));
	findings_free(findings);
	facts_set(&facts, FACT_machine_busy_ns, 2.0 * SECOND);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		facts_set(&facts, FACT_own_busy_ns, cases[i].own * 2 * SECOND);
		findings = findings_from(&facts, NULL);
		assert_non_null(strstr(finding_of(findings, "busy_machine")->remedy.bytes, cases[i].said));
		findings_free(findings);
	}
}

/* A container's limit leaves threads without a processor as another program does, and is mended elsewhere. */
static void test_a_limit_is_no_busy_machine(void **state)
{
	struct rule_facts facts;
	struct findings *findings;

	(void)state;
	healthy(&facts);
	facts_set(&facts, FACT_kernel_count, 0);
	facts_set(&facts, FACT_step_delay_ns, 0.6 * SECOND);
	facts_set(&facts, FACT_limit_processors, 1.5);
	facts_set(&facts, FACT_split_compute, 0);
	for (int i = 0; i < 2; i++) {
		facts_set(&facts, FACT_limited_percent, i ? 30 : 29.9); /* half of the wait */
		findings = findings_from(&facts, NULL);
		assert_int_equal(finding_of(findings, "busy_machine")->state, i ? RULE_EXCUSED : RULE_FIRED);
		assert_int_equal(finding_of(findings, "processor_limit")->state, RULE_FIRED);
		assert_non_null(strstr(finding_of(findings, "processor_limit")->title.bytes, "may use 1.5 processors"));
		findings_free(findings);
	}
}

/* A part of the program's own whose name has "compile" in it excused rare_work where something else compiled, too. */
static void test_no_compiler_of_that_name(void **state)
{
	static const char *const tops[] = {"compile_results", "XLA call: f (compiled.py, line 2) in f +0x3", "recompile (my_timed)"};

	(void)state;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		struct rule_facts facts;
		struct findings *findings;
		healthy(&facts);
		facts_set(&facts, FACT_split_compilation, 0.2 * SECOND);
		facts_set(&facts, FACT_rare_ns, 0.5 * SECOND);
		facts_set(&facts, FACT_rare_top, 0.5 * SECOND);
		strcpy(facts.facts[FACT_rare_top].label, tops[i]);
		findings = findings_from(&facts, NULL);
		assert_int_equal(finding_of(findings, "rare_work")->state, RULE_FIRED);
		findings_free(findings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_are_no_launches),
		cmocka_unit_test(test_pinned_copies_and_graphs_are_known),
		cmocka_unit_test(test_small_reads_are_no_matter_of_pinning),
		cmocka_unit_test(test_a_busy_machine_is_told_from_a_busy_program),
		cmocka_unit_test(test_a_limit_is_no_busy_machine),
		cmocka_unit_test(test_no_compiler_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
