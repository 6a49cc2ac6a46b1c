/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: what to do next, from the facts of a run.
 *
 * Rule: a rule is one function over typed facts; it measures one number, and speaks when that is at least its threshold and
 * nothing speaks against it. It reads no texts, prints nothing, and names the cells that prove what it says.
 */
#ifndef REDUCER_RULES_RULES_H
#define REDUCER_RULES_RULES_H

#include "reducer/rules/facts.h"
#include "reducer/tables/rule_limits.h"

/* In the order in which to look; what failed comes before what was slow: https://www.tensorflow.org/guide/gpu_performance_analysis */
enum rule_area { RULE_FAILURE, RULE_INPUT, RULE_DEVICE, RULE_PRECISION, RULE_MANY, RULE_MACHINE, RULE_AREAS };
const char *rule_area_name(enum rule_area area);

enum rule_state {
	RULE_FIRED,
	RULE_BELOW,   /* measured, and below the threshold */
	RULE_EXCUSED, /* measured at the threshold or above, but something speaks against it: `why` */
	RULE_BLIND,   /* what it needs was not recorded, or does not exist in this run: `why` */
};
const char *rule_state_name(enum rule_state state);

#define FINDING_PROOFS 6

struct finding;

struct rule {
	const char *name, *help;
	enum rule_area area;
	enum rule_unit unit;
	enum rule_limit limit;
	void (*check)(const struct rule_facts *facts, struct finding *finding);
};
extern const struct rule rules[];
extern const size_t rule_count;

/* What a rule says. */
struct finding {
	const struct rule *rule;
	const struct rule_limits *limits;
	enum rule_state state;
	bool can_be_high, is_high; /* the rule has a second threshold; it is beyond it */
	bool is_measured;
	double measured, threshold;
	bool has_gain;
	double gain_share;	/* of the whole time, 0 to 1, if `assumption` holds */
	double gain_ns;		/* the same in ns of the run */
	const char *assumption; /* a constant sentence */
	const char *why;	/* a constant text, see enum rule_state */
	struct text title;	/* a sentence with the numbers */
	struct text remedy;	/* one or two sentences */
	struct proof proofs[FINDING_PROOFS];
	size_t proof_count;
};

struct findings {
	struct finding *list; /* those that fired, ranked */
	size_t count;
	struct finding *all; /* one a rule, in the order of rules.def */
	struct rule_facts facts;
};

/* Runs every rule over a run that was scanned. Never NULL; findings_free. */
struct findings *findings_make(const struct request *request);
/* The same over given facts (unit tests). limits NULL = defaults. */
struct findings *findings_from(const struct rule_facts *facts, const struct rule_limits *limits);
void findings_free(struct findings *findings);

/* "table[rows].column = value; ..." appended. */
void finding_put_evidence(struct text *out, const struct finding *finding);

/* For rules: */

/* What was measured, in the unit of the rule. */
void finding_measure(struct finding *finding, double measured);
/* The rule cannot see: says why, once. Returns false, so that `return` can follow. */
bool finding_needs(struct finding *finding, bool is_there, const char *why);
/* Something speaks against it. */
void finding_excuse(struct finding *finding, bool is_excused, const char *why);
/* The cells that a fact came from; unknown facts prove nothing. */
void finding_prove(struct finding *finding, const struct rule_facts *facts, enum fact_id id);
/* `ns` of the whole time of this run could be won. */
void finding_gain(struct finding *finding, const struct rule_facts *facts, double ns, const char *assumption);
/* Whether it is beyond the rule's second threshold. */
void finding_grade(struct finding *finding, enum rule_limit limit);
double finding_limit(const struct finding *finding, enum rule_limit limit);

/* 100 * part / whole, 0 where the whole is 0. */
double rule_percent(double part, double whole);

#endif
