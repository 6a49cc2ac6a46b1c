/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/symbols/demangle.c: names of three schemes, and names that want to use up time or memory.
 *
 * Rule: each expectation stands beside the name it is for.
 */
#include "reducer/symbols/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_names(void **state)
{
	static const struct {
		const char *name, *readable;
	} cases[] = {
		{"_ZN3foo3barEi", "foo::bar"},
		{"_Znwm", "operator new"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZN5space4takeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "space::take"},
		{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", "std::string::append"},
		{"_ZN12_GLOBAL__N_14workEv", "(anonymous)::work"},
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
		{"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE",
		 "<alloc::string::String as core::fmt::Write>::write_str"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	};
	struct text out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(demangle(cases[i].name, &out));
		assert_string_equal(out.bytes, cases[i].readable);
	}
	text_free(&out);
}

static void test_plain_names_stay(void **state)
{
	static const char *const names[] = {"main", "", "_Z", "_ZN", "_Rfoo", "_Zfoo\xff", "PyObject_Malloc", "_start"};
	struct text out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(demangle(names[i], &out));
		assert_string_equal(out.bytes, names[i]);
	}
	text_free(&out);
}

/* Each substitution names the one before twice: 2^15 names when printed in full. */
static void test_doubling_name_is_cut(void **state)
{
	struct text name = {0}, out = {0};

	(void)state;
	text_string(&name, "_ZN1aI1bIS_S_E1bIS0_S0_E1bIS1_S1_E1bIS2_S2_E1bIS3_S3_E1bIS4_S4_E1bIS5_S5_E1bIS6_S6_E1bIS7_S7_E1bIS8_S8_E"
			   "1bIS9_S9_E1bISA_SA_E1bISB_SB_E1bISC_SC_E1bISD_SD_EE1cEv");
	demangle(name.bytes, &out);
	assert_true(out.length <= DEMANGLE_OUT_MAX + 3);
	text_free(&name);
	text_free(&out);
}

static void test_long_name_stays(void **state)
{
	struct text name = {0}, out = {0};

	(void)state;
	text_string(&name, "_Z");
	text_fill(&name, 'P', 100000);
	assert_false(demangle(name.bytes, &out));
	assert_int_equal(out.length, name.length);
	text_free(&name);
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_plain_names_stay),
		cmocka_unit_test(test_doubling_name_is_cut),
		cmocka_unit_test(test_long_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
