/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame pointer of a function that waits, where nobody says what is in that register: of code that keeps one it lies a fixed distance
 * above the stack pointer, which the function's first instructions give.
 *
 * Rule: it is believed only where the return address that lies by it follows a call. x86-64 alone: elsewhere frames seldom count from it.
 */
#ifndef TFP_COLLECTORS_NATIVE_FRAME_H
#define TFP_COLLECTORS_NATIVE_FRAME_H

#include <stdint.h>

/*
 * Bytes from the stack pointer at code[place], up to the frame pointer, by the code of the function, `size` bytes. -1: it is not known (the
 * function keeps none, or moves the stack pointer by other amounts than its first instructions say).
 */
int64_t tfp_native_frame_bytes(const uint8_t *code, uint64_t size, uint64_t place);

#define TFP_CALL_BYTES 8 /* that are looked at */

/* Whether the code before `address`, TFP_CALL_BYTES of it, is a call. */
int tfp_native_is_behind_call(const uint8_t *address);

#endif
