/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the comparison of runs: intervals of a change, verdicts, limits, and how often they are wrong.
 *
 * Rule: expected numbers were worked out by hand from the published tables, beside the test that has them; runs are made by a
 * formula with a fixed seed, so that a rate is the same on every machine.
 */
#include "reducer/tables/busy.h"
#include "reducer/comparison/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Critical values of U of Mann and Whitney's tables, and one more: of 3 and 3 values 1 of 20 orders has U = 0; of 5 and 5 (252
 * orders) 12 have U <= 4 (0.048) and 19 U <= 5; 2 have U <= 1 (0.0079), 4 U <= 2 (0.016); of 4 and 4 1 of 70 (0.0143) has U = 0.
 */
static void depths_are_those_of_the_tables(void **state)
{
	(void)state;
	assert_int_equal(interval_depth(3, 3, 0.05), 1);
	assert_int_equal(interval_depth(2, 3, 0.05), SIZE_MAX);
	assert_int_equal(interval_depth(2, 5, 0.05), 1);
	assert_int_equal(interval_depth(5, 5, 0.05), 5);
	assert_int_equal(interval_depth(5, 5, 0.01), 2);
	assert_int_equal(interval_depth(4, 4, 0.01), SIZE_MAX);
	assert_int_equal(interval_depth(20, 20, 0.05), 139); /* table: 138 */
	assert_int_equal(interval_depth(0, 5, 0.05), SIZE_MAX);
	assert_in_range(interval_depth(40, 40, 0.05), 628,
			630);				     /* by the normal distribution: 800 - 1.645 * sqrt(10800) = 629.05 */
	assert_int_equal(interval_depth(41, 41, 0.05), 663); /* 840.5 - 1.645 * sqrt(11624) = 663.14 */
}

/* All ratios of {100, 200, 400} to {110, 220, 440}: 0.275, 0.55 twice, 1.1 three times, 2.2 twice, 4.4. */
static void the_change_is_the_median_of_ratios(void **state)
{
	const double before[] = {200, 100, 400}, after[] = {440, 110, 220}, zero[] = {0, 1, 2};
	struct interval interval = interval_make(before, 3, after, 3, 0.05);

	(void)state;
	assert_true(interval.is_known);
	assert_true(fabs(interval.change - 0.1) < 1e-9);
	assert_true(fabs(interval.low + 0.725) < 1e-9 && fabs(interval.high - 3.4) < 1e-9);
	assert_false(interval_make(before, 3, after, 3, 0.01).is_known);
	assert_false(interval_make(before, 3, zero, 3, 0.05).is_known);
	interval = interval_make(before, 1, before, 1, 0.05);
	assert_true(!interval.is_known && interval.change == 0);
}

