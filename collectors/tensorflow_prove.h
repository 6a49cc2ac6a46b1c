/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking with care at memory whose layout is only believed to be known. Rule: what is not readable or not as expected
 * answers "no"; nothing here can fault.
 */
#ifndef TFP_COLLECTORS_TENSORFLOW_PROVE_H
#define TFP_COLLECTORS_TENSORFLOW_PROVE_H

#include <stddef.h>
#include <stdint.h>

#define TFP_PROVE_MOST 16       /* pieces of a kind that are looked at with care; then the kind is believed */
#define TFP_PROVE_TEXT 65536    /* a name is shorter */

/* A kind of thing that is looked at: how many were good, or that one was not. */
struct tfp_proof {
	_Atomic uint32_t good;
	_Atomic uint32_t is_refuted;
};

/* Copies `bytes` from an address that may be anything, through the kernel. 0, or -1 where it cannot be read. */
int tfp_prove_read(void *to, const void *from, size_t bytes);

/* Whether `length` bytes at `text` can be read and hold no control characters (at most the first 64 are looked at). */
int tfp_prove_text(const char *text, size_t length);

/* Whether the kind may be used: believed, or `is_good` now (evaluated only while it is not believed yet). */
#define TFP_PROVE(proof, is_good) \
	(__builtin_expect((proof)->good >= TFP_PROVE_MOST, 1) || tfp_prove_note((proof), !(proof)->is_refuted && (is_good)))

/* Notes one piece. Returns whether the kind may be used. */
int tfp_prove_note(struct tfp_proof *proof, int is_good);

#endif
