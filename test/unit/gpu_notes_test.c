/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about GPU work that no record tells of: kernels that kernels started. */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/request.h"
#include "test/unit/gpu_made.h"

static void code(struct made *made, const char *module, const char *name)
{
	maker_fact(&made->maker, TFP_TAG_code, (const char *const[]){module, name, "#90", "#100", "#0", NULL});
}

/* The notes of a log whose kernel k1 lies in module 7, with `starter`, if any, in `module`. The caller frees the table. */
static struct table *notes_with(const char *module, const char *starter)
{
	struct made *made = begin_made();
	struct table *table = table_make(&table_kernel_stats);

	code(made, "#7", "k1");
	if (starter)
		code(made, module, starter);
	call(made, 100, 110, LAUNCH, 1, 3, 0);
	call(made, 200, 210, LAUNCH, 2, 3, 0);
	kernel(made, 900, AT(300), 50, 1);
	kernel(made, 901, AT(400), 60, 2);
	scan(made);
	gpu_note_nested(table, &(struct request){.run = made->run});
	end_made(made);
	return table;
}

static void test_what_kernels_start_is_said_to_be_missing(void **state)
{
	static const char *const starters[] = {"__cudaCDP2LaunchDeviceV2", "cudaLaunchDevice"};

	(void)state;
	for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
		struct table *table = notes_with("#7", starters[i]);
		assert_int_equal(table->note_count, 1);
		assert_int_equal(table->notes[0].kind, NOTE_MISSING);
		assert_non_null(strstr(table->notes[0].text, "dynamic parallelism"));
		assert_non_null(strstr(table->notes[0].text, "2 that the host started, most of them k1,"));
		table_free(table);
	}
}

static void test_nothing_is_said_where_none_can(void **state)
{
	struct table *table = notes_with(NULL, NULL);

	(void)state;
	assert_int_equal(table->note_count, 0);
	table_free(table);
	table = notes_with("#8", "__cudaCDP2LaunchDeviceV2"); /* of another module */
	assert_int_equal(table->note_count, 0);
	table_free(table);
	table = notes_with("#7", "launchCudaDevice");
	assert_int_equal(table->note_count, 0);
	table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_kernels_start_is_said_to_be_missing),
		cmocka_unit_test(test_nothing_is_said_where_none_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
