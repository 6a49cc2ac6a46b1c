/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of collectors/gpu_state.c and cupti.c: both record where a window is open, also where two threads settle it at once. */
#include "collectors/cupti_state.h"
#include "collectors/gpu_state.h"
#include "collectors/window.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define ROUNDS 200000u
#define MOST_SECONDS 2 /* fewer rounds where the machine is busy */

static int ready(void)
{
	return 0;
}
int (*const tfp_start_process)(void) = ready;

static _Atomic unsigned begun, ended;

static void settle(void)
{
	tfp_gpu_window(NULL, NULL, 0, 0);
	tfp_cupti_window(1);
}

static void *settle_beside(void *unused)
{
	for (unsigned round = 1; begun != UINT32_MAX; round++) {
		while (begun < round)
			;
		settle();
		ended = round;
	}
	return unused;
}

/* Whoever read the window before it changed may store behind the thread that changed it. */
static void the_last_store_is_of_the_window_as_it_is(void **state)
{
	static struct tfp_cupti cupti = {.phase = TFP_CUPTI_REFUSED}; /* is told of edges, and asks nobody */
	struct tfp_gpu_plan plan = {.is_on = 1};
	unsigned wrong = 0;
	pthread_t thread;

	(void)state;
	tfp_gpu_begin(&plan);
	tfp_cupti = &cupti;
	assert_int_equal(pthread_create(&thread, NULL, settle_beside, NULL), 0);
	time_t until = time(NULL) + MOST_SECONDS;
	for (unsigned round = 1; round <= ROUNDS && time(NULL) <= until; round++) {
		begun = round;
		tfp_is_open = round % 2;
		settle();
		while (ended < round)
			;
		wrong += (tfp_gpu_mode != TFP_GPU_OFF) != tfp_is_open || cupti.is_open != tfp_is_open;
	}
	begun = UINT32_MAX;
	pthread_join(thread, NULL);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_store_is_of_the_window_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
