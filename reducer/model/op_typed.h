/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names are those of ops among the many that TensorFlow and JAX tell. Rule: the one place that knows how they spell
 * them, and it agrees with xprof, so that both call the same things ops.
 */
#ifndef REDUCER_MODEL_OP_TYPED_H
#define REDUCER_MODEL_OP_TYPED_H

/*
 * Whether a name is TensorFlow's node:Type, or JAX's path/name:type, where the last part of the path holds the type. "::", ": ",
 * names with spaces or parentheses are other things.
 */
int op_is_typed(const char *name);

/*
 * What stands behind the first part of the long name of an iterator of tf.data, which says what asks the pipeline: a program
 * ("Iterator::Root::Map"), an op that runs a loop over it ("ReduceIterator::Root::Map"), ... NULL = another name.
 */
const char *op_iterator_rest(const char *name);

/* Begins the names of ranges that tell how long a tf.function was traced (collectors/tensorflow_trace.c); its name stands behind. */
#define OP_TRACED "tf.function traced: "

#endif
