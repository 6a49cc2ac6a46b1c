/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format writes of a span but for its times and numbers, kept: calls and kernels come again and again, and of each only
 * the numbers are new.
 *
 * Rule: a pattern is found by all that its bytes were made from; numbers of arguments, times and the flow are no part of it. Only
 * calls and device work are kept, whose texts live until the pass over their process is over. Memory is PATTERNS_KEPT patterns.
 */
#ifndef REDUCER_TRACE_PATTERNS_H
#define REDUCER_TRACE_PATTERNS_H

#include "reducer/base/base.h"
#include "reducer/model/spans.h"

#define PATTERNS_KEPT 512u  /* a power of two */
#define PATTERN_ARGUMENTS 5 /* as many as calls and kernels have; what has more is not kept */
#define PATTERN_PIECES (SPAN_ARGUMENTS + 5) /* between and behind those numbers: times, an arrow */

struct pattern {
	struct text bytes; /* of all pieces; numbers stand behind the pieces when they are written */
	struct pattern_piece {
		size_t end;	   /* in `bytes` */
		uint32_t argument; /* whose number comes behind it, PATTERN_NONE = no argument's */
		uint32_t back;	   /* the format's own */
	} pieces[PATTERN_PIECES];
	size_t count;
	/* What it was made from. */
	const char *name;
	struct {
		const char *name, *text;
	} arguments[PATTERN_ARGUMENTS];
	size_t argument_count, process;
	enum span_what what;
	uint32_t track, lane;
	bool has_flow;
	uint64_t alike; /* not 0: all but the lane and whether there is a flow follows from it, and only the first argument is open */
};
#define PATTERN_NONE UINT32_MAX

struct patterns {
	struct pattern kept[PATTERNS_KEPT];
	struct pattern alikes[PATTERNS_KEPT];
	uint64_t seen[PATTERNS_KEPT]; /* numbers that came once: what comes but once is not worth a pattern of its own */
	struct pattern other; /* of what is not kept */
};

struct patterns *patterns_make(void);
void patterns_free(struct patterns *patterns);

/* The pattern of a span; *is_known 0: it is empty, and the caller makes it before he calls again. */
struct pattern *patterns_of(struct patterns *patterns, const struct span *span, bool *is_known);

/* Whether an argument of a span is a number that its pattern leaves open. */
static inline bool pattern_leaves(const struct pattern *pattern, const struct span *span, size_t argument)
{
	return !span->arguments[argument].text && (!pattern->alike || argument == 0);
}

/* Ends a piece. Behind it stands the number of an argument, or PATTERN_NONE. */
void pattern_end(struct pattern *pattern, uint32_t argument, size_t back);

#endif
