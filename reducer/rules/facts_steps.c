/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the time of steps: its parts, and what went on meanwhile.
 *
 * Rule: of more than five steps of a process the first does not count (it compiles and fills caches), nor does a last one
 * whose end nobody said, nor do those that evaluate, nor what capture windows left out. Without steps the calls or requests that the
 * step analysis found stand for them; a whole run is no step: it holds start and end of the program, and its parts say nothing.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/analysis/steady.h"
#include "reducer/analysis/steps.h"

#include <inttypes.h>
#include <stdio.h>

#define FEW_STEPS 5
#define STEPS_LEAST 2  /* with fewer nothing is said of a step */
#define CALLS_LEAST 10 /* what nobody called a step must come often */

/* Rows that count, and where they lie. */
struct choice {
	enum unit_kind kind;
	int64_t from_ns, to_ns; /* starts of the first and behind the last */
	int64_t end_ns;		/* of what ends last */
	size_t processes;
	double deviceless_ns; /* of processes in none of whose steps a device worked */
	bool is_of_all;	 /* steps that were not recorded count, too: their length is known */
	bool has_gaps;	 /* some were left out for that */
};

static enum unit_kind best_kind(const struct steps *steps)
{
	enum unit_kind best = UNIT_WHOLE;

	for (size_t i = 0; i < steps->count; i++)
		if (steps->rows[i].has_work && steps->rows[i].kind < best)
			best = steps->rows[i].kind;
	return best;
}

/* How many rows of that kind the process of row `i` has; rows of a process stand together. */
static size_t run_of(const struct steps *steps, size_t i)
{
	size_t count = 1;

	while (i + count < steps->count && steps->rows[i + count].log_id == steps->rows[i].log_id)
		count++;
	return count;
}

struct parts_sum {
	double total_ns, part_ns[STEP_PARTS], count;
};

static void add_row(struct parts_sum *sum, const struct step_row *row)
{
	sum->total_ns += (double)row->total_ns;
	sum->count++;
	for (size_t k = 0; k < STEP_PARTS; k++)
		sum->part_ns[k] += (double)row->exposed_ns[k];
}

/* The rows of one process. */
static void take_process(struct parts_sum *sum, struct choice *choice, const struct step_row *rows, size_t count)
{
	bool is_long = count > FEW_STEPS, has_device = false;
	double before_ns = sum->total_ns;

	for (size_t i = 0; i < count; i++)
		has_device |= rows[i].has_device;
	for (size_t i = is_long; i < count; i++) {
		if (rows[i].kind != choice->kind || rows[i].is_evaluation || (is_long && i + 1 == count && rows[i].unit.is_cut))
			continue;
		if (rows[i].is_unrecorded && !choice->is_of_all) {
			choice->has_gaps = true;
			continue;
		}
		add_row(sum, &rows[i]);
		choice->from_ns = rows[i].start_ns < choice->from_ns ? rows[i].start_ns : choice->from_ns;
		choice->to_ns = rows[i].start_ns >= choice->to_ns ? rows[i].start_ns + 1 : choice->to_ns;
		int64_t end = rows[i].start_ns + (int64_t)rows[i].total_ns;
		choice->end_ns = end > choice->end_ns ? end : choice->end_ns;
	}
	choice->deviceless_ns += has_device ? 0 : sum->total_ns - before_ns;
	choice->processes++;
}

/* A part of the time; where one process has steps it is exactly the sum of cells. */
static void set_part(struct rule_facts *facts, enum fact_id id, double ns, const char *column, const struct choice *choice)
{
	facts_own(facts, id, ns, "step_stats", column, "start_ns>=%" PRId64 ",start_ns<%" PRId64, choice->from_ns, choice->to_ns);
	if (choice->processes == 1 && !choice->has_gaps)
		facts->facts[id].proof.how = PROOF_SUM;
}

