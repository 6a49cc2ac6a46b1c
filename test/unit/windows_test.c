/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of windows_make_ranges and windows_recorded_ns: which stretches of a process's life were recorded. */
#include "reducer/model/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#define FOREVER 1000000

static struct log whole;
static struct process processes[2] = {{.log = &whole}, {.log = &whole}};
static struct run run = {.processes = processes, .process_count = 2};
static struct setting chosen = {.name = "WINDOW"};

/* What was recorded of the first second of a process with these edges (times, opened and closed in turn). */
static int64_t recorded(struct process *process, const char *window, int is_first_open, const int64_t *times, size_t count)
{
	struct window *edges = calloc(count + 1, sizeof(*edges));
	int64_t sum;

	chosen.value = window;
	process->settings = &chosen;
	process->setting_count = 1;
	for (size_t i = 0; i < count; i++)
		edges[i] = (struct window){.time_ns = times[i], .is_open = (int)(i % 2) != is_first_open};
	process->windows = edges;
	process->window_count = count;
	free(process->ranges);
	process->ranges = NULL;
	process->range_count = 0;
	windows_make_ranges(&run, process);
	sum = windows_recorded_ns(process, 0, FOREVER);
	free(edges);
	process->windows = NULL;
	return sum;
}

static void stretches_are_from_edge_to_edge(void **state)
{
	struct process *process = &processes[0];
	const int64_t times[] = {100, 300, 500, 600};

	(void)state;
	process->parent = PROCESS_NONE;
	assert_int_equal(recorded(process, "all", 1, times, 0), FOREVER);
	assert_int_equal(recorded(process, "", 1, times, 0), FOREVER); /* a file of another profiler */
	assert_int_equal(recorded(process, "off", 1, times, 0), 0);
	assert_int_equal(recorded(process, "step:3-4", 1, times, 4), 300);
	assert_int_equal(windows_recorded_ns(process, 200, 550), 150);
	assert_int_equal(windows_recorded_ns(process, 300, 500), 0);
	assert_int_equal(recorded(process, "step:3-4", 1, times, 3), 200 + FOREVER - 500); /* never closed */
	assert_int_equal(recorded(process, "all", 0, times, 2), 100 + FOREVER - 300);      /* closed by hand, and opened again */
	assert_int_equal(recorded(process, "all", 0, times, 1), 100);
}

/* A log that wraps gives up edges as well: what its process was at the end it was in all that is left. */
static void without_the_edges_that_were_given_up_the_end_tells(void **state)
{
	struct log wrapped = {.live = {.given_up_bytes = 1}};
	struct process *process = &processes[0];

	(void)state;
	process->parent = PROCESS_NONE;
	process->log = &wrapped;
	process->window_start = WINDOW_OPEN; /* with the process, as a budget's */
	process->mode = TFP_MODE_TOTALS;
	assert_int_equal(recorded(process, "budget:1%:10", 1, NULL, 0), 0);
	process->mode = TFP_MODE_SAMPLE;
	assert_int_equal(recorded(process, "budget:1%:10", 1, NULL, 0), FOREVER);
	assert_false(windows_hold_all(process)); /* an earlier window may have been closed */
	process->window_start = WINDOW_UNSAID;
	assert_int_equal(recorded(process, "all", 1, NULL, 0), FOREVER);
	assert_true(windows_hold_all(process));
	process->log = &whole;
}

/* A child of fork goes on as its parent was, and no edge says so. */
static void a_child_begins_as_its_parent_was(void **state)
{
	const int64_t times[] = {100, 300};

	(void)state;
	assert_int_equal(recorded(&processes[0], "time:1s-2s", 1, times, 2), 200);
	processes[1].parent = 0;
	processes[1].is_fork = 1;
	processes[1].start_ns = 150;
	assert_int_equal(recorded(&processes[1], "time:1s-2s", 1, times, 0), FOREVER);
	assert_int_equal(recorded(&processes[1], "time:1s-2s", 0, times + 1, 1), 300); /* closed in the child itself */
	processes[1].start_ns = 400;
	assert_int_equal(recorded(&processes[1], "time:1s-2s", 1, times, 0), 0);
	assert_int_equal(recorded(&processes[1], "all", 1, times, 0), 0); /* the parent had closed by hand */
	processes[1].window_start = WINDOW_OPEN; /* it was forked before, and called nothing until now */
	assert_int_equal(recorded(&processes[1], "all", 1, times, 0), FOREVER);
	assert_int_equal(recorded(&processes[1], "all", 0, times + 1, 1), 300);
	processes[1].start_ns = 150;
	processes[1].window_start = WINDOW_CLOSED;
	assert_int_equal(recorded(&processes[1], "time:1s-2s", 1, times, 0), 0);
	processes[1].window_start = WINDOW_UNSAID;
	free(processes[0].ranges);
	free(processes[1].ranges);
	processes[0].ranges = processes[1].ranges = NULL;
}

