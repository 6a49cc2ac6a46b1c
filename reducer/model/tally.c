/* SPDX-License-Identifier: Apache-2.0 */
/* Totals by call stack while events stream by. See tally.h. */
#include "reducer/model/tally.h"

#include <stdlib.h>
#include <string.h>

void tally_begin(struct tally *tally, int has_own_curve)
{
	*tally = (struct tally){.has_own_curve = has_own_curve, .peak_number = 1};
}

void tally_free(struct tally *tally)
{
	free(tally->sites);
	free(tally->site_of);
	curve_free(&tally->curve);
}

static int widen_index(struct tally *tally, uint32_t stack)
{
	size_t capacity = tally->stack_capacity == 0 ? 1024 : tally->stack_capacity;
	uint32_t *site_of;

	while (capacity <= stack)
		capacity *= 2;
	if (capacity == tally->stack_capacity)
		return 0;
	site_of = realloc(tally->site_of, capacity * sizeof *site_of);
	if (site_of == NULL)
		return -1;
	memset(site_of + tally->stack_capacity, 0, (capacity - tally->stack_capacity) * sizeof *site_of);
	tally->site_of = site_of;
	tally->stack_capacity = capacity;
	return 0;
}

static int widen_sites(struct tally *tally)
{
	size_t capacity = tally->site_capacity == 0 ? 64 : tally->site_capacity + tally->site_capacity / 2;
	struct heap_site *sites;

	if (tally->site_count < tally->site_capacity)
		return 0;
	sites = realloc(tally->sites, capacity * sizeof *sites);
	if (sites == NULL)
		return -1;
	tally->sites = sites;
	tally->site_capacity = capacity;
	return 0;
}

struct heap_site *tally_make_site(struct tally *tally, uint32_t stack)
{
	/* Where everything fails: a place to count that nobody reads. */
	static struct heap_site nowhere;

	if (stack >= TALLY_STACKS_MAX)
		stack = 0;
	if (widen_index(tally, stack) != 0 || widen_sites(tally) != 0) {
		tally->is_out_of_memory = 1;
		return &nowhere;
	}
	if (tally->site_of[stack] == 0) {
		tally->sites[tally->site_count] = (struct heap_site){.stack = stack};
		tally->site_of[stack] = (uint32_t)++tally->site_count;
	}
	return &tally->sites[tally->site_of[stack] - 1];
}

/* What a site held before blocks were forgotten was live at a peak from before, and is not now. */
void tally_save(const struct tally *tally, struct heap_site *site)
{
	if (site->peak_mark < tally->peak_at) {
		int is_known = site->peak_mark >= tally->forgotten_before_peak;
		site->peak_bytes = is_known ? site->live_bytes : 0;
		site->peak_blocks = is_known ? site->live_blocks : 0;
	}
	if (site->peak_mark < tally->forgotten_at)
		site->live_bytes = site->live_blocks = 0;
	site->peak_mark = tally->peak_number;
}

void tally_forget(struct tally *tally, uint64_t time)
{
	tally->live = tally->live_blocks = tally->live_requested = 0;
	tally->forgotten_at = ++tally->peak_number;
	tally->forgotten_time = time;
}

void tally_take_forgotten(struct tally *tally, uint64_t time, const struct amount *amount, int is_replaced)
{
	tally->freed_bytes += amount->bytes;
	if (is_replaced || tally_sum(tally) < amount->bytes) /* larger than all that is live: another block had its place */
		return;
	tally->base -= (int64_t)amount->bytes;
	tally_curve(tally, time);
}

void tally_put_back(struct tally *tally, uint32_t stack, uint64_t time, const struct amount *amount)
{
	struct heap_site *site = tally_site(tally, stack);

	tally_touch(tally, site);
	site->live_blocks += amount->blocks;
	site->live_bytes += amount->bytes;
	tally->freed_bytes -= amount->bytes;
	tally->live += amount->bytes;
	tally->live_blocks += amount->blocks;
	tally->live_requested += amount->requested;
	tally_curve(tally, time);
}

static int by_stack(const void *a, const void *b)
{
	const struct heap_site *left = a, *right = b;

	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

void tally_finish(struct tally *tally, struct account *account)
{
	for (size_t i = 0; i < tally->site_count; i++) {
		tally_touch(tally, &tally->sites[i]);
		tally->sites[i].peak_mark = i; /* where it stood: parallel arrays are sorted by it */
	}
	if (tally->site_count > 0)
		qsort(tally->sites, tally->site_count, sizeof *tally->sites, by_stack);
	account->sites = tally->sites;
	account->site_count = tally->site_count;
	tally->sites = NULL;
	tally->site_count = 0;
}