static double uniform(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return ((double)(*random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *random)
{
	double radius = sqrt(-2 * log(uniform(random)));

	return radius * cos(2 * acos(-1) * uniform(random));
}

/* Two sides of one figure. */
struct pair_of_sides {
	struct figure before, after;
	double old[FIGURES_PARTS], new[FIGURES_PARTS];
	struct compared compared;
};

static void make_sides(struct pair_of_sides *sides, size_t runs, size_t samples)
{
	struct figure like = {.id = "step_p50", .unit = UNIT_NS, .nature = FIGURE_WALL, .sample_count = samples};

	sides->before = sides->after = like;
	sides->before.samples = sides->old;
	sides->after.samples = sides->new;
	sides->compared = (struct compared){.before = {.items = &sides->before, .count = 1, .run_count = runs, .busy = 0},
					    .after = {.items = &sides->after, .count = 1, .run_count = runs, .busy = 0}};
}

static enum limit_state judge(struct pair_of_sides *sides, const char *words)
{
	struct figure_limits limits = {0};
	enum limit_state state;
	double most, copy[FIGURES_PARTS];

	memcpy(copy, sides->old, sizeof(copy));
	sides->before.value = base_median(copy, sides->before.sample_count);
	memcpy(copy, sides->new, sizeof(copy));
	sides->after.value = base_median(copy, sides->after.sample_count);
	figure_limits_take(&limits, "limit", words);
	state = figure_limits_judge(&limits, &sides->compared, &sides->after, &most);
	figure_limits_free(&limits);
	return state;
}

struct rates {
	unsigned of[LIMIT_EXCEEDED + 1]; /* by state, of 1000 */
};

/* Runs whose steps differ by `spread` from run to run, now and then one that something held up by a half. */
static struct rates rates_of_runs(size_t runs, double spread, double slower)
{
	uint64_t random = 88172645463325252;
	struct rates rates = {0};
	struct pair_of_sides sides;

	for (unsigned trial = 0; trial < 1000; trial++) {
		make_sides(&sides, runs, runs);
		for (size_t i = 0; i < runs; i++) {
			sides.old[i] = 1e7 * exp(spread * normal(&random)) * (uniform(&random) < 0.05 ? 1.5 : 1);
			sides.new[i] = 1e7 * exp(spread * normal(&random)) * (uniform(&random) < 0.05 ? 1.5 : 1) * (1 + slower);
		}
		rates.of[judge(&sides, "step_p50=5%")]++;
	}
	return rates;
}

/*
 * Rates of docs/comparison.md. Runs that differ by 1 %, as processor times do even where the machine is busy. Slower by the limit
 * itself is said of at most 1 in 20, by the law of the test, and so is within it; 10 of 1000 more for chance.
 */
static void several_runs_tell_programs_apart(void **state)
{
	struct rates equal = rates_of_runs(7, 0.01, 0), five = rates_of_runs(7, 0.01, 0.05), ten = rates_of_runs(7, 0.01, 0.1),
		     twenty = rates_of_runs(7, 0.01, 0.2), three = rates_of_runs(3, 0.01, 0.1);

	(void)state;
	assert_in_range(equal.of[LIMIT_EXCEEDED], 0, 0);
	assert_in_range(equal.of[LIMIT_KEPT], 930, 1000);
	assert_in_range(five.of[LIMIT_EXCEEDED], 0, 60);
	assert_in_range(five.of[LIMIT_KEPT], 0, 60);
	assert_in_range(ten.of[LIMIT_EXCEEDED], 930, 1000);
	assert_in_range(twenty.of[LIMIT_EXCEEDED], 930, 1000);
	assert_in_range(three.of[LIMIT_EXCEEDED], 800, 1000);
}

/* Runs that differ by 20 %, as wall times do on a busy machine: it cannot be told, and is not said. */
static void runs_that_vary_cannot_be_told(void **state)
{
	struct rates equal = rates_of_runs(5, 0.2, 0), twenty = rates_of_runs(5, 0.2, 0.2), half = rates_of_runs(10, 0.2, 1);

	(void)state;
	assert_in_range(equal.of[LIMIT_EXCEEDED], 0, 40);
	assert_in_range(equal.of[LIMIT_UNSURE], 800, 1000);
	assert_in_range(twenty.of[LIMIT_KEPT], 0, 40);
	assert_in_range(half.of[LIMIT_EXCEEDED], 950, 1000);
}

/* One run a side whose steps depend on the ones before (0.9 of each goes into the next), cut into stretches. */
static struct rates rates_of_one(double slower)
{
	enum { STEPS = 1600, PART = STEPS / FIGURES_PARTS };
	uint64_t random = 362436069362436069;
	struct rates rates = {0};
	struct pair_of_sides sides;

	for (unsigned trial = 0; trial < 300; trial++) {
		double level = 0;
		make_sides(&sides, 1, FIGURES_PARTS);
		for (size_t i = 0; i < 2 * STEPS; i++) {
			double steps[PART], *samples = i < STEPS ? sides.old : sides.new;
			size_t part = i % STEPS / PART;
			for (size_t k = 0; k < PART; k++) {
				level = 0.9 * level + 0.05 * normal(&random);
				steps[k] = 1e7 * exp(level) * (i < STEPS ? 1 : 1 + slower);
			}
			samples[part] = base_median(steps, PART);
			i += PART - 1;
		}
		rates.of[judge(&sides, "step_p50=5%")]++;
	}
	return rates;
}

static void steps_that_depend_on_each_other_are_no_proof(void **state)
{
	struct rates equal = rates_of_one(0), slower = rates_of_one(0.3);

	(void)state;
	assert_in_range(equal.of[LIMIT_EXCEEDED], 0, 6); /* of 300 */
	assert_in_range(slower.of[LIMIT_EXCEEDED], 290, 300);
}

/* Figures of both sides, of so many runs each, whose steps waited for a processor for these shares of their time. */
static struct compared on_busy_machine(struct figure *old, struct figure *new, size_t count, size_t runs, double before, double after)
{
	return (struct compared){.before = {.items = old, .count = count, .run_count = runs, .busy = before},
				 .after = {.items = new, .count = count, .run_count = runs, .busy = after}};
}

/* Times that grew by a half while the steps waited for a processor, with and without an own figure that says so too. */
static void a_busy_machine_is_no_slower_program(void **state)
{
	struct figure old[2], new[2];
	double before[] = {100, 101, 102, 103}, after[] = {150, 151, 152, 153}, own[] = {90, 91, 90, 91},
	       grown[] = {120, 121, 122, 120};
	struct figure_limits limits = {0};
	struct compared compared;
	struct text why = {0};
	double most;

	(void)state;
	old[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 101.5, "", before, 4};
	new[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 151.5, "", after, 4};
	old[1] = new[1] = (struct figure){"step_undelayed", UNIT_NS, FIGURE_TIME, 90.5, "", own, 4};
	compared = on_busy_machine(old, new, 2, 4, 0.01, 0.38);
	figure_limits_take(&limits, "limit", "step_p50=5%");
	assert_int_equal(figure_limits_judge(&limits, &compared, &new[0], &most), LIMIT_UNSURE);
	figure_limit_sentence(&why, &limits.items[0], &compared);
	assert_non_null(strstr(why.bytes, "waiting for a processor was 1 % of the steps before, 38 % of the steps now"));
	new[1].samples = grown;
	assert_int_equal(figure_limits_judge(&limits, &compared, &new[0], &most), LIMIT_EXCEEDED);
	/* The other way round: less time on a machine that is less busy, but the steps themselves need more. */
	new[0].samples = before;
	old[0].samples = after;
	assert_int_equal(figure_limits_judge(&limits, &compared, &new[0], &most), LIMIT_UNSURE);
	new[1].samples = own;
	assert_int_equal(figure_limits_judge(&limits, &compared, &new[0], &most), LIMIT_KEPT);
	text_free(&why);
	figure_limits_free(&limits);
}

/* Nor is one that is less busy a faster program: times that fell by a third, with and without an own figure that says so too. */
static void a_machine_less_busy_is_no_faster_program(void **state)
{
	struct figure old[2], new[2];
	double before[] = {150, 151, 152, 153}, after[] = {100, 101, 102, 103}, own[] = {90, 91, 90, 91}, fallen[] = {60, 61, 62, 60};
	struct compared compared;

	(void)state;
	old[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 151.5, "", before, 4};
	new[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 101.5, "", after, 4};
	old[1] = new[1] = (struct figure){"step_undelayed", UNIT_NS, FIGURE_TIME, 90.5, "", own, 4};
	compared = on_busy_machine(old, new, 2, 4, 0.38, 0.2);
	assert_int_equal(verdict_find(&compared, &old[0], &new[0]).kind, VERDICT_BUSIER);
	new[1].samples = fallen;
	assert_int_equal(verdict_find(&compared, &old[0], &new[0]).kind, VERDICT_LESS);
	new[1].samples = own;
	compared = on_busy_machine(old, new, 2, 4, 0.04, 0.01);
	assert_int_equal(verdict_find(&compared, &old[0], &new[0]).kind, VERDICT_LESS);
}

/* By looks a function's wait for a processor is as good as its work: 4.3 ms less, of a step that waited 9.8 ms before. */
static void what_may_be_a_wait_is_no_slower_function(void **state)
{
	(void)state;
	assert_string_equal(verdict_of_looks(-4.3, 1.4, 9.8), "cannot tell: busy");
	assert_string_equal(verdict_of_looks(4.3, 1.4, 9.8), "cannot tell: busy");
	assert_string_equal(verdict_of_looks(-2.7, 1.4, 9.8), "no difference to tell");
	assert_string_equal(verdict_of_looks(-4.3, 1.4, 0), "faster");
	assert_string_equal(verdict_of_looks(4.3, 1.4, 1), "slower");
}

/* One run a side, of whose processor time there is one value: many times as much is no busy machine. */
static void a_busy_machine_hides_no_program_many_times_slower(void **state)
{
	struct figure old[3], new[3];
	double before[] = {100, 101, 102, 103, 100, 101, 102, 103}, after[] = {1000, 1010, 1020, 1030, 1000, 1010, 1020, 1030},
	       part[] = {60, 61, 62, 63, 60, 61, 62, 63}, more[] = {90, 91, 92, 93, 90, 91, 92, 93};
	struct figure_limits limits = {0};
	struct compared compared;
	struct text why = {0};
	double most;

	(void)state;
	old[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 101.5, "", before, 8};
	new[0] = (struct figure){"step_p50", UNIT_NS, FIGURE_WALL, 1015, "", after, 8};
	old[1] = (struct figure){"step_cpu", UNIT_NS, FIGURE_TIME, 50, "", NULL, 0};
	new[1] = (struct figure){"step_cpu", UNIT_NS, FIGURE_TIME, 99, "", NULL, 0};
	old[2] = (struct figure){"input", UNIT_NS, FIGURE_WALL, 61.5, "", part, 8};
	new[2] = (struct figure){"input", UNIT_NS, FIGURE_WALL, 91.5, "", more, 8};
	compared = on_busy_machine(old, new, 3, 1, 0.61, 0.63);
	figure_limits_take(&limits, "limit", "step_p50=5%");
	figure_limits_take(&limits, "limit", "step_cpu=5%");
	assert_int_equal(figure_limit_judge(&limits.items[0], &compared, &new[0], &most), LIMIT_UNSURE);
	assert_int_equal(figure_limit_judge(&limits.items[1], &compared, &new[1], &most), LIMIT_UNSURE);
	new[1].value = 400;
	assert_int_equal(figure_limit_judge(&limits.items[0], &compared, &new[0], &most), LIMIT_EXCEEDED);
	assert_int_equal(figure_limit_judge(&limits.items[1], &compared, &new[1], &most), LIMIT_EXCEEDED);
	figure_limit_sentence(&why, &limits.items[0], &compared);
	assert_non_null(strstr(why.bytes, "but its processor time grew as well, by 700 %"));
	assert_int_equal(verdict_find(&compared, &old[2], &new[2]).kind, VERDICT_BUSIER); /* by a half: nothing says that it is this */
	assert_int_equal(figure_limit_judge(&limits.items[1], &compared, &old[1], &most), LIMIT_UNSURE); /* equal: not kept for sure */
	text_free(&why);
	figure_limits_free(&limits);
}

/* Each of these is one above its limit, or just there, where doubles are taken for what is written: 100 * 1.15 is less than 115. */
static void what_is_just_allowed_is_kept(void **state)
{
	struct figure before = {.id = "allocations:heap", .unit = UNIT_COUNT, .nature = FIGURE_FIXED, .value = 100}, after = before;
	struct compared compared = {.before = {.items = &before, .count = 1, .run_count = 1},
				    .after = {.items = &after, .count = 1, .run_count = 1}};
	double most;

	(void)state;
	for (unsigned percent = 1; percent <= 200; percent++) {
		struct figure_limits limits = {0};
		struct pair_of_sides sides;
		char words[40];
		snprintf(words, sizeof words, "allocations:heap=%u%%", percent);
		figure_limits_take(&limits, "limit", words);
		after.value = 100 + percent;
		assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_KEPT);
		after.value++;
		assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
		figure_limits_free(&limits);

		make_sides(&sides, 4, 4);
		snprintf(words, sizeof words, "step_p50=%u%%", percent);
		for (size_t i = 0; i < 4; i++) {
			sides.old[i] = 100;
			sides.new[i] = 100 + percent;
		}
		assert_int_equal(judge(&sides, words), LIMIT_KEPT);

		snprintf(words, sizeof words, "step_p50=%u.%02uus", percent / 100, percent % 100);
		make_sides(&sides, 1, 1);
		sides.old[0] = sides.new[0] = 10 * percent;
		assert_int_equal(judge(&sides, words), LIMIT_KEPT);
	}
}

static void limits_are_judged(void **state)
{
	struct figure before = {.id = "peak:heap", .unit = UNIT_BYTES, .nature = FIGURE_FIXED, .value = 100e6}, after = before;
	struct figure_limits limits = {0};
	struct compared compared = {.before = {.items = &before, .count = 1, .run_count = 1},
				    .after = {.items = &after, .count = 1, .run_count = 1}};
	double most;

	(void)state;
	figure_limits_take(&limits, "limit", "peak:heap=5%");
	after.value = 104e6;
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_KEPT);
	assert_true(fabs(most - 105e6) < 1);
	after.value = 106e6;
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
	figure_limits_take(&limits, "limit", "peak:heap=105500KB");
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
	assert_true(fabs(most - 105e6) < 1);
	/* A time of which there is one value a side: a build must not pass because it ran three steps. */
	before.nature = after.nature = FIGURE_WALL;
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most),
			 LIMIT_EXCEEDED); /* of 105500KB, which needs no run before */
	figure_limits_free(&limits);
	figure_limits_take(&limits, "limit", "peak:heap=5%");
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_UNSURE);
	figure_limits_free(&limits);
	figure_limits_take(&limits, "limit", "peak:device:0=2GiB");
	assert_string_equal(limits.items[0].figure, "peak:device:0");
	assert_true(limits.items[0].value == 2147483648.0);
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_NONE);
	figure_limits_free(&limits);
}

