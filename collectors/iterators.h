/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.data: the iterators of a pipeline, which is under which, and every call that asks one for its next element.
 *
 *   node     a place in a pipeline; all objects made for one place share it (interleave makes one for each file). Told once,
 *            in an iterator fact, with its parent: a root has none, each root made is a pipeline of its own
 *   call     an op_begin and op_end of source iterator around GetNext; key: the node
 *
 * Rule: tables are bounded; an iterator that has no place in them is called by its name with key 0. Nothing is asked of an
 * iterator that its own GetNext does not ask at the same moment.
 */
#ifndef TFP_COLLECTORS_ITERATORS_H
#define TFP_COLLECTORS_ITERATORS_H

#include "collectors/tensorflow.h"

/* What of tf.data we call; a NULL among them: calls are not recorded. Once, before the first call. */
struct tfp_iterator_api {
	const struct tfp_cxx_string *(*prefix)(const void *iterator); /* DatasetBaseIterator::prefix() const */
	size_t (*describe)(void *iterator, char *text, size_t room);  /* what BuildTraceMeName gives: its length */
};
void tfp_iterators_attach(const struct tfp_iterator_api *api);

/* An iterator was made: InitializeBase, parent NULL = a root. And one is gone. Any thread. */
void tfp_iterator_made(const void *iterator, const void *parent);
void tfp_iterator_gone(const void *iterator);

/* Around GetNext: begun returns what ended wants; 0 = nothing was written. Keeps errno. */
uint64_t tfp_iterator_begun(void *iterator);
void tfp_iterator_ended(uint64_t call);

#endif
