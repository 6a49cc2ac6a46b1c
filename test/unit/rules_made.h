/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a made-up run for tests of the rules: 100 steps that take 1 s.
 */
#ifndef TEST_UNIT_RULES_MADE_H
#define TEST_UNIT_RULES_MADE_H

#include "reducer/rules/facts_own.h"
#include "reducer/rules/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1e9

struct given {
	enum fact_id id;
	double value;
};

/* A run that all rules are content with: the device computes for 98 % of the time, in 16 bit, with tensor cores. */
static const struct given healthy_given[] = {
	{FACT_whole_ns, SECOND},
	{FACT_steps, 100},
	{FACT_all_steps, 100},
	{FACT_split_compilation, 0},
	{FACT_split_output, 0.002 * SECOND},
	{FACT_split_input, 0.004 * SECOND},
	{FACT_split_launch, 0.004 * SECOND},
	{FACT_split_host, 0.01 * SECOND},
	{FACT_split_collectives, 0},
	{FACT_split_device_to_device, 0},
	{FACT_split_compute, 0.98 * SECOND},
	{FACT_split_other, 0},
	{FACT_kernel_ns, 0.98 * SECOND},
	{FACT_kernel_count, 10000},
	{FACT_devices, 1},
	{FACT_partial_grid_ns, 0},
	{FACT_layout_ns, 0},
	{FACT_image_ns, 0},
	{FACT_norm_part_ns, 0},
	{FACT_launches, 10000},
	{FACT_launch_ns, 0.05 * SECOND},
	{FACT_small_kernels, 0},
	{FACT_pageable_ns, 0},
	{FACT_pageable_bytes, 0},
	{FACT_copies_in, 200},
	{FACT_copies_in_ns, 0.004 * SECOND},
	{FACT_copies_out, 100},
	{FACT_copies_out_ns, 0.002 * SECOND},
	{FACT_small_reads, 100},
	{FACT_device_memory_percent, 60},
	{FACT_leak_percent, 0},
	{FACT_refused, 0},
	{FACT_faults, 0},
	{FACT_bad_launches, 0},
	{FACT_leak_bytes, 0},
	{FACT_rare_ns, 0},
	{FACT_collecting_percent, 0},
	{FACT_old_libraries, 0},
	{FACT_private_threads, 0},
	{FACT_aggressive_xla, 0},
	{FACT_wide_product_ns, 0},
	{FACT_narrow_missed_ns, 0},
	{FACT_odd_shape_ns, 0},
	{FACT_compute_narrow_ns, 0.9 * SECOND},
	{FACT_eager_ns, 0},
	{FACT_launch_delay_ns, 0},
	{FACT_step_delay_ns, 0},
	{FACT_step_time_ns, SECOND},
	{FACT_limited_percent, 0},
	{FACT_stolen_percent, 0},
	{FACT_memory_stall_percent, 0},
	{FACT_clock_lost_percent, 0},
	{FACT_device_shared_percent, 0},
	{FACT_ops_host, 10},
	{FACT_ops_device, 9990},
	{FACT_shared_launch_threads, 0},
};

static inline void healthy(struct rule_facts *facts)
{
	*facts = (struct rule_facts){0};
	for (size_t i = 0; i < sizeof(healthy_given) / sizeof(healthy_given[0]); i++)
		facts_set(facts, healthy_given[i].id, healthy_given[i].value);
}

static inline const struct finding *finding_of(const struct findings *findings, const char *rule)
{
	for (size_t i = 0; i < rule_count; i++)
		if (strcmp(rules[i].name, rule) == 0)
			return &findings->all[i];
	fail_msg("no rule %s", rule);
	return NULL;
}

#endif
