/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made log: make_log everything PATH, make_log seed|seed-gpu|seed-kinds|seed-train|seed-loop PATH,
 * make_log busy PATH THREADS COUNT LIVE, make_log gpu PATH THREADS LAUNCHES [LAUNCHES A STEP], or
 * make_log products PATH SIDE PRODUCT_NS OTHER_NS.
 *
 * Rule: the same words make the same bytes.
 */
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words)
{
	struct maker maker;
	int result;

	if (count == 3 && strcmp(words[1], "everything") == 0) {
		maker_everything(&maker);
	} else if (count == 3 && strcmp(words[1], "seed") == 0) {
		maker_seed(&maker);
	} else if (count == 3 && strcmp(words[1], "seed-gpu") == 0) {
		maker_seed_gpu(&maker);
	} else if (count == 3 && strcmp(words[1], "seed-kinds") == 0) {
		maker_seed_kinds(&maker);
	} else if (count == 3 && strcmp(words[1], "seed-train") == 0) {
		maker_seed_train(&maker);
	} else if (count == 3 && strcmp(words[1], "seed-loop") == 0) {
		maker_seed_loop(&maker);
	} else if (count == 6 && strcmp(words[1], "busy") == 0) {
		maker_busy(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10), strtoull(words[5], NULL, 10));
	} else if ((count == 5 || count == 6) && strcmp(words[1], "gpu") == 0) {
		maker_gpu(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10),
			  count == 6 ? strtoull(words[5], NULL, 10) : 0);
	} else if (count == 6 && strcmp(words[1], "products") == 0) {
		maker_products(&maker, (unsigned)atoi(words[3]), strtoull(words[4], NULL, 10), strtoull(words[5], NULL, 10));
	} else {
		fprintf(stderr, "make_log everything PATH | seed|seed-gpu|seed-kinds|seed-train|seed-loop PATH | "
				"busy PATH THREADS COUNT LIVE | gpu PATH THREADS LAUNCHES [LAUNCHES A STEP] | "
				"products PATH SIDE PRODUCT_NS OTHER_NS\n");
		return 1;
	}
	result = maker_write(&maker, words[2], maker.size);
	maker_free(&maker);
	return result == 0 ? 0 : 1;
}
