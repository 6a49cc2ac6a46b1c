/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/read/schema.c: words that a log says of itself.
 *
 * Rule: schemas stand here as text; what this program's own says is test/unit/read_test.c's.
 */
#include "reducer/read/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Names and sentences are printed as they are: by --dump, by --check, as what was lost. */
static void test_words_of_a_forged_log_are_no_commands(void **state)
{
	static const char text[] = "record\t1\tal\x1b[2Jloc\tevent\t16\t\n"
				   "field\t1\t0\tad\xc2\x9b[2Jdress\tu64\taddress\tplain\t8\t\n"
				   "loss\t3\tgone\tr\x07ung\t\x7f\n";
	struct schema *schema = schema_parse(text, sizeof text - 1);

	(void)state;
	assert_non_null(schema);
	assert_string_equal(schema->records[1]->name, "al?[2Jloc");
	assert_string_equal(schema->records[1]->fields[0].name, "ad??[2Jdress");
	assert_string_equal(schema_loss(schema, 3)->help, "r?ung");
	assert_string_equal(schema_loss(schema, 3)->remedy, "?");
	assert_int_equal(schema->skipped_lines, 0);
	schema_free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_a_forged_log_are_no_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
