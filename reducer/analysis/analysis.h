/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyses: what is worked out from everything that happened (reducer/model/spans.h), between the model and the tables.
 *
 * Rule: all analyses that the chosen tables name run in one second pass over each process; each keeps a result a process,
 * a value that merges: associative, commutative, an empty one changes nothing. Memory follows what is live and what is
 * distinct, never the number of spans. An analysis knows no table and no option of the command line but its options here.
 *
 * To add one: a file with `const struct analysis_kind analysis_<name>`, a row in analysis.def, its result in a header; a
 * table names it in table_kind.analyses (so that it shares the pass) and reads it with analyses_process or analyses_whole. The
 * unit test analysis_merge_test tries the merge of every row on random spans.
 */
#ifndef REDUCER_ANALYSIS_ANALYSIS_H
#define REDUCER_ANALYSIS_ANALYSIS_H

#include "reducer/base/base.h"
#include "reducer/model/run.h"
#include "reducer/model/spans.h"

/* How one instant's time is given to one thing where several happen: see steps.h. */
enum analysis_split { SPLIT_OURS, SPLIT_TF, SPLIT_TORCH };
enum analysis_step_time { STEP_TIME_PERIOD, STEP_TIME_SPAN };

/* What the user chose and analyses heed. Zeroed: the defaults. */
struct analysis_options {
	enum analysis_split split;
	enum analysis_step_time step_time;
	const struct phases *phases; /* names of phases that the user gave; NULL = none. phases.h */
	/* Say whether a span is to be seen: by when it was (--window, --step), by what did it (--device, --stream, --thread). */
	bool (*wants_time)(const void *context, const struct span *span);  /* NULL = all are */
	bool (*wants_place)(const void *context, const struct span *span); /* NULL = all are */
	const void *context;
};

struct analysis_input {
	struct run *run;
	const struct process *process; /* its steps, threads, gpu, ops, windows are known */
	size_t index;		       /* in run->processes */
	const struct analysis_options *options;
};

struct analysis_kind {
	const char *name;
	unsigned wants;	      /* SPAN_BITs of what it is shown */
	bool is_of_all_times; /* options->wants_time is not asked: it minds the time itself */
	bool is_of_all_places; /* options->wants_place is not asked: what one thread gets another gives back */
	bool is_of_parts;      /* the first pass has the same of all: needed only where a part of the time or places is asked for */
	/*
	 * An empty result. `input` outlives it; NULL = of no process, only to merge into: no span follows. Memory by base_alloc;
	 * never NULL.
	 */
	void *(*begin)(const struct analysis_input *input);
	/* One after the other, in the order of ends; what a device did comes late. How long texts live: spans.h. */
	void (*span)(void *result, const struct span *span);
	/*
	 * Calls and kernels, wanted or not, each of which is like one that `span` got: the same as if `span` got them one by one. Only
	 * where nobody asked for a part of the time or of the places. NULL = `span` gets the wanted ones.
	 */
	void (*again)(void *result, const struct span_again *spans, size_t count);
	/* Behind the last span of the process: what was needed only during the pass is let go. NULL = nothing is. */
	void (*end)(void *result);
	/* Adds what `from` says to `into`, both ended, and leaves `from` as it is. */
	void (*merge)(void *into, const void *from);
	/* The result in words, the same for equal results: what the property test compares. */
	void (*print)(const void *result, struct text *text);
	void (*free)(void *result);
};

#define ANALYSIS(symbol) extern const struct analysis_kind analysis_##symbol;
#include "reducer/analysis/analysis.def"
#undef ANALYSIS
extern const struct analysis_kind *const analysis_kinds[];
extern const size_t analysis_kind_count;

/*
 * The results of analyses for the processes of a run for which `wants_process` is true (NULL = all). Nothing is read yet.
 * `options` and `context` must outlive it. After run_scan.
 */
struct analyses;
struct analyses *analyses_open(struct run *run, const struct analysis_options *options,
			       bool (*wants_process)(const void *context, const struct process *process), const void *context);
void analyses_free(struct analyses *all);

/* Runs those of `kinds` that were not run yet, in one pass over each process. Dies without memory. */
void analyses_add(struct analyses *all, const struct analysis_kind *const *kinds, size_t count);

/* The result for one process; NULL = that process was not wanted, or `all` is NULL. Runs the analysis where nobody has added it.
 */
const void *analyses_process(struct analyses *all, const struct analysis_kind *kind, size_t process);
/* The merge over all wanted processes; made once, when first asked for. NULL = there are none. */
const void *analyses_whole(struct analyses *all, const struct analysis_kind *kind);

#endif
