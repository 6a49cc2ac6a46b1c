/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/model: pairing, peaks, sites, maps, samples, clocks, runs.
 *
 * Rule: each expectation stands in the test; every log is made here.
 */
#include "reducer/model/clock.h"
#include "reducer/model/pairs.h"
#include "reducer/model/run.h"
#include "reducer/model/samples.h"
#include "test/logmaker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "model_test.%d", (int)getpid());
	return mkdir(folder, 0700);
}

static void file_path(char path[128], unsigned number)
{
	snprintf(path, 128, "%s/%u.tfp", folder, number);
}

static int drop_folder(void **state)
{
	char path[128];

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		file_path(path, i);
		unlink(path);
	}
	return rmdir(folder);
}

static void write_log(struct maker *maker, unsigned number)
{
	char path[128];

	maker_finish(maker);
	file_path(path, number);
	assert_int_equal(maker_write(maker, path, maker->size), 0);
}

static struct run *open_number(unsigned number, struct diag_list *diags)
{
	char path[128];
	const char *paths[1] = {path};
	struct run *run;

	*diags = (struct diag_list){0};
	file_path(path, number);
	run = run_open(paths, 1, NULL, diags);
	assert_non_null(run);
	assert_int_equal(run_scan(run, NULL), 0);
	return run;
}

static struct pairs *pairs_with(size_t streams)
{
	struct pairs *pairs = calloc(1, sizeof *pairs);

	assert_int_equal(pairs_begin(pairs, streams, 1.0, 0), 0);
	return pairs;
}

static void drop_pairs(struct pairs *pairs)
{
	pairs_free(pairs);
	free(pairs);
}

static void alloc(struct pairs *pairs, size_t stream, uint64_t time, uint64_t address, uint64_t bytes, uint32_t stack)
{
	const struct live_block block = {.address = address, .time = time, .usable = bytes, .stack = stack};

	pairs_alloc(pairs, stream, &block);
}

static void test_peak_and_what_was_live_at_it(void **state)
{
	struct pairs *pairs = pairs_with(1);
	struct account account = {0};

	(void)state;
	alloc(pairs, 0, 10, 0x10, 100, 1);
	alloc(pairs, 0, 20, 0x20, 50, 2); /* 150: the peak */
	pairs_release(pairs, 0, 0x10, 30);
	alloc(pairs, 0, 40, 0x30, 100, 3); /* 150 again: not higher */
	pairs_release(pairs, 0, 0x20, 50);
	pairs_end(pairs);
	assert_int_equal(pairs->tally.peak, 150);
	assert_int_equal(pairs->tally.peak_time, 20);
	assert_int_equal(pairs->tally.live, 100);
	tally_finish(&pairs->tally, &account);
	assert_int_equal(account.site_count, 3);
	assert_int_equal(account.sites[0].peak_bytes, 100);
	assert_int_equal(account.sites[0].live_bytes, 0);
	assert_int_equal(account.sites[1].peak_bytes, 50);
	assert_int_equal(account.sites[2].peak_bytes, 0);
	assert_int_equal(account.sites[2].live_bytes, 100);
	assert_int_equal(pairs->histogram->blocks[7][0], 1); /* 100 bytes, lived below 1 us */
	assert_int_equal(pairs->histogram->blocks[6][0], 1);
	assert_int_equal(pairs->histogram->blocks[7][HEAP_LIFE_CLASSES - 1], 1);
	free(account.sites);
	drop_pairs(pairs);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 16;
}

/* A slow way to the same numbers: every site copied at every new peak. */
static void test_peak_sites_equal_the_slow_way(void **state)
{
	enum { SITES = 7, PLACES = 40, EVENTS = 20000 };
	struct pairs *pairs = pairs_with(1);
	struct account account = {0};
	uint64_t live[SITES] = {0}, at_peak[SITES] = {0}, size[PLACES] = {0}, sum = 0, peak = 0, random = 5;

	(void)state;
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t place = next_random(&random) % PLACES, site = place % SITES;

		if (size[place] != 0) {
			pairs_release(pairs, 0, 0x1000 + place * 16, i);
			live[site] -= size[place];
			sum -= size[place];
			size[place] = 0;
			continue;
		}
		size[place] = 1 + next_random(&random) % 1000;
		alloc(pairs, 0, i, 0x1000 + place * 16, size[place], (uint32_t)site + 1);
		live[site] += size[place];
		sum += size[place];
		if (sum > peak) {
			peak = sum;
			memcpy(at_peak, live, sizeof live);
		}
	}
	assert_int_equal(pairs->tally.peak, peak);
	tally_finish(&pairs->tally, &account);
	for (size_t i = 0; i < SITES; i++) {
		assert_int_equal(account.sites[i].peak_bytes, at_peak[i]);
		assert_int_equal(account.sites[i].live_bytes, live[i]);
	}
	free(account.sites);
	drop_pairs(pairs);
}

