/* SPDX-License-Identifier: Apache-2.0 */
/* jaxlib and Python's lock; see preload/jax.h. */
#include "preload/jax.h"

#include "collectors/jax.h"
#include "preload/dynamic.h"
#include "preload/settings.h"
#include "preload/slots.h"
#include "writer/state.h"

#include <errno.h>

#include "writer/poison.h"

#define LOOKS 512u /* a server that makes a thread a request pays for so many */

static const char *const libraries[] = {"libjax_common.so", "xla_extension.so", NULL}; /* 0.6 and newer; before */

/* Python's own. Written at start; all NULL: no Python is here, and none is looked for. */
static struct {
	void *(*save)(void);
	void (*restore)(void *);
	int (*ensure)(void);
	int (*check)(void);
} real;

static void *save_thread(void)
{
	tfp_jax_leaves((uintptr_t)__builtin_return_address(0));
	return real.save();
}

/* May end the thread, where the interpreter is ending: nothing of ours is open over it. */
static void restore_thread(void *state)
{
	tfp_jax_returns();
	real.restore(state);
}

static int ensure_state(void)
{
	tfp_jax_asks((uintptr_t)__builtin_return_address(0));
	return real.ensure();
}

static int check_signals(void)
{
	tfp_jax_checks();
	return real.check();
}

void tfp_jax_begin(const struct tfp_dynamic *python)
{
	if (tfp_settings.ops == TFP_OPS_OFF)
		return;
	*(void **)(void *)&real.restore = tfp_dynamic_symbol(python, "PyEval_RestoreThread");
	*(void **)(void *)&real.ensure = tfp_dynamic_symbol(python, "PyGILState_Ensure");
	*(void **)(void *)&real.check = tfp_dynamic_symbol(python, "PyErr_CheckSignals");
	if (real.restore && real.ensure)
		*(void **)(void *)&real.save = tfp_dynamic_symbol(python, "PyEval_SaveThread");
}

static void attach(const struct tfp_slots_object *object)
{
	unsigned checks = real.check ? tfp_slots_turn(object, "PyErr_CheckSignals", (const void *)check_signals) : 0;

	/* The end before the begin: a call that is under way meanwhile has none. */
	if (tfp_slots_turn(object, "PyEval_RestoreThread", (const void *)restore_thread) &&
	    tfp_slots_turn(object, "PyGILState_Ensure", (const void *)ensure_state) &&
	    tfp_slots_turn(object, "PyEval_SaveThread", (const void *)save_thread))
		tfp_jax_attached(object->name, object->tables.bias, checks > 0);
	else
		tfp_jax_absent("jaxlib was loaded, but does not give up Python's lock as expected: its calls are not recorded.");
}

void tfp_jax_look(void)
{
	static _Atomic uint32_t looks;
	static _Atomic int is_settled;
	struct tfp_slots_object object;
	int error = errno, is_first = 0;

	if (!real.save || is_settled || looks >= LOOKS || !tfp_state || tfp_state->phase != TFP_STATE_READY)
		return;
	looks++;
	if (tfp_slots_find(&object, libraries) &&
	    __atomic_compare_exchange_n((int *)&is_settled, &is_first, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		attach(&object);
	errno = error;
}
