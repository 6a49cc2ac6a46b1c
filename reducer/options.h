/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of tfprof-reduce.
 *
 * Rule: one table of options makes the parser, --help and the nearest-name report.
 */
#ifndef REDUCER_OPTIONS_H
#define REDUCER_OPTIONS_H

#include "reducer/comparison/limits.h"
#include "reducer/report/report.h"
#include "reducer/rules/rules.h"
#include "reducer/symbols/symbols.h"
#include "reducer/tables/request.h"

enum action { ACTION_REPORT, ACTION_LIST, ACTION_CHECK, ACTION_DUMP, ACTION_HELP };

struct options {
	enum action action; /* first, so that no text lies at offset 0 */
	void (*help)(FILE *file); /* which form of the help */
	const char *tables; /* -t; NULL = the summary */
	const char *format; /* NULL = text */
	const char *output; /* NULL = stdout */
	const char *html;   /* as --html had it; NULL = not given */
	const char *run;
	const char **against; /* logs, directories, a baseline, or another run of the same logs; none = nothing is compared */
	size_t against_count, against_room;
	bool is_each; /* --run=each; then `run` is NULL */
	struct figure_limits figure_limits; /* of which request.figure_limits tells */
	const char *name_regex;
	regex_t name;
	unsigned temporary;
	bool has_frames; /* --frames was given */
	unsigned jobs; /* 0 = choose */
	struct request request;         /* the filters; run and frames are set later */
	struct rule_limits limits;      /* of which request.limits tells */
	struct report_options report;   /* width and colour are set later */
	struct symbols_options symbols;
	const char **paths; /* what is no option; of argv */
	size_t path_count;
};

/* Dies with a sentence when an option is unknown or its value bad. Strings are those of argv. */
void options_parse(struct options *options, int count, char **words);
/* Whether a filter was given of what happened, not of who did it. */
bool options_choose_events(const struct options *options);
/* The option that was given and chooses among rows of tables, which a time line has not; NULL = none was. */
const char *options_choose_rows(const struct options *options);
void options_free(struct options *options);

#define OPTIONS_DEFAULT_LOGS "tfprof-out" /* the default of the setting OUT */

#endif
