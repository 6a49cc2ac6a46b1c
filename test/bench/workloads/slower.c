/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of known work, for test/bench/gate: slower STEPS PERCENT makes each step longer by that.
 *
 * Rule: the same instructions every time; nothing but the machine makes two runs differ.
 */
#include "tfprof.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 12000UL /* of a step, for each percent: some 3 ms in all */
#define NUMBERS 4096

int main(int count, char **words)
{
	unsigned long steps = count > 1 ? strtoul(words[1], NULL, 10) : 500, slower = count > 2 ? strtoul(words[2], NULL, 10) : 0;
	static double numbers[NUMBERS];
	volatile double sum = 0;

	for (unsigned long i = 0; i < NUMBERS; i++)
		numbers[i] = (double)i / 2;
	for (unsigned long step = 1; step <= steps; step++) {
		void *block;
		tfprof_step(step);
		block = malloc(1000);
		for (unsigned long i = 0; i < ROUNDS * (100 + slower); i++)
			sum = sum + numbers[i % NUMBERS];
		free(block);
	}
	printf("%g\n", sum);
	return 0;
}
