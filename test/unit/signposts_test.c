/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of entries of other libraries' symbol tables: whoever asks the loader is led to the new function, everything else
 * of the library stays as it was; what cannot be is left alone.
 */
#include "preload/signposts.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

typedef double function(double);

static double ours(double x)
{
	return x + 1000;
}

static void *library(void)
{
	return dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
}

/* How the page of an address may be used, as the kernel says; "" = not mapped. */
static const char *rights_of(const void *address)
{
	static char rights[8];
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	rights[0] = 0;
	while (maps && fgets(line, sizeof line, maps)) {
		uintptr_t from, to;
		char found[8];
		if (sscanf(line, "%zx-%zx %7s", &from, &to, found) == 3 && (uintptr_t)address >= from && (uintptr_t)address < to)
			memcpy(rights, found, sizeof found);
	}
	if (maps)
		fclose(maps);
	return rights;
}

/* What it led to before, or NULL: nothing was changed. */
static void *turn(const void *inside, const char *name, const void *to)
{
	void *before = NULL;

	int result = tfp_signpost_turn(inside, name, to, &before);
	assert_int_equal(result, before ? 0 : -1);
	return before;
}

static void a_name_leads_to_us(void **unused)
{
	function *real = (function *)dlsym(library(), "cbrt"), *other = (function *)dlsym(library(), "sqrt");
	void *handle = library();

	(void)unused;
	assert_non_null(real);
	assert_ptr_equal(turn((void *)other, "cbrt", (void *)&ours), (void *)real);
	assert_ptr_equal(dlsym(handle, "cbrt"), (void *)&ours);
	assert_true(((function *)dlsym(handle, "cbrt"))(1) == 1001);
	assert_true(real(27) > 2.999 && real(27) < 3.001);
	assert_ptr_equal(dlsym(handle, "sqrt"), (void *)other);
	assert_true(other(49) > 6.999 && other(49) < 7.001);
	assert_null(turn((void *)other, "cbrt", (void *)&ours)); /* it does already */
	/* And back, as nobody does but this test. */
	assert_ptr_equal(turn((void *)other, "cbrt", (void *)real), (void *)&ours);
	assert_ptr_equal(dlsym(handle, "cbrt"), (void *)real);
}

static void the_page_is_as_it_was(void **unused)
{
	function *real = (function *)dlsym(library(), "cbrt");
	Dl_info info;
	void *entry = NULL;

	(void)unused;
	assert_true(dladdr1((void *)real, &info, &entry, RTLD_DL_SYMENT) != 0 && entry);
	char before[8];
	memcpy(before, rights_of(entry), sizeof before);
	assert_ptr_equal(turn((void *)real, "cbrt", (void *)&ours), (void *)real);
	assert_string_equal(rights_of(entry), before);
	turn((void *)real, "cbrt", (void *)real);
}

static void what_is_not_there(void **unused)
{
	int somewhere = 0;
	function *real = (function *)dlsym(library(), "cbrt");

	(void)unused;
	assert_null(turn((void *)real, "no_such_name", (void *)&ours));
	assert_null(turn(&somewhere, "cbrt", (void *)&ours)); /* a stack is no object */
	assert_null(turn(NULL, "cbrt", (void *)&ours));
	assert_ptr_equal(dlsym(library(), "cbrt"), (void *)real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_leads_to_us),
		cmocka_unit_test(the_page_is_as_it_was),
		cmocka_unit_test(what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
