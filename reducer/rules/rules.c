/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules and ranks what they say. See rules.h.
 *
 * Rule: knows no rule but through rules.def.
 */
#include "reducer/rules/rule.h"

#include "reducer/model/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT RULE_PERCENT
#define COUNT RULE_COUNT
#define TIMES RULE_TIMES
#define BYTES RULE_BYTES

const struct rule rules[] = {
#define RULE(name, area, threshold, unit, help) {#name, help, RULE_##area, unit, LIMIT_##name, rule_##name},
#define LIMIT(rule, name, value, unit, help)
#include "reducer/tables/rules.def"
#undef RULE
#undef LIMIT
};
const size_t rule_count = sizeof(rules) / sizeof(rules[0]);

const char *rule_area_name(enum rule_area area)
{
	static const char *const names[RULE_AREAS] = {"failure", "input", "one device", "precision and compiler", "many devices",
							 "machine"};

	return names[area];
}

const char *rule_state_name(enum rule_state state)
{
	static const char *const names[] = {"fired", "below its threshold", "excused", "cannot see"};

	return names[state];
}

double rule_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

double rule_devices(const struct rule_facts *facts)
{
	double devices = facts_value(facts, FACT_devices);

	return devices > 1 ? devices : 1;
}

double rule_devices_each(const struct rule_facts *facts)
{
	double processes = facts_value(facts, FACT_processes),
	       each = processes > 1 ? rule_devices(facts) / processes : rule_devices(facts);

	return each > 1 ? each : 1;
}

double rule_device_time(const struct rule_facts *facts)
{
	return facts_value(facts, FACT_whole_ns) * rule_devices_each(facts);
}

double rule_steps(const struct rule_facts *facts)
{
	double steps = facts_value(facts, FACT_steps);

	return steps > 1 ? steps : 1;
}

bool rule_has_kernels(const struct rule_facts *facts)
{
	return facts_value(facts, FACT_kernel_ns) > 0 && facts_value(facts, FACT_kernel_count) >= RULE_KERNELS_LEAST;
}

bool rule_knows_waiting(const struct rule_facts *facts)
{
	return facts_value(facts, FACT_unseen_launches_percent) <= 100 * GPU_UNSEEN_FROM;
}

const char *rule_unit_word(const struct rule_facts *facts)
{
	const char *word = facts->facts[FACT_whole_ns].label;

	return word[0] ? word : "step";
}

double rule_compute_part(const struct rule_facts *facts, double percent)
{
	return facts_value(facts, FACT_split_compute) * percent / 100;
}

double rule_part(const struct rule_facts *facts, struct finding *finding, enum fact_id part, const char *assumption)
{
	double ns = facts_value(facts, part), share = rule_percent(ns, facts_value(facts, FACT_whole_ns));

	if (!finding_needs(finding, facts_known(facts, part), RULE_NO_STEPS))
		return -1;
	finding_measure(finding, share);
	finding_prove(finding, facts, part);
	finding_gain(finding, facts, ns, assumption);
	return share;
}

void finding_measure(struct finding *finding, double measured)
{
	finding->is_measured = true;
	finding->measured = measured;
}

bool finding_needs(struct finding *finding, bool is_there, const char *why)
{
	if (is_there)
		return true;
	finding->state = RULE_BLIND;
	finding->why = why;
	return false;
}

void finding_excuse(struct finding *finding, bool is_excused, const char *why)
{
	if (!is_excused || finding->state != RULE_FIRED)
		return;
	finding->state = RULE_EXCUSED;
	finding->why = why;
}

void finding_prove(struct finding *finding, const struct rule_facts *facts, enum fact_id id)
{
	if (facts->facts[id].is_known && finding->proof_count < FINDING_PROOFS)
		finding->proofs[finding->proof_count++] = facts->facts[id].proof;
}

void finding_gain(struct finding *finding, const struct rule_facts *facts, double ns, const char *assumption)
{
	double whole = facts_value(facts, FACT_whole_ns);

	if (whole <= 0)
		return;
	finding->has_gain = true;
	finding->gain_ns = ns < 0 ? 0 : ns > whole ? whole : ns;
	finding->gain_share = finding->gain_ns / whole;
	finding->assumption = assumption;
}

