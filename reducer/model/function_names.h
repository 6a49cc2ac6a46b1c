/* SPDX-License-Identifier: Apache-2.0 */
/* What the names of TensorFlow's ops and functions say of training. Rule: knows nothing of logs. */
#ifndef REDUCER_MODEL_FUNCTION_NAMES_H
#define REDUCER_MODEL_FUNCTION_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Of eager ops alone: GRADIENT, CHANGE (of weights), BATCH, ITERATOR, VARIABLE (one is made). TRACING: of a function (OP_TRACED). */
enum {
	NAME_UNKNOWN,
	NAME_OTHER,
	NAME_OF_TAPE,
	NAME_OF_OPTIMIZER,
	NAME_OF_UPDATE,
	NAME_OF_GRADIENT,
	NAME_OF_CHANGE,
	NAME_OF_BATCH,
	NAME_OF_ITERATOR,
	NAME_OF_VARIABLE,
	NAME_OF_TRACING
};

/* enum of an op's name, of a graph ("scope/node:Type") or eager ("Type"); never NAME_UNKNOWN. */
uint8_t function_op_kind(const char *name);

/* "__inference_NAME_12" is NAME; a node that a session runs keeps its number: Adam_1 is another optimizer than Adam. */
const char *function_plain_name(const char *name, size_t *length);

#endif