/* A process with ten steps of 100 ms from 1 s on, and readings of its processor time at these moments (ms): total at t is t / 4.
 */
static struct busy busy_in(bool is_windowed, size_t unseen, const int *moments, size_t count)
{
	static struct step_row rows[10];
	static bool is_first[10];
	const struct step_row *items[10];
	struct use_sample samples[8] = {0};
	struct process process = {.use = {.samples = samples, .count = count}, .unseen_count = unseen};
	struct run run = {.processes = &process, .process_count = 1};
	struct request request = {.run = &run};
	struct step_rows all = {.items = items, .count = 10, .is_first = is_first, .judged_count = 10};

	for (size_t i = 0; i < 10; i++) {
		rows[i] = (struct step_row){.start_ns = 1000000000 + (int64_t)i * 100000000, .total_ns = 100000000,
					    .is_unrecorded = is_windowed && i > 1 && i < 8};
		items[i] = &rows[i];
	}
	for (size_t i = 0; i < count; i++)
		samples[i] = (struct use_sample){.time_ns = moments[i] * 1000000L,
						 .of = USE_OF_PROCESS,
						 .has_use = true,
						 .user_ns = (uint64_t)moments[i] * 250000};
	return busy_find(&all, &request);
}

static struct busy busy_of(const int *moments, size_t count)
{
	return busy_in(false, 0, moments, count);
}

