/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes together on the command line, once format and tables are known.
 *
 * Rule: what would be passed over in silence is refused, by what to do instead. What needs no format is refused by options.c.
 */
#ifndef REDUCER_USAGE_H
#define REDUCER_USAGE_H

#include "reducer/options.h"
#include "reducer/report/report.h"
#include "reducer/tables/table.h"

/* Dies with a sentence where an option would not have the effect that it seems to have. */
void usage_check(const struct options *options, const struct report_kind *format, const struct table_kind *const *kinds,
		 size_t kind_count);

#endif
