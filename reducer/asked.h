/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that was opened, and what is asked of it.
 *
 * Rule: opening is the same for the run that is reported, the older one, and every further one of --run=each. Dies with a
 * sentence where there is nothing to open.
 */
#ifndef REDUCER_ASKED_H
#define REDUCER_ASKED_H

#include "reducer/options.h"

struct asked {
	struct run *run;
	struct request *request;
	struct run_options options;
	struct diag_list diags;
	bool is_cut; /* the processes that are not wanted are left out, as if they had no log */
};

/* What opening takes of the command line; with --run=each the newest run. */
struct run_options asked_options(const struct options *options);
/* The paths of the newer side: those that were named, or the default. */
const char *const *asked_paths(const struct options *options, size_t *count);

/* Opens the newest run of these paths, or the one that asked->options names. */
void asked_open(struct asked *asked, const char *const *paths, size_t count);
/* The same where it may be that none has the name: false. */
bool asked_try(struct asked *asked, const char *const *paths, size_t count);

/* Reads what the first pass wants, with progress on a terminal. Dies without memory. */
void asked_scan(struct asked *asked);
/* Reads the logs where these tables, or figures, need that; checks the filters, and makes the request ready. */
void asked_ready(struct asked *asked, const struct options *options, const struct report_kind *format,
		 const struct table_kind *const *kinds, size_t kind_count);
void asked_forget(struct asked *asked);

#endif
