/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates from samples. See samples.h. */
#include "reducer/model/samples.h"

#include "reducer/model/round.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void samples_begin(struct samples *samples)
{
	*samples = (struct samples){0};
	tally_begin(&samples->tally, 0);
}

void samples_free(struct samples *samples)
{
	live_free(&samples->live);
	tally_free(&samples->tally);
	free(samples->variances);
}

/* Which of the known intervals; the last one stands in for those that do not fit. */
static uint32_t interval_number(struct samples *samples, double interval)
{
	for (unsigned i = 0; i < samples->interval_count; i++)
		if (samples->intervals[i] == interval)
			return i;
	if (samples->interval_count < SAMPLES_INTERVALS)
		samples->intervals[samples->interval_count++] = interval;
	return samples->interval_count - 1;
}

/* The chance of being chosen; 1 where nothing sensible is known. */
static double chance(double usable, double interval)
{
	double p = interval <= 0 ? 1 : -expm1(-usable / interval);

	return p > 1e-9 ? p : 1e-9;
}

static struct amount estimate(const struct live_block *block, double requested, double p)
{
	return (struct amount){.blocks = round_u64(TALLY_FRACTION / p),
			       .bytes = round_u64((double)block->usable / p),
			       .requested = round_u64(requested / p)};
}

/* The variances of a site, saved for the peak if this is its first change since. NULL without memory. */
static struct sample_variance *variance_of(struct samples *samples, uint32_t stack)
{
	size_t index = (size_t)(tally_site(&samples->tally, stack) - samples->tally.sites);
	struct sample_variance *variance;

	if (index >= samples->tally.site_count)
		return NULL;
	if (index >= samples->variance_capacity) {
		size_t capacity = samples->tally.site_capacity;

		variance = realloc(samples->variances, capacity * sizeof *variance);
		if (variance == NULL)
			return NULL;
		memset(variance + samples->variance_capacity, 0, (capacity - samples->variance_capacity) * sizeof *variance);
		samples->variances = variance;
		samples->variance_capacity = capacity;
	}
	variance = &samples->variances[index];
	if (variance->peak_mark != samples->tally.peak_number) {
		variance->peak_mark = samples->tally.peak_number;
		variance->peak = variance->live;
	}
	return variance;
}

void samples_alloc(struct samples *samples, const struct sample *sample)
{
	struct live_block block = {.address = sample->address, .time = sample->time, .usable = sample->usable,
				   .stack = sample->stack};
	double p = chance((double)sample->usable, (double)sample->interval), u = (double)sample->usable;
	struct amount amount = estimate(&block, (double)sample->requested, p);
	struct sample_variance *variance = variance_of(samples, sample->stack);

	if (live_find(&samples->live, sample->address) != NULL)
		samples_release(samples, sample->address, sample->time); /* its release is not in the log */
	samples->count++;
	block.slack = interval_number(samples, (double)sample->interval);
	if (variance != NULL) {
		variance = variance_of(samples, sample->stack);
		variance->allocations += (1 - p) / (p * p);
		variance->bytes += u * u * (1 - p) / (p * p);
		variance->live += u * u * (1 - p) / (p * p);
	}
	tally_add(&samples->tally, sample->stack, sample->time, &amount);
	if (block.address != 0 && live_put(&samples->live, &block) != 0)
		samples->tally.is_out_of_memory = 1;
}

void samples_release(struct samples *samples, uint64_t address, uint64_t time)
{
	struct live_entry *entry = live_find(&samples->live, address);
	struct sample_variance *variance;
	struct live_block block;
	struct amount amount;
	double p, u;

	if (entry == NULL)
		return;
	block = live_get(&samples->live, entry);
	u = (double)block.usable;
	p = chance(u, samples->intervals[block.slack]);
	amount = estimate(&block, 0, p);
	variance = variance_of(samples, block.stack);
	if (variance != NULL)
		variance->live -= u * u * (1 - p) / (p * p);
	tally_take(&samples->tally, block.stack, time, &amount);
	samples->released = block;
	live_remove(&samples->live, entry);
}

void samples_undo(struct samples *samples, uint64_t address, uint64_t time)
{
	struct live_block *block = &samples->released;
	struct sample_variance *variance;
	struct amount amount;
	double p, u = (double)block->usable;

	if (address == 0 || block->address != address || live_find(&samples->live, address) != NULL)
		return;
	p = chance(u, samples->intervals[block->slack]);
	amount = estimate(block, 0, p);
	variance = variance_of(samples, block->stack);
	if (variance != NULL)
		variance->live += u * u * (1 - p) / (p * p);
	tally_put_back(&samples->tally, block->stack, time, &amount);
	if (live_put(&samples->live, block) != 0)
		samples->tally.is_out_of_memory = 1;
	block->address = 0;
}

