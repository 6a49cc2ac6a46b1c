/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds; see reducer/tables/rule_limits.h. */
#include "reducer/tables/rule_limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT RULE_PERCENT
#define COUNT RULE_COUNT
#define TIMES RULE_TIMES
#define BYTES RULE_BYTES

static const struct {
	const char *name, *help;
	enum rule_unit unit;
} limit_rows[LIMIT_COUNT_ALL] = {
#define RULE(name, area, threshold, unit, help) [LIMIT_##name] = {#name, help, unit},
#define LIMIT(rule, name, value, unit, help) [LIMIT_##rule##_##name] = {#rule "." #name, help, unit},
#include "reducer/tables/rules.def"
#undef RULE
#undef LIMIT
};

const struct rule_limits rule_limits_default = {{
#define RULE(name, area, threshold, unit, help) [LIMIT_##name] = threshold,
#define LIMIT(rule, name, value, unit, help) [LIMIT_##rule##_##name] = value,
#include "reducer/tables/rules.def"
#undef RULE
#undef LIMIT
}};

const char *rule_limit_name(enum rule_limit limit)
{
	return limit_rows[limit].name;
}

enum rule_unit rule_limit_unit(enum rule_limit limit)
{
	return limit_rows[limit].unit;
}

const char *rule_limit_help(enum rule_limit limit)
{
	return limit_rows[limit].help;
}

const char *rule_unit_name(enum rule_unit unit)
{
	static const char *const names[] = {"%", "", "times", "bytes"};

	return names[unit];
}

static _Noreturn void unknown_limit(const char *option, const char *name)
{
	struct base_nearest nearest = base_nearest_start(name);

	for (size_t i = 0; i < LIMIT_COUNT_ALL; i++)
		base_nearest_offer(&nearest, limit_rows[i].name);
	if (nearest.best)
		base_die("--%s: no threshold is called '%s'; did you mean '%s'? -t rules shows all", option, name, nearest.best);
	base_die("--%s: no threshold is called '%s'; -t rules shows all", option, name);
}

void rule_limits_set(struct rule_limits *limits, const char *option, const char *words)
{
	size_t length = strcspn(words, "="), i = 0;
	char *name = base_copy(words, length), *end;
	const char *value = words[length] ? words + length + 1 : "";
	double number;

	while (i < LIMIT_COUNT_ALL && strcmp(limit_rows[i].name, name) != 0)
		i++;
	if (i == LIMIT_COUNT_ALL)
		unknown_limit(option, name);
	number = strtod(value, &end);
	if (strcmp(value, "off") == 0)
		number = INFINITY;
	else if (end == value || (*end && strcmp(end, "%") != 0) || !(number >= 0) || isinf(number))
		base_die("--%s=%s: give a number that is not negative, or off: %s=%g is the default", option, words, name,
			 rule_limits_default.values[i]);
	limits->values[i] = number;
	free(name);
}

double rule_limits_of(const struct request *request, enum rule_limit limit)
{
	return (request->limits ? request->limits : &rule_limits_default)->values[limit];
}
