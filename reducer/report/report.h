/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing tables.
 *
 * Rule: a format prints any table and knows none by name; an analysis knows no format. A format is one file of this folder
 * and one row in reports.def. Cells hold any bytes, and may be hostile: a format never prints one unescaped.
 */
#ifndef REDUCER_REPORT_REPORT_H
#define REDUCER_REPORT_REPORT_H

#include "reducer/tables/table.h"

#include <stdio.h>

struct text;    /* reducer/base/base.h */
struct request; /* reducer/tables/request.h */

struct report_options {
	unsigned width;    /* columns of the terminal; text only */
	unsigned height;   /* lines of the terminal that the summary may fill */
	unsigned frames;   /* frames shown of a stack; text only */
	bool is_coloured;  /* text only */
	const char *value; /* folded: the column to weigh by, or the beginning of its name; NULL = the first one */
};

/* Several tables of one run. */
struct report_set {
	struct table *const *tables;
	size_t count;
	const char *title;   /* of a document made of these tables, or NULL */
	const char *run;     /* name of the run; NULL = these tables are of no run */
	const struct text *drawing; /* what `draw` of the format made of the run; NULL = these tables are all that is wanted */
	const char *problem; /* a sentence when something was lost or damaged, else NULL */
};

struct report_kind {
	const char *name, *suffix, *help;
	bool is_for_reading; /* tables show their usual number of rows, not all */
	const char *summary_begin, *summary_end; /* what the summary, which is text, stands between; NULL = nothing */
	bool is_single;      /* one table a file */
	const char *tables;  /* what -t is when it is not given; NULL = the summary for reading, else all. Of write_run: what it reads */
	bool leaves_out_launches; /* unless -t names them: a row for each launch, and nobody reads a million of them */
	void (*write)(FILE *file, const struct report_set *set, const struct report_options *options);
	/* What it shows of the run itself, where all tables are wanted: beside them, maybe in another thread. NULL = nothing. */
	void (*draw)(struct text *drawing, const struct request *request);
	bool is_without_sums; /* shows nothing of enum run_sum */
	bool takes_value, takes_frames; /* report_options.value, .frames mean something to it */
	/* A format of the time line or of the run instead of tables: `write` is NULL. The run is scanned, for what `tables` read. */
	void (*write_run)(FILE *file, const struct request *request);
	/* The same into a folder, made where there is none: `write` and `write_run` are NULL. */
	void (*write_folder)(const char *path, const struct request *request);
};

extern const struct report_kind *const report_kinds[];
extern const size_t report_kind_count;

/* The format of that name; dies with the nearest name when there is none. */
const struct report_kind *report_find(const char *name);

#endif