/* Between the windows the program went on, and readings are of all that it used: by the number of all steps, if that is known. */
static void processor_time_is_also_that_of_steps_outside_of_windows(void **state)
{
	const int around[] = {0, 990, 1500, 2010};
	struct busy busy = busy_in(true, 0, around, LENGTH(around));

	(void)state;
	assert_true(fabs(busy.cpu.steps - 10) < 1e-9 && fabs(busy.cpu.part_ns - 250e6) < 1);
	assert_true(busy_in(true, 1, around, LENGTH(around)).cpu.steps == 0);
}

static void processor_time_is_read_near_the_steps(void **state)
{
	const int around[] = {0, 990, 1500, 2010}, inside[] = {0, 1250, 1750, 4000}, one[] = {0, 1500, 4000},
		  before[] = {0, 500, 900};
	struct busy busy = busy_of(around, LENGTH(around));

	(void)state;
	assert_true(fabs(busy.cpu.steps - 10) < 1e-9 && fabs(busy.cpu.part_ns - 250e6) < 1);
	assert_true(busy.delay.steps == 0 && busy.share < 0); /* nothing was read of threads */
	busy = busy_of(inside, LENGTH(inside));		      /* from the middle of the third step to that of the eighth */
	assert_true(fabs(busy.cpu.steps - 5) < 1e-9 && fabs(busy.cpu.part_ns - 125e6) < 1 && fabs(busy.cpu.all_ns - 500e6) < 1);
	assert_true(busy_of(one, LENGTH(one)).cpu.steps == 0);
	assert_true(busy_of(before, LENGTH(before)).cpu.steps == 0);
}

