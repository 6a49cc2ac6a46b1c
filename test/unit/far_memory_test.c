/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that another thread unmaps: what is gone is an answer, and what was read stays readable until the next reading begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/far_memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

static struct tfp_far far;
static int file;
static char *pages; /* two, the second of which goes */

static int begin(void **state)
{
	(void)state;
	file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	pages = mmap(NULL, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(file >= 0 && pages != MAP_FAILED);
	memset(pages, 'a', 2 * (size_t)PAGE);
	memcpy(pages + PAGE - 4, "over the edge", 14);
	tfp_far_begin(&far, file);
	return 0;
}

static int end(void **state)
{
	(void)state;
	munmap(pages, 2 * (size_t)PAGE);
	return close(file);
}

static void test_what_lies_there_is_read(void **state)
{
	char room[64];

	(void)state;
	assert_true(tfp_far_read(&far, room, (uintptr_t)pages + PAGE - 8, 12));
	assert_memory_equal(room, "aaaaover the", 12);
	assert_ptr_equal(tfp_far_text(&far, pages + PAGE - 4, sizeof room, room), room);
	assert_string_equal(room, "over the edge");
	assert_null(tfp_far_text(&far, pages + PAGE - 4, 13, room));
	assert_ptr_equal(tfp_far_see(NULL, pages, 8, room), pages);
}

static void test_what_is_gone_is_an_answer(void **state)
{
	char room[64];

	(void)state;
	assert_true(tfp_far_read(&far, room, (uintptr_t)pages + PAGE, 4));
	munmap(pages + PAGE, PAGE);
	assert_true(tfp_far_read(&far, room, (uintptr_t)pages + PAGE, 4));
	tfp_far_begin(&far, file);
	assert_true(tfp_far_read(&far, room, (uintptr_t)pages + PAGE - 4, 4));
	assert_int_equal(far.is_failed, 0);
	assert_false(tfp_far_read(&far, room, (uintptr_t)pages + PAGE - 4, 5));
	assert_null(tfp_far_see(&far, pages + PAGE, 8, room));
	assert_null(tfp_far_text(&far, pages + PAGE - 4, sizeof room, room));
	assert_int_equal(far.is_failed, 1);
	tfp_far_begin(&far, -1);
	assert_false(tfp_far_read(&far, room, (uintptr_t)pages, 1));
}

static void test_more_pages_than_are_kept(void **state)
{
	static char many[4 * TFP_FAR_PAGES * PAGE];

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof many; i += PAGE / 2) {
			char is = 0;
			many[i] = (char)(i / PAGE + round);
			tfp_far_begin(&far, file);
			for (size_t back = 0; back <= i && back < 12 * (size_t)PAGE; back += PAGE / 2)
				assert_true(tfp_far_read(&far, &is, (uintptr_t)&many[i - back], 1) &&
					    is == (char)((i - back) / PAGE + round));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_lies_there_is_read, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_gone_is_an_answer, begin, end),
		cmocka_unit_test_setup_teardown(test_more_pages_than_are_kept, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
