/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis is given: the run, and what the user asked to see of it.
 *
 * Rule: an analysis reads a request and changes nothing; every filter it does not honour is noted by tables_make.
 */
#ifndef REDUCER_TABLES_REQUEST_H
#define REDUCER_TABLES_REQUEST_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/phases.h"
#include "reducer/model/run.h"
#include "reducer/tables/frames.h"
#include "reducer/tables/table.h"

#include <regex.h>

struct rule_limits;
struct figure_limits;
struct compared;
struct units;

/* What rows of one thing are joined by (--group-by). */
enum op_group {
	GROUP_OP,     /* as they are */
	GROUP_TYPE,
	GROUP_SCOPE,  /* the name's part before the last '/' */
	GROUP_MODULE, /* its first part: the model, XLA's jit(...) */
	GROUP_KERNEL, /* of kernels: by name alone */
	GROUPS
};
extern const char *const request_groups[GROUPS + 1]; /* their words; NULL behind the last */

struct request {
	struct run *run;
	struct frames *frames;
	int64_t from_ns, to_ns; /* --window: INT64_MIN, INT64_MAX = all */
	int64_t last_ns;	/* --window=-60s-: from_ns is so long before the run's end, once that is known; -1 = it is not */
	const char *process;    /* --process: a pid or a command; NULL = all */
	const char *host;       /* --host: a machine or container by its name; NULL = all */
	const char *rank;       /* --rank: its number in the job; NULL = all */
	const char *thread;     /* --thread: a kernel thread id or a name; NULL = all */
	const char *allocator;  /* --allocator; NULL = all */
	const char *device;     /* --device: a number or a name; NULL = all */
	const char *stream;     /* --stream: a number or a name; NULL = all */
	const regex_t *name;    /* --name: rows with a text that matches; NULL = all */
	const char *sort;       /* --sort: a column's id, after a '-' in reverse; NULL = as the analysis likes */
	size_t top;             /* --top; SIZE_MAX = all */
	bool is_top_given;
	bool names_inner;	/* only what the innermost frames of a stack are called is sure to be asked */
	bool is_text;           /* for reading: without --top, a table shows its usual number of rows */
	size_t points;          /* --points */
	bool has_steps;         /* --step: the numbers below, both included */
	uint64_t first_step, last_step;
	struct units *units;    /* of each wanted process, where has_steps; NULL = not asked for. request_open_analyses */
	struct phases phases;   /* --phase */
	enum op_group group;    /* --group-by */
	bool is_with_idle;      /* --idle=in */
	struct analysis_options analysis; /* --split, --step-time */
	struct analyses *analyses; /* results for the wanted processes; request_open_analyses */
	const struct rule_limits *limits; /* --threshold; NULL = the defaults. rule_limits.h */
	const struct request *base; /* --against: the same of an older run; NULL = none */
	const struct compared *compared; /* figures of both sides; NULL = nobody asked. reducer/comparison/verdict.h */
	const struct figure_limits *figure_limits; /* --limit; NULL = none. reducer/comparison/limits.h */
};

/* Makes request->analyses, once the run is scanned and all else is set; the request must stay where it is. */
void request_open_analyses(struct request *request);
void request_close_analyses(struct request *request);
/* Runs at once what all these tables read. */
void request_run_analyses(const struct request *request, const struct table_kind *const *kinds, size_t count);

/* Do --window, --step, --device, --stream, --thread want this? */
bool request_wants_span(const struct request *request, const struct span *span);
/* The same of a time line, which also draws what began before the time that --window names and reaches into it, but of steps only those of
 * --step. */
bool request_draws_span(const struct request *request, const struct span *span);
/* Does --window, --step want this step of that process, an index? */
bool request_wants_step(const struct request *request, size_t process, const struct step *step);

/* Does the request want this process, thread, allocator? */
bool request_wants_process(const struct request *request, const struct process *process);
bool request_wants_thread(const struct request *request, const struct thread *thread);
/* The option that names a process or a thread that the run does not have, or NULL. */
const char *request_names_nobody(const struct request *request);
bool request_wants_allocator(const struct request *request, const char *allocator);

/* How many rows of a table can be shown at most, if it adds them in its usual order; SIZE_MAX when all may matter. */
size_t request_row_limit(const struct request *request, const struct table_kind *kind);

/* The analyses by symbol, and in the order of tables.def. */
#define TABLE(symbol) extern const struct table_kind table_##symbol;
#include "reducer/tables/tables.def"
#undef TABLE
extern const struct table_kind *const table_kinds[];
extern const size_t table_kind_count;

/*
 * The kinds that `words` (ID[,ID...]; an id, the dotted beginning of several, or "all") names, each once, in the order of
 * tables.def. *kinds is freed with free(). Dies with the nearest id when a word names none.
 */
size_t tables_select(const char *words, const struct table_kind ***kinds);

/* Runs an analysis and what every table is asked for: names, --name, --sort, --top, notes on what was not honoured. */
struct table *tables_make(const struct table_kind *kind, const struct request *request);

#endif