#define MOMENTS 8
/*
 * Twelve steps of a thread: the first one (not judged) of 6 s in which it waits for a compiler, ten of 100 ms that it computes all along,
 * 2 s between them and the last one for what is no step and waits too. Readings at these moments (ms): what it used is told by `used`.
 */
static double thread_of(const int *moments, const int *used, size_t count)
{
	static struct step_row rows[12];
	static bool is_first[12] = {true};
	const struct step_row *items[12];
	struct use_sample samples[MOMENTS] = {0};
	struct process process = {.use = {.samples = samples, .count = count}};
	struct step_rows all = {.items = items, .count = 12, .is_first = is_first, .judged_count = 11};

	for (size_t i = 0; i < 12; i++) {
		int64_t start_ms = i == 0 ? 0 : i == 11 ? 9000 : 5900 + (int64_t)i * 100;
		rows[i] = (struct step_row){.start_ns = start_ms * 1000000, .total_ns = 100000000, .unit = {.thread = 3}};
		items[i] = &rows[i];
	}
	rows[0].total_ns = 6000000000;
	for (size_t i = 0; i < count; i++)
		samples[i] = (struct use_sample){.time_ns = moments[i] * 1000000L,
						 .of = USE_OF_THREAD,
						 .subject = 3,
						 .has_use = true,
						 .user_ns = (uint64_t)used[i] * 1000000};
	return busy_thread(&all, 0, 12, &process);
}

