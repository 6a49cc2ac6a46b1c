/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for ways.c, built several times with another CHURN: the same addresses hold another frame layout each time.
 */
void enter(void (*function)(void), int depth);

void enter(void (*function)(void), int depth)
{
	volatile char room[16 + 1000 * CHURN];

	room[depth] = 1;
#if CHURN == 0
	/* The same length as below, with another frame. */
	__asm__ volatile("nop; nop; nop; nop");
#endif
	function();
	if (depth > 0)
		enter(function, depth - 1);
	room[depth] = (char)(room[depth] + 1);
}
