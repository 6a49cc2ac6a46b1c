/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made log: make_log everything PATH, make_log SEED PATH (a row of `seeds`),
 * make_log busy PATH THREADS COUNT LIVE, make_log gpu PATH THREADS LAUNCHES [LAUNCHES A STEP],
 * make_log products[-ahead] PATH SIDE PRODUCT_NS OTHER_NS, or make_log hostile PATH KIND COUNT (kinds: logmaker_hostile.c).
 *
 * Rule: the same words make the same bytes.
 */
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small ones, for the fuzzer's corpus. */
static const struct seed {
	const char *word;
	void (*make)(struct maker *maker);
} seeds[] = {{"seed", maker_seed},
	     {"seed-gpu", maker_seed_gpu},
	     {"seed-kinds", maker_seed_kinds},
	     {"seed-train", maker_seed_train},
	     {"seed-loop", maker_seed_loop},
	     {"seed-eager", maker_seed_eager},
	     {"seed-functions", maker_seed_functions},
	     {"seed-compiled", maker_seed_compiled},
	     {"seed-turns", maker_seed_turns},
	     {"seed-later", maker_seed_later}};

static void (*seed_of(const char *word))(struct maker *maker)
{
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
		if (strcmp(seeds[i].word, word) == 0)
			return seeds[i].make;
	return NULL;
}

int main(int count, char **words)
{
	struct maker maker;
	int result;

	if (count == 3 && strcmp(words[1], "everything") == 0) {
		maker_everything(&maker);
	} else if (count == 3 && seed_of(words[1])) {
		seed_of(words[1])(&maker);
	} else if (count == 6 && strcmp(words[1], "busy") == 0) {
		maker_busy(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10), strtoull(words[5], NULL, 10));
	} else if ((count == 5 || count == 6) && strcmp(words[1], "gpu") == 0) {
		maker_gpu(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10),
			  count == 6 ? strtoull(words[5], NULL, 10) : 0);
	} else if (count == 6 && (strcmp(words[1], "products") == 0 || strcmp(words[1], "products-ahead") == 0)) {
		maker_products(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10), strtoull(words[5], NULL, 10),
			       strcmp(words[1], "products") == 0);
	} else if (count == 5 && strcmp(words[1], "hostile") == 0) {
		if (maker_hostile(&maker, words[3], strtoull(words[4], NULL, 10)) != 0)
			return 1;
	} else {
		fprintf(stderr, "make_log everything PATH | seed[-gpu|-kinds|-train|-loop|-eager|-functions|-compiled|-turns] PATH | "
				"busy PATH THREADS COUNT LIVE | gpu PATH THREADS LAUNCHES [LAUNCHES A STEP] | "
				"products[-ahead] PATH SIDE PRODUCT_NS OTHER_NS | hostile PATH KIND COUNT\n");
		return 1;
	}
	result = maker_write(&maker, words[2], maker.size);
	maker_free(&maker);
	return result == 0 ? 0 : 1;
}
