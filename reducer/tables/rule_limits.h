/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thresholds of reducer/tables/rules.def, for the rules and for the sentences of the verdict that tell of the same.
 *
 * Rule: what a rule and the verdict both say is said from one number on, which --threshold moves. The levels of overview.verdict
 * are none of these: they are the published ones of the TensorFlow Profiler (docs/steps.md), whatever recommendations are wanted.
 */
#ifndef REDUCER_TABLES_RULE_LIMITS_H
#define REDUCER_TABLES_RULE_LIMITS_H

#include "reducer/tables/request.h"

enum rule_unit { RULE_PERCENT, RULE_COUNT, RULE_TIMES, RULE_BYTES };

/* Thresholds, by what --threshold calls them. */
enum rule_limit {
#define RULE(name, area, threshold, unit, help) LIMIT_##name,
#define LIMIT(rule, name, value, unit, help) LIMIT_##rule##_##name,
#include "reducer/tables/rules.def"
#undef RULE
#undef LIMIT
	LIMIT_COUNT_ALL
};

struct rule_limits {
	double values[LIMIT_COUNT_ALL]; /* INFINITY = off */
};

/* Thresholds: the defaults, their names ("input_bound", "input_bound.high"), and setting one by "NAME=VALUE". */
extern const struct rule_limits rule_limits_default;
const char *rule_limit_name(enum rule_limit limit);
enum rule_unit rule_limit_unit(enum rule_limit limit);
const char *rule_limit_help(enum rule_limit limit);
const char *rule_unit_name(enum rule_unit unit);
/* Dies with the nearest name when there is none such, or with what a value may be. */
void rule_limits_set(struct rule_limits *limits, const char *option, const char *words);
/* In force for a request. */
double rule_limits_of(const struct request *request, enum rule_limit limit);

#endif