static void test_releases_that_come_early_or_late_are_settled(void **state)
{
	struct pairs *pairs = pairs_with(2);

	(void)state;
	alloc(pairs, 0, 1000, 0x10, 8, 1);
	alloc(pairs, 1, 5000, 0x10, 16, 2);   /* the release by thread 0 stands behind it */
	pairs_release(pairs, 0, 0x10, 5001);
	assert_int_equal(pairs->tally.live, 16);
	assert_int_equal(pairs->replaced, 0);
	assert_int_equal(pairs->reordered, 1);
	pairs_release(pairs, 0, 0x20, 9000);  /* released by thread 0 before thread 1's stamp of making it */
	alloc(pairs, 1, 9001, 0x20, 32, 1);
	assert_int_equal(pairs->tally.live, 16);
	assert_int_equal(pairs->unknown_frees, 0);
	assert_int_equal(pairs->tally.frees, 2);
	pairs_release(pairs, 1, 0x30, 20000); /* from before the window; the same thread then gets the address */
	alloc(pairs, 1, 20001, 0x30, 64, 1);
	assert_int_equal(pairs->unknown_frees, 1);
	assert_int_equal(pairs->tally.live, 80);
	alloc(pairs, 1, 900000, 0x30, 1, 1);  /* its release was lost */
	pairs_release(pairs, 0, 0x30, 990000);
	assert_int_equal(pairs->replaced, 1);
	assert_int_equal(pairs->tally.live, 16);
	drop_pairs(pairs);
}

static void test_an_undone_release_never_was(void **state)
{
	struct pairs *pairs = pairs_with(1);

	(void)state;
	alloc(pairs, 0, 1, 0x10, 100, 1);
	pairs_release(pairs, 0, 0x10, 2);
	pairs_undo(pairs, 0, 0x10, 3);
	assert_int_equal(pairs->tally.live, 100);
	assert_int_equal(pairs->tally.frees, 0);
	assert_int_equal(tally_site(&pairs->tally, 1)->temporary, 0);
	pairs_release(pairs, 0, 0x99, 4);
	pairs_undo(pairs, 0, 0x99, 5);
	assert_int_equal(pairs->unknown_frees, 0);
	pairs_undo(pairs, 0, 0x99, 6); /* nothing left to undo */
	pairs_release(pairs, 0, 0x10, 7);
	assert_int_equal(pairs->tally.live, 0);
	assert_int_equal(pairs->tally.freed_bytes, 100);
	drop_pairs(pairs);
}

static void test_temporary_means_nothing_allocated_between(void **state)
{
	struct pairs *pairs = pairs_with(2);

	(void)state;
	alloc(pairs, 0, 1, 0x10, 1, 1);
	pairs_release(pairs, 0, 0x10, 2);
	alloc(pairs, 0, 3, 0x20, 1, 1);
	alloc(pairs, 0, 4, 0x30, 1, 1);
	pairs_release(pairs, 0, 0x20, 5);
	alloc(pairs, 0, 6, 0x40, 1, 1);
	pairs_release(pairs, 1, 0x40, 7); /* by another thread */
	assert_int_equal(tally_site(&pairs->tally, 1)->temporary, 1);
	drop_pairs(pairs);
}

static void test_the_table_keeps_odd_sizes(void **state)
{
	enum { BLOCKS = 3000 };
	struct live_table table = {0};

	(void)state;
	for (uint64_t i = 1; i <= BLOCKS; i++)
		assert_int_equal(live_put(&table, &(struct live_block){.address = i * 8, .time = i * 64, .usable = i << (i % 44),
								       .stack = (uint32_t)i, .slack = (uint32_t)i * 50}), 0);
	for (uint64_t i = 1; i <= BLOCKS; i += 3)
		live_remove(&table, live_find(&table, i * 8));
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		struct live_entry *entry = live_find(&table, i * 8);
		struct live_block block;

		assert_int_equal(entry == NULL, i % 3 == 1);
		if (entry == NULL)
			continue;
		block = live_get(&table, entry);
		assert_int_equal(block.usable, i << (i % 44));
		assert_int_equal(block.slack, i * 50);
		assert_int_equal(block.stack, i);
		assert_int_equal(block.time, i * 64);
	}
	live_free(&table);
}

