/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JAX's calls into XLA, seen where its library lets go of Python's global lock: an execution, a compilation, a transfer, a wait.
 *
 * jaxlib exports nothing and has no hooks, but whatever may take long it does without the lock: from giving it up to taking
 * it again is a call, and where in jaxlib it was given up says which one. The Python line that called is read for those
 * places whose calls are not all too short.
 * Rule: at most one such call is open on a thread; a callback into Python ends it, a look for signals (each 200 ms, with the lock) does
 * not. Called by jaxlib's own calls alone.
 *
 *   preload/jax.c  turns jaxlib's slots to us   ->   here: what the calls mean
 */
#ifndef TFP_COLLECTORS_JAX_H
#define TFP_COLLECTORS_JAX_H

#include <stdint.h>

/*
 * jaxlib's calls lead to us from now on, or why they do not. `file`: of its library, kept; `bias`: its load address; `tells_checks`: it
 * says when it looks for signals (tfp_jax_checks).
 */
void tfp_jax_attached(const char *file, uintptr_t bias, int tells_checks);
void tfp_jax_absent(const char *why);

/* The thread is about to give up the lock, at `caller`; it holds it. */
void tfp_jax_leaves(uintptr_t caller);

/* The thread is about to take the lock. */
void tfp_jax_returns(void);

/* The thread asks for the lock at `caller`, be it in the middle of a call. */
void tfp_jax_asks(uintptr_t caller);

/* The thread looks for signals; it holds the lock. */
void tfp_jax_checks(void);

#endif