static void set_parts(struct rule_facts *facts, const struct parts_sum *sum, const struct choice *choice)
{
	double compute = 0;

	for (size_t k = PART_COMPUTE_16; k <= PART_COMPUTE_UNKNOWN; k++)
		compute += sum->part_ns[k];
	set_part(facts, FACT_whole_ns, sum->total_ns, "total_ns", choice);
	set_part(facts, FACT_split_compilation, sum->part_ns[PART_COMPILATION], "compilation_ns", choice);
	set_part(facts, FACT_split_output, sum->part_ns[PART_OUTPUT], "output_ns", choice);
	set_part(facts, FACT_split_input, sum->part_ns[PART_INPUT_WAIT] + sum->part_ns[PART_INPUT_COPY], "input_ns", choice);
	set_part(facts, FACT_split_launch, sum->part_ns[PART_KERNEL_LAUNCH], "kernel_launch_ns", choice);
	set_part(facts, FACT_split_host, sum->part_ns[PART_HOST_COMPUTE], "host_compute_ns", choice);
	set_part(facts, FACT_split_collectives, sum->part_ns[PART_COLLECTIVES], "device_collectives_ns", choice);
	set_part(facts, FACT_split_communication, sum->part_ns[PART_COMMUNICATION], "host_communication_ns", choice);
	set_part(facts, FACT_split_device_to_device, sum->part_ns[PART_DEVICE_TO_DEVICE], "device_to_device_ns", choice);
	set_part(facts, FACT_split_compute, compute, "device_compute_ns", choice);
	set_part(facts, FACT_split_other, sum->part_ns[PART_OTHER], "other_ns", choice);
	set_part(facts, FACT_compute_narrow_ns, sum->part_ns[PART_COMPUTE_16] + sum->part_ns[PART_COMPUTE_8],
		 "device_compute_16bit_ns", choice);
	if (facts->facts[FACT_compute_narrow_ns].value > sum->part_ns[PART_COMPUTE_16])
		facts->facts[FACT_compute_narrow_ns].proof.how = PROOF_FOLLOWS;
	facts_own(facts, FACT_processes, (double)choice->processes, "step_stats", "process", "%s", "");
	facts->steps_from_ns = choice->from_ns;
	facts->steps_to_ns = choice->to_ns;
	facts->steps_end_ns = choice->end_ns;
	facts->timed_steps = sum->count;
	facts_own(facts, FACT_steps, sum->count, "step_stats", NULL, "start_ns>=%" PRId64 ",start_ns<%" PRId64, choice->from_ns,
		  choice->to_ns);
}

static void gather_parts(struct rule_facts *facts, const struct steps *steps)
{
	struct choice choice = {.kind = best_kind(steps), .from_ns = INT64_MAX, .to_ns = INT64_MIN, .end_ns = INT64_MIN};
	struct parts_sum sum = {0};
	double all = 0;

	for (size_t i = 0; i < steps->count && choice.kind != UNIT_WHOLE;) {
		size_t count = run_of(steps, i);
		all += steps->rows[i].kind == choice.kind ? (double)count : 0;
		if (steps->rows[i].kind == choice.kind)
			take_process(&sum, &choice, &steps->rows[i], count);
		i += count;
	}
	if (sum.count < (choice.kind == UNIT_STEP ? STEPS_LEAST : CALLS_LEAST))
		return;
	set_parts(facts, &sum, &choice);
	facts_own(facts, FACT_deviceless_percent, sum.total_ns > 0 ? 100 * choice.deviceless_ns / sum.total_ns : 0, "step_stats",
		  NULL, "%s", "");
	facts_own(facts, FACT_all_steps, all, "step_stats", NULL, "%s", "");
	snprintf(facts->facts[FACT_whole_ns].label, FACT_LABEL, "%s", unit_kind_name(choice.kind));
}

/* How long steps took, also where nothing in them was recorded that could be split. */
static void gather_time(struct rule_facts *facts, const struct steps *steps)
{
	struct choice choice = {.kind = UNIT_STEP, .is_of_all = true, .from_ns = INT64_MAX, .to_ns = INT64_MIN, .end_ns = INT64_MIN};
	struct parts_sum sum = {0};

	if (facts_known(facts, FACT_whole_ns)) {
		facts_set(facts, FACT_step_time_ns, facts_value(facts, FACT_whole_ns));
		facts->facts[FACT_step_time_ns].proof = facts->facts[FACT_whole_ns].proof;
		return;
	}
	for (size_t i = 0; i < steps->count;) {
		size_t count = run_of(steps, i);
		if (steps->rows[i].kind == UNIT_STEP)
			take_process(&sum, &choice, &steps->rows[i], count);
		i += count;
	}
	if (sum.count < STEPS_LEAST)
		return;
	set_part(facts, FACT_step_time_ns, sum.total_ns, "total_ns", &choice);
	facts->steps_from_ns = choice.from_ns;
	facts->steps_to_ns = choice.to_ns;
	facts->steps_end_ns = choice.end_ns;
	facts->timed_steps = sum.count;
}

