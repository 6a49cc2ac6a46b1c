/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates from allocations that a Poisson sampler chose: each stands for 1 / p like it. Private to the model.
 *
 * Rule: an allocation of u usable bytes was chosen with p = 1 - exp(-u / interval) (records.def), so a sum over the
 * chosen of x / p is an unbiased estimate of the sum over all of x, and the sum of x^2 (1 - p) / p^2 an unbiased estimate
 * of its variance (Horvitz and Thompson, 1952; choices are independent).
 */
#ifndef REDUCER_MODEL_SAMPLES_H
#define REDUCER_MODEL_SAMPLES_H

#include "reducer/model/live.h"
#include "reducer/model/tally.h"

struct sample {
	uint64_t address, time, requested, usable, interval;
	uint32_t stack;
};

/* Variances of a site's estimates; peak saved as in tally.h. */
struct sample_variance {
	double allocations, bytes, live, peak;
	uint64_t peak_mark;
};

#define SAMPLES_INTERVALS 16 /* distinct intervals of one process; the setting never changes while it runs */

struct samples {
	struct live_table live;
	struct tally tally;
	struct sample_variance *variances; /* by index of the tally's site */
	size_t variance_capacity;
	double intervals[SAMPLES_INTERVALS];
	unsigned interval_count;
	uint64_t count;
	struct live_block released; /* the last one, for samples_undo; address 0 = none */
};

/* Chosen allocations and their releases, in the order of the log; of blocks that were not chosen samples_release does nothing. */
void samples_begin(struct samples *samples);
void samples_free(struct samples *samples);
void samples_alloc(struct samples *samples, const struct sample *sample);
void samples_release(struct samples *samples, uint64_t address, uint64_t time);
/* The last release was none: the realloc behind it failed. Of another address: nothing. */
void samples_undo(struct samples *samples, uint64_t address, uint64_t time);

/* Hands sites and errors to the account. Returns -1 without memory. */
int samples_finish(struct samples *samples, struct account *account);

/* For an account whose counters are final: its sites, together, are not more than was counted of the whole heap. */
void samples_limit(struct account *account);

#endif