/* The estimate's mean is the truth, and its spread is what the error says: 400 runs of 2000 blocks of 100 bytes. */
static void test_samples_are_unbiased(void **state)
{
	enum { RUNS = 400, BLOCKS = 2000, BYTES = 100, INTERVAL = 4096 };
	double mean = 0, square = 0, error = 0, p = -expm1(-(double)BYTES / INTERVAL);
	uint64_t random = 99;

	(void)state;
	for (int i = 0; i < RUNS; i++) {
		struct samples samples;
		struct account account = {0};

		samples_begin(&samples);
		for (uint64_t k = 1; k <= BLOCKS; k++) {
			const struct sample sample = {.address = k * 16, .requested = BYTES, .usable = BYTES, .interval = INTERVAL,
						      .stack = 1, .time = k};

			if ((double)(next_random(&random) & 0xffffffff) * 0x1p-32 < p)
				samples_alloc(&samples, &sample);
		}
		assert_int_equal(samples_finish(&samples, &account), 0);
		assert_int_equal(account.site_count, 1);
		assert_int_equal(account.sites[0].bytes, account.sites[0].live_bytes);
		mean += (double)account.sites[0].bytes / RUNS;
		square += (double)account.sites[0].bytes * (double)account.sites[0].bytes / RUNS;
		error += account.errors[0].bytes / RUNS;
		free(account.sites);
		free(account.errors);
		samples_free(&samples);
	}
	/* 200000 bytes; one run's deviation is 28600, the mean's 1430: four of those. */
	assert_true(fabs(mean - BLOCKS * BYTES) < 4 * 1430);
	assert_true(fabs(sqrt(square - mean * mean) / error - 1) < 0.15);
}

static void test_a_released_sample_is_gone(void **state)
{
	struct samples samples;
	struct account account = {0};
	const struct sample sample = {.address = 16, .requested = 1 << 20, .usable = 1 << 20, .interval = 4096, .stack = 3, .time = 1};

	(void)state;
	samples_begin(&samples);
	samples_alloc(&samples, &sample);
	samples_release(&samples, 16, 2);
	samples_release(&samples, 16, 3);
	assert_int_equal(samples_finish(&samples, &account), 0);
	assert_int_equal(account.sites[0].allocations, 1); /* so large that it is always chosen */
	assert_int_equal(account.sites[0].peak_bytes, 1 << 20);
	assert_int_equal(account.sites[0].live_bytes, 0);
	assert_true(account.errors[0].bytes < 1);
	free(account.sites);
	free(account.errors);
	samples_free(&samples);
}

/* One small block that was chosen stands for an interval of bytes; what was counted of the whole heap says how much it cannot be. */
static void test_estimates_end_at_what_was_counted(void **state)
{
	enum { CERTAIN, DOUBTFUL, SITES };
	struct heap_site sites[SITES] = {
		[CERTAIN] = {.allocations = 1, .bytes = 4000, .live_bytes = 4000, .live_blocks = 1, .peak_bytes = 4000},
		[DOUBTFUL] = {.allocations = 8000, .bytes = 640000, .requested_bytes = 320000, .live_bytes = 640000, .live_blocks = 8000,
			      .peak_bytes = 640000}};
	struct heap_error errors[SITES] = {[DOUBTFUL] = {8000, 640000, 640000, 640000}};
	struct account account = {.allocations = 901, .allocated_bytes = 104000, .freed_bytes = 95000, .live_bytes = 9000,
				  .peak_bytes = 11000, .sites = sites, .errors = errors, .site_count = SITES};

	(void)state;
	account.freed_bytes = 104001; /* of others, too: what is live is not known by the counters */
	samples_limit(&account);
	assert_int_equal(sites[DOUBTFUL].live_bytes, 640000);
	assert_int_equal(sites[DOUBTFUL].bytes, 100000);
	account.freed_bytes = 95000;
	samples_limit(&account);
	assert_int_equal(sites[DOUBTFUL].allocations, 900);
	assert_int_equal(sites[DOUBTFUL].bytes, 100000);
	assert_int_equal(sites[DOUBTFUL].requested_bytes, 50000);
	assert_int_equal(sites[DOUBTFUL].live_bytes, 5000);
	assert_int_equal(sites[DOUBTFUL].live_blocks, 62);
	assert_int_equal(sites[DOUBTFUL].peak_bytes, 7000);
	assert_int_equal(sites[CERTAIN].live_bytes, 4000);
	assert_int_equal(sites[CERTAIN].peak_bytes, 4000);
	assert_true(errors[DOUBTFUL].live_bytes == 9000 && errors[DOUBTFUL].allocations == 901 && errors[CERTAIN].live_bytes == 0);
}