static void set_copies(struct rule_facts *facts, enum fact_id count, enum fact_id ns, const struct steady_copies *copies,
		       const char *rows)
{
	facts_own(facts, count, (double)copies->count, "copy_stats", "occurrences", "%s", rows);
	facts_own(facts, ns, (double)copies->ns, "copy_stats", "total_ns", "%s", rows);
}

static void gather_work(struct rule_facts *facts, const struct steady *steady)
{
	const struct steady_copies *in = &steady->pageable[STEADY_IN], *out = &steady->pageable[STEADY_OUT];

	if (steady->op_ns && steady->steps) {
		facts_own(facts, FACT_op_ns, (double)steady->op_ns, "op_stats", "self_ns", "side=host");
		facts_own(facts, FACT_eager_ns, (double)steady->eager_ns, "op_stats", "self_ns", "side=host,eager=eager");
	}
	if (!steady->kernels && !steady->copies[STEADY_IN].count && !steady->copies[STEADY_OUT].count)
		return;
	set_copies(facts, FACT_copies_in, FACT_copies_in_ns, &steady->copies[STEADY_IN], "kind=HtoD");
	set_copies(facts, FACT_copies_out, FACT_copies_out_ns, &steady->copies[STEADY_OUT], "kind=DtoH");
	facts_own(facts, FACT_small_reads, (double)steady->small_reads, "copy_stats", "occurrences", "kind=DtoH,min_bytes<%d",
		  STEADY_SMALL + 1);
	facts_own(facts, FACT_pageable_ns, (double)(in->ns + out->ns), "copy_stats", "total_ns", "%s",
		  in->ns >= out->ns ? "kind=HtoD,source_memory=pageable" : "kind=DtoH,destination_memory=pageable");
	facts_own(facts, FACT_pageable_bytes, (double)(in->bytes + out->bytes), "copy_stats", "total_bytes", "%s",
		  in->ns >= out->ns ? "kind=HtoD,source_memory=pageable" : "kind=DtoH,destination_memory=pageable");
	facts_own(facts, FACT_pinned_ns, (double)(steady->pinned[STEADY_IN].ns + steady->pinned[STEADY_OUT].ns), "copy_stats",
		  "total_ns", "source_memory=pinned");
	facts_own(facts, FACT_pinned_bytes, (double)(steady->pinned[STEADY_IN].bytes + steady->pinned[STEADY_OUT].bytes),
		  "copy_stats", "total_bytes", "source_memory=pinned");
	facts_own(facts, FACT_steady_kernel_ns, (double)steady->kernel_ns, "kernel_stats", "total_ns", "%s", "");
	facts_own(facts, FACT_launches, (double)steady->launches, "api_stats", "calls", "kind=launch");
	facts_own(facts, FACT_launch_ns, (double)steady->launch_ns, "api_stats", "total_ns", "kind=launch");
	facts_own(facts, FACT_device_waits, (double)steady->waits, "api_stats", "calls", "kind=sync");
	facts_own(facts, FACT_device_wait_ns, (double)steady->wait_ns, "api_stats", "total_ns", "kind=sync");
	if (steady->any_ns) {
		facts_own(facts, FACT_alone_ns, (double)steady->alone_ns, "device_timeline", "kernel_ns", "%s", "");
		facts_own(facts, FACT_any_ns, (double)steady->any_ns, "device_timeline", "kernel_ns", "%s", "");
	}
}

void facts_gather_steps(struct rule_facts *facts, const struct request *request)
{
	const struct steps *steps = request->analyses ? analyses_whole(request->analyses, &analysis_steps) : NULL;
	const struct steady *steady = request->analyses ? analyses_whole(request->analyses, &analysis_steady) : NULL;

	if (steps) {
		gather_parts(facts, steps);
		gather_time(facts, steps);
	}
	if (steady)
		gather_work(facts, steady);
}
