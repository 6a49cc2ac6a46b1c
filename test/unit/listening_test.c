/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When frameworks are asked for ops: while a window is open; not so that their own profiler cannot start, nor while a fork is made.
 */
#include "collectors/pytorch.h"
#include "collectors/tensorflow.h"
#include "collectors/tensorflow_trace.h"
#include "collectors/window.h"
#include "writer/state.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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
	tfp_tensorflow_attach(&api, 1, 0);
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

static struct {
	int added, is_enabled;
	uint64_t handle;
	_Atomic int mutex; /* PyTorch's, of its list of callbacks, 1 = taken; a word, as who gives it back in a child did not take it */
	_Atomic int is_copying;
	_Atomic int refused; /* times that somebody found the mutex taken */
} pytorch;

static uint64_t add_callback(struct tfp_pytorch_callback callback)
{
	(void)callback;
	pytorch.is_enabled = 1;
	return (uint64_t)++pytorch.added;
}

static void enable(uint64_t handle)
{
	pytorch.handle = handle;
	pytorch.is_enabled = 1;
}

static void disable(uint64_t handle)
{
	pytorch.handle = handle;
	pytorch.is_enabled = 0;
}

static const char *name(const void *function)
{
	(void)function;
	return "";
}

static void *mutex_of(void (*call)(void))
{
	call();
	return (void *)&pytorch.mutex;
}

static int try_mutex(void *mutex)
{
	int was = atomic_exchange((_Atomic int *)mutex, 1);

	pytorch.refused += was;
	return was;
}

static int leave_mutex(void *mutex)
{
	return !atomic_exchange((_Atomic int *)mutex, 0);
}

/* A thread of PyTorch's that copies the list while a fork is about to be made, until the fork has found it so. */
static void *copy_list(void *unused)
{
	int before = pytorch.refused;

	while (atomic_exchange(&pytorch.mutex, 1))
		sched_yield();
	pytorch.is_copying = 1;
	while (pytorch.refused == before)
		sched_yield();
	pytorch.is_copying = 0;
	pytorch.mutex = 0;
	return unused;
}

/* It gives up after a tenth of a second: a machine that stands still for so long does not make it each time. */
static void fork_waits_for_who_copies_the_list(void)
{
	int waited = 0;

	for (int tries = 0; !waited && tries < 20; tries++) {
		pthread_t copier;
		assert_int_equal(pthread_create(&copier, NULL, copy_list, NULL), 0);
		while (!pytorch.is_copying)
			sched_yield();
		tfp_pytorch_forking();
		waited = !pytorch.is_copying;
		pthread_join(copier, NULL);
		waited &= pytorch.mutex; /* nobody begins to, either */
		if (!waited)
			tfp_pytorch_forked();
	}
	assert_true(waited);
}

static void *fork_elsewhere(void *unused)
{
	tfp_pytorch_forking(); /* gives up: another thread's fork goes on */
	tfp_pytorch_forked();
	return unused;
}

/* In its child there is no thread but it, so nobody else gives back what the other fork has. */
static void *fork_child_elsewhere(void *unused)
{
	tfp_pytorch_forking();
	tfp_pytorch_in_child();
	assert_false(pytorch.mutex);
	return unused;
}

static void pytorch_is_asked_in_windows_and_left_alone_in_forks(void **state)
{
	const struct tfp_pytorch_api api = {.add_callback = add_callback, .disable = disable, .enable = enable, .name = name,
					    .mutex_of = mutex_of, .try_mutex = try_mutex, .leave_mutex = leave_mutex};
	static uint64_t facts[1 << 12];
	static struct tfp_state own = {.facts = {.base = (uint8_t *)facts, .room = sizeof facts}};
	pthread_t other;

	(void)state;
	tfp_state = &own;
	tfp_is_open = 0;
	tfp_pytorch_attach(&api, 1, 0);
	assert_int_equal(pytorch.added, 1); /* the one for ranges */
	tfp_pytorch_freed(NULL);
	assert_int_equal(pytorch.added, 1);
	tfp_is_open = 1;
	tfp_pytorch_freed(NULL);
	assert_int_equal(pytorch.added, 2);

	fork_waits_for_who_copies_the_list();
	tfp_is_open = 0;
	tfp_pytorch_freed(NULL);
	assert_true(pytorch.is_enabled);
	assert_int_equal(pthread_create(&other, NULL, fork_elsewhere, NULL), 0);
	pthread_join(other, NULL);
	assert_true(pytorch.mutex);
	assert_int_equal(pthread_create(&other, NULL, fork_child_elsewhere, NULL), 0);
	pthread_join(other, NULL);
	tfp_pytorch_forking();
	tfp_pytorch_forked();
	assert_false(pytorch.mutex);
	tfp_pytorch_freed(NULL);
	assert_false(pytorch.is_enabled);
	assert_int_equal(pytorch.handle, 2);
	tfp_is_open = 1;
	tfp_pytorch_freed(NULL);
	assert_true(pytorch.is_enabled);
	assert_int_equal(pytorch.handle, 2);
	assert_int_equal(pytorch.added, 2);

	tfp_pytorch_ending(); /* the list is gone soon */
	tfp_is_open = 0;
	tfp_pytorch_freed(NULL);
	assert_true(pytorch.is_enabled);
	tfp_state = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensorflow_is_asked_in_windows),
		cmocka_unit_test(pytorch_is_asked_in_windows_and_left_alone_in_forks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