static void test_everything_adds_up(void **state)
{
	struct maker maker;
	struct diag_list diags;
	struct run *run;
	const struct process *process;

	(void)state;
	maker_everything(&maker);
	write_log(&maker, 0);
	run = open_number(0, &diags);
	assert_int_equal(run->process_count, 1);
	process = &run->processes[0];
	assert_int_equal(process->heap.kind, ACCOUNT_EVENTS);
	assert_int_equal(process->heap.allocations, 4);
	assert_int_equal(process->heap.event_allocations, 4);
	assert_int_equal(process->heap.event_frees, process->heap.frees);
	assert_int_equal(process->heap.event_allocated_bytes, process->heap.allocated_bytes);
	assert_int_equal(process->heap.event_requested_bytes, process->heap.requested_bytes);
	assert_int_equal(process->heap.live_bytes, 1148576 + 24 + 24);
	assert_int_equal(process->heap.peak_bytes, 104 + 1148576 + 24 + 24);
	assert_int_equal(process->heap.peak_time_ns, 1050);
	assert_int_equal(process->mmap.live_bytes, 4096);
	assert_int_equal(process->thread_count, 3);
	assert_int_equal(process->loss_count, 2);
	assert_string_equal(process->losses[0].name, "output_write");
	assert_int_equal(process->losses[0].thread, 9);
	assert_string_equal(process_setting(process, "MALLOC"), "full");
	assert_int_equal(process->setting_error_count, 1);
	assert_int_equal(process_module(process, 1)->build_id_bytes, 3);
	assert_string_equal(process->executable, "/bin/made");
	assert_string_equal(process->arguments[0], "made");
	assert_null(process->arguments[1]);
	assert_int_equal(process->end, END_SIGNAL);
	assert_int_equal(process->end_status, 9);
	assert_int_equal(process->step_count, 1);
	assert_int_equal(process->steps[0].number, 5);
	assert_int_equal(process->unknown_records, 1);
	run_close(run);
	diag_free(&diags);
	maker_free(&maker);
}

static void test_threads_are_merged_by_time(void **state)
{
	struct maker maker;
	struct diag_list diags;
	struct run *run;
	const struct account *heap;

	(void)state;
	maker_busy(&maker, 5, 40000, 300);
	write_log(&maker, 0);
	run = open_number(0, &diags);
	heap = &run->processes[0].heap;
	assert_int_equal(diags.damage, 0);
	assert_int_equal(heap->event_allocations, 40000);
	assert_int_equal(heap->event_frees, heap->frees);
	assert_int_equal(heap->event_unknown_frees + heap->event_reordered + heap->event_replaced, 0);
	assert_int_equal(heap->live_bytes, heap->allocated_bytes - heap->freed_bytes);
	assert_int_equal(heap->live_blocks, 1500);
	assert_true(heap->timeline.count <= TIMELINE_POINTS);
	run_close(run);
	diag_free(&diags);
	maker_free(&maker);
}

/* A process of job `job` that began at `second`. */
static void write_process(unsigned number, uint32_t pid, uint64_t log_id, uint64_t parent, uint8_t job, uint64_t second)
{
	struct maker maker;

	maker_begin(&maker);
	maker.header.pid = pid;
	maker.header.process_start = pid;
	maker.header.log_id = log_id;
	maker.header.parent_log_id = parent;
	memset(maker.header.job_id, job, sizeof maker.header.job_id);
	maker.header.origin.ticks += second * 1000000000;
	maker.header.origin.raw_ns += second * 1000000000;
	maker.header.origin.realtime_ns += second * 1000000000;
	maker_schema(&maker, "");
	write_log(&maker, number);
	maker_free(&maker);
}

