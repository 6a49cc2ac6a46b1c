/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what was live at an allocator's peak, and which region it was of where nobody says it.
 *
 * Rule: the first step begins at 100 ns; times are multiples of 64 ns behind it, as the table of live blocks keeps them.
 */
#include "reducer/analysis/holdings.h"
#include "reducer/analysis/phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB UINT64_C(1048576)

static struct step steps[] = {{.time_ns = 100, .is_chosen = true}};
static struct log no_log;
static struct process process;
static struct run run = {.name = "0", .processes = &process, .process_count = 1};
static struct analysis_options options;
static struct analysis_input input = {.run = &run, .process = &process, .options = &options};
static void *result;

static void begin(void)
{
	process = (struct process){.log = &no_log, .log_id = 1, .pid = 1, .command = "python", .steps = steps, .step_count = 1};
	result = analysis_holdings.begin(&input);
}

static void block(int64_t time_ns, uint64_t address, const char *op, unsigned phase, uint64_t bytes)
{
	struct span_block said = {.address = address, .op = op, .is_release = op == NULL};

	analysis_holdings.span(result, &(struct span){.what = SPAN_BLOCK,
						      .kind = SPAN_INSTANT,
						      .domain = "",
						      .name = "pytorch cpu",
						      .start_ns = time_ns,
						      .phase = (uint8_t)phase,
						      .bytes = bytes,
						      .block = &said});
}

/* Bytes of that op and region at the peak. */
static uint64_t held(const char *op, enum region region)
{
	const struct allocator_list *all = result;
	const struct holder *holder = allocators_at(all, 0);
	uint64_t bytes = 0;

	assert_int_equal(all->count, 1);
	for (size_t i = 0; i < holder->holding_count; i++)
		if (strcmp(all->words.items[holder->holdings[i].op], op) == 0 && holder->holdings[i].region == region)
			bytes += holder->holdings[i].peak.bytes;
	return bytes;
}

/* Adam's denominator was called persistent, as its state is: it lives for some milliseconds, at the peak. */
static void what_the_optimiser_gives_back_itself_is_temporary(void **state)
{
	(void)state;
	begin();
	block(64, 0x1000, "weight", 0, 8 * MIB);
	block(128, 0x2000, "state", PHASE_OPTIMISER, 16 * MIB);
	block(192, 0x3000, "sqrt", PHASE_OPTIMISER, 8 * MIB);
	block(256, 0x3000, NULL, PHASE_OPTIMISER, 8 * MIB);
	block(320, 0x4000, "sqrt", PHASE_OPTIMISER, 9 * MIB); /* the peak: the one before is not of it */
	block(384, 0x5000, "late", PHASE_OPTIMISER, MIB / 2);
	block(448, 0x5000, NULL, PHASE_OPTIMISER, MIB / 2);
	block(512, 0x4000, NULL, PHASE_OPTIMISER, 9 * MIB);
	block(576, 0x6000, "late", PHASE_OPTIMISER, MIB);
	block(640, 0x6000, NULL, PHASE_OPTIMISER, MIB);
	analysis_holdings.end(result);
	assert_int_equal(held("weight", REGION_PERSISTENT), 8 * MIB);
	assert_int_equal(held("state", REGION_PERSISTENT), 16 * MIB);
	assert_int_equal(held("sqrt", REGION_PERSISTENT), 0);
	assert_int_equal(held("sqrt", REGION_TEMPORARY), 9 * MIB);
	assert_int_equal(held("late", REGION_TEMPORARY), MIB / 2);
	assert_int_equal(held("late", REGION_PERSISTENT), 0);
	analysis_holdings.free(result);
}

/* What the training gives back elsewhere, or what was there before it, stays what it was. */
static void other_releases_tell_nothing(void **state)
{
	(void)state;
	begin();
	block(64, 0x1000, "weight", 0, 8 * MIB);
	block(128, 0x2000, "state", PHASE_OPTIMISER, 16 * MIB);
	block(192, 0x2000, NULL, PHASE_FORWARD, 16 * MIB);
	block(256, 0x1000, NULL, PHASE_OPTIMISER, 8 * MIB);
	analysis_holdings.end(result);
	assert_int_equal(held("weight", REGION_PERSISTENT), 8 * MIB);
	assert_int_equal(held("state", REGION_PERSISTENT), 16 * MIB);
	analysis_holdings.free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_optimiser_gives_back_itself_is_temporary),
		cmocka_unit_test(other_releases_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