static void what_a_thread_used_is_that_of_the_judged_steps(void **state)
{
	const int often[] = {0, 5960, 6050, 6500, 6990, 8950, 9100}, of_often[] = {0, 100, 150, 600, 1090, 1100, 1200};
	const int seldom[] = {0, 6000, 9100}, of_seldom[] = {0, 100, 1200}, none[] = {0, 5000}, of_none[] = {0, 100};

	(void)state;
	assert_true(fabs(thread_of(often, of_often, LENGTH(often)) - 1090.0 / 1180) < 1e-9);
	assert_true(fabs(thread_of(seldom, of_seldom, LENGTH(seldom)) - 1100.0 / 3100) < 1e-9); /* no stretch is steps for the most */
	assert_true(thread_of(none, of_none, LENGTH(none)) < 0);
}

/* Nobody marked steps: the first thread tells whether a processor was free. */
static void the_first_thread_tells_of_a_run_without_steps(void **state)
{
	struct use_reading readings[] = {{.kind = USE_thread_delay, .value = 100000000}, {.kind = USE_thread_delay, .value = 900000000}};
	struct use_sample samples[] = {{.time_ns = 1000000000, .of = USE_OF_TASK, .subject = 100, .readings = 1},
				       {.time_ns = 2000000000, .of = USE_OF_TASK, .subject = 100, .readings = 2}};
	struct thread threads[] = {{.serial = 2, .tid = 101}, {.serial = 3, .tid = 100}};
	struct process process = {.pid = 100,
				  .threads = threads,
				  .thread_count = 2,
				  .use = {.samples = samples, .count = 2, .readings = readings, .reading_count = 2}};
	struct run run = {.processes = &process, .process_count = 1};
	struct request request = {.run = &run};
	struct step_row row = {.kind = UNIT_WHOLE, .start_ns = 1000000000, .total_ns = 1000000000};
	const struct step_row *items[] = {&row};
	bool is_first[] = {false};
	struct step_rows all = {.kind = UNIT_WHOLE, .items = items, .count = 1, .is_first = is_first};
	struct busy busy = busy_find(&all, &request);

	(void)state;
	assert_true(fabs(busy.share - 0.8) < 1e-9);
	assert_true(busy.delay.steps == 0); /* of steps nothing is known */
	threads[1].start_ns = 500000000;
	row.start_ns = 600000000;
	row.total_ns = 1400000000;
	process.exec_before = PROCESS_NONE;
	assert_true(fabs(busy_find(&all, &request).share - 0.6) < 1e-9); /* 900 ms of 1.5 s, from its begin */
	process.exec_before = 0; /* but what it had waited before an exec is not this program's */
	assert_true(fabs(busy_find(&all, &request).share - 0.8) < 1e-9);
}

