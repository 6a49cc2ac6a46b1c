/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of reducer/analysis/words: a text has one number, be it found by its letters or by its address, however many there are. */
#include "reducer/analysis/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXTS (WORDS_LASTING_MOST / 2) /* more than are found by address */
#define ROOM 16

static void addresses_find_the_numbers_of_texts(void **state)
{
	struct words words = {0};
	char(*texts)[ROOM] = base_alloc(2 * TEXTS, sizeof(*texts)); /* each twice */

	(void)state;
	for (size_t i = 0; i < 2 * TEXTS; i++)
		snprintf(texts[i], sizeof(texts[i]), "text %zu", i % TEXTS);
	assert_int_equal(words_lasting(&words, NULL), 0);
	assert_int_equal(words_number(&words, ""), 0);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < 2 * TEXTS; i++)
			assert_int_equal(words_lasting(&words, texts[i]), i % TEXTS + 1);
	assert_int_equal(words.count, TEXTS + 1);
	assert_true(words.lasting_room == WORDS_LASTING_MOST && words.lasting_count * 4 <= words.lasting_room);
	for (size_t i = 0; i < TEXTS; i++)
		assert_int_equal(words_number(&words, texts[i]), i + 1);
	words_free(&words);
	assert_int_equal(words_lasting(&words, texts[1]), 0); /* nothing of the old ones is left */
	words_free(&words);
	free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_find_the_numbers_of_texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
