/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of two runs are taken for the same where their files lie in other folders. */
#include "reducer/comparison/moved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MOST 8

/* What the newer run's rows got of the older one's, in their order: times, 0 = nothing. */
static void joined(const char *const *newer, const char *const *older, const char *function, const double *wanted, size_t moved)
{
	struct join_row rows[ROWS_MOST] = {0};
	struct join join = {.rows = rows};
	size_t count = 0;

	for (; newer[count]; count++)
		rows[count] = (struct join_row){{function, newer[count]}, .after = {.is_there = true, .is_known = {true}, .values = {1}}};
	for (size_t i = 0; older[i]; i++)
		rows[count + i] =
			(struct join_row){{"load", older[i]}, .before = {.is_there = true, .is_known = {true}, .values = {(double)i + 1}}};
	for (join.count = count; join.count < ROWS_MOST && rows[join.count].keys[0]; join.count++)
		;
	assert_int_equal(moved_join(&join, 0), moved);
	for (size_t i = 0; i < count; i++)
		assert_true(rows[i].before.values[0] == wanted[i] && rows[i].before.is_there == (wanted[i] > 0));
}
#define FILES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define TIMES(...) ((const double[]){__VA_ARGS__})

static void test_paths(void **state)
{
	(void)state;
	joined(FILES("/new/train.py"), FILES("/old/train.py"), "load", TIMES(1), 1);
	joined(FILES("train.py"), FILES("/old/train.py"), "load", TIMES(1), 1);
	joined(FILES("/new/train.py"), FILES("/old/train.py"), "save", TIMES(0), 0);
	joined(FILES("/new/train.py"), FILES("/old/pretrain.py"), "load", TIMES(0), 0);
	/* Of a name in each folder: by the folder. */
	joined(FILES("/new/a/__init__.py", "/new/b/__init__.py"), FILES("/old/b/__init__.py", "/old/a/__init__.py"), "load", TIMES(2, 1),
	       2);
	/* What is left when those are. */
	joined(FILES("/new/a/util.py", "/new/util.py"), FILES("/old/util.py", "/old/a/util.py"), "load", TIMES(2, 1), 2);
	/* Nobody knows which of the two it was. */
	joined(FILES("/new/c/__init__.py"), FILES("/old/a/__init__.py", "/old/b/__init__.py"), "load", TIMES(0), 0);
	joined(FILES("/new/c/util.py", "/new/d/util.py"), FILES("/old/b/util.py"), "load", TIMES(0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