static double root(double variance)
{
	return variance > 0 ? sqrt(variance) : 0;
}

int samples_finish(struct samples *samples, struct account *account)
{
	uint64_t number = samples->tally.peak_number;

	tally_finish(&samples->tally, account);
	account->samples = samples->count;
	account->sample_interval = samples->interval_count == 0 ? 0 : samples->intervals[samples->interval_count - 1];
	account->errors = calloc(account->site_count + 1, sizeof *account->errors);
	if (account->errors == NULL)
		return -1;
	for (size_t i = 0; i < account->site_count; i++) {
		struct heap_site *site = &account->sites[i];
		const struct sample_variance *variance = &samples->variances[site->peak_mark];

		if (site->peak_mark < samples->variance_capacity)
			account->errors[i] = (struct heap_error){
				.allocations = root(variance->allocations), .bytes = root(variance->bytes),
				.live_bytes = root(variance->live),
				.peak_bytes = root(variance->peak_mark == number ? variance->peak : variance->live)};
		site->allocations = (site->allocations + TALLY_FRACTION / 2) / TALLY_FRACTION;
		site->live_blocks = (site->live_blocks + TALLY_FRACTION / 2) / TALLY_FRACTION;
		site->peak_blocks = (site->peak_blocks + TALLY_FRACTION / 2) / TALLY_FRACTION;
	}
	return 0;
}

#define PASSES 8 /* each ends it, or leaves a site with nothing; what is left then is little */

/* A figure of sites: where it stands, its error, and what goes with it in proportion (0 = nothing). */
struct figure {
	size_t estimate, error, beside;
	uint64_t counted; /* of the whole heap */
};

static uint64_t *number_at(struct heap_site *site, size_t place)
{
	return (uint64_t *)(void *)((char *)site + place);
}

static double *error_at(struct heap_error *error, size_t place)
{
	return (double *)(void *)((char *)error + place);
}

static void lower_by(struct heap_site *site, const struct figure *figure, double less)
{
	uint64_t *estimate = number_at(site, figure->estimate), was = *estimate;

	*estimate = less < (double)was ? was - (uint64_t)ceil(less) : 0;
	if (figure->beside)
		*number_at(site, figure->beside) = (uint64_t)((double)*number_at(site, figure->beside) * ((double)*estimate / (double)was));
}

/* What is too much is nobody's: each site gives it up by its share of the variance, so that what is certain stays as it is. */
static void lower(struct account *account, const struct figure *figure)
{
	for (unsigned pass = 0; pass < PASSES; pass++) {
		double sum = 0, variance = 0, less;

		for (size_t i = 0; i < account->site_count; i++) {
			double error = *error_at(&account->errors[i], figure->error);

			if (*number_at(&account->sites[i], figure->estimate) == 0)
				continue;
			sum += (double)*number_at(&account->sites[i], figure->estimate);
			variance += error * error;
		}
		less = sum - (double)figure->counted;
		if (less <= 0 || variance <= 0)
			return;
		for (size_t i = 0; i < account->site_count; i++) {
			double *error = error_at(&account->errors[i], figure->error);

			if (*number_at(&account->sites[i], figure->estimate) == 0)
				continue;
			lower_by(&account->sites[i], figure, less * (*error * *error / variance));
			*error = *error < (double)figure->counted ? *error : (double)figure->counted;
		}
	}
}

#define FIGURE(estimate, error, beside, counted) \
	&(const struct figure){offsetof(struct heap_site, estimate), offsetof(struct heap_error, error), beside, counted}

void samples_limit(struct account *account)
{
	lower(account, FIGURE(allocations, allocations, 0, account->allocations));
	lower(account, FIGURE(bytes, bytes, offsetof(struct heap_site, requested_bytes), account->allocated_bytes));
	/* Where more was released than had been counted before, who else allocates is not known. */
	if (account->is_live_unknown || account->allocated_bytes + account->inherited_bytes < account->freed_bytes)
		return;
	lower(account, FIGURE(live_bytes, live_bytes, offsetof(struct heap_site, live_blocks), account->live_bytes));
	lower(account, FIGURE(peak_bytes, peak_bytes, offsetof(struct heap_site, peak_blocks), account->peak_bytes));
}
