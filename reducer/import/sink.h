/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of ours, written by an importer: records in any order, facts, threads; sorted by stream and time into a spool.
 *
 * Rule: memory follows the distinct names and the threads, never the number of records. One tick is one nanosecond; times
 * of records are CLOCK_REALTIME while they are put; in the log they are counted from the origin.
 */
#ifndef REDUCER_IMPORT_SINK_H
#define REDUCER_IMPORT_SINK_H

#include "writer/format.h"
#include "writer/records.h"

#include <stddef.h>
#include <stdint.h>

struct sink;

/* may_order: sink_expect_order may be believed, until it proves wrong. */
struct sink *sink_make(int may_order);
void sink_free(struct sink *sink);

/*
 * A promise, before anything is put: records come stream by stream as their threads were made, in each nearly in the order of their
 * times, and the first begins at first_ns. They are then written at once. Where it proves wrong (sink_is_disordered, once all is
 * put) what was put is lost, and the file has to be read again into a sink that believes nothing.
 */
void sink_expect_order(struct sink *sink, uint64_t first_ns);
int sink_is_disordered(const struct sink *sink);

/*
 * Has an event a place in the log? A log holds two years (a word has 56 bits of time): what takes more than half a year has none, nor,
 * once sink_narrow was called, what begins elsewhere.
 */
int sink_has_place(const struct sink *sink, uint64_t begin_ns, uint64_t duration_ns);
/*
 * Did what was put lie further apart than that? Then the file has to be read again into a sink that takes what lies from *from_ns on and
 * before *to_ns: where most of it began.
 */
int sink_is_too_wide(const struct sink *sink, uint64_t *from_ns, uint64_t *to_ns);
void sink_narrow(struct sink *sink, uint64_t from_ns, uint64_t to_ns);

/* The id of a name that records hold (an op_name fact), the same for equal bytes; 0 for none, or when the table is full. */
uint32_t sink_name(struct sink *sink, const char *text, size_t length);
/* Names that found no room. */
uint64_t sink_names_lost(const struct sink *sink);

/* The hash of a text, whose string fact is written. */
uint64_t sink_string(struct sink *sink, const char *text, size_t length);

/* A fact: begin, its fields in order, end. */
void sink_fact(struct sink *sink, unsigned tag);
void sink_number(struct sink *sink, uint64_t number);
void sink_text(struct sink *sink, const char *text, size_t length);
void sink_fact_end(struct sink *sink);
/* A fact of two texts: host, setting, note, environment. */
void sink_pair(struct sink *sink, unsigned tag, const char *name, const char *value);

/* A thread of the process; returns its serial, by which records name their stream. */
uint32_t sink_thread(struct sink *sink, uint32_t tid);
/* What it is called, as far as there is room for; may be told at any time. */
void sink_thread_name(struct sink *sink, uint32_t serial, const char *name, size_t length);

/*
 * Records that stand together in the stream of a thread. `time_ns` is theirs; `begin_ns` and
 * `end_ns` are those of what they tell of. Told at its end: is_end, so that of those with one time the inner one comes first. Half of
 * something, whose other half is put by itself: is_half; of those with one time the one that was put first comes first.
 */
struct sink_time {
	uint64_t time_ns, begin_ns, end_ns;
	int is_end, is_half;
};
void sink_put(struct sink *sink, uint32_t thread, const struct sink_time *when, const void *records, size_t bytes);

/* When the first of what was put began; 0 where nothing was. */
uint64_t sink_first_ns(const struct sink *sink);

/* Adds a record to a few that will be put together. */
#define SINK_GROUP_BYTES 8192u
struct sink_group {
	_Alignas(8) uint8_t bytes[SINK_GROUP_BYTES];
	size_t used;
};
#define SINK_ADD(group, name, ...)                                                                                             \
	do {                                                                                                                     \
		const struct tfp_record_##name sink_record = {.word = TFP_TAG_##name, __VA_ARGS__};                            \
		sink_add(group, &sink_record, sizeof sink_record);                                                         \
	} while (0)
/* Leaves out what finds no room. */
void sink_add(struct sink_group *group, const void *record, size_t bytes);

/* What the header says. */
struct sink_header {
	const char *command;
	uint64_t log_id;
	uint64_t job[2];
	uint64_t origin_ns; /* time 0 of the log: CLOCK_REALTIME */
	uint32_t pid;
};
/* Sorts, writes everything. Returns the descriptor of the log, which the caller closes. Once. */
int sink_finish(struct sink *sink, const struct sink_header *header);

#endif
