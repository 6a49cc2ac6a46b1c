/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XLA (JAX, TensorFlow's jit_compile): its libraries export nothing, but it writes down what it compiles when asked to.
 *
 * Rule: asked by one variable, XLA_FLAGS, only with setting XLA_DUMP, and never where the host has set it.
 */
#ifndef TFP_PRELOAD_XLA_H
#define TFP_PRELOAD_XLA_H

/* Constructor only, while there is one thread: offers the variable, and notes in the log what came of it. */
void tfp_xla_ask(void);

#endif
