/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When frameworks are asked for ops: while a window is open; not so that their own profiler cannot start.
 */
#include "collectors/tensorflow.h"
#include "collectors/tensorflow_trace.h"
#include "collectors/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

enum { OFF = -1, OURS = 1, THEIRS = 2 };

static _Atomic int level = OFF;
static int has_annotations;

static void enable_annotations(uint8_t is_on)
{
	has_annotations = is_on;
}

static void tensorflow_calls(void)
{
	struct tfp_lane *lane;

	assert_null(tfp_tensorflow_enter(&lane)); /* there is no log */
}

static void is_asked(int wanted_level, int wanted_annotations)
{
	assert_int_equal(level, wanted_level);
	assert_int_equal(has_annotations, wanted_annotations);
}

static void tensorflow_is_asked_in_windows(void **state)
{
	const struct tfp_tensorflow_api api = {.trace_level = &level, .enable_annotations = enable_annotations, .has_pop = 1};

	(void)state;
	tfp_tensorflow_attach(&api, 0);
	is_asked(OFF, 0);
	tfp_is_open = 1;
	tensorflow_calls();
	is_asked(OURS, 1);
	tfp_is_open = 0;
	tensorflow_calls();
	is_asked(OFF, 0);

	/* A window opens while the host's profiler starts, which it does where nobody traces. */
	tfp_tensorflow_session_begin(THEIRS);
	tfp_is_open = 1;
	tensorflow_calls();
	is_asked(OFF, 1);
	level = THEIRS;
	tfp_tensorflow_session_began(1);
	tensorflow_calls();
	is_asked(THEIRS, 1);
	level = OFF;
	tfp_tensorflow_session_ended();
	is_asked(OURS, 1);

	/* A window closes during a session that did not come to be, and during one that did. */
	tfp_tensorflow_session_begin(THEIRS);
	is_asked(OFF, 1);
	tfp_tensorflow_session_began(0);
	is_asked(OURS, 1);
	tfp_tensorflow_session_begin(THEIRS);
	level = THEIRS;
	tfp_tensorflow_session_began(1);
	tfp_is_open = 0;
	tensorflow_calls();
	is_asked(THEIRS, 1);
	level = OFF;
	tfp_tensorflow_session_ended();
	is_asked(OFF, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensorflow_is_asked_in_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