static void test_the_newest_run_is_taken(void **state)
{
	const char *paths[1] = {folder};
	struct diag_list diags = {0};
	struct run *run;

	(void)state;
	write_process(0, 10, 1, 0, 7, 0); /* an old run of two */
	write_process(1, 11, 2, 1, 7, 1);
	write_process(2, 20, 3, 0, 8, 100); /* the newest: a parent, its image after exec, that one's child */
	write_process(3, 20, 4, 3, 8, 101);
	write_process(4, 21, 5, 4, 8, 102);
	run = run_open(paths, 1, NULL, &diags);
	assert_non_null(run);
	assert_int_equal(run->process_count, 3);
	assert_int_equal(run->processes[0].parent, PROCESS_NONE);
	assert_int_equal(run->processes[1].exec_before, 0);
	assert_int_equal(run->processes[0].end, END_EXEC); /* it says nothing of its end, but another image stands in its place */
	assert_int_equal(run->processes[1].end, END_UNKNOWN);
	assert_int_equal(run->processes[1].parent, PROCESS_NONE);
	assert_int_equal(run->processes[2].parent, 1);
	assert_int_equal(run->processes[1].start_ns, 1000000000);
	assert_int_equal(run->processes[2].start_ns, 2000000000);
	assert_int_equal(run->other_count, 1);
	assert_int_equal(run->others[0].process_count, 2);
	assert_string_equal(run->others[0].name, "0707070707070707");
	run_close(run);
	run = run_open(paths, 1, &(struct run_options){.name = "0707"}, &diags);
	assert_int_equal(run->process_count, 2);
	run_close(run);
	run = run_open(paths, 1, &(struct run_options){.name = "all"}, &diags);
	assert_int_equal(run->process_count, 5);
	run_close(run);
	assert_null(run_open(paths, 1, &(struct run_options){.name = "ffff"}, &diags));
	diag_free(&diags);
}

static void test_ticks_become_nanoseconds_piece_by_piece(void **state)
{
	struct maker maker;
	struct maker_records *records = calloc(1, sizeof *records);
	struct diag_list diags;
	struct run *run;

	(void)state;
	maker_begin(&maker);
	maker.header.clock_hz = 0;
	maker_schema(&maker, "");
	/* 2 ticks a ns for the first second, then 4. */
	MAKER_ADD(records, 2000000000, clock, .ticks = 2000001000, .raw = 1000005000);
	MAKER_ADD(records, 2000000100, clock, .ticks = 2000001100, .raw = 1000009999); /* too close to say anything */
	MAKER_ADD(records, 6000000000, clock, .ticks = 6000001000, .raw = 2000005000);
	maker_chunk(&maker, 1, 0, 1, records);
	write_log(&maker, 0);
	run = open_number(0, &diags);
	assert_int_equal(process_ns(&run->processes[0], 0), 0);
	assert_int_equal(process_ns(&run->processes[0], 1000000000), 500000000);
	assert_int_equal(process_ns(&run->processes[0], 2000000000), 1000000000);
	assert_int_equal(process_ns(&run->processes[0], 4000000000), 1500000000);
	assert_int_equal(run->duration_ns, 2000000000);
	run_close(run);
	diag_free(&diags);
	maker_free(&maker);
	free(records);
}

/* Processes are scanned at the same time: each has readings of its own, in the scale that all share. */
static void test_a_process_under_scan_has_a_clock_of_its_own(void **state)
{
	struct log one = {.header = {.origin = {.ticks = 1000, .raw_ns = 5000}}}, two = one;
	struct tfp_file_header *first = &one.header, *second = &two.header;
	struct clock_map shared = {.kind = TFP_CLOCK_TSC}, own;
	size_t count;

	(void)state;
	second->origin.ticks += UINT64_C(3000000000); /* 3 s later, a tick is 1 ns */
	second->origin.raw_ns += UINT64_C(3000000000);
	assert_int_equal(clock_add_origin(&shared, &one), 0);
	assert_int_equal(clock_add_origin(&shared, &two), 0);
	clock_settle(&shared);
	count = shared.count;
	assert_int_equal(clock_begin_own(&own, &shared, first), 0);
	assert_int_equal(clock_add(&own, UINT64_C(1000001000), UINT64_C(1000005000)), 0);
	assert_int_equal(clock_add(&own, UINT64_C(2000001000), UINT64_C(2000205000)), 0); /* 0.2 ms more in the second second */
	assert_int_equal(clock_ns(&own, 1000), 0);
	assert_int_equal(clock_ns(&own, UINT64_C(500001000)), 500000000);
	assert_int_equal(clock_ns(&own, UINT64_C(1500001000)), 1500100000);
	clock_join(&shared, &own);
	clock_free(&own);
	assert_int_equal(shared.count, count + 2);
	assert_int_equal(clock_begin_own(&own, &shared, second), 0);
	assert_int_equal(clock_ns(&own, second->origin.ticks), clock_ns(&shared, second->origin.ticks));
	clock_free(&own);
	clock_free(&shared);
}

