/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what a process did beside its steps, while it warmed up, and where it paused.
 *
 * Rule: expected times were added by hand.
 */
#include "reducer/read/log.h"
#include "reducer/tables/step_cover.h"
#include "reducer/tables/step_unusual.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct log whole; /* that gave nothing up */

/* Two loops side by side, 10 to 40 and 20 to 50, and a step from 60 to 70 that came first: 50 of 100 are in a step, not 70. */
static void steps_of_two_threads_count_once(void **state)
{
	const struct process process = {.log = &whole, .start_ns = 0, .end_ns = 100};
	struct step_cover cover = {0};
	struct step_outside outside;

	(void)state;
	step_cover_add(&cover, 60, 10);
	step_cover_add(&cover, 20, 30);
	step_cover_add(&cover, 10, 30);
	step_cover_add(&cover, 25, 5);
	assert_true(step_outside(&process, &cover, &outside));
	assert_int_equal(outside.life, 100);
	assert_int_equal(outside.all, 50);
	assert_int_equal(outside.before, 10);
	assert_int_equal(outside.between, 10);
	assert_int_equal(outside.after, 30);
	free(cover.items);
}

static void little_or_unknown_is_not_told(void **state)
{
	const struct process process = {.log = &whole, .start_ns = 0, .end_ns = 100}, late = {.log = &whole, .start_ns = 20, .end_ns = 100},
			     windows = {.log = &whole, .start_ns = 0, .end_ns = 100, .window_count = 1};
	struct step_cover cover = {0}, most = {0};
	struct step_outside outside;

	(void)state;
	assert_false(step_outside(&process, &cover, &outside));
	step_cover_add(&cover, 10, 20);
	assert_true(step_outside(&process, &cover, &outside));
	assert_false(step_outside(&late, &cover, &outside));
	assert_false(step_outside(&windows, &cover, &outside));
	step_cover_add(&most, 10, 85);
	assert_false(step_outside(&process, &most, &outside));
	free(cover.items);
	free(most.items);
}

#define STEPS 40

/* Steps of 10 ns, numbered from 5; the first is not judged, of those behind it `slow` take so long. */
static struct step_rows rows_of(size_t slow, uint64_t slow_ns, size_t steps)
{
	static struct step_row items[STEPS];
	static const struct step_row *order[STEPS];
	static bool is_first[STEPS] = {true};
	struct step_rows rows = {.items = order, .count = steps, .judged_count = steps - 1, .is_first = is_first};

	for (size_t i = 0; i < steps; i++) {
		items[i] = (struct step_row){.unit.number = i + 5, .total_ns = i == 0 ? 1000 : i <= slow ? slow_ns : 10};
		order[i] = &items[i];
	}
	return rows;
}

static struct step_warm warm_of(size_t slow, uint64_t slow_ns, size_t steps)
{
	struct step_rows rows = rows_of(slow, slow_ns, steps);

	return step_warm_of(&rows, 0);
}

/* The last of PyTorch's steps has no end, so none that can be chosen: the 43rd of 5 to 44. */
static void what_is_left_ends_with_the_last_judged_step(void **state)
{
	struct step_rows rows = rows_of(3, 100, STEPS);
	const struct request request = {.top = 0};
	struct step_row open = *rows.items[STEPS - 1];
	struct text text = {0};

	(void)state;
	open.unit.is_cut = true;
	rows.items[STEPS - 1] = &open;
	step_warm_say(&text, &rows, &request, 0);
	assert_non_null(strstr(text.bytes, "(--step=9-43 leaves that out)"));
	text_free(&text);
}

static void warming_up_ends_with_the_first_usual_step(void **state)
{
	struct step_warm warm = warm_of(3, 20, STEPS);

	(void)state;
	assert_int_equal(warm.count, 3);
	assert_int_equal(warm.first, 6);
	assert_int_equal(warm.last, 8);
	assert_int_equal(warm.next, 9);
	assert_int_equal(warm.ns, 60);
	assert_true(warm.share > 0.142 && warm.share < 0.143); /* 60 of 60 + 36 * 10 */
}

static void usual_few_or_short_steps_are_no_warming_up(void **state)
{
	(void)state;
	assert_int_equal(warm_of(0, 0, STEPS).count, 0);
	assert_int_equal(warm_of(3, 19, STEPS).count, 0);
	assert_int_equal(warm_of(1, 25, STEPS).count, 0); /* 15 beyond, of 405 */
	assert_int_equal(warm_of(1, 35, STEPS).count, 1); /* 25 of 415 */
	assert_int_equal(warm_of(3, 100, 20).count, 0);   /* 19 are judged */
	assert_int_equal(warm_of(3, 100, 21).count, 3);
	assert_int_equal(warm_of(25, 100, STEPS).count, 0); /* that is what is usual */
}

