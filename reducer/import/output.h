/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of ours, written by an importer: records in any order, facts, threads; sorted by stream and time into a spool.
 *
 * Rule: memory follows the distinct names and the threads, never the number of records. One tick is one nanosecond; times
 * of records are CLOCK_REALTIME while they are put; in the log they are counted from the origin.
 */
#ifndef REDUCER_IMPORT_OUTPUT_H
#define REDUCER_IMPORT_OUTPUT_H

#include "writer/format.h"
#include "writer/records.h"

#include <stddef.h>
#include <stdint.h>

struct output;

struct output *output_make(void);
void output_free(struct output *output);

/* The id of a name that records hold (an op_name fact), the same for equal bytes; 0 for none, or when the table is full. */
uint32_t output_name(struct output *output, const char *text, size_t length);
/* Names that found no room. */
uint64_t output_names_lost(const struct output *output);

/* The hash of a text, whose string fact is written. */
uint64_t output_string(struct output *output, const char *text, size_t length);

/* A fact: begin, its fields in order, end. */
void output_fact(struct output *output, unsigned tag);
void output_number(struct output *output, uint64_t number);
void output_text(struct output *output, const char *text, size_t length);
void output_fact_end(struct output *output);
/* A fact of two texts: host, setting, note, environment. */
void output_pair(struct output *output, unsigned tag, const char *name, const char *value);

/* A thread of the process; returns its serial, by which records name their stream. */
uint32_t output_thread(struct output *output, uint32_t tid, const char *name);

/*
 * Records that stand together in the stream of a thread. `time_ns` is theirs; `begin_ns` and
 * `end_ns` are those of what they tell of. Told at its end: is_end, so that of those with one time the inner one comes first.
 */
struct output_time {
	uint64_t time_ns, begin_ns, end_ns;
	int is_end;
};
void output_put(struct output *output, uint32_t thread, const struct output_time *when, const void *records, size_t bytes);

/* When the first of what was put began; 0 where nothing was. */
uint64_t output_first_ns(const struct output *output);

/* Adds a record to a few that will be put together. */
#define OUTPUT_GROUP_BYTES 8192u
struct output_group {
	_Alignas(8) uint8_t bytes[OUTPUT_GROUP_BYTES];
	size_t used;
};
#define OUTPUT_ADD(group, name, ...)                                                                                             \
	do {                                                                                                                     \
		const struct tfp_record_##name output_record = {.word = TFP_TAG_##name, __VA_ARGS__};                            \
		output_add(group, &output_record, sizeof output_record);                                                         \
	} while (0)
/* Leaves out what finds no room. */
void output_add(struct output_group *group, const void *record, size_t bytes);

/* What the header says. */
struct output_header {
	const char *command;
	uint64_t log_id;
	uint64_t job[2];
	uint64_t origin_ns; /* time 0 of the log: CLOCK_REALTIME */
	uint32_t pid;
};
/* Sorts, writes everything. Returns the descriptor of the log, which the caller closes. Once. */
int output_finish(struct output *output, const struct output_header *header);

#endif
