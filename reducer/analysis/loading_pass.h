/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis of loading keeps during its pass. Private to loading*.c; the rule of loading.h holds. */
#ifndef REDUCER_ANALYSIS_LOADING_PASS_H
#define REDUCER_ANALYSIS_LOADING_PASS_H

#include "reducer/analysis/loading.h"
#include "reducer/analysis/units.h"
#include "reducer/analysis/words.h"

#define PENDING_MOST 16384u /* things on the thread that marks the steps since its last call of a loader; 48 bytes each */

/* Something that may turn out to be part of a loader's call. */
struct pending {
	int64_t start_ns;
	uint32_t word;
	enum span_what what;
	enum input_category category;
	uint32_t depth;
	uint64_t total_ns, self_ns;
};

#define LOADING_KINDS 3 /* SPAN_RANGE, SPAN_OP, SPAN_TRACE */

/* What is known of a name, by its number in words. */
struct loading_name {
	uint32_t ops[INPUT_CATEGORIES]; /* its place in loading->ops + 1; 0 = none */
	uint8_t kinds[LOADING_KINDS];	/* enum input_kind + 1 of what is called so; 0 = not asked yet */
	uint8_t is_read;		/* 0 = the rest is not known yet */
	bool is_collate, is_pinning;
};

struct loading_pass {
	const struct analysis_input *input;
	struct units units; /* steps; none in a process without */
	bool has_steps, has_iterators;
	enum input_loops loops;
	bool is_below; /* a process above has steps */
	uint32_t step_thread, first_thread;
	int64_t from_ns, to_ns; /* what counts */
	struct words words;
	struct loading_name *names;
	size_t name_room;
	struct pending *pending;
	size_t pending_count, pending_room;
	uint64_t dropped; /* of them, for want of room, since that call; dropped_ns: when the last of those began */
	int64_t dropped_ns;
	/* Of a worker: since when it has a batch to make, the last that it did, its first index, the last that is known. */
	int64_t batch_ns, last_ns, index_ns, known_ns;
	uint64_t indexes;
	bool is_started; /* code was read behind what looked like the first index */
	int64_t *starts; /* of processes below, by time; those behind the last call of a loader are to come */
	int64_t *ends;	 /* of them, by time; those before the next call of a loader are passed */
	size_t end_next;
	size_t start_count, start_next;
};

/* Finds the steps, the thread that marks them, and the time that counts. */
void loading_frame(struct loading_pass *pass, const struct analysis_input *input);
uint64_t loading_window(const struct loading_pass *pass);
void loading_pass_free(struct loading_pass *pass);

/* Where the marked range of the step around that time ends; TIME_UNKNOWN = around none, or it says nothing of its end. */
int64_t loading_marked(const struct loading_pass *pass, int64_t time_ns);

/* Whether it got indexes as a worker does: more than one, and it is no helper of Python's own. */
bool loading_gets_indexes(const struct loading_pass *pass);
/* Processor time of the process from its first index to the last that is known of it, in whole samples; 0 = not known. */
uint64_t loading_processor_ns(const struct loading_pass *pass);

#endif
