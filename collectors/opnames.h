/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of ops: each text gets a small number once in a process, told in an op_name fact.
 *
 * Rule: looking one up allocates and locks nothing and costs about 10 ns; the table is bounded, and a name for which it has
 * no room is 0, counted as loss op_names.
 */
#ifndef TFP_COLLECTORS_OPNAMES_H
#define TFP_COLLECTORS_OPNAMES_H

#include "writer/stream.h"

/* What a name says by itself; a collector's own bits. */
enum tfp_op_kind {
	TFP_OP_STEP = 1,   /* it ends a step: Optimizer.step */
	TFP_OP_PLAIN = 2,  /* looked at, nothing special */
	TFP_OP_FIRST = 3,  /* it comes before the first end of a step */
};

/* Parts of tfp_op_name: the name that came after the last one on this thread the last time (0 = another), any name. */
uint64_t tfp_op_hash(const char *text, size_t length);
uint32_t tfp_op_expected(struct tfp_thread *thread, uint64_t hash);
uint32_t tfp_op_find(struct tfp_thread *thread, uint64_t hash, const char *text, size_t length);

/* The number of `length` bytes of text, 1 and up; 0 = no room. Any thread, inside a hook (thread is entered). */
static inline uint32_t tfp_op_name(struct tfp_thread *thread, const char *text, size_t length)
{
	uint64_t hash = tfp_op_hash(text, length);
	uint32_t name = tfp_op_expected(thread, hash);

	return __builtin_expect(name != 0, 1) ? name : tfp_op_find(thread, hash, text, length);
}

/* The length of a text that ends with a zero, at most `most`. Reads whole aligned words: never another page. */
size_t tfp_op_length(const char *text, size_t most);

/* The byte kept with a name for its collector: enum tfp_op_kind, 0 at first. NULL for the number 0. */
uint8_t *tfp_op_kind(uint32_t name);

#endif
