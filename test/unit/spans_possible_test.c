/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of what the second pass tells of device records that came twice, or whose times cannot be: what the first pass sums up, and
 * no more.
 */
#include "reducer/model/spans.h"
#include "test/unit/gpu_made.h"

#define HOUR UINT64_C(3600000000000)
#define CORRELATIONS 10
#define T(ticks) (UINT64_C(500000000) + (ticks)) /* long after the origin */

struct told {
	unsigned kernels[CORRELATIONS], all;
	uint64_t ns;
	int64_t first_ns, last_ns;
};

static int visit(void *context, const struct span *span)
{
	struct told *told = context;
	int64_t end_ns = span->start_ns + (int64_t)span->duration_ns;

	if (span->what != SPAN_KERNEL)
		return 0;
	assert_true(span->flow < CORRELATIONS);
	told->kernels[span->flow]++;
	told->all++;
	told->ns += span->duration_ns;
	told->first_ns = told->all == 1 || span->start_ns < told->first_ns ? span->start_ns : told->first_ns;
	told->last_ns = told->all == 1 || end_ns > told->last_ns ? end_ns : told->last_ns;
	return 0;
}

static int visit_again(void *context, const struct span_again *spans, size_t count)
{
	struct span span;

	for (size_t i = 0; i < count; i++) {
		span_again_fill(&spans[i], &span);
		visit(context, &span);
	}
	return 0;
}

static void node(struct made *made, uint64_t read, uint64_t start, uint64_t correlation, uint64_t number)
{
	MAKER_ADD(made->device, read, kernel, .start = AT(start), .duration = 50, .correlation = correlation, .shape = 1, .queue = 1,
		  .graph = 1, .node = number);
}

static void check(struct made *made, int is_in_turns)
{
	struct told told = {.all = 0};
	const struct span_options options = {.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_CALL),
					     .is_without_arguments = is_in_turns,
					     .visit = visit,
					     .visit_again = is_in_turns ? visit_again : NULL,
					     .context = &told};
	static const unsigned expected[CORRELATIONS] = {[1] = 1, [4] = 1, [6] = 4, [7] = 1, [9] = 2};

	assert_int_equal(spans_stream(made->run, 0, &options), 0);
	for (unsigned i = 0; i < CORRELATIONS; i++)
		assert_int_equal(told.kernels[i], expected[i]);
	assert_int_equal(told.ns, 300 + 40 + 6 * 50 + 70);
	assert_int_equal(told.first_ns, T(1200));
	assert_int_equal(told.last_ns, T(7270));
}

static void test_records_that_cannot_be(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	call(made, T(1000), T(1100), LAUNCH, 1, 3, 0);
	call(made, T(2000), T(2100), LAUNCH, 2, 3, 0);
	call(made, T(3000), T(3100), LAUNCH, 3, 3, 0);
	kernel(made, T(4050), AT(T(4010)), 40, 4); /* before its call returned, twice */
	kernel(made, T(4050), AT(T(4010)), 40, 4);
	kernel(made, T(4060), AT(T(4000)) - HOUR, 30, 5); /* likewise, an hour before its call */
	call(made, T(4000), T(4100), LAUNCH, 4, 3, 0);
	call(made, T(4200), T(4300), LAUNCH, 5, 3, 0);
	call(made, T(6000), T(6100), GRAPH, 6, 3, 0);
	node(made, T(6600), T(6500), 9, 5); /* likewise before their call returned */
	node(made, T(6600), T(6500), 9, 6);
	call(made, T(6450), T(6700), GRAPH, 9, 3, 0);
	call(made, T(7000), T(7100), LAUNCH, 7, 3, 0);
	kernel(made, T(8000), AT(T(1200)), 300, 1);
	kernel(made, T(8000), AT(T(1200)), 300, 1);
	kernel(made, T(8000), AT(T(2200)) - HOUR, 300, 2);
	kernel(made, T(8000), AT(T(3200)), HOUR, 3);
	node(made, T(9000), T(6200), 6, 1);
	for (unsigned number = 2; number <= 4; number++) /* branches that begin at once */
		node(made, T(9000), T(6300), 6, number);
	kernel(made, T(9500), AT(T(7200)), 70, 7);
	call(made, T(7300), T(7400), LAUNCH, 8, 3, 0);
	kernel(made, T(9600), UINT64_C(3) << 62, (UINT64_C(1) << 62) + 5, 8); /* beyond what 64 bits hold */
	gpu = scan(made);
	assert_int_equal(gpu->counts.duplicates, 2);
	assert_int_equal(gpu->counts.impossible_records, 4);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 9);
	check(made, 0);
	check(made, 1);
	end_made(made);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_records_that_cannot_be)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
