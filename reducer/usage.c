/* SPDX-License-Identifier: Apache-2.0 */
/* What goes together on the command line. See usage.h. */
#include "reducer/usage.h"

#include "reducer/base/base.h"
#include "reducer/comparison/baseline.h"

#include <string.h>

static bool any_has_stacks(const struct table_kind *const *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (table_has_stacks(kinds[i]))
			return true;
	return false;
}

/* Options of call stacks, where none are shown that way. */
static void check_stacks(const struct options *options, const struct report_kind *format, const struct table_kind *const *kinds,
			 size_t count)
{
	if (options->report.value && !format->takes_value)
		base_die("--value weighs the call stacks of -f folded and -f pprof: leave it out, or choose one of those");
	if (options->has_frames && (!format->takes_frames || !any_has_stacks(kinds, count)))
		base_die("--frames shortens call stacks of tables as text: leave it out, or choose such a table without -f, for example "
			 "-t memory.sites");
}

void usage_check(const struct options *options, const struct report_kind *format, const struct table_kind *const *kinds,
		 size_t kind_count)
{
	check_stacks(options, format, kinds, kind_count);
	if (options->against_count && (format->write_run || format->write_folder ||
				       (format->tables && strcmp(format->tables, table_comparison_limits.id) != 0)))
		base_die("-f %s shows one run: leave --against out", format->name);
	if (options->is_each && !options->against_count && !options->figure_limits.count && format != &report_baseline)
		base_die("--run=each compares runs: give --against or --limit, or keep them with -f baseline");
	if (format->write_run || format->write_folder) {
		const char *what = format == &report_baseline ? "figures of the run" : "the time line";
		if (options->tables)
			base_die("-f %s writes %s, not tables: leave -t out", format->name, what);
		if (options_choose_rows(options))
			base_die("-f %s writes %s, where no rows are to be chosen: leave --%s out; it takes --window, --step, "
				 "--process, --host, --rank, --thread, --device and --stream",
				 format->name, what, options_choose_rows(options));
		return;
	}
	if (!options->tables && !kind_count && options_choose_events(options))
		base_die("of filters the summary takes --process, --host and --rank alone; choose a table, for example "
			 "-t memory.sites");
	if (format->is_single && kind_count > 1 && !options->output)
		base_die("-f %s prints one table a file: give -o DIR, or name one table with -t", format->name);
}
