/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the first screen share. Private to the files summary*.c.
 *
 * Rule: a part writes lines through summary_end_line, which cuts and counts them, and uses at most summary->room of them.
 */
#ifndef REDUCER_REPORT_SUMMARY_INTERNAL_H
#define REDUCER_REPORT_SUMMARY_INTERNAL_H

#include "reducer/report/summary.h"

struct summary {
	FILE *file; /* of the part */
	const struct request *request;
	const struct report_options *options;
	const char *where;
	struct text line;
	size_t room;		/* lines that this part may use, blank line and heading included */
	size_t used;		/* lines of all parts so far */
	size_t notes;		/* printed so far */
	const char *bound_note; /* to print with the notes, or NULL */
	bool has_near;		/* a name with a "~" was printed */
};

/* Begins a colour (a number of SGR), "0" ends it; nothing where the output has none. */
void summary_colour(const struct summary *summary, const char *code);

/* Prints and empties summary->line, cut to the width. */
void summary_end_line(struct summary *summary);

/* A blank line and a bold one. */
void summary_heading(struct summary *summary, const char *text);

/* A sentence behind `first`, on at most `lines` lines, harmless. */
void summary_sentence(struct summary *summary, const char *first, const char *text, size_t lines);

/* Parts in files of their own. */
void summary_put_losses(struct summary *summary);
void summary_put_verdict(struct summary *summary);
void summary_put_split(struct summary *summary);
void summary_put_advice(struct summary *summary);

/* What cost precision, no record: calls `note` with a sentence each. */
void summary_degraded(struct summary *summary, void (*note)(struct summary *summary, const char *text));

#endif
