/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds jaxlib, and has it call us where it gives up and takes Python's global lock.
 *
 * Rule: looks only when threads are made (XLA's pools are, before anything runs), in programs with Python, and a bounded number
 * of times; each function of ours calls Python's with what it was given and returns what that returned.
 */
#ifndef TFP_PRELOAD_JAX_H
#define TFP_PRELOAD_JAX_H

/* The host makes a thread. */
void tfp_jax_look(void);

/* At start: the Python of this process. Without it tfp_jax_look does nothing. */
struct tfp_dynamic;
void tfp_jax_begin(const struct tfp_dynamic *python);

#endif