void finding_grade(struct finding *finding, enum rule_limit limit)
{
	finding->can_be_high = true;
	finding->is_high = finding->measured >= finding->limits->values[limit];
}

double finding_limit(const struct finding *finding, enum rule_limit limit)
{
	return finding->limits->values[limit];
}

static void check(const struct rule *rule, const struct rule_facts *facts, const struct rule_limits *limits,
		  struct finding *finding)
{
	*finding =
		(struct finding){.rule = rule, .limits = limits, .state = RULE_FIRED, .threshold = limits->values[rule->limit]};
	rule->check(facts, finding);
	if (finding->state == RULE_BLIND)
		return;
	if (!finding->is_measured || !(finding->measured >= finding->threshold)) {
		finding->state = RULE_BELOW;
		finding->why = NULL;
	}
}

/* By area, then by gain; what has no estimate comes last, in the order of rules.def. */
static int by_rank(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->rule->area != y->rule->area)
		return x->rule->area < y->rule->area ? -1 : 1;
	if (x->has_gain != y->has_gain)
		return x->has_gain ? -1 : 1;
	if (x->has_gain && x->gain_share != y->gain_share)
		return x->gain_share > y->gain_share ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

struct findings *findings_from(const struct rule_facts *facts, const struct rule_limits *limits)
{
	struct findings *findings = base_alloc(1, sizeof(*findings));

	findings->facts = *facts;
	findings->all = base_alloc(rule_count, sizeof(*findings->all));
	findings->list = base_alloc(rule_count, sizeof(*findings->list));
	for (size_t i = 0; i < rule_count; i++) {
		check(&rules[i], &findings->facts, limits ? limits : &rule_limits_default, &findings->all[i]);
		if (findings->all[i].state == RULE_FIRED)
			findings->list[findings->count++] = findings->all[i];
	}
	qsort(findings->list, findings->count, sizeof(*findings->list), by_rank);
	return findings;
}

struct findings *findings_make(const struct request *request)
{
	struct rule_facts *facts = base_alloc(1, sizeof(*facts));
	struct findings *findings;

	facts_gather(facts, request);
	findings = findings_from(facts, request->limits);
	free(facts);
	return findings;
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < rule_count; i++) {
		text_free(&findings->all[i].title);
		text_free(&findings->all[i].remedy);
	}
	free(findings->all);
	free(findings->list);
	free(findings);
}

static void put_value(struct text *out, const struct proof *proof)
{
	static const char *const units[] = {
		[UNIT_NONE] = "", [UNIT_COUNT] = "", [UNIT_BYTES] = " bytes", [UNIT_NS] = " ns",
		[UNIT_RATIO] = "", [UNIT_BYTES_PER_S] = " bytes/s", [UNIT_FLOPS] = " flop",
		[UNIT_FLOPS_PER_S] = " flop/s", [UNIT_MILLIWATTS] = " mW", [UNIT_MILLIJOULES] = " mJ", [UNIT_MEGAHERTZ] = " MHz",
		[UNIT_CELSIUS] = " C"};

	if (proof->unit == UNIT_RATIO)
		text_format(out, "%.6g %%", 100 * proof->value);
	else if (proof->value == floor(proof->value) && fabs(proof->value) < 1e15)
		text_format(out, "%.0f%s", proof->value, units[proof->unit]);
	else
		text_format(out, "%.6g%s", proof->value, units[proof->unit]);
}

void finding_put_evidence(struct text *out, const struct finding *finding)
{
	for (size_t i = 0; i < finding->proof_count; i++) {
		const struct proof *proof = &finding->proofs[i];
		text_format(out, "%s%s%s", i ? "; " : "",
			    proof->how == PROOF_MOST	   ? "the greatest "
			    : proof->how == PROOF_DISTINCT ? "distinct "
							   : "",
			    proof->table);
		if (proof->rows[0])
			text_format(out, "[%s]", proof->rows);
		bool is_share = proof->unit == UNIT_RATIO && proof->how == PROOF_FOLLOWS; /* no cell is that */
		text_format(out, ".%s %s ", proof->column ? proof->column : "rows", is_share ? "gives" : "=");
		put_value(out, proof);
	}
}