/* A life too short for two readings far apart: the rate it measured last counts, as far as that can be one. */
static void test_a_short_process_has_the_rate_that_it_measured_last(void **state)
{
	struct log log = {.header = {.clock_hz = 2005000000, .origin = {.ticks = 1000, .raw_ns = 5000}}, .live = {.clock_hz = 2000000000}};
	struct clock_map map = {.kind = TFP_CLOCK_TSC}, own, damaged = {.kind = TFP_CLOCK_TSC};

	(void)state;
	assert_int_equal(clock_add_origin(&map, &log), 0);
	clock_settle(&map);
	assert_int_equal(clock_ns(&map, 8001000), 4000000);
	assert_int_equal(clock_begin_own(&own, &map, &log.header), 0);
	assert_int_equal(clock_ns(&own, 8001000), 4000000); /* the estimate of start-up would be 10 us early */
	clock_free(&own);
	clock_free(&map);
	log.live.clock_hz = UINT64_C(1) << 40;
	log.header.clock_hz = 1000000000;
	assert_int_equal(clock_add_origin(&damaged, &log), 0);
	clock_settle(&damaged);
	assert_int_equal(clock_ns(&damaged, 8001000), 8000000);
	clock_free(&damaged);
}

static void test_curves_are_reduced_and_added(void **state)
{
	struct timeline_point one[] = {{0, 0, 10, 10}, {100, 110, 5, 90}, {200, 200, 20, 20}, {300, 300, 0, 20}};
	struct timeline_point two[] = {{50, 50, 100, 100}, {250, 250, 1, 100}};
	const struct timeline a = {one, 4}, b = {two, 2}, *both[2] = {&a, &b};
	const int64_t ends[2] = {TIME_UNKNOWN, 400};
	struct timeline fewer, sum;

	(void)state;
	assert_int_equal(timeline_reduce(&a, 2, &fewer), 0);
	assert_int_equal(fewer.count, 2);
	assert_int_equal(fewer.points[0].max, 90);
	assert_int_equal(fewer.points[0].max_time_ns, 110);
	assert_int_equal(fewer.points[1].live, 0);
	timeline_free(&fewer);
	assert_int_equal(timeline_sum(both, ends, 2, &sum), 0);
	assert_int_equal(sum.count, 7);
	assert_int_equal(sum.points[2].max, 190); /* at 100: 90 and 100 */
	assert_int_equal(sum.points[5].live, 1);  /* at 300: 0 and 1 */
	assert_int_equal(sum.points[6].live, 0);  /* at 400 the second has ended */
	timeline_free(&sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peak_and_what_was_live_at_it),
		cmocka_unit_test(test_peak_sites_equal_the_slow_way),
		cmocka_unit_test(test_releases_that_come_early_or_late_are_settled),
		cmocka_unit_test(test_an_undone_release_never_was),
		cmocka_unit_test(test_temporary_means_nothing_allocated_between),
		cmocka_unit_test(test_the_table_keeps_odd_sizes),
		cmocka_unit_test(test_samples_are_unbiased),
		cmocka_unit_test(test_a_released_sample_is_gone),
		cmocka_unit_test(test_estimates_end_at_what_was_counted),
		cmocka_unit_test(test_everything_adds_up),
		cmocka_unit_test(test_threads_are_merged_by_time),
		cmocka_unit_test(test_the_newest_run_is_taken),
		cmocka_unit_test(test_ticks_become_nanoseconds_piece_by_piece),
		cmocka_unit_test(test_a_process_under_scan_has_a_clock_of_its_own),
		cmocka_unit_test(test_a_short_process_has_the_rate_that_it_measured_last),
		cmocka_unit_test(test_curves_are_reduced_and_added),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