/* The same, with `paused` of them in the middle that take so long, nothing of which was recorded but `recorded_ns`. */
static struct step_pauses pauses_of(size_t paused, uint64_t paused_ns, uint64_t recorded_ns)
{
	static struct step_row items[STEPS];
	static const struct step_row *order[STEPS];
	bool is_first[STEPS] = {true};
	struct step_rows rows = {.items = order, .count = STEPS, .judged_count = STEPS - 1, .is_first = is_first};

	for (size_t i = 0; i < STEPS; i++) {
		items[i] = (struct step_row){.unit.number = i + 5, .total_ns = i >= 20 && i < 20 + paused ? paused_ns + i : 10};
		if (items[i].total_ns > 10)
			items[i].exposed_ns[PART_OTHER] = items[i].total_ns - recorded_ns;
		order[i] = &items[i];
	}
	return step_pauses_of(&rows, 0);
}

static void a_step_of_twenty_for_nothing_is_a_pause(void **state)
{
	struct step_pauses pauses = pauses_of(1, 580, 100);

	(void)state;
	assert_int_equal(pauses.count, 1);
	assert_int_equal(pauses.longest, 25);
	assert_int_equal(pauses.longest_ns, 600);
	assert_int_equal(pauses.ns, 600);
	assert_int_equal(pauses.other_ns, 500);
	assert_true(pauses.share > 0.612 && pauses.share < 0.613); /* of 600 + 38 * 10 */
	assert_int_equal(pauses_of(1, 580, 121).count, 0);	   /* it did something */
	assert_int_equal(pauses_of(1, 179, 0).count, 0);	   /* 199 */
	assert_int_equal(pauses_of(1, 180, 0).count, 1);
	assert_int_equal(pauses_of(2, 180, 0).count, 0); /* of 39: the loop does that */
}

/* Of several processes: which one's time it is. */
static void what_is_told_of_one_process_says_of_which(void **state)
{
	static struct step_row items[2 * STEPS];
	static const struct step_row *order[2 * STEPS];
	static struct process processes[] = {{.called = "one"}, {.called = "other"}};
	static struct run run = {.processes = processes, .process_count = 2};
	struct request request = {.run = &run};
	struct step_rows rows = {.items = order, .count = 2 * STEPS, .judged_count = 2 * STEPS, .is_first = (bool[2 * STEPS]){false}};
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < 2 * STEPS; i++) {
		items[i] = (struct step_row){.process = i / STEPS, .unit.number = i % STEPS, .total_ns = i < STEPS ? 500 : 10};
		order[i] = &items[i];
	}
	items[STEPS].total_ns = 100;
	items[STEPS + 20].total_ns = items[STEPS + 20].exposed_ns[PART_OTHER] = 600;
	step_pauses_say(&text, &rows, &request, 0, -1);
	assert_non_null(strstr(text.bytes, "55.6 % of the time of process other is 1 step as long")); /* 600 of 600 + 100 + 380 */
	step_warm_say(&text, &rows, &request, 0);
	assert_non_null(strstr(text.bytes, "still warmed up, it seems, in process other: step 0 took at least twice the median, 9.3 %"));
	rows.items += STEPS; /* the only one */
	rows.count -= STEPS;
	text.length = 0;
	step_pauses_say(&text, &rows, &request, 0, -1);
	assert_non_null(strstr(text.bytes, "55.6 % of the time is 1 step as long"));
	text_clear(&text);
	step_pauses_say(&text, &rows, &request, 0, 0.55);
	assert_non_null(strstr(text.bytes, "55.6 % of the time is 1 step as long"));
	text_clear(&text);
	step_pauses_say(&text, &rows, &request, 0, 0.56); /* that may be all that it was */
	assert_int_equal(text.length, 0);
	text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_two_threads_count_once),
		cmocka_unit_test(little_or_unknown_is_not_told),
		cmocka_unit_test(warming_up_ends_with_the_first_usual_step),
		cmocka_unit_test(a_step_of_twenty_for_nothing_is_a_pause),
		cmocka_unit_test(what_is_told_of_one_process_says_of_which),
		cmocka_unit_test(what_is_left_ends_with_the_last_judged_step),
		cmocka_unit_test(usual_few_or_short_steps_are_no_warming_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
