/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time line of any length in bounded memory: what is drawn of it, exact where there is room, merged where there is not.
 *
 * Spans come in one after the other. While all fit, each is kept. When they do not, spans shorter than the grain (a power of
 * two of ns) that lie on one row and begin in one stretch of a grain become one item, which knows how many they are, how long
 * they were busy together, and the longest of them. The grain doubles whenever there are too many items again. Some
 * stretches of time are looked at more closely (struct digest_window): inside them every span is kept, as long as they fill
 * less than half of the room; else their ends are drawn in. Where nothing of this is left, names are cut shorter.
 *
 * Rule: nothing is left out silently: every span is in exactly one item, and the counts of all items add up to `told`.
 */
#ifndef REDUCER_TRACE_DIGEST_H
#define REDUCER_TRACE_DIGEST_H

#include "reducer/base/base.h"
#include "reducer/model/number_map.h"
#include "reducer/model/spans.h"
#include "reducer/trace/digest_names.h"

#define DIGEST_NAME_MOST 4096u /* bytes kept of a name or an argument, */
#define DIGEST_NAME_LEAST 64u  /* and where there are too many rows for that */
#define DIGEST_WINDOWS 6

/* Where spans of one kind follow each other: a thread at one depth, a lane of a stream, a counter. */
struct digest_row {
	uint32_t process, track, lane, depth;
	uint32_t name;	     /* of a counter or a kind of process-wide span: place in names; else 0 */
	uint64_t name_hash;  /* private: of that name before it was cut */
	uint8_t on, kind;    /* enum span_track, enum span_kind (WHOLE also holds instants) */
	size_t block;	     /* private: the item that merged last; SIZE_MAX = none */
	size_t first, count; /* after digest_finish: its items */
};

struct digest_item {
	int64_t start_ns;
	uint64_t duration_ns; /* of several: from the first begin to the last end */
	uint64_t busy_ns;     /* sum of durations */
	uint64_t longest_ns;  /* of several: of the longest one, which name, detail and flow belong to */
	uint64_t flow;           /* of a step: its number + 1 */
	double value; /* of a counter: the highest of several */
	uint32_t row, name, detail;
	uint32_t count; /* 1 = one span as it was */
	uint8_t is_open;
};

/* A stretch of time that is kept as it was. */
struct digest_window {
	int64_t from_ns, to_ns;
	char why[64];
};

struct digest {
	size_t most_items, most_bytes; /* of texts */
	size_t name_most;	       /* bytes kept of a name or an argument */
	size_t kept_items, kept_bytes; /* private: left when room was last made */
	uint64_t grain_ns;	       /* 0 = all spans are kept */
	struct digest_row *rows;
	size_t row_count, row_room;
	struct number_map row_places;
	size_t row_last; /* private: found last */
	struct digest_item *items;
	size_t count, room;
	struct digest_names names, details;	      /* place 0 of each is the empty text */
	struct digest_window windows[DIGEST_WINDOWS]; /* by time, apart from each other */
	size_t window_count;
	uint64_t told;	      /* spans, instants and values that came in */
	uint64_t rows_shared; /* of them: put on a row that stands for several, because there were too many rows */
	int64_t first_ns, last_ns;
	struct text scratch;
	struct digest_recent *recent; /* private: texts of calls and kernels of late */
	struct digest_alike *alikes;  /* private: the same by span.alike */
	struct digest_alike_row *alike_rows; /* private: rows of these and their lane */
};

/* `most_items` at least 64, `most_bytes` of different texts. */
void digest_start(struct digest *digest, size_t most_items, size_t most_bytes);

/* Keeps a stretch of time as it was, if it lies apart from those already there. Before the first span. */
void digest_look_at(struct digest *digest, int64_t from_ns, int64_t to_ns, const char *why);

/* Takes one span in; its arguments but "correlation", which is its flow, become its detail. */
void digest_add(struct digest *digest, const struct span *span);

/* Sorts items by row and start and fills the rows' places. May be followed by more digest_coarsen. */
void digest_finish(struct digest *digest);

/*
 * Gives up detail: narrower windows, then a wider grain, then shorter names. Returns 0 when nothing was left to give up. Sorted as by
 * finish.
 */
int digest_coarsen(struct digest *digest);

void digest_free(struct digest *digest);

#endif
