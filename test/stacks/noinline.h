/* SPDX-License-Identifier: Apache-2.0 */
/* NOINLINE: a function that keeps a frame of its own, whatever the compiler knows of it and its callers. */
#ifndef TFP_TEST_STACKS_NOINLINE_H
#define TFP_TEST_STACKS_NOINLINE_H

#ifdef __clang__
#define NOINLINE __attribute__((noinline, optnone))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif

#endif