/* A program that is started while its parent's window is open has windows of its own. */
static void a_program_begins_as_its_setting_says(void **state)
{
	const int64_t times[] = {100, 300};

	(void)state;
	assert_int_equal(recorded(&processes[0], "off", 1, times, 2), 200);
	processes[1].parent = 0;
	processes[1].is_fork = 0;
	processes[1].start_ns = 150;
	assert_int_equal(recorded(&processes[1], "off", 1, times, 0), 0);
	processes[1].start_ns = 400;
	assert_int_equal(recorded(&processes[1], "all", 1, times, 0), FOREVER);
	free(processes[0].ranges);
	free(processes[1].ranges);
}

/* Two threads change over within the time that a stamp takes: the edges' times are not in the order in which they were made. */
static void edges_of_two_threads_alternate(void **state)
{
	struct window edges[] = {{.time_ns = 100, .is_open = 1}, {.time_ns = 299, .is_open = 1, .index = 7}, {.time_ns = 300, .is_open = 0},
				 {.time_ns = 500, .is_open = 0}, {.time_ns = 600, .is_open = 1}, {.time_ns = 700, .is_open = 0}};
	struct process process = {.windows = edges, .window_count = 6, .parent = PROCESS_NONE};

	(void)state;
	windows_make_ranges(&run, &process);
	assert_int_equal(windows_recorded_ns(&process, 0, FOREVER), 199 + 200 + 100);
	assert_int_equal(edges[1].is_open, 0);
	assert_int_equal(edges[2].is_open, 1);
	assert_int_equal(edges[2].index, 7);
	assert_int_equal(edges[1].time_ns, 299);
	assert_int_equal(edges[2].time_ns, 300);
	free(process.ranges);
	edges[1].is_open = edges[2].is_open = 1; /* a closing edge that is not in the log */
	process = (struct process){.windows = edges, .window_count = 6, .parent = PROCESS_NONE};
	windows_make_ranges(&run, &process);
	assert_int_equal(windows_recorded_ns(&process, 0, FOREVER), 400 + 100);
	free(process.ranges);
}

#define TURNS 60 /* edges that one thread was kept from stamping meanwhile */

static void numbers_tell_the_order_however_late_a_stamp_is(void **state)
{
	struct window edges[TURNS + 1];
	struct process process = {.windows = edges, .window_count = TURNS + 1, .parent = PROCESS_NONE};

	(void)state;
	for (unsigned i = 0; i < TURNS; i++) /* the first of all, which opens, is stamped last */
		edges[i] = (struct window){.time_ns = 100 + 10 * i, .is_open = i % 2, .number = i + 2};
	edges[TURNS] = (struct window){.time_ns = 100 + 10 * TURNS, .is_open = 1, .number = 1};
	windows_make_ranges(&run, &process);
	for (unsigned i = 0; i <= TURNS; i++) {
		assert_int_equal(edges[i].number, i + 1);
		assert_int_equal(edges[i].is_open, (i + 1) % 2);
		assert_int_equal(edges[i].time_ns, 100 + 10 * i);
	}
	assert_int_equal(windows_recorded_ns(&process, 0, 700), 10 * TURNS / 2);
	free(process.ranges);
}

#define MANY 200000 /* windows of a job that is watched for weeks: looked through one by one, so many times, they took a minute */
#define SECONDS 20

static void many_windows_are_found_by_halving(void **state)
{
	struct process process = {.ranges = calloc(MANY, sizeof(struct window_range)), .range_count = MANY};
	struct window *edges = calloc(MANY, sizeof(*edges));
	struct rlimit limit;

	(void)state;
	assert_non_null(process.ranges);
	assert_non_null(edges);
	for (int64_t i = 0; i < MANY; i++) {
		process.ranges[i] = (struct window_range){10 * i, 10 * i + 4};
		edges[i].time_ns = 10 * i;
	}
	process.windows = edges;
	process.window_count = MANY;
	assert_int_equal(getrlimit(RLIMIT_CPU, &limit), 0);
	limit.rlim_cur = SECONDS;
	assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
	for (int64_t i = 0; i + 1 < MANY; i++) {
		assert_int_equal(windows_recorded_ns(&process, 10 * i + 1, 10 * i + 12), 5);
		assert_int_equal(windows_edge_at(&process, 10 * i + 1), i + 1);
	}
	assert_int_equal(windows_recorded_ns(&process, 0, INT64_MAX), 4 * (int64_t)MANY);
	assert_int_equal(windows_recorded_ns(&process, 4, 10), 0);
	assert_int_equal(windows_edge_at(&process, INT64_MAX), MANY);
	free(process.ranges);
	free(edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stretches_are_from_edge_to_edge),
		cmocka_unit_test(without_the_edges_that_were_given_up_the_end_tells),
		cmocka_unit_test(a_child_begins_as_its_parent_was),
		cmocka_unit_test(a_program_begins_as_its_setting_says),
		cmocka_unit_test(edges_of_two_threads_alternate),
		cmocka_unit_test(numbers_tell_the_order_however_late_a_stamp_is),
		cmocka_unit_test(many_windows_are_found_by_halving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
