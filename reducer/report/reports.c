/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing a format by name.
 *
 * Rule: knows no format by name but through reports.def.
 */
#include "reducer/report/report.h"

#include <string.h>

#define REPORT(symbol) extern const struct report_kind report_##symbol;
#include "reducer/report/reports.def"
#undef REPORT

#define REPORT(symbol) &report_##symbol,
const struct report_kind *const report_kinds[] = {
#include "reducer/report/reports.def"
};
#undef REPORT
const size_t report_kind_count = sizeof(report_kinds) / sizeof(report_kinds[0]);

const struct report_kind *report_find(const char *name)
{
	struct base_nearest nearest = base_nearest_start(name);

	for (size_t i = 0; i < report_kind_count; i++) {
		if (strcmp(report_kinds[i]->name, name) == 0)
			return report_kinds[i];
		base_nearest_offer(&nearest, report_kinds[i]->name);
	}
	if (nearest.best)
		base_die("no format is called '%s'; did you mean '%s'? --list shows all", name, nearest.best);
	base_die("no format is called '%s'; --list shows all", name);
}
