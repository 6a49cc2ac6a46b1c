/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The column of times, TFP_ENCODE_STEPS: most records have the time of the one before, in units of a microsecond.
 *
 * Rule: the usual record costs no branch that depends on whether its time is another. docs/format.md, "steps", is the
 * definition: a byte holds how many records kept the time (upper half) and what one then added to it (lower half, 1 to 13).
 */
#ifndef TFP_WRITER_TIMES_H
#define TFP_WRITER_TIMES_H

#include "writer/varint.h"

#define TFP_STEPS_KEPT 16 /* records that kept the time, as a byte of their own: 0x10 */
#define TFP_STEPS_NEAR 13 /* largest step in the lower half */
#define TFP_STEPS_BYTE 14 /* in the lower half: a byte follows, the step is that + 14 */
#define TFP_STEPS_FAR 15  /* a varint follows: zig-zag of the step, modulo 2^64 */
#define TFP_STEPS_MOST 12 /* bytes a record, one more may be written */

struct tfp_steps {
	uint8_t *out;
	uint64_t before; /* time of the record before */
	uint32_t kept;   /* records since the last byte, all with that time; below TFP_STEPS_KEPT */
};

static __attribute__((noinline, unused)) uint8_t *tfp_steps_far(uint8_t *out, uint32_t kept, uint64_t step)
{
	if (step <= TFP_STEPS_BYTE + 255) {
		*out++ = (uint8_t)(kept << 4 | TFP_STEPS_BYTE);
		*out++ = (uint8_t)(step - TFP_STEPS_BYTE);
		return out;
	}
	*out++ = (uint8_t)(kept << 4 | TFP_STEPS_FAR);
	return tfp_put_varint(out, tfp_zigzag(step));
}

/* The next record's time. Records that kept the time to the end need no byte. */
static inline __attribute__((always_inline)) void tfp_steps_put(struct tfp_steps *steps, uint64_t time)
{
	uint64_t step = time - steps->before;

	steps->before = time;
	if (__builtin_expect(step > TFP_STEPS_NEAR, 0)) {
		steps->out = tfp_steps_far(steps->out, steps->kept, step);
		steps->kept = 0;
		return;
	}
	/* A step ends the byte; a 17th record of the same time makes one of its own. */
	uint32_t is_step = step != 0, kept = steps->kept + 1, is_full = !is_step & (kept == TFP_STEPS_KEPT);
	*steps->out = is_full ? 1 << 4 : (uint8_t)(steps->kept << 4 | step);
	steps->out += is_step | is_full;
	steps->kept = is_step | is_full ? 0 : kept;
}

#endif