/* Forty steps of 10 ms that compute, of which the twentieth waits for 2 s as well: what a thread uses in a pause is nobody's. */
static void what_a_thread_used_is_not_that_of_a_pause(void **state)
{
	static const int moments[] = {0, 190, 2210, 2400}, used[] = {0, 180, 190, 370};
	static struct step_row rows[40];
	static bool is_first[40];
	const struct step_row *items[40];
	struct use_sample samples[LENGTH(moments)] = {0};
	struct process process = {.use = {.samples = samples, .count = LENGTH(moments)}};
	struct step_rows all = {.items = items, .count = 40, .is_first = is_first, .judged_count = 40};

	(void)state;
	for (int i = 0; i < 40; i++) {
		rows[i] = (struct step_row){.start_ns = (i > 19 ? 2000 + i * 10 : i * 10) * 1000000L, .total_ns = 10000000};
		items[i] = &rows[i];
	}
	rows[19].total_ns = rows[19].exposed_ns[PART_OTHER] = 2010000000;
	for (size_t i = 0; i < LENGTH(moments); i++)
		samples[i] = (struct use_sample){
			.time_ns = moments[i] * 1000000L, .of = USE_OF_THREAD, .has_use = true, .user_ns = (uint64_t)used[i] * 1000000};
	assert_true(fabs(busy_thread(&all, 0, 40, &process) - 360.0 / 380) < 1e-9);
}

static void is_said(struct pair_of_sides *sides, const char *words, const char *said)
{
	struct figure_limits limits = {0};
	struct text why = {0};

	judge(sides, words);
	figure_limits_take(&limits, "limit", words);
	figure_limit_sentence(&why, &limits.items[0], &sides->compared);
	if (!strstr(why.bytes, said))
		fail_msg("%s: %s", said, why.bytes);
	text_free(&why);
	figure_limits_free(&limits);
}

/* "14 and 14 runs" was said of step_cpu where 4 and 6 of them were long enough to tell it. */
static void runs_that_do_not_tell_a_figure_do_not_count(void **state)
{
	static char cpu[] = FIGURES_CPU;
	struct pair_of_sides sides;

	(void)state;
	make_sides(&sides, 14, 4);
	for (size_t i = 0; i < 4; i++) {
		sides.old[i] = 1e6 + (double)i;
		sides.new[i] = 2e6 + (double)i;
	}
	is_said(&sides, "step_p50=5%", "(4 and 4 runs of 14 and 14, the only ones that tell it)");
	sides.before.sample_count = sides.after.sample_count = 2;
	is_said(&sides, "step_p50=5%", "; 2 and 2 runs of 14 and 14, the only ones that tell it are too few to be sure");
	sides.before.id = sides.after.id = cpu;
	is_said(&sides, FIGURES_CPU "=5%", "(2 and 2 runs of 14 and 14, the only ones that tell it: too few runs to know");
	make_sides(&sides, 3, 3);
	sides.old[0] = 0;
	sides.old[1] = sides.old[2] = sides.new[0] = sides.new[1] = sides.new[2] = 1e6;
	is_said(&sides, "step_p50=5%", "; a run has none of it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depths_are_those_of_the_tables),
		cmocka_unit_test(the_change_is_the_median_of_ratios),
		cmocka_unit_test(several_runs_tell_programs_apart),
		cmocka_unit_test(runs_that_vary_cannot_be_told),
		cmocka_unit_test(steps_that_depend_on_each_other_are_no_proof),
		cmocka_unit_test(a_busy_machine_is_no_slower_program),
		cmocka_unit_test(a_machine_less_busy_is_no_faster_program),
		cmocka_unit_test(what_may_be_a_wait_is_no_slower_function),
		cmocka_unit_test(a_busy_machine_hides_no_program_many_times_slower),
		cmocka_unit_test(what_is_just_allowed_is_kept),
		cmocka_unit_test(limits_are_judged),
		cmocka_unit_test(runs_that_do_not_tell_a_figure_do_not_count),
		cmocka_unit_test(processor_time_is_read_near_the_steps),
		cmocka_unit_test(processor_time_is_also_that_of_steps_outside_of_windows),
		cmocka_unit_test(what_a_thread_used_is_that_of_the_judged_steps),
		cmocka_unit_test(the_first_thread_tells_of_a_run_without_steps),
		cmocka_unit_test(what_a_thread_used_is_not_that_of_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
