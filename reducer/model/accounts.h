/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of a process while its events stream by, and what becomes of them at the end. Private to the model. */
#ifndef REDUCER_MODEL_ACCOUNTS_H
#define REDUCER_MODEL_ACCOUNTS_H

#include "reducer/model/internal.h"
#include "reducer/model/maps.h"
#include "reducer/model/pairs.h"
#include "reducer/model/samples.h"

struct accounts {
	struct pairs pairs;     /* every heap event; its curve also takes the points of the other modes */
	struct samples samples;
	struct maps maps;
	int has_events;         /* heap events were seen */
	int has_edge;           /* recording began later than the process, or stopped, or both */
	uint64_t point_peak, point_peak_time; /* highest `peak` of the points */
};

/* Empty, for the scan of a process; `temporary`: --temporary. -1 = no memory. accounts_free after it in either case. */
int accounts_begin(struct accounts *accounts, const struct process *process, unsigned temporary);
void accounts_free(struct accounts *accounts);

/* A point of the timeline. */
void accounts_point(struct accounts *accounts, uint64_t time, uint64_t live, uint64_t peak);

/* A window's edge; its time is still ticks. */
void accounts_window(struct accounts *accounts, const struct window *window);

/* Fills process->heap and process->mmap, whose totals are there already. Times are ticks. Returns -1 without memory. */
int accounts_finish(struct accounts *accounts, struct process *process);

/* The curve as points whose times are still ticks. Returns -1 without memory. */
int accounts_take_curve(struct curve *curve, struct timeline *timeline);

/* Ends the pairs and fills an account of kind EVENTS with what they add up to: totals, peak, curve, sites, histogram. Times
 * are ticks. The pairs are still to be freed. Returns -1 without memory. */
int accounts_take_pairs(struct pairs *pairs, struct account *account);

/* A new account of the process, besides heap and mmap; `allocator` lives as long as the run. NULL without memory. The others'
 * places move. */
struct account *process_add_account(struct process *process, const char *allocator);

#endif
