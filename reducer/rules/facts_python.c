/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about Python's own work in the steps, by looks at its code.
 *
 * Rule: too few looks make nothing known.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/tables/native_looks.h"
#include "reducer/tables/python_looks.h"

#include <stdio.h>

static void gather_lock(struct rule_facts *facts, const struct request *request)
{
	struct text place = {0}, where = {0};
	uint64_t ns;
	double percent = native_looks_lock(request, &ns, &where);
	const char *row = where.length ? where.bytes : "";

	if (percent >= 0) {
		facts_own(facts, FACT_python_lock_percent, percent, "native_time", "step_wait_total_ns", "%s", row);
		facts_own(facts, FACT_python_lock_ns, (double)ns, "native_time", "step_wait_total_ns", "%s", row);
		python_looks_aside(request, &place);
		snprintf(facts->facts[FACT_python_lock_ns].label, FACT_LABEL, "%s", place.length ? place.bytes : "");
	}
	text_free(&place);
	text_free(&where);
}

void facts_gather_python(struct rule_facts *facts, const struct request *request)
{
	struct text place = {0};
	uint64_t ns;
	double percent;

	if (!facts_known(facts, FACT_step_time_ns))
		return;
	percent = python_looks_collecting(request, &ns, &place);
	if (percent >= 0) {
		facts_own(facts, FACT_collecting_percent, percent, "python_time", "collecting_ns", "%s", "");
		facts_own(facts, FACT_collecting_ns, (double)ns, "python_time", "collecting_ns", "%s", "");
		snprintf(facts->facts[FACT_collecting_ns].label, FACT_LABEL, "%s", place.length ? place.bytes : "");
	}
	text_free(&place);
	gather_lock(facts, request);
}
